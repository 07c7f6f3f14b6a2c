"""Programs about which XLA's copy-insertion has something to decide, most of them without a matrix
product: what XLA:CPU puts into libraries gives away that a module is compiled."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

PROGRAMS = {}  # name: (function, arguments, donated arguments)


def program(*arguments, donate=()):
    def add(function):
        PROGRAMS[function.__name__] = function, arguments, donate
        return function
    return add


def floats(*shape):
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


S, N = floats(64, 32), np.int32(3)


@program(S, S)
def no_loop(a, b):
    return jnp.sin(a) + b


@program(S, S, donate=(0,))
def donated(a, b):
    return a - 0.1 * b, jnp.sin(a)


@program(S, S, donate=(0, 1))
def donated_and_swapped(a, b):
    return b, a


@program(S, S, donate=(0, 1))
def donated_in_part(a, b):
    return a[:8] * 2, b + a, jnp.cos(b)


@program(S)
def handed_through(a):
    return a, a, jnp.float32(1)


@program(S, N)
def updated(a, n):
    return lax.dynamic_update_slice(a, jnp.ones((1, 32)), (n, 0)), a


@program(S, N, donate=(0,))
def updated_twice(a, n):
    b = a.at[n].set(1.0)
    return a.at[n].add(b[0]), b


@program(S, S, N, donate=(0, 1))
def rotated(a, b, n):
    return lax.fori_loop(0, n, lambda i, s: (s[1], s[2], s[0] + 1), (a, b, a * b))


@program(S, N)
def nothing_constant(a, n):
    """No part of the state begins as a constant."""
    return lax.while_loop(lambda s: s[1] < 9, lambda s: (jnp.sin(s[0]), s[1] + n), (a, n))


@program(S, N)
def nested(a, n):
    inner = functools.partial(lax.fori_loop, 0, n, lambda i, s: s * 1.5)
    return lax.fori_loop(0, 4, lambda i, s: inner(s) + a, a)


@program(S, S, N, donate=(0,))
def branch_in_scan(a, b, n):
    def step(s, x):
        s = lax.cond(x[0] > 0, lambda s: s.at[n].set(x), lambda s: s, s)
        return s, s.sum()
    return lax.scan(step, a, b)


@program(S, S, N)
def tuple_of_branches(a, b, n):
    return lax.switch(n, (lambda a, b: (a, b), lambda a, b: (b, a), lambda a, b: (a, jnp.ones_like(a))),
                      a, b)


@program(S, np.arange(64, dtype=np.int32), donate=(0,))
def sorted_and_scattered(a, rows):
    return jnp.sort(a, 0).at[rows].add(a), lax.top_k(a, 3)


@program(S)
def custom_calls(a):
    return jnp.linalg.svd(a, compute_uv=False), jnp.linalg.qr(a)[1]


@program(floats(5, 32, 32), S, donate=(0,))
def gradient_of_scan(w, x):
    def loss(w):
        return (lax.scan(lambda h, w: (jnp.tanh(h @ w), h.sum()), x, w)[0]**2).sum()
    return w - 0.1 * jax.grad(loss)(w)


def on_all(*specification):
    mesh = Mesh(np.array(jax.devices()), ("d",))
    return NamedSharding(mesh, PartitionSpec(*specification))


@program(S, S, N, donate=(0,))
def partitioned(a, b, n):
    def step(i, s):
        s = lax.with_sharding_constraint(s * 2, on_all("d"))
        return lax.with_sharding_constraint(s + b.sum(0), on_all(None, "d"))
    return lax.fori_loop(0, n, step, lax.with_sharding_constraint(a, on_all("d")))
