"""The mark: a function whose evaluation a plan may change. What is active, a plan or what records marks, is part of the
key of JAX's caches, so that nothing is served that was traced otherwise."""

from __future__ import annotations

import functools
import os
import sys
import typing

import jax
import numpy as np

from . import binding
from .equations import flatten
from .rules import Rules

# None; or something with choose(mark, program), which returns a Block, or None where the program stays as it is.
active = jax.make_user_context(default_value=None)


class Mark:
    """What a marked function is called, and where it is."""

    def __init__(self, function, name):
        self.name = name or getattr(function, "__qualname__", type(function).__name__)
        code = getattr(_unwrapped(function), "__code__", None)
        self.source = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else ""


def _unwrapped(function):
    while hasattr(function, "__wrapped__") or isinstance(function, functools.partial):
        function = function.func if isinstance(function, functools.partial) else function.__wrapped__
    return function


def checkpoint(function: typing.Callable[..., typing.Any] | None = None, *, prevent_cse: bool = True,
               name: str | None = None) -> typing.Callable[..., typing.Any]:
    """Marks a function that is differentiated, or a part of one, for plans. Without a plan the function is called as it
    is; within `with plan:` it is evaluated with the checkpoints of the plan. A mark within a marked function does
    nothing. `prevent_cse` is that of jax.checkpoint: False where the call stands in the body of a scan. Arguments that
    are no arrays are constants, Python's numbers among them."""
    if function is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, name=name)
    mark = Mark(function, name)

    @functools.wraps(function)
    def call(*arguments, **named):
        chooser = active.value
        if chooser is None:
            return function(*arguments, **named)
        with active(None):
            given, pure, finish = _made_pure(function, arguments, named)
            return finish(_call(chooser, mark, pure, given, prevent_cse))
    return call


def _is_array(leaf):
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


def _call(chooser, mark, function, given, prevent_cse):
    """function(given), by what the chooser says. `given` is a tree."""
    leaves, tree = jax.tree.flatten(given)
    places = [place for place, leaf in enumerate(leaves) if _is_array(leaf)]
    made = {}

    def flat(*arrays):
        inner = list(leaves)
        for place, array in zip(places, arrays):
            inner[place] = array
        outputs, made["tree"] = jax.tree.flatten(function(jax.tree.unflatten(tree, inner)))
        made["static"] = [None if _is_array(one) else (one,) for one in outputs]
        return [one for one in outputs if _is_array(one)]
    arrays = [leaves[place] for place in places]
    program = flatten(jax.make_jaxpr(flat)(*arrays))
    block = chooser.choose(mark, program)
    if block is None:
        return function(given)
    results = iter(binding.evaluate(program, block, arrays, binding.Place(prevent_cse, Rules())))
    outputs = [one[0] if one is not None else next(results) for one in made["static"]]
    return jax.tree.unflatten(made["tree"], outputs)


def _made_pure(function, arguments, named):
    """(a tree of the arguments, a function of that tree, what is done with its result). Modules of Flax NNX among the
    arguments may be changed by the function: their state goes in and out."""
    nnx = sys.modules.get("flax.nnx")
    if nnx is None:
        return (arguments, named), lambda given: function(*given[0], **given[1]), lambda result: result

    def is_module(one):
        return isinstance(one, (nnx.Module, nnx.Variable, nnx.Rngs))
    leaves, tree = jax.tree.flatten((arguments, named), is_leaf=is_module)
    places = [place for place, leaf in enumerate(leaves) if is_module(leaf)]
    modules = tuple(leaves[place] for place in places)
    others = [None if is_module(leaf) else leaf for leaf in leaves]
    graph, state = nnx.split(modules)

    def pure(given):
        state, inner = given[0], list(given[1])
        merged = nnx.merge(graph, state)
        for place, module in zip(places, merged):
            inner[place] = module
        filled, filled_named = jax.tree.unflatten(tree, inner)
        return function(*filled, **filled_named), nnx.split(merged)[1]

    def finish(result):
        nnx.update(modules, result[1])
        return result[0]
    return (state, others), pure, finish
