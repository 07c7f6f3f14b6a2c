#!/usr/bin/env python3
"""Pictures on the command line. usage: test_pictures.py TOOL [CLASS...]"""

import json
import re
import xml.etree.ElementTree

import tool
from tool import SAMPLES, ToolTest

SAMPLE = SAMPLES / "gpt_unrolled.after_optimizations.hlo"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = """HloModule m, is_scheduled=true

ENTRY e {
  p = f32[1024]{0} parameter(0), metadata={op_name="</script><!--\\"&'\\377\\001]]>"}
  a = f32[1024]{0} negate(p), metadata={op_name="a\\tb\\000c" source_file="<b>&.py" source_line=3}
  ROOT r = f32[1024]{0} add(a, a)
}
"""


class PictureTest(ToolTest):
    def svg(self, name):
        return xml.etree.ElementTree.parse(self.path(name)).getroot()

    def trace(self, name):
        return json.loads(self.read(name))["traceEvents"]


class Pages(PictureTest):
    """What a page holds; tests/page looks at it in a browser."""

    def setUp(self):
        super().setUp()
        self.write("m.hlo", HOSTILE)
        self.need("--html", "m.hlo")
        self.expect(0, "report", "m.hlo", "--html=a.html", "-q")

    def data(self, name):
        text = self.read(name)
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
        return json.loads(found[1])

    def test_data(self):
        self.expect(0, "report", SAMPLE, "--html=a.html", "--quiet")
        data = self.data("a.html")
        (panel,) = data["panels"]
        report = self.json("report", SAMPLE, "--memory-model=heap")
        self.assertEqual(panel["total_bytes"], report["peak_bytes"])
        self.assertEqual(panel["num_positions"], report["num_positions"])
        self.assertEqual(len(panel["live_bytes"]), panel["num_positions"])
        count = len(panel["name"])
        for column in "opcode shape category bytes space offset begin end position num_reads".split():
            self.assertEqual(len(panel[column]), count, column)
        self.assertEqual(len(panel["reads"]), sum(panel["num_reads"]))
        names = {data["texts"][name] for name in panel["name"]}
        self.assertLessEqual({row["name"] for row in report["live_at_peak"]}, names)

    def test_pair(self):
        self.expect(0, SAMPLE, "--mem-limit=70%", "--limit-counts=total", "--html=a.html", "-q")
        data = self.data("a.html")
        self.assertEqual([panel["title"] for panel in data["panels"]], ["before", "after"])
        self.assertTrue(any(data["panels"][1]["again"]))
        self.assertGreater(data["limit"], 0)

    def test_it_needs_nothing_else(self):
        for match in re.finditer(r'(?:src|href)="([^"]*)"', self.read("a.html")):
            self.assertRegex(match[1], r"^(#|data:,)$")

    def test_hostile_texts(self):
        self.write("plain.hlo", re.sub(r'op_name="(?:[^"\\\\]|\\\\.)*"', 'op_name="x"', HOSTILE))
        self.expect(0, "report", "plain.hlo", "--html=b.html", "--quiet")
        for mark in ("</script", "<!--", "<img"):
            self.assertEqual(self.read("a.html").count(mark), self.read("b.html").count(mark), mark)
        self.assertIn("</script><!--\"&'\ufffd\x01]]>", self.data("a.html")["texts"])

    def test_licence(self):
        self.assertIn("Redistribution and use in source and binary forms", self.read("a.html"))
        self.assertNotRegex(self.read("a.html"), "@[a-z0-9]+@\n")


class Pictures(PictureTest):
    def test_svg_is_xml(self):
        self.expect(0, "report", SAMPLE, "--svg=a.svg", "--quiet")
        root = self.svg("a.svg")
        self.assertEqual(root.tag, SVG + "svg")
        self.assertGreater(len(root.findall(SVG + "rect")), 200)

    def test_hostile_names(self):
        self.write("m.hlo", HOSTILE)
        self.expect(0, "report", "m.hlo", "--svg=a.svg", "--perfetto=a.json", "--quiet")
        titles = [title.text for title in self.svg("a.svg").iter(SVG + "title")]
        self.assertTrue(any("</script><!--\"&'" in text for text in titles), titles)
        names = [event["args"].get("op_name") for event in self.trace("a.json")]
        self.assertIn("</script><!--\"&'\ufffd\x01]]>", names)
        self.assertIn("a\tb\ufffdc", names)

    def test_hostile_titles(self):
        for name in ("<b>&.hlo", b"\xff.hlo".decode("utf-8", "surrogateescape")):
            self.golden("report", to=name)
            self.golden("report", "after.hlo")
            outputs = ["--svg=a.svg", "--perfetto=a.json"]
            self.expect(0, "report", name, "after.hlo", *outputs, "-q", "--copies=pending")
            self.svg("a.svg")
            self.trace("a.json")

    def test_stdout(self):
        result = self.expect(0, "report", SAMPLE, "--svg=-")
        xml.etree.ElementTree.fromstring(result.out)
        self.assertIn("what the peak is made of", result.err)
        self.assertIn("traceEvents", json.loads(self.expect(0, SAMPLE, "--perfetto=-").out))

    def test_outputs_are_apart(self):
        self.golden("report")
        for outputs in (["--svg=a", "--perfetto=a"], ["--svg=-", "--json=-"]):
            self.expect(2, "report", "input.hlo", *outputs)
            self.expect(2, "input.hlo", *outputs)
        self.assert_no_leftovers("input.hlo")

    def test_folders(self):
        self.golden("report")
        self.golden("report", "after.hlo")
        self.assert_message(self.expect(2, "report", ".", "--svg=a.svg"), "one file")
        self.assert_message(self.expect(2, "input.hlo", "after.hlo", "--svg=a.svg"), "folder")
        self.path("later").mkdir()
        self.golden("report", "after.hlo", to="later/after.hlo")
        self.expect(0, "input.hlo", "later/after.hlo", "--svg=out/", "--quiet")
        self.assertIn("out/memory.jit_step.svg", self.names())
        self.assertIn("out/later/memory.jit_step.svg", self.names())

    def test_written_paths_are_listed(self):
        self.golden("report")
        summary = self.json("input.hlo", "--svg=a.svg")
        self.assertEqual(summary["written"], ["a.svg"])

    def test_nothing_is_written_in_a_dry_run(self):
        self.golden("report")
        self.expect(0, "input.hlo", "--svg=a.svg", "--dry-run")
        self.assert_no_leftovers("input.hlo")

    def test_full_disk(self):
        for output in ("--svg", "--perfetto"):
            self.expect(4, "report", SAMPLE, f"{output}=/dev/full", "--quiet")
            self.expect(4, SAMPLE, f"{output}=/dev/full", "--quiet")

    def test_pair(self):
        self.expect(0, SAMPLE, "--mem-limit=70%", "--svg=a.svg", "--perfetto=a.json", "--quiet")
        texts = [text.text for text in self.svg("a.svg").iter(SVG + "text")]
        for wanted in ("before", "after", "rematerialized"):
            self.assertIn(wanted, texts)
        self.assertTrue(any(text.startswith("budget ") for text in texts))
        events = self.trace("a.json")
        self.assertEqual({event["pid"] for event in events}, {1, 2})
        self.assertTrue(any(event["args"].get("rematerialized") for event in events))

    def test_trace(self):
        self.expect(0, "report", SAMPLE, "--perfetto=a.json", "--max-peak=1GiB", "--quiet")
        events = self.trace("a.json")
        live = [event["args"]["bytes"] for event in events if event["name"] == "live"]
        peak = [event["args"]["bytes"] for event in events if event["name"] == "peak"]
        report = self.json("report", SAMPLE, "--memory-model=heap")
        self.assertEqual(peak, [report["peak_bytes"]])
        self.assertEqual(max(live), peak[0] - report["fragmentation_bytes"])
        tracks = {}
        for event in events:
            if event["ph"] == "X":
                tracks.setdefault(event["tid"], []).append((event["ts"], event["dur"]))
        for slices in tracks.values():
            slices.sort()
            for (begin, length), (following, _) in zip(slices, slices[1:]):
                self.assertLessEqual(begin + length, following)


if __name__ == "__main__":
    tool.main()
