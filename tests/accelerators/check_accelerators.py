#!/usr/bin/env python3
"""Compiles the programs of programs.py for TPUs and GPUs that are not there, as they are and with us, and
compares what XLA assigned with what the tool says. Run by scripts/check-accelerators, in an environment that has
JAX, the plugins, and remat_hlo's library and tool.

Routes: `plain`: the tool's figures of each dump that it can be given; `hook`: rematerialized at JAX's hook within
the compilation; `before`: rematerialized before XLA optimizes it, under several budgets, of which the best is kept, so
that no program takes more than as it is (before_route.py). FOLDER/TARGET/PROGRAM/CASE
has the texts that the tool may see in `seen`, and in `truth` what it is compared with and never shown.

Sizes come from --seed, which is drawn and printed. Most compilations are stopped as soon as XLA has assigned the
buffers, unless --whole is given: code generation takes long, for TPU minutes, and has no part in memory.

--refused has programs that XLA refuses for a TPU, since it has no memory for them; by either route they have to fit.

usage: check_accelerators.py --tool=FILE --folder=FOLDER [--cover | --full | --refused] [--targets=NAMES] [--only=EXPRESSION]
           [--routes=NAMES] [--budgets=NAMES] [--seed=N] [--seconds=N] [--csv=FILE] [--whole]"""

import argparse
import csv
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time

import apart
import before_route
import plant
import safe_walk
from apart import find
from buffer_assignment import BufferAssignment
from targets import TARGETS

ROUTES = ("hook", "before")
REFUSING = "v5e"              # the target that refuses programs
BUDGETS = ("r70%", "r50%", "r30%")
MOST_SECONDS = 300            # of one compilation
BEYOND_XLA = "not compiled by XLA"
BEFORE_VMEM = "before_buffer_assignment"
MOST_BEYOND_XLA = 1 / 8       # of the programs
EXCEEDS = "XLA exceeds the most that was said by"
PACKED_OTHERWISE = "packed otherwise"
XLAS_OWN_READ = "XLA's own text reads what is overwritten"
# Of what is no fault of ours and is not understood so far, so much is let pass: programs as they are, whose values are
# as XLA has them and only lie at other offsets; and modules that XLA wrote alone, which the walk refuses.
MOST_UNEXPLAINED, FEW_UNEXPLAINED = 1 / 20, 2
# Of so many programs that a target has at least, so many are to be within what is usual for it.
MANY_PROGRAMS, USUAL_SHARE = 20, 0.8
# How far off what is said of a rewritten module may be on a GPU, where XLA's own rematerialization comes after us.
HOOK_TOLERANCE = 0.01
# On a TPU, what is said before memory-space assignment is a range. XLA may exceed its upper end by this share.
MOST_ABOVE_RANGE = 0.01
SEEN = re.compile(r"before_optimizations\.txt$|after_optimizations\.txt$|_(before|after)_buffer_assignment\.txt$|"
                  r"before_config_assignment\.txt$|oom_intermediate_module\.txt$")
TRUTH = re.compile(r"-(buffer-assignment|buffer-assignment-values|live-range|memory-usage-report)\.txt$")
COLUMNS = ("program", "target", "route", "budget", "seed", "fault", "outcome", "text", "said_temp_bytes",
           "said_least_bytes", "assigned_temp_bytes", "plain_temp_bytes", "error", "limit_bytes", "assigned_total_bytes", "is_met",
           "added_time", "reads", "planted", "decide_seconds", "seconds")


@dataclasses.dataclass(frozen=True)
class Case:
    program: str
    target: str
    route: str = "plain"
    budget: str = ""

    @property
    def stem(self):
        return "-".join(filter(None, (self.route, self.budget.strip("%"))))

    def __str__(self):
        return f"{self.program}, {self.target}, {self.route} {self.budget}".strip()


# ---- one compilation ----

def ends_early(case, platform, is_whole):
    """Whether a compilation is stopped when buffers are assigned. At the hook for GPU it is not: a whole one goes on
    with the untouched module where that takes less."""
    return not is_whole and (platform == "tpu" or case.route != "hook")


def compile_case(case, arguments, folder, given=""):
    """What became of it: the outcome that the process wrote, {"early": True} if it was stopped since its
    buffers are assigned, or an error. `given` is the file of the module to compile, with the route `before`."""
    target = TARGETS[case.target]
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("dump", "hook"):
        (folder / name).mkdir(parents=True)
    order = {**dataclasses.asdict(case), "seed": arguments.seed, "algorithm": "auto", "folder": str(folder),
             "given": str(given)}
    is_early = ends_early(case, target.platform, arguments.whole)
    end = apart.run_apart(
        "compile_one.py", order, target, folder, MOST_SECONDS,
        lambda: is_early and apart.is_assigned(folder / "dump", case.program, target.platform))
    if end == apart.ENOUGH:
        return {"early": True}
    if end == apart.LATE:
        return {"error": f"not compiled within {MOST_SECONDS} s"}
    outcome = apart.read_outcome(folder)
    return {"error": f"the process {end}: {apart.last_words(folder, 1500)}"} if outcome is None else outcome


def sort_files(folder, program):
    """Takes the dump apart: what the tool may see, and what it must not. Only the program's module is kept; XLA
    has others, of which it is made or which it makes of parts."""
    for name in ("seen", "truth"):
        (folder / name).mkdir()
    for path in sorted((folder / "dump").iterdir()):
        if f".jit_{program}." not in path.name:
            continue
        for name, expression in (("truth", TRUTH), ("seen", SEEN)):
            if expression.search(path.name):
                path.rename(folder / name / path.name)
                break
    shutil.rmtree(folder / "dump")
    for path in (folder / "hook").glob("*.hlo"):
        if f".jit_{program}." in path.name or path.name.startswith("before_optimizations"):
            path.rename(folder / "seen" / path.name)
    shutil.rmtree(folder / "hook")


@dataclasses.dataclass
class Compiled:
    case: Case
    folder: pathlib.Path
    outcome: dict
    seconds: float
    report: dict = None  # of the route `before`
    warnings: tuple = ()

    @property
    def is_out_of_memory(self):
        return "RESOURCE_EXHAUSTED" in self.outcome.get("error", "")

    @property
    def fault(self):
        error = self.outcome.get("error")
        return "" if error is None or self.is_out_of_memory else f"XLA does not compile it: {error}"

    @property
    def is_to_be_refused(self):
        import programs
        return self.case.program in programs.REFUSED

    @property
    def is_beyond_xla(self):
        """XLA does not compile the program as it is. Without a device it knows no way to compute some products."""
        return self.case.route == "plain" and self.outcome.get("error", "").find("INTERNAL") >= 0

    @property
    def is_tpu(self):
        return TARGETS[self.case.target].platform == "tpu"

    def assignment(self):
        path = find(self.folder / "truth", "*-buffer-assignment.txt")
        return BufferAssignment(path.read_text()) if path else None

    def truth(self):
        """memory_analysis, or as much of it as the buffer assignment has; None if it has come to neither."""
        if "temp_size_in_bytes" in self.outcome:
            return self.outcome
        assignment = self.assignment()
        return assignment and assignment.truth(self.is_tpu)

    def total_bytes(self):
        return apart.total_of(self.truth())


def folder_of(case, arguments):
    return arguments.folder / case.target / case.program / case.stem


def make_before(case, plain, arguments):
    """The best of the program as it is and as it was rewritten under several budgets."""
    folder, begin = folder_of(case, arguments), time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    best, report, warnings = before_route.search(
        case, plain, TARGETS[case.target], folder,
        lambda path, number: make(case, arguments, folder / str(number), path))
    report = report and report.to_dict()
    (folder / "reports.json").write_text(json.dumps([report], indent=1))
    return dataclasses.replace(best, case=case, report=report, seconds=time.monotonic() - begin,
                               warnings=tuple(message for _, message in warnings))


def make(case, arguments, folder=None, given=""):
    folder = folder or folder_of(case, arguments)
    begin = time.monotonic()
    outcome = compile_case(case, arguments, folder, given)
    sort_files(folder, case.program)
    made = Compiled(case, folder, outcome, time.monotonic() - begin)
    (folder / "truth" / "truth.json").write_text(json.dumps(
        {**outcome, **(made.truth() or {}), "seed": arguments.seed}, indent=1) + "\n")
    return made


# ---- what is expected ----

def row_of(made, arguments, **values):
    truth = made.truth()
    return {**dataclasses.asdict(made.case), "seed": arguments.seed, "fault": made.fault, "outcome": "compiled",
            "assigned_temp_bytes": truth and truth["temp_size_in_bytes"], "seconds": round(made.seconds, 1), **values}


def report_of(arguments, path, *options):
    """What the tool says of a file, which is all that it is given."""
    run = subprocess.run([arguments.tool, "report", "--quiet", "--json=-", *options, path],
                         capture_output=True, text=True)
    if run.returncode:
        raise ValueError(f"the tool refuses {path.name}: {run.stderr.strip()[-500:]}")
    return json.loads(run.stdout)


def error_of(said, assigned):
    return (said - assigned) / assigned if assigned else float(said > 0)


def error_of_range(least, most, assigned):
    """By how much XLA's figure lies outside of what was said: negative above it, positive below it."""
    return error_of(min(max(assigned, least), most), assigned)


def range_fault(target, least, most, assigned):
    if most - least > target.vmem_bytes:
        return f"the range is {most - least - target.vmem_bytes} bytes wider than VMEM"
    if error_of_range(least, most, assigned) < -MOST_ABOVE_RANGE and assigned - most > target.slack_bytes:
        return f"{EXCEEDS} {100 * (assigned - most) / most:.2f} %"
    return ""


def figure_fault(target, said, assigned):
    error = error_of(said, assigned)
    if -target.most_below <= error <= target.most_above or abs(said - assigned) <= target.slack_bytes:
        return ""
    return f"temporaries are wrong by {100 * error:+.2f} %"


def judge_plain(made, arguments):
    """A row for each text of the program as it is that the tool has to know."""
    target = TARGETS[made.case.target]
    if made.is_beyond_xla:
        yield row_of(made, arguments, fault="", outcome=BEYOND_XLA)
        return
    if made.fault or not made.truth():
        yield row_of(made, arguments, fault=made.fault or "nothing is assigned")
        return
    outcome = "out of memory" if made.is_out_of_memory else "compiled"
    if made.is_to_be_refused and not made.is_out_of_memory:
        yield row_of(made, arguments, fault="XLA has enough memory for it")
        return
    assigned = made.truth()["temp_size_in_bytes"]
    path = find(made.folder / "seen", "*after_optimizations.txt")
    values = {"text": "after_optimizations", "outcome": outcome, "plain_temp_bytes": assigned}
    try:
        said = report_of(arguments, path)
        walked = walk(made)
        values["reads"], missed = walked.reads, []
        if walked.faults:
            values["outcome"] += f", {XLAS_OWN_READ}: {walked.faults[0]}"
        else:
            values["planted"], missed = plant.missed(path.read_text(), made.assignment(), arguments.seed)
    except (ValueError, safe_walk.Fault) as error:
        yield row_of(made, arguments, **{**values, "fault": str(error)})
        return
    values["said_temp_bytes"] = said["temp_bytes"]
    values["error"] = round(error_of(said["temp_bytes"], assigned), 6)
    values["fault"] = f"not found: {missed[0].kind}: {missed[0].what}" if missed else figure_fault(
        target, said["temp_bytes"], assigned)
    if values["fault"] and not missed and is_packed_otherwise(made, said):
        values["outcome"] += f", {PACKED_OTHERWISE}: {values.pop('fault')}"
    yield row_of(made, arguments, **values)
    if target.vmem_bytes:
        yield judge_range(made, arguments, {"plain_temp_bytes": assigned, "outcome": outcome})


def live_bytes(made):
    """Temporaries without what XLA loses between them; None: it did not dump the live ranges."""
    path = find(made.folder / "truth", "*-live-range.txt")
    return path and made.assignment().live_temp_bytes(path.read_text())


def is_packed_otherwise(made, said):
    """Whether a figure is wrong by the offsets alone: without what is lost between values it is XLA's."""
    live = live_bytes(made)
    return live is not None and not figure_fault(
        TARGETS[made.case.target], said["temp_bytes"] - said["fragmentation_bytes"], live)


def is_lost_between(made, said):
    """Whether XLA exceeds the upper end of a range by what it loses between values alone."""
    live = live_bytes(made)
    return live is not None and live <= said["said_temp_bytes"] * (1 + MOST_ABOVE_RANGE)


def judge_range(made, arguments, values):
    """The row for the text from before memory-space assignment, which is what JAX's hook sees."""
    target, assigned = TARGETS[made.case.target], made.truth()["temp_size_in_bytes"]
    path = find(made.folder / "seen", "*_before_buffer_assignment.txt")
    values["text"] = BEFORE_VMEM
    try:
        said = report_of(arguments, path, f"--device={target.profile}")
        least, most = said["least_temp_bytes"], said["most_temp_bytes"]
    except (ValueError, KeyError) as error:
        return row_of(made, arguments, **values, fault=f"no range is said: {error}")
    values.update(said_temp_bytes=most, said_least_bytes=least, seconds=0,
                  error=round(error_of_range(least, most, assigned), 6),
                  fault=range_fault(target, least, most, assigned))
    if values["fault"].startswith(EXCEEDS) and is_lost_between(made, values):
        values["outcome"] += f", {PACKED_OTHERWISE}: {values.pop('fault')}"
    return row_of(made, arguments, **values)


def walk(made):
    """Walks the module that XLA assigned buffers to. Raises what the walk cannot go on from."""
    text = find(made.folder / "seen", "*after_optimizations.txt").read_text()
    return safe_walk.walk(text, made.assignment())


def new_faults(walked, plain):
    """The faults of a rewritten module that are not of a kind which XLA's own text of the program has, too."""
    if not walked.faults:
        return []
    known = {safe_walk.kind_of(fault) for fault in walk(plain).faults}
    return [fault for fault in walked.faults if safe_walk.kind_of(fault) not in known]


def judge_rewritten(made, plain, arguments):
    values = {"plain_temp_bytes": (plain.truth() or {}).get("temp_size_in_bytes")}
    truth, report = made.truth(), report_of_hook(made)
    if made.fault or not truth or report is None:
        return row_of(made, arguments, **values, **({} if made.fault else {"fault": "it was not asked"}))
    values["outcome"] = report["outcome"] + (", out of memory" if made.is_out_of_memory else "")
    for name in ("is_met", "limit_bytes", "added_time"):
        values[name] = report.get(name)
    values["decide_seconds"] = round(sum(report.get("seconds", {}).values()), 2)
    assigned, total = truth["temp_size_in_bytes"], made.total_bytes()
    values["assigned_total_bytes"] = total
    if report.get("after") and report["outcome"] == "rematerialized":
        after = report["after"]
        most, least = after["temp_bytes"] + after["temp_more_bytes"], after["temp_bytes"] - after["temp_less_bytes"]
        values["said_temp_bytes"], values["said_least_bytes"] = most, least
        values["error"] = round(error_of_range(least, most, assigned), 6)
    try:
        walked = walk(made)
        values["reads"], faults = walked.reads, new_faults(walked, plain)
        values["fault"] = faults[0] if faults else fault_of_rewritten(made, values, assigned, total)
        if values["fault"].startswith(EXCEEDS) and is_lost_between(made, values):
            values["outcome"] += f", {PACKED_OTHERWISE}: {values.pop('fault')}"
    except safe_walk.Fault as fault:
        values["fault"] = str(fault)
    if made.is_to_be_refused and not values.get("fault") and (made.is_out_of_memory or not values["is_met"]):
        values["fault"] = "it does not fit"
    return row_of(made, arguments, **values)


def report_of_hook(made):
    """The report on the program's own module. None: it was not asked about."""
    if made.case.route == "before":
        return made.report
    path = made.folder / "reports.json"
    reports = json.loads(path.read_text()) if path.exists() else []
    return next((r for r in reversed(reports) if r["name"] == f"jit_{made.case.program}"), None)


def fault_of_rewritten(made, values, assigned, total):
    target = TARGETS[made.case.target]
    if values["outcome"].startswith(("failed", "refused by XLA")):
        return values["outcome"]
    if made.warnings:
        return made.warnings[0]
    if values["plain_temp_bytes"] is not None and assigned > values["plain_temp_bytes"]:
        if "early" not in made.outcome or made.case.route == "before":
            return "more temporaries than without us"
        # Only a whole compilation goes on with the untouched module then.
        values["outcome"] += ", more temporaries than without us"
    if values["is_met"] and total > values["limit_bytes"] * (1 + HOOK_TOLERANCE):
        return f"said to be met, and is above the limit by {total - values['limit_bytes']} bytes"
    error = values.get("error")
    if error is None or made.case.route == "before":  # where what XLA has assigned is what is said
        return ""
    if target.vmem_bytes:
        return range_fault(target, values["said_least_bytes"], values["said_temp_bytes"], assigned)
    return f"temporaries are predicted wrongly by {100 * error:+.2f} %" if abs(error) > HOOK_TOLERANCE else ""


# ---- all of them ----

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
    if REFUSING in targets:
        cases += refused_cases([choose.choice(refused_names(""))], routes)
    choose.shuffle(cases)
    return cases


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
