"""Runs training steps that are written with Flax, Haiku, Equinox and optax (network_programs.py) as they are
and rematerialized within XLA:CPU's compilation, and compares every bit of what they put out. Run by
scripts/check/bits --networks.

    network_check.py FOLDER [OPTION...]    REMAT_HLO_LIBRARY names the library

What differs is kept in FOLDER: the module before and after, and the command to repeat it."""

import argparse
import collections
import importlib.metadata
import importlib.util
import pathlib
import re
import sys
import time

from live_check import WITHOUT_RULE, Worker
from network_programs import NETWORKS

BUDGETS = ("min", "r50%")
ALGORITHMS = ("auto", "path")
# What CI runs: something of each library, loops over time and over layers, and a convolution.
COVER = ("linen_gpt_scanned", "linen_lstm", "nnx_layers_scanned", "haiku_layer_stack", "haiku_gru",
         "equinox_lstm", "equinox_conv", "optax_steps_scanned")
LIBRARIES = {"linen": "flax", "nnx": "flax", "haiku": "haiku", "equinox": "equinox", "optax": "optax"}


def choose(options):
    """Names of programs and why others are left out."""
    names = [name for name in (NETWORKS if options.full else COVER) if re.search(options.only, name)]
    missing = {library for library in set(LIBRARIES.values()) if importlib.util.find_spec(library) is None}
    left = [name for name in names if LIBRARIES[name.partition("_")[0]] in missing]
    if left:
        print(f"skipped: {len(left)} programs: {', '.join(sorted(missing))} cannot be imported", flush=True)
    return [name for name in names if name not in left]


def ways_of(name, is_full):
    """Both budgets; who decides takes turns, where not all are tried."""
    if is_full:
        return [(budget, algorithm) for budget in BUDGETS for algorithm in ALGORITHMS]
    turn = list(NETWORKS).index(name)
    return [(budget, ALGORITHMS[(turn + i) % len(ALGORITHMS)]) for i, budget in enumerate(BUDGETS)]


def keep(folder, name, found):
    room = (folder / name).resolve()
    room.mkdir(parents=True, exist_ok=True)
    for stem, text in zip(("before", "after"), found.get("texts") or ()):
        (room / f"{stem}.hlo").write_text(text)
    return room


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/check/bits --networks", description="Compares, bit by bit, what training steps compute that are "
        "written with Flax, Haiku, Equinox and optax, with what they compute when they are rematerialized within "
        "XLA:CPU's compilation.")
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--full", action="store_true", help="all programs, budgets and algorithms, not a few")
    parser.add_argument("--only", default="", metavar="REGEX", help="programs with such names")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program after so long")
    parser.add_argument("--without-rule", action="store_true",
                        help=f"switches the rule of what may be merged off ({WITHOUT_RULE})")
    parser.add_argument("--verbose", action="store_true", help="a line for each program")
    parser.add_argument("--list", action="store_true", help="the programs")
    return parser.parse_args(arguments)


def check(options, names, counts, jax_version):
    worker, begin = Worker(), time.monotonic()
    for number, name in enumerate(names):
        if time.monotonic() - begin > options.seconds:
            print(f"no time left for {len(names) - number} programs: {' '.join(names[number:])}")
            counts["no time"] += len(names) - number
            break
        task = {"maker": "network_programs", "spec": name, "flags": "",
                "ways": ways_of(name, options.full or options.only),
                "parameters": [WITHOUT_RULE] if options.without_rule else []}
        events = worker.ask(task)
        if options.verbose:
            print(f"{name}: {', '.join(event['event'] for event in events)}", flush=True)
        for event in events:
            counts[event["event"]] += 1
            if event["event"] not in ("differs", "failed"):
                continue
            way = " ".join(event.get("way") or ("as it is",))
            kind = "OTHER BITS" if event["event"] == "differs" else "FAILED"
            print(f"{kind}: {name} under {way}: {event['what']}\n"
                  f"  scripts/check/bits --networks --full --jax={jax_version} --only='^{name}$'"
                  f"{' --without-rule' if options.without_rule else ''}\n"
                  f"  {keep(pathlib.Path(options.folder), f'{jax_version}.{name}', event)}", flush=True)
    worker.stop()


def main():
    options = parse(sys.argv[1:])
    if options.list:
        print("\n".join(NETWORKS))
        return 0
    names, counts = choose(options), collections.Counter()
    if not names:
        sys.exit("check/bits: no such program")
    begin, jax_version = time.monotonic(), importlib.metadata.version("jax")
    check(options, names, counts, jax_version)
    print(f"JAX {jax_version}: {counts['program']} of {len(NETWORKS)} programs in "
          f"{time.monotonic() - begin:.0f} s: runs: {counts['same']} the same, {counts['differs']} differ, "
          f"{counts['unchanged']} left alone, "
          f"{counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    return int(counts["differs"] + counts["failed"] > 0 or not counts["same"])


if __name__ == "__main__":
    sys.exit(main())
