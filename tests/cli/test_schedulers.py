#!/usr/bin/env python3
"""The scheduler `search` on the samples. usage: test_schedulers.py TOOL [CLASS...]"""

import tempfile

import tool
from tool import SAMPLES, ToolTest

XLAS = "list", "dfs", "postorder", "default"


class SearchedOrder(ToolTest):
    """Its peak is never above those of XLA's memory schedulers, nor that of the module's own order."""

    def peak(self, path, scheduler, *options):
        summary = self.json(str(path), f"--scheduler={scheduler}", "--algorithm=none", *options)
        self.assertEqual(summary["instructions_before"], summary["instructions_after"])
        return summary["peak_after_bytes"], summary

    def test_never_above(self):
        num_lower = 0
        for path in sorted(SAMPLES.glob("*.hlo")):
            for options in ((), ("--ignore-schedule",)):
                with self.subTest(path.name, options=options):
                    searched = self.peak(path, "search", *options)[0]
                    is_scheduled = self.json(str(path))["is_scheduled"] and not options
                    others = [self.peak(path, scheduler, *options)[0]
                              for scheduler in (*XLAS, *(("input",) if is_scheduled else ()))]
                    self.assertLessEqual(searched, min(others))
                    num_lower += searched < min(others)
        self.assertGreater(num_lower, 10)

    def test_is_held(self):
        """XLA's schedulers give the same peak again, where control dependencies hold the order."""
        path = SAMPLES / "mobilenet.after_optimizations.hlo"
        with tempfile.TemporaryDirectory() as folder:
            after = f"{folder}/after.hlo"
            searched, summary = self.peak(path, "search", "--emit=unscheduled", "-o", after)
            self.assertGreater(summary["moved"], 0)
            self.assertEqual(summary["moves_lost"], 0)
            for scheduler in ("default", "bfs"):
                self.assertLessEqual(self.peak(after, scheduler)[0], searched)

    def test_moves_nothing_without_gain(self):
        """XLA's schedulers come to another order here, whose peak is the same."""
        text = """HloModule tie, is_scheduled=true

ENTRY main {
  p = f32[1024]{0} parameter(0)
  q = f32[1024]{0} parameter(1)
  a = f32[1024]{0} negate(q)
  b = f32[1024]{0} exponential(a)
  c = f32[1024]{0} negate(p)
  d = f32[1024]{0} exponential(c)
  ROOT t = (f32[1024]{0}, f32[1024]{0}) tuple(d, b)
}
"""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/tie.hlo"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            orders = {}
            for name in ("search", "list", "input"):
                after = f"{folder}/{name}.hlo"
                peak = self.peak(path, name, "-o", after)[0]
                with open(after, encoding="utf-8") as file:
                    orders[name] = peak, file.read()
        self.assertEqual(orders["list"][0], orders["input"][0])
        self.assertNotEqual(orders["list"], orders["input"])
        self.assertEqual(orders["search"], orders["input"])

    def test_everywhere(self):
        """Whatever takes schedulers takes this one."""
        path = str(SAMPLES / "vgg.after_optimizations.hlo")
        wanted = self.peak(path, "search")[0]
        run = self.run_tool("report", path, "--scheduler=search", "--quiet", "--json=-")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(tool.json.loads(run.out)["peak_bytes"], wanted)
        run = self.run_tool("compare", path, "--schedulers=default,search", "--algorithms=none",
                            "--budgets=min", "--quiet", "--json=-")
        self.assertEqual(run.code, 0, run.err)
        rows = [tool.json.loads(line) for line in run.out.splitlines()]
        self.assertEqual([row["scheduler"] for row in rows], ["default", "search"])
        self.assertEqual(rows[1]["peak_after_bytes"], wanted)
        self.assertLess(wanted, rows[0]["peak_after_bytes"])


if __name__ == "__main__":
    tool.main()
