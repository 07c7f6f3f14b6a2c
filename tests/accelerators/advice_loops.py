"""Programs for scripts/check/advice whose layers are steps of a loop within one function, which has other lines besides
and is called once or a few times. The step is what a checkpoint is put around."""

import jax
import jax.numpy as jnp
from jax import lax
from programs import Program, adds_to, bf16, f32

PROGRAMS, NOTHING = {}, {}
program, nothing = adds_to(PROGRAMS), adds_to(NOTHING)


@program
def loop_of_one_line(sizes):
    width, depth, batch = sizes.among(256, 384, 512), sizes.around(5, 12), sizes.many(400, 800)

    def loss(params, x):
        for w, b in params:
            x = jax.nn.softplus(x @ w + b)
        return jnp.mean(x ** 2)
    return Program(jax.grad(loss), ([(f32(width, width), f32(width))] * depth, f32(batch, width)))


@program
def loop_before_loss(sizes):
    """The loop is in a function of its own, and the line that calls it says that it is called once."""
    width, depth, batch = sizes.among(256, 384), sizes.around(4, 10), sizes.many(400, 800)

    def network(ws, x):
        for w in ws:
            x = jax.nn.gelu(x @ w)
        return x

    def step(ws, x, y):
        value, grads = jax.value_and_grad(lambda ws: jnp.mean((network(ws, x) - y) ** 2))(ws)
        return value, [w - 0.1 * g for w, g in zip(ws, grads)]
    return Program(step, ([f32(width, width)] * depth, f32(batch, width), f32(batch, width)), (0,))


@program
def loop_with_embedding(sizes):
    """The activation was traced before the loop, too, and JAX traces it once."""
    width, depth, batch = sizes.among(256, 384), sizes.around(5, 10), sizes.many(400, 800)

    def loss(p, x, y):
        h = jax.nn.silu(x @ p["in"])
        for w, b in p["layers"]:
            h = jax.nn.silu(h @ w + b)
        return jnp.mean((h @ p["out"] - y) ** 2)
    p = {"in": f32(64, width), "layers": [(f32(width, width), f32(width))] * depth, "out": f32(width, 8)}
    return Program(jax.value_and_grad(loss), (p, f32(batch, 64), f32(batch, 8)))


@program
def loop_of_lines(sizes):
    """With a norm and a residual; the mean of the last one follows."""
    width, depth, batch = sizes.among(192, 256), sizes.around(4, 8), sizes.many(300, 600)

    def loss(p, x, y):
        x = x @ p["in"]
        for w in p["layers"]:
            h = x - x.mean(-1, keepdims=True)
            h = h * lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-6) * w["scale"]
            h = jax.nn.gelu(h @ w["up"])
            x = x + h @ w["down"]
        x = x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
        return jnp.mean((x @ p["out"] - y) ** 2)
    layer = {"scale": f32(width), "up": f32(width, 4 * width), "down": f32(4 * width, width)}
    p = {"in": f32(32, width), "layers": [layer] * depth, "out": f32(width, 4)}
    return Program(jax.grad(loss), (p, f32(batch, 32), f32(batch, 4)))


@program
def loop_of_functions(sizes):
    """A step calls two functions and adds up what they return."""
    width, depth, length = sizes.among(128, 192), sizes.around(4, 7), sizes.among(128, 192)

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)

    def attend(w, x):
        q, k, v = (jnp.reshape(x @ w[name], (*x.shape[:2], 4, -1)) for name in "qkv")
        scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        return jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape) @ w["o"]

    def forward(p, x):
        x = x + p["position"]
        for w in p["layers"]:
            x = x + attend(w, norm(x))
            x = x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]
        return norm(x) @ p["head"]

    def loss(p, x, y):
        return jnp.mean((forward(p, x) - y) ** 2)
    layer = {**{name: f32(width, width) for name in "qkvo"}, "up": f32(width, 4 * width), "down": f32(4 * width, width)}
    p = {"position": f32(length, width), "layers": [layer] * depth, "head": f32(width, 8)}
    batch = sizes.many(1, 3)
    return Program(jax.grad(loss), (p, f32(batch, length, width), f32(batch, length, 8)))


@program
def loop_in_bf16(sizes):
    """Weights are converted in the step; the processor computes bf16 in f32."""
    width, depth, batch = sizes.among(512, 768), sizes.around(5, 8), sizes.many(200, 400)

    def loss(ws, x):
        for w in ws:
            x = jax.nn.gelu(x @ w.astype(jnp.bfloat16))
        return jnp.mean(x.astype(jnp.float32) ** 2)
    return Program(jax.grad(loss), ([f32(width, width)] * depth, bf16(batch, width)))


@program
def loop_of_an_ensemble(sizes):
    """The gradient of a loss with a loop, for several models at once."""
    width, depth, batch, models = sizes.among(128, 256), sizes.around(4, 7), sizes.many(60, 120), sizes.among(4, 8)

    def loss(ws, x, y):
        for w in ws:
            x = jax.nn.relu(x @ w)
        return jnp.mean((x - y) ** 2)

    def step(ws, x, y):
        grads = jax.vmap(jax.grad(loss), (0, None, None))(ws, x, y)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads)
    return Program(step, ([f32(models, width, width)] * depth, f32(batch, width), f32(batch, width)), (0,))


@program
def loop_called_twice(sizes):
    width, depth, batch = sizes.among(256, 384), sizes.around(4, 6), sizes.many(300, 500)

    def encode(ws, x):
        for w in ws:
            x = jax.nn.gelu(x @ w)
        return x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True) + 1e-6)

    def loss(p, a, b):
        first = encode(p["first"], a)
        second = encode(p["second"], b)
        return jnp.mean((first - second) ** 2)
    ws = [f32(width, width)] * depth
    return Program(jax.grad(loss), ({"first": ws, "second": ws}, f32(batch, width), f32(batch, width)))


@program
def loop_of_convolutions(sizes):
    channels, depth, side = sizes.among(16, 24), sizes.around(4, 7), sizes.among(32, 48)

    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(p, x, y):
        h = conv(x, p["stem"])
        for w in p["blocks"]:
            inner = jnp.tanh(conv(h, w["a"]))
            h = h + jnp.tanh(conv(inner, w["b"]))
        return jnp.mean((jnp.mean(h, (1, 2)) @ p["head"] - y) ** 2)
    block = {"a": f32(3, 3, channels, channels), "b": f32(3, 3, channels, channels)}
    p = {"stem": f32(3, 3, 3, channels), "blocks": [block] * depth, "head": f32(channels, 10)}
    batch = sizes.many(1, 3)
    return Program(jax.grad(loss), (p, f32(batch, side, side, 3), f32(batch, 10)))


@program
def loops_one_after_another(sizes):
    """An encoder and a decoder, of different depths, in one function."""
    width, batch = sizes.among(256, 384), sizes.many(300, 600)
    down, up = sizes.around(3, 5), sizes.around(4, 6)

    def loss(p, x):
        h = x
        for w, b in p["down"]:
            h = jnp.tanh(h @ w + b)
        code = h @ p["code"]
        h = code @ p["code"].T
        for w, b in p["up"]:
            h = jax.nn.gelu(h @ w + b)
        return jnp.mean((h - x) ** 2) + jnp.mean(code ** 2)
    layer = (f32(width, width), f32(width))
    p = {"down": [layer] * down, "code": f32(width, 16), "up": [layer] * up}
    return Program(jax.grad(loss), (p, f32(batch, width)))


@program
def loop_in_the_step(sizes):
    """The function that is compiled has the loop itself, in the loss inside of it."""
    width, depth, batch = sizes.among(256, 384), sizes.around(4, 8), sizes.many(400, 800)

    def step(ws, x, y):
        def loss(ws):
            h = x
            for i, w in enumerate(ws):
                h = jnp.sin(h @ w) if i % 2 else jax.nn.softplus(h @ w)
            return jnp.sum((h - y) ** 2)
        return [w - 1e-3 * g for w, g in zip(ws, jax.grad(loss)(ws))]
    return Program(step, ([f32(width, width)] * depth, f32(batch, width), f32(batch, width)), (0,))


@nothing
def loop_of_inference(sizes):
    """Nothing waits for a backward part."""
    width, depth, batch = sizes.among(1024, 1536), sizes.around(4, 6), sizes.many(20, 40)

    def run(ws, x):
        for w in ws:
            x = jax.nn.relu(x @ w)
        return jnp.argmax(x, -1)
    return Program(run, ([f32(width, width)] * depth, f32(batch, width)))
