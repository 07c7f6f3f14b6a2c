"""Chooses a plan: some levels are compiled for the target, and the fastest that meets the budget is kept, the smallest
where none does. Nothing is random, and how much is compiled is bounded."""

from __future__ import annotations

import dataclasses
import itertools
import typing

import jax

from .._sizes import parse_budget
from . import compiling, digest, levels, mark, shards
from .analysis import analyse
from .costs import Rates
from .file import Plan, PlanError, describe
from .targets import find_target

MOST_COMPILATIONS = 12
HEADROOM_PERCENT = 5  # of what a device offers, that auto leaves


class Recorder:
    """Notes each marked function that is traced, which stays as it is."""

    def __init__(self):
        self.found = {}  # digest: [mark, program, how often]

    def choose(self, marked, program):
        entry = self.found.setdefault(digest.digest(program), [marked, program, 0])
        entry[2] += 1
        return None


class Trial:
    """A candidate: the Blocks of the functions by digest."""

    def __init__(self, blocks):
        self.blocks = blocks

    def choose(self, marked, program):
        key = digest.digest(program)
        if key not in self.blocks:
            raise PlanError(f"'{marked.name}' ({marked.source}) is traced otherwise each time: "
                            f"{digest.head_line(program)}")
        return self.blocks[key]


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """A level, what it says of each function, and the estimate of all."""
    level: typing.Optional[levels.Level]
    blocks: dict
    estimate: typing.Optional[levels.Estimate]


def plan(step: typing.Any, *arguments: typing.Any, mem_limit: int | str, device: str | None = None,
         max_compilations: int = MOST_COMPILATIONS, **named: typing.Any) -> Plan:
    """A Plan for a step under a budget: 14GiB, 60% of what it takes as it is, min, or auto, which is what the device
    offers less 5 %. The step is a function, or what
    jax.jit has made of one, with its shardings and donations; arguments are arrays or shapes. What is differentiated
    has to be marked with remat_hlo.jax.checkpoint. `device` is as v5e:2x2, h100 or cpu, which need not be there, or
    None for this process's. The budget counts arguments, outputs and temporaries of one device.

    The plan says in `is_met` whether the budget is met. Raises PlanError where no function is marked."""
    target = find_target(device)
    budget = parse_budget(_offered(target) if mem_limit == "auto" else mem_limit)
    if budget.kind == "reducible":
        raise ValueError("the budget of a plan is a size, a share such as 60%, or min")
    search = Search(*compiling.prepare(step, arguments, named), target, max_compilations)
    if not search.recorder.found:
        raise PlanError("no function of the program is marked: wrap the one that is differentiated in "
                        "remat_hlo.jax.checkpoint")
    limit = budget.bytes(search.plain_bytes(), 0)
    return search.run(limit)


def _offered(target):
    if not target.memory_bytes:
        raise ValueError(f"nothing says what {target.name} offers: name the budget in bytes")
    return target.memory_bytes * (100 - HEADROOM_PERCENT) // 100


class Search:
    """The candidates of one program, and what was measured of them."""

    def __init__(self, step, arguments, named, target, max_compilations, plain=None):
        """The step is a prepared one. `plain` is what was measured of it as it is, if that is known."""
        self.call = step, arguments, named, target
        self.most = max(1, max_compilations)
        self.tried = []   # (Candidate, Measured)
        self.recorder = Recorder()
        with mark.active(self.recorder):
            step.trace(*arguments, **named)
        if plain is None:
            plain = compiling.measure(step, arguments, named, target)
        self.tried.append((Candidate(None, {}, None), plain))
        self.analyses = self._analyse()

    def _analyse(self):
        _, arguments, named, target = self.call
        rates = Rates(target.profile_data())
        known, sizes = _given_places((arguments, named))
        return {key: analyse(program, rates, [known.get(_kind(aval)) for aval in program.avals[:program.num_inputs]],
                             sizes) for key, (_, program, _) in self.recorder.found.items()}

    def measure(self, candidate):
        """The Measured of a candidate, compiled once."""
        for known, result in self.tried:
            if known.blocks == candidate.blocks:
                return result
        step, arguments, named, target = self.call
        result = compiling.measure(step, arguments, named, target, Trial(candidate.blocks))
        self.tried.append((candidate, result))
        return result

    def plain_bytes(self):
        """What the program takes as it is."""
        size = self.tried[0][1].needed_bytes
        if size is None:
            raise PlanError("the compiler does not say what the program takes as it is: name the budget in bytes")
        return size

    # ---- candidates ----

    def candidate(self, level):
        blocks, saved, again, cost = {}, 0, 0, 0
        for key, one in self.analyses.items():
            count = self.recorder.found[key][2]
            blocks[key], estimate = levels.lay_out(one, level)
            saved += count * estimate.saved_bytes
            cost += count * estimate.again_cost
            again = max(again, estimate.again_bytes)
        return Candidate(level, blocks, levels.Estimate(saved, again, cost))

    def ladder(self, costs, parts=(1,), is_closed=False):
        """Candidates from most memory to least, by estimate, without those that another is no worse than, whatever the
        weight: by limits of the cost, in how many parts segments are computed again, and whether the last one is."""
        found = {}
        total = sum(self.recorder.found[key][2] * sum(one.residual_bytes) for key, one in self.analyses.items())
        for most_cost, count, part in itertools.product(costs, levels.PARTS, parts):
            made = self.candidate(levels.Level(most_cost, max(1, total // count), parts=part, is_closed=is_closed))
            estimate = made.estimate
            found.setdefault((estimate.again_cost, estimate.bytes, estimate.saved_bytes), made)
        kept, least = [], {}
        for key in sorted(found):
            sizes = {weight: found[key].estimate.weighted_bytes(weight) for weight in levels.WEIGHTS}
            if any(size < least.get(weight, size + 1) for weight, size in sizes.items()):
                kept.append(found[key])
            least = {weight: min(size, least.get(weight, size)) for weight, size in sizes.items()}
        return sorted(kept, key=lambda one: (-one.estimate.weighted_bytes(levels.WEIGHTS[-1]), one.estimate.again_cost))

    # ---- the search ----

    def run(self, limit):
        if not self._meets(self.tried[0][1], limit) and self.most > 1:
            costs = levels.limits(self.analyses.values())
            ladders = [self.ladder(costs)]
            self._bisect(ladders[0], limit)
            is_closed = not self._is_met(limit) and self._is_lower_closed(limit)
            if not self._is_met(limit):
                ladders.append(self.ladder(costs[:1], (1, 2, 4) if is_closed else (2, 4), is_closed))
                self._bisect(ladders[1], limit)
            self._fill(ladders, limit)
        return self._plan(limit)

    def _left(self):
        return self.most - len(self.tried)

    @staticmethod
    def _meets(result, limit):
        return not result.error and result.total_bytes is not None and (result.total_bytes <= limit)

    def _bisect(self, ladder, limit):
        """Tries the rung with the least memory, then looks for the first rung that meets the limit."""
        low, high = -1, len(ladder)
        if ladder and not self._meets(self.measure(ladder[-1]), limit):
            low = len(ladder) // 2 - 1  # those of less memory alone are of use
        while high - low > 1 and self._left() > 0:
            middle = (low + high) // 2
            if self._meets(self.measure(ladder[middle]), limit):
                high = middle
            else:
                low = middle

    def _fill(self, ladders, limit):
        """Tries neighbours of the best, and levels between: estimates are not what the compiler makes of them."""
        lowest = sorted(itertools.chain(*ladders), key=lambda one: one.estimate.weighted_bytes(levels.WEIGHTS[-1]))
        rungs = {id(candidate): (ladder, place) for ladder in ladders for place, candidate in enumerate(ladder)}
        while self._left() > 0:
            best, _ = self._best(limit)
            candidates = itertools.chain(_neighbours(*rungs.get(id(best), ((), 0))), self._mixed(best),
                                         () if self._is_met(limit) else lowest)
            untried = next((one for one in candidates if not self._is_tried(one)), None)
            if untried is None:
                return
            self.measure(untried)

    def _is_lower_closed(self, limit):
        """Whether the best takes a hundredth less if the last segment is wrapped, too: its backward pass comes at once, but
        not all that is kept for it is fused away."""
        best, measured = self._best(limit)
        if best.level is None or self._left() <= 0:
            return False
        closed = self.measure(self.candidate(dataclasses.replace(best.level, is_closed=True)))
        sizes = closed.needed_bytes, measured.needed_bytes
        return None not in sizes and 100 * sizes[0] < 99 * sizes[1]

    def _is_tried(self, candidate):
        return any(known.blocks == candidate.blocks for known, _ in self.tried)

    def _is_met(self, limit):
        return any(self._meets(result, limit) for _, result in self.tried)

    def _mixed(self, best):
        """Levels of which a part of the segments computes less again than the others, at which the peak is."""
        if best.level is None:
            return
        if best.level.parts > 1 and best.level.parts_at == levels.ALL:
            for half in ((0.0, 0.5), (0.5, 1.0)):
                yield self.candidate(dataclasses.replace(best.level, parts_at=half))
        cheaper = [one for one in levels.limits(self.analyses.values()) if one < best.level.most_cost]
        for share in (0.3, 0.6) if cheaper else ():
            yield self.candidate(dataclasses.replace(best.level, most_cost=cheaper[0], first_cost=best.level.most_cost,
                                                     first_share=share))

    def _best(self, limit):
        """(Candidate, Measured) to keep."""
        def rank(pair):
            place, (_, result) = pair
            if self._meets(result, limit):
                return 0, result.cycles or result.seconds or 0.0, result.total_bytes, place
            size = result.needed_bytes
            return 1 + bool(result.error), size if size is not None else 1 << 62, result.seconds or 0.0, place
        return self.tried[min(enumerate(self.tried), key=rank)[0]]

    def _plan(self, limit):
        best, result = self._best(limit)
        functions = tuple(describe(marked, program, best.blocks.get(key), self.analyses[key])
                          for key, (marked, program, _) in self.recorder.found.items())
        shown = tuple({"level": str(one.level) if one.level else "as it is", **found.to_dict()}
                      for one, found in self.tried)
        return Plan(functions, self.call[3].name, limit, self._meets(result, limit), self.tried[0][1].to_dict(),
                    result.to_dict(), shown)


def _neighbours(ladder, place):
    """The rungs beside one, the nearest first."""
    for step in (-1, 1, -2, 2, -3, 3):
        if 0 <= place + step < len(ladder):
            yield ladder[place + step]


# ---- places of what is given ----

def _kind(aval):
    return tuple(getattr(aval, "shape", ())), str(getattr(aval, "dtype", ""))


def _given_places(tree):
    """(places by shape and type, sizes of the mesh's axes) of arguments that are spread over devices."""
    places, sizes = {}, {}
    for leaf in jax.tree.leaves(tree):
        sharding = getattr(leaf, "sharding", None)
        if isinstance(sharding, jax.sharding.NamedSharding):
            sizes.update(sharding.mesh.shape)
            places.setdefault(_kind(leaf), shards.place_of(sharding, len(leaf.shape)))
    return places, sizes
