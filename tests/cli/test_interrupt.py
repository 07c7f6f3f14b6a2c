#!/usr/bin/env python3
"""Rematerializations that a signal or the clock ends. usage: test_interrupt.py TOOL [CLASS...]"""

import contextlib
import json
import os
import pty
import signal
import subprocess

import tool
from tool import ToolTest

# Each round frees a value or two, so that there are thousands, and each is better than the one before.
SLOW = ("--mem-limit=1", "--small-node-limit=0", "--algorithm=path", "--set=path.steps=1000000",
        "--set=path.rounds=1000000")
NUM_VALUES = 6000
ERASED = "\r\x1b[K"


def slow_module():
    """Values that all live at the peak, and that could all be computed again behind it."""
    lines = ["HloModule slow, is_scheduled=true", "", "ENTRY e {", "  x = f32[1024] parameter(0)"]
    last = "x"
    for i in range(NUM_VALUES):
        lines.append(f"  value{i} = f32[1024] sine(x)")
        lines.append(f"  early{i} = f32[1024] add(value{i}, {last})")
        last = f"early{i}"
    for i in range(NUM_VALUES):
        lines.append(f"  late{i} = f32[1024] multiply(value{i}, {last})")
        last = f"late{i}"
    return "\n".join([*lines, f"  ROOT out = f32[1024] negate({last})", "}", ""])


class SlowTest(ToolTest):
    """Runs with a terminal, whose line shows when the module is being rematerialized."""

    def setUp(self):
        super().setUp()
        self.write("slow.hlo", slow_module())
        self.golden("recompute", to="small.hlo")
        self.inputs = ["slow.hlo", "small.hlo"]

    @contextlib.contextmanager
    def terminal(self):
        leader, follower = pty.openpty()
        try:
            yield leader, follower
        finally:
            os.close(leader)
            os.close(follower)

    def read_terminal(self, leader):
        return os.read(leader, 10000).decode()

    @contextlib.contextmanager
    def running(self, *args, files=("slow.hlo",)):
        """A run that has found something better than the slow module: the line is updated between
        rounds, and only the first time it may be before all of them."""
        with self.terminal() as (leader, follower):
            process = self.start(*files, *SLOW, *args, stderr=follower)
            shown = ""
            while shown.count(" s] ") < 3:
                shown += self.read_terminal(leader)
            try:
                yield process
            finally:
                process.kill()
                process.communicate()

    def wait(self, process):
        process.communicate(timeout=tool.TIMEOUT_SECONDS)
        return process.returncode

    def check_result(self, name, summary, is_interrupted):
        """What was written is whole, better than the input, and less than what there is to find."""
        self.assertIs(summary["interrupted"], is_interrupted)
        self.assertIs(summary["timed_out"], not is_interrupted)
        self.assertLess(summary["peak_after_bytes"], summary["peak_before_bytes"])
        self.assertGreater(summary["peak_after_bytes"], 2 * summary["lower_bound_bytes"])
        self.assertGreater(summary["rematerialized"], 0)
        self.assertFalse(summary["met"])
        self.expect(0, "verify", "slow.hlo", name, "--quiet")


class Interrupted(SlowTest):
    def test_first_signal_takes_the_best(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                with self.running("-o", "out.hlo", "--json=s.json") as process:
                    process.send_signal(number)
                    self.assertEqual(self.wait(process), 128 + number)
                self.check_result("out.hlo", json.loads(self.read("s.json")), True)
                self.assert_no_leftovers(*self.inputs, "out.hlo", "s.json")

    def test_all_outputs_are_written(self):
        with self.running("-o", "out.hlo", "--json=s.json", "--save-plan=plan.json") as process:
            process.send_signal(signal.SIGINT)
            out = process.communicate(timeout=tool.TIMEOUT_SECONDS)[0].decode()
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted: this is the best result", out)
        self.assert_no_leftovers(*self.inputs, "out.hlo", "plan.json", "s.json")
        self.expect(1, "slow.hlo", "-m1", "--apply-plan=plan.json", "-o", "again.hlo", "--quiet")
        self.assertEqual(self.read("again.hlo"), self.read("out.hlo"))

    def test_further_files_are_left(self):
        files = "small.hlo", "slow.hlo", "last.hlo"
        self.golden("recompute", to="last.hlo")
        with self.running("-o", "out/", "--json=s.json", files=files) as process:
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.wait(process), 130)
        summaries = json.loads(self.read("s.json"))
        self.assertEqual([s["interrupted"] for s in summaries], [False, True])
        self.check_result("out/slow.hlo", summaries[1], True)
        self.assert_no_leftovers(*files, "out", "out/small.hlo", "out/slow.hlo", "s.json")

    def test_second_signal_ends_at_once(self):
        """Nobody reads the pipe to which the module is to be written: without the second signal,
        the tool would wait forever. Signals that arrive together count once, so there are more."""
        os.mkfifo(self.path("fifo"))
        with self.running("-o", "fifo", "--json=s.json.new") as process:
            process.send_signal(signal.SIGINT)
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=1)
            self.wait_for(lambda: self.signal_again(process), "the second signal did not end it")
            self.assertEqual(process.returncode, 130)
        self.assert_no_leftovers(*self.inputs, "fifo")

    def signal_again(self, process):
        process.send_signal(signal.SIGINT)
        return process.poll() is not None


class TimeLimit(SlowTest):
    def test_ends_with_the_best(self):
        summary = self.json("slow.hlo", *SLOW, "--time-limit=3", "-o", "out.hlo", code=1)
        self.check_result("out.hlo", summary, False)

    def test_without_time_the_input_is_the_best(self):
        args = "--time-limit=1e-9", "-o", "out.hlo"
        summary = self.json("slow.hlo", *SLOW, *args, code=1)
        self.assertIs(summary["timed_out"], True)
        self.assertEqual(summary["peak_after_bytes"], summary["peak_before_bytes"])
        self.assertEqual(self.read("out.hlo"), self.read("slow.hlo"))

    def test_is_a_bound_only(self):
        summary = self.json("small.hlo", "-m14KiB", "--small-node-limit=0", "--time-limit=1000")
        self.assertIs(summary["timed_out"], False)
        self.assertIs(summary["interrupted"], False)
        self.assertIs(summary["met"], True)

    def test_summary_says_so(self):
        result = self.expect(1, "slow.hlo", *SLOW, "--time-limit=0.001")
        self.assertIn("the time limit was reached: this is the best result", result.out)


class Line(SlowTest):
    """The line on a terminal."""

    def shown(self, *args):
        with self.terminal() as (leader, follower):
            process = self.start("slow.hlo", *SLOW, *args, stderr=follower)
            self.wait(process)
            os.write(follower, b"END")
            shown = ""
            while not shown.endswith("END"):
                shown += self.read_terminal(leader)
        return shown[: -len("END")]

    def test_is_updated_and_erased(self):
        shown = self.shown("--time-limit=2")
        lines = shown.split(ERASED)
        self.assertGreater(len(lines), 3, shown)
        self.assertEqual((lines[0], lines[-1]), ("", ""), shown)
        for line in lines[1:-1]:
            self.assertRegex(line, r"^\[\d+ s\] (no result yet|best so far .* MiB)")
            self.assertLess(len(line), 80)

    def test_is_for_long_runs_that_people_watch(self):
        self.assertEqual(self.shown("--time-limit=0.5"), "")
        self.assertEqual(self.shown("--time-limit=2", "--quiet"), "")
        self.assertNotIn(ERASED, self.shown("--time-limit=2", "--json=-"))

    def test_is_for_terminals(self):
        self.assertEqual(self.expect(1, "slow.hlo", *SLOW, "--time-limit=2").err, "")


class Limits(ToolTest):
    """Options that change nothing for algorithms that end by themselves."""

    def setUp(self):
        super().setUp()
        self.golden("recompute")

    def test_change_nothing(self):
        args = "-m14KiB", "--small-node-limit=0", "--quiet", "-o-"
        usual = self.expect(0, "input.hlo", *args).out
        for option in ("--effort=0", "--effort=9", "--threads=0", "--threads=4"):
            self.assertEqual(self.expect(0, "input.hlo", *args, option).out, usual)

    def test_threads_of_comparisons_change_nothing(self):
        args = "compare", "input.hlo", "--algorithms=path,standard", "--quiet", "--json=-"
        runs = []
        for options in ([], ["--threads=3"], ["--threads=1000", "-j2"], ["--threads=2", "-j100"]):
            lines = self.expect(0, *args, *options).out.splitlines()
            runs.append([json.loads(line)["peak_after_bytes"] for line in lines])
        self.assertEqual(runs[1:], runs[:1] * 3)

    def test_effort_is_noted_in_comparisons(self):
        args = ("compare", "input.hlo", "--quiet", "--algorithms=path", "--schedulers=input", "--budgets=min",
                "--json=-")
        settings = []
        for options in (["--threads=2"], ["--effort=2"], ["--time-limit=60"]):
            line = self.expect(0, *args, *options).out
            settings.append(json.loads(line)["settings"])
        self.assertNotIn("threads", settings[0])
        self.assertIn("effort=2", settings[1])
        self.assertIn("time_limit=60", settings[2])


if __name__ == "__main__":
    tool.main()
