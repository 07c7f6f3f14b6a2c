#!/usr/bin/env python3
"""scripts/bench/search on texts of XLA:TPU. usage: test_bench.py TOOL [CLASS...]"""

import csv
import subprocess
import sys

import tool
from tool import ROOT, ToolTest


class BenchOfEstimates(ToolTest):
    """A text with XLA:TPU's estimates of time has a column by these, although decisions do not see them."""

    def test_column(self):
        self.golden("estimates")
        run = subprocess.run(
            [sys.executable, ROOT / "scripts" / "bench" / "bench_search.py", f"--program={self.tool}", "--only=tpu/v5e input",
             "--tpu=v5e:input.hlo", "--budgets=85%", "--algorithms=path", "--csv=out.csv", "--jobs=1"],
            cwd=self.dir, text=True, capture_output=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        (row,) = csv.DictReader((self.dir / "out.csv").read_text().splitlines())
        self.assertEqual((row["group"], row["status"]), ("tpu", "met"))
        # `path` recomputes exponential.1, for which XLA:TPU has 84,000 cycles at 1.5 GHz.
        result = self.json("cost", "input.hlo", "--device=tpu-v5e", "--json=-", "-q")
        added = 100 * 84000 / 1.5e9 / result["seconds"]
        self.assertAlmostEqual(float(row["added_percent_by_estimates"]), added, places=4)
        self.assertNotAlmostEqual(float(row["added_percent"]), added, places=1)
        self.assertIn(f"{float(row['added_percent']):.2f} %, {added:.2f} %", run.stdout)

    def test_texts_without_estimates_are_left_out(self):
        self.golden("cost")
        run = subprocess.run(
            [sys.executable, ROOT / "scripts" / "bench" / "bench_search.py", f"--program={self.tool}", "--only=tpu/v5e input",
             "--tpu=v5e:input.hlo", "--budgets=85%", "--algorithms=path"],
            cwd=self.dir, text=True, capture_output=True, timeout=120)
        self.assertEqual((run.returncode, run.stderr), (1, "no file and budget is left to run\n"))


if __name__ == "__main__":
    tool.main()
