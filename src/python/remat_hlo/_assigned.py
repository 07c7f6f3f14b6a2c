"""What XLA has assigned to what was made of a program, beside its limit. XLA:TPU puts values into VMEM after us, and those
that are left may lie so that there are gaps which nobody predicted. Where it exceeds a limit that was to be met, the
program is rewritten once more, under a lower one."""

import dataclasses
import typing

from . import _plugins
from ._decide import EXCEEDED
from ._limits import device_of
from ._refusals import is_out_of_memory, needed_bytes
from ._sizes import format_bytes
from ._state import LOGGER, first_line, say

MOST_ATTEMPTS = 3


def temp_bytes(executable):
    return executable.get_compiled_memory_stats().temp_size_in_bytes


def counted_bytes(executable, counts):
    """What a limit on `temp`, `temp+outputs` or `total` counts."""
    sizes = executable.get_compiled_memory_stats()
    new_outputs = sizes.output_size_in_bytes - sizes.alias_size_in_bytes
    return {"temp": sizes.temp_size_in_bytes, "temp+outputs": sizes.temp_size_in_bytes + new_outputs,
            "total": sizes.argument_size_in_bytes + sizes.temp_size_in_bytes + new_outputs}[counts]


@dataclasses.dataclass
class _Attempt:
    """A compilation: `made` is what came of it, or else there is an error. `changed` has the keys and reports of what
    was rewritten in it."""
    made: object
    error: typing.Optional[Exception]
    changed: list

    @classmethod
    def make(cls, compilation, compile_it):
        compilation.changed.clear()
        try:
            made, error = compile_it(), None
        except Exception as raised:
            made, error = None, raised
        return cls(made, error, list(compilation.changed))

    @property
    def report(self):
        """The report on what was rewritten, where that is one module that has a limit."""
        if len(self.changed) != 1 or self.changed[0][1].is_min:
            return None
        return self.changed[0][1]

    def excess_bytes(self, platform, compilation):
        """By how much XLA exceeds a limit that was predicted to be met, or the device where it refuses the program; 0
        where nothing is exceeded."""
        report = self.report
        if report is None or not report.is_met:
            return 0
        if self.error is not None:
            needed = needed_bytes(self.error) if is_out_of_memory(self.error) else None
            device_bytes = _plugins.memory_of(device_of(platform, compilation)) if needed else 0
            return max(0, needed - device_bytes) if device_bytes else 0
        assigned = counted_bytes(self.made, report.limit_counts)
        is_more = assigned > report.after.counted_bytes(report.limit_counts)
        return max(0, assigned - report.limit_bytes) if is_more else 0

    def is_better_than(self, other):
        """Whether it is the one to keep: XLA has room for it, and assigns it less."""
        if self.made is None or not self.changed:
            return False
        return other.made is None or temp_bytes(self.made) < temp_bytes(other.made)

    def drop(self):
        for _, report in self.changed:
            report.outcome, report.is_met = EXCEEDED, False


def compile_within_limit(options, platform, compilation, compile_it):
    """(executable, error), one of which is None. Of at most MOST_ATTEMPTS compilations the one is kept to which XLA assigns
    the least, and `compilation.changed` has what was rewritten in it."""
    best = attempt = _Attempt.make(compilation, compile_it)
    try:
        for _ in range(1, MOST_ATTEMPTS):
            excess = attempt.excess_bytes(platform, compilation)
            if not excess or (options.check == "never" and attempt.made is not None):
                break
            report = attempt.report
            predicted = report.after.counted_bytes(report.limit_counts)
            compilation.sought_bytes = max(1, min(predicted, compilation.sought_bytes or predicted) - excess)
            if options.verbose:
                say(f"{report.name}: XLA takes {format_bytes(excess)} more than the limit, for gaps between values which "
                    f"were not predicted; once more, under {format_bytes(compilation.sought_bytes)}")
            attempt = _Attempt.make(compilation, compile_it)
            dropped = attempt
            if attempt.is_better_than(best):
                best, dropped = attempt, best
            dropped.drop()
    except RuntimeError as error:  # an executable that says nothing about its memory
        LOGGER.debug("remat_hlo: %s: what XLA has assigned: %s", compilation.name, first_line(error))
    finally:
        was_wrong, compilation.sought_bytes = compilation.sought_bytes is not None, None
        compilation.changed[:] = best.changed
    if was_wrong or (best.report and best.report.after.has_temp_range):
        _correct(options, best)
    return best.made, best.error


def _correct(options, kept):
    """Whether the limit is met is what XLA has assigned, where a prediction is a range, or was wrong."""
    report = kept.report
    if report is None or kept.made is None:
        return
    try:
        assigned = counted_bytes(kept.made, report.limit_counts)
    except RuntimeError:  # an executable that says nothing about its memory
        return
    was_met, report.is_met = report.is_met, assigned <= report.limit_bytes
    if options.verbose and report.is_met != was_met:
        say(f"{report.name}: {format_bytes(assigned)} ({report.limit_counts}) as assigned by XLA, limit "
            f"{format_bytes(report.limit_bytes)} {'met' if report.is_met else 'not met'}")
