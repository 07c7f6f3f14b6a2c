"""The jaxpr of a marked function as a list of equations without calls: jax.jit and jax.checkpoint are inlined,
names dropped, and values numbered. The body of a scan is a list of its own. Custom rules stay one equation.

JAX has a class ClosedJaxpr until 0.10, and Jaxpr alone since 0.11; open_jaxpr makes them alike."""

import dataclasses
import typing

import jax
from jax.extend import core as jax_core

from .sources import user_frame

INLINED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
           "remat2": "jaxpr", "checkpoint": "jaxpr"}
DROPPED = "name"  # checkpoint_name's primitive: the plan says what is saved
SCAN = "scan"


@dataclasses.dataclass(frozen=True, eq=False)
class Opened:
    """The parts of a jaxpr that is closed or open."""
    inputs: tuple
    constants: tuple     # (variable, value)
    equations: tuple
    outputs: tuple


def open_jaxpr(jaxpr):
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return Opened(tuple(inner.invars), tuple(zip(inner.constvars, getattr(jaxpr, "consts", ()))),
                  tuple(inner.eqns), tuple(inner.outvars))


@dataclasses.dataclass(frozen=True, eq=False)
class Equation:
    """`inputs` are numbers of values, or literals; `outputs` numbers of values."""
    primitive: typing.Any
    params: dict
    inputs: tuple
    outputs: tuple
    context: typing.Any
    source: typing.Any              # JAX's source_info
    scope: typing.Any               # its name stack, those of enclosing calls included
    effects: typing.Any
    body: typing.Optional["Program"] = None

    @property
    def name(self):
        return self.primitive.name

    def variables(self):
        """The numbers among the inputs."""
        return [one for one in self.inputs if isinstance(one, int)]


@dataclasses.dataclass(eq=False)
class Program:
    """`avals` has the type of each value by its number. The first values are the inputs, then come the constants."""
    num_inputs: int
    constants: list
    avals: list
    equations: list
    outputs: tuple

    @property
    def num_given(self):
        """Of values that no equation makes."""
        return self.num_inputs + len(self.constants)

    def makers(self):
        """The equation that makes each value, -1 for those that are given."""
        makers = [-1] * len(self.avals)
        for index, equation in enumerate(self.equations):
            for output in equation.outputs:
                makers[output] = index
        return makers

    def last_uses(self):
        """The last equation that reads each value; len(equations) for results of the program, -1 without a reader."""
        last = [-1] * len(self.avals)
        for index, equation in enumerate(self.equations):
            for value in equation.variables():
                last[value] = index
        for output in self.outputs:
            if isinstance(output, int):
                last[output] = len(self.equations)
        return last


def flatten(jaxpr):
    """The Program of a jaxpr."""
    opened = open_jaxpr(jaxpr)
    flattener = _Flattener()
    numbers = {variable: flattener.number(variable.aval) for variable in opened.inputs}
    for variable, _ in opened.constants:
        numbers[variable] = flattener.number(variable.aval)
    flattener.add(opened, numbers, None)
    outputs = tuple(flattener.read(numbers, output) for output in opened.outputs)
    return Program(len(opened.inputs), [value for _, value in opened.constants], flattener.avals,
                   flattener.equations, outputs)


class _Flattener:
    def __init__(self):
        self.avals, self.equations = [], []

    def number(self, aval):
        self.avals.append(aval)
        return len(self.avals) - 1

    @staticmethod
    def read(numbers, atom):
        return atom if isinstance(atom, jax_core.Literal) else numbers[atom]

    def add(self, opened, numbers, scope, call=None):
        """Adds a jaxpr's equations. `numbers` has those of its variables, and gets more. `call` is the source of the
        call that it is inlined for, which stands for equations that no line of the program has made."""
        for equation in opened.equations:
            source = equation.source_info
            source = call if call is not None and user_frame(source) is None else source
            inputs = tuple(self.read(numbers, atom) for atom in equation.invars)
            within = equation.source_info.name_stack
            within = within if scope is None else scope + within
            if equation.primitive.name == DROPPED:
                numbers[equation.outvars[0]] = inputs[0]
            elif is_inlined(equation):
                self._inline(equation, numbers, inputs, within, source)
            else:
                outputs = tuple(self.number(variable.aval) for variable in equation.outvars)
                numbers.update(zip(equation.outvars, outputs))
                body = flatten(equation.params["jaxpr"]) if equation.primitive.name == SCAN else None
                self.equations.append(Equation(
                    equation.primitive, equation.params, inputs, outputs, equation.ctx, source,
                    within, equation.effects, body))

    def _inline(self, equation, numbers, inputs, scope, source):
        inner = open_jaxpr(equation.params[INLINED[equation.primitive.name]])
        inner_numbers = dict(zip(inner.inputs, inputs))
        for variable, value in inner.constants:
            inner_numbers[variable] = jax_core.Literal(value, variable.aval)
        self.add(inner, inner_numbers, scope, source)
        for outer, atom in zip(equation.outvars, inner.outputs):
            numbers[outer] = self.read(inner_numbers, atom)


def is_inlined(equation):
    """Whether a call says nothing but what it computes. One with shardings of its own, or options for the compiler,
    stays a call, and so does a checkpoint that has been differentiated already."""
    params, name = equation.params, equation.primitive.name
    if name not in INLINED or params.get("differentiated") or params.get("compiler_options_kvs"):
        return False
    shardings = (*params.get("in_shardings", ()), *params.get("out_shardings", ()))
    return all(type(sharding).__name__ == "UnspecifiedValue" for sharding in shardings)


def scan_counts(params):
    """(constants, carried values) of a scan's inputs. JAX 0.11 and later have them as a tree."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(constants), len(carried)


def as_struct(aval):
    """A shape to trace with, whose type is that of the value."""
    sharding = getattr(aval, "sharding", None)
    if sharding is not None and getattr(sharding, "mesh", None) is not None and not sharding.mesh.empty:
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))
