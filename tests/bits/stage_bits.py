"""Measures what holds of a program's bits at each stage: rewrites training steps there as remat_hlo.jax does,
and prints how many compute the same bits, and how far the others are off. Run by scripts/check/bits --stages,
for the table in man/python.md.

    stage_bits.py FOLDER [--platform=NAME] [--programs=N] [--only=REGEX]    REMAT_HLO_LIBRARY names the library

Ends with 1 if a program has other bits at a stage that comes after XLA's fusion."""

import argparse
import collections
import importlib.metadata
import os
import re
import sys

import derivative_programs
from live_check import OWN_JIT, Worker

STAGES = ("POST_SCHEDULER", "PRE_SCHEDULER", "BEFORE_OPTIMIZATIONS", OWN_JIT)
AFTER_FUSION = STAGES[:2]
WAYS = [("min", "path"), ("60%", "path")]
NETWORKS = ("optax_adafactor", "optax_accumulated", "optax_steps_scanned")


def tasks(num_programs):
    for name in NETWORKS:
        yield {"maker": "network_programs", "spec": name}
    seed = found = 0
    while found < num_programs - len(NETWORKS):
        seed += 1
        spec = derivative_programs.specify(seed)
        if spec["dtype"] in ("f32", "bf16"):
            found += 1
            yield {"maker": "derivative_programs", "spec": spec}


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/check/bits --stages", description="Counts the programs whose bits are the same when they are "
        "rewritten at each stage.")
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--platform", default="cpu", help="of JAX [cpu]")
    parser.add_argument("--programs", type=int, default=7, help="so many [7]")
    parser.add_argument("--only", default="", metavar="REGEX", help="stages with such names")
    return parser.parse_args(arguments)


def cell(counts, relative):
    changed = counts["same"] + counts["differs"]
    if not changed:
        return "nothing was changed"
    return f"{counts['same']} of {changed}" + (f", up to {relative:.0e}" if counts["differs"] else "")


def main():
    options = parse(sys.argv[1:])
    os.environ["JAX_PLATFORMS"] = options.platform
    stages = [stage for stage in STAGES if re.search(options.only, stage)]
    worker, total = Worker(), collections.defaultdict(collections.Counter)
    relative = collections.Counter()
    for task in tasks(options.programs):
        for stage in stages:
            for event in worker.ask({**task, "stage": stage, "ways": WAYS, "flags": "", "parameters": []}):
                total[stage][event["event"]] += 1
                if event["event"] == "differs":
                    relative[stage] = max(relative[stage], event["relative"])
                if event["event"] == "failed":
                    print(f"FAILED: {task['spec']} at {stage}: {event['what']}", flush=True)
    worker.stop()
    print(f"JAX {importlib.metadata.version('jax')}, {options.platform}, {options.programs} programs, "
          f"{len(WAYS)} budgets: runs with the same bits")
    print("| " + " | ".join(stages) + " |")
    print("| " + " | ".join(cell(total[stage], relative[stage]) for stage in stages) + " |")
    return int(any(total[stage]["failed"] for stage in STAGES) or
               any(total[stage]["differs"] for stage in AFTER_FUSION))


if __name__ == "__main__":
    sys.exit(main())
