"""All that is known of a Program before anything is decided: bytes of values on one device, what a derivative needs,
and what equations cost."""

import dataclasses
import functools
import typing

import jax

from . import costs, cut, segments, shards
from .rules import Needs, Rules, is_float

# Where a reader is expected to compute a value for itself, nothing is saved: what costs less than this to compute, in
# bytes of traffic for each byte, is not saved by a program without checkpoints either, as XLA fuses it.
FUSED_COST = 1.0


@dataclasses.dataclass(eq=False)
class Analysis:
    program: typing.Any
    bytes: list                    # by value
    needs: list                    # by equation
    costs: list                    # by equation
    is_fixed: list                 # by equation: it cannot be computed a second time
    bodies: dict                   # the Analysis of scans' bodies, by equation
    needed: set                    # values that derivatives need and that are made here
    residual_bytes: list = None    # by equation, what the program keeps of it without checkpoints

    @functools.cached_property
    def lifetimes(self):
        return segments.Lifetimes(self)

    def hidden_bytes(self, index):
        return sum(map(costs.aval_bytes, self.needs[index].hidden))

    def ratio(self, index):
        """What a byte of an equation's results costs."""
        equation = self.program.equations[index]
        size = sum(self.bytes[output] for output in equation.outputs) + self.hidden_bytes(index)
        return self.costs[index] / max(1, size)


def analyse(program, rates, places=None, sizes=None, rules=None, active=None):
    """The Analysis. `places` are those of the inputs (shards), `sizes` the mesh's; `active` says through which inputs
    derivatives go, all that are floats if it is missing."""
    rules = rules or Rules()
    places = places or [None] * program.num_inputs
    sizes = sizes or {}
    found = shards.propagate(program, places)
    divisors = shards.spread(found, sizes)
    moves = [is_float(aval) if hasattr(aval, "dtype") else False for aval in program.avals[:program.num_given]]
    if active is not None:
        moves[:len(active)] = [a and b for a, b in zip(active, moves)]
    moves += [False] * (len(program.avals) - program.num_given)
    made = Analysis(program, [costs.aval_bytes(aval) // divisor for aval, divisor in zip(program.avals, divisors)],
                    [], [], [], {}, set())
    for index, equation in enumerate(program.equations):
        _add(made, index, equation, rates, rules, moves, divisors)
        if equation.body is not None:
            made.bodies[index] = analyse(
                equation.body, rates, shards.body_places(equation, found), sizes, rules,
                [moves[one] if isinstance(one, int) else False for one in equation.inputs])
    made.residual_bytes = _residuals(made)
    return made


def _add(made, index, equation, rates, rules, moves, divisors):
    avals = [made.program.avals[one] if isinstance(one, int) else one.aval for one in equation.inputs]
    active = [isinstance(one, int) and moves[one] for one in equation.inputs]
    if equation.body is not None:
        is_moving = any(active)
        needs = Needs(frozenset(range(len(avals))) if is_moving else frozenset(), frozenset(), is_moving)
    else:
        needs = rules.needs(equation, avals, active)
    outputs = [made.program.avals[one] for one in equation.outputs]
    for output, aval in zip(equation.outputs, outputs):
        moves[output] = needs.is_differentiable and is_float(aval)
    whole = costs.equation_cost(equation.name, equation.params, avals, outputs, rates)
    made.needs.append(needs)
    made.costs.append(costs.as_integer(whole / max((divisors[one] for one in equation.outputs), default=1)))
    made.is_fixed.append(bool(equation.effects))
    values = [equation.inputs[place] for place in needs.inputs] + [equation.outputs[place] for place in needs.outputs]
    first = made.program.num_given
    made.needed.update(one for one in values if isinstance(one, int) and one >= first)


def _residuals(made):
    """By equation, the bytes that are kept of its results where all that is not fused is kept."""
    count = len(made.program.equations)
    saved, hidden = cut_range(made, 0, count, FUSED_COST)
    kept = [0] * count
    makers = made.program.makers()
    for value in saved:
        kept[makers[value]] += made.bytes[value]
    for index in hidden:
        kept[index] += made.hidden_bytes(index)
    for index, body in made.bodies.items():
        kept[index] += made.program.equations[index].params["length"] * sum(body.residual_bytes)
    return kept


def cut_range(made, begin, end, least_cost, free=()):
    """What to save of the equations from `begin` to `end`, so that no equation that costs more than `least_cost` for
    each byte is computed again, and the rest can be: (values, equations whose hidden residuals are saved), fewest
    bytes, those nearest to where they are needed. What is in `free` is saved already."""
    network, equations = cut.Network(), made.program.equations
    source, sink = network.add_node(), network.add_node()
    nodes, hidden = {}, {}
    for index in range(begin, end):
        equation = equations[index]
        is_kept = made.is_fixed[index] or made.ratio(index) > least_cost
        inputs = [nodes[one][1] for one in equation.variables() if one in nodes]
        for output in equation.outputs:
            pair = nodes[output] = network.add_node(), network.add_node()
            network.add_edge(*pair, _capacity(made, output, free))
            _join(network, pair[0], source if is_kept else None, inputs)
            if output in made.needed:
                network.add_edge(pair[1], sink, cut.INFINITE)
        if made.needs[index].hidden:
            pair = hidden[index] = network.add_node(), network.add_node()
            network.add_edge(*pair, made.hidden_bytes(index))
            _join(network, pair[0], source if is_kept else None, inputs)
            network.add_edge(pair[1], sink, cut.INFINITE)
    side = network.cut(source, sink)
    return (sorted(value for value, (i, o) in nodes.items() if side[i] and not side[o]),
            sorted(index for index, (i, o) in hidden.items() if side[i] and not side[o]))


def _capacity(made, value, free):
    """What it costs to save a value. A random key is none to save: a name would have to know its type."""
    if jax.dtypes.issubdtype(made.program.avals[value].dtype, jax.dtypes.extended):
        return cut.INFINITE
    return 0 if value in free else made.bytes[value]


def _join(network, node, source, inputs):
    if source is not None:
        network.add_edge(source, node, cut.INFINITE)
    for one in inputs:
        network.add_edge(one, node, cut.INFINITE)
