"""A plan: for each marked function what is saved and what is computed again, as JSON that a person can read. It holds
for the jaxpr that it was made for, and names the equation that differs in any other."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import threading
import typing

from .._files import write_file
from . import digest as digests
from . import mark, plan_text
from .levels import Block, Segment
from .sources import source_of

FORMAT, VERSION = "remat_hlo checkpoints", 2  # 1 had no parts


class PlanError(ValueError):
    """A plan that cannot be read, or is not for this program."""


@dataclasses.dataclass(frozen=True, eq=False)
class Function:
    """What a plan says of one marked function. `block` is None where it stays as it is."""
    name: str
    source: str
    head: str
    lines: tuple           # as digest.program_lines
    sources: tuple         # of each line
    block: typing.Optional[Block]
    shown: dict            # of the block, for people

    @property
    def digest(self):
        return digests.short_digest([self.head, *self.lines])


def describe(mark_of, program, block, analysis):
    """The Function of a program that was recorded."""
    return Function(mark_of.name, mark_of.source, digests.head_line(program), tuple(digests.program_lines(program)),
                    tuple(_sources(program)), block, {} if block is None else _shown(analysis, block))


def _sources(program):
    for equation in program.equations:
        yield source_of(equation)
        if equation.body is not None:
            yield from _sources(equation.body)


# ---- blocks as JSON ----

def _shown(analysis, block):
    """A block as JSON. Numbers are of values and equations; what stands beside them is for people."""
    return {"segments": [_segment_shown(analysis, segment) for segment in block.segments],
            "scans": {str(index): _shown(analysis.bodies[index], body) for index, body in block.bodies.items()}}


def _segment_shown(analysis, segment):
    shown = {"equations": [segment.begin, segment.end], "is_checkpoint": segment.is_wrapped}
    if not segment.is_wrapped:
        return shown
    program, saved = analysis.program, set(segment.saved)
    makers, last = program.makers(), program.last_uses()
    shown["saved"] = [_value(analysis, makers, value) for value in segment.saved]
    shown["saved_residuals"] = [{"equation": index, "bytes": analysis.hidden_bytes(index),
                                 "source": source_of(program.equations[index])} for index in segment.hidden]
    shown["passed_on"] = [_value(analysis, makers, output) for index in range(segment.begin, segment.end)
                          for output in program.equations[index].outputs
                          if last[output] >= segment.end and output not in saved]
    shown["computed_again"] = _again(analysis, segment, saved)
    if segment.parts:
        shown["parts"] = [_segment_shown(analysis, part) for part in segment.parts]
    return shown


def _value(analysis, makers, value):
    equation = analysis.program.equations[makers[value]]
    return {"value": value, "type": digests.type_text(analysis.program.avals[value]), "made_by": equation.name,
            "bytes": analysis.bytes[value], "source": source_of(equation), "scope": str(equation.scope)}


def _again(analysis, segment, saved):
    """Bytes by line of what derivatives need and is not saved."""
    lines = {}
    for equation in analysis.program.equations[segment.begin:segment.end]:
        for output in equation.outputs:
            if output in analysis.needed and output not in saved:
                source = source_of(equation)
                lines[source] = lines.get(source, 0) + analysis.bytes[output]
    return lines


def _parse_block(shown):
    return Block(tuple(map(_parse_segment, shown["segments"])),
                 {int(index): _parse_block(body) for index, body in shown["scans"].items()})


def _parse_segment(shown):
    return Segment(*shown["equations"], shown["is_checkpoint"], tuple(value["value"] for value in shown.get("saved", ())),
                   tuple(value["equation"] for value in shown.get("saved_residuals", ())),
                   tuple(map(_parse_segment, shown.get("parts", ()))))


# ---- plans ----

@dataclasses.dataclass(eq=False)
class Plan:
    """What `remat_hlo.jax.plan` returns, and `remat_hlo.jax.load_plan` reads. Use it as a context manager: what is
    traced within it has the checkpoints that it says. `measured` are the candidates that were compiled; `before` and
    `after` the program as it is, and with the plan."""
    functions: tuple
    device: str
    limit_bytes: typing.Optional[int]
    is_met: bool
    before: typing.Any
    after: typing.Any
    measured: tuple = ()

    def to_json(self):
        return json.dumps({
            "format": FORMAT, "version": VERSION, "device": self.device, "limit_bytes": self.limit_bytes,
            "is_met": self.is_met, "before": self.before, "after": self.after, "measured": list(self.measured),
            "functions": [{"name": one.name, "source": one.source, "digest": one.digest, "head": one.head,
                           "checkpoints": one.shown or None,
                           "equations": [f"{line}  @ {source}" for line, source in zip(one.lines, one.sources)]}
                          for one in self.functions]}, indent=1) + "\n"

    def save(self, path):
        """Writes the plan to a file."""
        write_file(path, self.to_json())

    def __enter__(self):
        entered = self._of_thread.__dict__.setdefault("entered", [])
        entered.append(mark.active(self))
        entered[-1].__enter__()
        return self

    def __exit__(self, *raised):
        self._of_thread.entered.pop().__exit__(*raised)

    @functools.cached_property
    def _of_thread(self):
        return threading.local()

    def choose(self, marked, program):
        """The Block of a marked function. Raises PlanError where the plan has none for it."""
        head, lines = digests.head_line(program), digests.program_lines(program)
        digest = digests.short_digest([head, *lines])
        for function in self.functions:
            if function.digest == digest:
                return function.block
        named = [function for function in self.functions if function.name == marked.name]
        if not named:
            known = ", ".join(sorted({function.name for function in self.functions}))
            raise PlanError(f"the plan has no function '{marked.name}', which is marked in {marked.source}; it has {known}")
        raise PlanError(_difference(marked, named[0], head, lines, list(_sources(program))))

    @functools.cached_property
    def key(self):
        """What makes plans equal: the same checkpoints in the same functions."""
        text = json.dumps([(one.digest, one.shown) for one in self.functions], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def __eq__(self, other):
        return isinstance(other, Plan) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __str__(self):
        return plan_text.text_of(self)

    def __repr__(self):
        return f"<Plan for {self.device}: {plan_text.change_of(self)}>"

    def _repr_html_(self):
        return plan_text.html_of(self)


def load(path: str | os.PathLike[str]) -> Plan:
    """Reads a plan: a path, or JSON text. Raises PlanError."""
    text = path
    if isinstance(path, os.PathLike) or not str(path).lstrip().startswith("{"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    try:
        data = json.loads(text)
        if data.get("format") != FORMAT:
            raise PlanError(f"this is no plan of checkpoints: its format is {data.get('format')!r}")
        if data["version"] not in range(1, VERSION + 1):
            raise PlanError(f"the plan has version {data['version']}; this is for {VERSION}")
        functions = tuple(_parse_function(one) for one in data["functions"])
        return Plan(functions, data["device"], data["limit_bytes"], data["is_met"], data["before"], data["after"],
                    tuple(data["measured"]))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"the plan cannot be read: {type(error).__name__}: {error}") from None


def _parse_function(data):
    pairs = [line.rpartition("  @ ") for line in data["equations"]]
    shown = data["checkpoints"]
    function = Function(data["name"], data["source"], data["head"], tuple(line for line, _, _ in pairs),
                        tuple(source for _, _, source in pairs), _parse_block(shown) if shown else None, shown or {})
    if function.digest != data["digest"]:
        raise PlanError(f"the equations of '{function.name}' are not those that its digest was made of")
    return function


def _difference(marked, function, head, lines, sources):
    """Which equation differs, in words."""
    start = f"the plan is for another '{marked.name}' ({function.source}): "
    for was, now, source in zip(function.lines, lines, sources):
        if was != now:
            place = function.sources[function.lines.index(was)]
            return f"{start}{source or 'an equation'} is now `{now.strip()}`, the plan has `{was.strip()}` ({place})"
    if len(lines) > len(function.lines):
        return f"{start}{sources[len(function.lines)]} is new: `{lines[len(function.lines)].strip()}`"
    if len(lines) < len(function.lines):
        return f"{start}`{function.lines[len(lines)].strip()}` of {function.sources[len(lines)]} is missing"
    return f"{start}its types are `{head}`, the plan has `{function.head}`"
