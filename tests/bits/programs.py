"""Small JAX programs of many kinds, to be run before and after a rewriting.

Most keep a state in donated arguments and change it in place, in a branch or in a loop, between two
uses of something computed from it: what is recomputed at the second use must not read the state of
afterwards. Each has a peak of activations, so that budgets bite, and takes each of its branches in
one of its steps."""

import functools
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from engine import Program
from jax import lax

F32, BF16, S32 = jnp.float32, jnp.bfloat16, jnp.int32
PROGRAMS = {}
CONV = ("NHWC", "HWIO", "NHWC")


# ---- arguments ----

class Leaf:
    """An array as a function of a random generator and the step."""

    def __init__(self, make):
        self.make = make


def normal(*shape, scale=1.0, dtype=np.float32):
    return Leaf(lambda random, step: (random.standard_normal(shape) * scale).astype(dtype))


def integers(high, *shape, dtype=np.int32):
    return Leaf(lambda random, step: random.integers(0, high, shape).astype(dtype))


def key():
    return Leaf(lambda random, step: random.integers(0, 2**32, 2, dtype=np.uint32))


def zeros(*shape, dtype=np.float32):
    return Leaf(lambda random, step: np.zeros(shape, dtype))


def each(*values, dtype=None):
    """A number that is another in each step."""
    def make(random, step):
        value = np.asarray(values[step % len(values)])
        return value.astype(dtype or ("int32" if value.dtype.kind == "i" else
                                      "float32" if value.dtype.kind == "f" else value.dtype))
    return Leaf(make)


def sometimes_nan(*shape, at=(1,)):
    def make(random, step):
        values = random.standard_normal(shape).astype(np.float32)
        if step in at:
            values.flat[0] = np.nan
        return values
    return Leaf(make)


class From:
    """What a function makes of the arguments before it, an optimizer's state for instance."""

    def __init__(self, function):
        self.function = function


def arguments_of(name, specifications):
    seed = zlib.crc32(name.encode())

    @functools.cache
    def arguments(step):
        random = np.random.default_rng([seed, step])
        made = []
        for specification in specifications:
            if isinstance(specification, From):
                value = specification.function(*made)
            else:
                value = jax.tree.map(lambda leaf: leaf.make(random, step), specification)
            made.append(jax.tree.map(np.asarray, value))
        return tuple(made)
    return arguments


def add(name, function, *specifications, donate=(), feed=(), steps=3):
    assert name not in PROGRAMS, name
    PROGRAMS[name] = Program(name, function, arguments_of(name, specifications), donate, feed, steps)


def program(*specifications, **options):
    def register(function):
        add(function.__name__, function, *specifications, **options)
        return function
    return register


# ---- parts ----

WEIGHTS = [normal(32, 32, scale=0.25)] * 5
INPUT = normal(192, 32)
STATE = normal(128, 32)
FLAG = each(True, False, True)


def forward(weights, x, activation=jnp.tanh):
    for w in weights:
        x = activation(x @ w)
    return x


def loss_of(weights, x):
    return (forward(weights, x) ** 2).mean()


def descend(weights, gradients, rate=0.1):
    return jax.tree.map(lambda w, g: w - rate * g, weights, gradients)


def activations(weights, x):
    """Many at once: what the backward pass reads."""
    return jax.value_and_grad(loss_of, 1)(weights, x)


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


# ---- a state that changes between two uses of what was made from it ----

CHANGES = {}  # name: (state, flag, number, rows) -> state


def change(function):
    CHANGES[function.__name__] = function
    return function


@change
def plain(s, flag, n, rows):
    return s * 0.5 + 1


@change
def slice_update(s, flag, n, rows):
    return lax.dynamic_update_slice(s, rows, (n, 0))


@change
def scatter_set(s, flag, n, rows):
    return s.at[jnp.arange(8) * 3 + n].set(rows)


@change
def scatter_add(s, flag, n, rows):
    return s.at[jnp.array([3, 3, 5, 7, 7, 9, 120, 4]) + n].add(rows)


@change
def sorted_rows(s, flag, n, rows):
    return jnp.sort(s, axis=0)


@change
def cond_pass_through(s, flag, n, rows):
    return lax.cond(flag, lambda s: s * 0.5 + 1, lambda s: s, s)


@change
def cond_slice_update(s, flag, n, rows):
    return lax.cond(flag, lambda s: s.at[n].set(rows[0]), lambda s: s, s)


@change
def cond_scatter(s, flag, n, rows):
    return lax.cond(flag, lambda s: s.at[jnp.arange(8) + n].add(rows), lambda s: s, s)


@change
def cond_sort(s, flag, n, rows):
    return lax.cond(flag, lambda s: jnp.sort(s, axis=0), lambda s: s, s)


@change
def cond_both_update(s, flag, n, rows):
    return lax.cond(flag, lambda s: s.at[n].set(1.0), lambda s: s.at[n + 1].add(2.0), s)


@change
def cond_swap(s, flag, n, rows):
    top, bottom = s[:64], s[64:]
    top, bottom = lax.cond(flag, lambda a, b: (b, a), lambda a, b: (a, b), top, bottom)
    return jnp.concatenate([top, bottom])


@change
def cond_nested(s, flag, n, rows):
    def inner(s):
        return lax.cond(n > 2, lambda s: s.at[n].set(3.0), lambda s: s, s)
    return lax.cond(flag, inner, lambda s: s, s)


@change
def switch_four(s, flag, n, rows):
    return lax.switch(n % 4, [lambda s: s, lambda s: s.at[1].set(9.0), lambda s: -s,
                              lambda s: jnp.sort(s, axis=0)], s)


@change
def while_dynamic(s, flag, n, rows):
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 0.9 + 1), (0, s))[1]


@change
def while_slice_update(s, flag, n, rows):
    return lax.while_loop(lambda c: c[0] < n,
                          lambda c: (c[0] + 1, c[1].at[c[0]].set(c[1][c[0] + 1] * 2)), (0, s))[1]


@change
def fori_scatter(s, flag, n, rows):
    return lax.fori_loop(0, 5, lambda i, s: s.at[jnp.arange(8) + i].add(rows), s)


@change
def fori_sort(s, flag, n, rows):
    return lax.fori_loop(0, 3, lambda i, s: jnp.sort(s, axis=0) - s[i], s)


@change
def scan_swap(s, flag, n, rows):
    def turn(carry, row):
        a, b = carry
        return (b, a + row), b[0]
    (a, b), seen = lax.scan(turn, (s[:64], s[64:]), rows)
    return jnp.concatenate([a, b]).at[:8].add(seen)


@change
def scan_cond(s, flag, n, rows):
    def turn(s, row):
        return lax.cond(row[0] > 0, lambda s: s.at[n].add(row), lambda s: s, s), None
    return lax.scan(turn, s, rows)[0]


@change
def cond_while(s, flag, n, rows):
    def loop(s):
        return lax.fori_loop(0, n, lambda i, s: s.at[i].set(s[i + 1]), s)
    return lax.cond(flag, loop, lambda s: s, s)


@change
def while_cond_nested_while(s, flag, n, rows):
    def body(i, s):
        return lax.cond(i % 2 == 0,
                        lambda s: lax.fori_loop(0, i, lambda j, s: s.at[j].add(1.0), s),
                        lambda s: s, s)
    return lax.fori_loop(0, 4, body, s)


def sandwich(function, s, weights, x, flag, n, rows):
    """Once read before the peak, once behind the change."""
    h = jnp.tanh(s @ weights[0])
    g = jnp.sin(s) @ weights[1]
    value, gradient = activations(weights, x)
    first = (h * g).sum(0)
    s = function(s, flag, n, rows)
    return s, value, gradient @ weights[2], first, h + gradient[:128], (g * s).sum(1)


for _name, _change in CHANGES.items():
    add(f"sandwich_{_name}", functools.partial(sandwich, _change), STATE, WEIGHTS, INPUT, FLAG,
        each(5, 2, 7), normal(8, 32), donate=(0,), feed=(0,))


# ---- branches ----

def train(function, weights, x, *others):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    return *function(weights, gradients, *others), value, forward(weights[:3], x).sum(0)


@program(WEIGHTS, INPUT, FLAG, donate=(0,), feed=(0,))
def step_or_skip(weights, x, flag):
    """The skipped step hands the weights through."""
    return train(lambda w, g: (lax.cond(flag, descend, lambda w, g: w, w, g),), weights, x)


@program(WEIGHTS, INPUT, FLAG, donate=(0,), feed=(0,))
def step_or_gradients(weights, x, flag):
    """Either operand may be what a branch hands on."""
    return train(lambda w, g: (lax.cond(flag, lambda w, g: w, lambda w, g: g, w, g),), weights, x)


@program(WEIGHTS, WEIGHTS, INPUT, FLAG, donate=(0, 1), feed=(0, 1))
def branch_swaps(a, b, x, flag):
    return train(lambda a, g: lax.cond(flag, lambda a, b: (b, a), lambda a, b: (a, b),
                                       descend(a, g), b), a, x)


@program(WEIGHTS, WEIGHTS, INPUT, FLAG, donate=(0, 1), feed=(0, 1))
def branch_swaps_donated(a, b, x, flag):
    """What is swapped are parameters themselves."""
    value, gradient = activations(a, x)
    before = forward(b, gradient)
    new_a, new_b = lax.cond(flag, lambda a, b: (b, a), lambda a, b: (a, b), a, b)
    return new_a, new_b, value, before, forward(b[:2], x).sum(0), forward(a[:2], x).sum(0)


@program(WEIGHTS, WEIGHTS, INPUT, each(0, 1, 2, 3), donate=(0, 1), feed=(0, 1), steps=4)
def switch_rotates(a, b, x, index):
    value, gradients = jax.value_and_grad(loss_of)(a, x)
    new = lax.switch(index, [lambda a, b, g: (a, b), lambda a, b, g: (b, a),
                             lambda a, b, g: (descend(a, g), a),
                             lambda a, b, g: (a, descend(b, g))], a, b, gradients)
    return *new, value, forward(b, x).sum(0)


@program(STATE, STATE, WEIGHTS, INPUT, FLAG, donate=(0, 1), feed=(0, 1))
def branch_updates_one(a, b, weights, x, flag):
    h = jnp.tanh(a @ weights[0])
    k = jnp.tanh(b @ weights[1])
    value, gradient = activations(weights, x)
    a, b = lax.cond(flag, lambda a, b: (a.at[3].set(1.0), b), lambda a, b: (a, b.at[4].add(2.0)),
                    a, b)
    return a, b, value, gradient[:128] * h, (k * a).sum(0)


@program(STATE, WEIGHTS, INPUT, FLAG, each(False, False, True), donate=(0,), feed=(0,))
def branches_in_a_row(s, weights, x, first, second):
    h = jnp.tanh(s @ weights[0])
    value, gradient = activations(weights, x)
    s = lax.cond(first, lambda s: s * 2, lambda s: s, s)
    k = jnp.tanh(s @ weights[1])
    s = lax.cond(second, lambda s: s.at[5].set(0.0), lambda s: s, s)
    return s, value, gradient, h + k, (h * s).sum(0)


@program(STATE, WEIGHTS, INPUT, FLAG, donate=(0,), feed=(0,))
def branch_computes_and_passes(s, weights, x, flag):
    """The heavy part is in the branch: its own peak, with a parameter that is handed through."""
    def busy(s):
        value, gradient = activations(weights, x)
        return s + gradient[:128] * value, gradient.sum(0)
    new, seen = lax.cond(flag, busy, lambda s: (s, jnp.ones(32)), s)
    return new, seen, jnp.tanh(s @ weights[0]).sum(0)


@program(STATE, WEIGHTS, INPUT, FLAG, donate=(0,), feed=(0,))
def branch_in_place_in_peak(s, weights, x, flag):
    def busy(s):
        h = jnp.tanh(s @ weights[0])
        value, gradient = activations(weights, x)
        new = s.at[2].set(value)
        return new, h + gradient[:128], (h @ weights[1]).sum(0)

    def idle(s):
        return s, s, s[0]
    return lax.cond(flag, busy, idle, s)


@program(STATE, STATE, WEIGHTS, INPUT, FLAG, donate=(0, 1), feed=(0, 1))
def same_operand_twice(a, b, weights, x, flag):
    h = jnp.tanh(a @ weights[0])
    value, gradient = activations(weights, x)
    new_a, new_b = lax.cond(flag, lambda p, q: (p, q * 2), lambda p, q: (p + q, q), a, a)
    return new_a, new_b + b, value, h * gradient[:128]


@program([STATE] * 3, WEIGHTS, INPUT, each(0, 1, 2), donate=(0,), feed=(0,))
def switch_of_lists(states, weights, x, index):
    h = [jnp.tanh(s @ w) for s, w in zip(states, weights)]
    value, gradient = activations(weights, x)
    a, b, c = lax.switch(index, [lambda s: s, lambda s: [s[1], s[2], s[0]],
                                 lambda s: [s[0].at[0].set(1.0), s[2], s[1]]], states)
    return [a, b, c], value, gradient, sum(k * s for k, s in zip(h, states))


@program(WEIGHTS, INPUT, FLAG, donate=(0,), feed=(0,))
def gradient_through_branch(weights, x, flag):
    def loss(weights):
        h = lax.cond(flag, lambda h: forward(weights[:2], h), lambda h: h, x)
        return (forward(weights[2:], h) ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    return descend(weights, gradients), value


@program(WEIGHTS, INPUT, donate=(0,), feed=(0,))
def select_instead(weights, x):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    ok = jnp.isfinite(value)
    return jax.tree.map(lambda w, g: jnp.where(ok, w - 0.1 * g, w), weights, gradients), value


# ---- loops ----

@program(STATE, WEIGHTS, INPUT, donate=(0,), feed=(0,))
def carry_read_afterwards(s, weights, x):
    h = jnp.tanh(s @ weights[0])
    end = lax.fori_loop(0, 4, lambda i, c: jnp.tanh(c @ weights[1]) + c[i], s)
    value, gradient = activations(weights, x)
    return end, value, gradient[:128] + h, (s * end).sum(0), jnp.sin(h).sum(1)


@program(STATE, STATE, WEIGHTS, INPUT, donate=(0, 1), feed=(0, 1))
def carry_invariant(a, b, weights, x):
    """One part of the carry goes through unchanged."""
    h = jnp.tanh(a @ weights[0])
    value, gradient = activations(weights, x)
    _, new_a, same_b = lax.while_loop(lambda c: c[0] < 3,
                                      lambda c: (c[0] + 1, jnp.tanh(c[1] @ weights[1]) + c[2], c[2]),
                                      (0, a, b))
    return new_a, same_b, value, h * b, gradient, (h + same_b).sum(0)


@program(STATE, STATE, WEIGHTS, INPUT, each(1, 2, 3), donate=(0, 1), feed=(0, 1))
def carry_swaps(a, b, weights, x, n):
    h = jnp.tanh(a @ weights[0])
    value, gradient = activations(weights, x)
    new_a, new_b = lax.fori_loop(0, n, lambda i, c: (c[1], c[0] * 0.9), (a, b))
    return new_a, new_b, value, h * gradient[:128], (h * new_a).sum(0), (b * new_b).sum(0)


@program([STATE] * 3, WEIGHTS, INPUT, each(1, 2, 3), donate=(0,), feed=(0,))
def carry_rotates(states, weights, x, n):
    h = [jnp.tanh(s @ w) for s, w in zip(states, weights)]
    value, gradient = activations(weights, x)
    new = lax.fori_loop(0, n, lambda i, c: [c[1], c[2], c[0] + 1], states)
    return new, value, gradient, [k * s for k, s in zip(h, new)]


@program(STATE, WEIGHTS, INPUT, donate=(0,), feed=(0,))
def body_with_peak(s, weights, x):
    """A peak in each turn, around an update of the carry in place."""
    def turn(i, s):
        h = jnp.tanh(s @ weights[0])
        value, gradient = activations(weights, x + i)
        s = s.at[i].set(value)
        return s * 0.9 + (h * gradient[:128]) * s[0]
    return lax.fori_loop(0, 3, turn, s), (s * 2).sum()


@program(STATE, WEIGHTS, INPUT, donate=(0,), feed=(0,))
def body_with_branch_and_peak(s, weights, x):
    def turn(i, s):
        h = jnp.tanh(s @ weights[0])
        value, gradient = activations(weights, x + i)
        s = lax.cond(i % 2 == 0, lambda s: s.at[i].set(value), lambda s: s, s)
        return lax.cond(i == 1, lambda s: s, lambda s: s + h * gradient[:128], s)
    return (lax.fori_loop(0, 4, turn, s),)


@program(WEIGHTS, normal(4, 64, 32), FLAG, donate=(0,), feed=(0,))
def scan_of_steps(weights, xs, flag):
    def turn(weights, x):
        value, gradients = jax.value_and_grad(loss_of)(weights, x)
        weights = lax.cond(flag & (value > 0), descend, lambda w, g: w, weights, gradients)
        return weights, value
    return lax.scan(turn, weights, xs)


@program(normal(6, 32, 32, scale=0.25), INPUT, donate=(0,), feed=(0,))
def scan_over_layers(weights, x):
    def loss(weights):
        return (lax.scan(lambda h, w: (jnp.tanh(h @ w), h.sum()), x, weights)[0] ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    return weights - 0.1 * gradients, value


@program(normal(6, 32, 32, scale=0.25), INPUT, donate=(0,), feed=(0,))
def scan_checkpointed(weights, x):
    def loss(weights):
        layer = jax.checkpoint(lambda h, w: (jnp.tanh(h @ w), None))
        return (lax.scan(layer, x, weights)[0] ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    return weights - 0.1 * gradients, value


@program(normal(10, 64, 32), WEIGHTS, donate=(0,), feed=(0,))
def updates_of_slices(s, weights):
    h = jnp.tanh(s[0] @ weights[0])
    g = [jnp.tanh(s[i] @ weights[1]) for i in range(8)]
    s = lax.fori_loop(1, 10, lambda k, s: s.at[k].set(jnp.tanh(s[k - 1] @ weights[2])), s)
    return s, h, sum(g), [x.sum() for x in g]


@program(normal(64, 64), WEIGHTS, INPUT, donate=(0,), feed=(0,))
def heat(u, weights, x):
    value, gradient = activations(weights, x)

    def turn(i, u):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1]))
    return lax.fori_loop(0, 5, turn, u), value, gradient


@program(normal(64, 3), normal(64, 3), donate=(0, 1), feed=(0, 1))
def bodies(x, v):
    def turn(carry, _):
        x, v = carry
        apart = x[:, None] - x[None]
        distance = jnp.sqrt((apart**2).sum(-1) + 1e-3)
        v = v - 0.01 * (apart / distance[..., None] ** 3).sum(1)
        return (x + 0.01 * v, v), (v**2).sum()
    (new_x, new_v), energy = lax.scan(turn, (x, v), None, length=5)
    return new_x, new_v, energy, (new_x - x) @ jnp.ones((3, 3))


@program(normal(64, 64), normal(64), each(2, 5, 1))
def power_iteration(a, x, n):
    def turn(state):
        i, x = state
        y = a @ x
        return i + 1, y / jnp.linalg.norm(y)
    i, y = lax.while_loop(lambda s: s[0] < n, turn, (0, x))
    return y, y @ a @ y


@program(STATE, normal(50, 32), donate=(0, 1), feed=(0, 1))
def until_large(s, seen):
    def turn(state):
        i, s, seen = state
        return i + 1, s + 1, seen.at[i].set(s[0])
    i, new, seen = lax.while_loop(lambda c: (c[1].sum() < 20000) & (c[0] < 50), turn, (0, s, seen))
    return new, seen, i, (new - s).sum(0)


@program(normal(12, 24), STATE, donate=(1,), feed=())
def nested_scans(x, s):
    def outer(carry, row):
        c, s = carry
        c, out = lax.scan(lambda c, e: (c * 0.9 + e, c), c, row)
        return (c, s.at[0].add(c)), out
    h = jnp.tanh(s)
    (c, s), out = lax.scan(outer, (jnp.float32(0), s), x)
    return s, c, out, (h * s).sum(0)


@program(STATE, WEIGHTS, INPUT, FLAG, donate=(0,), feed=(0,))
def loop_inside_branch_inside_loop(s, weights, x, flag):
    h = jnp.tanh(s @ weights[0])
    value, gradient = activations(weights, x)

    def inner(i, s):
        return lax.fori_loop(0, 3, lambda j, s: s.at[j + i].set(s[j] * 0.5), s)

    def turn(i, s):
        return lax.cond(flag & (i != 1), lambda s: inner(i, s), lambda s: s, s)
    new = lax.fori_loop(0, 3, turn, s)
    return new, value, gradient, h * new


# ---- updates in place ----

@program(normal(500, 32), integers(500, 64), normal(64, 32), WEIGHTS, INPUT, donate=(0,), feed=(0,))
def embedding_update(table, rows, update, weights, x):
    h = jnp.tanh(table[:192] @ weights[0])
    value, gradient = activations(weights, x)
    table = table.at[rows].add(update)
    return table, value, h * gradient, table[rows]


@program(normal(500, 32), integers(500, 192), WEIGHTS, donate=(0, 2), feed=(0, 2))
def embedding_training(table, rows, weights):
    def loss(table, weights):
        return (forward(weights, table[rows]) ** 2).mean()
    value, (for_table, for_weights) = jax.value_and_grad(loss, (0, 1))(table, weights)
    return table - for_table, descend(weights, for_weights), value


@program(normal(64, 32), integers(64, 32), normal(32, 32), donate=(0,), feed=(0,))
def scatter_min_max(s, rows, update):
    h = jnp.tanh(s @ update)
    low, high = s.at[rows].min(update), s.at[rows].max(update)
    s = s.at[rows].multiply(0.5)
    return s, low @ update, high @ update, h, (h * s).sum(0)


@program(STATE, WEIGHTS, INPUT, each(3, 70, 127), donate=(0,), feed=(0,))
def ring_buffer(s, weights, x, at):
    """The oldest is read, then written over."""
    oldest = lax.dynamic_slice(s, (at, 0), (1, 32))
    h = jnp.tanh(s @ weights[0])
    value, gradient = activations(weights, x)
    s = lax.dynamic_update_slice(s, gradient[:1], (at, 0))
    return s, value, oldest * 2, h + gradient[:128], (h * s).sum()


@program(STATE, WEIGHTS, INPUT, donate=(0,), feed=(0,))
def updates_in_a_row(s, weights, x):
    h = [jnp.tanh(s @ weights[0])]
    for i in range(4):
        s = s.at[i].set(h[-1][i])
        h.append(jnp.tanh(s @ weights[i + 1]))
    value, gradient = activations(weights, x)
    return s, value, gradient, sum(h), [k.sum() for k in h]


@program(integers(1000, 128, 32), integers(128, 64), integers(1000, 64, 32), donate=(0,), feed=(0,))
def integers_in_place(s, rows, update):
    h = (s * 3) ^ (s >> 2)
    g = jnp.cumsum(h, axis=0)
    s = s.at[rows].add(update)
    k = jnp.sort(s, axis=0)
    return s, g - k, h ^ k, lax.population_count(s).sum(0)


@program(STATE, integers(128, 128), WEIGHTS, donate=(0,), feed=(0,))
def gather_own_rows(s, rows, weights):
    h = jnp.tanh(s @ weights[0])
    new = s[rows]
    return new, (h * new).sum(0), h @ weights[1]


@program(STATE, WEIGHTS, INPUT, donate=(0,), feed=(0,))
def transposed_in_place(s, weights, x):
    h = jnp.tanh(s @ weights[0])
    value, gradient = activations(weights, x)
    new = jnp.flip(s, 0).at[0].set(value)
    return new, h * gradient[:128], jnp.roll(s, 3, 0) @ weights[1]


@program(normal(8, 128, dtype=BF16), normal(128, 128, dtype=BF16), donate=(0,), feed=(0,))
def bf16_in_place(s, w):
    h = jnp.tanh(s @ w)
    g = jax.grad(lambda w: (jnp.tanh(jnp.tanh(s @ w) @ w).astype(F32) ** 2).sum())(w)
    s = s.at[2].set(h[0])
    return s, h @ w, g, (h * s).astype(F32).sum()


# ---- donated parameters that are handed on ----

@program(STATE, STATE, WEIGHTS, INPUT, donate=(0, 1), feed=(0, 1))
def outputs_swapped(a, b, weights, x):
    h, k = jnp.tanh(a @ weights[0]), jnp.tanh(b @ weights[1])
    value, gradient = activations(weights, x)
    return b, a, value, h * gradient[:128], k + gradient[:128]


@program(STATE, STATE, WEIGHTS, INPUT, donate=(0, 1), feed=(0, 1))
def outputs_shifted(a, b, weights, x):
    """A history of two: the older one is dropped."""
    h, k = jnp.tanh(a @ weights[0]), jnp.tanh(b @ weights[1])
    value, gradient = activations(weights, x)
    return gradient[:128] + h, a, value, (h * k).sum(0), k


@program(STATE, WEIGHTS, INPUT, donate=(0,), feed=(0,))
def donated_and_returned(s, weights, x):
    h = jnp.tanh(s @ weights[0])
    value, gradient = activations(weights, x)
    return s, value, h * gradient[:128], s.T @ h


@program([STATE] * 4, WEIGHTS, INPUT, donate=(0,), feed=(0,))
def several_donated(states, weights, x):
    h = [jnp.tanh(s @ w) for s, w in zip(states, weights)]
    value, gradient = activations(weights, x)
    new = [k * 0.5 + gradient[:128] for k in h[1:]] + [h[0]]
    return new, value, [(k * s).sum(0) for k, s in zip(h, reversed(states))]


@program(STATE, WEIGHTS, INPUT, donate=(0, 1), feed=(0, 1))
def everything_donated(s, weights, x):
    h = jnp.tanh(s @ weights[0])
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    return s + h, descend(weights, gradients), value, forward(weights[:2], s).sum(0)


# ---- training ----

def target_step(weights, target, x, n, tau=None, every=None):
    def loss(weights):
        wanted = lax.stop_gradient(forward(target, x))
        return ((forward(weights, x) - 0.9 * wanted) ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    new = descend(weights, gradients)
    if tau is not None:
        target = jax.tree.map(lambda t, w: (1 - tau) * t + tau * w, target, new)
    else:
        target = lax.cond(n % every == 0, lambda t, w: w, lambda t, w: t, target, new)
    return new, target, value, forward(target[:2], x).sum(0)


N = each(0, 1, 2, 3)
add("target_soft", functools.partial(target_step, tau=0.05), WEIGHTS, WEIGHTS, INPUT, N,
    donate=(0, 1), feed=(0, 1))
add("target_every_2", functools.partial(target_step, every=2), WEIGHTS, WEIGHTS, INPUT, N,
    donate=(0, 1), feed=(0, 1), steps=4)


@program(WEIGHTS, WEIGHTS, zeros(dtype=np.int32), INPUT, donate=(0, 1, 2), feed=(0, 1, 2), steps=4)
def average_every_2(weights, average, n, x):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    new = descend(weights, gradients)
    average = lax.cond(n % 2 == 1,
                       lambda a, w: jax.tree.map(lambda a, w: 0.9 * a + 0.1 * w, a, w),
                       lambda a, w: a, average, new)
    return new, average, n + 1, value, loss_of(average, x)


@program(WEIGHTS, WEIGHTS, INPUT, donate=(0, 1), feed=(0, 1))
def average_each_step(weights, average, x):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    new = descend(weights, gradients)
    average = jax.tree.map(lambda a, w: 0.9 * a + 0.1 * w, average, new)
    return new, average, value, forward(average, x).sum(0)


@program(WEIGHTS, each(1024.0), zeros(dtype=np.int32), sometimes_nan(192, 32), donate=(0, 1, 2),
         feed=(0, 1, 2))
def loss_scale(weights, scale, good, x):
    """Halved and the step skipped when a gradient is not finite, doubled after some good steps."""
    value, gradients = jax.value_and_grad(lambda w: loss_of(w, x) * scale)(weights)
    gradients = jax.tree.map(lambda g: g / scale, gradients)
    finite = jnp.all(jnp.array([jnp.isfinite(g).all() for g in gradients]))
    weights = lax.cond(finite, descend, lambda w, g: w, weights, gradients)
    scale, good = lax.cond(finite, lambda s, n: (jnp.where(n == 1, s * 2, s), n + 1),
                           lambda s, n: (s / 2, 0), scale, good)
    return weights, scale, good, value, forward(weights[:2], x).sum(0)


@program(WEIGHTS, INPUT, donate=(0,), feed=(0,))
def sharpness_aware(weights, x):
    gradients = jax.grad(loss_of)(weights, x)
    norm = jnp.sqrt(sum((g**2).sum() for g in gradients)) + 1e-6
    moved = jax.tree.map(lambda w, g: w + 0.05 * g / norm, weights, gradients)
    value, gradients = jax.value_and_grad(loss_of)(moved, x)
    return descend(weights, gradients), value, norm


@program(WEIGHTS, INPUT, N, donate=(0,), feed=(0,))
def sharpness_aware_sometimes(weights, x, n):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)

    def again(w, g):
        moved = jax.tree.map(lambda w, g: w + 0.05 * g, w, g)
        return descend(w, jax.grad(loss_of)(moved, x))
    return lax.cond(n % 2 == 0, again, descend, weights, gradients), value


@program(WEIGHTS, normal(4, 64, 32), donate=(0,), feed=(0,))
def accumulated_by_scan(weights, parts):
    def add_up(sums, part):
        value, gradients = jax.value_and_grad(loss_of)(weights, part)
        return jax.tree.map(jnp.add, sums, gradients), value
    gradients, values = lax.scan(add_up, jax.tree.map(jnp.zeros_like, weights), parts)
    return descend(weights, gradients), values


@program(WEIGHTS, WEIGHTS, zeros(dtype=np.int32), INPUT, donate=(0, 1, 2), feed=(0, 1, 2), steps=4)
def accumulated_over_steps(weights, sums, n, x):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    sums = jax.tree.map(jnp.add, sums, gradients)
    weights, sums = lax.cond(n % 2 == 1,
                             lambda w, s: (descend(w, s), jax.tree.map(jnp.zeros_like, s)),
                             lambda w, s: (w, s), weights, sums)
    return weights, sums, n + 1, value


@program(WEIGHTS, WEIGHTS, WEIGHTS, zeros(), INPUT, donate=(0, 1, 2, 3), feed=(0, 1, 2, 3))
def adam_by_hand(weights, mean, square, n, x):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, gradients)
    new = jax.tree.map(lambda w, m, s: w - 1e-2 * m / (jnp.sqrt(jnp.abs(s)) + 1e-8), weights, mean,
                       square)
    return new, mean, square, n + 1, value, forward(weights[:2], x).sum(0)


@program(WEIGHTS, INPUT, each(1.0, 50.0, 0.1), donate=(0,), feed=(0,))
def line_search(weights, x, rate):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)

    def worse(state):
        rate, n = state
        return (loss_of(descend(weights, gradients, rate), x) > value) & (n < 6)
    rate, n = lax.while_loop(worse, lambda s: (s[0] / 4, s[1] + 1), (rate, 0))
    return descend(weights, gradients, rate), value, n


@program(WEIGHTS, WEIGHTS, INPUT, each(0.5, 0.0, 0.7), donate=(0, 1), feed=(0, 1))
def best_so_far(weights, best, x, limit):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    best = lax.cond(value < limit, lambda w, b: w, lambda w, b: b, weights, best)
    return descend(weights, gradients), best, value, forward(best[:2], x).sum(0)


@program(WEIGHTS, WEIGHTS, INPUT, key(), donate=(0, 1), feed=(0, 1))
def accept_or_reject(weights, momentum, x, seed):
    """Hamiltonian Monte Carlo: a loop of steps, and all of it undone now and then."""
    def turn(i, c):
        w, p = c
        p = jax.tree.map(lambda p, g: p - 0.05 * g, p, jax.grad(loss_of)(w, x))
        return jax.tree.map(lambda w, p: w + 0.05 * p, w, p), p
    moved, p = lax.fori_loop(0, 3, turn, (weights, momentum))
    accept = jax.random.uniform(seed) < 0.5
    return *lax.cond(accept, lambda a, b: a, lambda a, b: b, (moved, p), (weights, momentum)), accept


@program(WEIGHTS, WEIGHTS, INPUT, normal(192, 32), donate=(0, 1), feed=(0, 1))
def two_networks(g, d, z, real):
    def judge(d, x):
        return jax.nn.log_sigmoid(forward(d, x)).mean()

    def loss_d(d):
        return -judge(d, real) + judge(d, forward(g, z))
    value_d, gradients = jax.value_and_grad(loss_d)(d)
    new_d = descend(d, gradients)
    value_g, gradients = jax.value_and_grad(lambda g: -judge(new_d, forward(g, z)))(g)
    return descend(g, gradients), new_d, value_d, value_g


@program(WEIGHTS, WEIGHTS, INPUT, N, donate=(0, 1), feed=(0, 1), steps=4)
def two_networks_in_turn(g, d, z, n):
    def step_d(g, d):
        return g, descend(d, jax.grad(loss_of)(d, forward(g, z)))

    def step_g(g, d):
        return descend(g, jax.grad(lambda g: loss_of(d, forward(g, z)))(g)), d
    before = forward(g, z)
    return *lax.cond(n % 2 == 0, step_d, step_g, g, d), before.sum(0)


# ---- optax ----

def optax_step(optimizer, weights, state, x, n):
    value, gradients = jax.value_and_grad(loss_of)(weights, x)
    updates, state = optimizer.update(gradients, state, weights)
    return optax.apply_updates(weights, updates), state, value, forward(weights[:2], x).sum(0)


def add_optax(name, optimizer, x=INPUT, steps=3):
    add(f"optax_{name}", functools.partial(optax_step, optimizer), WEIGHTS, From(optimizer.init), x, N,
        donate=(0, 1), feed=(0, 1), steps=steps)


NAN_INPUT = sometimes_nan(192, 32)
add_optax("sgd_momentum", optax.sgd(0.1, momentum=0.9))
add_optax("adam", optax.adam(1e-2))
add_optax("adamw_clipped", optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2)))
add_optax("lion", optax.lion(1e-2))
add_optax("adafactor", optax.adafactor(1e-2, min_dim_size_to_factor=16))
add_optax("lamb", optax.lamb(1e-2))
add_optax("apply_if_finite", optax.apply_if_finite(optax.adam(1e-2), 3), NAN_INPUT)
add_optax("apply_if_finite_sgd", optax.apply_if_finite(optax.sgd(1e-2), 1),
          sometimes_nan(192, 32, at=(1, 2)), 4)
add_optax("zero_nans", optax.chain(optax.zero_nans(), optax.adam(1e-2)), NAN_INPUT)
add_optax("skip_large", optax.MultiSteps(
    optax.adam(1e-2), 2, should_skip_update_fn=optax.skip_not_finite).gradient_transformation(),
    NAN_INPUT, 4)
add_optax("multi_steps", optax.MultiSteps(optax.adam(1e-2), 2).gradient_transformation(), steps=4)
add_optax("multi_steps_of_sgd", optax.MultiSteps(optax.sgd(1e-2), 3).gradient_transformation(),
          steps=4)
add_optax("apply_every", optax.chain(optax.apply_every(2), optax.sgd(1e-2)), steps=4)
add_optax("ema", optax.chain(optax.adam(1e-2), optax.ema(0.9)))
add_optax("schedule", optax.adam(optax.warmup_cosine_decay_schedule(0.0, 1e-2, 2, 6)))
add_optax("masked", optax.masked(optax.adam(1e-2), [True, False, True, False, True]))


def lookahead_step(optimizer, params, state, x):
    value, gradients = jax.value_and_grad(lambda p: loss_of(p.fast, x))(params)
    updates, state = optimizer.update(gradients.fast, state, params)
    return optax.apply_updates(params, updates), state, value


LOOKAHEAD = optax.lookahead(optax.adam(1e-2), 2, 0.5)
add("optax_lookahead", functools.partial(lookahead_step, LOOKAHEAD),
    From(lambda: optax.LookaheadParams.init_synced(
        [np.random.default_rng(i).standard_normal((32, 32)).astype(np.float32) * 0.25
         for i in range(5)])),
    From(LOOKAHEAD.init), INPUT, donate=(0, 1), feed=(0, 1), steps=4)


# ---- transformers and caches ----

WIDTH, HEADS, WORDS = 32, 2, 60
LAYER = {name: normal(WIDTH, WIDTH, scale=0.2) for name in "qkvo"} | {
    "up": normal(WIDTH, 64, scale=0.2), "down": normal(64, WIDTH, scale=0.2)}
GPT = {"words": normal(WORDS, WIDTH, scale=0.2), "layers": [LAYER] * 2}
CACHE = normal(2, 2, 2, 32, HEADS, WIDTH // HEADS)  # layer, key or value, sequence, position, ...


def normalize(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def gpt_layer(x, layer):
    batch, length, width = x.shape
    h = normalize(x)
    q, k, v = ((h @ layer[name]).reshape(batch, length, HEADS, -1) for name in "qkv")
    scores = jnp.einsum("bnhd,bmhd->bhnm", q, k) / np.sqrt(width / HEADS)
    scores = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9))
    x = x + jnp.einsum("bhnm,bmhd->bnhd", scores, v).reshape(x.shape) @ layer["o"]
    return x + jax.nn.gelu(normalize(x) @ layer["up"]) @ layer["down"]


def gpt_loss(parameters, tokens, layer=gpt_layer):
    x = parameters["words"][tokens]
    for weights in parameters["layers"]:
        x = layer(x, weights)
    return cross_entropy((x @ parameters["words"].T)[:, :-1], tokens[:, 1:])


TOKENS = integers(WORDS, 4, 24)


@program(GPT, TOKENS, donate=(0,), feed=(0,))
def gpt_sgd(parameters, tokens):
    value, gradients = jax.value_and_grad(gpt_loss)(parameters, tokens)
    return descend(parameters, gradients), value


@program(GPT, TOKENS, FLAG, donate=(0,), feed=(0,), steps=2)
def gpt_skips(parameters, tokens, flag):
    value, gradients = jax.value_and_grad(gpt_loss)(parameters, tokens, jax.checkpoint(gpt_layer))
    return lax.cond(flag, lambda p, g: p, descend, parameters, gradients), value


def decode(parameters, cache, token, position):
    x = parameters["words"][token]
    for i, layer in enumerate(parameters["layers"]):
        q, k, v = ((x @ layer[name]).reshape(2, HEADS, -1) for name in "qkv")
        new = jnp.stack([k, v])[None, :, :, None]
        cache = lax.dynamic_update_slice(cache, new, (i, 0, 0, position, 0, 0))
        scores = jnp.einsum("bhd,bnhd->bhn", q, cache[i, 0])
        scores = jax.nn.softmax(jnp.where(jnp.arange(32) <= position, scores, -1e9))
        x = x + jnp.einsum("bhn,bnhd->bhd", scores, cache[i, 1]).reshape(2, WIDTH) @ layer["o"]
        x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
    return cache, x @ parameters["words"].T


@program(CACHE, GPT, integers(WORDS, 2), each(3, 4, 5), donate=(0,), feed=(0,))
def decode_step(cache, parameters, token, position):
    return decode(parameters, cache, token, position)


@program(CACHE, GPT, integers(WORDS, 2), donate=(0,), feed=(0,))
def generate(cache, parameters, token):
    def turn(carry, position):
        cache, token = carry
        cache, logits = decode(parameters, cache, token, position)
        token = logits.argmax(-1).astype(S32)
        return (cache, token), token
    (cache, _), tokens = lax.scan(turn, (cache, token), jnp.arange(6))
    return cache, tokens


@program(CACHE, GPT, integers(WORDS, 2), each(4, 1, 6), donate=(0,), feed=(0,))
def generate_until(cache, parameters, token, limit):
    def turn(carry):
        cache, token, n = carry
        cache, logits = decode(parameters, cache, token, n)
        return cache, logits.argmax(-1).astype(S32), n + 1
    cache, token, n = lax.while_loop(lambda c: c[2] < limit, turn, (cache, token, 0))
    return cache, token, n


@program(CACHE, GPT, integers(WORDS, 2), each(3, 4, 5), FLAG, donate=(0,), feed=(0,))
def decode_speculative(cache, parameters, token, position, accept):
    """The new cache is kept, or the old one handed through."""
    new, logits = decode(parameters, cache, token, position)
    probabilities = jax.nn.softmax(logits)
    cache = lax.cond(accept, lambda old, new: new, lambda old, new: old, cache, new)
    return cache, probabilities, cache.sum((3, 4, 5))


@program(CACHE, integers(2, 2), WEIGHTS, INPUT, donate=(0,), feed=(0,))
def cache_reordered(cache, order, weights, x):
    """A beam search's: the sequences change places."""
    h = jnp.tanh(cache.reshape(-1, 32) @ weights[0])
    value, gradient = activations(weights, x)
    return cache[:, :, order], value, gradient, h


@program(normal(8, 16, 32), integers(8, 4, 4), normal(4, 16, 32), WEIGHTS, INPUT, donate=(0,), feed=(0,))
def paged_cache(pages, table, new, weights, x):
    h = jnp.tanh(pages[table[:, 0]] @ weights[0])
    value, gradient = activations(weights, x)
    pages = pages.at[table[0]].set(new)
    return pages, value, gradient, h, pages[table[:, 1]] * h


@program(*[normal(2, 2, 48, 16)] * 3)
def attention(q, k, v):
    def loss(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4
        scores = jnp.where(jnp.tril(jnp.ones((48, 48), bool)), scores, -1e9)
        return (jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v) ** 2).sum()
    return jax.grad(loss, (0, 1, 2))(q, k, v)


@program(*[normal(4, 16, 32)] * 3)
def attention_in_blocks(q, k, v):
    """Softmax by running maxima, a loop with several carries."""
    def turn(carry, block):
        m, total, out = carry
        k, v = block
        scores = jnp.einsum("nqd,kd->nqk", q, k)
        new = jnp.maximum(m, scores.max(-1))
        p = jnp.exp(scores - new[..., None])
        old = jnp.exp(m - new)
        return (new, total * old + p.sum(-1), out * old[..., None] + jnp.einsum(
            "nqk,kd->nqd", p, v)), None
    begin = jnp.full((4, 16), -1e30), jnp.zeros((4, 16)), jnp.zeros((4, 16, 32))
    (_, total, out), _ = lax.scan(turn, begin, (k, v))
    return out / total[..., None]


# ---- programs of all kinds ----

@program([normal(64, 64, scale=0.2)] * 5, normal(128, 64), integers(10, 128))
def mlp(weights, x, labels):
    return jax.grad(lambda w: cross_entropy(forward(w, x, jax.nn.gelu), labels))(weights)


@program(normal(3, 3, 3, 8, scale=0.3), normal(3, 3, 8, 8, scale=0.2), normal(4, 16, 16, 3),
         donate=(0, 1), feed=(0, 1))
def convolutions(first, second, x):
    def conv(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=CONV)

    def loss(first, second):
        h = jax.nn.relu(conv(x, first))
        h = jnp.tanh(conv(h, second)) + h
        h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        return (jnp.tanh(conv(h, second)) ** 2).mean()
    value, gradients = jax.value_and_grad(loss, (0, 1))(first, second)
    return *descend((first, second), gradients), value


@program(normal(16), normal(4, 12, 12, 16), normal(16), donate=(0, 2), feed=(0, 2))
def batch_norm(scale, x, running):
    def loss(scale):
        mean = x.mean((0, 1, 2))
        h = (x - mean) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5) * scale
        return (jnp.tanh(h) ** 2).mean(), 0.9 * running + 0.1 * mean
    (value, running), gradient = jax.value_and_grad(loss, has_aux=True)(scale)
    return scale - gradient, running, value


@program(normal(20, 16, 16), normal(16, 128, scale=0.2), normal(32, 128, scale=0.2), donate=(1, 2),
         feed=(1, 2))
def lstm(xs, w, u):
    def loss(w, u):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ w + h @ u, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((16, 32))
        return (lax.scan(cell, (zero, zero), xs)[1] ** 2).mean()
    value, (dw, du) = jax.value_and_grad(loss, (0, 1))(w, u)
    return w - dw, u - du, value


@program(normal(64, 32), normal(4, 32, 32, scale=0.2), normal(4, 32, 32, scale=0.2), normal(32, 4))
def mixture_of_experts(x, up, down, router):
    def loss(up, down, router):
        weight, expert = lax.top_k(jax.nn.softmax(x @ router), 2)
        chosen = (jax.nn.one_hot(expert, 4) * weight[..., None]).sum(1)
        hidden = jax.nn.gelu(jnp.einsum("nd,edf,ne->enf", x, up, chosen))
        return (jnp.einsum("enf,efd->nd", hidden, down) ** 2).mean()
    return jax.grad(loss, (0, 1, 2))(up, down, router)


@program(normal(100, 16), normal(16, 16), integers(100, 300), integers(100, 300))
def graph_network(x, w, source, target):
    def loss(w):
        h = x
        for _ in range(3):
            h = jnp.tanh(jax.ops.segment_sum(jax.nn.relu(h[source] @ w), target, 100) / 3 + h)
        return (h**2).sum()
    return jax.grad(loss)(w)


@program(normal(500, 8), donate=(0,), feed=(0,))
def sorting(x):
    order = jnp.argsort(x[:, 0])
    return x[order], jnp.sort(x, 0), lax.top_k(x.T, 5), order


@program(normal(64, 64), donate=(0,), feed=(0,))
def fourier(x):
    y = jnp.fft.fft2(x)
    return jnp.fft.ifft2(y * 0.9).real, jnp.abs(y), jnp.angle(y)


@program(normal(24, 24))
def linear_algebra(x):
    a = x @ x.T + 24 * jnp.eye(24)
    lower = jnp.linalg.cholesky(a)
    solved = jax.scipy.linalg.solve_triangular(lower, x, lower=True)
    q, r = jnp.linalg.qr(x)
    return lower, solved, q @ r, jnp.linalg.inv(a), jnp.linalg.slogdet(a)


@program(normal(64, 64), normal(64, 64), normal(64, 64, scale=0.1))
def int8_product(x, w, s):
    def quantize(x):
        scale = jnp.abs(x).max() / 127
        return jnp.round(x / scale).astype(jnp.int8), scale
    (a, p), (b, q) = quantize(x), quantize(w)
    y = lax.dot(a, b, preferred_element_type=S32).astype(F32) * p * q
    return jnp.tanh(y) @ s, (y * s).sum(), a


@program(normal(96, 64), [normal(64, 64, scale=0.2)] * 4)
def float8_activations(x, weights):
    kept = []
    for w in weights:
        x = jnp.tanh(x @ w)
        kept.append(x.astype(jnp.float8_e4m3fn))
    return x, sum(k.astype(F32) for k in reversed(kept))


@program(normal(128, 64), [normal(64, 64, scale=0.2)] * 4, donate=(1,), feed=(1,))
def mixed_precision(x, weights):
    def loss(weights):
        h = x.astype(BF16)
        for w in weights:
            h = jnp.tanh(h @ w.astype(BF16))
        return (h.astype(F32) ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    return descend(weights, gradients), value


@jax.custom_vjp
def straight_through(x):
    return jnp.round(x * 4) / 4


straight_through.defvjp(lambda x: (straight_through(x), jnp.abs(x) < 2),
                        lambda kept, g: (jnp.where(kept, g, 0),))


@program(WEIGHTS, INPUT, donate=(0,), feed=(0,))
def custom_gradient(weights, x):
    value, gradients = jax.value_and_grad(
        lambda w: (forward(w, x, lambda h: straight_through(jnp.tanh(h))) ** 2).mean())(weights)
    return descend(weights, gradients), value


@program(WEIGHTS, normal(24, 32))
def gradients_by_example(weights, x):
    gradients = jax.vmap(jax.grad(loss_of), (None, 0))(weights, x)
    norms = jnp.sqrt(sum((g**2).sum((1, 2)) for g in gradients))
    return [(g / norms[:, None, None]).sum(0) for g in gradients]


@program(normal(3, 5), normal(7, 5))
def hessian(a, b):
    return jax.hessian(lambda a: jnp.log(jnp.cosh(a @ b.T)).sum())(a)


@program(key(), WEIGHTS, INPUT, donate=(1,), feed=(1,))
def dropout(seed, weights, x):
    def loss(weights):
        h = x
        for i, w in enumerate(weights):
            keep = jax.random.bernoulli(jax.random.fold_in(seed, i), 0.8, h.shape)
            h = jnp.tanh(h @ w) * keep / 0.8
        return (h**2).mean()
    value, gradients = jax.value_and_grad(loss)(weights)
    return descend(weights, gradients), value


@program(key(), donate=(0,), feed=(0,))
def random_numbers(seed):
    keys = jax.random.split(seed, 4)
    return (keys[0], jax.random.normal(keys[1], (64, 64)), jax.random.permutation(keys[2], 50),
            jax.random.uniform(keys[3], (77,)))


@program(normal(16, 64), normal(64, 64, scale=0.2))
def deep_equilibrium(x, w):
    def turn(c):
        n, z, _ = c
        return n + 1, jnp.tanh(z @ w + x), jnp.abs(z).max()
    return lax.while_loop(lambda c: (c[0] < 20) & (c[2] > 1e-3), turn,
                          (0, jnp.zeros_like(x), jnp.float32(1)))


@program(normal(400), normal(4, 400))
def prefix_sums(x, y):
    return (lax.associative_scan(jnp.multiply, x * 0.1), jnp.cumsum(y, 1), lax.cummax(y, 1),
            jax.vmap(lambda r: jnp.interp(x[:20], r, y[0]))(jnp.sort(y, 1)))


@program(normal(17, 31, 13), donate=(0,))
def moves(x):
    product = x.transpose(2, 0, 1).reshape(13, -1) @ x.reshape(17 * 31, 13)
    return jnp.flip(x, 1), product, jnp.roll(x, 3, 0), jnp.pad(x, 1)


@program(normal(60, 40))
def reductions(x):
    return (x.sum(0), x.max(1), x.argmax(0), jnp.median(x), x.prod(), jnp.any(x > 0),
            jnp.quantile(x, 0.3), jax.nn.logsumexp(x, 1))


@program(integers(200, 100, dtype=np.uint8), integers(3000, 100, dtype=np.int16), donate=(1,))
def integer_arithmetic(a, b):
    return ((a.astype(S32) << 3) ^ b, b + 1, lax.population_count(a), jnp.bincount(a, length=10))


@program(normal(64, 16, dtype=np.complex64), donate=(0,), feed=(0,))
def complex_numbers(x):
    y = jnp.fft.fft(x)
    return jnp.fft.ifft(y * jnp.conj(y)) / 100, jnp.real(y), jnp.abs(x)


@program(normal(4, 4), normal(2, 4), normal(20, 2), normal(4), From(lambda *_: np.eye(
    4, dtype=np.float32)), donate=(3, 4), feed=(3, 4))
def kalman_filter(a, c, seen, mean, variance):
    def turn(state, y):
        m, p = 0.5 * a @ state[0], 0.1 * a @ state[1] @ a.T + jnp.eye(4)
        gain = jnp.linalg.solve(c @ p @ c.T + jnp.eye(2), c @ p).T
        return (m + gain @ (y - c @ m), p - gain @ c @ p), m
    (mean, variance), means = lax.scan(turn, (mean, variance), seen)
    return mean, variance, means


@program(normal(128, 6), integers(128, 16), normal(16, 6), WEIGHTS, INPUT, FLAG, donate=(0,),
         feed=(0,))
def replay_buffer(memory, rows, new, weights, x, full):
    sample = jnp.tanh(memory[rows] @ jnp.ones((6, 32)))
    value, gradient = activations(weights, x)
    memory = lax.cond(full, lambda m: lax.dynamic_update_slice(jnp.roll(m, 16, 0), new, (0, 0)),
                      lambda m: m, memory)
    return memory, value, gradient, sample, memory[rows]


# ---- HLO by hand: some copies are there, others XLA has yet to insert ----

def hand(name, text, *specifications, feed=(), steps=3):
    PROGRAMS[name] = Program(name, None, arguments_of(name, specifications), (), feed, steps, text)


HAND_HEAD = """HloModule {name}, input_output_alias={{ {alias} }}
sum {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}}
keep {{
  k = (f32[128,32], f32[128,32]) parameter(0)
  a = f32[128,32] get-tuple-element(k), index=0
  b = f32[128,32] get-tuple-element(k), index=1
  ROOT t = (f32[128,32], f32[128,32]) tuple(a, b)
}}
swap {{
  k = (f32[128,32], f32[128,32]) parameter(0)
  a = f32[128,32] get-tuple-element(k), index=0
  b = f32[128,32] get-tuple-element(k), index=1
  ROOT t = (f32[128,32], f32[128,32]) tuple(b, a)
}}
copied {{
  k = (f32[128,32], f32[128,32]) parameter(0)
  a = f32[128,32] get-tuple-element(k), index=0
  b = f32[128,32] get-tuple-element(k), index=1
  c = f32[128,32] copy(b)
  ROOT t = (f32[128,32], f32[128,32]) tuple(c, a)
}}
turn {{
  k = (s32[], f32[128,32], f32[128,32]) parameter(0)
  i = s32[] get-tuple-element(k), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  a = f32[128,32] get-tuple-element(k), index=1
  b = f32[128,32] get-tuple-element(k), index=2
  c = f32[128,32] copy(a)
  n = f32[128,32] negate(b)
  ROOT t = (s32[], f32[128,32], f32[128,32]) tuple(j, n, c)
}}
more {{
  k = (s32[], f32[128,32], f32[128,32]) parameter(0)
  i = s32[] get-tuple-element(k), index=0
  three = s32[] constant(3)
  ROOT r = pred[] compare(i, three), direction=LT
}}
ENTRY main {{
  x = f32[128,32] parameter(0)
  y = f32[128,32] parameter(1)
  w = f32[32,32] parameter(2)
  flag = pred[] parameter(3)
  d0 = f32[128,32] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h0 = f32[128,32] tanh(d0)
  d1 = f32[128,32] dot(h0, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h1 = f32[128,32] tanh(d1)
  d2 = f32[128,32] dot(h1, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h2 = f32[128,32] tanh(d2)
{body}
}}
"""
HAND_ALIAS = {"both": "{0}: (0, {}, may-alias), {1}: (1, {}, may-alias)",
              "crossed": "{0}: (1, {}, may-alias), {1}: (0, {}, may-alias)",
              "one": "{1}: (0, {}, may-alias)"}
HAND_TAIL = """  m0 = f32[128,32] multiply(h2, h0)
  m1 = f32[128,32] dot(m0, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  m2 = f32[128,32] multiply(m1, h1)
  m3 = f32[128,32] add(m2, d0)
  ROOT out = (f32[128,32], f32[128,32], f32[128,32], f32[128,32]) tuple(n0, n1, m3, h2)"""
HAND_BODIES = {
    "branch": """  o = (f32[128,32], f32[128,32]) tuple(x, y)
  c = (f32[128,32], f32[128,32]) conditional(flag, o, o), true_computation={a}, false_computation={b}
  n0 = f32[128,32] get-tuple-element(c), index=0
  n1 = f32[128,32] get-tuple-element(c), index=1
""",
    "branch_copied": """  x1 = f32[128,32] copy(x)
  o = (f32[128,32], f32[128,32]) tuple(x1, y)
  c = (f32[128,32], f32[128,32]) conditional(flag, o, o), true_computation={a}, false_computation={b}
  g0 = f32[128,32] get-tuple-element(c), index=0
  n1 = f32[128,32] get-tuple-element(c), index=1
  n0 = f32[128,32] copy(g0)
""",
    "loop": """  zero = s32[] constant(0)
  y1 = f32[128,32] copy(y)
  o = (s32[], f32[128,32], f32[128,32]) tuple(zero, x, y1)
  c = (s32[], f32[128,32], f32[128,32]) while(o), condition=more, body=turn
  n0 = f32[128,32] get-tuple-element(c), index=1
  n1 = f32[128,32] get-tuple-element(c), index=2
"""}

for _body, _alias, _a, _b in (
        ("branch", "both", "keep", "swap"), ("branch", "crossed", "keep", "swap"),
        ("branch", "one", "swap", "keep"), ("branch", "both", "keep", "copied"),
        ("branch", "crossed", "copied", "swap"), ("branch_copied", "both", "keep", "swap"),
        ("branch_copied", "crossed", "copied", "keep"), ("branch_copied", "one", "swap", "keep"),
        ("loop", "both", "", ""), ("loop", "crossed", "", ""), ("loop", "one", "", "")):
    _name = "_".join(part for part in ("hand", _body, _alias, _a, _b) if part)
    hand(_name, HAND_HEAD.format(name=_name, alias=HAND_ALIAS[_alias],
                                 body=HAND_BODIES[_body].format(a=_a, b=_b) + HAND_TAIL),
         STATE, STATE, normal(32, 32, scale=0.25), FLAG, feed=(0, 1))
