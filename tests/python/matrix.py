#!/usr/bin/env python3
"""Runs programs of many kinds under rematerialization within XLA:CPU: each program of matrix_programs.py
with each of XLA's schedulers, budgets, stages and algorithms, or a part in which each two of these come
together (the default). Run by scripts/check/live, in an environment that has JAX and the package.

Fails if a result differs in a bit, if XLA assigns more temporaries than without us, if what was patched in
XLA's message is not what XLA reads from our text, if a budget that was said to be met is not, or if what
was predicted of a result, or at POST_SCHEDULER of the program as it is, is more than 1 % off. At
PRE_SCHEDULER, where XLA still schedules, predictions of other versions than JAX 0.12 are only printed.
Rows go to --csv=FILE.

usage: matrix.py [--full] [--seconds=N] [--only=EXPRESSION] [--csv=FILE [--resume]]

With --resume, cases whose rows are in FILE already, without a fault, are not run again."""

import argparse
import csv
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import zlib

SCHEDULERS = {"default": "", "memory-optimized":
              " --xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}
BUDGETS = ("r90%", "r70%", "r50%", "r30%")
STAGES = ("POST_SCHEDULER", "PRE_SCHEDULER")
ALGORITHMS = ("search", "path")
FACTORS = ("program", "scheduler", "budget", "stage", "algorithm")
TOLERANCE = 0.01
COLUMNS = (*FACTORS, "fault", "outcome", "is_met", "plain_temp_bytes", "before_temp_bytes",
           "predicted_temp_bytes", "assigned_temp_bytes", "assigned_total_bytes", "limit_bytes", "added_time",
           "decide_seconds", "compile_seconds", "routes")


def pairwise_cover(cases):
    """Cases in which each pair of values of two factors that any case has comes up, chosen greedily:
    always one of those that add most pairs, the first in the order that is given."""
    pairs = {case: {(i, case[i], j, case[j]) for i, j in itertools.combinations(range(len(case)), 2)}
             for case in cases}
    missing, cover = set().union(*pairs.values()), []
    while missing:
        best = max(pairs, key=lambda case: len(pairs[case] & missing))
        missing -= pairs.pop(best)
        cover.append(best)
    return cover


# ---- one process for each scheduler of XLA's, which is a flag of the process ----

def run_cases(cases, seconds):
    """Writes a row of JSON for each case to stdout. The program as it is, is compiled once, and run
    twice: two runs must agree before a third can be compared with them."""
    import live_programs
    import matrix_programs
    import remat_hlo.jax as live
    import same_module

    start, references, routes = time.monotonic(), {}, []
    same_module.watch_routes(routes)
    for case in cases:
        if seconds and time.monotonic() - start > seconds:
            break
        named = dict(zip(FACTORS, case))
        name = named["program"]
        if name not in references:
            program = matrix_programs.PROGRAMS[name]()
            plain = live_programs.compile_program(program)
            outputs = live_programs.run(plain, program)
            fault = "" if live_programs.run(plain, program) == outputs else "two runs differ"
            references[name] = program, plain.memory_analysis().temp_size_in_bytes, outputs, fault
        program, plain_temp, outputs, fault = references[name]
        routes.clear()
        begin = time.perf_counter()
        with live.rematerialize(named["budget"], stage=named["stage"], min_peak="64KiB",
                                algorithm=named["algorithm"], verbose=False):
            compiled = live_programs.compile_program(program)
        compile_seconds = time.perf_counter() - begin
        same = live_programs.run(compiled, program) == outputs
        check, reports = live.check(compiled), live.last_reports(with_unchanged=True)
        live.clear_reports()
        row = row_of(check, reports, plain_temp, compiled.memory_analysis())
        row["routes"] = " ".join(route for route, _ in routes)
        row["fault"] = fault or fault_of(named, row, same, reports) or next(
            (f"the patched module differs: {where}" for _, where in routes if where), "")
        print(json.dumps({**named, **row, "compile_seconds": compile_seconds}), flush=True)


def row_of(check, reports, plain_temp, sizes):
    report = check.report or (reports[-1] if reports else None)
    if report is None:
        return {"plain_temp_bytes": plain_temp, "outcome": "was not asked"}
    return {"outcome": report.outcome, "is_met": report.is_met, "limit_bytes": report.limit_bytes,
            "plain_temp_bytes": plain_temp, "assigned_temp_bytes": check.assigned_temp_bytes,
            "before_temp_bytes": report.before and report.before.temp_bytes,
            "predicted_temp_bytes": check.predicted_temp_bytes, "added_time": report.added_time,
            "decide_seconds": report.total_seconds, "reason": report.reason,
            # Constants are in the limit, and not in what XLA says.
            "assigned_total_bytes": report.after and sizes.temp_size_in_bytes
            + report.after.total_bytes - report.after.temp_bytes}


def knows_order():
    """The order that XLA chooses at PRE_SCHEDULER is that of JAX 0.12."""
    import jax
    return jax.__version_info__ >= (0, 12)


def fault_of(named, row, same, reports):
    """What must not be, or ''."""
    if not same:
        return "other bits"
    if row["outcome"] in ("failed", "refused by XLA", "was not asked"):
        return f"{row['outcome']}: {'; '.join(r.reason for r in reports)}"
    assigned, predicted = row["assigned_temp_bytes"], row["predicted_temp_bytes"]
    if assigned > row["plain_temp_bytes"]:
        return "more temporaries than without us"
    is_scheduled = named["stage"] == "POST_SCHEDULER"
    wrong_by = abs(row["before_temp_bytes"] - row["plain_temp_bytes"])
    if is_scheduled and wrong_by > TOLERANCE * row["plain_temp_bytes"]:
        return "the program as it is, is predicted wrongly"
    if predicted is None or not (is_scheduled or knows_order()):
        return ""
    if abs(predicted - assigned) > TOLERANCE * assigned:
        return "predicted wrongly"
    if row["is_met"] and row["limit_bytes"] and row["assigned_total_bytes"] > row["limit_bytes"]:
        return "said to be met, and is not"
    return ""


# ---- all of them ----

def run_all(cases, seconds, keep):
    """(rows, faults of whole processes); keep(row) is called with each row as soon as it is there."""
    processes, lock = [], threading.Lock()
    for scheduler, flag in SCHEDULERS.items():
        own = [case for case in cases if case[1] == scheduler]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS":
                       "--xla_cpu_multi_thread_eigen=false --xla_force_host_platform_device_count=8"
                       + flag}
        process = subprocess.Popen(
            [sys.executable, __file__, "--cases", f"--seconds={seconds}"], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        processes.append((scheduler, own, process))
    results = {}

    def talk(scheduler, own, process):  # in a thread for each, so that no pipe fills up
        results[scheduler] = errors, found = [], []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
        reader.start()
        with process.stdin as stream:
            json.dump(own, stream)
        for line in process.stdout:
            if line.startswith("{"):
                found.append(json.loads(line))
                with lock:
                    keep(found[-1])
        reader.join()
        process.wait()

    threads = [threading.Thread(target=talk, args=one) for one in processes]
    for thread in threads:
        thread.start()
    rows, faults = [], []
    for thread, (scheduler, own, process) in zip(threads, processes):
        thread.join()
        errors, found = results[scheduler]
        rows += found
        if process.returncode:
            at = own[len(found)] if len(found) < len(own) else "the end"
            faults.append(f"{scheduler}: the process ended with {process.returncode} at {at}:\n{errors[0][-3000:]}")
    return rows, faults


def case_of(row):
    return tuple(row[name] for name in FACTORS)


def read_rows(path, cases):
    """The rows of these cases that an earlier run left in the file, without those that had a fault."""
    def value(column, text):
        if column in FACTORS or column in ("fault", "outcome"):
            return text
        return {"": None, "True": True, "False": False}[text] if text in ("", "True", "False") \
            else float(text) if "." in text or "e" in text else int(text)

    if not os.path.exists(path):
        return []
    wanted = set(cases)
    with open(path, newline="") as file:
        rows = [{column: value(column, text) for column, text in row.items()} for row in csv.DictReader(file)
                if None not in row.values()]  # None: a line that was cut off
    return [row for row in rows if case_of(row) in wanted and not row["fault"]]


def error_of(row):
    return row["predicted_temp_bytes"] / row["assigned_temp_bytes"] - 1


def print_table(rows):
    """A line for each stage, algorithm and budget."""
    print("| stage | algorithm | budget | cases | changed | met | temporaries | modelled time | "
          "prediction: median, worst |")
    print("|---|---|---|---|---|---|---|---|---|")
    for stage, algorithm, budget in itertools.product(STAGES, ALGORITHMS, BUDGETS):
        own = [row for row in rows if (row["stage"], row["algorithm"], row["budget"]) ==
               (stage, algorithm, budget) and row.get("assigned_temp_bytes") is not None]
        if not own:
            continue
        changed = [row for row in own if row["predicted_temp_bytes"] is not None]
        errors = sorted((error_of(row) for row in changed if row["assigned_temp_bytes"]), key=abs)
        share = statistics.geometric_mean([max(row["assigned_temp_bytes"], 1)
                                           / max(row["plain_temp_bytes"], 1) for row in own])
        added = statistics.mean([row["added_time"] for row in changed]) if changed else 0
        worst = (f"{100 * statistics.median(map(abs, errors)):.2f} %, {100 * errors[-1]:+.2f} %"
                 if errors else "")
        met = sum(row["is_met"] is True for row in own)
        print(f"| {stage} | {algorithm} | {budget} | {len(own)} | {len(changed)} | {met} | "
              f"{100 * share:.0f} % | {100 * added:+.1f} % | {worst} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--csv")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--cases", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cases:
        run_cases(json.load(sys.stdin), arguments.seconds)
        return 0
    import matrix_programs
    names = [name for name in matrix_programs.PROGRAMS if re.search(arguments.only, name)]
    cases = list(itertools.product(names, SCHEDULERS, BUDGETS, STAGES, ALGORITHMS))
    # Mixed, the same way each time: what is run when time is short is of all kinds.
    cases.sort(key=lambda case: zlib.crc32(" ".join(case).encode()))
    if not arguments.full:
        cases = pairwise_cover(cases)
    earlier = read_rows(arguments.csv, cases) if arguments.resume and arguments.csv else []
    known = {case_of(row) for row in earlier}
    begin = time.monotonic()
    with open(arguments.csv or os.devnull, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(earlier)

        def keep(row):
            """At once, so that a run that is stopped loses nothing, and a fault is seen early."""
            writer.writerow(row)
            file.flush()
            if row["fault"]:
                print(f"at {', '.join(case_of(row))}: {row['fault']}", file=sys.stderr, flush=True)

        rows, faults = run_all([case for case in cases if case not in known], arguments.seconds, keep)
    rows += earlier
    print_table(rows)
    for row in rows:
        if row["fault"]:
            faults.append(f"{', '.join(case_of(row))}: {row['fault']}: "
                          f"{ {name: row.get(name) for name in COLUMNS[6:]} }")
    for fault in faults:
        print(f"FAULT: {fault}")
    routes = " ".join(row.get("routes", "") for row in rows).split()
    print(f"results given to XLA as a patch: {routes.count('patch')}, as text: {routes.count('text')}")
    left = len(cases) - len(rows)
    print(f"matrix: {len(rows)} of {len(cases)} cases of {len(names)} programs in "
          f"{time.monotonic() - begin:.0f} s, {len(faults)} faults"
          + (f"; {left} not run in time" if left and not faults else ""))
    return 1 if faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
