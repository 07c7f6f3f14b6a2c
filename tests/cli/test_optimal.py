#!/usr/bin/env python3
"""The exact algorithm, and what it does without its solver. usage: test_optimal.py TOOL [CLASS...]"""

import json
import os
import pathlib
import signal
import time

import tool
from tool import SAMPLES, ToolTest

CHAIN = ["chain.hlo", "--algorithm=optimal", "--memory-model=liveness", "--mem-limit=60%"]
LIBRARY = "libCbcSolver.so.3"
# Takes minutes: values may also be computed later.
SLOW = [SAMPLES / "resnet.after_optimizations.hlo", "--algorithm=optimal", "--set=optimal.later=1", "--mem-limit=r50%",
        "--small-node-limit=0", "--effort=9"]


class OptimalTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.golden("optimal", "chain.hlo", "chain.hlo")

    def children_of(self, process):
        return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


class Solver(OptimalTest):
    def setUp(self):
        super().setUp()
        if "it is not there" in self.expect(0, "list").out:
            self.skipTest(f"{LIBRARY} is not there")

    def test_is_no_worse_than_search(self):
        cases = (("mlp_checkpoint", "r90%", 0.005), ("mobilenet", "r70%", 0.005), ("unet_donated", "r90%", 0),
                 ("resnet", "r70%", 0))
        for name, limit, gain in cases:
            with self.subTest(name):
                options = [SAMPLES / f"{name}.after_optimizations.hlo", f"--mem-limit={limit}", "--keep-order"]
                optimal = self.json(*options, "--algorithm=optimal")
                search = self.json(*options, "--algorithm=search")
                self.assertEqual(optimal["moved"], 0)
                self.assertLessEqual(optimal["overhead"], search["overhead"] - gain + 1e-9)
                added = optimal["seconds_after"] - optimal["seconds_before"]
                self.assertLessEqual(optimal["added_seconds_bound"], added * (1 + 1e-9))

    def test_same_result_each_time(self):
        options = [SAMPLES / "unet_donated.after_optimizations.hlo", "--algorithm=optimal", "--mem-limit=r80%",
                   "--quiet", "-o", "-"]
        self.assertEqual(self.run_tool(*options).out, self.run_tool(*options, "--threads=2").out)

    def test_prints_nothing_of_the_solver(self):
        result = self.expect(0, *CHAIN, "--quiet")
        self.assertEqual((result.out, result.err), ("", ""))

    def test_later(self):
        options = [SAMPLES / "unet_donated.after_optimizations.hlo", "--algorithm=optimal", "--mem-limit=r90%"]
        placed = self.json(*options)
        later = self.json(*options, "--set=optimal.later=1")
        self.assertLess(later["overhead"], placed["overhead"])
        self.assertGreater(later["moved"], 0)
        kept = self.json(*options, "--set=optimal.later=1", "--keep-order")
        self.assertEqual(kept["overhead"], placed["overhead"])

    def test_time_limit(self):
        start = time.monotonic()
        summary = self.run_tool(*SLOW, "--time-limit=2", "--quiet", "--json=-")
        self.assertIn(summary.code, (0, 1))
        self.assertIn('"timed_out":\ttrue', summary.out)
        self.assertLess(time.monotonic() - start, 30)

    def test_interrupt(self):
        process = self.start(*SLOW)
        self.wait_for(lambda: self.children_of(process), "no solver was started")
        child = self.children_of(process)[0]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=tool.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(pathlib.Path(f"/proc/{child}").exists())

    def test_kill_of_the_solver(self):
        process = self.start(*SLOW, "--time-limit=60", "--json=-")
        self.wait_for(lambda: self.children_of(process), "no solver was started")
        os.kill(int(self.children_of(process)[0]), signal.SIGKILL)
        out, err = process.communicate(timeout=tool.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("CBC ended early (signal 9)", err.decode())
        self.assertTrue(json.loads(out)["met"])

    def test_ends_with_its_parent(self):
        process = self.start(*SLOW)
        self.wait_for(lambda: self.children_of(process), "no solver was started")
        child = pathlib.Path("/proc", self.children_of(process)[0], "stat")
        process.kill()
        process.communicate(timeout=tool.TIMEOUT_SECONDS)
        # Who inherits it may leave it as a zombie.
        self.wait_for(lambda: not child.exists() or child.read_text().rsplit(")")[1].split()[0] == "Z",
                      "the solver goes on")


class DyingSolver(OptimalTest):
    """What search finds in the same order stays when CBC dies, as where memory runs out."""

    def setUp(self):
        super().setUp()
        if "FAKE_CBC_FOLDER" not in os.environ:
            self.skipTest("CTest says where the library is that dies")
        self.folder = os.environ["FAKE_CBC_FOLDER"]

    def dies(self, how, *options, code=0):
        result = self.expect(code, *options, "--json=-", env={"LD_LIBRARY_PATH": self.folder, "FAKE_CBC": str(how)})
        self.assertEqual(result.err.count("CBC ended early"), 1, result)
        return json.loads(result.out), result.err

    def test_signal(self):
        for number in signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGHUP:
            with self.subTest(number):
                summary, err = self.dies(int(number), *CHAIN)
                self.assertIn(f"warning: CBC ended early (signal {number:d})", err)
                self.assertTrue(summary["met"])

    def test_exit(self):
        summary, err = self.dies(0, *CHAIN)
        self.assertIn("warning: CBC ended early (exit status 3)", err)
        self.assertTrue(summary["met"])

    def test_result_is_that_of_search(self):
        module = SAMPLES / "unet_donated.after_optimizations.hlo"
        for limit in "r90%", "r70%":
            with self.subTest(limit):
                summary, _ = self.dies(9, module, f"--mem-limit={limit}", "--algorithm=optimal")
                search = self.json(module, f"--mem-limit={limit}", "--algorithm=search", "--keep-order")
                self.assertTrue(summary["met"])
                self.assertEqual(summary["moved"], 0)
                # Of the steps, which effort limits, it has a part.
                self.assertLess(summary["overhead"], search["overhead"] * 1.2 + 0.001)
                self.assertEqual(summary["added_seconds_bound"], search["added_seconds_bound"])

    def test_lowest_peak(self):
        summary, _ = self.dies(9, *CHAIN[:-1], "--mem-limit=min")
        self.assertEqual(summary["peak_after_bytes"], 12288)

    def test_budget_that_is_missed(self):
        self.assertFalse(self.dies(9, *CHAIN[:-1], "--mem-limit=30%", code=1)[0]["met"])

    def test_list(self):
        env = {"LD_LIBRARY_PATH": self.folder, "FAKE_CBC": "9"}
        self.assertIn("it is not there", self.expect(0, "list", env=env).out)


class WithoutSolver(OptimalTest):
    """A library that cannot be loaded is found before the one that can."""

    def setUp(self):
        super().setUp()
        self.write(LIBRARY, "")
        self.without = {"LD_LIBRARY_PATH": str(self.dir)}

    def test_message(self):
        result = self.expect(2, *CHAIN, env=self.without)
        self.assert_message(result, "optimal is not available", LIBRARY, "search")

    def test_list(self):
        line = next(line for line in self.expect(0, "list", env=self.without).out.splitlines()
                    if line.startswith("  optimal "))
        self.assertIn("it is not there", line)

    def test_is_not_needed_where_nothing_is_solved(self):
        self.expect(0, *CHAIN[:-1], "--mem-limit=100%", env=self.without)
        self.expect(0, *CHAIN, "--algorithm=auto", env=self.without)

    def test_what_is_too_large_is_refused(self):
        result = self.expect(2, *CHAIN, "--set=optimal.columns=3", env=self.without)
        self.assert_message(result, "small modules", "3 columns", "use search")


if __name__ == "__main__":
    tool.main()
