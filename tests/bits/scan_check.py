"""Rewrites scanned training steps within XLA's compilation, compares every bit of what they put out and
the bytes of temporaries, and sets the peaks beside those that jax.checkpoint reaches. Run by
scripts/check/scan.

    scan_check.py TOOL FOLDER [OPTION...]

FOLDER gets the module of each program at each stage (NAME.VARIANT.STAGE.hlo), results.json, and in `found`
what differs."""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading
import time

import check_bits

BUDGETS = ("min", "r25%", "r50%", "r75%")
NEW_ALGORITHM = "scan"
# Every value counts in programs so small.
COMMON = ("--small-node-limit=0",)
STAGES = {"POST": (), "PRE": ("--emit=unscheduled",)}
SUFFIXES = {"before": "before_optimizations", "after": "cpu_after_optimizations"}  # of XLA's own dumps
# The rounding of f64 in sums of some thousand numbers; what is wrong differs by far more.
LAST_BITS = {"float32": 1e-3, "float64": 1e-11}
# Barriers are taken out behind POST_SCHEDULER, which changes what lives when: those of jax.checkpoint.
BARRIER = " opt-barrier("
MEGA = 1e6


# ---- the worker ----

def ask_for_dumps(room):
    """Has XLA write its own dumps; to be called before it is loaded. Constants must not be elided."""
    os.environ["XLA_FLAGS"] = " ".join((
        os.environ.get("XLA_FLAGS", ""), f"--xla_dump_to={room} --xla_dump_hlo_as_text",
        "--xla_dump_large_constants=true"))


def perform(engine, compiler, tool, task, folder, tell):
    import scan_programs
    program = scan_programs.PROGRAMS[task["program"]]
    dumps = pathlib.Path(task["dumps"])
    tell("at", what="compiling the program itself")
    program.arguments(0)  # may compile, too
    forget_dumps(folder.parent)
    runner = engine.Runner(compiler, program)
    befores = keep_modules(runner, program, folder.parent, dumps)
    stats = runner.executable.get_compiled_memory_stats()
    tell("program", temp_bytes=stats.temp_size_in_bytes, whiles=runner.texts["POST"].count(" while("))
    if not task["combinations"]:
        return
    check_untouched(engine, tool, befores["POST"], stats.temp_size_in_bytes, tell)
    if not runner.is_deterministic:
        tell("skipped", why="differs from itself", count=len(task["combinations"]))
        return
    verdicts = {}
    for combination in task["combinations"]:
        stage, *flags = combination
        try:
            check(engine, runner, tool, stage, flags, befores[stage], folder, task, verdicts, tell)
        except engine.Failure as failure:
            tell("finding", kind="FAILED", what=str(failure), combination=combination, stage=stage,
                 repeats=1, before=befores[stage].read_text())
        forget_dumps(folder.parent)


def forget_dumps(room):
    for path in room.glob("module_*"):
        if path.is_file():
            path.unlink()


def keep_modules(runner, program, room, dumps):
    """Writes the module at each stage, and gives the paths of those where it can be rewritten."""
    befores = {}
    for stage, text in runner.texts.items():
        befores[stage] = dumps / f"{program.name}.{stage.lower()}.hlo"
        befores[stage].write_text(text)
    for stage, suffix in SUFFIXES.items():
        path, = room.glob(f"module_*.jit_{program.function.__name__}.{suffix}.txt")
        (dumps / f"{program.name}.{stage}.hlo").write_text(path.read_text())
    return befores


def check_untouched(engine, tool, path, temp_bytes, tell):
    """What the tool counts in a module before it does anything is what XLA gives it."""
    counted = engine.memory(tool, path)["temp_bytes"]
    before = path.read_text()
    compare_temp(counted, temp_bytes, before, tell, what="untouched", stage="POST", before=before)


def compare_temp(counted, temp_bytes, text, tell, what, **place):
    if counted == temp_bytes:
        tell("passed", count=1)
    elif BARRIER in text:
        tell("barrier")
    else:
        tell("finding", kind="OTHER TEMP", what=f"{what}: {counted:,} bytes of temporaries, "
             f"{temp_bytes:,} in XLA", repeats=1, **place)


def check(engine, runner, tool, stage, flags, before, folder, task, verdicts, tell):
    """One rewriting. Those with the same text are compiled and run once; each is a row of results."""
    begin = time.monotonic()
    after, summary = engine.rewrite(tool, before, folder, flags)
    row = {"stage": stage, "flags": flags, "rematerialized": summary["rematerialized"],
           "met": summary["met"], "tool_seconds": round(time.monotonic() - begin, 3),
           "peak_before_bytes": summary["peak_before_bytes"],
           "peak_after_bytes": summary["peak_after_bytes"], "overhead": summary["overhead"],
           "predicted_temp_bytes": summary["parts_after"]["temp_bytes"]}
    if after == before.read_text():
        tell("row", **row, verdict="unchanged")
        tell("passed", count=1)
        return
    if check_bits.HOST_MEMORY.search(after):
        tell("skipped", why="host memory", count=1)
        return
    identity = f"{stage} {engine.digest(after)}"
    place = {"combination": [stage, *flags], "stage": stage, "identity": identity, "after": after,
             "before": before.read_text()}
    if identity in task["deadly"]:
        return
    if identity not in verdicts:
        tell("at", what="compiling and running", **place)
        verdicts[identity] = judge(engine, runner, tool, stage, flags, before, folder, after, tell)
    kind, what, temp_bytes = verdicts[identity]
    # At PRE_SCHEDULER the order is still XLA's own matter.
    if stage == "POST":
        compare_temp(row["predicted_temp_bytes"], temp_bytes, after, tell, what="predicted", **place)
    tell("row", **row, temp_bytes=temp_bytes, verdict=kind, what=what)
    if kind == "same bits":
        tell("passed", count=1)
    else:
        tell("finding", kind=kind, what=what, repeats=1, **place)


def judge(engine, runner, tool, stage, flags, before, folder, after, tell):
    """(kind, words, XLA's bytes of temporaries)."""
    objection = engine.verify(tool, before, folder / "after.hlo")
    executable = runner.compiler.replace(runner.stablehlo, stage, after)
    temp_bytes = executable.get_compiled_memory_stats().temp_size_in_bytes
    final = folder / "final.hlo"
    final.write_text(engine.print_module(executable.hlo_modules()[0]))
    check_bits.compare_memory(engine, tool, executable, final, tell)
    results = runner.run(executable)
    tell("ran")
    if not runner.same(results):
        kind, what = "OTHER BITS", runner.difference(results)
        largest = runner.largest_difference(results)
        if stage == "PRE" and largest <= LAST_BITS["float32"]:
            wide = in_float64(engine, runner, tool, stage, flags, folder)
            what += f"; in float64 {wide if isinstance(wide, str) else f'by {wide:.3g}'}"
            if not isinstance(wide, str) and wide <= LAST_BITS["float64"]:
                kind = "other last bits"
        what += f"; {objection or 'verify says equivalent'}"
        return kind, what, temp_bytes
    if objection:
        return "VERIFY REFUSES", f"{objection} (the bits are the same)", temp_bytes
    return "same bits", "", temp_bytes


def in_float64(engine, runner, tool, stage, flags, folder):
    """By how much the same rewriting changes the results of the same program in float64, or why that
    cannot be told: what is only another rounding shrinks with it, what is wrong does not."""
    import dataclasses

    import jax
    import numpy as np

    def widen(value):
        return np.asarray(value, np.float64 if np.asarray(value).dtype == np.float32 else None)
    narrow = runner.program
    program = dataclasses.replace(
        narrow, arguments=lambda step: jax.tree.map(widen, narrow.arguments(step)))
    try:
        with jax.enable_x64(True):
            wide = engine.Runner(runner.compiler, program)
            before = folder / "wide.hlo"
            before.write_text(wide.texts[stage])
            after, _ = engine.rewrite(tool, before, folder, flags)
            executable = runner.compiler.replace(wide.stablehlo, stage, after)
            return wide.largest_difference(wide.run(executable))
    except Exception as error:
        return f"not known: {engine.first_line(error)}"


# ---- the parent ----

class Report:
    """Counts, keeps rows and findings. `take` is what check_bits.run_task tells."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.kinds = collections.Counter()
        self.programs = collections.defaultdict(lambda: {"rows": []})

    def take(self, program, event):
        with self.lock:
            name = event.pop("event")
            if name == "program":
                self.programs[program].update(event)
                print(f"{program}: {event['whiles']} loops, {event['temp_bytes'] / MEGA:.2f} MB of "
                      "temporaries", flush=True)
            elif name == "row":
                self.programs[program]["rows"].append(event)
            elif name == "ran":
                self.counts["modules compiled and run"] += 1
            elif name == "barrier":
                self.counts["with other temporaries where there are barriers"] += 1
            elif name == "silent":
                self.counts["times silent"] += 1
            elif name in ("passed", "skipped"):
                self.counts[name] += event["count"]
            elif name == "finding":
                self.find(program, event)

    def find(self, program, event):
        self.kinds[event["kind"]] += event["repeats"]
        folder = check_bits.new_folder(self.folder / "found", f"{program}.{event.get('stage', 'program')}")
        for name in ("before", "after"):
            if name in event:
                (folder / f"{name}.hlo").write_text(event[name])
        combination = " ".join(event.get("combination", ()))
        (folder / "why.txt").write_text(f"{event['kind']}: {event['what']}\n{program} {combination}\n")
        print(f"{event['kind']}: {program}: {combination}\n  {event['what']}\n  {folder}", flush=True)


class Model:
    """What the tool makes of the final modules, without running anything."""

    def __init__(self, tool, folder, flags):
        self.tool, self.folder, self.flags = tool, folder, [*COMMON, *flags]

    def run(self, program, algorithm, budget=None):
        """The summary, or None when the tool fails."""
        path = self.folder / f"{program}.after.hlo"
        limit = [f"--mem-limit={budget}"] if budget is not None else []
        command = [self.tool, str(path), "-q", "-n", "--json=-", f"--algorithm={algorithm}", *limit,
                   *self.flags]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode not in (0, 1):
            print(f"FAILED: {shlex.join(command)}\n  {run.stderr.strip()}", flush=True)
            return None
        return json.loads(run.stdout)


def compare(model, names, algorithms, budgets):
    """For each plain program its peaks at each budget, and beside each variant of it what is reached
    with no more than its peak."""
    results = {}
    for name in names:
        base, variant = name.split(".")
        if variant != "plain":
            continue
        untouched = model.run(name, "none")
        variants = [other for other in names if other.split(".")[0] == base and other != name]
        if untouched is None:
            continue
        seconds, peak = untouched["seconds_before"], untouched["peak_before_bytes"]
        entry = results[base] = {"peak_before_bytes": peak, "seconds": seconds, "algorithms": {},
                                 "variants": {}}
        for algorithm in algorithms:
            entry["algorithms"][algorithm] = {
                budget: summarize(model.run(name, algorithm, budget)) for budget in budgets}
        for other in variants:
            theirs = model.run(other, "none")
            if theirs:
                entry["variants"][other.split(".")[1]] = beside(model, name, theirs, seconds, algorithms,
                                                                entry["algorithms"])
    return results


def summarize(summary):
    keys = ("peak_after_bytes", "seconds_after", "overhead", "met", "rematerialized")
    return {key: summary[key] for key in keys} if summary else None


def beside(model, name, theirs, seconds, algorithms, known):
    """A variant's figures, and our lowest peak in no more time than it takes."""
    peak = theirs["peak_before_bytes"]
    ours = [summarize(model.run(name, algorithm, str(peak))) for algorithm in algorithms]
    tried = [run for run in [*ours, *(run for runs in known.values() for run in runs.values())] if run]
    in_time = [run["peak_after_bytes"] for run in tried
               if run["seconds_after"] <= theirs["seconds_before"]]
    reached = [run["overhead"] for run in tried if run["peak_after_bytes"] <= peak]
    return {"peak_bytes": peak, "added_time": theirs["seconds_before"] / seconds - 1,
            "our_peak_in_its_time_bytes": min(in_time, default=None),
            "our_added_time_at_its_peak": min(reached, default=None)}


def percent(share):
    return "-" if share is None else f"{100 * share:+.1f} %"


def mega(num_bytes):
    return "-" if num_bytes is None else f"{num_bytes / MEGA:.2f}"


def print_peaks(results, budgets):
    print("\npeaks in MB (final module, the tool's model) and the added modelled time\n")
    print(f"{'program':26}{'algorithm':20}{'before':>8}" + "".join(f"{b:>18}" for b in budgets))
    for base, entry in results.items():
        for algorithm, runs in entry["algorithms"].items():
            cells = [f"{mega(run['peak_after_bytes'])} {percent(run['overhead'])}" if run else "failed"
                     for run in runs.values()]
            print(f"{base:26}{algorithm:20}{mega(entry['peak_before_bytes']):>8}" +
                  "".join(f"{cell:>18}" for cell in cells))


def print_variants(results):
    """A variant counts as reached when we come as low in no more time."""
    rows = [(base, entry, name, variant) for base, entry in results.items()
            for name, variant in entry["variants"].items()]
    if not rows:
        return
    print("\nbeside jax.checkpoint: its peak and added time, our lowest peak in its time, and our added "
          "time at its peak\n")
    print(f"{'program':26}{'variant':10}{'plain':>8}{'its peak':>10}{'its time':>11}{'our peak':>10}"
          f"{'our time':>11}")
    num_reached = 0
    for base, entry, name, variant in rows:
        ours = variant["our_peak_in_its_time_bytes"]
        reached = ours is not None and ours <= variant["peak_bytes"]
        num_reached += reached
        print(f"{base:26}{name:10}{mega(entry['peak_before_bytes']):>8}{mega(variant['peak_bytes']):>10}"
              f"{percent(variant['added_time']):>11}{mega(ours):>10}"
              f"{percent(variant['our_added_time_at_its_peak']):>11}{'' if reached else '  not reached'}")
    print(f"\n{num_reached} of {len(rows)} reached")


def make_tasks(options, names, algorithms):
    flags = [*COMMON, *shlex.split(options.flags)]
    combinations = [[stage, f"--algorithm={algorithm}", f"--mem-limit={budget}", *STAGES[stage], *flags]
                    for stage in options.stages for algorithm in algorithms for budget in options.budgets]
    for name in names:
        is_rewritten = options.all or name.endswith(".plain")
        yield {"program": name, "dumps": options.folder, "deadly": [],
               "combinations": combinations if is_rewritten and not options.dump_only else []}


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/check/scan", description="Rewrites training steps that scan, compares what they compute "
        "bit by bit and the bytes they take, and sets them beside jax.checkpoint.")
    parser.add_argument("tool", help=argparse.SUPPRESS)
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", metavar="REGEX", help="programs where it matches name.variant")
    parser.add_argument("--stage", dest="stages", action="append", choices=STAGES,
                        help="rewrite at this stage only [both]")
    parser.add_argument("--budgets", type=lambda text: tuple(text.split(",")), default=BUDGETS,
                        metavar="SIZE,...", help=f"values of --mem-limit [{','.join(BUDGETS)}]".replace(
                            "%", "%%"))
    parser.add_argument("--algorithms", type=lambda text: text.split(","), metavar="NAME,...",
                        help=f"[{NEW_ALGORITHM} where the tool has it, else path]")
    parser.add_argument("--flags", default="", metavar="FLAGS", help="further options of the tool")
    parser.add_argument("--all", action="store_true",
                        help="rewrite the checkpointed variants as well, not only the plain programs")
    parser.add_argument("--dump-only", action="store_true", help="only write the modules")
    parser.add_argument("--model-only", action="store_true",
                        help="only compare peaks and times of the modules that are there")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)),
                        help="programs at a time [one for each processor]")
    parser.add_argument("--list", action="store_true", help="the programs")
    return parser.parse_args(arguments)


def select(options):
    import scan_programs
    names = [name for name in scan_programs.PROGRAMS if re.search(options.only, name)]
    if not names:
        sys.exit(f"check/scan: no program's name matches {options.only}")
    return names


def default_algorithms(tool):
    algorithms, _ = check_bits.listed(tool)
    return [NEW_ALGORITHM if NEW_ALGORITHM in algorithms else "path"]


def main():
    options = parse(sys.argv[1:])
    if options.worker:
        room = pathlib.Path(options.folder, str(os.getpid()))  # nobody else's dumps
        room.mkdir()
        ask_for_dumps(room)
        check_bits.work(options.tool, room, perform)
        return 0
    names = select(options)
    if options.list:
        print("\n".join(names))
        return 0
    options.stages = options.stages or list(STAGES)
    algorithms = options.algorithms or default_algorithms(options.tool)
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    report, begin = Report(folder), time.monotonic()
    if not options.model_only:
        tasks = list(make_tasks(options, names, algorithms))
        check_bits.run_all(options.tool, tasks, options.jobs, report, float("inf"), __file__)
        if options.dump_only:
            print(f"{len(report.programs)} of {len(names)} programs are in {folder}")
            return 1 if report.kinds else 0
    there = [name for name in names if (folder / f"{name}.after.hlo").exists()]
    results = compare(Model(options.tool, folder, shlex.split(options.flags)), there, algorithms,
                      options.budgets)
    print_peaks(results, options.budgets)
    print_variants(results)
    written = {"peaks": results, "programs": report.programs, "findings": report.kinds}
    (folder / "results.json").write_text(json.dumps(written, indent=1) + "\n")
    print(f"\n{time.monotonic() - begin:.0f} s, {len(there)} programs, "
          + ", ".join(f"{count} {what}" for what, count in report.counts.items())
          + "".join(f", {count} {kind}" for kind, count in sorted(report.kinds.items())), flush=True)
    return 1 if report.kinds else 0


if __name__ == "__main__":
    sys.exit(main())
