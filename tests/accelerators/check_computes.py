#!/usr/bin/env python3
"""Runs modules as XLA compiles them for TPUs and GPUs that are not there, before and after the tool has rewritten them, on
arrays (evaluate.py), and compares what they compute. Programs are those of programs.py and scan_programs.py in small sizes.

Into one rewritten module of each program a fault is planted: an operand becomes another value of its shape. Most such
faults change what is computed, and a run that sees none of them compares nothing.

usage: check_computes.py --tool=FILE --folder=FOLDER [--targets=v5e,h100] [--only=EXPRESSION] [--seed=N] [--seconds=N]
[--budgets=0,45%]; with --seconds, programs are taken in an order that follows from the seed until the time is over. Prints
a line for each program and target; ends with 1 if a rewritten module computes something else or begins a slice elsewhere
than is noted, and if nothing was rewritten."""

import argparse
import itertools
import pathlib
import random
import re
import secrets
import subprocess
import sys
import time

import evaluate
import hlo_reader
import programs
import scan_programs
import slice_notes
from apart import find
from compiled import Case, make

SEEN_FAULT = "a planted fault is seen"
SEEN = {"tpu": ("*_before_buffer_assignment.txt", "*before_optimizations.txt"),
        "cuda": ("*after_optimizations.txt", "*before_optimizations.txt")}


def rewrite(arguments, path, to, budget):
    """Whether the tool has changed anything."""
    unscheduled = ["--emit=unscheduled"] if "before_optimizations" in path.name else []
    run = subprocess.run([arguments.tool, "remat", path, "--quiet", "-o", to, f"--mem-limit={budget}", "--effort=1",
                          "--small-node-limit=0", *unscheduled], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise ValueError(run.stderr.strip()[-300:])
    return "remat" in to.read_text()


def planted(text, draw):
    """The text, with one operand exchanged for an earlier value of the same shape; None if no two are alike."""
    lines, places = text.splitlines(), []
    for computation in hlo_reader.read(text).computations.values():
        by_shape = {}
        for one in computation.instructions:
            for operand, path in one.operands:
                shape = next((shape for shape, names in by_shape.items() if operand in names), None)
                others = [name for name in by_shape.get(shape, ()) if name != operand]
                if not path and others and not isinstance(one.shape, list):
                    places.append((one.line_number, operand, draw.choice(others)))
            if isinstance(one.shape, str):
                by_shape.setdefault(one.shape, []).append(one.name)
    if not places:
        return None
    number, operand, other = draw.choice(places)
    lines[number] = re.sub(rf"%{re.escape(operand)}(?=[,)])", f"%{other}", lines[number], count=1)
    return "\n".join(lines)


def sees_planted(arguments, text, wanted):
    """Whether a planted fault changes what the module computes."""
    wrong = planted(text, random.Random(arguments.number))
    try:
        return wrong is None or evaluate.evaluate(wrong, arguments.number) != wanted
    except (evaluate.Unknown, ValueError, TypeError, IndexError):  # a module that cannot be run either
        return True


def check(arguments, name, target):
    """(cells, faults)"""
    made = make(Case(name, target), arguments)
    if made.is_beyond_xla or made.fault:
        return ["not compiled"], []
    cells, faults, rewritten = [], [], None
    for pattern in SEEN["tpu" if made.is_tpu else "cuda"]:
        path = find(made.folder / "seen", pattern)
        try:
            wanted = evaluate.evaluate(path.read_text(), arguments.number)
        except (evaluate.Unknown, MemoryError) as reason:
            cells.append(f"cannot be run: {reason}")
            continue
        for budget in arguments.budgets.split(","):
            to = made.folder / f"{'before_route' if 'before_optimizations' in path.name else 'hook'}_{budget.strip('%')}.hlo"
            try:
                is_changed = rewrite(arguments, path, to, budget)
                got = evaluate.evaluate(to.read_text(), arguments.number)
                notes = slice_notes.check(to.read_text()).faults if is_changed else []
            except (evaluate.Unknown, ValueError) as reason:
                faults.append(f"{path.name} under {budget}: {reason}")
                continue
            cells.append("rewritten" if is_changed else "left")
            if got != wanted:
                faults.append(f"{to} computes something else than {path}")
            faults += notes[:1]
            if is_changed:
                rewritten = to.read_text(), wanted
    if rewritten:
        cells.append(SEEN_FAULT if sees_planted(arguments, *rewritten) else "a planted fault is not seen")
    return cells, faults


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--targets", default="v5e,h100")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 30))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--budgets", default="0,45%")
    arguments = parser.parse_args()
    arguments.whole, arguments.number = False, arguments.seed
    arguments.seed = f"{programs.SMALL}{arguments.number}"
    return arguments


def main():
    arguments, begin = arguments_of(), time.monotonic()
    names = [*programs.PROGRAMS, *(scan_programs.PREFIX + name for name in scan_programs.PROGRAMS)]
    cases = [case for case in itertools.product(names, arguments.targets.split(",")) if re.search(arguments.only, case[0])]
    if arguments.seconds < float("inf"):
        random.Random(arguments.number).shuffle(cases)
    num_run = num_rewritten = num_faults = num_planted = num_seen = 0
    for name, target in cases:
        if time.monotonic() - begin > arguments.seconds:
            break
        cells, faults = check(arguments, name, target)
        num_run += 1
        num_rewritten += cells.count("rewritten")
        num_faults += len(faults)
        num_planted += bool(cells) and "planted" in cells[-1]
        num_seen += SEEN_FAULT in cells
        print(f"{name:30} {target:6} " + ", ".join(cells) + "".join(f"\n  FAULT: {fault}" for fault in faults), flush=True)
    print(f"computes: {num_run} of {len(cases)} programs, {num_rewritten} rewritten modules run, {num_faults} faults; "
          f"{num_seen} of {num_planted} planted ones are seen; seed {arguments.number}")
    return 1 if num_faults or not num_seen else 0


if __name__ == "__main__":
    sys.exit(main())
