#!/usr/bin/env python3
"""Compares what compilers have noted of slices with where these begin. Of a slice whose start depends on the number of
a loop's iteration alone, XLA:GPU notes the offset, and copies from there without a look at the operands
(dynamic_slice_config). XLA:TPU notes which bits of a start are known (indices_config). Here the module's scalar integers
are computed, iteration by iteration, and at each slice with a note the two are compared. It shares nothing with the tool.

usage: slice_notes.py FILE.hlo..."""

import dataclasses
import json
import operator
import pathlib
import re
import sys

import hlo_reader

MOST_ITERATIONS = 40     # of one loop
SCALAR = re.compile(r"(pred|[su]\d+)\[\]")
ARRAY = re.compile(r"([a-z]+)(\d+)?\w*\[([\d,]*)\](?:\{([\d,]*))?")
BINARY = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "maximum": max, "minimum": min,
          "and": operator.and_, "or": operator.or_}
COMPARE = {"EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt,
           "GE": operator.ge}
FORWARDS = ("copy", "bitcast", "reshape", "convert", "copy-start", "copy-done", "opt-barrier")
WRAPPERS = ("fusion", "call", "fusion-start", "call-start", "async-start")


@dataclasses.dataclass
class Checked:
    slices: int = 0              # that were compared, in all iterations
    bits: int = 0                # starts that were compared with their bits
    unknown: int = 0             # whose start is no scalar that is computed here
    faults: list = dataclasses.field(default_factory=list)


def note_of(one):
    """(loop or None, offset, stride) of a slice; None if it has no note."""
    at = one.rest.find('"dynamic_slice_config":')
    if at < 0:
        return None
    config = json.JSONDecoder().raw_decode(one.rest, at + len('"dynamic_slice_config":'))[0]
    line = config.get("linear", config)
    loop = config.get("loop_index")
    return None if loop is None else int(loop), int(line.get("byte_offset", 0)), int(line.get("byte_stride", 0))


def bits_of(one):
    at = one.rest.find('"index_known_bits":')
    return json.JSONDecoder().raw_decode(one.rest, at + len('"index_known_bits":'))[0] if at >= 0 else []


def strides_of(shape):
    """The dimensions and strides in bytes of an array."""
    kind, bits, dims, order = ARRAY.match(shape).groups()
    dims = [int(dim) for dim in dims.split(",") if dim]
    order = [int(dim) for dim in order.split(",")] if order else list(reversed(range(len(dims))))
    strides, size = [0] * len(dims), 1 if kind == "pred" else int(bits) // 8
    for dim in order:
        strides[dim] = size
        size *= dims[dim]
    return dims, strides


class Run:
    def __init__(self, module):
        self.module, self.checked = module, Checked()
        self.iterations = []     # of the loops around what runs, the innermost last

    def computation(self, name, arguments):
        computation, values = self.module.computations[name], {}
        for one in computation.instructions:
            if one.opcode == "parameter":
                number = one.parameter_number
                values[one.name] = arguments[number] if number < len(arguments) else None
            else:
                values[one.name] = self.instruction(one, [self.at(values, *operand) for operand in one.operands],
                                                    [self.shape_of(computation, *operand) for operand in one.operands])
        return values[computation.root.name]

    @staticmethod
    def at(values, name, path):
        value = values.get(name)
        for index in path:
            value = value[index] if isinstance(value, list) and index < len(value) else None
        return value

    def shape_of(self, computation, name, path):
        shape = next(one.shape for one in computation.instructions if one.name == name)
        return hlo_reader.at_index(shape, path)

    def instruction(self, one, operands, shapes):
        code = one.opcode
        if code == "while":
            return self.loop(one, operands[0])
        if code in WRAPPERS:
            return self.computation(one.called("calls") or one.called("to_apply"), operands)
        if code.endswith("-done") and code not in FORWARDS:
            return operands[0]
        if code == "conditional":
            for branch in one.branches:
                self.computation(branch, [])
            return None
        if code == "tuple":
            return operands
        if code == "get-tuple-element":
            index = int(re.search(r"\bindex=(\d+)", one.rest)[1])
            return operands[0][index] if isinstance(operands[0], list) and index < len(operands[0]) else None
        if code in FORWARDS:
            return operands[0] if operands else None
        if code in ("dynamic-slice", "dynamic-update-slice"):
            self.slice(one, operands, shapes)
        if not isinstance(one.shape, str) or not SCALAR.match(one.shape):
            return None
        return self.scalar(one, operands)

    @staticmethod
    def scalar(one, operands):
        if one.opcode == "constant":
            literal = hlo_reader.literal_of(one)
            return {"true": 1, "false": 0}.get(literal[1]) if literal and literal[1] in ("true", "false") else (
                int(literal[1]) if literal else None)
        if one.opcode == "select" and operands[0] is not None:
            return operands[1 if operands[0] else 2]
        if None in operands:
            return None
        if one.opcode in BINARY:
            return BINARY[one.opcode](*operands)
        if one.opcode == "compare":
            return int(COMPARE[re.search(r"\bdirection=(\w\w)", one.rest)[1]](*operands))
        return None

    def loop(self, one, state):
        for iteration in range(MOST_ITERATIONS):
            goes_on = self.computation(one.called("condition"), [state])
            if goes_on == 0:
                return state
            self.iterations.append(iteration)
            state = self.computation(one.called("body"), [state])
            self.iterations.pop()
            if goes_on is None:
                break
        return None

    def slice(self, one, operands, shapes):
        is_update = one.opcode == "dynamic-update-slice"
        dims, strides = strides_of(shapes[0])
        part, _ = strides_of(shapes[1] if is_update else one.shape)
        lasts = [whole - some for whole, some in zip(dims, part)]
        starts = [0 if last == 0 else None if start is None else min(max(start, 0), last)
                  for start, last in zip(operands[1 + is_update:], lasts)]
        self.compare_bits(one, starts)
        if note := note_of(one):
            self.compare_offset(one, note, starts, strides)

    def compare_bits(self, one, starts):
        for start, known in zip(starts, bits_of(one)):
            if start is None:
                continue
            zeroes, ones = int(known.get("zeroes", 0)), int(known.get("ones", 0))
            self.checked.bits += 1
            if start & zeroes or start & ones != ones:
                self.checked.faults.append(f"{one.name} begins at {start} in iteration {self.iterations}, and the bits "
                                           f"known are {known}")

    def compare_offset(self, one, note, starts, strides):
        if None in starts:
            self.checked.unknown += 1
            return
        begins = sum(start * stride for start, stride in zip(starts, strides))
        loop, offset, stride = note
        if loop is not None and loop < len(self.iterations):
            offset += stride * self.iterations[-1 - loop]
        self.checked.slices += 1
        if offset != begins:
            self.checked.faults.append(f"{one.name} begins at byte {begins} in iteration {self.iterations}, and its note "
                                       f"says {offset}")


def check(text):
    """What was compared, and the faults."""
    module = hlo_reader.read(text)
    run = Run(module)
    run.computation(module.entry.name, [])
    return run.checked


def main():
    status = 0
    for path in sys.argv[1:]:
        checked = check(pathlib.Path(path).read_text())
        print(f"{path}: {checked.slices} offsets and the bits of {checked.bits} starts, {len(checked.faults)} faults; "
              f"{checked.unknown} are unknown")
        for fault in checked.faults[:5]:
            print(f"  {fault}")
        status |= bool(checked.faults)
    return status


if __name__ == "__main__":
    sys.exit(main())
