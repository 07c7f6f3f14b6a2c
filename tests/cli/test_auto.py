#!/usr/bin/env python3
"""`auto` and the search on the samples. usage: test_auto.py TOOL [CLASS...]"""

import tool
from tool import SAMPLES, ToolTest

SINGLE = "path", "standard", "checkpoint=memory", "checkpoint=speed", "scan", "search"
ALL = "--small-node-limit=0", "--effort=2"


class Auto(ToolTest):
    """`auto` is as good as the best algorithm alone: met before not met, then less time, then less
    memory; where nothing meets the budget, less memory and then less time."""

    def result(self, path, algorithm, limit):
        run = self.run_tool(str(path), f"--algorithm={algorithm}", f"--mem-limit={limit}", *ALL,
                            "--quiet", "--json=-")
        self.assertIn(run.code, (0, 1))
        summary = tool.json.loads(run.out)
        figures = summary["seconds_after"], summary["peak_after_bytes"]
        return (0, *figures) if summary["met"] and limit != "min" else (1, *reversed(figures)), summary

    def check(self, path, limit):
        with self.subTest(path.name, limit=limit):
            best, summary = self.result(path, "auto", limit)
            self.assertIn("chosen_algorithm", summary)
            for algorithm in SINGLE:
                self.assertLessEqual(best, self.result(path, algorithm, limit)[0], algorithm)

    def test_budgets(self):
        for path in sorted(SAMPLES.glob("*.after_optimizations.hlo")):
            for limit in ("70%", "40%"):
                self.check(path, limit)

    def test_lowest(self):
        for name in ("resnet", "unet_donated", "lstm"):
            self.check(SAMPLES / f"{name}.after_optimizations.hlo", "min")

    def test_no_budget(self):
        """Without a budget nothing is done, and the summary says so."""
        path = SAMPLES / "vgg.after_optimizations.hlo"
        summary = self.json(str(path), "--algorithm=auto")
        self.assertEqual(summary["peak_after_bytes"], summary["peak_before_bytes"])
        self.assertEqual(summary["rematerialized"], 0)


if __name__ == "__main__":
    tool.main()
