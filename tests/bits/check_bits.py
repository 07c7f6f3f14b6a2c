"""Rewrites programs with the tool in the midst of XLA's compilation, runs them beside the untouched
ones, and compares every bit of what they put out. Run by scripts/check/bits.

    check_bits.py TOOL FOLDER [OPTION...]

What differs is kept in FOLDER/found: the module before and after, and the command to repeat it."""

import argparse
import collections
import fnmatch
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

from worker_process import WorkerProcess

BUDGETS = ("min", "r50%", "80%")
# Those that change which values are read where. All at once would be too many: they take turns.
EXTRA = ((), ("--clone-callees",), (), ("--copies=inserted",), (), ("--block-size-limit=8",),
         ("--ignore-schedule",), ("--remat-mode=recompute,narrow",), ("--memory-model=liveness",),
         ("--remat-mode=recompute,compress",), ("--inline-calls=always",), ("--path-depth=2",))
# The scheduled text is in order there, too: XLA takes it and looks for an order of its own.
FORMS = {"POST": ((),),
         "PRE": (("--emit=unscheduled",), (), ("--emit=unscheduled", "--protect=opt-barrier"),
                 ("--emit=unscheduled", "--protect=conditional"),
                 ("--emit=unscheduled", "--protect=none"))}
COLLECTION = "checkpoint=collection"  # needs a pattern
HOST_MEMORY = re.compile(r"\{[^{}]*S\(5\)\}")  # a layout there, which XLA:CPU does not run
# Code for POST_SCHEDULER that is in order, but that this backend wants in fusions by then.
NOT_ON_CPU = "is not supported by XLA:CPU ThunkEmitter"
SILENCE_SECONDS = 130  # longer than any run of the tool
MOST_SHOWN = 40


# ---- which calls of the tool ----

# Else it searches for as long as its steps last, up to a minute on a busy machine.
LIMITED = {"optimal": ("--time-limit=3",)}


def listed(tool):
    """The algorithms and schedulers that the tool has."""
    text = subprocess.run([tool, "list"], capture_output=True, text=True, check=True).stdout
    names = {}
    for part in text.split("\n\n"):
        title, *lines = part.splitlines()
        names[title.split()[0]] = [line.split()[0] for line in lines]
    algorithms = [f"{name}:tanh|dot" if name == COLLECTION else name
                  for name in names["algorithms"]]
    return algorithms, names["schedulers"]


def combine(stage, algorithm, scheduler, budget, number):
    form = FORMS[stage][number % len(FORMS[stage])]
    extra = EXTRA[number // len(FORMS[stage]) % len(EXTRA)]
    return [stage, f"--algorithm={algorithm}", f"--scheduler={scheduler}", f"--mem-limit={budget}",
            "--small-node-limit=0", *LIMITED.get(algorithm, ()), *form, *extra]


def select_all(algorithms, schedulers, index):
    product = itertools.product(FORMS, algorithms, schedulers, BUDGETS)
    return [combine(*one, index + number) for number, one in enumerate(product)]


def select_cover(algorithms, schedulers, index):
    """Every algorithm and every scheduler at each stage of each program; who meets whom and under
    which budget is another for the next program, so that all pairs occur."""
    chosen = []
    for stage in FORMS:
        for number, algorithm in enumerate(algorithms):
            turn = index + number
            scheduler = schedulers[turn % len(schedulers)]
            budget = BUDGETS[(turn + index // len(schedulers)) % len(BUDGETS)]
            chosen.append(combine(stage, algorithm, scheduler, budget, turn * 7 + index))
    # Where most is recomputed most can go wrong.
    for stage in FORMS:
        for algorithm in algorithms[index % 2::2]:
            chosen.append(combine(stage, algorithm, "input", "min", index + len(chosen)))
    return chosen


def select_random(algorithms, schedulers, seed, count=10):
    chooser = random.Random(f"combinations of {seed}")
    return [combine(chooser.choice(list(FORMS)), chooser.choice(algorithms),
                    chooser.choice(schedulers + ["input"] * 3), chooser.choice(BUDGETS + ("min",) * 3),
                    chooser.randrange(1000)) for _ in range(count)]


# ---- the worker: compiles and runs, in a process that may die or hang ----

def work(tool, room, perform):
    """Reads a task a line, writes what happens as JSON lines; `perform` does a task. `room` is the
    parent's to clear away: a worker may not come to it."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed must not get between

    def tell(event, **more):
        channel.write(json.dumps({"event": event, **more}) + "\n")
        channel.flush()

    import engine
    compiler = engine.Compiler()
    for line in sys.stdin:
        task = json.loads(line)
        with tempfile.TemporaryDirectory(dir=room) as folder:
            try:
                perform(engine, compiler, tool, task, pathlib.Path(folder), tell)
            except Exception as error:
                tell("finding", kind="the program itself fails",
                     what=f"{type(error).__name__}: {engine.first_line(error)}", repeats=1)
        tell("done")


def find_program(name):
    if name.startswith("random:"):
        import random_programs
        return random_programs.make(int(name.split(":")[1]))
    import programs
    return programs.PROGRAMS[name]


def perform(engine, compiler, tool, task, folder, tell):
    tell("at", what="compiling the program itself")
    runner = engine.Runner(compiler, find_program(task["program"]))
    befores = {}
    for stage, text in runner.texts.items():
        befores[stage] = folder / f"{stage}.hlo"
        befores[stage].write_text(text)
    if task["interferences"]:
        final = folder / "FINAL.hlo"
        final.write_text(engine.print_module(runner.executable.hlo_modules()[0]))
        interferences(engine, tool, {**befores, "FINAL": final}, tell)
        compare_memory(engine, tool, runner.executable, final, tell)
        return
    if not runner.is_deterministic:
        tell("skipped", why="differs from itself", count=len(task["combinations"]))
        return
    check(engine, runner, tool, task, befores, folder, tell)


def interferences(engine, tool, texts, tell):
    """What the tool has against modules that XLA itself made: there must be nothing."""
    for stage, path in texts.items():
        for extra in ((), ("--copies=inserted",)):
            objection = engine.verify(tool, path, path, extra) or engine.known_reads(tool, path, extra)
            if objection:
                tell("finding", kind="interference", what=f"{stage} {' '.join(extra)}: {objection}",
                     stage=stage, before=path.read_text(), repeats=1)
            else:
                tell("passed", count=1)


def compare_memory(engine, tool, executable, path, tell):
    """What the tool counts in the final module is what XLA has assigned, to the byte."""
    counted = engine.memory(tool, path)
    stats = executable.get_compiled_memory_stats()
    assigned = {"temp_bytes": stats.temp_size_in_bytes,
                "parameter_bytes": stats.argument_size_in_bytes,
                "output_bytes": stats.output_size_in_bytes,
                "aliased_bytes": stats.alias_size_in_bytes}
    others = [f"{key} {counted[key]}, {value} in XLA" for key, value in assigned.items()
              if counted[key] != value]
    if others:
        tell("finding", kind="other memory", what=f"FINAL: {'; '.join(others)}", stage="FINAL",
             before=path.read_text(), repeats=1)
    else:
        tell("passed", count=1)


def check(engine, runner, tool, task, befores, folder, tell):
    """Each combination; those that give the same text are compiled and run once."""
    verdicts = {}  # by digest of the rewritten text
    for number, combination in enumerate(task["combinations"]):
        if task["end"] and time.time() > task["end"]:
            tell("skipped", why="no time left", count=len(task["combinations"]) - number)
            break
        stage, *flags = combination
        tell("tool", combination=combination)
        tell("at", what="rewriting", combination=combination, stage=stage, before=runner.texts[stage])
        before, identity = runner.texts[stage], None
        try:
            after, summary = engine.rewrite(tool, befores[stage], folder, flags)
        except engine.Failure as failure:
            tell("finding", kind="the tool fails", what=str(failure), combination=combination,
                 stage=stage, before=before, repeats=1)
            continue
        is_changed = after != before
        tell("rewritten", changed=is_changed, clones=summary["rematerialized"])
        if not is_changed:
            tell("passed", count=1)
            continue
        identity = f"{stage} {engine.digest(after)}"
        if identity in task["deadly"]:
            continue
        if identity not in verdicts:
            tell("at", what="compiling and running", identity=identity, combination=combination,
                 stage=stage, before=before, after=after)
            verdicts[identity] = judge(engine, runner, tool, stage, befores[stage],
                                       folder / "after.hlo", after, tell)
        kind, what = verdicts[identity]
        if kind == "passed":
            tell("passed", count=1)
        elif kind == "skipped":
            tell("skipped", why=what, count=1)
        else:
            tell("finding", kind=kind, what=what, combination=combination, stage=stage,
                 identity=identity, before=before, after=after, repeats=1)


def judge(engine, runner, tool, stage, before_path, after_path, after, tell):
    """(kind, words) for a rewritten module."""
    objection = engine.verify(tool, before_path, after_path)
    if HOST_MEMORY.search(after):
        return ("verify refuses", objection) if objection else ("skipped", "host memory")
    try:
        executable = runner.compiler.replace(runner.stablehlo, stage, after)
    except engine.Failure as failure:
        if NOT_ON_CPU in str(failure) and not objection:
            return "skipped", "not in a fusion, as XLA:CPU wants it at POST_SCHEDULER"
        return "not compiled", str(failure)
    results = runner.run(executable)
    tell("ran")
    if not runner.same(results):
        difference = runner.difference(results)
        if objection:
            return "OTHER BITS", f"{difference}; {objection}"
        return "OTHER BITS, AND VERIFY SAYS EQUIVALENT", difference
    return ("verify refuses", f"{objection} (the bits are the same)") if objection else ("passed", "")


# ---- the parent ----

class Worker:
    """A process of `script`, which is called as this file is."""

    def __init__(self, tool, room, script):
        self.command = [sys.executable, script, tool, room, "--worker"]
        self.start()

    def start(self):
        self.process = WorkerProcess(self.command, SILENCE_SECONDS)

    def stop(self):
        """With the run of the tool that it may wait for."""
        self.process.stop()

    def ask(self, task):
        self.process.ask(task)

    def events(self):
        return self.process.events()


def new_folder(inside, base):
    """Findings of former runs stay."""
    for number in itertools.count(1):
        try:
            (inside / f"{base}.{number}").mkdir(parents=True)
        except FileExistsError:
            continue
        return inside / f"{base}.{number}"


class Report:
    """Counts, prints findings as they come, and keeps what they are about."""

    def __init__(self, folder, verbose):
        self.folder, self.verbose = folder, verbose
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.skipped = collections.Counter()
        self.kinds = collections.Counter()
        self.programs = collections.defaultdict(set)  # by kind of finding
        self.pairs = collections.Counter()
        self.shown = {}  # (program, kind, identity): first folder

    def take(self, program, event):
        with self.lock:
            name = event["event"]
            if name == "tool":
                self.counts["runs of the tool"] += 1
                self.pairs[tuple(event["combination"][:4])] += 1
            elif name == "rewritten":
                self.counts["changed"] += event["changed"]
                self.counts["recomputing"] += event["clones"] > 0
            elif name == "silent":
                self.counts["times silent"] += 1
            elif name == "ran":
                self.counts["modules compiled and run"] += 1
            elif name == "passed":
                self.counts["passed"] += event["count"]
            elif name == "skipped":
                self.counts["skipped"] += event["count"]
                self.skipped[event["why"]] += event["count"]
            elif name == "finding":
                self.find(program, event)

    def find(self, program, event):
        kind = event["kind"]
        self.counts["failed"] += event["repeats"]
        self.kinds[kind] += event["repeats"]
        self.programs[kind].add(program)
        identity = program, kind, event.get("identity") or event["what"]
        if identity in self.shown:
            return
        self.shown[identity] = self.keep(program, event)
        if self.verbose or len(self.shown) <= MOST_SHOWN:
            print(f"{kind}: {program}: {' '.join(event.get('combination', ()))}\n"
                  f"  {event['what']}\n  {self.shown[identity]}", flush=True)
        elif len(self.shown) == MOST_SHOWN + 1:
            print("more is kept, but not shown: --verbose shows it", flush=True)

    def keep(self, program, event):
        stage = event.get("stage", "program")
        folder = new_folder(self.folder, f"{program.replace(':', '_')}.{stage}")
        for name in ("before", "after"):
            if name in event:
                (folder / f"{name}.hlo").write_text(event[name])
        which = f"--programs={program}"
        if program.startswith("random:"):
            which = f"--random --seed={program.split(':')[1]} --count=1"
        if event["kind"] == "interference":
            which += " --interferences"
        if event.get("combination"):
            which += " --only=" + shlex.quote(" ".join(event["combination"]))
        (folder / "why.txt").write_text(f"{event['kind']}: {event['what']}\n"
                                        f"scripts/check/bits {which}\n")
        return folder

    def close(self, num_programs):
        print(f"{num_programs} programs, " + ", ".join(
            f"{self.counts[name]:,} {name}" for name in
            ("runs of the tool", "changed", "recomputing", "modules compiled and run")))
        if self.counts["times silent"]:
            print(f"{self.counts['times silent']} times XLA was silent and was asked again")
        for why, count in self.skipped.items():
            print(f"skipped: {why}: {count}")
        for kind, programs in sorted(self.programs.items()):
            names = sorted(programs)
            print(f"{kind}: {self.kinds[kind]} in {len(names)} programs: {' '.join(names)}")
        print(f"{self.counts['passed']} passed, {self.counts['failed']} failed, "
              f"{self.counts['skipped']} skipped", flush=True)


def run_task(worker, report, task):
    """All of a task, with a new worker whenever XLA dies or hangs on a rewriting. One silence may be
    that of a busy machine: only who is silent twice hangs."""
    program, silent = task["program"], set()
    while True:
        at = {"what": "start"}
        seen = []  # counted only when all is done, since it begins anew after a death
        try:
            worker.ask(task)
            for event in worker.events():
                if event["event"] == "at":
                    at = event
                else:
                    seen.append(event)
        except (TimeoutError, EOFError, BrokenPipeError) as error:
            worker.stop()
            worker.start()
            if isinstance(error, TimeoutError) and at.get("identity") not in silent:
                silent.add(at.get("identity"))
                report.take(program, {"event": "silent"})
                continue
            who = "the tool" if at["what"] == "rewriting" else "XLA"
            kind = f"{who} hangs" if isinstance(error, TimeoutError) else f"{who} dies"
            report.take(program, {**at, "event": "finding", "kind": kind, "repeats": 1})
            if "identity" in at:
                task = {**task, "deadly": [*task["deadly"], at["identity"]]}
                continue
        for event in seen:
            report.take(program, event)
        return


def run_all(tool, tasks, jobs, report, deadline, script=__file__):
    """The number of tasks that were done; Ctrl-C ends it early."""
    source, lock, done = iter(tasks), threading.Lock(), []

    def next_task():
        with lock:
            return None if time.monotonic() > deadline else next(source, None)

    def loop(room):
        worker = Worker(tool, room, script)
        while (task := next_task()) is not None:
            run_task(worker, report, task)
            done.append(task["program"])
        worker.stop()

    with tempfile.TemporaryDirectory(prefix="check-bits-", ignore_cleanup_errors=True) as room:
        threads = [threading.Thread(target=loop, args=(room,), daemon=True) for _ in range(jobs)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            print("interrupted")
    return len(done)


def make_tasks(options, algorithms, schedulers, names, end):
    """`end` is when to stop in the midst of a program, in seconds since the epoch, or none."""
    def task(program, combinations):
        if options.interferences:
            combinations = []
        if options.only:
            combinations = [shlex.split(options.only)]
        return {"program": program, "combinations": combinations, "deadly": [], "end": end,
                "interferences": options.interferences}
    if options.random is not None:
        seeds = itertools.count(options.seed)
        for seed in itertools.islice(seeds, options.count):
            yield task(f"random:{seed}", select_random(algorithms, schedulers, seed))
        return
    choose = select_all if options.full else select_cover
    # By its number among all: the same with --programs as without.
    for index, name in enumerate(names):
        if fnmatch.fnmatchcase(name, options.programs):
            yield task(name, choose(algorithms, schedulers, index))


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/check/bits", description="Compares, bit by bit, what JAX programs compute with what "
        "they compute when the tool has rewritten their modules within XLA's compilation.")
    parser.add_argument("tool", help=argparse.SUPPRESS)
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--cover", action="store_true",
                       help="each algorithm and scheduler for each program, not all pairs [default]")
    which.add_argument("--full", action="store_true",
                       help="every algorithm x scheduler x budget x stage")
    which.add_argument("--random", nargs="?", const=float("inf"), type=float, metavar="MINUTES",
                       help="random programs, for so long")
    parser.add_argument("--interferences", action="store_true",
                        help="only look whether the tool sees reads of overwritten memory in untouched "
                        "modules, and counts their memory as XLA does")
    parser.add_argument("--seed", type=int, default=1, help="the first random program [1]")
    parser.add_argument("--count", type=int, default=None, help="so many random programs at most")
    parser.add_argument("--programs", default="*", metavar="GLOB", help="programs with such names")
    parser.add_argument("--only", metavar="STAGE FLAGS",
                        help="one way to call the tool, as why.txt has it")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="begin no program after so long, and end those that run a quarter later")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)),
                        help="programs at a time [one for each processor]")
    parser.add_argument("--verbose", action="store_true", help="show every finding")
    parser.add_argument("--list", action="store_true", help="the programs")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    if options.worker:
        work(options.tool, options.folder, perform)
        return 0
    import programs
    names = list(programs.PROGRAMS)
    if options.list:
        print("\n".join(names))
        return 0
    algorithms, schedulers = listed(options.tool)
    seconds = min(options.seconds, (options.random or float("inf")) * 60)
    report = Report(pathlib.Path(options.folder, "found"), options.verbose)
    tasks = make_tasks(options, algorithms, schedulers, names,
                       time.time() + 1.25 * seconds if seconds < float("inf") else None)
    if options.random is None:
        tasks = list(tasks)
        if not tasks:
            sys.exit(f"check/bits: no program is called {options.programs}")
    begin = time.monotonic()
    num_done = run_all(options.tool, tasks, options.jobs, report, begin + seconds)
    if options.random is None and num_done < len(tasks):
        report.take("", {"event": "skipped", "why": "no time left",
                         "count": sum(len(t["combinations"]) for t in tasks[num_done:])})
    print(f"{time.monotonic() - begin:.0f} s, {len(algorithms)} algorithms, "
          f"{len(schedulers)} schedulers, {len(report.pairs)} of stage x algorithm x scheduler x budget")
    report.close(num_done)
    return 1 if report.counts["failed"] or not report.counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
