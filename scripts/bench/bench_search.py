"""Measures what algorithms add in modelled time under budgets. scripts/bench/search runs this.

Every run is one of `remat-hlo compare` in a process of its own, with all results open to recomputation
(--small-node-limit=0), in the order of the file (`default` for a module that has none). There are six
groups of them:

    scheduled  training steps scheduled by XLA (../shared/corpus/scheduled), memory model liveness, flat
               device. The budget f means lb + f * (peak0 - lb) bytes, as in budgets.json there; `min`
               shows which f was reached. Beside them stand the figures of published-yardstick.json.
    xla        the same steps under the lowest peak that XLA's own pass reached with any of its settings
               (xla.json there), as XLA's pass counts (xla-remat) and as liveness does. The added time of
               XLA's result comes from `standard` with the same settings, which has to reach the same peak.
    keras      training steps of Keras (../shared/corpus/keras, and build/keras from --make-keras), memory
               model heap, under a share of their own peak.
    samples    hlo_samples, likewise.
    steps      training steps of JAX (build/steps, from --make-steps), memory model liveness. The budget f
               means lb + f * (peak - lb) bytes, with the lower bound that the tool finds.
    tpu        texts with XLA:TPU's estimates of time (build/estimates, from scripts/samples/fit-estimates; more by --tpu), memory
               model heap. Decisions go by the profile's prices, the estimates being hidden, as they are where
               remat_hlo.jax decides. Then the same result is timed by the estimates, which is a column of its own: what
               each instruction and each recomputation takes by XLA:TPU.

Groups whose files are not there are left out. All figures but the seconds are the same each time. A cell is the
added time and the processor seconds of the run (analysis, rematerialization and proof), or what was
reached where the budget is not met: f, or the share of the peak. Geometric means leave out budgets below
the lower bound, which nothing meets.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SHARED = PROJECT / ".." / "shared" / "corpus"
YARDSTICK = PROJECT / "scripts" / "bench" / "published-yardstick.json"

OLDER = ["path", "standard", "checkpoint=memory", "checkpoint=speed"]
NEWER = ["search", "auto"]
BUDGETS = ["0.75", "0.5", "0.25", "0.1", "min", "xla", "70%", "50%", "40%", "30%"]
TITLES = {
    "scheduled": "Training steps scheduled by XLA, model liveness; not met: the f that was reached",
    "xla": "The same at XLA's lowest peak; not met: the share of the peak that was reached",
    "keras": "Training steps of Keras, model heap; not met: the share of the peak that was reached",
    "samples": "hlo_samples, model heap; not met: the share of the peak that was reached",
    "steps": "Training steps of JAX, model liveness; not met: the f that was reached",
    "tpu": "Texts of XLA:TPU, model heap: added time by the profile's prices, by XLA:TPU's estimates; "
           "not met: the share of the peak that was reached",
}

EXPERIMENTS = ("first", "second")  # of the published yardstick

# Less added time than this, in per cent, counts as this in ratios and geometric means.
SMALLEST_PERCENT = 0.1

# The targets.
TOLERANCE_PERCENT = 0.2  # above the better published figure
XLA_RATIO = 0.5
KERAS_BUDGET, KERAS_PERCENT = "40%", 10
RUN_SECONDS = 5


@dataclasses.dataclass
class Case:
    """A row of a table: a file under a budget."""
    group: str
    name: str
    label: str
    file: pathlib.Path
    options: list
    limit: str  # as --budgets takes it
    bounds: dict | None = None  # peak0 and lb, where shares are those of f
    published: dict = dataclasses.field(default_factory=dict)  # added time in per cent, or None
    published_lowest: float | None = None  # the lowest f that was met, in the row of `min`
    xla_row: dict | None = None
    has_estimates: bool = False

    def reducible(self):
        return self.bounds["peak0"] - self.bounds["lb"]

    def share_reached(self, run):
        if self.group == "steps":
            least = run["lower_bound_bytes"]
            return (run["peak_after_bytes"] - least) / (run["peak_before_bytes"] - least)
        if self.bounds:
            return (run["peak_after_bytes"] - self.bounds["lb"]) / self.reducible()
        return run["peak_after_bytes"] / run["peak_before_bytes"]

    def show_share(self, run):
        share = self.share_reached(run)
        return f"{share:.3f}" if self.bounds or self.group == "steps" else f"{100 * share:.1f}%"


# ---- what is measured ----

def liveness_options():
    return ["--memory-model=liveness", f"--device={SHARED / 'scheduled' / 'flat.json'}"]


def scheduled_cases(budgets):
    folder = SHARED / "scheduled"
    if not folder.is_dir():
        return
    all_bounds = json.loads((folder / "budgets.json").read_text())
    yardstick = json.loads(YARDSTICK.read_text())
    for file in sorted(folder.glob("*.hlo")):
        bounds = all_bounds.get(file.stem)
        for label in budgets:
            if label == "xla" or label.endswith("%") or not bounds:
                continue
            case = Case("scheduled", file.stem, label, file, liveness_options(), label, bounds)
            if label != "min":
                case.limit = str(int(bounds["lb"] + float(label) * case.reducible()))
            if file.stem in yardstick["models"]:
                add_published(case, yardstick["budgets"], yardstick["models"][file.stem])
            yield case


def add_published(case, budgets, figures):
    if case.label in budgets:
        place = budgets.index(case.label)
        case.published = {which: figures[which][place] for which in EXPERIMENTS}
    elif case.label == "min":
        case.published_lowest = figures["lowest_f"]


def xla_cases(budgets):
    folder = SHARED / "scheduled"
    if "xla" not in budgets or not folder.is_dir():
        return
    for name, figures in sorted(json.loads((folder / "xla.json").read_text()).items()):
        row = min(figures["rematerialization"],
                  key=lambda row: (row["peak_after_recounted_bytes"], row["flops_after"]))
        for label, model, peak in (("xla-remat", "xla-remat", "peak_after_recounted_bytes"),
                                   ("liveness", "liveness", "min_memory_after_bytes")):
            options = liveness_options() + [f"--memory-model={model}"]
            yield Case("xla", name, label, folder / f"{name}.hlo", options, str(row[peak]), xla_row=row)


def heap_cases(group, folders, pattern, budgets):
    for file in sorted(file for folder in folders for file in folder.glob(pattern)):
        name = file.name.removesuffix(".hlo").removesuffix("_optimizations")
        for label in budgets:
            if label.endswith("%"):
                yield Case(group, name, label, file, ["--memory-model=heap"], label)


def step_cases(budgets):
    for file in sorted((PROJECT / "build" / "steps").glob("*.hlo")):
        for label in budgets:
            if label == "min" or label == "xla" or label.endswith("%"):
                continue
            limit = f"r{100 * float(label):g}%"
            yield Case("steps", file.name.split(".")[0], label, file, ["--memory-model=liveness"], limit)


def has_estimates(file):
    """Whether any instruction has one; the largest integer stands for none."""
    return re.search(r'"estimated_cycles":"\d{1,18}"', file.read_text(encoding="utf-8")) is not None


def tpu_cases(budgets, more):
    """`more`: pairs of a device and a file."""
    found = [(folder.parent.name, file) for folder in sorted((PROJECT / "build" / "estimates").glob("*/held_out"))
             for file in sorted(folder.glob("*.txt"))]
    for target, file in found + more:
        if not has_estimates(file):
            continue
        device = target if target.startswith("tpu") else f"tpu-{target}"
        for label in budgets:
            if label.endswith("%"):
                yield Case("tpu", f"{target} {file.stem}", label, file,
                           ["--memory-model=heap", f"--device={device}"], label, has_estimates=True)


def all_cases(budgets, tpu=()):
    yield from scheduled_cases(budgets)
    yield from xla_cases(budgets)
    keras = [SHARED / "keras", PROJECT / "build" / "keras"]
    yield from heap_cases("keras", keras, "*.after_optimizations.hlo", budgets)
    yield from heap_cases("samples", [PROJECT / "hlo_samples"], "*.hlo", budgets)
    yield from step_cases(budgets)
    yield from tpu_cases(budgets, list(tpu))


# ---- running ----

def is_scheduled(file):
    with open(file, encoding="utf-8") as lines:
        return any("is_scheduled=true" in line for line in lines if line.startswith("HloModule"))


def run_tool(command, timeout, good_codes=(0,)):
    """What a run of the tool writes, as `stdout`, or why it has failed, as `failure`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"failure": f"over {timeout:g} s"}
    if done.returncode not in good_codes:
        errors = [line for line in done.stderr.splitlines() if "error: " in line]
        print(f"{' '.join(command)}: exit code {done.returncode}: {' '.join(errors[:1])}", file=sys.stderr)
        return {"failure": f"exit code {done.returncode}"}
    return {"stdout": done.stdout}


def compare(program, case, algorithm, options, limit, timeout):
    """One run, with the keys of `compare --json`, or only with `failure`."""
    command = [program, "compare", str(case.file), "--quiet", "--json=-", "--jobs=1",
               f"--schedulers={'input' if is_scheduled(case.file) else 'default'}",
               "--small-node-limit=0", *case.options, f"--algorithms={algorithm}", f"--budgets={limit}",
               *options]
    done = run_tool(command, timeout)
    if "failure" in done:
        return done
    lines = done["stdout"].splitlines()
    return json.loads(lines[0]) if len(lines) == 1 else {"failure": f"{len(lines)} lines"}


def run_xla(program, case, timeout):
    """What XLA's pass did, done again: xla.json has its flops and bytes, but not its modelled time."""
    row = case.xla_row
    block = row["block_size_limit"]
    algorithm = {"always": "standard", "peak": "peak-priority"}[row["algorithm"]]
    # XLA's rows with blocks of 64 were made with a block factor of 8, the others with 1.
    options = ["--memory-model=xla-remat", f"--block-size-limit={block}",
               f"--block-factor={8 if block == 64 else 1}"]
    run = compare(program, case, algorithm, options, row["limit_bytes"], timeout)
    if "failure" not in run and run["peak_after_bytes"] != row["peak_after_recounted_bytes"]:
        return {"failure": "another peak"}
    return run


def seconds_by_estimates(program, case, file):
    done = subprocess.run([program, "cost", str(file), *case.options[1:], "--json=-", "--quiet"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["seconds"]


def run_tpu(program, case, algorithm, options, timeout):
    """Like compare(), and "estimated_overhead": what the result adds by XLA:TPU's estimates, which a recomputed value
    has of its original."""
    def rename(text, old, new):
        return text.replace(f'"{old}_cycles"', f'"{new}_cycles"')

    with tempfile.TemporaryDirectory() as folder:
        hidden, made = pathlib.Path(folder) / case.file.name, pathlib.Path(folder) / "made.hlo"
        text = case.file.read_text(encoding="utf-8")
        hidden.write_text(rename(text, "estimated", "concealed"), encoding="utf-8")
        copy = dataclasses.replace(case, file=hidden)
        run = compare(program, copy, algorithm, options, case.limit, timeout)
        if "failure" in run:
            return run
        command = [program, "remat", str(hidden), "--quiet", "--small-node-limit=0", *case.options,
                   f"--scheduler={'input' if is_scheduled(hidden) else 'default'}", f"--algorithm={algorithm}",
                   f"--mem-limit={case.limit}", *options, "-o", str(made)]
        done = run_tool(command, timeout, good_codes=(0, 1))  # 1: the best that there is, and above the budget
        if "failure" in done:
            return done
        made.write_text(rename(made.read_text(encoding="utf-8"), "concealed", "estimated"), encoding="utf-8")
        before = seconds_by_estimates(program, case, case.file)
        run["estimated_overhead"] = seconds_by_estimates(program, case, made) / before - 1
    return run


def start_run(pool, arguments, case, algorithm):
    if case.has_estimates:
        return pool.submit(run_tpu, arguments.program, case, algorithm, arguments.options, arguments.timeout)
    return pool.submit(compare, arguments.program, case, algorithm, arguments.options, case.limit, arguments.timeout)


def start_runs(pool, arguments, cases):
    for case in cases:
        futures = {}
        if case.xla_row:
            futures["XLA"] = pool.submit(run_xla, arguments.program, case, arguments.timeout)
        for algorithm in arguments.algorithms:
            futures[algorithm] = start_run(pool, arguments, case, algorithm)
        yield case, futures


def is_met(run):
    return bool(run) and run.get("met", False)


def percent(run):
    return 100 * run["overhead"]


def is_possible(case, runs):
    """Whether the budget is not below the lower bound, below which no order and no recomputation gets."""
    return not case.label.endswith("%") or all(run["limit_bytes"] >= run["lower_bound_bytes"]
                                               for run in runs.values() if "failure" not in run)


# ---- the tables ----

def cell(case, algorithm, run):
    if "failure" in run:
        return run["failure"]
    seconds = f"{run['cpu_seconds']:6.2f} s"
    added = f"{percent(run):.2f} %"
    if case.label == "min":
        return f"{case.show_share(run)}: {added} {seconds}"
    if not is_met(run) and algorithm != "XLA":
        added = f"({case.show_share(run)})"
    if case.has_estimates:
        added += f", {100 * run['estimated_overhead']:.2f} %"
    return f"{added} {seconds}"


def show_published(case):
    if case.group != "scheduled":
        return []
    if case.published_lowest is not None:
        return [f"{case.published_lowest:.3f}", "-"]
    figures = [case.published.get(which) for which in EXPERIMENTS]
    return ["-" if figure is None else f"{figure:.2f} %" for figure in figures]


def print_table(group, rows, algorithms):
    """Rows are printed as soon as they and those before them are done."""
    print(f"\n{TITLES[group]}\n")
    width = max(28 if group == "tpu" else 26 if group == "scheduled" else 19, *(len(name) + 2 for name in algorithms))
    names = [*algorithms, "XLA"] if group == "xla" else algorithms
    print(f"{'file':23}{'budget':>10}" + "".join(f"{name:>{width}}" for name in names) +
          ("".join(f"{name:>10}" for name in EXPERIMENTS) if group == "scheduled" else ""), flush=True)
    for case, runs in rows:
        print(f"{case.name[:22]:23}{case.label:>10}" +
              "".join(f"{cell(case, name, runs[name]):>{width}}" for name in names) +
              "".join(f"{text:>10}" for text in show_published(case)) +
              ("" if is_possible(case, runs) else "  below the lower bound"), flush=True)


def write_csv(file, results):
    figures = ["limit_bytes", "peak_before_bytes", "lower_bound_bytes", "peak_after_bytes",
               "seconds_before", "seconds_after", "cpu_seconds"]
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["group", "file", "budget", "algorithm", "status", "share_reached", "added_percent",
                         *figures, "added_percent_by_estimates"])
        for case, runs in results:
            for algorithm, run in runs.items():
                if "failure" in run:
                    outcome = [run["failure"], "", ""] + [""] * (len(figures) + 1)
                else:
                    outcome = ["met" if is_met(run) else "not met", f"{case.share_reached(run):.6f}",
                               f"{percent(run):.6f}", *(run[key] for key in figures),
                               f"{100 * run['estimated_overhead']:.6f}" if case.has_estimates else ""]
                writer.writerow([case.group, case.name, case.label, algorithm, *outcome])
            for which, figure in case.published.items():
                if figure is not None:
                    writer.writerow([case.group, case.name, case.label, f"published {which}", "met", "",
                                     figure] + [""] * (len(figures) + 1))


# ---- the summary ----

def at_least(added):
    return max(added, SMALLEST_PERCENT)


def best_older(runs):
    return min((percent(runs[name]) for name in OLDER if is_met(runs.get(name))), default=None)


def best_published(case):
    return min((figure for figure in case.published.values() if figure is not None), default=None)


def ratio_to(cases, algorithm, other):
    """The geometric mean of ratios where both met the budget, and how many files these are."""
    ratios = []
    for case, runs in cases:
        figure = other(case, runs)
        if is_met(runs[algorithm]) and figure is not None:
            ratios.append(at_least(percent(runs[algorithm])) / at_least(figure))
    return f"{statistics.geometric_mean(ratios):.2f} ({len(ratios)})" if ratios else "-"


def print_means(group, results, algorithms):
    print(f"\n{TITLES[group].split(';')[0]}: geometric means of added time\n")
    print(f"{'budget':8}{'algorithm':20}{'met':>8}{'added time':>12}{'of the older best':>20}" +
          (f"{'of the published best':>24}" if group == "scheduled" else ""))
    for label in dict.fromkeys(case.label for case, _ in results if case.label != "min"):
        cases = [(case, runs) for case, runs in results if case.label == label and is_possible(case, runs)]
        for algorithm in algorithms:
            met = [at_least(percent(runs[algorithm])) for _, runs in cases if is_met(runs[algorithm])]
            mean = f"{statistics.geometric_mean(met):.2f} %" if met else "-"
            line = f"{label:8}{algorithm:20}{f'{len(met)}/{len(cases)}':>8}{mean:>12}"
            line += f"{ratio_to(cases, algorithm, lambda _, runs: best_older(runs)):>20}"
            if group == "scheduled":
                line += f"{ratio_to(cases, algorithm, lambda case, _: best_published(case)):>24}"
            print(line)


def targets(results):
    """Rows of (target, case, function of an algorithm's run that says whether it is met)."""
    for case, runs in results:
        goal = best_published(case)
        if goal is not None:
            yield (f"{case.label}: at most the published best + {TOLERANCE_PERCENT} %", case,
                   lambda run, goal=goal: is_met(run) and percent(run) <= goal + TOLERANCE_PERCENT)
        if case.group == "xla" and "failure" not in runs["XLA"]:
            goal = XLA_RATIO * percent(runs["XLA"])
            yield (f"XLA's peak ({case.label}): at most {XLA_RATIO} of its added time", case,
                   lambda run, goal=goal: is_met(run) and percent(run) <= goal)
        if case.group == "keras" and case.label == KERAS_BUDGET:
            yield (f"Keras at {KERAS_BUDGET}: at most {KERAS_PERCENT} %", case,
                   lambda run: is_met(run) and percent(run) <= KERAS_PERCENT)
    for case, _ in results:
        yield (f"every run: at most {RUN_SECONDS} s", case,
               lambda run: "failure" not in run and run["cpu_seconds"] <= RUN_SECONDS)


def print_targets(results, algorithms):
    rows = {}
    runs_of = {id(case): runs for case, runs in results}
    for target, case, holds in targets(results):
        rows.setdefault(target, []).append((case, holds))
    print("\nTargets met\n")
    width = max(12, *(len(name) + 2 for name in algorithms))
    print(f"{'target':54}" + "".join(f"{name:>{width}}" for name in algorithms))
    missed = []
    for target, checks in rows.items():
        line = f"{target:54}"
        for algorithm in algorithms:
            lost = [case for case, holds in checks if not holds(runs_of[id(case)][algorithm])]
            line += f"{f'{len(checks) - len(lost)}/{len(checks)}':>{width}}"
            if algorithm in NEWER:
                missed += [(algorithm, target, case) for case in lost]
        print(line)
    for algorithm, target, case in missed:
        print(f"missed by {algorithm}: {target}: {case.group}/{case.name} {case.label}: "
              f"{cell(case, algorithm, runs_of[id(case)][algorithm])}")


def print_summary(results, algorithms):
    for group in ("scheduled", "keras", "samples", "steps"):
        of_group = [(case, runs) for case, runs in results if case.group == group]
        if of_group:
            print_means(group, of_group, algorithms)
    print_targets(results, algorithms)


# ---- the picture ----

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a6d00", "#555555"]


def need_matplotlib():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        sys.exit("--svg needs matplotlib: apt-get install python3-matplotlib")


def budget_share(case):
    return float(case.label.removesuffix("%"))


def nan_if_none(figure):
    return math.nan if figure is None else figure


def draw_panel(axes, cases, algorithms, xla):
    """Budgets go down to the right; a line has no mark where its budget is not met."""
    group, name = cases[0][0].group, cases[0][0].name
    places = [budget_share(case) for case, _ in cases]
    outermost = list(places)
    for algorithm, colour in zip(algorithms, itertools.cycle(COLOURS)):
        added = [percent(runs[algorithm]) if is_met(runs[algorithm]) else math.nan for _, runs in cases]
        axes.plot(places, added, marker="o", markersize=4, color=colour, label=algorithm)
    if group == "scheduled":
        for which, marker in zip(EXPERIMENTS, "v^"):
            axes.plot(places, [nan_if_none(case.published.get(which)) for case, _ in cases],
                      marker=marker, markersize=5, linestyle=":", color="black", fillstyle="none",
                      label=f"published, {which}")
        if name in xla:
            case, run = xla[name]
            outermost.append((int(case.limit) - cases[0][0].bounds["lb"]) / cases[0][0].reducible())
            axes.plot(outermost[-1], percent(run), marker="*", markersize=9, linestyle="", color="black",
                      label="XLA's lowest peak")
    axes.set_title(f"{group}: {name}", fontsize=9)
    axes.set_xticks(places, [case.label for case, _ in cases])
    margin = 0.08 * max(outermost)
    axes.set_xlim(max(outermost) + margin, min(outermost) - margin)
    axes.grid(alpha=0.3)


def draw(file, results, algorithms):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "bench/search"  # the same ids each time
    import matplotlib.pyplot as plt

    panels, xla = {}, {}
    for case, runs in results:
        if case.group == "xla":
            if case.label == "liveness" and "failure" not in runs["XLA"]:
                xla[case.name] = case, runs["XLA"]
        elif case.label != "min":
            panels.setdefault((case.group, case.name), []).append((case, runs))
    if not panels:
        print("there is nothing to draw", file=sys.stderr)
        return
    num_columns = min(3, len(panels))
    num_rows = math.ceil(len(panels) / num_columns)
    figure, grid = plt.subplots(num_rows, num_columns, squeeze=False, sharey=True,
                                figsize=(3.8 * num_columns + 0.5, 2.6 * num_rows + 0.8))
    for axes in grid.flat[len(panels):]:
        axes.axis("off")
    legend = {}
    for axes, cases in zip(grid.flat, panels.values()):
        draw_panel(axes, cases, algorithms, xla)
        legend.update(zip(*reversed(axes.get_legend_handles_labels())))
    axes = grid[0][0]  # stands for all
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    axes.set_yticks([-10, 0, 1, 10, 100], ["-10 %", "0 %", "1 %", "10 %", "100 %"])
    lowest = min(one.dataLim.y0 for one in grid.flat if one.has_data())
    axes.set_ylim(min(-0.3, 1.1 * lowest), max(130, axes.get_ylim()[1]))
    top = 1 - 0.8 / figure.get_figheight()
    figure.legend(legend.values(), legend.keys(), loc="upper center", fontsize=8,
                  ncol=min(len(legend), 2 * num_columns), title="added modelled time under a budget")
    figure.tight_layout(rect=(0, 0, 1, top))
    figure.savefig(file, format="svg", metadata={"Date": None})


# ---- options ----

def known_algorithms(program):
    listed = subprocess.run([program, "list", "--names=algorithms"], capture_output=True, text=True)
    return listed.stdout.split()


def names(text):
    return [name for name in text.split(",") if name]


def tpu_file(text):
    target, _, file = text.partition(":")
    if not pathlib.Path(file).is_file():
        raise argparse.ArgumentTypeError(f"TARGET:FILE, not '{text}'")
    return target, pathlib.Path(file)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench/search", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithms", type=names,
                        help="with commas; [" + ",".join(OLDER) + " and, where they are there, " +
                        ",".join(NEWER) + "]")
    parser.add_argument("--only", type=names, default=[],
                        help="files whose GROUP/NAME contains one of these, with commas")
    parser.add_argument("--budgets", type=names, default=BUDGETS,
                        help="with commas: f or min for scheduled, xla, and P%% for the others [" +
                        ",".join(BUDGETS).replace("%", "%%") + "]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="how many runs go on at the same time [as many as processors]")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run [600]")
    parser.add_argument("--program", type=pathlib.Path,
                        default=PROJECT / "build" / "release" / "remat-hlo",
                        help="[build/release/remat-hlo]")
    parser.add_argument("--tpu", type=tpu_file, action="append", default=[], metavar="TARGET:FILE",
                        help="a further text with XLA:TPU's estimates, such as v5e:step.after_codegen.txt")
    parser.add_argument("--effort", help="is passed on to each run")
    parser.add_argument("--summary", action="store_true", help="geometric means, and which targets are met")
    parser.add_argument("--csv", type=pathlib.Path, help="write a line for each run")
    parser.add_argument("--svg", type=pathlib.Path, help="draw added time against budgets (matplotlib)")
    parser.add_argument("--make-keras", action="store_true",
                        help="as the only option: write the dumps of Keras networks to build/keras")
    parser.add_argument("options", nargs="*", metavar="-- OPTION",
                        help="options of remat-hlo compare for each run, such as --set=NAME=NUMBER")
    arguments = parser.parse_args()
    if arguments.make_keras:
        parser.error("--make-keras goes alone")
    if not arguments.program.exists():
        sys.exit(f"{arguments.program} is not there: scripts/setup-and-run.sh builds it")
    arguments.program = str(arguments.program.resolve())
    known = known_algorithms(arguments.program)
    if not arguments.algorithms:
        arguments.algorithms = [name for name in OLDER + NEWER if name in known]
    for name in arguments.algorithms:
        if name not in known and not name.startswith("checkpoint=collection:"):
            parser.error(f"there is no algorithm '{name}'; there are {', '.join(known)}")
    for label in arguments.budgets:
        if label not in ("min", "xla") and not label.removesuffix("%").replace(".", "", 1).isdecimal():
            parser.error(f"--budgets takes f, min, xla or P%, not '{label}'")
    if arguments.effort:
        arguments.options = [f"--effort={arguments.effort}", *arguments.options]
    if arguments.svg:
        need_matplotlib()
    return arguments


def main():
    arguments = parse_arguments()
    cases = [case for case in all_cases(arguments.budgets, arguments.tpu)
             if not arguments.only or any(part in f"{case.group}/{case.name}" for part in arguments.only)]
    if not cases:
        sys.exit("no file and budget is left to run")
    results = []
    pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
    try:
        started = list(start_runs(pool, arguments, cases))

        def finished(group):
            for case, futures in started:
                if case.group == group:
                    runs = {name: future.result() for name, future in futures.items()}
                    results.append((case, runs))
                    yield case, runs

        for group in dict.fromkeys(case.group for case in cases):
            print_table(group, finished(group), arguments.algorithms)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        pool.shutdown(cancel_futures=True)
    if arguments.csv:
        write_csv(arguments.csv, results)
    if arguments.svg:
        draw(arguments.svg, results, arguments.algorithms)
    if arguments.summary:
        print_summary(results, arguments.algorithms)
    return any("failure" in run for _, runs in results for run in runs.values())


if __name__ == "__main__":
    sys.exit(main())
