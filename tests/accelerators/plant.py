"""Plants faults in scheduled modules that have none, to see whether safe_walk.py finds them. That each is a fault
follows from where it is put: a value's bytes are written by another one, and then the value is read.

    moved     a reader comes after what overwrites its operand
    early     what overwrites a value comes before a reader of it
    older     a later reader reads the value that was overwritten, instead of a value of the same shape
    carry     a loop's body reads a state that it has replaced
    placed    the dump puts a value on top of one that is still to be read"""

import dataclasses
import itertools
import random
import re
import typing

import hlo_reader
import safe_walk

KINDS = ("moved", "early", "older", "carry", "placed")
# What touches no memory, or is read at another place than where it stands.
UNREAL = safe_walk.FORWARDED | {"parameter", "constant", "tuple", "get-tuple-element", "while", "call", "conditional",
                                "custom-call", "partition-id", "replica-id", "after-all"}


@dataclasses.dataclass
class Planted:
    kind: str
    text: str
    assignment: object
    what: str


class Overwriting(typing.NamedTuple):
    """`writer` writes bytes of `value`, which `reader` has read before; schedule positions."""
    value: tuple
    reader: int
    writer: int


def is_real(instruction):
    return instruction.opcode not in UNREAL and not instruction.opcode.endswith(("-start", "-done", "-update"))


class Planter:
    def __init__(self, text, assignment, seed):
        self.lines, self.assignment = text.splitlines(), assignment
        self.module = hlo_reader.read(text)
        self.random = random.Random(seed)
        self.walked = self._walked()

    def _walked(self):
        """Computations with a schedule of their own, whose values lie in shared memory."""
        called, found = [self.module.entry.name], []
        while called:
            computation = self.module.computations[called.pop()]
            if computation in found:
                continue
            found.append(computation)
            for instruction in computation.instructions:
                if instruction.opcode in ("while", "call"):
                    called += filter(None, map(instruction.called, ("body", "to_apply")))
                elif instruction.opcode == "conditional":
                    called += instruction.branches
        return found

    def mixed(self, order):
        """Positions and instructions in an order of chance, of which the first are enough."""
        return self.random.sample([*enumerate(order)], len(order))

    def place(self, name):
        found = self.assignment.places.get((name, ()))
        if found is None or found.is_phi or found.begin == found.end:
            return None
        return None if self.assignment.allocations[found.allocation].is_thread_local else found

    def overwritings(self, computation):
        """All of these in a computation."""
        order = computation.instructions
        position = {instruction.name: i for i, instruction in enumerate(order)}
        places = [self.place(one.name) for one in order]
        for reader, instruction in self.mixed(order):
            if not is_real(instruction):
                continue
            for name, path in instruction.operands:
                own = places[position[name]]
                if path or own is None or order[position[name]].opcode == "constant":
                    continue
                for writer in range(reader + 1, len(order)):
                    if is_real(order[writer]) and places[writer] and overlap(own, places[writer]):
                        yield Overwriting((name, path), reader, writer)
                        break

    # ---- the kinds: (what changes the module, its arguments, the fault in words) ----

    def moved(self, computation):
        order = computation.instructions
        for value, reader, writer in self.overwritings(computation):
            own = order[reader].name
            if not any(own == name for later in order[reader + 1:writer + 1] for name, _ in later.operands):
                yield (self._reorder, order[reader].line_number, order[writer].line_number,
                       f"{own} comes after {order[writer].name}, which overwrites {value[0]}")

    def early(self, computation):
        order = computation.instructions
        for value, reader, writer in self.overwritings(computation):
            between = {one.name for one in order[reader:writer]}
            if not any(name in between for name, _ in order[writer].operands):
                yield (self._reorder, order[writer].line_number, order[reader].line_number,
                       f"{order[writer].name}, which overwrites {value[0]}, comes before {order[reader].name}")

    def older(self, computation):
        order = computation.instructions
        shapes = {one.name: one.shape for one in order}
        for value, _, writer in self.overwritings(computation):
            for later in order[writer + 1:]:
                if is_real(later):
                    other = next((name for name, path in later.operands
                                  if not path and name != value[0] and shapes[name] == shapes[value[0]]), None)
                    if other:
                        yield (self._replace, later.line_number, other, value[0],
                               f"{later.name} reads {value[0]} instead of {other}")
                        break

    def carry(self, computation):
        """Only of loops: their root is a tuple of the new state, each part of which lies where the old one lay."""
        if computation.is_entry or computation.root.opcode != "tuple" or computation.name not in self._bodies():
            return
        order = computation.instructions
        parameter = next(one for one in order if one.opcode == "parameter")
        position = {one.name: i for i, one in enumerate(order)}
        for number, (name, path) in enumerate(computation.root.operands):
            writer = order[position[name]]
            if path or not is_real(writer) or self.place(name) is None:
                continue
            for later in order[position[name] + 1:]:
                if is_real(later) and later.operands and not later.is_root:
                    other = later.operands[0][0]
                    yield (self._replace, later.line_number, other, f"{parameter.name}#{number}",
                           f"{later.name} reads the state {number} that {name} has replaced")
                    break

    def _bodies(self):
        return {one.called("body") for computation in self.walked for one in computation.instructions
                if one.opcode == "while"}

    def placed(self, computation):
        order = computation.instructions
        position = {one.name: i for i, one in enumerate(order)}
        for reader, instruction in self.mixed(order):
            if not is_real(instruction):
                continue
            for name, path in instruction.operands:
                own = self.place(name)
                if path or own is None or not is_real(order[position[name]]):
                    continue
                for writer in range(position[name] + 1, reader):
                    if is_real(order[writer]) and self.place(order[writer].name):
                        yield (self._place_on, order[writer].name, own,
                               f"{order[writer].name} lies on {name}, which {instruction.name} reads later")
                        break

    # ---- changing ----

    def _reorder(self, from_line, to_line):
        """The line is taken to the place of the other one, and comes behind it if that is later."""
        lines = list(self.lines)
        lines.insert(to_line, lines.pop(from_line))
        return "\n".join(lines), self.assignment

    def _replace(self, line_number, old, new):
        lines = list(self.lines)
        head, _, rest = lines[line_number].partition(" = ")
        rest, count = re.subn(rf"%{re.escape(old)}(?=[,)]|#|\s)(#\d+)*", f"%{new}", rest, count=1)
        assert count, f"{old} is no operand in: {lines[line_number]}"
        lines[line_number] = f"{head} = {rest}"
        return "\n".join(lines), self.assignment

    def _place_on(self, name, place):
        places = dict(self.assignment.places)
        places[name, ()] = dataclasses.replace(places[name, ()], allocation=place.allocation, begin=place.begin,
                                               end=place.begin + min(place.end - place.begin, places[name, ()].end
                                                                     - places[name, ()].begin))
        made = object.__new__(type(self.assignment))
        made.allocations, made.places = self.assignment.allocations, places
        return "\n".join(self.lines), made

    def plant(self, kind, most):
        found = (one for _, computation in self.mixed(self.walked) for one in getattr(self, kind)(computation))
        for change, *how, what in itertools.islice(found, most):
            yield Planted(kind, *change(*how), what)


def overlap(one, other):
    return one.allocation == other.allocation and one.begin < other.end and other.begin < one.end


def missed(text, assignment, seed, most_of_a_kind=3):
    """(how many faults were planted, those that were not found)"""
    planter, number, found = Planter(text, assignment, seed), 0, []
    for kind in KINDS:
        for planted in planter.plant(kind, most_of_a_kind):
            number += 1
            try:
                safe_walk.check(planted.text, planted.assignment)
            except safe_walk.Unknown as fault:
                planted.what += f"; what was found is: {fault}"
            except safe_walk.Fault:
                continue
            found.append(planted)
    return number, found
