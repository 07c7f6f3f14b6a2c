"""Which values an equation's derivative needs, as JAX's rules have it: the equation is differentiated alone, and
what the backward pass keeps is followed to the equation's inputs and outputs."""

import dataclasses

import jax
import jax.numpy as jnp
from jax.extend import core as jax_core

from .digest import params_text, type_text
from .equations import as_struct, open_jaxpr


@dataclasses.dataclass(frozen=True)
class Needs:
    """Positions among an equation's inputs and outputs, whether a derivative exists, and the types of what a custom
    rule keeps besides, which can be saved as a whole."""
    inputs: frozenset = frozenset()
    outputs: frozenset = frozenset()
    is_differentiable: bool = False
    hidden: tuple = ()


def is_float(aval):
    return jnp.issubdtype(aval.dtype, jnp.inexact)


class Rules:
    """Looks needs up, and keeps them by what the equation is."""

    def __init__(self):
        self._known = {}

    def needs(self, equation, avals, active):
        """`avals` are the types of the inputs; `active` says for each whether a derivative goes through it."""
        if not any(active) or not any(is_float(aval) for aval in avals):
            return Needs()
        literals = tuple(type_text(aval) if isinstance(one, int) else repr(one)
                         for one, aval in zip(equation.inputs, avals))
        key = (equation.name, params_text(equation.params), literals, tuple(active),
               tuple(id(value) for value in equation.params.values()
                     if callable(value) or hasattr(value, "call_wrapped")))
        if key not in self._known:
            self._known[key] = self._trace(equation, avals, active)
        return self._known[key]

    @staticmethod
    def _trace(equation, avals, active):
        places = [place for place, one in enumerate(equation.inputs) if isinstance(one, int)]
        moving = [place for place in places if active[place] and is_float(avals[place])]
        if not moving:
            return Needs()

        def both(*given):
            filled = fill(equation, places, given)

            def call(*values):
                filled.update(zip(moving, values))
                return bind(equation, [filled[place] for place in range(len(avals))])
            outputs, back = jax.vjp(call, *(filled[place] for place in moving))
            return outputs, [leaf for leaf in jax.tree.leaves(back) if isinstance(leaf, jax.Array)]

        try:
            with equation.context.manager:
                jaxpr, shapes = jax.make_jaxpr(both, return_shape=True)(*(as_struct(avals[place]) for place in places))
        except (NotImplementedError, TypeError, ValueError):  # no rule: nobody differentiates through it
            return Needs()
        opened = open_jaxpr(jaxpr)
        count = len(shapes[0])
        return _follow(equation, places, opened, count)


def fill(equation, places, given):
    """The equation's inputs by place: those that are given, and its literals."""
    filled = dict(zip(places, given))
    filled.update((place, one.val) for place, one in enumerate(equation.inputs) if place not in filled)
    return filled


def bind(equation, values):
    """The equation's results as a list."""
    results = equation.primitive.bind(*values, **equation.primitive.get_bind_params(equation.params))
    return list(results) if equation.primitive.multiple_results else [results]


def _follow(equation, places, opened, count):
    """The Needs by a jaxpr whose outputs are the equation's, and then what the backward pass keeps."""
    inputs = {variable: place for place, variable in zip(places, opened.inputs)}
    outputs = {variable: place for place, variable in enumerate(opened.outputs[:count])
               if not isinstance(variable, jax_core.Literal) and variable not in inputs}
    makers = {variable: one for one in opened.equations for variable in one.outvars}
    kept = [atom for atom in opened.outputs[count:] if not isinstance(atom, jax_core.Literal)]
    hidden = ()
    if equation.name == "custom_vjp_call":
        hidden = tuple(dict.fromkeys(atom for atom in kept if atom not in inputs and atom not in outputs))
    found, seen, rest = (set(), set()), set(hidden), [atom for atom in kept if atom not in hidden]
    if hidden:  # where they are not saved, the rule runs again
        found[0].update(places)
    while rest:
        atom = rest.pop()
        if isinstance(atom, jax_core.Literal) or atom in seen:
            continue
        seen.add(atom)
        if atom in outputs:
            found[1].add(outputs[atom])
        elif atom in inputs:
            found[0].add(inputs[atom])
        elif atom in makers:
            rest.extend(makers[atom].invars)
    return Needs(frozenset(found[0]), frozenset(found[1]), True, tuple(atom.aval for atom in hidden))
