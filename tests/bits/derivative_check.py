"""Runs random training steps (derivative_programs.py) as they are and rematerialized within XLA:CPU's
compilation, and compares every bit of the loss and of all gradients. Run by scripts/check/bits
--derivatives.

    derivative_check.py FOLDER [OPTION...]    REMAT_HLO_LIBRARY names the library

What differs is made smaller, and kept in FOLDER: the module before and after, the specification of the
program, and the command to repeat it."""

import argparse
import collections
import importlib.metadata
import json
import pathlib
import random
import shlex
import sys
import time

import derivative_programs as programs
from live_check import WITHOUT_RULE, Worker

BUDGETS = ("min", "r30%", "r60%", "80%", "60%", "40%")
ALGORITHMS = ("path", "path", "scan", "search")
WITHOUT_FMA = "--xla_cpu_max_isa=AVX"
MOST_TRIALS = 80            # of smaller programs
MOST_REDUCED = 400          # seconds that all reductions may take together


def ways_of(seed, count):
    chooser = random.Random(f"ways of {seed}")
    return [("min", "path"), *((chooser.choice(BUDGETS), chooser.choice(ALGORITHMS)) for _ in range(count - 1))]


def differing(worker, task, way):
    """The event that tells of other bits, or None. What is not finite hides much, and is not taken."""
    events = worker.ask({**task, "ways": [way]})
    if any(e["event"] == "program" and not e["is_finite"] for e in events):
        return None
    return next((e for e in events if e["event"] == "differs"), None)


def make_smaller(worker, task, way, found, deadline):
    """The smallest specification that was found to differ in the same way, with its event."""
    spec, trials = task["spec"], 0
    while trials < MOST_TRIALS:
        for candidate in programs.smaller(spec):
            if trials == MOST_TRIALS or time.monotonic() > deadline:
                return spec, found
            trials += 1
            event = differing(worker, {**task, "spec": candidate}, way)
            if event:
                spec, found = candidate, event
                break
        else:
            break
    return spec, found


def keep(folder, name, task, way, spec, found, jax_version):
    room = (folder / name).resolve()
    room.mkdir(parents=True, exist_ok=True)
    for stem, text in zip(("before", "after"), found.get("texts") or ()):
        (room / f"{stem}.hlo").write_text(text)
    (room / "program.json").write_text(json.dumps(
        {**task, "original": task["spec"], "spec": spec, "ways": [way]}))
    command = f"scripts/check/bits --derivatives --repeat={shlex.quote(str(room / 'program.json'))}"
    (room / "why.txt").write_text(
        f"JAX {jax_version}, {task['flags'] or 'with FMA'}: {found['what']} under {' '.join(way)}\n"
        f"{json.dumps(spec)}\n{command}\n{task['command']}\n")
    return room


def make_task(options, number, jax_version):
    seed = options.seed + number
    spec = programs.specify(seed)
    # Without FMA nothing is contracted, which is a check of the check.
    is_without = options.fma == "without" or (options.fma == "both" and number % 5 == 4)
    command = (f"scripts/check/bits --derivatives --jax={jax_version} --seed={seed} --count=1 "
               f"--ways={options.ways} --fma={'without' if is_without else 'with'}"
               f"{' --without-rule' if options.without_rule else ''}")
    return {"maker": "derivative_programs", "spec": spec, "x64": spec["dtype"] == "f64", "seed": seed,
            "ways": ways_of(seed, options.ways), "flags": WITHOUT_FMA if is_without else "",
            "parameters": [WITHOUT_RULE] if options.without_rule else [], "command": command}


class Check:
    """Runs programs, and counts, shows and keeps what becomes of them."""

    def __init__(self, options, jax_version):
        self.options, self.jax_version = options, jax_version
        self.folder = pathlib.Path(options.folder)
        self.counts = collections.Counter()
        # XLA reads its flags once in a process.
        self.workers = {flags: Worker() for flags in ("", WITHOUT_FMA)}
        self.reducer = Worker()
        self.begin, self.reduced_seconds = time.monotonic(), 0.0

    def seconds(self):
        return time.monotonic() - self.begin - self.reduced_seconds

    def run(self):
        options, counts = self.options, self.counts
        while counts["programs"] < options.count and self.seconds() < options.minutes * 60:
            task = make_task(options, counts["programs"], self.jax_version)
            counts["programs"] += 1
            counts["without FMA"] += bool(task["flags"])
            events = self.workers[task["flags"]].ask(task)
            for event in events:
                counts[event["event"]] += 1
                counts["not finite"] += event["event"] == "program" and not event["is_finite"]
                if event["event"] == "failed":
                    print(f"FAILED: seed {task['seed']}: {event['what']}\n  {task['command']}", flush=True)
            found = next((e for e in events if e["event"] == "differs"), None)
            if found:
                self.take(task, found)
        for worker in (*self.workers.values(), self.reducer):
            worker.stop()

    def take(self, task, found):
        """Other bits: shown, made smaller, and kept."""
        way, spec, start = found["way"], task["spec"], time.monotonic()
        self.counts["programs that differ"] += 1
        self.counts["programs that differ without FMA"] += bool(task["flags"])
        print(f"OTHER BITS: seed {task['seed']} ({spec['kind']}, {spec['dtype']}, {task['flags'] or 'FMA'}) under "
              f"{' '.join(way)}: {found['what']}\n  {task['command']}", flush=True)
        if self.options.reduce and self.reduced_seconds < MOST_REDUCED:
            spec, found = make_smaller(self.reducer, task, way, found, start + MOST_REDUCED / 4)
            print(f"  smaller: {json.dumps(spec)}", flush=True)
        name = f"{self.jax_version}.{task['seed']}"
        print(f"  {keep(self.folder, name, task, way, spec, found, self.jax_version)}", flush=True)
        self.reduced_seconds += time.monotonic() - start

    def close(self):
        """Prints the counts, and gives the exit code."""
        counts, minutes = self.counts, max(self.seconds() / 60, 1e-9)
        num_differ = counts["programs that differ"]
        print(f"JAX {self.jax_version}: {counts['programs']} programs from seed {self.options.seed} in "
              f"{minutes:.1f} min, {counts['without FMA']} of them without FMA: {num_differ} differ "
              f"({num_differ / minutes:.2f} a minute; {counts['programs that differ without FMA']} without FMA); "
              f"runs: {counts['same']} the same, {counts['differs']} differ, {counts['unchanged']} left alone, "
              f"{counts['failed']} failed; {counts['not finite']} programs not finite, "
              f"{counts['skipped']} skipped", flush=True)
        if counts["failed"] or not counts["same"]:
            return 1
        return int((num_differ > 0) != self.options.without_rule)


def repeat(path):
    """Runs one program again; its modules are dumped where XLA_FLAGS says."""
    task = json.loads(pathlib.Path(path).read_text())
    worker = Worker()
    events = worker.ask(task)
    worker.stop()
    for event in events:
        print(event["event"], event.get("what", ""), *event.get("way", ()))
    return any(e["event"] in ("differs", "failed") for e in events)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/check/bits --derivatives", description="Compares, bit by bit, loss and gradients of random "
        "programs with those of the same programs rematerialized within XLA:CPU's compilation.")
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="for so long, reductions not counted")
    parser.add_argument("--count", type=int, help="so many programs at most [no bound, or 100 without --minutes]")
    parser.add_argument("--seed", type=int, help="the first program [by the clock]")
    parser.add_argument("--ways", type=int, default=4, help="budgets and algorithms for each program [4]")
    parser.add_argument("--fma", choices=("both", "with", "without"), default="both",
                        help="with the processor's fused multiply-add, or without [both: a fifth without]")
    parser.add_argument("--without-rule", action="store_true",
                        help=f"switches the rule of what may be merged off ({WITHOUT_RULE}); ends with 0 only if "
                        "a program differs")
    parser.add_argument("--no-reduce", dest="reduce", action="store_false", help="do not make programs smaller")
    parser.add_argument("--repeat", metavar="FILE", help="a program.json of what was kept")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    if options.repeat:
        return repeat(options.repeat)
    if options.seed is None:
        options.seed = int(time.time()) % 10**8 * 100
    if options.count is None:
        options.count = 100 if options.minutes == float("inf") else float("inf")
    check = Check(options, importlib.metadata.version("jax"))
    check.run()
    return check.close()


if __name__ == "__main__":
    sys.exit(main())
