#!/usr/bin/env python3
"""Writes modules of any size, to measure how time and memory grow.

    scripts/samples/make_scale.py SHAPE NUM_INSTRUCTIONS > FILE

The shapes, each a training step or a piece of one, in program order and scheduled:

    unrolled         a residual network of equal layers, written out; each layer's weight is an argument and
                     its new value an output
    donated          the same with momentum, where weights and momenta are donated to their new values
    unet             layers whose sizes halve on the way down; what they give is read on the way up
    series-parallel  stages one after the other, each of which forks into branches of different lengths
    wide             one value that very many short chains read, whose results are added by a tree
    scanned          many loops, one after the other, each with a body and a condition of its own
    called           calls and fusions in turn, each of a small computation of its own, whose results are read
                     once more in reverse order
"""

import sys

PRODUCT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
PRODUCT_OF_LEFT = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
PRODUCT_OF_RIGHT = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"


class Computation:
    """The lines of a computation. Instructions are named by their opcode and number."""

    def __init__(self, name, is_entry=False):
        self.name, self.is_entry = name, is_entry
        self.lines, self.num_params = [], 0
        self.shapes = {}

    def add(self, opcode, shape, *operands, attributes=""):
        name = f"{opcode}.{len(self.lines)}"
        arguments = ", ".join("%" + operand for operand in operands)
        extra = f", {attributes}" if attributes else ""
        self.lines.append(f"  %{name} = {shape} {opcode}({arguments}){extra}")
        self.shapes[name] = shape
        return name

    def parameter(self, shape):
        name = f"parameter.{len(self.lines)}"
        self.lines.append(f"  %{name} = {shape} parameter({self.num_params})")
        self.num_params += 1
        self.shapes[name] = shape
        return name

    def constant(self, shape, value):
        name = f"constant.{len(self.lines)}"
        self.lines.append(f"  %{name} = {shape} constant({value})")
        self.shapes[name] = shape
        return name

    def element(self, operand, index, shape):
        return self.add("get-tuple-element", shape, operand, attributes=f"index={index}")

    def tuple_of(self, names):
        shape = "(" + ", ".join(self.shapes[name] for name in names) + ")"
        return self.add("tuple", shape, *names)

    def text(self):
        lines = self.lines[:-1] + [self.lines[-1].replace("  %", "  ROOT %", 1)]
        return ("ENTRY " if self.is_entry else "") + f"%{self.name} {{\n" + "\n".join(lines) + "\n}\n"


def matrix(rows, columns=64):
    return f"f32[{rows},{columns}]{{1,0}}"


def residual_layers(main, inputs, weights):
    """The forward part. Returns its last value and what each layer keeps for the backward part."""
    kept, value = [], inputs
    for weight in weights:
        product = main.add("dot", matrix(64), value, weight, attributes=PRODUCT)
        wave = main.add("sine", matrix(64), product)
        gate = main.add("logistic", matrix(64), product)
        both = main.add("multiply", matrix(64), wave, gate)
        kept.append((value, product, wave, gate))
        value = main.add("add", matrix(64), both, value)
    return value, kept


def residual_gradients(main, gradient, kept, weights):
    """The backward part. Returns the gradients of the weights, in their order."""
    found = []
    for (value, product, wave, gate), weight in zip(reversed(kept), reversed(weights)):
        of_gate = main.add("multiply", matrix(64), gradient, wave)
        of_wave = main.add("multiply", matrix(64), gradient, gate)
        slope = main.add("cosine", matrix(64), product)
        through = main.add("multiply", matrix(64), of_wave, slope)
        of_product = main.add("add", matrix(64), through, of_gate)
        found.append(main.add("dot", matrix(64), value, of_product, attributes=PRODUCT_OF_LEFT))
        below = main.add("dot", matrix(64), of_product, weight, attributes=PRODUCT_OF_RIGHT)
        gradient = main.add("add", matrix(64), gradient, below)
    return found[::-1]


def unrolled(size):
    num_layers = max(1, size // 15)
    main = Computation("main", is_entry=True)
    inputs = main.parameter(matrix(64))
    weights = [main.parameter(matrix(64)) for _ in range(num_layers)]
    value, kept = residual_layers(main, inputs, weights)
    gradients = residual_gradients(main, main.add("negate", matrix(64), value), kept, weights)
    main.tuple_of([main.add("subtract", matrix(64), *pair) for pair in zip(weights, gradients)])
    return "", [main]


def donated(size):
    num_layers = max(1, size // 17)
    main = Computation("main", is_entry=True)
    weights = [main.parameter(matrix(64)) for _ in range(num_layers)]
    momenta = [main.parameter(matrix(64)) for _ in range(num_layers)]
    inputs = main.parameter(matrix(64))
    value, kept = residual_layers(main, inputs, weights)
    gradients = residual_gradients(main, main.add("negate", matrix(64), value), kept, weights)
    momenta = [main.add("add", matrix(64), *pair) for pair in zip(momenta, gradients)]
    weights = [main.add("subtract", matrix(64), *pair) for pair in zip(weights, momenta)]
    main.tuple_of(weights + momenta)
    aliases = ", ".join(f"{{{i}}}: ({i}, {{}}, must-alias)" for i in range(2 * num_layers))
    return f", input_output_alias={{ {aliases} }}", [main]


def unet(size):
    """Networks of ten levels, side by side in time, each of which reads what the one before gives."""
    levels = 10
    main = Computation("main", is_entry=True)
    top = matrix(64 << levels, 4)
    value = main.parameter(top)
    while len(main.lines) < size:
        skipped = []
        for level in range(levels):
            shape, below = matrix(64 << levels - level, 4), matrix(64 << levels - level - 1, 4)
            value = main.add("sine", shape, value)
            skipped.append(main.add("exponential", shape, value))
            value = main.add("slice", below, skipped[-1],
                             attributes=f"slice={{[0:{64 << levels - level - 1}], [0:4]}}")
        for level in reversed(range(levels)):
            shape = matrix(64 << levels - level, 4)
            value = main.add("concatenate", shape, value, value, attributes="dimensions={0}")
            value = main.add("add", shape, value, skipped[level])
            value = main.add("cosine", shape, value)
    main.add("negate", top, value)
    return "", [main]


def series_parallel(size):
    main = Computation("main", is_entry=True)
    value = main.parameter(matrix(64))
    stage = 0
    while len(main.lines) < size:
        ends = []
        for branch in range(4):
            end = value
            for _ in range(1 + (stage * 7 + branch * 3) % 9):
                end = main.add("sine", matrix(64), end)
            ends.append(main.add("multiply", matrix(64), end, value))
        while len(ends) > 1:
            ends.append(main.add("add", matrix(64), ends.pop(0), ends.pop(0)))
        value, stage = ends[0], stage + 1
    main.add("negate", matrix(64), value)
    return "", [main]


def wide(size):
    main = Computation("main", is_entry=True)
    source = main.parameter(matrix(64))
    ends = []
    for _ in range(max(2, size // 4)):
        ends.append(main.add("exponential", matrix(64), main.add("sine", matrix(64), source)))
        ends[-1] = main.add("multiply", matrix(64), ends[-1], source)
    while len(ends) > 1:
        pairs = [main.add("add", matrix(64), ends[i], ends[i + 1]) for i in range(0, len(ends) - 1, 2)]
        ends = pairs + ends[len(pairs) * 2:]
    return "", [main]


def scanned(size):
    state = f"(s32[], {matrix(64)}, {matrix(64)})"
    comps = []
    main = Computation("main", is_entry=True)
    value, weight = main.parameter(matrix(64)), main.parameter(matrix(64))
    for loop in range(max(1, size // 20)):
        body = Computation(f"body.{loop}")
        carried = body.parameter(state)
        counter = body.element(carried, 0, "s32[]")
        inner, factor = (body.element(carried, i, matrix(64)) for i in (1, 2))
        counter = body.add("add", "s32[]", counter, body.constant("s32[]", 1))
        inner = body.add("dot", matrix(64), body.add("sine", matrix(64), inner), factor, attributes=PRODUCT)
        body.tuple_of([counter, body.add("tanh", matrix(64), inner), factor])
        condition = Computation(f"condition.{loop}")
        counter = condition.element(condition.parameter(state), 0, "s32[]")
        condition.add("compare", "pred[]", counter, condition.constant("s32[]", 8), attributes="direction=LT")
        begin = main.tuple_of([main.constant("s32[]", 0), value, weight])
        end = main.add("while", state, begin,
                       attributes=f"condition=%{condition.name}, body=%{body.name}")
        value = main.add("add", matrix(64), main.element(end, 1, matrix(64)), value)
        comps += [body, condition]
    main.add("negate", matrix(64), value)
    return "", comps + [main]


def called(size):
    """Five instructions for each computation, of which three are in it."""
    comps = []
    main = Computation("main", is_entry=True)
    value, kept = main.parameter(matrix(64)), []
    for number in range(max(1, size // 5)):
        comp = Computation(f"layer.{number}")
        comp.add("tanh", matrix(64), comp.add("sine", matrix(64), comp.parameter(matrix(64))))
        comps.append(comp)
        opcode, attributes = (("fusion", f"kind=kLoop, calls=%{comp.name}") if number % 2 else
                              ("call", f"to_apply=%{comp.name}"))
        value = main.add(opcode, matrix(64), value, attributes=attributes)
        kept.append(value)
    for other in reversed(kept):
        value = main.add("multiply", matrix(64), value, other)
    return "", comps + [main]


SHAPES = {"unrolled": unrolled, "donated": donated, "unet": unet, "series-parallel": series_parallel,
          "wide": wide, "scanned": scanned, "called": called}


def make(shape, size):
    header, comps = SHAPES[shape](size)
    name = shape.replace("-", "_")
    return f"HloModule {name}, is_scheduled=true{header}\n\n" + "\n".join(comp.text() for comp in comps)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in SHAPES or not sys.argv[2].isdigit():
        sys.exit(f"usage: make_scale.py {{{','.join(SHAPES)}}} NUM_INSTRUCTIONS")
    sys.stdout.write(make(sys.argv[1], int(sys.argv[2])))
