#!/usr/bin/env python3
"""Compiles the programs of programs.py for TPUs and GPUs that are not there, as they are and with us, and
compares what XLA assigned with what the tool says. Run by scripts/check/accelerators, in an environment that has
JAX, the plugins, and remat_hlo's library and tool.

Routes: `plain`: the tool's figures of each dump that it can be given; `hook`: rematerialized at JAX's hook within
the compilation; `before`: rematerialized before XLA optimizes it, under several budgets, of which the best is kept, so
that no program takes more than as it is (before_route.py). compiled.py has the files of FOLDER, judge.py what is expected.

Sizes come from --seed, which is drawn and printed. Most compilations are stopped as soon as XLA has assigned the
buffers, unless --whole is given: code generation takes long, for TPU minutes, and has no part in memory.

--refused has programs that XLA refuses for a TPU, since it has no memory for them; by either route they have to fit.

usage: check_accelerators.py --tool=FILE --folder=FOLDER [--cover | --full | --refused] [--targets=NAMES] [--only=EXPRESSION]
           [--routes=NAMES] [--budgets=NAMES] [--seed=N] [--seconds=N] [--csv=FILE] [--whole]"""

import argparse
import csv
import itertools
import os
import pathlib
import random
import re
import secrets
import signal
import sys
import time

from compiled import Case, make, make_before
from judge import BEFORE_VMEM, BEYOND_XLA, PACKED_OTHERWISE, XLAS_OWN_READ, judge_plain, judge_rewritten
from targets import TARGETS

ROUTES = ("hook", "before")
REFUSING = "v5e"              # the target that refuses programs
BUDGETS = ("r70%", "r50%", "r30%")
# Scanned programs whose code XLA:TPU generates within seconds, and how many of them are compiled like that.
QUICK_SCANS = ("scan_lstm", "scan_gru", "scan_nested", "scan_selective", "scan_exponential_gates", "scan_bodies")
MOST_GENERATED = 2
MOST_BEYOND_XLA = 1 / 8       # of the programs
# Of what is no fault of ours and is not understood so far, so much is let pass: programs as they are, whose values are
# as XLA has them and only lie at other offsets; and modules that XLA wrote alone, which the walk refuses.
MOST_UNEXPLAINED, FEW_UNEXPLAINED = 1 / 20, 2
# Of so many programs that a target has at least, so many are to be within what is usual for it.
MANY_PROGRAMS, USUAL_SHARE = 20, 0.8
COLUMNS = ("program", "target", "route", "budget", "seed", "fault", "outcome", "text", "said_temp_bytes",
           "said_least_bytes", "assigned_temp_bytes", "plain_temp_bytes", "error", "limit_bytes",
           "assigned_total_bytes", "is_met", "added_time", "reads", "planted", "decide_seconds", "seconds")


def programs_of(expression):
    import programs
    return [name for name in programs.PROGRAMS if re.search(expression, name)]


def cover(names, targets, routes, budgets, choose):
    """Each program once, as it is, for one target after the other; and each pair of route and budget once for a TPU and
    once for a GPU, with a program that is compiled for it anyway. All in an order in which all kinds come early."""
    own, turn = list(names), list(targets)
    choose.shuffle(own)
    choose.shuffle(turn)
    plain = [Case(name, turn[number % len(turn)]) for number, name in enumerate(own)]
    cases = list(plain)
    for platform in ("tpu", "cuda"):
        there = [case for case in plain if TARGETS[case.target].platform == platform]
        for number, (route, budget) in enumerate(itertools.product(routes, budgets) if there else ()):
            of = there[number % len(there)]
            cases.append(Case(of.program, of.target, route, budget))
    cases += generated_cases([name for name in targets if TARGETS[name].platform == "tpu"], choose)
    if REFUSING in targets:
        cases += refused_cases([choose.choice(refused_names(""))], routes)
    choose.shuffle(cases)
    return cases


def generated_cases(targets, choose):
    """Loops that are rewritten as far as that goes, with fusions that are larger than XLA's own, for which code is
    generated: XLA:TPU ends the process where it finds no window for a fusion."""
    names = choose.sample(QUICK_SCANS, min(MOST_GENERATED, len(targets)))
    return [Case(name, target, "hook", "min", True) for name, target in zip(names, targets)]


def refused_names(expression):
    import programs
    return [name for name in programs.REFUSED if re.search(expression, name)]


def refused_cases(names, routes):
    """Programs that do not fit, under the budget that the device has."""
    for name in names:
        yield Case(name, REFUSING)
        for route in routes:
            yield Case(name, REFUSING, route, "auto")


def all_cases(names, targets, routes, budgets):
    for target, name in itertools.product(targets, names):
        yield Case(name, target)
        for route, budget in itertools.product(routes, budgets):
            yield Case(name, target, route, budget)


def run(cases, arguments, keep):
    """Compiles the program as it is before the first case that is compared with it."""
    start, plain, num_left = time.monotonic(), {}, 0
    for number, case in enumerate(cases):
        if arguments.seconds and time.monotonic() - start > arguments.seconds:
            num_left = len(cases) - number
            break
        key = case.program, case.target
        if key not in plain:
            plain[key] = make(Case(*key), arguments)
            for row in judge_plain(plain[key], arguments):
                keep(row)
        if case.route != "plain" and not plain[key].is_beyond_xla:
            made = make_before(case, plain[key], arguments) if case.route == "before" else make(case, arguments)
            keep(judge_rewritten(made, plain[key], arguments))
    return num_left


def print_row(row):
    def mib(name):
        return "" if row.get(name) is None else f"{row[name] / 2**20:10.2f}"
    error = "" if row.get("error") is None else f"{100 * row['error']:+.2f} %"
    route = "range" if row.get("text") == BEFORE_VMEM else row["route"]
    print(f"{row['program']:22} {row['target']:6} {route:6} {row['budget']:5} {mib('plain_temp_bytes'):>10} "
          f"{mib('said_temp_bytes'):>10} {mib('assigned_temp_bytes'):>10} {error:>10} {row['seconds']:6.1f} s  "
          f"{row['outcome']}{'  FAULT: ' * bool(row['fault'])}{row['fault'][:400]}", flush=True)


def print_table(rows):
    """A line for each target and kind of case, for man/measurements.md. Where a range is said, exact is what lies
    within it, and the worst is what lies outside: negative if XLA exceeds it."""
    print("| target | case | programs | exact | within 1 % | worst | temporaries | modelled time |")
    print("|---|---|---|---|---|---|---|---|")
    def kind_of(row):
        is_range = row.get("text") == BEFORE_VMEM
        return (list(TARGETS).index(row["target"]), row["route"] != "plain", is_range,
                "range before VMEM is used" if is_range else row["route"], row["budget"])
    for kind in sorted({kind_of(row) for row in rows}):
        target, route, budget = list(TARGETS)[kind[0]], *kind[3:]
        own = [r for r in rows if kind_of(r) == kind]
        errors = sorted((r["error"] for r in own if r.get("error") is not None), key=abs)
        shares = [r["assigned_temp_bytes"] / r["plain_temp_bytes"] for r in own
                  if r.get("assigned_temp_bytes") and r.get("plain_temp_bytes")]
        added = [r["added_time"] for r in own if r.get("added_time") is not None]
        print(f"| {target} | {route} {budget} | {len(own)} | "
              + (f"{sum(e == 0 for e in errors)} | {sum(abs(e) <= 0.01 for e in errors)} | {100 * errors[-1]:+.2f} % | "
                 if errors else "| | | ")
              + (f"{100 * sum(shares) / len(shares):.0f} %" if shares and route != "plain" else "") + " | "
              + (f"{100 * sum(added) / len(added):+.1f} %" if added else "") + " |")


def too_few_close(rows):
    """What is wrong with the figures of a target as a whole."""
    for target in TARGETS.values():
        errors = [abs(r["error"]) for r in rows if r["target"] == target.name and r["route"] == "plain"
                  and r.get("text") != BEFORE_VMEM and r.get("error") is not None]
        share = sum(error <= target.usual_error for error in errors) / max(1, len(errors))
        if len(errors) >= MANY_PROGRAMS and share < USUAL_SHARE:
            yield f"{target.name}: only {100 * share:.0f} % of the figures are within {100 * target.usual_error:.0f} %"


def too_many_unexplained(rows):
    for what in (PACKED_OTHERWISE, XLAS_OWN_READ):
        number = sum(what in row["outcome"] for row in rows if row.get("text") != BEFORE_VMEM)
        if number:
            print(f"{number} of {len(rows)}: {what}")
        if number > max(FEW_UNEXPLAINED, MOST_UNEXPLAINED * len(rows)):
            yield f"{number} of {len(rows)}: {what}"


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--cover", action="store_true")
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--routes", default=",".join(ROUTES))
    parser.add_argument("--budgets", default=",".join(BUDGETS))
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 30))
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--csv")
    parser.add_argument("--whole", action="store_true")
    arguments = parser.parse_args()
    for name in ("targets", "routes", "budgets"):
        setattr(arguments, name, [one for one in getattr(arguments, name).split(",") if one])
    arguments.routes = [route for route in arguments.routes if route != "plain"]  # which is always there
    return arguments


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no compilation goes on alone
    arguments = arguments_of()
    names = programs_of(arguments.only)
    rest = names, arguments.targets, arguments.routes, arguments.budgets
    if arguments.refused:
        names = refused_names(arguments.only)
        cases = list(refused_cases(names, arguments.routes))
    else:
        cases = list(all_cases(*rest)) if arguments.full else cover(*rest, random.Random(arguments.seed))
    print(f"seed {arguments.seed}, {len(cases)} cases of {len(names)} programs")
    rows, begin = [], time.monotonic()
    with open(arguments.csv or os.devnull, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()

        def keep(row):
            rows.append(row)
            writer.writerow(row)
            file.flush()
            print_row(row)

        num_left = run(cases, arguments, keep)
    print_table(rows)
    faults = [row for row in rows if row["fault"]]
    loose = list(too_few_close(rows))
    print("".join(f"FAULT: {line}\n" for line in loose), end="")
    print(f"walked {sum(row.get('reads') or 0 for row in rows)} reads; {sum(row.get('planted') or 0 for row in rows)} "
          "faults planted in modules without one")
    print(f"accelerators: {len(rows)} compilations in {time.monotonic() - begin:.0f} s, {len(faults)} faults, "
          f"seed {arguments.seed}" + (f"; {num_left} cases of {len(cases)} not run in time" if num_left else ""))
    num_beyond = sum(row["outcome"] == BEYOND_XLA for row in rows)
    if num_beyond:
        print(f"{num_beyond} programs are not compiled by XLA as they are")
    num_plain = sum(row["route"] == "plain" for row in rows)
    unexplained = list(too_many_unexplained(rows))
    print("".join(f"FAULT: {line}\n" for line in unexplained), end="")
    return 1 if faults or loose or unexplained or not rows or num_beyond > MOST_BEYOND_XLA * num_plain else 0


if __name__ == "__main__":
    sys.exit(main())
