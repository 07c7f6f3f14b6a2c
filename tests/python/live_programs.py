"""Programs for the tests of remat_hlo.jax: small enough to compile within a second, and large enough to
have something to save. Each is (function, arguments, donated arguments)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


def normal(seed, *shape, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def weights(count=8, width=256):
    return [normal(i, width, width, scale=width**-0.5) for i in range(count)]


def forward(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    return x


def loss(ws, x):
    return (forward(ws, x)**2).mean()


def mlp():
    return jax.grad(loss), (weights(), normal(99, 4096, 256)), ()


def training_step():
    """The weights are donated, and overwritten in place."""
    def step(ws, x):
        value, gradients = jax.value_and_grad(loss)(ws, x)
        return [w - 0.1 * g for w, g in zip(ws, gradients)], value
    return step, (weights(), normal(99, 4096, 256)), (0,)


def scan():
    def step(ws, x):
        def total(ws):
            return (jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)[0]**2).mean()
        return jax.grad(total)(ws)
    return step, (np.stack(weights()), normal(99, 2048, 256)), ()


def conditional():
    def step(ws, x, flag):
        def total(ws):
            h = forward(ws[:4], x)
            h = jax.lax.cond(flag, lambda h: forward(ws[4:], h), lambda h: -h, h)
            return (h**2).mean()
        return jax.grad(total)(ws)
    return step, (weights(), normal(99, 4096, 256), np.True_), ()


def low_precision():
    def step(ws, x):
        def total(ws):
            h = x.astype(jnp.bfloat16)
            for w in ws:
                h = jnp.tanh(h @ w.astype(jnp.bfloat16))
            return (h.astype(jnp.float32)**2).mean()
        return jax.grad(total)(ws)
    return step, (weights(), normal(99, 4096, 256)), ()


def constants():
    """Values in the program itself, which the text must have in full."""
    ws, shift = weights(), normal(5, 256)
    return jax.grad(lambda x: (forward(ws, x + shift)**2).mean()), (normal(99, 4096, 256),), ()


def chain():
    """The fusions of the backward pass compute the gradient of all layers behind them, each for itself."""
    def step(ws, x):
        def total(ws):
            h = x
            for w in ws:
                h = jnp.tanh(h @ w) * h
            return (h**2).mean()
        return jax.value_and_grad(total)(ws)
    return step, (weights(8, 128), normal(99, 2048, 128)), ()


def _mix(s, w, kept):
    for _ in range(4):
        s = jnp.tanh(s @ w)
    for value in kept:
        s = jnp.tanh(s @ w + value)
    return s


def overwritten_parameter():
    """x is donated and overwritten in place, while what was computed from it is still to be read."""
    def step(x, w):
        kept = [x @ (w * (i + 1)) for i in range(4)]
        new = jax.lax.dynamic_update_slice(x, x[:64] * 2, (0, 0))
        return new, _mix(new, w, kept)
    return step, (normal(1, 2048, 256), normal(2, 256, 256, scale=1 / 16)), (0,)


def overwritten_carry():
    """A loop's state takes the memory of a value, while what was computed from that is still to be
    read."""
    def step(x, w):
        base = jnp.tanh(x @ w)
        kept = [base @ (w * (i + 1)) for i in range(4)]
        # All readers of `base` come before the loop, so that XLA does not copy it.
        first = sum(value[0, 0] for value in kept)
        base, _ = jax.lax.fori_loop(0, 3, lambda i, c: (jnp.tanh(c[0] @ w) + c[0] + c[1], c[1] * 0.5),
                                    (base, first))
        return _mix(base, w, kept)
    return step, (normal(1, 2048, 256), normal(2, 256, 256, scale=1 / 16)), ()


PROGRAMS = {f.__name__: f for f in (mlp, training_step, scan, conditional, low_precision, constants,
                                    overwritten_parameter, overwritten_carry, chain)}


def sharded():
    """Over all devices, with collectives in the forward and the backward part."""
    from jax.sharding import NamedSharding, PartitionSpec as P
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    total = jax.shard_map(lambda ws, x: jax.lax.pmean(loss(ws, x), "data"), mesh=mesh,
                          in_specs=(P(), P("data")), out_specs=P())
    x = jax.device_put(normal(99, 8192, 256), NamedSharding(mesh, P("data")))
    return jax.grad(total), (jax.device_put(weights(), NamedSharding(mesh, P())), x), ()


def compile_program(program):
    """Compiles it, even if it has been compiled already."""
    function, arguments, donated = program

    @functools.wraps(function)
    def anew(*arguments):
        return function(*arguments)

    return jax.jit(anew, donate_argnums=donated).lower(*arguments).compile()


def run(compiled, program):
    """All outputs as bytes. may_alias=False: XLA copies a donated buffer that is NumPy's, and then
    nothing is in place."""
    arguments = [jax.tree.map(lambda a: jax.device_put(a, may_alias=False)
                              if isinstance(a, (np.ndarray, np.generic)) else a, argument)
                 for argument in program[1]]
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(compiled(*arguments))]
