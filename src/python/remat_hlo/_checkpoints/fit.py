"""Whether a program fits a device, which need not be there: what the compiler says, where the peak is, what less memory
would cost, and how far the program can grow."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import typing

from .. import _library as lib
from .._module import load as load_module
from .._refusals import WrongUsage, needed_bytes
from .._sizes import parse_size
from . import compiling, driver
from .file import Plan
from .measured import Measured
from .targets import Target, find_target

PACKAGE = str(pathlib.Path(__file__).resolve().parents[1])
HOOK_BUDGETS = ("80%", "60%", "40%", "min")
HOOK_EFFORT = 1         # a search of it takes a small part of a compilation
MOST_LINES = 8
MOST_SIZES = 8          # compilations that look for the largest size


@dataclasses.dataclass(frozen=True)
class Point:
    """Bytes in all on one device, and what the modelled time grows by, as a fraction. `way` is hook or plan."""
    way: str
    total_bytes: int
    added_time: typing.Optional[float]


@dataclasses.dataclass(frozen=True)
class Size:
    """A size that was tried. `total_bytes` is None where the compiler does not say what it would take."""
    n: int
    total_bytes: typing.Optional[int]
    is_fitting: bool


@dataclasses.dataclass(eq=False)
class Fit:
    """What `remat_hlo.jax.fit` returns. `offered_bytes` is what the device offers to a program, or the limit that was
    asked about; None where neither is known, and then nothing says whether it fits. `peak` has bytes by line of the
    program at the peak, with `is_before_vmem` before XLA:TPU puts values into VMEM, `curve` what less memory costs, `plan`
    a Plan that fits where the program does not, `advice` what Module.advise says of it."""
    name: str
    target: Target
    offered_bytes: typing.Optional[int]
    measured: Measured
    peak: list
    curve: list
    plan: typing.Optional[Plan]
    sizes: list
    advice: typing.Optional[dict]
    is_before_vmem: bool = False

    @property
    def total_bytes(self):
        """What the program takes; where the compiler refuses it, what it says that it would."""
        if self.measured.error:
            said = needed_bytes(self.measured.error)
            return said if said is not None else self.measured.total_bytes
        return self.measured.total_bytes

    @property
    def is_fitting(self):
        """None where nothing is known of the device."""
        if self.measured.is_out_of_memory:
            return False
        if self.offered_bytes is None:
            return None
        return self.measured.total_bytes <= self.offered_bytes

    @property
    def missing_bytes(self):
        """By how much it does not fit."""
        if self.is_fitting is not False or self.total_bytes is None or self.offered_bytes is None:
            return 0
        return self.total_bytes - self.offered_bytes

    @property
    def largest(self):
        """The largest size that was found to fit, None if none was asked for or none fits."""
        return max((one.n for one in self.sizes if one.is_fitting), default=None)

    @property
    def exit_code(self):
        """0 if it fits, 1 if not, for CI."""
        return int(self.is_fitting is False)

    def to_dict(self):
        """All of it as plain values, for json.dumps."""
        return {"name": self.name, "device": self.target.name, "offered_bytes": self.offered_bytes,
                "is_fitting": self.is_fitting, "total_bytes": self.total_bytes, "missing_bytes": self.missing_bytes,
                **{name: value for name, value in self.measured.to_dict().items() if name != "total_bytes"},
                "peak": [{"source": source, "bytes": size} for source, size in self.peak],
                "curve": [dataclasses.asdict(point) for point in self.curve],
                "plan": None if self.plan is None else {"is_met": self.plan.is_met, "after": self.plan.after},
                "sizes": [dataclasses.asdict(size) for size in self.sizes], "largest": self.largest,
                "advice": self.advice}

    def __str__(self):
        from .fit_text import text_of
        return text_of(self)

    def __repr__(self):
        return f"<Fit {self.name} on {self.target.name}: {self.is_fitting}>"

    def _repr_html_(self):
        from .fit_text import html_of
        return html_of(self)


def fit(step: typing.Any, *arguments: typing.Any, device: str | None = None, mem_limit: int | str | None = None,
        args_of: typing.Callable[[int], typing.Any] | None = None, n: int = 1, max_compilations: int = 6,
        **named: typing.Any) -> Fit:
    """Compiles a step for a device, which need not be there, and says whether it fits. The step and its arguments are as
    those of plan; `device` is v5e:2x2, h100 or cpu, say, or None for this process's. `mem_limit` is what may be taken,
    if that is not what the device offers.

    With `args_of`, a function of a size that returns the arguments, these are args_of(n), and the largest size that fits
    is looked for. A program with marked functions is compiled up to `max_compilations` times to find what a plan would
    make of it. Raises MissingPlugin where the device's compiler is not installed, and says how to get it."""
    if args_of is not None and n < 1:
        raise WrongUsage(f"n={n}: the first size is at least 1")
    target = find_target(device)
    offered = target.memory_bytes if mem_limit is None else parse_size(mem_limit)
    if args_of is not None:
        arguments = tuple(args_of(n))
    name = getattr(step, "__name__", "step")
    prepared = compiling.prepare(step, arguments, named)
    measured = compiling.measure(*prepared, target)
    made = Fit(name, target, offered, measured, [], [], None, [], None)
    _look_inside(made)
    if max_compilations > 1:
        _try_plan(made, prepared, max_compilations)
    made.curve = _without_worse(made.curve)
    if args_of is not None and offered is not None:
        made.sizes = _grow(step, args_of, n, named, target, offered, measured)
    return made


def _look_inside(made):
    """Adds where the peak is, and what the hook would make of the program, by the library's model."""
    if not made.measured.text:
        return
    try:
        module = load_module(made.measured.hook_text, device=made.target.profile)
        report = module.report()
        made.peak, made.is_before_vmem = _by_line(report.by["source"]), _is_before_vmem(made, report)
        before = module.memory()
    except (lib.Error, ValueError) as error:  # a text that the library does not know: XLA's figures stand alone
        compiling.warn_of_fault(error)
        return
    given = made.measured.total_bytes - made.measured.temp_bytes if made.measured.total_bytes is not None else 0
    for budget in HOOK_BUDGETS:
        try:
            result = module.remat(budget, effort=HOOK_EFFORT)
        except (lib.Error, ValueError) as error:  # nothing can be rewritten here
            compiling.warn_of_fault(error)
            break
        total = given + result.memory_after.temp_bytes
        is_less = made.measured.total_bytes is None or total < made.measured.total_bytes
        if result.memory_after.temp_bytes < before.temp_bytes and is_less:
            made.curve.append(Point("hook", total, result.added_time))
    made.advice = _advice(module, made.offered_bytes)


def _is_before_vmem(made, report):
    """Whether the peak is that of a module whose values XLA:TPU then puts into VMEM."""
    total = made.measured.total_bytes
    return made.target.platform == "tpu" and total is not None and report.memory.peak_bytes > total


def _by_line(sums):
    """The largest sums by line. What JAX writes where there is no line is a line of -1; this package's own lines say
    nothing of the program."""
    named = {source.removesuffix(":-1"): size for source, size in sums.items()
             if not source.startswith(f"{PACKAGE}{os.sep}")}
    return sorted(named.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_LINES]


def _advice(module, limit):
    """What to change in the program, as Module.advise has it; None where it has nothing to say."""
    try:
        found = module.advise(limit)
    except (lib.Error, ValueError) as error:
        compiling.warn_of_fault(error)
        return None
    return found if found["remedies"] else None


def _try_plan(made, prepared, max_compilations):
    """Adds what plans make of a program with marks."""
    search = driver.Search(*prepared, made.target, max_compilations, made.measured)
    if not search.recorder.found:
        return
    limit = made.offered_bytes if made.is_fitting is False and made.offered_bytes else 0
    plan = search.run(limit)
    before = made.measured.seconds
    for one in plan.measured[1:]:
        is_less = one["total_bytes"] is not None and (made.total_bytes is None or one["total_bytes"] < made.total_bytes)
        if is_less and not one["error"]:
            added = one["seconds"] / before - 1 if before and one["seconds"] else None
            made.curve.append(Point("plan", one["total_bytes"], added))
    if made.is_fitting is False:
        made.plan = plan


def _without_worse(points):
    """Of each way, the points than which no other takes less memory and less time."""
    kept = []
    for point in sorted(points, key=lambda one: (one.way, one.total_bytes, one.added_time or 0.0)):
        last = kept[-1] if kept and kept[-1].way == point.way else None
        if last is None or (point.added_time or 0.0) < (last.added_time or 0.0):
            kept.append(point)
    return sorted(kept, key=lambda one: (one.way, -one.total_bytes))


# ---- how far it can grow ----

def _grow(step, args_of, n, named, target, offered, first):
    """The sizes that were tried: bytes grow with the size nearly as a line does, which says what to try next."""
    tried = {n: first}

    def total(size):
        return tried[size].needed_bytes

    def is_fitting(size):
        return not tried[size].error and total(size) <= offered
    while len(tried) < MOST_SIZES:
        guess = _next_size(n, {size: total(size) for size in tried}, {size: is_fitting(size) for size in tried}, offered)
        if guess is None:
            break
        tried[guess] = compiling.measure(*compiling.prepare(step, tuple(args_of(guess)), named), target)
    return [Size(size, total(size), is_fitting(size)) for size in sorted(tried)]


def _next_size(n, totals, fits, offered):
    """What to try: what a line through two sizes says, between the largest that fits and the smallest that does not.
    None when these are neighbours, or nothing smaller is left."""
    low = max((size for size, fitting in fits.items() if fitting), default=0)
    high = min((size for size, fitting in fits.items() if not fitting), default=None)
    if high is not None and high - low <= max(1, low // 64):
        return None
    known = sorted(size for size, total in totals.items() if total is not None)
    if len(known) < 2:
        return 2 * n if fits[n] else max(1, n // 2)
    left, right = (known[-2:] if low >= known[-1] else known[:2] if low < known[0] else
                   [max(size for size in known if size <= low), min((s for s in known if s > low), default=known[-1])])
    slope = (totals[right] - totals[left]) / (right - left)
    guess = int(left + (offered - totals[left]) / slope) if slope > 0 else 2 * right
    lowest, highest = low + 1, (high - 1 if high is not None else 16 * max(low, n))
    return min(max(guess, lowest), highest)
