#!/usr/bin/env python3
"""`cost` on the command line. usage: test_cost.py TOOL [CLASS...]"""

import csv
import io
import json
import math

import tool
from tool import SAMPLES, ToolTest

SAMPLES_OF_COST = ("gpt_scan.after_optimizations", "resnet.before_optimizations")
FIGURES = ("flops", "transcendentals", "bytes_accessed", "seconds", "memory_seconds")


class Cost(ToolTest):
    """What takes time, and what it adds up to."""

    def setUp(self):
        super().setUp()
        self.golden("cost")

    def test_sums_add_up(self):
        for name in SAMPLES_OF_COST:
            report = self.json("cost", SAMPLES / f"{name}.hlo", "--json=-", "-q")
            for key in ("by_opcode", "by_source", "by_computation", "by_instruction"):
                with self.subTest(name, key=key):
                    self.assertGreater(len(report[key]), 1)
                    self.assertEqual(
                        sorted(report[key], key=lambda item: -item["seconds"]), report[key]
                    )
                    for figure in ("seconds", "memory_seconds"):
                        total = sum(item[figure] for item in report[key])
                        self.assertAlmostEqual(total, report[figure], delta=1e-9 * total)
            top = [scope["seconds"] for scope in report["by_scope"] if scope["depth"] == 0]
            self.assertAlmostEqual(sum(top), report["seconds"], delta=1e-9 * sum(top))

    def test_seconds_are_those_of_the_main_job(self):
        for name in SAMPLES_OF_COST:
            path = SAMPLES / f"{name}.hlo"
            for device in ("a100-80g", "cpu"):
                report = self.json("cost", path, f"--device={device}", "--json=-", "-q")
                job = self.json(
                    path, f"--device={device}", "--json=-", "-q", "--inline-calls=never"
                )
                self.assertAlmostEqual(report["seconds"], job["seconds_before"], delta=1e-12)
                self.assertEqual(report["flops"], job["flops_before"])

    def test_loops_run_as_often_as_said(self):
        once = self.json("cost", "input.hlo", "--json=-", "-q")
        often = self.json("cost", "input.hlo", "--json=-", "-q", "--trip-count=90")
        self.assertEqual((once["unknown_loops"], once["unknown_calls"]), (1, 1))
        runs = [
            next(item["runs"] for item in report["by_instruction"] if item["name"] == "d")
            for report in (once, often)
        ]
        self.assertEqual(runs, [10 + 1, 10 + 90])

    def test_costs_are_as_said(self):
        plain = self.json("cost", "input.hlo", "--json=-", "-q")
        call = next(item for item in plain["by_instruction"] if item["opcode"] == "custom-call")
        said = f"--cost-of=^{call['name']}$:flops=1e15"
        report = self.json("cost", "input.hlo", "--json=-", "-q", said)
        self.assertEqual((plain["unknown_calls"], report["unknown_calls"]), (1, 0))
        self.assertGreater(report["seconds"], plain["seconds"] + 1)
        job = self.json("input.hlo", "--json=-", "-q", said, "--inline-calls=never", "-mmin")
        self.assertAlmostEqual(report["seconds"], job["seconds_before"], delta=1e-9)
        # The result is read again from its text, and still knows.
        self.assertGreater(job["seconds_after"], plain["seconds"] + 1)
        for text in ("flops=1", "a:", "a:flops", "a:flops=-1", "a:bytes=4XiB", ":flops=1"):
            with self.subTest(text):
                run = self.expect(2, "cost", "input.hlo", f"--cost-of={text}")
                self.assertIn("--cost-of takes REGEX:flops=N", run.err)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.expect(0, "cost", "input.hlo", "--csv=-").out)))
        report = self.json("cost", "input.hlo", "--json=-", "-q")
        self.assertEqual(
            [row["name"] for row in rows], [item["name"] for item in report["by_instruction"]]
        )
        for row, item in zip(rows, report["by_instruction"]):
            self.assertTrue(math.isclose(float(row["seconds"]), item["seconds"], rel_tol=1e-14))  # cJSON has 15 digits

    def test_outputs(self):
        self.expect(0, "cost", "input.hlo", "-q", "--json=a.json", "--csv=a.csv")
        self.assertIn("by_opcode", json.loads(self.read("a.json")))
        self.assertIn("name,opcode", self.read("a.csv"))
        for args, says in (
            (["cost", "input.hlo", "--json=-", "--csv=-"], "only one output can go to stdout"),
            (["cost", "input.hlo", "--device=a100"], "a100"),
            (["cost", "input.hlo", "--mem-limit=1"], "there is no option"),
            (["cost"], "cost takes one file"),
            (["cost", "input.hlo", "input.hlo"], "cost takes"),
        ):
            with self.subTest(args):
                self.assert_message(self.expect(2, *args), says)
        self.expect(3, "cost", "missing.hlo")
        self.expect(4, "cost", "input.hlo", "--json=/nonexistent/x")
        self.write("broken.hlo", "HloModule m\nENTRY e { ROOT x = f32[2] add( }")
        self.expect(3, "cost", "broken.hlo")

    def test_nothing_takes_time(self):
        self.write("none.hlo", "HloModule none\nENTRY e { ROOT t = () tuple() }")
        self.assertIn("modelled time", self.expect(0, "cost", "none.hlo").out)
        self.assertEqual(self.json("cost", "none.hlo", "--json=-", "-q")["seconds"], 0)


if __name__ == "__main__":
    tool.main()
