"""Rematerializes every JAX program while XLA compiles it.

    import remat_hlo.jax
    remat_hlo.jax.install(mem_limit="12GiB")

or says whether a program fits a device, which need not be there (fit), and chooses checkpoints for it that need no
hook (checkpoint, plan). Needs JAX 0.10.2 or later. See man/python.md and man/plans.md."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import shutil
import tempfile
import typing

import jax

from . import _before, _hooks
from ._checkpoints.driver import plan
from ._checkpoints.file import Plan, PlanError, load as load_plan
from ._checkpoints.fit import Fit, fit
from ._checkpoints.mark import checkpoint
from ._checkpoints.targets import MissingPlugin
from ._decide import CHANGED, LiveReport
from ._files import written_as_a_whole
from ._hooks import NAME
from ._options import Options
from ._sizes import format_bytes, format_percent

__all__ = ["Check", "Fit", "LiveReport", "MissingPlugin", "Plan", "PlanError", "calibrate", "check",
           "checkpoint", "clear_reports", "disabled", "fit", "install", "jit", "last_reports",
           "load_plan", "plan", "rematerialize", "uninstall"]

MOST_MARK_CHARS = 1 << 20  # of an entry computation, which begins with the first parameter


def install(mem_limit: int | str | None = None, **options: typing.Any) -> Options:
    """Rematerializes from now on each module that XLA compiles and that is above the budget.
    `mem_limit` is 12GiB, 80% of the module's peak, r50% of the reducible part of that, min, or auto.
    Returns the Options; what is not given is taken from the environment, REMAT_HLO_….

    What was compiled before is compiled anew when it is called again, except for what
    `jax.jit(f).lower(…).compile()` has returned. A second call replaces the options of the first.
    Raises ValueError or TypeError for options that do not exist or do not fit."""
    made = Options.make(mem_limit=mem_limit, **options)
    with _hooks.state.lock:
        had = _hooks.state.context.get_global()
        _hooks.begin(made)
        if had is not None:
            _hooks.state.num_users -= 1
        _hooks.state.context.set_global(made)
    if _hooks.backends_exist():
        _hooks.register()
    return made


def uninstall() -> None:
    """Programs are compiled as they are again. What was compiled before install() is used again as
    it was."""
    with _hooks.state.lock:
        if _hooks.state.context.get_global() is None:
            return
        _hooks.state.context.set_global(None)
        _hooks.end()


def rematerialize(mem_limit: int | str | None = None,
                  **options: typing.Any) -> contextlib.AbstractContextManager[typing.Any]:
    """A context manager: as install, for what this thread compiles within a `with` statement."""
    return _hooks.installed(Options.make(mem_limit=mem_limit, **options))


def jit(function: typing.Callable[..., typing.Any], mem_limit: int | str | None = None, *,
        stage: str = _before.STAGE, jit_options: typing.Mapping[str, typing.Any] | None = None,
        **options: typing.Any) -> typing.Callable[..., typing.Any]:
    """jax.jit of a function, whose compilations are rematerialized, also where JAX has no hooks:
    before XLA optimizes, which costs further compilations and gives less. `jit_options` are those of
    jax.jit, other options those of install."""
    made = Options.make(mem_limit=mem_limit, stage=stage, **options)
    jitted = jax.jit(function, **(jit_options or {}))

    @functools.wraps(function)
    def call(*arguments, **named):
        with _hooks.installed(made):
            return jitted(*arguments, **named)

    def lower(*arguments, **named):
        with _hooks.installed(made):
            return _Lowered(jitted.lower(*arguments, **named), made)

    call.lower = lower
    return call


class _Lowered:
    """jax.stages.Lowered, whose compile() rematerializes."""

    def __init__(self, lowered, options):
        self._lowered, self._options = lowered, options

    def __getattr__(self, name):
        return getattr(self._lowered, name)

    def compile(self, *arguments, **named):
        with _hooks.installed(self._options):
            return self._lowered.compile(*arguments, **named)


def disabled() -> contextlib.AbstractContextManager[typing.Any]:
    """A context manager: what this thread compiles within it is left alone."""
    return _hooks.state.context(None)


def calibrate(run: typing.Callable[[], typing.Any], path: str | os.PathLike[str],
              steps: int = 3) -> str | os.PathLike[str]:
    """Measures a program for `times=` of install and rematerialize: calls `run()` once, and then `steps` times under
    jax.profiler, each time until its result is there, and keeps the profile (an XSpace) as the file `path`. What runs is
    compiled as it is without us, so that the times are those of the instructions that may be recomputed. Returns `path`."""
    with disabled(), tempfile.TemporaryDirectory() as folder:
        jax.block_until_ready(run())
        with jax.profiler.trace(folder):
            for _ in range(steps):
                jax.block_until_ready(run())
        found = sorted(pathlib.Path(folder).rglob("*.xplane.pb"), key=lambda made: made.stat().st_size)
        if not found:
            raise RuntimeError("jax.profiler has written no profile")
        with written_as_a_whole(path) as made:
            shutil.copyfile(found[-1], made)
    return path


# ---- what was done ----

def last_reports(with_unchanged: bool = False) -> list[LiveReport]:
    """The reports on modules that were changed, oldest first, or, with with_unchanged=True, also on those that
    were left as they are, with the reason. The last thousand are kept."""
    with _hooks.state.lock:
        return [r for r in _hooks.state.reports if with_unchanged or r.outcome == CHANGED]


def clear_reports() -> None:
    """Forgets the reports, the cache of results, and which warnings were given."""
    with _hooks.state.lock:
        _hooks.state.reports.clear()
        _hooks.state.cache.clear()
        _hooks.state.cached_bytes = 0
        _hooks.state.warned.clear()
        _hooks.state.refused.clear()


@dataclasses.dataclass(frozen=True)
class Check:
    """What was predicted of a program beside what XLA has assigned. If the module was left alone,
    `is_changed` is false and there are no predictions. On TPU what is predicted is the most that XLA may
    assign, and `least_temp_bytes` the least, as far as the report on it is there."""
    name: str
    is_changed: bool
    assigned_temp_bytes: int
    predicted_temp_bytes: int | None = None
    before_temp_bytes: int | None = None
    limit_bytes: int | None = None
    report: LiveReport | None = None
    least_temp_bytes: int | None = None

    @property
    def error(self) -> float | None:
        """(predicted - assigned) / assigned; None without a prediction."""
        if self.predicted_temp_bytes is None:
            return None
        difference = self.predicted_temp_bytes - self.assigned_temp_bytes
        return difference / self.assigned_temp_bytes if self.assigned_temp_bytes else 0.0

    def __str__(self):
        if not self.is_changed:
            return (f"{self.name}: not changed; temporaries "
                    f"{format_bytes(self.assigned_temp_bytes)}")
        is_range = self.least_temp_bytes not in (None, self.predicted_temp_bytes)
        least = f"at least {format_bytes(self.least_temp_bytes)} and at most " if is_range else ""
        return (f"{self.name}: temporaries {format_bytes(self.before_temp_bytes)} -> "
                f"{least}{format_bytes(self.predicted_temp_bytes)} predicted, "
                f"{format_bytes(self.assigned_temp_bytes)} assigned by XLA "
                f"({format_percent(self.error, 2)})")


def check(compiled: typing.Any) -> Check:
    """Compares the prediction with what XLA has assigned to a program that
    `jax.jit(f).lower(…).compile()` returned, also if it comes from JAX's persistent cache."""
    modules = compiled.runtime_executable().hlo_modules()
    assigned = compiled.memory_analysis().temp_size_in_bytes
    marks = [mark for module in modules if (mark := _find_mark(module))]
    name = modules[0].name if modules else ""
    reports = [r for r in last_reports(with_unchanged=True) if r.name == name]
    if not marks:
        early = [r for r in reports if r.stage == _before.STAGE and r.outcome == CHANGED
                 and r.after.temp_bytes == assigned]
        if early:  # nothing was predicted: it was compiled, and measured
            return Check(name, True, assigned, assigned, early[-1].before.temp_bytes,
                         early[-1].limit_bytes, early[-1])
        left = [r for r in reports if r.outcome != CHANGED]
        return Check(name, False, assigned, report=left[-1] if left else None)
    limit, before, after = (sum(int(mark[i]) for mark in marks) for i in (2, 3, 4))
    of_it = [r for r in reports if r.outcome == CHANGED
             and (r.limit_bytes, r.before.most_temp_bytes, r.after.most_temp_bytes) == (limit, before, after)]
    report = of_it[-1] if of_it else None
    return Check(name, True, assigned, after, before, limit, report,
                 report.after.least_temp_bytes if report else None)


def _find_mark(module):
    """The words of _mark, or None."""
    head = module.to_string().partition("\nENTRY ")[2][:MOST_MARK_CHARS]
    found = re.search(rf'[{{,]\s*{NAME}="([^"]*)"', head)
    return found[1].split() if found else None
