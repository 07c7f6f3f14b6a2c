"""What is saved and what is recomputed at a level: a limit of what a byte may cost to compute again, and one of the bytes
that are computed again at once."""

import dataclasses
import math
import typing

from . import analysis as analyses
from .segments import divide


ALL = (0.0, 1.0)  # of a level's segments

# Into how many parts the residuals of a program are divided, for levels of the bytes at once.
PARTS = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 26, 32, 48, 64)


# What a byte that is computed again may take, besides itself: its derivative, and what XLA does not fuse.
WEIGHTS = (1, 3)


@dataclasses.dataclass(frozen=True)
class Level:
    """What costs more than `most_cost` (bytes of traffic for each byte of a result) is not computed again. A segment
    keeps at most `most_bytes` without checkpoints. The first `first_share` of the segments, at which the peak is, may
    have another limit of the cost. With `parts` above 1, the segments within `parts_at`, a range of shares, are computed
    again part by part: once for what their parts begin with, and each part once more. With `is_closed`, the last segment
    is wrapped like the others."""
    most_cost: float
    most_bytes: int
    first_cost: typing.Optional[float] = None
    first_share: float = 0.0
    parts: int = 1
    parts_at: tuple = ALL
    is_closed: bool = False

    def cost_at(self, share):
        return self.first_cost if self.first_cost is not None and share < self.first_share else self.most_cost

    def parts_of(self, share):
        return self.parts if self.parts_at[0] <= share < self.parts_at[1] else 1

    def __str__(self):
        first = "" if self.first_cost is None else f", {self.first_cost:g} for {100 * self.first_share:.0f} %"
        more = f", in {self.parts} parts" if self.parts > 1 else ""
        if self.parts_at != ALL:
            more += " from {:.0%} to {:.0%}".format(*self.parts_at)
        more += ", to the end" if self.is_closed else ""
        return f"{self.most_cost:g} a byte{first}, {self.most_bytes:,} bytes at once{more}"


@dataclasses.dataclass(frozen=True)
class Segment:
    """Equations from `begin` to `end`. If it is wrapped in jax.checkpoint, `saved` are the values that are named and
    saved, `hidden` the equations whose custom rule's residuals are, and `parts` are Segments that are wrapped within
    it."""
    begin: int
    end: int
    is_wrapped: bool
    saved: tuple = ()
    hidden: tuple = ()
    parts: tuple = ()


@dataclasses.dataclass(frozen=True)
class Block:
    """The segments of a Program, and the Blocks of the scans' bodies in it, by equation."""
    segments: tuple
    bodies: typing.Mapping[int, "Block"]


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Bytes that are kept until the backward pass, the most that is computed again at once, what that costs in all,
    by the jaxpr: XLA decides."""
    saved_bytes: int
    again_bytes: int
    again_cost: int

    @property
    def bytes(self):
        return self.weighted_bytes(1)

    def weighted_bytes(self, weight):
        return self.saved_bytes + weight * self.again_bytes


def lay_out(analysis, level, *, is_body=False):
    """The (Block, Estimate) at a level. In a scan's body all is wrapped; outside, the last segment of a function with a
    small result is not: its backward pass comes at once."""
    program = analysis.program
    fixed = {index for index, one in enumerate(analysis.is_fixed) if one}
    bodies, estimates = {}, {}
    for index, body in analysis.bodies.items():
        bodies[index], estimates[index] = lay_out(body, level, is_body=True)
        if not is_body or _stays(analysis, index, estimates[index], level):
            fixed.add(index)
    borders = divide(analysis, level.most_bytes, fixed)
    is_open = not is_body and not level.is_closed and _is_small(analysis)
    last = analysis.lifetimes.last
    segments, saved_bytes, again_bytes, again_cost = [], 0, 0, 0
    for number, (begin, end) in enumerate(zip(borders, borders[1:])):
        is_last, share = end == borders[-1] and is_open, number / len(borders)
        segment, estimate = _segment(analysis, begin, end, begin in fixed or is_last, level.cost_at(share), last, is_body)
        if segment.is_wrapped and level.parts_of(share) > 1:
            segment, estimate = _in_parts(analysis, segment, estimate, level.parts, fixed, last)
        segments.append(segment)
        again_cost += estimate.again_cost
        again_bytes = max(again_bytes, estimate.again_bytes + estimate.saved_bytes * is_last)
        saved_bytes += estimate.saved_bytes * (not is_last)
        if begin in estimates and begin in fixed:
            trips = program.equations[begin].params["length"]
            again_bytes = max(again_bytes, estimates[begin].again_bytes)
            saved_bytes += trips * estimates[begin].saved_bytes
            again_cost += trips * estimates[begin].again_cost
    return Block(tuple(segments), bodies), Estimate(saved_bytes, again_bytes, again_cost)


def _stays(analysis, index, estimate, level):
    """Whether a scan within a scan's body keeps its steps, rather than being computed again as a whole."""
    kept = analysis.program.equations[index].params["length"] * estimate.saved_bytes
    return analysis.costs[index] / max(1, kept) > level.most_cost


def _is_small(analysis):
    program = analysis.program
    size = sum(analysis.bytes[one] for one in program.outputs if isinstance(one, int))
    return size * 64 <= sum(analysis.residual_bytes)


def _segment(analysis, begin, end, is_open, most_cost, last, is_body):
    """(Segment, Estimate) of one range. What a later segment reads is saved anyway, and so are the results of a function;
    what an iteration of a scan hands on is not: a name makes a stack of its own of it."""
    equations = analysis.program.equations
    leaving = [output for index in range(begin, end) for output in equations[index].outputs if last[output] >= end]
    leaving_bytes = sum(analysis.bytes[one] for one in leaving)
    if is_open:
        kept = sum(analysis.residual_bytes[index] for index in range(begin, end) if equations[index].body is None)
        return Segment(begin, end, False), Estimate(max(kept, leaving_bytes), 0, 0)
    free = set(leaving)
    if is_body:
        free &= {one for equation in equations[end:] for one in equation.variables()}
    saved, hidden = analyses.cut_range(analysis, begin, end, most_cost, free)
    saved_bytes = leaving_bytes + sum(analysis.bytes[one] for one in saved if one not in free)
    saved_bytes += sum(analysis.hidden_bytes(index) for index in hidden)
    again = _again(analysis, begin, end, set(saved), set(hidden))
    if not again and not saved:  # nothing would be computed again
        return Segment(begin, end, False), Estimate(leaving_bytes, 0, 0)
    kept = sum(analysis.residual_bytes[begin:end])
    return (Segment(begin, end, True, tuple(saved), tuple(hidden)),
            Estimate(saved_bytes, max(0, kept - saved_bytes + leaving_bytes),
                     sum(analysis.costs[index] for index in again)))


def _in_parts(analysis, segment, estimate, count, fixed, last):
    """(Segment, Estimate) of one that is computed again part by part."""
    kept = sum(analysis.residual_bytes[segment.begin:segment.end])
    whole = segment.begin, segment.end
    borders = divide(analysis, kept // count, {one for one in fixed if whole[0] <= one < whole[1]}, whole)
    if len(borders) < 3:
        return segment, estimate
    saved, hidden = set(segment.saved), set(segment.hidden)
    equations, parts, passed_on, most = analysis.program.equations, [], 0, 0
    for begin, end in zip(borders, borders[1:]):
        made = {output for index in range(begin, end) for output in equations[index].outputs}
        parts.append(Segment(begin, end, begin not in fixed, tuple(sorted(saved & made)),
                             tuple(index for index in sorted(hidden) if begin <= index < end)))
        passed_on += sum(analysis.bytes[one] for one in made if end <= last[one] < whole[1])
        most = max(most, sum(analysis.residual_bytes[begin:end]))
    again_bytes = min(estimate.again_bytes, passed_on + most)
    return (dataclasses.replace(segment, parts=tuple(parts)),
            Estimate(estimate.saved_bytes, again_bytes, 2 * estimate.again_cost))


def _again(analysis, begin, end, saved, hidden):
    """The equations that are computed again for what is needed and not saved."""
    equations, makers = analysis.program.equations, {}
    for index in range(begin, end):
        makers.update((output, index) for output in equations[index].outputs)
    rest = [one for one in makers if one in analysis.needed and one not in saved]
    again = set()
    for index in range(begin, end):
        if analysis.needs[index].hidden and index not in hidden:
            again.add(index)
            rest.extend(equations[index].variables())
    while rest:
        value = rest.pop()
        index = makers.get(value)
        if index is None or value in saved or index in again:
            continue
        again.add(index)
        rest.extend(equations[index].variables())
    return again


def limits(programs):
    """Limits of the cost, largest first: infinity, and some between the equations' ratios, down to that above which a
    program without checkpoints saves."""
    ratios, rest = set(), list(programs)
    while rest:
        one = rest.pop()
        rest.extend(one.bodies.values())
        ratios.update(round(one.ratio(index), 3) for index, equation in enumerate(one.program.equations)
                      if one.residual_bytes[index] and equation.body is None)
    between = sorted(ratio for ratio in ratios if ratio > analyses.FUSED_COST)
    groups = [one for place, one in enumerate(between) if place == 0 or one > 1.5 * between[place - 1]]
    found = [(left * right) ** 0.5 for left, right in zip([analyses.FUSED_COST, *groups], groups)]
    return [math.inf, *sorted(found[::max(1, len(found) // 5)], reverse=True)]
