#!/usr/bin/env python3
"""What evaluate.py makes of modules of whole numbers, beside what XLA:CPU computes: moves, slices, loops, branches and
arithmetic of whole numbers are exact there."""

import os
import sys
import unittest

import numpy as np

import evaluate
import hlo_reader

os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402


def scanned(x, w):
    """A stack that another loop reads from its end on, with an index that is outside of it at last."""
    _, stack = lax.scan(lambda c, row: (c * 3 + row, c - row), x[0], w)

    def back(i, c):
        return c ^ lax.dynamic_index_in_dim(stack, len(w) - i, keepdims=False)
    return lax.fori_loop(0, len(w), back, x[1])


def moved(x, w):
    padded = lax.pad(x, 7, [(1, -1, 0), (2, 0, 1)])
    turned = jnp.concatenate([padded.T, jnp.flip(padded.T, 0)], 1)
    return turned.reshape(-1)[3::2], jnp.broadcast_to(w[:, None, :2], (w.shape[0], 3, 2)).transpose(2, 0, 1)


def chosen(x, w):
    branch = lax.switch(jnp.abs(x[0, 0]) % 3, [lambda a: a + 1, lambda a: a * a, lambda a: -a], w)
    shifts = lax.shift_right_logical(branch, w) ^ (branch << 2)
    return jnp.where(branch > 4, jnp.clip(branch, -3, 9), branch % 5), jnp.right_shift(branch, 1) // 3 + shifts


def updated(x, w):
    def step(i, state):
        rows = lax.dynamic_slice(state, (i * 2 - 1, i), (2, 2))
        return lax.dynamic_update_slice(state, rows.T + i, (i, 3 - i))
    return lax.fori_loop(0, 5, step, x), w.astype(jnp.int8).astype(jnp.int16) * jnp.arange(6, dtype=jnp.int16)


def nested(x, w):
    def outer(c, row):
        return lax.fori_loop(0, 3, lambda i, d: jnp.roll(d, 1) + row * i, c), c[::-1]
    return lax.scan(outer, x[2], w, reverse=True)


class Evaluate(unittest.TestCase):
    def check(self, function):
        compiled = jax.jit(function).lower(jax.ShapeDtypeStruct((4, 6), jnp.int32),
                                           jax.ShapeDtypeStruct((5, 6), jnp.int32)).compile()
        text = compiled.as_text()
        shapes = {one.parameter_number: one.shape for one in hlo_reader.read(text).entry.instructions
                  if one.opcode == "parameter"}
        arguments = [evaluate.made_up(shapes[number], evaluate.salt(1, number)) for number in range(len(shapes))]
        found = jax.tree.leaves(compiled(*arguments))
        arrays = [np.asarray(leaf) for leaf in found]
        wanted = evaluate.digest(arrays if len(arrays) > 1 else arrays[0])
        self.assertEqual(evaluate.evaluate(text), int(wanted))

    def test_scan(self):
        self.check(scanned)

    def test_moves(self):
        self.check(moved)

    def test_branches(self):
        self.check(chosen)

    def test_updates(self):
        self.check(updated)

    def test_nested(self):
        self.check(nested)

    def test_other_values_differ(self):
        text = ("HloModule m\nENTRY %e (p: f32[3], q: f32[3]) -> f32[3] {\n  %p = f32[3]{0} parameter(0)\n"
                "  %q = f32[3]{0} parameter(1)\n  ROOT %r = f32[3]{0} add(%p, %q)\n}\n")
        values = {evaluate.evaluate(text), evaluate.evaluate(text, 2),
                  evaluate.evaluate(text.replace("(%p, %q)", "(%q, %q)")),
                  evaluate.evaluate(text.replace("add(", "subtract("))}
        self.assertEqual(len(values), 4)
        self.assertEqual(evaluate.evaluate(text.replace("%r", "%s")), evaluate.evaluate(text))


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False).result.wasSuccessful())
