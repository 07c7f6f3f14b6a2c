"""Programs that scan, each as it is and with jax.checkpoint where a person would write it. Each function of PROGRAMS
takes a Sizes and what is done to the body of each scan, and returns a Program; what the loops stack is a few hundred MiB,
more than fits into a TPU's VMEM."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from programs import (Program, Sizes, cross_entropy, f32, i32, language_loss, llama_layer, llama_shapes, norm, sgd, stacked,
                      transformer_layer, transformer_shapes)
from programs import _unet, _unet_parameters

PROGRAMS = {}
PREFIX = "scan_"           # of their names where programs.py has some, too
BY_HAND = "_by_hand"      # the end of the name of a program with checkpoints


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def as_it_is(body):
    return body


def has(name):
    """Whether a name is one of PROGRAMS behind PREFIX, perhaps with BY_HAND at its end."""
    return name.startswith(PREFIX) and name.removeprefix(PREFIX).removesuffix(BY_HAND) in PROGRAMS


def make(name, seed):
    """The program of a name of PROGRAMS behind PREFIX, or of one with BY_HAND at its end, which has the same sizes."""
    plain = name.removesuffix(BY_HAND)
    each = jax.checkpoint if name.endswith(BY_HAND) else as_it_is
    return PROGRAMS[plain.removeprefix(PREFIX)](Sizes(f"{seed} {plain}"), each)


def _language(sizes, layer, shapes, width):
    layers, batch, length = sizes.around(6, 9), sizes.among(4, 8), sizes.around(192, 256, 16)

    def body(x, layers):
        return lax.scan(lambda x, w: (layer(x, w), None), x, layers)[0]
    p = {"embedding": f32(sizes.around(1000, 2000, 64), width), "layers": stacked(shapes, layers)}
    return sgd(functools.partial(language_loss, body), p, i32(batch, length + 1))


@program
def gpt(sizes, each):
    return _language(sizes, each(functools.partial(transformer_layer, heads=8)), transformer_shapes(384), 384)


@program
def llama(sizes, each):
    return _language(sizes, each(functools.partial(llama_layer, heads=8)), llama_shapes(384, 1024), 384)


# ---- recurrent ----

def _lstm_cell(p, carry, x):
    h, c = carry
    i, f, g, o = jnp.split(x @ p["in"] + h @ p["rec"], 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def _gru_cell(p, h, x):
    xr, xz, xn = jnp.split(x @ p["in"], 3, -1)
    hr, hz, hn = jnp.split(h @ p["rec"], 3, -1)
    z = jax.nn.sigmoid(xz + hz)
    new = (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn) + z * h
    return new, new


def _recurrent_shapes(sizes, gates):
    width, batch, length = sizes.among(256, 384), sizes.around(256, 512, 64), sizes.around(40, 80)
    return {"in": f32(width, gates * width), "rec": f32(width, gates * width)}, width, batch, length


@program
def lstm(sizes, each):
    p, width, batch, length = _recurrent_shapes(sizes, 4)

    def loss(p, xs, y):
        start = (jnp.zeros((batch, width)),) * 2
        (h, _), all_h = lax.scan(each(functools.partial(_lstm_cell, p)), start, xs)
        return ((all_h.mean(0) + h - y)**2).mean()
    return sgd(loss, p, f32(length, batch, width), f32(batch, width))


@program
def gru(sizes, each):
    p, width, batch, length = _recurrent_shapes(sizes, 3)

    def loss(p, xs, y):
        h, all_h = lax.scan(each(functools.partial(_gru_cell, p)), jnp.zeros((batch, width)), xs)
        return ((all_h.mean(0) + h - y)**2).mean()
    return sgd(loss, p, f32(length, batch, width), f32(batch, width))


@program
def bidirectional(sizes, each):
    """Two scans that do not depend on each other, which XLA may make one of."""
    p, width, batch, length = _recurrent_shapes(sizes, 3)

    def loss(p, xs, y):
        start = jnp.zeros((batch, width))
        _, there = lax.scan(each(functools.partial(_gru_cell, p["there"])), start, xs)
        _, back = lax.scan(each(functools.partial(_gru_cell, p["back"])), start, xs, reverse=True)
        return (((there * back).mean(0) - y)**2).mean()
    return sgd(loss, {"there": p, "back": p}, f32(length, batch, width), f32(batch, width))


# ---- in time ----

@program
def unet_in_time(sizes, each):
    side, batch, width, steps = sizes.among(32, 48), sizes.around(4, 8), sizes.among(16, 24), sizes.around(6, 10)

    def loss(p, x, y):
        x, _ = lax.scan(each(lambda x, _: (x + 0.1 * _unet(p, x), None)), x, None, length=steps)
        return ((x - y)**2).mean()
    image = f32(batch, side, side, 3)
    return sgd(loss, _unet_parameters(3, width), image, image)


def _wave(speed, carry, _):
    now, last = carry
    laplace = jnp.roll(now, 1, 0) + jnp.roll(now, -1, 0) + jnp.roll(now, 1, 1) + jnp.roll(now, -1, 1) - 4 * now
    return (2 * now - last + speed * speed * jnp.tanh(laplace), now), None


@program
def stencil(sizes, each):
    """The adjoint of a wave that does not depend linearly on its state, over many steps."""
    side, steps = sizes.around(384, 512, 8), sizes.around(200, 240)

    def loss(speed, field):
        start = field, field
        return (lax.scan(each(functools.partial(_wave, speed)), start, None, length=steps)[0][0]**2).mean()
    return Program(jax.grad(loss), (f32(side, side), f32(side, side)))


@program
def rollout(sizes, each):
    """A policy acts in a world for some steps, and learns from the whole."""
    state, width, batch, steps = sizes.around(100, 200), sizes.among(256, 512), sizes.around(2000, 4000), sizes.around(10, 20)

    def loss(p, x, world):
        def one(x, _):
            action = jnp.tanh(jnp.tanh(x @ p["in"]) @ p["out"])
            return jnp.tanh(x @ world + action), ((x**2).sum(-1) + 0.1 * (action**2).sum(-1))
        return lax.scan(each(one), x, None, length=steps)[1].mean()
    return sgd(loss, {"in": f32(state, width), "out": f32(width, state)}, f32(batch, state), f32(state, state))


@program
def nested(sizes, each):
    """Layers that a loop runs in each step of another one."""
    width, batch = sizes.among(192, 256), sizes.around(1024, 2048, 128)
    layers, steps = sizes.around(4, 6), sizes.around(5, 8)

    def layer(h, w):
        return h + jnp.tanh(norm(h) @ w["wide"]) @ w["narrow"], None

    def loss(p, x, y):
        def step(x, t):
            return lax.scan(each(layer), x * (1 + 0.01 * t), p)[0], None
        return ((lax.scan(step, x, jnp.arange(steps, dtype=jnp.float32))[0] - y)**2).mean()
    shapes = stacked({"wide": f32(width, 3 * width), "narrow": f32(3 * width, width)}, layers)
    return sgd(loss, shapes, f32(batch, width), f32(batch, width))


@program
def accumulated(sizes, each):
    """Gradients that are added up over parts of a batch, each of a scan over layers."""
    layers, parts, length = sizes.around(6, 9), sizes.around(3, 4), sizes.around(192, 256, 16)
    layer = each(functools.partial(transformer_layer, heads=8))

    def body(x, layers):
        return lax.scan(lambda x, w: (layer(x, w), None), x, layers)[0]
    p = {"embedding": f32(1024, 256), "layers": stacked(transformer_shapes(256), layers)}

    def step(p, tokens):
        def add(total, part):
            gradients = jax.grad(functools.partial(language_loss, body))(p, part)
            return jax.tree.map(jnp.add, total, gradients), None
        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, p), tokens)
        return jax.tree.map(lambda w, g: w - 0.01 * g / parts, p, total)
    return Program(step, (p, i32(parts, sizes.among(4, 8), length + 1)), (0,))


@program
def checkpointed(sizes, each):
    """A body with a checkpoint, whose state in all steps is still too much; by hand, steps are put together, too."""
    width, batch, parts, steps = sizes.among(192, 256), sizes.around(2000, 3000), sizes.around(6, 8), 8

    def loss(p, x, y):
        @jax.checkpoint
        def one(x, _):
            return x + 0.1 * jnp.tanh(jax.nn.gelu(x @ p["wide"]) @ p["narrow"]), None

        @each
        def some(x, _):
            return lax.scan(one, x, None, length=steps)
        if each is as_it_is:
            return ((lax.scan(one, x, None, length=steps * parts)[0] - y)**2).mean()
        return ((lax.scan(some, x, None, length=parts)[0] - y)**2).mean()
    p = {"wide": f32(width, 2 * width), "narrow": f32(2 * width, width)}
    return sgd(loss, p, f32(batch, width), f32(batch, width))


@program
def classified(sizes, each):
    """A scan of layers over a set of vectors, of which some are dropped by a counter, with a mean over each layer."""
    width, batch, layers = sizes.among(256, 384), sizes.around(3000, 6000), sizes.around(8, 12)

    def loss(p, key, x, labels):
        @each
        def layer(h, given):
            w, number = given
            key_here = jax.random.fold_in(jax.random.wrap_key_data(key), number)
            dropped = jnp.where(jax.random.bernoulli(key_here, 0.9, h.shape), jax.nn.silu(norm(h) @ w), 0)
            return h + dropped, dropped.mean(0)
        h, means = lax.scan(layer, x, (p["layers"], jnp.arange(layers)))
        return cross_entropy(h @ p["head"], labels) + 1e-3 * (means**2).sum()
    p = {"layers": f32(layers, width, width), "head": f32(width, 100)}
    return sgd(loss, p, jax.ShapeDtypeStruct((2,), jnp.uint32), f32(batch, width), i32(batch))
