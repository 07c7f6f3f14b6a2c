#!/usr/bin/env python3
"""Runs modules on arrays, and compares what they compute. Moves, slices, layouts, loops, branches and whole numbers are what
HLO says they are; every other operation is some function of its operands, which is enough to find a value that is taken
from elsewhere than before, or too late, or recomputed from something else. Floating-point numbers are any 64 bits. It shares
nothing with the tool, neither its parser nor its verifier.

usage: evaluate.py BEFORE.hlo AFTER.hlo..."""

import dataclasses
import math
import pathlib
import re
import sys
import zlib

import numpy as np

import hlo_reader

MOST_ITERATIONS = 3000
ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{([\d,]*))?")
KINDS = {"pred": np.bool_, **{f"{'u' if sign else 's'}{bits}": np.dtype(f"{'u' if sign else ''}int{bits}")
                              for sign in (0, 1) for bits in (8, 16, 32, 64)}}
NUMBER = re.compile(r"[-+]?(?:nan|inf|[\d.]+(?:e[-+]?\d+)?)|true|false")
# What says where, when and how something is computed, but not what.
NOT_TOLD = {"metadata", "backend_config", "frontend_attributes", "calls", "to_apply", "control-predecessors", "sharding",
            "channel_id", "kind", "body", "condition", "origin", "statistics", "output_to_operand_aliasing",
            "async_execution_thread", "custom_call_has_side_effect"}
WRAPPERS = ("fusion", "call", "async-start", "fusion-start", "call-start")
FORWARDS = ("opt-barrier", "copy-start", "domain", "async-update", "add-dependency")
EXACT = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
         "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
COMPARE = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
           "GE": np.greater_equal}
ELEMENTWISE = set(EXACT) | set(
    "abs atan2 bitcast-convert cbrt ceil clamp compare complex convert cosine count-leading-zeros divide erf exponential "
    "exponential-minus-one floor imag is-finite log log-plus-one logistic negate not popcnt power real "
    "reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select shift-left shift-right-arithmetic "
    "shift-right-logical sign sine sqrt tan tanh stochastic-convert".split())
ODD = np.uint64(0x9E3779B97F4A7C15)


class Unknown(Exception):
    """Something that cannot be run here."""


def mix(values):
    """A permutation of 64 bits that leaves nothing where it was."""
    values = values * ODD
    values ^= values >> np.uint64(29)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(32)
    return values


def salt(*parts):
    text = " ".join(map(str, parts)).encode()
    return np.uint64(zlib.crc32(text) | zlib.crc32(b"x" + text) << 32)


def words(array):
    """The elements as 64 bits each."""
    return array if array.dtype == np.uint64 else array.astype(np.int64).view(np.uint64)


def digest(value):
    """64 bits of an array, or of a tree of them."""
    if isinstance(value, list):
        return mix(np.array([digest(part) for part in value] + [len(value)], np.uint64)).sum(dtype=np.uint64)
    if value is None:
        return np.uint64(0)
    flat, total = words(value).reshape(-1), np.uint64(0)
    for begin in range(0, len(flat), 1 << 20):
        part = flat[begin:begin + (1 << 20)]
        places = np.arange(begin, begin + len(part), dtype=np.uint64)
        total += (mix(part) * (mix(places) | np.uint64(1))).sum(dtype=np.uint64)
    return total


@dataclasses.dataclass
class Shape:
    kind: str
    dims: tuple
    minor: tuple        # dimensions, the one that changes fastest first

    @property
    def dtype(self):
        return KINDS.get(self.kind, np.dtype(np.uint64))

    @property
    def is_whole(self):
        return self.kind in KINDS

    @property
    def size(self):
        return math.prod(self.dims)


SHAPES = {}


def shape_of(text):
    if text not in SHAPES:
        kind, dims, minor = ARRAY.match(text).groups()
        dims = tuple(int(dim) for dim in dims.split(",") if dim)
        minor = tuple(int(dim) for dim in minor.split(",") if dim) if minor else tuple(reversed(range(len(dims))))
        SHAPES[text] = Shape(kind, dims, minor)
    return SHAPES[text]


def as_kind(bits, shape):
    """64 bits for each element as what the shape holds."""
    if shape.kind == "pred":
        return (bits & np.uint64(1)).astype(np.bool_)
    return bits.astype(shape.dtype) if shape.is_whole else bits


def made_up(shape, seed):
    """An array, or a tree of them, of which only the seed is known."""
    if isinstance(shape, list):
        return [made_up(part, salt(seed, number)) for number, part in enumerate(shape)]
    if shape.startswith(("token", "opaque")):
        return None
    shape = shape_of(shape)
    bits = mix(np.arange(shape.size, dtype=np.uint64) ^ np.uint64(seed)).reshape(shape.dims)
    # Whole numbers are few, as indices and labels are.
    return as_kind(bits % np.uint64(11) if shape.is_whole and shape.kind != "pred" else bits, shape)


def numbers(text):
    return tuple(int(number) for number in re.findall(r"-?\d+", text))


def attributes_of(rest):
    """By name, what follows the operands."""
    depth, at = 0, rest.index(")") + 1
    found, begin = {}, at
    rest += ","
    while at < len(rest):
        char = rest[at]
        if char in hlo_reader.OPENING:
            at = hlo_reader.end_of_group(rest, at)
            continue
        if char == '"':
            at = rest.index('"', at + 1) + 1
            continue
        if char == "," and depth == 0:
            name, _, value = rest[begin:at].strip(" ,").partition("=")
            if name:
                found[name] = value
            begin = at + 1
        at += 1
    return found


class Steps:
    """A computation as it is run: what each instruction is told, and what is not read any more after it."""

    def __init__(self, computation):
        self.computation = computation
        self.shapes = {one.name: one.shape for one in computation.instructions}
        self.attributes = [attributes_of(self.after_operands(one)) for one in computation.instructions]
        last = {}
        for number, one in enumerate(computation.instructions):
            for name, _ in one.operands:
                last[name] = number
        self.dead = [[] for _ in computation.instructions]
        for name, number in last.items():
            if name != computation.root.name:
                self.dead[number].append(name)

    @staticmethod
    def after_operands(one):
        end = hlo_reader.end_of_group("(" + one.rest, 0) - 1
        return ")" + one.rest[end:]


class Run:
    def __init__(self, module):
        self.module, self.steps, self.functions = module, {}, {}

    def computation(self, name, arguments):
        if name not in self.steps:
            self.steps[name] = Steps(self.module.computations[name])
        steps, values = self.steps[name], {}
        for number, one in enumerate(steps.computation.instructions):
            if one.opcode == "parameter":
                values[one.name] = arguments[one.parameter_number]
            else:
                operands = [self.at(values[operand], path) for operand, path in one.operands]
                shapes = [hlo_reader.at_index(steps.shapes[operand], path) for operand, path in one.operands]
                values[one.name] = self.instruction(one, steps.attributes[number], operands, shapes)
                self.check(one, values[one.name])
            for name in steps.dead[number]:
                values.pop(name, None)
        return values[steps.computation.root.name]

    @staticmethod
    def at(value, path):
        for index in path:
            value = value[index]
        return value

    @staticmethod
    def check(one, value):
        if isinstance(one.shape, str) and isinstance(value, np.ndarray) and not one.opcode.endswith("-start"):
            shape = shape_of(one.shape)
            if value.shape != shape.dims or value.dtype != shape.dtype:
                raise Unknown(f"{one.name} of {one.opcode}: {value.dtype}{value.shape} for {one.shape}")

    def function(self, name):
        """What tells a called computation from others: what it makes of made-up arguments."""
        if name not in self.functions:
            parameters = [one for one in self.module.computations[name].instructions if one.opcode == "parameter"]
            arguments = {one.parameter_number: made_up(one.shape, one.parameter_number) for one in parameters}
            self.functions[name] = digest(self.computation(name, [arguments[i] for i in range(len(arguments))]))
        return self.functions[name]

    def instruction(self, one, told, operands, shapes):
        code = one.opcode
        if code in WRAPPERS and (one.called("calls") or one.called("to_apply")):
            return self.computation(one.called("calls") or one.called("to_apply"), operands)
        if code == "while":
            return self.loop(one, operands[0])
        if code == "conditional":
            return self.branch(one, operands)
        if code == "tuple":
            return operands
        if code == "get-tuple-element":
            return operands[0][int(told["index"])]
        if code in FORWARDS or code.endswith("-done") and not isinstance(operands[0], Started):
            return operands[0]
        if code.endswith("-done"):
            return made_up(one.shape, operands[0].seed)
        if code.endswith("-start"):
            return Started(self.seed(one, told, operands, code.removesuffix("-start")))
        if code == "constant":
            return constant(one)
        if move := MOVES.get(code):
            moved = move(one, told, operands, shapes)
            return converted(moved, shapes[0], shape_of(one.shape).kind) if code in MAY_CONVERT else moved
        if code in ELEMENTWISE and isinstance(one.shape, str):
            return elementwise(one, told, operands, shapes)
        if code == "reduce":
            return self.reduce(one, told, operands)
        return made_up(one.shape, self.seed(one, told, operands, code))

    def seed(self, one, told, operands, code):
        """Of some function: of what, and which one."""
        own = sorted(f"{name}={value}" for name, value in told.items() if name not in NOT_TOLD)
        called = [self.function(name) for key, name in hlo_reader.CALLS.findall(one.rest) if key in ("calls", "to_apply")]
        return salt(code, own, called, one.shape if "custom" in code else "", [digest(value) for value in operands])

    def loop(self, one, state):
        for _ in range(MOST_ITERATIONS):
            if not self.computation(one.called("condition"), [state]):
                return state
            state = self.computation(one.called("body"), [state])
        raise Unknown(f"{one.name} runs more than {MOST_ITERATIONS} times")

    def branch(self, one, operands):
        index, count = operands[0], len(one.branches)
        number = int(not index) if index.dtype == np.bool_ else int(index)
        number = number if 0 <= number < count else count - 1
        return self.computation(one.branches[number], [operands[1 + number]])

    def reduce(self, one, told, operands):
        """Sums of what each element is mixed into, so that other elements of the result do not matter."""
        dims, count = numbers(told["dimensions"]), len(operands) // 2
        which = self.function(one.called("to_apply"))
        rows = [row_digests(value, dims) for value in operands[:count]]
        starts = salt(which, [digest(value) for value in operands[count:]])
        total = starts + sum(mix(row ^ np.uint64(number)) for number, row in enumerate(rows))
        parts = one.shape if isinstance(one.shape, list) else [one.shape]
        results = [as_kind(mix(total ^ np.uint64(number)), shape_of(part)) for number, part in enumerate(parts)]
        return results if isinstance(one.shape, list) else results[0]


@dataclasses.dataclass
class Started:
    seed: np.uint64


def row_digests(value, dims):
    """64 bits of what lies along these dimensions, for each place in the others."""
    value = words(value)
    others = [dim for dim in range(value.ndim) if dim not in dims]
    rows = value.transpose(*others, *dims).reshape(*[value.shape[dim] for dim in others], -1)
    weights = mix(np.arange(rows.shape[-1], dtype=np.uint64)) | np.uint64(1)
    return (mix(rows) * weights).sum(axis=-1, dtype=np.uint64)


# ---- single values ----

def constant(one):
    shape = shape_of(one.shape)
    literal = one.rest[:hlo_reader.end_of_group("(" + one.rest, 0) - 2]
    if "..." in literal:
        return made_up(one.shape, salt(one.shape.partition("{")[0]))
    found = NUMBER.findall(re.sub(r"/\*.*?\*/", "", literal))
    if shape.kind in ("c64", "c128"):
        found = [f"{real} {imaginary}" for real, imaginary in zip(found[::2], found[1::2])]
    if not shape.is_whole:
        bits = np.array([salt(number) for number in found], np.uint64)
    elif shape.kind == "pred":
        bits = np.array([number in ("true", "1") for number in found], np.bool_)
    else:
        bits = np.array([int(number) for number in found]).astype(shape.dtype)
    if len(bits) != shape.size:
        raise Unknown(f"{one.name}: {len(bits)} numbers for {one.shape}")
    return bits.reshape(shape.dims)


def elementwise(one, told, operands, shapes):
    shape, first = shape_of(one.shape), operands[0]
    are_whole = all(shape_of(text).is_whole for text in shapes)
    if one.opcode == "select":
        return np.where(first, operands[1], operands[2])
    if are_whole and shape.is_whole:
        if one.opcode in EXACT:
            if shape.kind == "pred" and one.opcode in ("add", "multiply", "maximum", "minimum"):
                return (np.logical_or if one.opcode in ("add", "maximum") else np.logical_and)(*operands)
            return EXACT[one.opcode](*operands)
        if one.opcode == "compare":
            return COMPARE[told["direction"]](*operands)
        if one.opcode == "convert":
            return first != 0 if shape.kind == "pred" else first.astype(shape.dtype)
        if one.opcode in ("negate", "abs", "not", "sign"):
            return {"negate": np.negative, "abs": np.abs, "not": np.invert, "sign": np.sign}[one.opcode](first)
        if one.opcode.startswith("shift-"):
            return shifted(one.opcode, *operands)
        if one.opcode == "clamp":
            return np.minimum(np.maximum(operands[1], first), operands[2])
        if one.opcode in ("divide", "remainder") and np.all(operands[1] != 0):
            remainder = np.fmod(*operands)
            return remainder if one.opcode == "remainder" else (first - remainder) // operands[1]
    own = sorted(f"{name}={value}" for name, value in told.items() if name not in NOT_TOLD)
    bits = np.full(shape.dims, salt(one.opcode, own, shape.kind, [text.partition("[")[0] for text in shapes]))
    for operand in operands:
        bits = mix(bits ^ words(operand))
    return as_kind(bits, shape)


def shifted(code, values, counts):
    bits = 8 * values.dtype.itemsize
    is_far = (counts < 0) | (counts >= bits)
    near = np.where(is_far, bits - 1, counts).astype(values.dtype)
    if code == "shift-right-arithmetic":
        return values >> near
    if code == "shift-right-logical":
        unsigned = values.view(f"u{values.dtype.itemsize}")
        values = (unsigned >> near.astype(unsigned.dtype)).view(values.dtype)
    else:
        values = values << near
    return np.where(is_far, np.zeros_like(values), values)


# ---- moves ----

def in_memory(array, shape):
    """The elements in the order in which they lie in memory, tiles apart."""
    return array.transpose(tuple(reversed(shape.minor))).reshape(-1)


def bitcast(one, told, operands, shapes):
    to, source = shape_of(one.shape), shape_of(shapes[0])
    if to.size != source.size or to.dtype != source.dtype:
        return made_up(one.shape, salt("bitcast", digest(operands[0])))
    major = tuple(reversed(to.minor))
    flat = in_memory(operands[0], source).reshape([to.dims[dim] for dim in major])
    return flat.transpose(np.argsort(major)) if major else flat


def converted(array, source, kind):
    """What XLA:TPU converts as it copies it, or writes it into an array of other elements."""
    if shape_of(source).kind == kind:
        return array
    to = f"{kind}[{','.join(map(str, array.shape))}]"
    return elementwise(hlo_reader.Instruction("", to, "convert", [], "", False, 0), {}, [array], [source])


def broadcast(one, told, operands, shapes):
    shape, dims = shape_of(one.shape), numbers(told["dimensions"])
    order = np.argsort(dims) if dims else ()
    wanted = [1] * len(shape.dims)
    for dim in dims:
        wanted[dim] = shape.dims[dim]
    return np.broadcast_to(operands[0].transpose(order).reshape(wanted), shape.dims)


def iota(one, told, operands, shapes):
    shape, dim = shape_of(one.shape), int(told["iota_dimension"])
    line = np.arange(shape.dims[dim], dtype=np.uint64)
    line = line.astype(shape.dtype) if shape.is_whole else mix(line)
    return np.broadcast_to(line.reshape([-1 if i == dim else 1 for i in range(len(shape.dims))]), shape.dims)


def cut(one, told, operands, shapes):
    ranges = [numbers(part) for part in re.findall(r"\[([\d:]*)\]", told["slice"])]
    return operands[0][tuple(slice(*part) for part in ranges)]


def starts_of(whole, part, starts):
    return [min(max(int(start), 0), size - length) for start, size, length in zip(starts, whole, part)]


def dynamic_slice(one, told, operands, shapes):
    part = shape_of(one.shape).dims
    starts = starts_of(operands[0].shape, part, operands[1:])
    return operands[0][tuple(slice(start, start + length) for start, length in zip(starts, part))]


def dynamic_update_slice(one, told, operands, shapes):
    result = operands[0].copy()
    part = converted(operands[1], shapes[1], shape_of(one.shape).kind)
    starts = starts_of(result.shape, part.shape, operands[2:])
    result[tuple(slice(start, start + length) for start, length in zip(starts, part.shape))] = part
    return result


def pad(one, told, operands, shapes):
    shape, (array, value) = shape_of(one.shape), operands
    result = np.empty(shape.dims, shape.dtype)
    result[...] = value
    places, taken = [], []
    for size, edges in zip(array.shape, told["padding"].split("x") if shape.dims else []):
        low, _, inner = (numbers(edges.replace("_", " ")) + (0,))[:3]
        at = low + np.arange(size) * (inner + 1)
        within = (at >= 0) & (at < shape.dims[len(places)])
        places.append(at[within])
        taken.append(np.flatnonzero(within))
    result[np.ix_(*places)] = array[np.ix_(*taken)]
    return result


def dot(one, told, operands, shapes):
    """Of each element: some function of a row and a column."""
    sides = []
    for side, operand in zip(("lhs", "rhs"), operands):
        batch = numbers(told.get(f"{side}_batch_dims", ""))
        inner = numbers(told.get(f"{side}_contracting_dims", ""))
        free = [dim for dim in range(operand.ndim) if dim not in batch + inner]
        rows = row_digests(operand.transpose(*batch, *free, *inner), tuple(range(len(batch) + len(free), operand.ndim)))
        sides.append((rows, len(batch), len(free)))
    (left, num_batch, num_left), (right, _, num_right) = sides
    left = left.reshape(*left.shape, *[1] * num_right)
    right = right.reshape(*right.shape[:num_batch], *[1] * num_left, *right.shape[num_batch:])
    own = sorted(f"{name}={value}" for name, value in told.items() if name not in NOT_TOLD and "dims" not in name)
    return as_kind(mix(mix(left ^ salt("dot", own)) ^ right), shape_of(one.shape))


MAY_CONVERT = ("copy", "broadcast", "slice", "dynamic-slice", "reshape", "transpose", "concatenate", "reverse", "pad")
MOVES = {
    "bitcast": bitcast, "broadcast": broadcast, "iota": iota, "slice": cut, "dynamic-slice": dynamic_slice,
    "dynamic-update-slice": dynamic_update_slice, "pad": pad, "dot": dot,
    "copy": lambda one, told, operands, shapes: operands[0],
    "reshape": lambda one, told, operands, shapes: operands[0].reshape(shape_of(one.shape).dims),
    "transpose": lambda one, told, operands, shapes: operands[0].transpose(numbers(told["dimensions"])),
    "concatenate": lambda one, told, operands, shapes: np.concatenate(operands, axis=numbers(told["dimensions"])[0]),
    "reverse": lambda one, told, operands, shapes: np.flip(operands[0], numbers(told["dimensions"])),
    "after-all": lambda one, told, operands, shapes: None,
    "partition-id": lambda one, told, operands, shapes: np.zeros((), np.uint32),
    "replica-id": lambda one, told, operands, shapes: np.zeros((), np.uint32),
}


def evaluate(text, seed=1):
    """64 bits of what the module computes of made-up parameters."""
    module = hlo_reader.read(text)
    parameters = [one for one in module.entry.instructions if one.opcode == "parameter"]
    arguments = {one.parameter_number: made_up(one.shape, salt(seed, one.parameter_number)) for one in parameters}
    with np.errstate(all="ignore"):
        return int(digest(Run(module).computation(module.entry.name, [arguments[i] for i in range(len(arguments))])))


def main():
    before, *after = sys.argv[1:]
    wanted, status = evaluate(pathlib.Path(before).read_text()), 0
    for path in after:
        same = evaluate(pathlib.Path(path).read_text()) == wanted
        print(f"{path}: {'computes the same' if same else 'computes something else'}")
        status |= not same
    return status


if __name__ == "__main__":
    sys.exit(main())
