#!/usr/bin/env python3
"""Recomputation across loops on the command line. usage: test_scan.py TOOL [CLASS...]"""

import tool
from tool import GOLDEN, SAMPLES, ToolTest

SCANS = sorted((GOLDEN / "scan").glob("*.hlo"))
SCANNED = [*sorted(SAMPLES.glob("gpt_scan*.hlo")), *sorted(SAMPLES.glob("lstm*.hlo")), *SCANS]
MODELS = "heap", "liveness", "liveness-once", "xla-remat"
ALL = "--mem-limit=min", "--small-node-limit=0", "--output=out.hlo"


class LowerBound(ToolTest):
    """No result is below the bound of its input, whichever model counts."""

    def check_bound(self, path, model, algorithm):
        with self.subTest(path.name, model=model, algorithm=algorithm):
            args = f"--algorithm={algorithm}", f"--memory-model={model}", *ALL
            summary = self.json(str(path), *args)
            self.assertGreaterEqual(summary["peak_after_bytes"], summary["lower_bound_bytes"])
            self.assertGreaterEqual(summary["peak_before_bytes"], summary["lower_bound_bytes"])

    def test_samples(self):
        for path in [*sorted(SAMPLES.glob("*.hlo")), *SCANS]:
            for model in MODELS:
                self.check_bound(path, model, "scan")

    def test_algorithms_after_scans(self):
        for path in SCANNED:
            for algorithm in ("path", "checkpoint=memory"):
                self.check_bound(path, "heap", algorithm)

    def test_result_has_a_bound_as_high(self):
        """What is above the bound of the input is above that of the rewritten module, too."""
        for path in SCANNED:
            with self.subTest(path.name):
                before = self.json("report", str(path))
                self.expect(0, str(path), "--algorithm=scan", *ALL, "--quiet")
                after = self.json("report", "out.hlo")
                self.assertGreaterEqual(after["lower_bound_bytes"], before["lower_bound_bytes"])

    def test_kind(self):
        for path, kind in [(SCANNED[0], "order+recompute+loops"),
                           (SAMPLES / "vgg.after_optimizations.hlo", "order+recompute")]:
            with self.subTest(path.name):
                self.assertEqual(self.json(str(path))["lower_bound_kind"], kind)
                self.assertEqual(self.json("report", str(path))["lower_bound_kind"], kind)
                text = self.expect(0, str(path)).out
                self.assertEqual("not even across loops" in text, kind.endswith("loops"))


class Scans(ToolTest):
    SAMPLE = str(SAMPLES / "gpt_scan.after_optimizations.hlo")

    def test_what_was_done(self):
        """The record of a result is that of its stacks as `report` sees them before and after."""
        summary = self.json(self.SAMPLE, "--algorithm=scan", *ALL)
        (before,) = self.json("report", self.SAMPLE)["stacks"]
        scan = summary["scans"][0]
        self.assertEqual(scan["loop"], before["loop"])
        self.assertEqual(scan["readers"], before["readers"])
        self.assertEqual(scan["freed_bytes"] + scan["stored_bytes"], before["bytes"])
        self.assertIn("no longer stored by while.39", self.expect(0, self.SAMPLE, "--algorithm=scan",
                                                                   *ALL).out)

    def test_nothing_was_done(self):
        summary = self.json(self.SAMPLE, "--algorithm=none", *ALL)
        self.assertNotIn("scans", summary)

    def test_sums(self):
        for path in SCANNED:
            for loop in self.json("report", str(path)).get("stacks", []):
                with self.subTest(path.name, loop=loop["loop"]):
                    sizes = [value["bytes"] for value in loop["values"]]
                    self.assertEqual(sum(sizes), loop["bytes"])
                    self.assertEqual(sizes, sorted(sizes, reverse=True))
                    if loop["reason"] == "none":
                        self.assertLessEqual(loop["least_bytes"], loop["fast_bytes"])
                        self.assertGreaterEqual(loop["least_overhead"], loop["fast_overhead"])


class DeepChains(ToolTest):
    """What a stack stores may come through any number of tuples."""

    def test_tuples(self):
        text = (GOLDEN / "scan" / "by_two.hlo").read_text()
        pairs = "".join(f"  p{i} = (f32[1024]) tuple({f'g{i - 1}' if i else 'sine'})\n"
                        f"  g{i} = f32[1024] get-tuple-element(p{i}), index=0\n" for i in range(60000))
        old = "  row = f32[1,1024] reshape(sine)"
        self.assertIn(old, text)
        name = self.write("deep.hlo", text.replace(old, pairs + "  row = f32[1,1024] reshape(g59999)"))
        summary = self.json(name, "--algorithm=scan", "--effort=0", *ALL)
        self.assertGreater(len(summary["scans"]), 0)


if __name__ == "__main__":
    tool.main()
