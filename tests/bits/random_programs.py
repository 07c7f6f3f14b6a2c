"""Random programs in which values share memory: donated arguments, branches and loops that hand their
operands through or permute them, updates in place, and old values that are read late. A program is a
function of its seed."""

import random

import jax
import jax.numpy as jnp
import numpy as np
from engine import Program
from jax import lax

ROWS, COLUMNS = 96, 32
FLOATS, INTEGERS = "floats", "integers"


def rename(seed, *path):
    """A generator for a body: JAX may trace one more than once, and must get the same each time."""
    return random.Random("/".join(map(str, (seed, *path))))


class Builder:
    """Makes operations on the values of one computation, old ones as likely as new ones."""

    def __init__(self, seed, path, values, around, depth):
        self.random = rename(seed, *path)
        self.seed, self.path, self.depth = seed, path, depth
        self.values = list(values)  # arrays of ROWS x COLUMNS, of either type
        self.weights, self.n, self.flag = around
        self.rows = []  # small results
        self.num_bodies = 0

    # ---- choices ----

    def kind_of(self, value):
        return FLOATS if value.dtype == jnp.float32 else INTEGERS

    def pick(self, kind=None):
        found = [v for v in self.values if kind is None or self.kind_of(v) == kind]
        return self.random.choice(found) if found else None

    def pick_float(self):
        value = self.pick(FLOATS)
        return self.pick().astype(jnp.float32) * 0.01 if value is None else value

    def like(self, value):
        return self.pick(self.kind_of(value))

    def number(self):
        """A row, known only when it runs or at once."""
        return self.random.choice((self.n, self.n + 1, self.random.randrange(ROWS)))

    def predicate(self):
        if self.rows and self.random.random() < 0.3:
            return self.random.choice(self.rows)[0] > 0
        return self.random.choice((self.flag, self.n > 2, ~self.flag))

    # ---- operations; each gives a value ----

    def elementwise(self):
        a = self.pick()
        b = self.like(a)
        if self.kind_of(a) == INTEGERS:
            return self.random.choice((lambda: a ^ (b >> 1), lambda: a * 3 + b, lambda: -a,
                                       lambda: jnp.where(self.flag, a, b)))()
        return self.random.choice((
            lambda: jnp.tanh(a + b), lambda: a * 0.5 + 1, lambda: jnp.sin(a) * b,
            lambda: jnp.maximum(a, b), lambda: jnp.where(self.flag, a, b), lambda: -a))()

    def product(self):
        return jnp.tanh(self.pick_float() @ self.random.choice(self.weights))

    def update_slice(self):
        a = self.pick()
        rows = self.random.choice((1, 4, ROWS // 2))
        return lax.dynamic_update_slice(a, self.like(a)[:rows], (self.number(), 0))

    def scatter(self):
        a = self.pick()
        places = np.array([self.random.randrange(ROWS - 8) for _ in range(8)])
        at = a.at[places + self.n] if self.random.random() < 0.5 else a.at[places]
        update = self.like(a)[:8]
        return self.random.choice((at.set, at.add, at.max))(update)

    def move(self):
        a = self.pick()
        return self.random.choice((lambda: jnp.sort(a, axis=0), lambda: jnp.roll(a, 5, 0),
                                   lambda: jnp.flip(a, 0), lambda: a[::-1].at[0].set(a[1]),
                                   lambda: jnp.cumsum(a, 0)))()

    def convert(self):
        a = self.pick()
        if self.kind_of(a) == FLOATS:
            return (jnp.clip(jnp.nan_to_num(a), -1e3, 1e3) * 100).astype(jnp.int32)
        return (a % 1000).astype(jnp.float32) * 0.01

    def peak(self):
        """What a backward pass reads lives here at once."""
        chosen = [self.random.choice(self.weights) for _ in range(self.random.randrange(2, 5))]

        def loss(x):
            for w in chosen:
                x = jnp.tanh(x @ w)
            return (x * x).sum()
        x = self.pick_float()
        x = x if self.random.random() < 0.5 else jnp.concatenate([x, x * 0.5])
        return jax.grad(loss)(x)[:ROWS]

    # ---- bodies ----

    def inner(self, values, n, flag):
        """What a branch or body makes: each place keeps, gets another's, or something new."""
        self_path = (*self.path, self.num_bodies)
        self.num_bodies += 1

        def run(values, n=n, flag=flag):
            builder = Builder(self.seed, self_path, values, (self.weights, n, flag), self.depth - 1)
            builder.grow(builder.random.choice((0, 1, 2, 4)))
            results, order = [], list(range(len(values)))
            if builder.random.random() < 0.5:
                builder.random.shuffle(order)
            for place, value in enumerate(values):
                choice = builder.random.random()
                other = values[order[place]]
                if choice < 0.5 and other.dtype == value.dtype:
                    results.append(other)  # handed through, or permuted
                else:
                    results.append(builder.like(value))
            return results
        return run

    def carries(self):
        """Sometimes one value twice."""
        return [self.pick() for _ in range(self.random.randrange(1, 4))]

    def branch(self, values=None):
        values = values or self.carries()
        if self.random.random() < 0.3:
            branches = [self.inner(values, self.n, self.flag) for _ in range(3)]
            return lax.switch(self.n % 3, branches, values)
        taken, other = (self.inner(values, self.n, self.flag) for _ in range(2))
        if self.random.random() < 0.4:
            def other(values):
                return values
        return lax.cond(self.predicate(), taken, other, values)

    def loop(self):
        values = self.carries()
        body = self.inner(values, self.n, self.flag)
        kind = self.random.randrange(4)
        if kind == 0:
            return lax.fori_loop(0, self.random.randrange(1, 5), lambda i, c: body(c, i), values)
        if kind == 1:
            return lax.fori_loop(0, self.n, lambda i, c: body(c, i), values)
        if kind == 2:
            limit = self.random.choice((10.0, 1e3))
            return lax.while_loop(
                lambda c: (c[0] < 4) & (jnp.abs(c[1][0][0, 0].astype(jnp.float32)) < limit),
                lambda c: (c[0] + 1, body(c[1], c[0])), (0, values))[1]
        is_stacked = self.random.random() < 0.5

        def turn(c, row):
            c = body(c, self.n, row[0] > 0)
            return c, (c[0][0] if is_stacked else None)
        values, stack = lax.scan(turn, values, self.pick_float()[:4])
        if is_stacked:
            self.rows.append(stack[0].astype(jnp.float32))
        return values

    def grow(self, count):
        simple = (self.elementwise, self.product, self.product, self.update_slice, self.scatter,
                  self.move, self.convert, self.peak)
        for _ in range(count):
            if self.depth > 0 and self.random.random() < 0.3:
                self.values += self.random.choice((self.branch, self.loop))()
                continue
            value = self.random.choice(simple)()
            self.values.append(value)
            if self.random.random() < 0.2:
                self.rows.append(value.astype(jnp.float32).sum(0))


def train(builder, weights):
    """New weights by one of the ways in which steps are taken, left out or undone."""
    x, pick, flag, n = builder.pick_float(), builder.random, builder.predicate(), builder.n

    def loss(weights, x):
        for w in weights:
            x = jnp.tanh(x @ w)
        return (x * x).mean()

    def descend(weights, gradients):
        return [w - 0.1 * g for w, g in zip(weights, gradients)]

    def keep(weights, gradients):
        return weights

    value, gradients = jax.value_and_grad(loss)(weights, x)
    builder.rows.append(jnp.ones(COLUMNS) * value)
    taken = pick.choice((descend, lambda w, g: g, lambda w, g: w[1:] + w[:1],
                         lambda w, g: [w[0] + 1, *w[1:]], lambda w, g: [*w[:-1], w[-1].at[n].set(0.0)]))
    other = pick.choice((keep, keep, descend, lambda w, g: [g[0], *w[1:]]))
    kind = pick.randrange(5)
    if kind == 0:
        return descend(weights, gradients)
    if kind == 1:
        return lax.cond(flag, taken, other, weights, gradients)
    if kind == 2:
        return lax.switch(n % 3, [keep, taken, other], weights, gradients)
    if kind == 3:
        return lax.fori_loop(0, n, lambda i, w: lax.cond(
            i == 1, taken, other, w, jax.grad(loss)(w, x)), weights)

    def turn(w, part):
        return lax.cond(part.sum() > 0, taken, other, w, jax.grad(loss)(w, part)), None
    return lax.scan(turn, weights, x.reshape(4, -1, COLUMNS))[0]


def make(seed):
    chooser = rename(seed, "arguments")
    kinds = [chooser.choice((FLOATS, FLOATS, FLOATS, INTEGERS))
             for _ in range(chooser.randrange(1, 5))]
    donated = [i for i in range(len(kinds)) if chooser.random() < 0.8]
    is_training = chooser.random() < 0.6
    num_operations = chooser.randrange(4, 16)

    def function(states, weights, n, flag):
        builder = Builder(seed, ("entry",), states, (weights, n, flag), depth=2)
        # Something of every state is read again at the end, when it may be gone; in between are
        # peaks that make it worth recomputing.
        kept = []
        for s in states:
            s = s if s.dtype == jnp.float32 else s.astype(jnp.float32) * 0.01
            kept += [jnp.tanh(s @ weights[0]), jnp.sin(s) @ weights[1], jnp.cumsum(s * s, 0)]
        builder.grow(num_operations // 2)
        builder.values += [*kept, builder.peak()]
        builder.grow(num_operations // 2)
        builder.values.append(builder.peak())
        pick = builder.random
        successors = [builder.like(states[i]) for i in donated]
        if donated and pick.random() < 0.5:  # a step that is taken or not, as optimizers have it
            updated = builder.branch([states[i] for i in donated] + successors)[:len(donated)]
            builder.values += updated
            successors = updated
            builder.grow(2)
        elif pick.random() < 0.3:  # what is donated goes into the place of something else donated
            successors = [pick.choice([s for s in states if s.dtype == v.dtype]) for v in successors]
        late = [k * builder.like(k) for k in kept if pick.random() < 0.8]
        if is_training:
            hidden = [jnp.tanh(builder.pick_float() @ w) for w in weights]
            successors = successors + train(builder, weights)
            for h in hidden:
                for w in weights[:pick.randrange(1, 4)]:
                    h = jnp.tanh(h @ w)
                late.append(h)
        others = [pick.choice(builder.values) for _ in range(pick.randrange(3))]
        return successors, builder.rows, [x.sum(0) for x in late], others

    def flat(*arguments):
        return function(arguments[:len(kinds)], *arguments[len(kinds):])

    state = tuple(donated) + ((len(kinds),) if is_training else ())

    def arguments(step):
        numbers = np.random.default_rng([seed, step])
        states = [numbers.standard_normal((ROWS, COLUMNS)).astype(np.float32) if kind == FLOATS else
                  numbers.integers(-1000, 1000, (ROWS, COLUMNS)).astype(np.int32) for kind in kinds]
        weights = [numbers.standard_normal((COLUMNS, COLUMNS)).astype(np.float32) * 0.25
                   for _ in range(3)]
        return (*states, weights, np.int32((1, 4, 2)[step % 3]), np.bool_(step % 2 == 0))

    return Program(f"random:{seed}", flat, arguments, state, state)
