"""Programs whose memory a change of their source lowers, for scripts/check/advice, beside some of programs.py: the
form is the same. What advice can be about is a function, the body of a scan, or an argument.

PROGRAMS has those with something to gain, NOTHING those without."""

import jax
import jax.numpy as jnp
from jax import lax
from programs import Program, adds_to, bf16, f32, i32, stacked

PROGRAMS, NOTHING = {}, {}
program, nothing = adds_to(PROGRAMS), adds_to(NOTHING)


# ---- scans ----

@program
def scanned_mlp(sizes):
    width, depth, batch = sizes.among(256, 384), sizes.among(8, 12, 16), sizes.many(800, 1600)

    def body(x, w):
        h = jnp.tanh(x @ w[0])
        return x + jax.nn.gelu(h @ w[1]), None

    def loss(ws, x):
        return jnp.mean(lax.scan(body, x, ws)[0]**2)
    return Program(jax.grad(loss), (f32(depth, 2, width, width), f32(batch, width)))


@program
def recurrent(sizes):
    width, steps, batch = sizes.among(96, 128), sizes.among(64, 144, 256), sizes.many(40, 80)

    def loss(w, xs):
        def cell(h, x):
            z = jax.nn.sigmoid(x @ w["xz"] + h @ w["hz"])
            h = (1 - z) * h + z * jnp.tanh(x @ w["xn"] + z * h)
            return h, h.sum()
        h, sums = lax.scan(cell, jnp.zeros((batch, width)), xs)
        return jnp.mean(h * h) + sums.mean()
    weights = {name: f32(width, width) for name in ("xz", "hz", "xn")}
    return Program(jax.grad(loss), (weights, f32(steps, batch, width)))


@program
def scanned_transformer(sizes):
    width, length, depth = sizes.among(128, 192), sizes.among(192, 256), sizes.among(6, 8)

    def loss(ws, x):
        return jnp.mean(lax.scan(lambda x, w: (block(w, x), None), x, ws)[0]**2)
    return Program(jax.grad(loss), (stacked(block_shapes(width), depth), f32(sizes.many(3, 6), length, width)))


@program
def accumulated(sizes):
    """Gradients are added up over microbatches in a loop, each of a network that is unrolled."""
    width, rows, depth, parts = sizes.among(256, 384), sizes.many(800, 1600), sizes.among(6, 8), sizes.among(4, 8)

    def loss(ws, x):
        for w in ws:
            x = dense(w, x)
        return jnp.mean(x * x)

    def step(ws, xs):
        def add(total, x):
            return jax.tree.map(jnp.add, total, jax.grad(loss)(ws, x)), None
        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, ws), xs)
        return jax.tree.map(lambda w, g: w - 0.1 * g / parts, ws, total)
    return Program(step, (dense_shapes(width, depth), f32(parts, rows, width)), (0,))


# ---- repeated functions ----

def norm(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(w, x):
    q, k, v = jnp.split(x @ w["qkv"], 3, -1)
    scores = jnp.einsum("btd,bsd->bts", q, k) / x.shape[-1]**0.5
    return jnp.einsum("bts,bsd->btd", jax.nn.softmax(scores, -1), v) @ w["out"]


def block(w, x):
    x = x + attention(w, norm(x))
    return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]


def block_shapes(width):
    return {"qkv": f32(width, 3 * width), "out": f32(width, width), "up": f32(width, 4 * width),
            "down": f32(4 * width, width)}


@program
def unrolled_transformer(sizes):
    width, length, depth = sizes.among(128, 192), sizes.among(192, 256), sizes.among(4, 6)

    def loss(ws, x):
        for w in ws:
            x = block(w, x)
        return jnp.mean(x * x)
    return Program(jax.value_and_grad(loss), ([block_shapes(width)] * depth, f32(sizes.many(3, 6), length, width)))


def dense(w, x):
    h = jax.nn.silu(x @ w[0])
    return jnp.tanh(h @ w[1])


def dense_shapes(width, depth):
    return [(f32(width, 2 * width), f32(2 * width, width))] * depth


@program
def plain_mlp(sizes):
    width, batch, depth = sizes.among(256, 384), sizes.many(1000, 2000), sizes.among(6, 8)

    def loss(ws, x):
        for w in ws:
            x = dense(w, x)
        return jnp.mean(x * x)
    return Program(jax.grad(loss), (dense_shapes(width, depth), f32(batch, width)))


def gated(w, x):
    h = norm(x)
    return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


@program
def fsdp_layers(sizes):
    """Parameters and batch are both spread over four devices."""
    width, batch, depth = sizes.among(256, 384), 4 * sizes.many(500, 1000), sizes.among(4, 6)

    def loss(ws, x):
        for w in ws:
            x = gated(w, x)
        return jnp.mean(x * x)
    layer = {"gate": f32(width, 2 * width), "up": f32(width, 2 * width), "down": f32(2 * width, width)}
    spread = jax.sharding.PartitionSpec("data")
    return Program(lambda ws, x: jax.tree.map(lambda w, g: w - 0.1 * g, ws, jax.grad(loss)(ws, x)),
                   ([layer] * depth, f32(batch, width)), (0,), {"data": 4}, (spread, spread))


# ---- arguments ----

@program
def momentum(sizes):
    width, batch, depth = sizes.among(2048, 3072), 32, sizes.among(4, 6)

    def step(ws, ms, x):
        def loss(ws):
            y = x
            for w in ws:
                y = jnp.tanh(y @ w)
            return jnp.mean(y * y)
        ms = [0.9 * m + g for m, g in zip(ms, jax.grad(loss)(ws))]
        return [w - 0.1 * m for w, m in zip(ws, ms)], ms
    weights = [f32(width, width)] * depth
    return Program(step, (weights, weights, f32(batch, width)))


# ---- pieces ----

def cross_entropy(h, w, y):
    z = h @ w
    return jnp.mean(jax.nn.logsumexp(z, -1) - jnp.take_along_axis(z, y[:, None], -1)[:, 0])


@program
def logits(sizes):
    rows, width, words = sizes.among(4096, 8192), sizes.among(96, 128), sizes.among(12000, 16384)

    def loss(w, x, y):
        return cross_entropy(jnp.tanh(x @ w["in"]), w["out"], y)
    return Program(jax.grad(loss), ({"in": f32(width, width), "out": f32(width, words)}, f32(rows, width), i32(rows)))


def scores(q, k, v):
    return jax.nn.softmax(q @ k.T, -1) @ v


@program
def long_attention(sizes):
    length, width = sizes.among(8192, 12288), sizes.among(64, 128)

    def run(q, k, v):
        return scores(q, k, v)
    return Program(run, (f32(length, width),) * 3)


# ---- nothing to gain ----

@nothing
def small_network(sizes):
    width = sizes.among(512, 768)
    return Program(lambda w, x: jnp.tanh(x @ w), (f32(width, width), f32(8, width)))


@nothing
def matrix_power(sizes):
    width = sizes.among(512, 768)
    return Program(lambda a: a @ a @ a, (f32(width, width),))


@nothing
def inference(sizes):
    """Nothing waits for a backward part."""
    width, depth, batch = sizes.among(1024, 1536), sizes.among(4, 6), sizes.many(20, 40)

    def run(ws, x):
        for w in ws:
            x = x + jax.nn.silu(norm(x) @ w[0]) @ w[1]
        return x
    weights = [(bf16(width, 2 * width), bf16(2 * width, width))] * depth
    return Program(run, (weights, bf16(batch, width)))


@nothing
def trained_in_place(sizes):
    """Weights are nearly all of it, and are donated."""
    width, depth = sizes.among(2048, 3072), sizes.among(3, 4)

    def step(ws, x):
        def loss(ws):
            y = x
            for w in ws:
                y = jnp.tanh(y @ w)
            return jnp.mean(y * y)
        return [w - 0.1 * g for w, g in zip(ws, jax.grad(loss)(ws))]
    return Program(step, ([f32(width, width)] * depth, f32(16, width)), (0,))
