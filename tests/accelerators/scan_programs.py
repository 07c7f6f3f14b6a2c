"""Programs that scan, each as it is and with jax.checkpoint where a person would write it. Each function of PROGRAMS
takes a Sizes and what is done to the body of each scan, and returns a Program; what the loops stack is a few hundred MiB,
more than fits into a TPU's VMEM."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from programs import (Program, cross_entropy, f32, i32, language_loss, llama_layer, llama_shapes, norm, sgd, stacked,
                      transformer_layer, transformer_shapes)
from programs import _unet, _unet_parameters, adds_to, sizes_of

PROGRAMS = {}
program = adds_to(PROGRAMS)
PREFIX = "scan_"           # of their names where programs.py has some, too
BY_HAND = "_by_hand"      # the end of the name of a program with checkpoints


def as_it_is(body):
    return body


def has(name):
    """Whether a name is one of PROGRAMS behind PREFIX, perhaps with BY_HAND at its end."""
    return name.startswith(PREFIX) and name.removeprefix(PREFIX).removesuffix(BY_HAND) in PROGRAMS


def make(name, seed):
    """The program of a name of PROGRAMS behind PREFIX, or of one with BY_HAND at its end, which has the same sizes."""
    plain = name.removesuffix(BY_HAND)
    each = jax.checkpoint if name.endswith(BY_HAND) else as_it_is
    return PROGRAMS[plain.removeprefix(PREFIX)](sizes_of(seed, plain), each)


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


# ---- of other kinds ----

@program
def selective(sizes, each):
    """Layers of selective state spaces, in half precision, with a scan over time in each step of a scan over layers."""
    width, states, batch = sizes.among(128, 192), 8, sizes.around(4, 8)
    layers, length = sizes.around(3, 4), sizes.around(64, 96, 8)

    def mix(w, x):
        delta = jax.nn.softplus(x @ w["delta"])
        b, c = jnp.split(x @ w["bc"], 2, -1)
        decay = jnp.exp(-jnp.exp(w["a"]) * delta[..., None])

        def step(h, given):
            decay, x, b, c = given
            h = decay * h + x[..., None] * b[:, None, :]
            return h, (h * c[:, None, :]).sum(-1)
        swap = functools.partial(jnp.swapaxes, axis1=0, axis2=1)
        start = jnp.zeros((batch, width, states), x.dtype)
        _, y = lax.scan(each(step), start, jax.tree.map(swap, (decay, delta * x, b, c)))
        return swap(y)

    def loss(p, x, y):
        def layer(x, w):
            w = jax.tree.map(lambda w: w.astype(jnp.bfloat16), w)
            return x + mix(w, norm(x)) * jax.nn.silu(x @ w["gate"]), None
        x, _ = lax.scan(layer, x.astype(jnp.bfloat16), p)
        return ((x.astype(jnp.float32) - y)**2).mean()
    shapes = {"delta": f32(width, width), "bc": f32(width, 2 * states), "a": f32(width, states), "gate": f32(width, width)}
    return sgd(loss, stacked(shapes, layers), f32(batch, length, width), f32(batch, length, width))


@program
def exponential_gates(sizes, each):
    """A recurrent network with exponential gates, their largest so far and what they add up to."""
    width, batch, length = sizes.among(256, 384), sizes.around(128, 256, 64), sizes.around(40, 60)

    def loss(p, xs, y):
        def step(carry, x):
            h, c, n, m = carry
            z, i, f, o = jnp.split(x @ p["in"] + h @ p["rec"], 4, -1)
            f = jax.nn.log_sigmoid(f)
            high = jnp.maximum(f + m, i)
            keep, new = jnp.exp(f + m - high), jnp.exp(i - high)
            c, n = keep * c + new * jnp.tanh(z), keep * n + new
            h = jax.nn.sigmoid(o) * c / (n + 1e-6)
            return (h, c, n, high), h
        start = (jnp.zeros((batch, width)),) * 4
        _, hs = lax.scan(each(step), start, xs)
        return ((hs.mean(0) - y)**2).mean()
    p = {"in": f32(width, 4 * width), "rec": f32(width, 4 * width)}
    return sgd(loss, p, f32(length, batch, width), f32(batch, width))


@program
def runge_kutta(sizes, each):
    """A differential equation whose right side is a network, in fixed steps of the fourth order."""
    width, hidden, batch, steps = sizes.around(64, 128), sizes.among(256, 384), sizes.around(2000, 4000), sizes.around(12, 20)

    def loss(p, x, y):
        def right_side(x, t):
            return jnp.tanh(jnp.concatenate([x, jnp.full((batch, 1), t)], -1) @ p["in"]) @ p["out"]

        def step(x, t):
            a = right_side(x, t)
            b = right_side(x + 0.05 * a, t + 0.05)
            c = right_side(x + 0.05 * b, t + 0.05)
            d = right_side(x + 0.1 * c, t + 0.1)
            return x + 0.1 / 6 * (a + 2 * b + 2 * c + d), (x**2).mean()
        x, energies = lax.scan(each(step), x, jnp.arange(steps) * 0.1)
        return ((x - y)**2).mean() + 1e-3 * energies.sum()
    p = {"in": f32(width + 1, hidden), "out": f32(hidden, width)}
    return sgd(loss, p, f32(batch, width), f32(batch, width))


@program
def convolutional_lstm(sizes, each):
    side, batch, width, length = sizes.among(16, 24), sizes.around(8, 16), sizes.among(32, 48), sizes.around(10, 16)

    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(p, xs, y):
        def step(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(conv(jnp.concatenate([x, h], -1), p["gates"]), 4, -1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), conv(h, p["head"])
        start = (jnp.zeros((batch, side, side, width)),) * 2
        _, images = lax.scan(each(step), start, xs)
        return ((images - y)**2).mean()
    p = {"gates": f32(3, 3, 3 + width, 4 * width), "head": f32(1, 1, width, 3)}
    return sgd(loss, p, f32(length, batch, side, side, 3), f32(length, batch, side, side, 3))


@program
def messages(sizes, each):
    """Rounds of messages along the edges of a graph, with the same weights in each."""
    nodes, edges, width = sizes.around(2000, 4000), sizes.around(8000, 16000), sizes.among(64, 128)
    rounds = sizes.around(6, 10)

    def loss(p, h, senders, receivers, y):
        def one(h, _):
            sent = jax.nn.silu(jnp.concatenate([h[senders], h[receivers]], -1) @ p["message"])
            total = jax.ops.segment_sum(sent, receivers, nodes)
            return h + jnp.tanh(jnp.concatenate([h, total], -1) @ p["update"]), None
        h, _ = lax.scan(each(one), h, None, length=rounds)
        return ((h - y)**2).mean()
    p = {"message": f32(2 * width, width), "update": f32(2 * width, width)}
    return sgd(loss, p, f32(nodes, width), i32(edges), i32(edges), f32(nodes, width))


@program
def bodies(sizes, each):
    """Bodies that attract each other: their masses are learnt from where they go."""
    count, batch, steps = sizes.around(48, 80), sizes.around(8, 16), sizes.around(20, 40)

    def loss(masses, place, speed, y):
        def step(carry, _):
            place, speed = carry
            between = place[:, None] - place[:, :, None]
            near = (between**2).sum(-1, keepdims=True) + 0.1
            speed = speed + 0.01 * (between / (near * jnp.sqrt(near)) * masses[None, None, :, None]).sum(2)
            return (place + 0.01 * speed, speed), place
        _, places = lax.scan(each(step), (place, speed), None, length=steps)
        return ((places - y)**2).mean()
    point = f32(batch, count, 3)
    return Program(jax.grad(loss), (f32(count), point, point, f32(steps, batch, count, 3)))


@program
def attention_in_blocks(sizes, each):
    """Attention that goes over blocks of keys, with the largest score and the sum so far."""
    heads, width, batch = 4, 64, sizes.around(2, 4)
    length, blocks = sizes.among(512, 768), sizes.among(8, 16)

    def loss(p, x, y):
        q, k, v = (jnp.einsum("bld,dhw->bhlw", x, p[name]) for name in "qkv")
        k, v = (a.reshape(batch, heads, blocks, -1, width).transpose(2, 0, 1, 3, 4) for a in (k, v))

        def block(carry, kv):
            top, total, out = carry
            scores = jnp.einsum("bhlw,bhmw->bhlm", q, kv[0]) / 8
            high = jnp.maximum(top, scores.max(-1))
            weights, scale = jnp.exp(scores - high[..., None]), jnp.exp(top - high)
            out = out * scale[..., None] + jnp.einsum("bhlm,bhmw->bhlw", weights, kv[1])
            return (high, total * scale + weights.sum(-1), out), None
        start = (jnp.full(q.shape[:3], -1e9), jnp.zeros(q.shape[:3]), jnp.zeros_like(q))
        (_, total, out), _ = lax.scan(each(block), start, (k, v))
        return ((out / total[..., None] - y)**2).mean()
    p = {name: f32(heads * width, heads, width) for name in "qkv"}
    return sgd(loss, p, f32(batch, length, heads * width), f32(batch, heads, length, width))


@program
def dropout_layers(sizes, each):
    """Layers of a transformer for language in half precision, with dropout from keys that the scan is given."""
    layers, batch, length, width = sizes.around(5, 8), sizes.among(4, 8), sizes.around(128, 192, 16), 256

    def loss(p, keys, x, y):
        @each
        def layer(x, given):
            w, key = given
            x = transformer_layer(x, w, heads=8)
            kept = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, x.shape)
            return jnp.where(kept, x / 0.9, 0).astype(x.dtype), None
        x, _ = lax.scan(layer, x, (p, keys))
        return ((x.astype(jnp.float32) - y)**2).mean()
    p = stacked(transformer_shapes(width), layers)
    keys = jax.ShapeDtypeStruct((layers, 2), jnp.uint32)
    return sgd(loss, p, keys, f32(batch, length, width), f32(batch, length, width))


@program
def recurrent_language(sizes, each):
    """A language model whose only state is what its layer returns, so that it is stacked before each step and after it."""
    width, batch, length, words = sizes.among(256, 384), sizes.around(64, 128, 8), sizes.around(96, 160, 8), 1000

    def loss(p, tokens):
        def step(h, x):
            h = jnp.tanh(x @ p["in"] + h @ p["rec"])
            return h, h
        _, hs = lax.scan(each(step), jnp.zeros((batch, width)), p["embedding"][tokens[:-1]])
        return cross_entropy(hs @ p["embedding"].T, tokens[1:])
    p = {"embedding": f32(words, width), "in": f32(width, width), "rec": f32(width, width)}
    return sgd(loss, p, i32(length + 1, batch))


@program
def peephole_lstm(sizes, each):
    """Gates that look at the cell before and after the step, with dropout of what is handed on."""
    width, batch, length = sizes.among(256, 384), sizes.around(256, 512, 64), sizes.around(40, 80)

    def loss(p, key, xs, y):
        def step(carry, given):
            (h, c), (x, key) = carry, given
            i, f, g, o = jnp.split(x @ p["in"] + h @ p["rec"], 4, -1)
            c = jax.nn.sigmoid(f + c * p["forget"]) * c + jax.nn.sigmoid(i + c * p["input"]) * jnp.tanh(g)
            h = jax.nn.sigmoid(o + c * p["output"]) * jnp.tanh(c)
            kept = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, h.shape)
            return (jnp.where(kept, h / 0.9, 0), c), None
        keys = jax.random.key_data(jax.random.split(jax.random.wrap_key_data(key), length))
        (h, _), _ = lax.scan(each(step), (jnp.zeros((batch, width)),) * 2, (xs, keys))
        return ((h - y)**2).mean()
    p = {"in": f32(width, 4 * width), "rec": f32(width, 4 * width)} | {n: f32(width) for n in ("forget", "input", "output")}
    return sgd(loss, p, jax.ShapeDtypeStruct((2,), jnp.uint32), f32(length, batch, width), f32(batch, width))


@program
def nonlinear_states(sizes, each):
    """States that saturate, of which a learnt sum is what comes out, from both ends."""
    width, state, batch, length = sizes.around(64, 128, 8), 16, sizes.around(16, 32), sizes.around(64, 128)

    def loss(p, xs, y):
        def one_way(p, reverse):
            def step(s, x):
                s = jnp.tanh(s * p["keep"] + x[..., None] * p["take"])
                return s, (s * p["give"]).sum(-1)
            return lax.scan(each(step), jnp.zeros((batch, width, state)), xs, reverse=reverse)[1]
        return ((one_way(p["there"], False) + one_way(p["back"], True) - y)**2).mean()
    p = {name: f32(width, state) for name in ("keep", "take", "give")}
    return sgd(loss, {"there": p, "back": p}, f32(length, batch, width), f32(length, batch, width))


@program
def grouped_queries(sizes, each):
    """Attention of eight heads to two of keys and values, turned by where they are, whose scores XLA:GPU transposes as a whole."""
    layers, batch, length, width, heads, groups = sizes.around(5, 7), sizes.among(4, 8), sizes.around(192, 256, 32), 384, 8, 2

    def turned(x):
        angle = jnp.arange(length)[:, None] * 1e4**(-jnp.arange(0, 1, 2 / x.shape[-1]))
        a, b = x[..., ::2].astype(jnp.float32), x[..., 1::2].astype(jnp.float32)
        cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        return jnp.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape).astype(x.dtype)

    def loss(p, x, y):
        @each
        def layer(x, w):
            w = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), w)
            h = norm(x)
            q, k, v = (jnp.einsum("blw,whd->blhd", h, w[name]) for name in "qkv")
            x = x + jnp.einsum("blhd,hdw->blw", jax.nn.dot_product_attention(turned(q), turned(k), v, is_causal=True), w["out"])
            return x + jax.nn.silu(norm(x) @ w["wide"]) @ w["narrow"], None
        return ((lax.scan(layer, x.astype(jnp.bfloat16), p)[0].astype(jnp.float32) - y)**2).mean()
    shapes = {"q": f32(width, heads, width // heads), "k": f32(width, groups, width // heads), "v": f32(width, groups, width // heads),
              "out": f32(heads, width // heads, width), "wide": f32(width, 4 * width), "narrow": f32(4 * width, width)}
    return sgd(loss, stacked(shapes, layers), f32(batch, length, width), f32(batch, length, width))


@program
def chunked_states(sizes, each):
    """Layers of selective states, which go through time in chunks, each by an associative scan."""
    width, states, batch, chunk = sizes.among(128, 192), 16, 2, 32
    layers, length = sizes.around(3, 4), 32 * sizes.around(6, 8)

    def join(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    def loss(p, x, y):
        def mix(w, x):
            delta = jax.nn.softplus(x @ w["delta"])
            b, c = jnp.split(x @ w["bc"], 2, -1)
            given = jnp.exp(delta[..., None] * -jnp.exp(w["a"])), (delta * x)[..., None] * b[:, :, None], c

            def step(h, given):
                keep, new = lax.associative_scan(join, given[:2], axis=1)
                h = keep * h[:, None] + new
                return h[:, -1], jnp.einsum("btws,bts->btw", h, given[2])
            given = jax.tree.map(lambda a: a.reshape(batch, -1, chunk, *a.shape[2:]).swapaxes(0, 1), given)
            return lax.scan(each(step), jnp.zeros((batch, width, states)), given)[1].swapaxes(0, 1).reshape(x.shape)

        def layer(x, w):
            u, gate = jnp.split(norm(x) @ w["in"], 2, -1)
            return x + (mix(w, jax.nn.silu(u)) * jax.nn.silu(gate)) @ w["out"], None
        return ((lax.scan(each(layer), x, p)[0] - y)**2).mean()
    shapes = {"in": f32(width, 2 * width), "out": f32(width, width), "delta": f32(width, width), "bc": f32(width, 2 * states),
              "a": f32(width, states)}
    return sgd(loss, stacked(shapes, layers), f32(batch, length, width), f32(batch, length, width))


# ---- several steps in an iteration, masks, and steps within steps ----

@program
def shallow_water(sizes, each):
    """The adjoint of waves on a grid that ends where it begins, with two steps in each iteration."""
    side, steps = sizes.around(320, 384, 8), sizes.around(64, 80, 2)

    def slope(a, axis):
        ends = lax.slice_in_dim(a, side - 1, side, axis=axis), a, lax.slice_in_dim(a, 0, 1, axis=axis)
        a = jnp.concatenate(ends, axis)
        return (lax.slice_in_dim(a, 2, side + 2, axis=axis) - lax.slice_in_dim(a, 0, side, axis=axis)) * 0.5

    def loss(p, height, u, v, y):
        def step(state, _):
            height, u, v = state
            high = height - 0.1 * (slope(height * u, 0) + slope(height * v, 1))
            un = u - 0.1 * (u * slope(u, 0) + v * slope(u, 1) + p["gravity"] * slope(high, 0))
            vn = v - 0.1 * (u * slope(v, 0) + v * slope(v, 1) + p["gravity"] * slope(high, 1))
            un = un + p["drag"] * slope(slope(u, 0), 0)
            return (high, un, vn + p["drag"] * slope(slope(v, 1), 1)), None
        (height, _, _), _ = lax.scan(each(step), (height, u, v), None, length=steps, unroll=2)
        return ((height - y)**2).mean()
    grid = f32(side, side)
    return Program(jax.grad(loss), ({"gravity": f32(), "drag": grid}, grid, grid, grid, grid))


@program
def stacked_lstm(sizes, each):
    """Three layers in each step, in half precision, and four steps in each iteration."""
    width, batch, length, layers = sizes.among(192, 256), sizes.around(192, 256, 64), 4 * sizes.around(12, 16), 3

    def loss(p, xs, y):
        p = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), p)

        def step(carry, x):
            handed_on = []
            for w, (h, c) in zip(p, carry):
                i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w, 4, -1)
                c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                x = x + h
                handed_on.append((h, c))
            return tuple(handed_on), x
        start = ((jnp.zeros((batch, width), jnp.bfloat16),) * 2,) * layers
        _, hs = lax.scan(each(step), start, xs.astype(jnp.bfloat16), unroll=4)
        return ((hs.astype(jnp.float32).mean(0) - y)**2).mean()
    return sgd(loss, [f32(2 * width, 4 * width)] * layers, f32(length, batch, width), f32(batch, width))


@program
def drawn_states(sizes, each):
    """A variational recurrent network, which draws in each step, with relus, of which the masks are stacked."""
    width, drawn, seen = sizes.among(192, 256), 64, 128
    batch, length = sizes.around(192, 256, 64), sizes.around(32, 48)

    def loss(p, key, xs):
        def two(x, name):
            return jnp.split(jax.nn.relu(x @ p[name]) @ p[f"{name}_out"], 2, -1)

        def step(h, given):
            x, key = given
            features = jax.nn.relu(x @ p["features"])
            (mean, spread), (near, close) = two(h, "before"), two(jnp.concatenate([features, h], -1), "after")
            noise = jax.random.normal(jax.random.wrap_key_data(key), near.shape)
            z = jax.nn.relu((near + jnp.exp(close) * noise) @ p["drawn"])
            again = jax.nn.relu(jnp.concatenate([z, h], -1) @ p["again"]) @ p["again_out"]
            far = (spread - close + (jnp.exp(2 * close) + (near - mean)**2) / (2 * jnp.exp(2 * spread))).sum(-1)
            h, _ = _gru_cell({"in": p["in"], "rec": p["rec"]}, h, jnp.concatenate([features, z], -1))
            return h, far.mean() + ((again - x)**2).sum(-1).mean()
        keys = jax.random.key_data(jax.random.split(jax.random.wrap_key_data(key), length))
        return lax.scan(each(step), jnp.zeros((batch, width)), (xs, keys))[1].sum()
    p = {"features": f32(seen, width), "before": f32(width, width), "before_out": f32(width, 2 * drawn),
         "after": f32(2 * width, width), "after_out": f32(width, 2 * drawn), "drawn": f32(drawn, width),
         "again": f32(2 * width, width), "again_out": f32(width, seen), "in": f32(2 * width, 3 * width),
         "rec": f32(width, 3 * width)}
    return sgd(loss, p, jax.ShapeDtypeStruct((2,), jnp.uint32), f32(length, batch, seen))


@program
def stochastic(sizes, each):
    """Steps of a stochastic differential equation between observations, in a scan within a scan."""
    state, hidden, batch = sizes.among(32, 48), 256, sizes.around(768, 1024, 64)
    inner, outer = sizes.around(4, 6), sizes.around(5, 7)

    def loss(p, x, key, seen):
        def drift(x, t):
            return jnp.tanh(jax.nn.softplus(x @ p["in"] + t * p["time"]) @ p["out"])

        def spread(x):
            return 0.1 * jax.nn.sigmoid(x @ p["spread"])

        def step(x, given):
            t, key = given
            noise = 0.1 * jax.random.normal(jax.random.wrap_key_data(key), x.shape)
            a, g = drift(x, t), spread(x)
            ahead = x + 0.01 * a + g * noise
            return x + 0.005 * (a + drift(ahead, t + 0.01)) + 0.5 * (g + spread(ahead)) * noise, None

        def observe(x, given):
            t, keys, y = given
            x, _ = lax.scan(each(step), x, (t + 0.01 * jnp.arange(inner), keys))
            return x, ((x - y)**2).mean()
        keys = jax.random.key_data(jax.random.split(jax.random.wrap_key_data(key), (outer, inner)))
        return lax.scan(observe, x, (jnp.arange(outer, dtype=jnp.float32), keys, seen))[1].mean()
    p = {"in": f32(state, hidden), "time": f32(hidden), "out": f32(hidden, state), "spread": f32(state, state)}
    return sgd(loss, p, f32(batch, state), jax.ShapeDtypeStruct((2,), jnp.uint32), f32(outer, batch, state))


# ---- sums over parts, and vectors that are stacked ----

@program
def hidden_states(sizes, each):
    """The forward algorithm of a hidden Markov model in logarithms; XLA:TPU stacks with the step as the last dimension."""
    batch, states, steps, width = sizes.around(32, 64, 8), sizes.among(64, 96), sizes.around(64, 96), 128

    def loss(p, x):
        seen = jax.nn.log_softmax(jnp.tanh(x @ p["in"]) @ p["out"])
        moves = jax.nn.log_softmax(p["moves"])

        def step(alpha, seen):
            return jax.nn.logsumexp(alpha[:, :, None] + moves, axis=1) + seen, None
        return -jax.nn.logsumexp(lax.scan(each(step), seen[0], seen[1:])[0], -1).mean()
    p = {"in": f32(32, width), "out": f32(width, states), "moves": f32(states, states)}
    return sgd(loss, p, f32(steps, batch, 32))


@program
def dropout_lstm(sizes, each):
    """Two layers with dropout between them from keys that are split in the state; XLA:GPU splits the products in parts."""
    batch, width, steps = sizes.around(256, 384, 64), 256, sizes.around(40, 64)

    def cell(w, carry, x):
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w["weights"] + w["bias"], 4, -1)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def loss(p, key, xs, y):
        def step(carry, x):
            one, two, key = carry
            key, used = jax.random.split(jax.random.wrap_key_data(key))
            one = cell(p["one"], one, x)
            kept = jax.random.bernoulli(used, 0.8, one[0].shape)
            two = cell(p["two"], two, jnp.where(kept, one[0] / 0.8, 0))
            return (one, two, jax.random.key_data(key)), two[0]
        start = (jnp.zeros((batch, width)),) * 2
        return ((lax.scan(each(step), (start, start, key), xs)[1] @ p["out"] - y)**2).mean()
    w = {"weights": f32(2 * width, 4 * width), "bias": f32(4 * width)}
    return sgd(loss, {"one": w, "two": w, "out": f32(width, 16)}, jax.ShapeDtypeStruct((2,), jnp.uint32),
               f32(steps, batch, width), f32(steps, batch, 16))


# ---- of rows that are not full, and of kernels of hundreds of instructions ----

@program
def transducer(sizes, each):
    """The loss of a recurrent transducer, whose labels are an associative scan in logarithms; XLA:TPU stacks rows of few labels."""
    batch, frames, labels = sizes.around(6, 10), sizes.around(32, 48, 8), sizes.around(24, 40)
    width, vocabulary = sizes.among(128, 192), 128

    def join(a, b):
        return a[0] + b[0], jnp.logaddexp(a[1] + b[0], b[1])

    def loss(p, heard, said, targets):
        heard, said = heard @ p["heard"], said @ p["said"]

        def step(alpha, frame):
            scores = jax.nn.log_softmax(jnp.tanh(frame[:, None] + said) @ p["out"])
            emitted = jnp.take_along_axis(scores[:, :-1], targets[..., None], -1)[..., 0]
            alpha = lax.associative_scan(join, (jnp.pad(emitted, ((0, 0), (1, 0))), alpha), axis=1)[1]
            return alpha + scores[..., 0], None
        start = jnp.where(jnp.arange(labels + 1) == 0, 0.0, -1e9) * jnp.ones((batch, 1))
        return -lax.scan(each(step), start, heard.swapaxes(0, 1))[0][:, -1].mean()
    p = {"heard": f32(width, width), "said": f32(width, width), "out": f32(width, vocabulary)}
    return sgd(loss, p, f32(batch, frames, width), f32(batch, labels + 1, width), i32(batch, labels))


@program
def lattice(sizes, each):
    """Lattice Boltzmann: nine arrays flow along nine directions in a fori_loop; XLA:GPU has all of a step in one kernel."""
    side, steps = sizes.around(128, 192, 8), sizes.around(48, 60)
    ways = (0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)
    shares, back = (4 / 9, *(1 / 9,) * 4, *(1 / 36,) * 4), (0, 3, 4, 1, 2, 7, 8, 5, 6)

    def loss(rate, flows, wall, y):
        def step(_, flows):
            mass = sum(flows)
            speed = [sum(f * way[axis] for f, way in zip(flows, ways)) / mass for axis in (0, 1)]
            square = speed[0]**2 + speed[1]**2
            moved = []
            for f, way, share in zip(flows, ways, shares):
                along = 3 * (way[0] * speed[0] + way[1] * speed[1])
                rest = share * mass * (1 + along + 0.5 * along * along - 1.5 * square)
                moved.append(jnp.roll(f - rate * (f - rest), way, (0, 1)))
            return tuple(jnp.where(wall, moved[b], f) for f, b in zip(moved, back))
        return ((sum(lax.fori_loop(0, steps, each(step), flows)) - y)**2).mean()
    grid = f32(side, side)
    return Program(jax.grad(loss), (grid, (grid,) * 9, jax.ShapeDtypeStruct((side, side), jnp.bool_), grid))
