"""Evaluates a Program by a Block: segments under jax.checkpoint, which saves what is named in them."""

import dataclasses

import jax
import numpy as np
from jax._src import linear_util
from jax._src.ad_checkpoint import name_p
from jax._src.source_info_util import current_name_stack, user_context
from jax.extend import core as jax_core

from . import rules
from .equations import as_struct, open_jaxpr
from .rules import is_float

PREFIX = "remat_hlo"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a program is evaluated. `path` says in which scans, and makes names unique; `rules` knows what derivatives
    need."""
    prevent_cse: bool
    rules: rules.Rules
    path: tuple = ()

    def within(self, index):
        """In the body of the scan that is this equation. The loop keeps the passes apart, so that nothing else has to
        keep the compiler from merging them."""
        return Place(False, self.rules, (*self.path, index))

    def name(self, what):
        return ":".join(map(str, (PREFIX, *self.path, what)))


def evaluate(program, block, inputs, place):
    """The program's outputs as a list."""
    values = dict(enumerate([*inputs, *program.constants]))
    last = program.last_uses()
    for segment in block.segments:
        _run_segment(program, block, segment, values, last, place)
    return [values[one] if isinstance(one, int) else one.val for one in program.outputs]


def _run_segment(program, block, segment, values, last, place):
    """Adds what the segment makes to `values`."""
    equations = program.equations[segment.begin:segment.end]
    if not segment.is_wrapped:
        _run(program, block, segment, values, place)
        return
    made = {output for equation in equations for output in equation.outputs}
    taken = sorted({one for equation in equations for one in equation.variables()} - made)
    given = sorted(one for one in made if last[one] >= segment.end)

    def call(*arguments):
        inner = dict(zip(taken, arguments))
        if segment.parts:  # no loop is between what the segment and its parts compute again
            for part in segment.parts:
                _run_segment(program, block, part, inner, last, dataclasses.replace(place, prevent_cse=True))
        else:
            _run(program, block, segment, inner, place)
        return [inner[one] for one in given]
    names = [place.name(value) for value in segment.saved] + [place.name(f"r{index}") for index in segment.hidden]
    policy = jax.checkpoint_policies.save_only_these_names(*names)
    results = jax.checkpoint(call, policy=policy, prevent_cse=place.prevent_cse)(*(values[one] for one in taken))
    values.update(zip(given, results))


def _run(program, block, segment, values, place):
    saved = set(segment.saved) if segment.is_wrapped else set()
    for index in range(segment.begin, segment.end):
        equation = program.equations[index]
        inputs = [values[one] if isinstance(one, int) else one.val for one in equation.inputs]
        names = {number: place.name(output) for number, output in enumerate(equation.outputs) if output in saved}
        hidden = place.name(f"r{index}") if segment.is_wrapped and index in segment.hidden else None
        scope = current_name_stack() + equation.scope
        with user_context(equation.source.traceback, name_stack=scope), equation.context.manager:
            results = _results(equation, block.bodies.get(index), inputs, names, hidden, place.within(index))
        values.update(zip(equation.outputs, results))


def _results(equation, body, inputs, names, hidden, within):
    if body is not None:
        results = _scan(equation, body, inputs, within)
    elif hidden is not None:
        results = _with_named_residuals(equation, inputs, hidden)
    elif names and _uses_outputs(equation, inputs, within.rules):
        return _with_named_outputs(equation, inputs, names)
    else:
        results = rules.bind(equation, inputs)
    return [name_p.bind(result, name=names[number]) if number in names else result
            for number, result in enumerate(results)]


def _scan(equation, body, inputs, within):
    """The scan with its body evaluated by a Block."""
    def call(*arguments):
        outputs = evaluate(equation.body, body, arguments, within)
        return [_as_typed(output, _aval_of(equation.body, one))
                for output, one in zip(outputs, equation.body.outputs)]
    structs = [as_struct(aval) for aval in equation.body.avals[:equation.body.num_inputs]]
    jaxpr = jax.make_jaxpr(call)(*structs)
    return equation.primitive.bind(*inputs, **{**equation.params, "jaxpr": jaxpr})


def _aval_of(program, one):
    return program.avals[one] if isinstance(one, int) else one.aval


def _as_typed(value, aval):
    """The value, weakly typed if that is what the scan carries."""
    from jax._src.lax.lax import _convert_element_type
    is_weak = getattr(aval, "weak_type", False)
    if getattr(jax.typeof(value), "weak_type", False) == is_weak:
        return value
    return _convert_element_type(value, aval.dtype, is_weak)


def _with_named_residuals(equation, inputs, name):
    """A custom_vjp whose forward rule names what it keeps for the backward rule and does not have from elsewhere."""
    params = equation.primitive.get_bind_params(equation.params)
    function, forward, backward = params["subfuns"]
    count = len(equation.outputs)

    def named(*arguments):
        results = list(forward.call_wrapped(*arguments))
        known = {id(one) for one in arguments}
        names = {id(one): name_p.bind(one, name=name) for one in results[:-count]
                 if id(one) not in known and hasattr(one, "dtype")}
        return [names.get(id(one), one) for one in results]
    wrapped = linear_util.wrap_init(named, debug_info=forward.debug_info)
    return equation.primitive.bind(*inputs, **{**params, "subfuns": (function, wrapped, backward)})


# ---- rules that use their own results ----

def _uses_outputs(equation, inputs, known):
    """Whether a derivative needs the equation's results, rather than its inputs alone."""
    avals = [jax.typeof(value) for value in inputs]
    active = [isinstance(one, int) and is_float(aval) for one, aval in zip(equation.inputs, avals)]
    return bool(known.needs(equation, avals, active).outputs)


def _with_named_outputs(equation, inputs, names):
    """The results with names. JAX's rule of the derivative would use the results without, which are others: they would
    be computed again although the named ones are saved. So the rule is traced, and named results put in their place."""
    places = [place for place, one in enumerate(equation.inputs) if isinstance(one, int)]

    def compute(*values):
        filled = rules.fill(equation, places, values)
        return tuple(rules.bind(equation, [filled[place] for place in range(len(inputs))]))

    @jax.custom_jvp
    def call(*values):
        return tuple(name_p.bind(result, name=names[place]) if place in names else result
                     for place, result in enumerate(compute(*values)))

    def derive(primals, tangents):
        moving = [place for place, tangent in enumerate(tangents)
                  if type(tangent).__name__ != "SymbolicZero" and is_float(jax.typeof(primals[place]))]
        return _derive(compute, names, primals, tangents, moving)
    call.defjvp(derive, symbolic_zeros=True)
    return list(call(*(inputs[place] for place in places)))


def _derive(compute, names, primals, tangents, moving):
    def both(primals, moving_tangents):
        def partial(*values):
            filled = dict(enumerate(primals))
            filled.update(zip(moving, values))
            return compute(*(filled[place] for place in range(len(primals))))
        outputs, out_tangents = jax.jvp(partial, [primals[place] for place in moving], moving_tangents)
        return outputs, [one for one in out_tangents if is_float(one)]

    jaxpr, shapes = jax.make_jaxpr(both, return_shape=True)(primals, [tangents[place] for place in moving])
    opened = open_jaxpr(jaxpr)
    count = len(shapes[0])
    named = {variable: names[place] for place, variable in enumerate(opened.outputs[:count])
             if place in names and not isinstance(variable, jax_core.Literal)}
    results = _evaluate_named(opened, [*primals, *(tangents[place] for place in moving)], named)
    floats = iter(results[count:])
    out_tangents = tuple(next(floats) if is_float(shape) else _no_tangent(shape) for shape in shapes[0])
    return tuple(results[:count]), out_tangents


def _no_tangent(shape):
    return np.zeros(shape.shape, jax.dtypes.float0)


def _evaluate_named(opened, inputs, named):
    """A jaxpr's outputs, where some variables are named as soon as they are made."""
    values = dict(zip(opened.inputs, inputs))
    values.update(opened.constants)

    def read(atom):
        return atom.val if isinstance(atom, jax_core.Literal) else values[atom]
    for equation in opened.equations:
        with user_context(equation.source_info.traceback,
                          name_stack=current_name_stack() + equation.source_info.name_stack), equation.ctx.manager:
            results = rules.bind(equation, [read(atom) for atom in equation.invars])
        for variable, result in zip(equation.outvars, results):
            values[variable] = name_p.bind(result, name=named[variable]) if variable in named else result
    return [read(atom) for atom in opened.outputs]
