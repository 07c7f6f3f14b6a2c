"""Run by scripts/bench/live, which says what it does."""

import argparse
import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import statistics
import time

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax  # noqa: E402
import live_programs  # noqa: E402
import matrix_programs  # noqa: E402
import numpy as np  # noqa: E402
import whole_programs  # noqa: E402

import remat_hlo.jax as live  # noqa: E402
from remat_hlo._calibrate import compare_seconds  # noqa: E402
from remat_hlo._files import print_hlo  # noqa: E402
from remat_hlo._module import parse  # noqa: E402

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def step_times(programs, arguments, repeat, clock):
    """The least seconds of a step of each compiled program: least, because other work only adds to it.
    They take turns, so that what changes on the machine changes for all. Donated arguments are
    copied before the clock runs."""
    best = [float("inf")] * len(programs)
    for turn in range(repeat + 1):
        for number, compiled in enumerate(programs):
            fresh = jax.block_until_ready(jax.tree.map(
                lambda a: jax.device_put(a, may_alias=False)
                if isinstance(a, (np.ndarray, np.generic)) else a + 0, arguments))
            begin = clock()
            jax.block_until_ready(compiled(*fresh))
            seconds = clock() - begin
            if turn:  # the first one warms up
                best[number] = min(best[number], seconds)
    return best


def module_text(compiled):
    return print_hlo(compiled.runtime_executable().hlo_modules()[0])


def modelled_seconds(text):
    return parse(text.encode(), copies="inserted", device="cpu").cost().seconds


def run_program(name, given, clock, keep):
    """Rows of one program: the first is that without us."""
    program = matrix_programs.PROGRAMS[name]()
    rows, programs = [{"program": name, "algorithm": "", "budget": ""}], []
    programs.append(live_programs.compile_program(program))
    for algorithm in given.algorithms.split(","):
        for budget in given.budgets.split(","):
            with live.rematerialize(budget, algorithm=algorithm, min_peak="64KiB", verbose=False):
                compiled = live_programs.compile_program(program)
            check = live.check(compiled)
            if check.is_changed:
                rows.append({"program": name, "algorithm": algorithm, "budget": budget,
                             "is_met": check.report.is_met})
                programs.append(compiled)
    times = step_times(programs, program[1], given.repeat, clock)
    for row, compiled, seconds in zip(rows, programs, times):
        text = module_text(compiled)
        row.update(seconds=seconds, temp_bytes=compiled.memory_analysis().temp_size_in_bytes,
                   modelled_seconds=modelled_seconds(text),
                   module=keep("_".join(filter(None, (name, row["algorithm"], row["budget"].strip("%")))),
                               text))
    return rows


def added(row, plain, key):
    return row[key] / plain[key] - 1


def print_rows(rows):
    plain = rows[0]
    for row in rows:
        change = "" if row is plain else (
            f"{100 * added(row, plain, 'temp_bytes'):+8.1f} %{100 * added(row, plain, 'modelled_seconds'):+9.1f} %"
            f"{100 * added(row, plain, 'seconds'):+9.1f} %  {'' if row['is_met'] else 'not met'}")
        print(f"{row['program']:22}{row['algorithm']:8}{row['budget']:6}{row['temp_bytes'] / 2**20:9.2f}"
              f"{1000 * row['seconds']:10.2f}  {change}".rstrip(), flush=True)


def print_summary(groups):
    """A line for each algorithm and budget, and how good the model is."""
    print("\n| algorithm | budget | changed | temporaries | modelled time | measured time |")
    print("|---|---|---|---|---|---|")
    pairs = [(row, rows[0]) for rows in groups for row in rows[1:]]
    for key in dict.fromkeys((row["algorithm"], row["budget"]) for row, _ in pairs):
        own = [(row, plain) for row, plain in pairs if (row["algorithm"], row["budget"]) == key]
        share = statistics.geometric_mean([row["temp_bytes"] / plain["temp_bytes"] for row, plain in own])
        modelled, measured = (statistics.median(added(row, plain, k) for row, plain in own)
                              for k in ("modelled_seconds", "seconds"))
        print(f"| {key[0]} | {key[1]} | {len(own)} | {100 * share:.0f} % | {100 * modelled:+.1f} % | "
              f"{100 * measured:+.1f} % |")
    rows = [row for rows in groups for row in rows]
    if len(pairs) > 1:
        correlation = compare_seconds([added(*pair, "modelled_seconds") for pair in pairs],
                                      [added(*pair, "seconds") for pair in pairs]).rank_correlation
        shown = "none" if correlation is None else f"{correlation:.3f}"
        print(f"\nadded time, modelled and measured: rank correlation {shown}")
        print("step time by the profile cpu:", compare_seconds([row["modelled_seconds"] for row in rows],
                                                              [row["seconds"] for row in rows]))


def measure_all(given):
    groups, start = [], time.monotonic()
    folder = given.json and given.json.with_suffix("")
    if folder:
        folder.mkdir(parents=True, exist_ok=True)

    def keep(stem, text):
        if folder:
            (folder / f"{stem}.hlo").write_text(text)
        return f"{folder.name}/{stem}.hlo" if folder else None

    names = [name for name in matrix_programs.PROGRAMS if re.search(given.only, name)]
    print(f"{'program':22}{'':14}{'MiB':>9}{'ms':>10}  {'temp':>8}  {'modelled':>9}  {'measured':>9}")
    for number, name in enumerate(names):
        if given.seconds and time.monotonic() - start > given.seconds:
            print(f"{len(names) - number} programs not run in time: {', '.join(names[number:])}")
            break
        groups.append(run_program(name, given, CLOCKS[given.clock], keep))
        print_rows(groups[-1])
        live.clear_reports()
    print_summary(groups)
    if given.json:
        given.json.write_text(json.dumps({"clock": given.clock, "jax": jax.__version__, "runs":
                                          [row for rows in groups for row in rows]}, indent=1))


# ---- our share of a compilation ----

def print_share(layers, algorithm):
    """Of a GPT of so many layers, unrolled: 12 layers are 28,000 instructions, 24 are 91,000."""
    weights = matrix_programs.gpt_weights(layers)
    weights["embedding"] = weights["embedding"].copy()

    def body(x, layers):
        for w in layers:
            x = matrix_programs.transformer_layer(x, w)
        return x

    program = matrix_programs.training(functools.partial(matrix_programs.gpt_loss, body=body), weights,
                                       matrix_programs.TOKENS)
    begin = time.perf_counter()
    live_programs.compile_program(program)
    plain = time.perf_counter() - begin
    begin = time.perf_counter()
    with live.rematerialize("r50%", algorithm=algorithm, verbose=False):
        compiled = live_programs.compile_program(program)
    with_us = time.perf_counter() - begin
    check = live.check(compiled)
    report = check.report or live.last_reports(with_unchanged=True)[-1]
    print(f"{report.num_instructions} instructions, {algorithm}; {check}")
    print(f"traced, lowered and compiled: {plain:.2f} s without us, {with_us:.2f} s with us")
    for phase, seconds in report.seconds.items():
        print(f"  {phase:12}{seconds:8.3f} s  {100 * seconds / plain:5.1f} %")
    print(f"  {'together':12}{report.total_seconds:8.3f} s  {100 * report.total_seconds / plain:5.1f} %")


# ---- our share of whole programs ----

class CompileClock:
    """Adds up the processor seconds of all threads while XLA compiles, and those that our hook takes of them."""

    def __init__(self):
        from jax._src import compiler

        from remat_hlo import _rewriting
        live.install("min")  # wraps the compiler with what is ours, which is to be measured, too
        live.uninstall()
        self.seconds, self.own_seconds, self.count = 0.0, 0.0, 0
        inner, transform = compiler.backend_compile_and_load, _rewriting.transform

        @functools.wraps(transform)
        def timed(*arguments):
            begin = time.thread_time()
            try:
                return transform(*arguments)
            finally:
                self.own_seconds += time.thread_time() - begin
        _rewriting.transform = timed

        @functools.wraps(inner)
        def measured(*arguments, **named):
            begin = time.process_time()
            try:
                return inner(*arguments, **named)
            finally:
                self.seconds += time.process_time() - begin
                self.count += 1
        compiler.backend_compile_and_load = measured

    def run(self, program, budget):
        """(seconds, our seconds, compilations, reports) of a program, as it is if the budget is empty."""
        jax.clear_caches()
        live.clear_reports()
        self.seconds, self.own_seconds, self.count = 0.0, 0.0, 0
        with live.rematerialize(budget, verbose=False) if budget else contextlib.nullcontext():
            program()
        return self.seconds, self.own_seconds, self.count, live.last_reports(with_unchanged=True)


def print_programs(given):
    """The share of each program, and of all. Each one runs under all budgets in turn, so that other work on
    the machine is the same for all, and the least of several runs counts."""
    clock, budgets = CompileClock(), ["", *given.budgets.split(",")]
    names = [name for name in whole_programs.PROGRAMS if re.search(given.only, name)]
    next(iter(whole_programs.PROGRAMS.values()))()  # what the first compilation of a process takes besides
    total, own_total, rows = collections.Counter(), collections.Counter(), []
    print("growth, and in brackets what our decisions are of it, in per cent")
    print(f"{'program':24}{'compilations':>13}{'seconds':>9}" + "".join(f"{b:>15}" for b in budgets[1:])
          + f"  lines, changed, searched under {budgets[-1]}")
    for name in names:
        best, own = {}, {}
        for _ in range(given.repeat):
            for budget in budgets:
                seconds, own_seconds, count, reports = clock.run(whole_programs.PROGRAMS[name], budget)
                best[budget] = min(seconds, best.get(budget, seconds))
                own[budget] = min(own_seconds, own.get(budget, own_seconds))
        counts = ", ".join(str(sum(map(is_one, reports))) for is_one in (
            lambda r: r.is_worth_a_line, lambda r: r.outcome == "rematerialized", lambda r: "remat" in r.seconds))
        rows.append({"program": name, "compilations": count, "seconds": best, "own_seconds": own})
        total.update(best)
        own_total.update(own)
        print_share_row(name, count, best, own, counts)
    print_share_row("all", sum(row["compilations"] for row in rows), total, own_total, "")
    if given.json:
        given.json.write_text(json.dumps({"jax": jax.__version__, "programs": rows}, indent=1))


def print_share_row(name, count, seconds, own, counts):
    plain = seconds[""]
    shares = "".join(f"{100 * (seconds[b] / plain - 1):+8.1f} ({100 * own[b] / plain:4.1f})" for b in seconds if b)
    print(f"{name:24}{count:13}{plain:9.2f}{shares}  {counts}".rstrip(), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--algorithms", default="search,path")
    parser.add_argument("--budgets")
    parser.add_argument("--only", default="")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--share", type=int, nargs="?", const=12)
    parser.add_argument("--programs", action="store_true")
    given = parser.parse_args()
    given.budgets = given.budgets or ("80%,60%,min" if given.programs else "r70%,r50%,r30%")
    given.repeat = given.repeat or (2 if given.programs else 7)
    if given.programs:
        print_programs(given)
    elif given.share:
        for algorithm in given.algorithms.split(","):
            print_share(given.share, algorithm)
    else:
        measure_all(given)


main()
