"""Small programs with a marked function, of each kind that a plan has to leave as it is. Each function of PROGRAMS
takes the mark, and returns (a function to be differentiated in its first argument, its arguments)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

PROGRAMS = {}
WIDTH, BATCH = 32, 8


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def array(*shape, seed=0, scale=0.3):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape) * scale, jnp.float32)


def weights(count):
    return [array(WIDTH, WIDTH, seed=number) for number in range(count)]


def layer(x, w):
    h = x @ w
    h = h * lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-5)
    return x + jax.nn.gelu(h) * jax.nn.softmax(h)


@program
def unrolled(mark):
    def loss(ws, x):
        for w in ws:
            x = layer(x, w)
        return (x**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH))


@program
def scanned(mark):
    def loss(ws, x):
        x, norms = lax.scan(lambda x, w: (layer(x, w), (x**2).sum()), x, ws)
        return (x**2).mean() + norms.mean()
    return mark(loss), (jnp.stack(weights(3)), array(BATCH, WIDTH))


@program
def scan_in_scan(mark):
    def loss(ws, x):
        def outer(x, w):
            return lax.scan(lambda x, s: (layer(x, w * s), None), x, jnp.arange(1.0, 4.0))[0], None
        return (lax.scan(outer, x, ws)[0]**2).mean()
    return mark(loss), (jnp.stack(weights(3)), array(BATCH, WIDTH))


@program
def marked_blocks(mark):
    block = mark(layer)

    def loss(ws, x):
        for w in ws:
            x = block(x, w)
        return (x**2).mean()
    return loss, (weights(3), array(BATCH, WIDTH))


@program
def marked_body(mark):
    def loss(ws, x):
        body = mark(lambda x, w: (layer(x, w), None), prevent_cse=False)
        return (lax.scan(body, x, ws)[0]**2).mean()
    return loss, (jnp.stack(weights(3)), array(BATCH, WIDTH))


@program
def closed_over(mark):
    """The marked function reads values of the function around it."""
    def loss(ws, x):
        scale = jnp.tanh(ws[0]).sum()

        def inner(x):
            for w in ws:
                x = layer(x, w) * scale
            return x
        return (mark(inner)(x)**2).mean()
    return loss, (weights(3), array(BATCH, WIDTH))


@program
def with_conditional(mark):
    def loss(ws, x):
        for w in ws:
            x = lax.cond(x.sum() > 0, lambda x: layer(x, w), lambda x: jnp.sin(x @ w), x)
        return (x**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH))


@program
def with_loop(mark):
    """A loop whose trips are not known to JAX, which is not differentiated."""
    def loss(ws, x):
        scale = lax.while_loop(lambda s: s < 3, lambda s: s * 1.5, lax.stop_gradient(jnp.abs(x).mean() + 0.1))
        for w in ws:
            x = layer(x, w) * scale
        return (x**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH))


@jax.custom_vjp
def clipped(x):
    return jnp.sin(x)


clipped.defvjp(lambda x: (jnp.sin(x), (jnp.cos(x), x)), lambda kept, g: (jnp.clip(g, -0.1, 0.1) * kept[0] + 0 * kept[1],))


@jax.custom_jvp
def steep(x):
    return jnp.exp(-x * x)


@steep.defjvp
def _steep_jvp(primals, tangents):
    y = steep(*primals)
    return y, -2 * primals[0] * y * tangents[0]


@program
def custom_rules(mark):
    def loss(ws, x):
        for w in ws:
            x = steep(clipped(layer(x, w)) @ w)
        return (x**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH))


@program
def own_results(mark):
    """Rules of derivatives that use the equation's results."""
    def loss(ws, x):
        for w in ws:
            h = x @ w
            x = x + jnp.exp(-jnp.abs(h)) + jnp.tanh(h) + jnp.sqrt(1 + h * h) + jax.nn.sigmoid(h) + jnp.maximum(h, x)
            x = x / (1 + x.max(-1, keepdims=True)) + jnp.cumsum(x, -1) * 0.01 + jnp.sort(x, -1)
        return (x**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH))


@program
def dropout(mark):
    def loss(ws, x, key):
        for number, w in enumerate(ws):
            x = layer(x, w)
            kept = jax.random.bernoulli(jax.random.fold_in(key, number), 0.8, x.shape)
            x = jnp.where(kept, x / 0.8, 0)
        return (x**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH), jax.random.key(3))


@program
def raw_keys(mark):
    def loss(ws, x, key):
        for w in ws:
            key, own = jax.random.split(key)
            x = layer(x, w) + 0.1 * jax.random.normal(own, x.shape)
        return (x**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH), jax.random.PRNGKey(3))


@program
def own_checkpoints(mark):
    block = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable)

    def loss(ws, x):
        for w in ws:
            x = jax.jit(block)(x, w)
        return (x**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH))


@program
def vmapped(mark):
    def loss(ws, x):
        for w in ws:
            x = layer(x, w)
        return (x**2).mean()
    return lambda ws, xs: jax.vmap(mark(loss), (None, 0))(ws, xs).sum(), (weights(3), array(3, BATCH, WIDTH))


@program
def gradients_by_example(mark):
    def loss(ws, x):
        for w in ws:
            x = layer(x, w)
        return (x**2).mean()
    marked = mark(loss)

    def norms(ws, xs):
        by_example = jax.vmap(jax.grad(marked), (None, 0))(ws, xs)
        return sum(jnp.sqrt((g**2).sum()) for g in jax.tree.leaves(by_example))
    return norms, (weights(3), array(3, BATCH, WIDTH))


@program
def other_arguments(mark):
    """Arguments and results that are no arrays."""
    def loss(ws, x, activation, *, power, options):
        for w in ws:
            x = activation(layer(x, w))
        return (x**power).mean() * options["scale"]

    def call(ws, x):
        return mark(loss)(ws, x, jnp.tanh, power=2, options={"scale": 0.5, "unused": None})
    return call, (weights(3), array(BATCH, WIDTH))


@program
def with_results_besides(mark):
    def loss(ws, x):
        sizes = []
        for w in ws:
            x = layer(x, w)
            sizes.append(jnp.argmax(x, -1))
        return (x**2).mean(), {"sizes": sizes, "count": len(ws), "none": None}

    def call(ws, x):
        value, besides = mark(loss)(ws, x)
        return value + 0.0 * besides["sizes"][0].sum() * besides["count"]
    return call, (weights(3), array(BATCH, WIDTH))


@program
def low_precision(mark):
    def loss(ws, x):
        x = x.astype(jnp.bfloat16)
        for w in ws:
            x = layer(x, w.astype(jnp.bfloat16))
        return (x.astype(jnp.float32)**2).mean()
    return mark(loss), (weights(3), array(BATCH, WIDTH))


@program
def convolutions(mark):
    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(ws, x):
        skips = []
        for w in ws:
            x = jax.nn.relu(conv(x, w))
            skips.append(x)
        for skip in skips[::-1]:
            x = lax.reduce_window(x + skip, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "SAME")
        return (x**2).mean()
    return mark(loss), ([array(3, 3, 8, 8, seed=number) for number in range(3)], array(2, 8, 8, 8))
