#!/usr/bin/env python3
"""Shows that a scheduled module reads nothing that has been overwritten, without running it: walks its schedule
over the memory that XLA's buffer assignment lays out. Bits cannot be compared where there is no device; this is what
can be shown instead, and it does not use anything of the tool.

Each value that an instruction defines is a content: a token, that is written to the bytes which the dump gives to
the definition. Whoever reads an operand needs its token to be in all of its bytes still. Instructions that only pass
on what they are given (tuple, bitcast, while and others) hand on the token. What is written in place needs no rule:
the dump has the new value at the bytes of the old one, whose token is gone from then on. Loops are walked twice, so
that the second iteration reads what the first one left; of conditionals every branch is walked, and afterwards
memory holds what all of them leave there.

Beside that, nothing may be written to parameters that are not given away, or to constants, except copies of what a
constant says (XLA merges constants of the same value, a loop's state and its copies with them) and a TPU's loop counters; loop
states and branches' results must lie where their loop or conditional says; outputs must be there at the end, and those that are
aliased to parameters in their memory. Every value of the dump must be come by, so that nothing is passed over.

usage: safe_walk.py HLO BUFFER-ASSIGNMENT"""

import bisect
import dataclasses
import itertools
import re
import sys

import hlo_reader
from buffer_assignment import BufferAssignment

# Their result is their first operand, or an element of it, in its memory.
FORWARDED = {"bitcast", "opt-barrier", "domain", "add-dependency", "all-reduce-done", "reduce-scatter-done"}
ALIASING_CALLS = {"AssumeGatherIndicesInBound", "Sharding"}
STARTED = ("-start", "async-update")
TPU_PAGE = 4096  # bytes that XLA:TPU gives a scalar without tiles


class Fault(Exception):
    """What is wrong with a module."""


class Unknown(Fault):
    """What the walk does not know how to judge, which is no better."""


class Token:
    """A content, and the bytes that it lies in (None: not in memory that is shared)."""
    counter = itertools.count()

    def __init__(self, label, place):
        self.label, self.place = label, place

    def __repr__(self):
        return self.label


@dataclasses.dataclass
class Walked:
    reads: int = 0
    writes: int = 0
    faults: list = dataclasses.field(default_factory=list)   # reads of what is overwritten, in order


class Memory:
    """For each allocation its segments (begin, end, tokens that are in it), sorted; lists are replaced, never
    changed, so that a copy is cheap."""

    def __init__(self, segments=None):
        self.segments = dict(segments or {})

    def copy(self):
        return Memory(self.segments)

    def _cut(self, place):
        """The segments before the place, within it, and behind it."""
        own = self.segments.get(place.allocation, [])
        first = bisect.bisect_right([end for _, end, _ in own], place.begin)
        before, within, at = own[:first], [], first
        while at < len(own) and own[at][0] < place.end:
            begin, end, tokens = own[at]
            if begin < place.begin:
                before = before + [(begin, place.begin, tokens)]
            within.append((max(begin, place.begin), min(end, place.end), tokens))
            if end > place.end:
                return before, within, [(place.end, end, tokens)] + own[at + 1:]
            at += 1
        return before, within, own[at:]

    def write(self, token):
        if token.place is None or token.place.begin == token.place.end:
            return
        before, _, behind = self._cut(token.place)
        self.segments[token.place.allocation] = [
            *before, (token.place.begin, token.place.end, frozenset([token])), *behind]

    def join(self, token):
        """The token is made of what is there already."""
        before, within, behind = self._cut(token.place)
        self.segments[token.place.allocation] = [
            *before, *((begin, end, tokens | {token}) for begin, end, tokens in within), *behind]

    def who_overwrote(self, token):
        """None if the token is in all of its bytes; else what is there instead."""
        place = token.place
        if place is None or place.begin == place.end:
            return None
        at = place.begin
        for begin, end, tokens in self._cut(place)[1]:
            if begin > at:
                return "nothing"
            if token not in tokens:
                return ", ".join(sorted(map(str, tokens))) or "what not all branches leave"
            at = end
        return None if at >= place.end else "nothing"

    def holds(self, place, literal, literals):
        """Whether each of the bytes has a content that is known to be the literal."""
        within = self._cut(place)[1]
        return sum(end - begin for begin, end, _ in within) == place.end - place.begin and \
            all(any(literals.get(token) == literal for token in tokens) for _, _, tokens in within)

    @classmethod
    def of_all(cls, memories):
        """What each of them has."""
        made = cls(memories[0].segments)
        for other in memories[1:]:
            for allocation in made.segments.keys() | other.segments.keys():
                one, two = made.segments.get(allocation, []), other.segments.get(allocation, [])
                if one is not two:
                    made.segments[allocation] = _common(one, two)
        return made


def _common(one, two):
    found, i, j = [], 0, 0
    while i < len(one) and j < len(two):
        begin, end = max(one[i][0], two[j][0]), min(one[i][1], two[j][1])
        if begin < end:
            found.append((begin, end, one[i][2] & two[j][2]))
        if one[i][1] <= two[j][1]:
            i += 1
        else:
            j += 1
    return found


def _is_loop_counter_of_a_tpu(place):
    """XLA:TPU keeps the counters of the loops that it makes of fusions in scalar registers. They have no tiles, and
    its assignment notes a whole page for one, sometimes that of the constant at which the loop begins."""
    return place.shape == "s32[]" and place.end - place.begin == TPU_PAGE


class Walk:
    def __init__(self, module, assignment):
        self.module, self.places = module, assignment.places
        self.allocations = {a.number: a for a in assignment.allocations}
        self.memory, self.done = Memory(), Walked()
        self.met = set()             # definitions that were come by
        self.given = {}              # tokens of parameters and constants, by definition
        self.begun = {}              # the computations of what runs asynchronously
        self.literals = {}           # what is in a token that is known: constants, and copies of them

    # ---- reading and writing ----

    def place(self, name, index):
        place = self.places.get((name, index))
        if place is None or self.allocations[place.allocation].is_thread_local:
            return None
        return place

    def read(self, reader, token, what="reads"):
        self.done.reads += 1
        other = self.memory.who_overwrote(token)
        if other is not None:
            place = token.place
            self.done.faults.append(f"{reader} {what} {token} at bytes {place.begin} to {place.end} of allocation "
                                    f"{place.allocation}, where there is {other} by now")

    def define(self, name, index, written=None, literal=None):
        """A value of its own, which is written. None: the dump has none here. Results of one instruction, whose
        places are in `written`, may be the same bytes: then they are one content under two names. So is a copy of
        a constant, whose literal is given, where the memory holds the same literal."""
        place = self.places.get((name, index))
        if place is None or place.is_phi:
            return None
        self.met.add((name, index))
        token = Token(f"{name}{{{','.join(map(str, index))}}}", self.place(name, index))
        if token.place is not None:
            allocation = self.allocations[token.place.allocation]
            is_same = literal is not None and self.memory.holds(token.place, literal, self.literals)
            is_fixed = allocation.is_constant and not _is_loop_counter_of_a_tpu(token.place)
            if not is_same and (is_fixed or allocation.parameter and not allocation.is_live_out):
                raise Fault(f"{token} is written to a {allocation.kind.split(',')[0]}")
            self.done.writes += 1
            bytes_of = token.place.allocation, token.place.begin, token.place.end
            if is_same or written and bytes_of in written:
                self.memory.join(token)
            else:
                self.memory.write(token)
            if written is not None:
                written.add(bytes_of)
        return token

    # ---- the schedule ----

    def run(self):
        self._begin()
        entry = self.module.entry
        frame = self._walk(entry, None)
        tokens = frame[entry.root.name]
        for index in hlo_reader.indices(entry.root.shape):
            token = tokens.get(index)
            if token is None:
                raise Fault(f"output {index} comes from nowhere")
            self.read("the caller", token)
        for index, number, inner in self.module.output_aliases():
            place, allocation = tokens[index].place, self.allocations[tokens[index].place.allocation]
            if allocation.parameter != (number, inner):
                raise Fault(f"output {index} is to lie in parameter {number}, and lies in allocation "
                            f"{place.allocation}")
        self._expect_all_met()
        return self.done

    def _begin(self):
        """Parameters and constants are there from the beginning."""
        for computation in self.module.computations.values():
            for instruction in computation.instructions:
                if instruction.opcode == "constant" or \
                        instruction.opcode == "parameter" and computation.is_entry:
                    for index in hlo_reader.indices(instruction.shape):
                        self._given(instruction.name, index)
                if instruction.opcode == "constant" and (instruction.name, ()) in self.given:
                    self.literals[self.given[instruction.name, ()]] = hlo_reader.literal_of(instruction)

    def _given(self, name, index):
        if (name, index) in self.places:
            self.met.add((name, index))
            token = Token(f"{name}{{{','.join(map(str, index))}}}", self.place(name, index))
            self.memory.write(token)
            self.given[name, index] = token

    def _expect_all_met(self):
        """What is in no shared memory belongs to parts that are not walked: reducers and fusions."""
        for key, place in self.places.items():
            if not place.is_phi and key not in self.met and \
                    not self.allocations[place.allocation].is_thread_local:
                raise Unknown(f"the value {key[0]}{key[1]} of the dump is not defined by any instruction that runs")

    def _walk(self, computation, arguments):
        """The tokens of each of its instructions, by shape index. Arguments: tokens of each parameter."""
        frame = {}
        for instruction in computation.instructions:
            frame[instruction.name] = self._step(instruction, frame, arguments)
        return frame

    def _operand(self, frame, operand):
        name, path = operand
        tokens = frame[name]
        if not path:
            return tokens
        return {index[len(path):]: token for index, token in tokens.items() if index[:len(path)] == path}

    def _step(self, instruction, frame, arguments):
        operands = [self._operand(frame, operand) for operand in instruction.operands]
        method = getattr(self, "_" + instruction.opcode.replace("-", "_"), None)
        if instruction.opcode in FORWARDED:
            return operands[0]
        if instruction.opcode == "parameter":
            return self._parameter(instruction, arguments)
        if method is not None:
            return method(instruction, operands)
        return self._plain(instruction, operands)

    def _read_all(self, instruction, operands, what="reads"):
        for tokens in operands:
            for token in tokens.values():
                self.read(instruction.name, token, what)

    def _plain(self, instruction, operands):
        """Reads its operands, then writes its results, which may lie where operands lay."""
        self._read_all(instruction, operands)
        return self._results(instruction, operands)

    def _results(self, instruction, operands, found=()):
        """What the dump has a value for is written, whatever else is known of it; the rest is what was found."""
        tokens, written, found = {}, set(), dict(found)
        for index in hlo_reader.indices(instruction.shape):
            token = self.define(instruction.name, index, written) or found.get(index)
            if token is None:
                token = self._unplaced(instruction, index)
            tokens[index] = token
        return tokens

    def _unplaced(self, instruction, index):
        shape = hlo_reader.at_index(instruction.shape, index)
        if isinstance(shape, str) and shape.startswith(("token", "opaque")):
            return Token(instruction.name, None)
        if not self.places:
            raise Unknown("the dump has no values")
        raise Unknown(f"{instruction.opcode} {instruction.name}{index} has no value of its own, and the walk does not "
                      "know whose it is")

    # ---- what passes on ----

    def _parameter(self, instruction, arguments):
        if arguments is not None:
            return arguments[instruction.parameter_number]
        return {index: self.given[instruction.name, index] for index in hlo_reader.indices(instruction.shape)}

    def _constant(self, instruction, _):
        return {index: self.given.get((instruction.name, index)) or Token(instruction.name, None)
                for index in hlo_reader.indices(instruction.shape)}

    def _tuple(self, instruction, operands):
        found = {(number, *index): token for number, tokens in enumerate(operands)
                 for index, token in tokens.items()}
        return self._results(instruction, operands, found)

    def _get_tuple_element(self, instruction, operands):
        number = int(instruction.rest.rpartition("index=")[2].split(",")[0].split("}")[0])
        return {index[1:]: token for index, token in operands[0].items() if index[:1] == (number,)}

    def _call(self, instruction, operands):
        computation = self.module.computations[instruction.called("to_apply") or instruction.called("calls")]
        return self._walk(computation, operands)[computation.root.name]

    def _while(self, instruction, operands):
        condition, body = (self.module.computations[instruction.called(name)] for name in ("condition", "body"))
        state = operands[0]
        for _ in range(2):
            tested = self._walk(condition, [state])[condition.root.name]
            self._read_all(instruction, [tested], "tests")
            after = self._walk(body, [state])[body.root.name]
            for index, token in after.items():
                self._expect_same_place(instruction, index, state[index], token)
            state = after
        self._read_all(instruction, [self._walk(condition, [state])[condition.root.name]], "tests")
        return state

    def _expect_same_place(self, instruction, index, one, two):
        if one.place and two.place and (one.place.allocation, one.place.begin) != \
                (two.place.allocation, two.place.begin):
            raise Fault(f"{instruction.name}{index} is {one} and {two}, which do not lie at the same place")

    def _conditional(self, instruction, operands):
        self._read_all(instruction, operands[:1])
        start, results, memories = self.memory, [], []
        for number, name in enumerate(instruction.branches):
            computation = self.module.computations[name]
            self.memory = start.copy()
            results.append(self._walk(computation, [operands[number + 1]])[computation.root.name])
            memories.append(self.memory)
        self.memory = Memory.of_all(memories)
        return {index: self._merged(instruction, index, [tokens[index] for tokens in results], memories)
                for index in hlo_reader.indices(instruction.shape)}

    def _merged(self, instruction, index, tokens, memories):
        """What a result of a conditional is. If branches give different values, it is a new one, provided that
        each of them was there at its branch's end."""
        own = self.define(instruction.name, index)
        if own is not None:
            return own
        if all(token is tokens[0] for token in tokens):
            return tokens[0]
        for token in tokens[1:]:
            self._expect_same_place(instruction, index, tokens[0], token)
        merged = Token(f"{instruction.name}{index}", tokens[0].place)
        if all(memory.who_overwrote(token) is None for memory, token in zip(memories, tokens)):
            self.memory.write(merged)
        return merged

    # ---- copies of constants ----

    def _copy(self, instruction, operands):
        self._read_all(instruction, operands)
        literal = self.literals.get(operands[0].get(()))
        token = literal is not None and self.define(instruction.name, (), literal=literal)
        if not token:
            return self._results(instruction, operands)
        self.literals[token] = literal
        return {(): token}

    # ---- what begins and ends at two places ----

    def _copy_start(self, instruction, operands):
        self._read_all(instruction, operands)
        return self._results(instruction, operands, {(1,): operands[0][()]})

    def _done(self, instruction, operands, result):
        """Until here what was begun may read its operands, unless it overwrote them itself, and write its results.
        What else it has are semaphores and scratch memory, of which it takes care."""
        begun = operands[0]
        own = {token for index, token in begun.items() if index[:1] == (1,) or index == result}
        for index, token in begun.items():
            if index[:1] in ((0,), (1,)) and self.memory.who_overwrote(token) not in map(str, own):
                self.read(instruction.name, token, "waits for")
        found = {index[len(result):]: token for index, token in begun.items() if index[:len(result)] == result}
        return self._results(instruction, operands, found)

    def _copy_done(self, instruction, operands):
        return self._done(instruction, operands, (0,))

    def _async_start(self, instruction, operands):
        """One without operands gets them with its update, and runs from there."""
        self.begun[instruction.name] = self.module.computations[instruction.called("calls")]
        if not operands and isinstance(instruction.shape[0], list) and not instruction.shape[0]:
            return self._results(instruction, operands)
        return self._run_async(instruction, operands)

    def _run_async(self, instruction, operands, found=()):
        computation = self.begun[instruction.name]
        found = dict(found)
        found.update({(0, number, *index): token for number, tokens in enumerate(operands)
                      for index, token in tokens.items()})
        result = self._walk(computation, operands)[computation.root.name]
        found.update({(1, *index): token for index, token in result.items()})
        return self._results(instruction, operands, found)

    def _async_update(self, instruction, operands):
        self.begun[instruction.name] = self.begun[instruction.operands[0][0]]
        begun = operands[0]
        if len(operands) > 1:
            return self._run_async(instruction, operands[1:])
        return self._results(instruction, operands, {
            index: token for index, token in begun.items() if (instruction.name, index) not in self.places})

    def _async_done(self, instruction, operands):
        return self._done(instruction, operands, (1,))

    def _all_gather_start(self, instruction, operands):
        self._read_all(instruction, operands)
        found = {(0,) + ((number,) if len(operands) > 1 else ()) + index: token
                 for number, tokens in enumerate(operands) for index, token in tokens.items()}
        return self._results(instruction, operands, found)

    _collective_permute_start = _all_gather_start

    def _all_gather_done(self, instruction, operands):
        return self._done(instruction, operands, (1,))

    _collective_permute_done = _all_gather_done

    def _send(self, instruction, operands):
        self._read_all(instruction, operands)
        return self._results(instruction, operands, {(0,): operands[0][()]})

    def _recv_done(self, instruction, operands):
        self._read_all(instruction, operands, "waits for")
        return self._results(instruction, operands, {(0,): operands[0][(0,)]})

    # ---- what shares memory in ways of its own ----

    def _custom_call(self, instruction, operands):
        target = instruction.custom_call_target
        self._read_all(instruction, operands)
        if target == "ConcatBitcast":
            return self._side_by_side(instruction, operands)
        if target in ALIASING_CALLS and (instruction.name, ()) not in self.places:
            return operands[0]
        return self._results(instruction, operands, self._aliased_outputs(instruction, operands))

    def _side_by_side(self, instruction, operands):
        """Operands that lie in one another's continuation are a value by that alone."""
        place = self.place(instruction.name, ())
        parts = sorted((tokens[()].place.begin, tokens[()].place.end) for tokens in operands
                       if tokens[()].place.allocation == place.allocation)
        at = place.begin
        for begin, end in parts:
            at = end if begin == at else at
        if len(parts) != len(operands) or at < place.end:
            return self._results(instruction, operands)  # copied after all
        self.met.add((instruction.name, ()))
        token = Token(instruction.name, place)
        self.memory.join(token)
        return {(): token}

    def _aliased_outputs(self, instruction, operands):
        """Results that are operands which are written through: new contents at the same bytes."""
        found = {}
        begin = instruction.rest.find("output_to_operand_aliasing={")
        if begin < 0:
            return found
        begin += len("output_to_operand_aliasing=")
        part = instruction.rest[begin:hlo_reader.end_of_group(instruction.rest, begin)]
        index = r"\{([\d, ]*)\}"
        for out, number, inner in hlo_reader.re.findall(rf"{index}: \((\d+), {index}", part):
            out, inner = hlo_reader._index(out), hlo_reader._index(inner)
            if (instruction.name, out) not in self.places:
                token = Token(f"{instruction.name}{out}", operands[int(number)][inner].place)
                self.memory.write(token)
                found[out] = token
        return found

    def _fusion(self, instruction, operands):
        self._read_all(instruction, operands)
        return self._results(instruction, operands, self._aliased_outputs(instruction, operands))


def walk(text, assignment):
    """Walks a module over its buffer assignment; what is read though it is overwritten is in the result. Raises Fault
    for anything else that is wrong."""
    return Walk(hlo_reader.read(text), assignment).run()


def check(text, assignment):
    """Raises Fault for what is wrong with a module and its buffer assignment; returns how much was checked."""
    walked = walk(text, assignment)
    if walked.faults:
        raise Fault(walked.faults[0])
    return walked


def kind_of(fault):
    """What faults of the same instructions have in common, whatever their numbers and bytes are."""
    return re.sub(r"[.\d]+", "", fault)


def main():
    text, assignment = (open(path).read() for path in sys.argv[1:])
    try:
        walked = check(text, BufferAssignment(assignment))
    except Fault as fault:
        print(fault)
        return 1
    print(f"{walked.reads} reads of what {walked.writes} writes left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
