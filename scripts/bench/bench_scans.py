"""Run by scripts/bench/scans, which says what it does."""

import argparse
import json
import pathlib
import re
import statistics
import time
import zlib

import dump_samples
import jax
import numpy as np
import scan_programs
from live_check import WITHOUT_RULE

import remat_hlo.jax as live

SAMPLES = ("gpt_scan", "lstm")
# What is compiled: nothing of ours, the rule on, the rule off.
PLAIN, RULE, NO_RULE = "plain", "rule", "no rule"
MOST_GROWTH = 1.02
LEAST_TURNS = 5


# ---- programs ----

def sample_argument(path, shape):
    """Tokens of the smallest vocabulary, an optimizer's state of zeros, or small numbers."""
    generator = np.random.default_rng(zlib.crc32(repr(path).encode()))
    if np.issubdtype(shape.dtype, np.integer):
        return generator.integers(0, dump_samples.LSTM_VOCABULARY, shape.shape, shape.dtype)
    return (generator.standard_normal(shape.shape) * 0.02).astype(shape.dtype)


def sample(name):
    model = dump_samples.MODELS[name]
    arguments = [jax.tree_util.tree_map_with_path(sample_argument, tree) for tree in model.shapes()]
    if name == "gpt_scan":
        arguments[1] = jax.tree.map(np.zeros_like, arguments[1])
    return model.step, arguments, model.donated


def scanned(name):
    program = scan_programs.PROGRAMS[name]
    return program.function, program.arguments(0), program.donate


def programs(pattern):
    """By name: what gives (function, arguments, donated arguments)."""
    makers = {f"sample.{name}": lambda name=name: sample(name) for name in SAMPLES}
    makers |= {name.removesuffix(".plain"): lambda name=name: scanned(name)
               for name in scan_programs.PROGRAMS if name.endswith(".plain")}
    return {name: make for name, make in makers.items() if re.search(pattern, name)}


# ---- one program ----

def compile_program(function, arguments, donated):
    return jax.jit(function, donate_argnums=donated, keep_unused=True).lower(*arguments).compile()


def compile_all(program, budget):
    """The compiled program in each way, and whether the budget is met."""
    compiled, is_met = {PLAIN: compile_program(*program)}, {}
    for way, parameters in ((RULE, ()), (NO_RULE, (WITHOUT_RULE,))):
        with live.rematerialize(budget, min_peak=1, parameters=parameters, verbose=False):
            compiled[way] = compile_program(*program)
        check = live.check(compiled[way])
        is_met[way] = bool(check.is_changed and check.report.is_met)
    return compiled, is_met


def step_seconds(compiled, arguments, seconds):
    """The processor seconds of each step, by text: the programs take turns for so many seconds, in alternating
    order, so that what else runs on the machine is the same for all."""
    best, begin = {text: [] for text in compiled}, time.monotonic()
    leaves, structure = jax.tree.flatten(arguments)
    turn = 0
    while turn <= LEAST_TURNS or time.monotonic() - begin < seconds:
        for text in list(compiled)[::1 if turn % 2 else -1]:
            fresh = [jax.device_put(np.asarray(leaf), may_alias=False) for leaf in leaves]
            fresh = jax.tree.unflatten(structure, jax.block_until_ready(fresh))
            start = time.process_time()
            jax.block_until_ready(compiled[text](*fresh))
            if turn:  # the first one warms up
                best[text].append(time.process_time() - start)
        turn += 1
    return best


def measure(make, budget, given):
    program = make()
    compiled, is_met = compile_all(program, budget)
    texts = {way: one.as_text() for way, one in compiled.items()}
    if given.keep:
        for way, text in texts.items():
            (given.keep / f"{program[0].__name__}.{budget.strip('%')}.{way.replace(' ', '_')}.hlo").write_text(text)
    spent = step_seconds({text: compiled[way] for way, text in texts.items()}, program[1], given.seconds)
    pairs = zip(spent[texts[RULE]], spent[texts[NO_RULE]])
    return {"seconds": {way: min(spent[text]) for way, text in texts.items()}, "is_met": is_met,
            "is_same": texts[RULE] == texts[NO_RULE], "growth": statistics.median(a / b for a, b in pairs),
            "temp_bytes": {way: one.memory_analysis().temp_size_in_bytes for way, one in compiled.items()}}


# ---- the table ----

HEAD = ("| program | budget | temporaries: plain | rule | no rule | ms: plain | rule | no rule | rule / no rule |\n"
        "|---|---|---|---|---|---|---|---|---|")


def row_text(row):
    def memory(way):
        missed = "" if row["is_met"].get(way, True) else " (not met)"
        return f"{row['temp_bytes'][way] / 2**20:.2f} MiB{missed}"
    ways = (PLAIN, RULE, NO_RULE)
    times = " | ".join(f"{1000 * row['seconds'][way]:.2f}" for way in ways)
    same = "the same module" if row["is_same"] else f"{100 * (row['growth'] - 1):+.1f} %"
    return f"| {row['program']} | {row['budget']} | {' | '.join(map(memory, ways))} | {times} | {same} |"


def print_summary(rows):
    slower = [row for row in rows if row["growth"] > MOST_GROWTH]
    larger = [row for row in rows if row["temp_bytes"][RULE] > row["temp_bytes"][NO_RULE]]
    print(f"\n{len(rows)} rows, {sum(row['is_same'] for row in rows)} with the same module; step time with the rule "
          f"{100 * (statistics.geometric_mean([row["growth"] for row in rows]) - 1):+.1f} % in the geometric mean")
    for what, found in ((f"slower by more than {100 * (MOST_GROWTH - 1):.0f} %", slower), ("more temporaries", larger)):
        names = ", ".join(f"{row['program']} at {row['budget']}" for row in found)
        print(f"{what}: {len(found)}{': ' * bool(names)}{names}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench/scans")
    parser.add_argument("--budgets", default="40%")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    rows = []
    print(HEAD, flush=True)
    for name, make in programs(given.only).items():
        for budget in given.budgets.split(","):
            rows.append({"program": name, "budget": budget, **measure(make, budget, given)})
            print(row_text(rows[-1]), flush=True)
            live.clear_reports()
        jax.clear_caches()
    print_summary(rows)
    if given.json:
        given.json.write_text(json.dumps({"jax": jax.__version__, "rows": rows}, indent=1))


main()
