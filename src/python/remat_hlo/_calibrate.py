"""Fits a device profile to measured times of modules: `python -m remat_hlo calibrate`. The library's own
model is what is fitted, not a simplification of it."""

import argparse
import json
import math
import pathlib
import statistics
import sys

from . import _module

# What is fitted; the rest of a profile is that of the device that is begun with.
FITTED = ("memory_bandwidth", "flops", "vector_flops", "transcendentals", "kernel_seconds")
FIRST_FACTOR, LAST_FACTOR = 16.0, 1.02
DISTANCE_PRICE = 0.002


def ranks(values):
    """Ranks from 1; equal values share their mean rank."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    found, begin = [0.0] * len(values), 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for at in range(begin, end):
            found[order[at]] = (begin + 1 + end) / 2
        begin = end
    return found


def rank_correlation(a, b):
    """Spearman's; None if one of them does not vary."""
    if len(a) < 2 or min(a) == max(a) or min(b) == max(b):
        return None
    a, b = ranks(a), ranks(b)
    mean = statistics.mean(a)
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    return top / math.sqrt(sum((x - mean)**2 for x in a) * sum((y - mean)**2 for y in b))


def scaled(profile, factors):
    """The profile with each figure that is fitted multiplied."""
    made = dict(profile)
    for name, factor in factors.items():
        old = profile.get(name, profile["flops"] if name == "vector_flops" else 1e-7)
        made[name] = {key: rate * factor for key, rate in old.items()} \
            if isinstance(old, dict) else (old or 1e-7) * factor
    return made


class Model:
    """Modelled seconds of modules under profiles."""

    def __init__(self, modules, trip_count=1):
        self.modules, self.trip_count = modules, trip_count

    def seconds(self, profile):
        handle = _module.parse_profile(json.dumps(profile).encode())
        return [module.cost(self.trip_count, handle).seconds for module in self.modules]


def fit(model, profile, measured):
    """The factors that make the mean of |log(modelled / measured)| least: one figure after another is
    raised or lowered as long as that helps, by ever smaller factors. The mean of these, rather than of
    their squares, lets single programs be far off. A machine that is slower by the same in everything
    comes first; what the measurements say nothing about stays there, because distance from that has a
    price."""
    def badness(factors):
        return statistics.fmean(abs(math.log(max(m, 1e-12) / s))
                                for m, s in zip(model.seconds(scaled(profile, factors)), measured))

    slower = math.exp(statistics.median(math.log(s / max(m, 1e-12)) for m, s in
                                        zip(model.seconds(profile), measured)))
    base = {name: slower if name == "kernel_seconds" else 1 / slower for name in FITTED}

    def price(factors):
        return badness(factors) + DISTANCE_PRICE * sum(
            abs(math.log(factors[name] / base[name])) for name in FITTED)

    factors = dict(base)
    best, step = price(factors), FIRST_FACTOR
    while step > LAST_FACTOR:
        is_better = False
        for name in FITTED:
            for by in (step, 1 / step):
                tried = {**factors, name: factors[name] * by}
                bad = price(tried)
                if bad < best - 1e-9:
                    best, factors, is_better = bad, tried, True
                    break
        if not is_better:
            step = math.sqrt(step)
    return factors


def describe(modelled, measured):
    """How far a model is off, in a line."""
    off = sorted(abs(m / s - 1) for m, s in zip(modelled, measured))
    correlation = rank_correlation(modelled, measured)
    return (f"rank correlation {'none' if correlation is None else f'{correlation:.3f}'}, median error "
            f"{100 * statistics.median(off):.0f} %, worst {100 * off[-1]:.0f} %")


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m remat_hlo calibrate",
        description="Fits a device profile to measured times, and says how far the model is off.")
    parser.add_argument("measurements", help="JSON: {\"runs\": [{\"module\": PATH, \"seconds\": S}, …]}, paths "
                        "relative to the file, as scripts/bench-live --json=FILE writes it")
    parser.add_argument("--device", default="cpu", help="the profile to begin with [cpu]")
    parser.add_argument("--name", default="calibrated", help="the name of the new one")
    parser.add_argument("-o", "--output", help="where the profile goes [stdout]")
    given = parser.parse_args(arguments)
    try:
        return _calibrate(given)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"remat_hlo: error: {error}", file=sys.stderr)
        return 2


def _calibrate(given):
    folder = pathlib.Path(given.measurements).parent
    runs = json.loads(pathlib.Path(given.measurements).read_text())["runs"]
    measured = [float(run["seconds"]) for run in runs]
    if len(runs) < 2 or min(measured) <= 0:
        raise ValueError("at least two measurements are needed, each above 0 s")
    model = Model([_module.load(folder / run["module"], copies="inserted") for run in runs])
    profile = json.loads(_module.profile_text(given.device))
    before = model.seconds(profile)
    factors = fit(model, profile, measured)
    made = scaled(profile, factors)
    after = model.seconds(made)
    made.update(name=given.name, description=f"fitted to {len(runs)} measured programs, from {profile['name']}",
                source=f"python -m remat_hlo calibrate: {describe(after, measured)}")
    text = json.dumps(made, indent=2) + "\n"
    if given.output:
        _module.write_file(given.output, text)
    else:
        print(text, end="")
    said = sys.stdout if given.output else sys.stderr
    print(f"{profile['name']}: {describe(before, measured)}", file=said)
    print(f"{given.name}: {describe(after, measured)}", file=said)
    return 0
