"""Programs whose memory a change of their source lowers, for scripts/check-advice. Each is a function
that takes random sizes and returns (step, shapes of its arguments). What advice can be about is a
function at the top level of this file, the body of a scan, or an argument."""

import jax
import jax.numpy as jnp

Shape = jax.ShapeDtypeStruct
F32 = jnp.float32


def pick(random, *values):
    return random.choice(values)


# ---- scans ----


def scanned_mlp(random):
    width, depth, batch = pick(random, 96, 128, 160), pick(random, 8, 12, 16), pick(random, 256, 512)

    def body(x, w):
        h = jnp.tanh(x @ w[0])
        return x + jax.nn.gelu(h @ w[1]), None

    def loss(ws, x):
        return jnp.mean(jax.lax.scan(body, x, ws)[0] ** 2)

    return jax.grad(loss), (Shape((depth, 2, width, width), F32), Shape((batch, width), F32))


def recurrent(random):
    width, steps, batch = pick(random, 48, 64), pick(random, 64, 144, 256), pick(random, 32, 64)

    def loss(w, xs):
        def cell(h, x):
            z = jax.nn.sigmoid(x @ w["xz"] + h @ w["hz"])
            h = (1 - z) * h + z * jnp.tanh(x @ w["xn"] + z * h)
            return h, h.sum()

        h, sums = jax.lax.scan(cell, jnp.zeros((batch, width)), xs)
        return jnp.mean(h * h) + sums.mean()

    weights = {name: Shape((width, width), F32) for name in ("xz", "hz", "xn")}
    return jax.grad(loss), (weights, Shape((steps, batch, width), F32))


def scanned_gpt(random):
    width, length, batch, depth = pick(random, 48, 64), pick(random, 96, 128), 4, pick(random, 6, 8)

    def loss(ws, x):
        return jnp.mean(jax.lax.scan(lambda x, w: (block(w, x), None), x, ws)[0] ** 2)

    return jax.grad(loss), (block_shapes(width, depth), Shape((batch, length, width), F32))


# ---- repeated functions ----


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(w, x):
    q, k, v = jnp.split(x @ w["qkv"], 3, -1)
    scores = jnp.einsum("btd,bsd->bts", q, k) / x.shape[-1] ** 0.5
    return jnp.einsum("bts,bsd->btd", jax.nn.softmax(scores, -1), v) @ w["out"]


def block(w, x):
    x = x + attention(w, norm(x))
    return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]


def block_shapes(width, depth=None):
    shapes = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, 4 * width),
              "down": (4 * width, width)}  # fmt: skip
    stack = () if depth is None else (depth,)
    return {name: Shape(stack + shape, F32) for name, shape in shapes.items()}


def unrolled_gpt(random):
    width, length, batch, depth = pick(random, 48, 64), pick(random, 96, 128), 8, pick(random, 4, 6)

    def loss(ws, x):
        for w in ws:
            x = block(w, x)
        return jnp.mean(x * x)

    return jax.value_and_grad(loss), (
        [block_shapes(width)] * depth, Shape((batch, length, width), F32))  # fmt: skip


def dense(w, x):
    h = jax.nn.silu(x @ w[0])
    return jnp.tanh(h @ w[1])


def plain_mlp(random):
    width, batch, depth = pick(random, 128, 192), pick(random, 1024, 2048), pick(random, 6, 8)

    def loss(ws, x):
        for w in ws:
            x = dense(w, x)
        return jnp.mean(x * x)

    pair = (Shape((width, 2 * width), F32), Shape((2 * width, width), F32))
    return jax.grad(loss), ([pair] * depth, Shape((batch, width), F32))


# ---- arguments ----


def momentum(random):
    width, batch, depth = pick(random, 256, 384), 32, pick(random, 3, 5)

    def step(ws, ms, x):
        def loss(ws):
            y = x
            for w in ws:
                y = jnp.tanh(y @ w)
            return jnp.mean(y * y)

        ms = [0.9 * m + g for m, g in zip(ms, jax.grad(loss)(ws))]
        return [w - 0.1 * m for w, m in zip(ws, ms)], ms

    weights = [Shape((width, width), F32)] * depth
    return step, (weights, weights, Shape((batch, width), F32))


# ---- pieces ----


def cross_entropy(h, w, y):
    z = h @ w
    return jnp.mean(jax.nn.logsumexp(z, -1) - jnp.take_along_axis(z, y[:, None], -1)[:, 0])


def logits(random):
    rows, width, words = pick(random, 1024, 2048), pick(random, 48, 64), pick(random, 3000, 4096)

    def loss(w, x, y):
        return cross_entropy(jnp.tanh(x @ w["in"]), w["out"], y)

    weights = {"in": Shape((width, width), F32), "out": Shape((width, words), F32)}
    return jax.grad(loss), (weights, Shape((rows, width), F32), Shape((rows,), jnp.int32))


def scores(q, k, v):
    return jax.nn.softmax(q @ k.T, -1) @ v


def long_attention(random):
    length, width = pick(random, 1536, 2048), pick(random, 32, 64)

    def run(q, k, v):
        return scores(q, k, v)

    return run, (Shape((length, width), F32),) * 3


# ---- nothing to gain ----


def small_network(random):
    width = pick(random, 512, 768)

    def run(w, x):
        return jnp.tanh(x @ w)

    return run, (Shape((width, width), F32), Shape((8, width), F32))


def matrix_power(random):
    width = pick(random, 512, 768)

    def run(a):
        return a @ a @ a

    return run, (Shape((width, width), F32),)


PROGRAMS = (scanned_mlp, recurrent, scanned_gpt, unrolled_gpt, plain_mlp, momentum, logits,
            long_attention)  # fmt: skip
NOTHING = (small_network, matrix_power)
