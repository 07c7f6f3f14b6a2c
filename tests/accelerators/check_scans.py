#!/usr/bin/env python3
"""Compares what becomes of programs that scan (scan_programs.py) with what jax.checkpoint on the bodies comes to, on
TPUs and GPUs that are not there. Of each program and target there is the program as it is, the one with checkpoints, and
four budgets of temporaries: as low as possible, as low as by hand, and a third and two thirds of the way from there to
the program as it is. The figures are MiB of temporaries, and modelled time beside that of the program as it is.

On dumps, which is what the tool is given by default (of XLA:TPU the one from before memory-space assignment), temporaries
are those that the tool says; with --hook each budget is one more compilation, and temporaries are those that XLA assigned.

usage: check_scans.py --tool=FILE --folder=FOLDER [--targets=v5e,h100] [--only=EXPRESSION] [--seed=N] [--hook]
[--algorithm=NAME] [--kept]; --kept takes what an earlier run has compiled. Prints a table; ends with 1 if a budget that is
met by hand is missed, or met in more modelled time than by hand and as it is, or if something is refused."""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import judge
import scan_programs
from apart import find
from compiled import Case, Compiled, folder_of, make
from safe_walk import Fault
from targets import TARGETS

# A time that is modelled may be off by this share: fusions differ by next to nothing.
MOST_MORE_TIME = 0.01
SAID_BY_TPU = "*_before_buffer_assignment.txt"


def text_of(made):
    """The text that the tool is given: what JAX's hook sees on a TPU, and XLA:GPU's dump."""
    pattern = SAID_BY_TPU if made.is_tpu else "*after_optimizations.txt"
    return find(made.folder / "seen", pattern)


def tool(arguments, path, *options):
    run = subprocess.run([arguments.tool, path, "--quiet", "--json=-", "-o", "/dev/null", *options],
                         capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise ValueError(f"{path.name} {' '.join(options)}: {run.stderr.strip()[-500:]}")
    return json.loads(run.stdout)


class Comparison:
    """One program on one target."""

    def __init__(self, name, target, arguments):
        self.name, self.target, self.arguments = name, target, arguments
        self.cells, self.faults = [], []

    def compile(self, name, route="plain", budget=""):
        case = Case(name, self.target, route, budget)
        folder = folder_of(case, self.arguments)
        kept = folder / "truth" / "truth.json"
        if self.arguments.kept and kept.exists():
            return Compiled(case, folder, json.loads(kept.read_text()), 0)
        return make(case, self.arguments)

    def measure(self, made):
        """(temporaries, modelled seconds) as the tool says them of a program that is left as it is."""
        run = tool(self.arguments, text_of(made), f"--device={TARGETS[self.target].profile}", "--algorithm=none", "-m100%")
        return run["parts_before"]["temp_bytes"], run["seconds_before"]

    def by_tool(self, plain, limit):
        """What becomes of the dump: (temporaries, modelled seconds)."""
        run = tool(self.arguments, text_of(plain), f"--device={TARGETS[self.target].profile}", "--limit-counts=temp",
                   f"--algorithm={self.arguments.algorithm}", f"-m{'min' if limit is None else limit}")
        return run["parts_after"]["temp_bytes"], run["seconds_after"]

    def by_hook(self, plain, limit):
        """What XLA assigns of the module that it is given: (temporaries, modelled seconds)."""
        beside = plain.total_bytes() - plain.truth()["temp_size_in_bytes"]
        made = self.compile(plain.case.program, "hook", "min" if limit is None else str(limit + beside))
        report = judge.report_of_hook(made)
        if made.fault or report is None or not made.truth():
            raise ValueError(made.fault or "the hook was not asked")
        judge.walk(made)
        is_changed = report["outcome"] == "rematerialized"
        added = report.get("added_time") or 0 if is_changed else 0
        return made.truth()["temp_size_in_bytes"], self.seconds * (1 + added)

    def add(self, temp_bytes, seconds):
        self.cells.append(f"{temp_bytes / 2**20:7.1f} {100 * (seconds / self.seconds - 1):+6.1f} %")

    def judge(self, budget, temp_bytes, seconds, limit, hand):
        """`hand`: the bytes and the seconds by hand."""
        if temp_bytes > (hand[0] if limit is None else limit):
            self.faults.append(f"{budget}: {temp_bytes / 2**20:.1f} MiB")
        elif budget == "hand" and seconds > max(self.seconds, hand[1]) * (1 + MOST_MORE_TIME):
            self.faults.append(f"hand: {100 * (seconds / self.seconds - 1):+.1f} % of time")

    def run(self):
        plain, hand = (self.compile(scan_programs.PREFIX + self.name + end) for end in ("", scan_programs.BY_HAND))
        for made in (plain, hand):
            if made.fault or text_of(made) is None:
                self.faults.append(made.fault or "nothing is dumped")
                return
        (before, self.seconds), by_hand = self.measure(plain), self.measure(hand)
        if self.arguments.hook:
            before = plain.truth()["temp_size_in_bytes"]
            by_hand = hand.truth()["temp_size_in_bytes"], by_hand[1]
        self.cells.append(f"{before / 2**20:7.1f}")
        self.add(*by_hand)
        above = max(0, before - by_hand[0])
        limits = {"min": None, "hand": by_hand[0], "1/3": by_hand[0] + above // 3, "2/3": by_hand[0] + 2 * above // 3}
        for budget, limit in limits.items():
            try:
                found = (self.by_hook if self.arguments.hook else self.by_tool)(plain, limit)
            except (ValueError, Fault) as fault:
                self.faults.append(f"{budget}: {fault}")
                self.cells.append("refused")
                continue
            self.judge(budget, *found, limit, by_hand)
            self.add(*found)


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--targets", default="v5e,h100")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--hook", action="store_true")
    parser.add_argument("--kept", action="store_true")
    arguments = parser.parse_args()
    arguments.whole = False
    return arguments


def main():
    arguments = arguments_of()
    columns = ("as it is", "by hand", "min", "as by hand", "a third", "two thirds")
    print(" " * 21 + f"{columns[0]:>8}  " + " ".join(f"{column:>17}" for column in columns[1:]))
    faults, num_run = {}, 0
    for target in arguments.targets.split(","):
        for name in scan_programs.PROGRAMS:
            if not re.search(arguments.only, name):
                continue
            one = Comparison(name, target, arguments)
            one.run()
            num_run += 1
            print(f"{name:14} {target:6} " + "   ".join(one.cells), flush=True)
            faults.update({f"{name} on {target}": one.faults} if one.faults else {})
    for what, found in faults.items():
        print(f"{what}: {'; '.join(found)}")
    print(f"scans: {num_run} programs, {len(faults)} behind what is written by hand, seed {arguments.seed}")
    return 1 if faults or not num_run else 0


if __name__ == "__main__":
    sys.exit(main())
