#!/usr/bin/env python3
"""Pictures on the command line. usage: test_pictures.py TOOL [CLASS...]"""

import json
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
            self.expect(0, "report", name, "after.hlo", "--svg=a.svg", "--perfetto=a.json", "-q")
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
        self.expect(0, "input.hlo", "after.hlo", "--svg=out/", "--quiet")
        self.assertIn("out/memory.jit_step.svg", self.names())

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
        live = [event["args"]["bytes"] for event in events if event["name"] == "live bytes"]
        peak = [event["args"]["bytes"] for event in events if event["name"] == "peak"]
        report = self.json("report", SAMPLE, "--memory-model=heap")
        self.assertEqual(peak, [report["peak_bytes"] + report["constant_bytes"]])
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
