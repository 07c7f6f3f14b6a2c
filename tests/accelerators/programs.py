"""Programs that are compiled for TPUs and GPUs, and run nowhere: their arguments are shapes. Sizes are drawn
anew for each seed, so that no figure of theirs can be known before; temporaries are tens to some hundreds
of MiB, which is enough for an offset or a padding to matter, and compiles within seconds.

Each function of PROGRAMS takes a Sizes and returns a Program. Those of REFUSED have scans whose batches, or grids, are so
large that a TPU has no room for what they stack, and XLA refuses them as they are."""

import dataclasses
import functools
import random

import jax
import jax.numpy as jnp
from jax import lax

PROGRAMS, REFUSED = {}, {}


@dataclasses.dataclass
class Program:
    function: object
    arguments: tuple                 # trees of ShapeDtypeStruct
    donated: tuple = ()
    # For programs of several devices: axis sizes by name, and for each argument a tree of PartitionSpec,
    # or one for all its leaves.
    mesh: dict = dataclasses.field(default_factory=dict)
    specs: tuple = ()


class Sizes:
    """Draws sizes: multiples of what hardware likes, or any."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.scale = self.random.choice((2, 4, 8))

    def among(self, *choices):
        return self.random.choice(choices)

    def around(self, low, high, step=1):
        return self.random.randrange(low, high + 1, step)

    def many(self, low, high):
        """Of what a program has many, a batch for example: enough that not all fits into a TPU's VMEM."""
        return self.scale * self.random.randint(low, high)


class SmallSizes(Sizes):
    """Draws small sizes, for modules that are run (evaluate.py)."""

    def among(self, *choices):
        return choices[0]

    def around(self, low, high, step=1):
        if low > 64:
            low = max(low // 8 // step, 1) * step
            high = low + 2 * step
        return self.random.randrange(low, high + 1, step)

    def many(self, low, high):
        return self.random.randint(1, 2) * (max(low // 8, 4) if low > 16 else low)


class TooLargeSizes(Sizes):
    """Draws sizes of a program that does not fit a v5e: near the largest of what is drawn, and so much of what it has many
    of that its temporaries, which grow with that, are about half as much again as there is room for."""

    def __init__(self, seed, many):
        super().__init__(seed)
        self.many_of = many

    def among(self, *choices):
        return choices[-1]

    def around(self, low, high, step=1):
        least = high - (high - low) // 8 // step * step
        return self.random.randrange(least, high + 1, step)

    def many(self, low, high):
        return self.many_of + 8 * self.random.randint(0, self.many_of // 64)


SMALL = "small "   # what the seed of small sizes begins with


def sizes_of(seed, name):
    seed = f"{seed} {name}"
    return SmallSizes(seed) if seed.startswith(SMALL) else Sizes(seed)


def make(name, seed):
    """The program of this name, of either kind."""
    return REFUSED[name](f"{seed} {name}") if name in REFUSED else PROGRAMS[name](sizes_of(seed, name))


def adds_to(programs):
    """A decorator that lists a program under its name."""
    def add(make):
        programs[make.__name__] = make
        return make
    return add


program = adds_to(PROGRAMS)


def refused(make, many):
    """Has a program again, with so many of what it has many of that no TPU of 16 GiB takes it."""
    name = f"{make.__name__}_refused"
    REFUSED[name] = lambda seed: make(TooLargeSizes(seed, many))


# ---- shapes and parts ----

def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def bf16(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def like(tree):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


def stacked(tree, count):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((count, *leaf.shape), leaf.dtype), tree)


def cross_entropy(logits, labels):
    logits = logits.astype(jnp.float32)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def sgd(loss, parameters, *batch, rate=0.05, **named):
    """A step of gradient descent whose parameters are donated."""
    def step(parameters, *batch):
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        return jax.tree.map(lambda p, g: p - rate * g.astype(p.dtype), parameters, gradients), value
    return Program(step, (parameters, *batch), (0,), **named)


def adam(loss, parameters, *batch):
    """A step of Adam whose parameters and moments are donated."""
    def step(parameters, mean, square, count, *batch):
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        count = count + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradients)
        scale = jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        parameters = jax.tree.map(lambda p, m, s: p - 1e-3 * scale * m / (jnp.sqrt(s) + 1e-8),
                                  parameters, mean, square)
        return parameters, mean, square, count, value
    return Program(step, (parameters, like(parameters), like(parameters), f32(), *batch), (0, 1, 2, 3))


def norm(x):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    return ((wide - mean) * lax.rsqrt(((wide - mean)**2).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype)


def rms_norm(x):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype)


def attend(q, k, v, is_causal):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * q.shape[-1]**-0.5
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(v.dtype), v)


def transformer_layer(x, w, heads, is_causal=True, dtype=jnp.bfloat16):
    w = jax.tree.map(lambda leaf: leaf.astype(dtype), w)
    batch, length, width = x.shape
    q, k, v = jnp.split((norm(x) @ w["qkv"]).reshape(batch, length, heads, -1), 3, -1)
    x = x + attend(q, k, v, is_causal).reshape(batch, length, width) @ w["out"]
    return x + jax.nn.gelu(norm(x) @ w["wide"]) @ w["narrow"]


def transformer_shapes(width, ratio=4):
    return {"qkv": f32(width, 3 * width), "out": f32(width, width),
            "wide": f32(width, ratio * width), "narrow": f32(ratio * width, width)}


def llama_layer(x, w, heads):
    w = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), w)
    batch, length, width = x.shape
    h = rms_norm(x)
    q, k, v = ((h @ w[name]).reshape(batch, length, heads, -1) for name in ("q", "k", "v"))
    angle = jnp.arange(length)[:, None] * 1e4**(-jnp.arange(q.shape[-1] // 2) / (q.shape[-1] // 2))
    q, k = (jnp.concatenate([a * jnp.cos(angle)[:, None] - b * jnp.sin(angle)[:, None],
                             a * jnp.sin(angle)[:, None] + b * jnp.cos(angle)[:, None]],
                            -1).astype(jnp.bfloat16)
            for a, b in (jnp.split(value, 2, -1) for value in (q, k)))
    x = x + attend(q, k, v, True).reshape(batch, length, width) @ w["out"]
    h = rms_norm(x)
    return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


def llama_shapes(width, wide):
    return {**{name: f32(width, width) for name in ("q", "k", "v", "out")},
            "gate": f32(width, wide), "up": f32(width, wide), "down": f32(wide, width)}


def language_loss(body, p, tokens):
    x = p["embedding"].astype(jnp.bfloat16)[tokens[:, :-1]]
    x = body(x, p["layers"])
    return cross_entropy(norm(x) @ p["embedding"].astype(jnp.bfloat16).T, tokens[:, 1:])


# ---- language ----

@program
def gpt_unrolled(sizes):
    width, heads, length = sizes.among(384, 512, 640), 8, sizes.around(192, 320, 8)
    layers, batch, vocabulary = sizes.around(2, 3), sizes.many(3, 6), sizes.around(4000, 8000, 64)

    def body(x, layers):
        for w in layers:
            x = transformer_layer(x, w, heads)
        return x
    parameters = {"embedding": f32(vocabulary, width),
                  "layers": [transformer_shapes(width) for _ in range(layers)]}
    return adam(functools.partial(language_loss, body), parameters, i32(batch, length + 1))


@program
def gpt_scanned(sizes):
    width, heads, length = sizes.among(384, 512, 640), 8, sizes.around(192, 320, 8)
    layers, batch, vocabulary = sizes.around(3, 6), sizes.many(2, 5), sizes.around(4000, 8000, 64)

    def body(x, layers):
        return lax.scan(lambda x, w: (transformer_layer(x, w, heads), None), x, layers)[0]
    parameters = {"embedding": f32(vocabulary, width),
                  "layers": stacked(transformer_shapes(width), layers)}
    return sgd(functools.partial(language_loss, body), parameters, i32(batch, length + 1))


def _llama(sizes, wrap):
    width, wide, heads = sizes.among(512, 768), sizes.around(1024, 2048, 128), 8
    layers, batch, length = sizes.around(4, 8), sizes.many(1, 3), sizes.around(256, 512, 16)
    layer = wrap(functools.partial(llama_layer, heads=heads))

    def body(x, layers):
        return lax.scan(lambda x, w: (layer(x, w), None), x, layers)[0]
    parameters = {"embedding": f32(sizes.around(4000, 8000, 64), width),
                  "layers": stacked(llama_shapes(width, wide), layers)}
    return sgd(functools.partial(language_loss, body), parameters, i32(batch, length + 1))


@program
def llama_scanned(sizes):
    return _llama(sizes, lambda layer: layer)


@program
def llama_checkpointed(sizes):
    return _llama(sizes, jax.checkpoint)


@program
def mixture_of_experts(sizes):
    """Tokens go to the best of some experts by one-hot products."""
    width, experts, batch = sizes.among(256, 512), sizes.among(4, 8), sizes.many(500, 1500)
    capacity = 2 * batch // experts

    def layer(x, w):
        scores = jax.nn.softmax((x @ w["router"]).astype(jnp.float32))
        chosen = jax.nn.one_hot(scores.argmax(-1), experts)
        place = jnp.cumsum(chosen, 0) * chosen
        to = chosen[..., None] * jax.nn.one_hot(place.sum(-1).astype(jnp.int32) - 1, capacity)[:, None]
        to = to.astype(x.dtype)
        h = jnp.einsum("td,tec->ecd", x, to)
        h = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", h, w["wide"].astype(x.dtype)))
        h = jnp.einsum("ecf,efd->ecd", h, w["narrow"].astype(x.dtype))
        return x + jnp.einsum("ecd,tec->td", h, to) * scores.max(-1)[:, None].astype(x.dtype)

    def loss(layers, x, y):
        for w in layers:
            x = layer(x, w)
        return ((x - y).astype(jnp.float32)**2).mean()
    layers = [{"router": bf16(width, experts), "wide": f32(experts, width, 2 * width),
               "narrow": f32(experts, 2 * width, width)} for _ in range(2)]
    return sgd(loss, layers, bf16(batch, width), bf16(batch, width))


@program
def decode_step(sizes):
    """One token of each sequence; the cache is donated and written in place."""
    width, heads, layers = sizes.among(512, 1024), 8, sizes.around(3, 6)
    batch, length, vocabulary = sizes.many(3, 9), sizes.around(500, 1100), sizes.around(8000, 16000, 64)

    def step(p, cache, token, position):
        x = p["embedding"][token]
        new = []
        for w, (keys, values) in zip(p["layers"], cache):
            q, k, v = jnp.split((norm(x) @ w["qkv"]).reshape(batch, 1, heads, -1), 3, -1)
            keys = lax.dynamic_update_slice(keys, k, (0, position, 0, 0))
            values = lax.dynamic_update_slice(values, v, (0, position, 0, 0))
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys).astype(jnp.float32)
            scores = jnp.where(jnp.arange(length) <= position, scores, -1e9)
            h = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), values)
            x = x + h.reshape(batch, width) @ w["out"]
            x = x + jax.nn.gelu(norm(x) @ w["wide"]) @ w["narrow"]
            new.append((keys, values))
        return new, (norm(x) @ p["embedding"].T).argmax(-1).astype(jnp.int32)
    weights = jax.tree.map(lambda leaf: bf16(*leaf.shape), transformer_shapes(width))
    parameters = {"embedding": bf16(vocabulary, width), "layers": [weights] * layers}
    cache = [(bf16(batch, length, heads, width // heads),) * 2] * layers
    return Program(step, (parameters, cache, i32(batch), i32()), (1,))


@program
def chunked_attention(sizes):
    """Attention over blocks of keys with a running maximum, forward and backward."""
    heads, depth, block = sizes.around(4, 8), sizes.among(64, 128), sizes.among(128, 256)
    length, batch = block * sizes.around(4, 8), sizes.many(1, 2)

    def attention(q, k, v):
        def one(carry, kv):
            total, weight, most = carry
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, kv[0])
            new = jnp.maximum(most, scores.max(-1))
            e = jnp.exp(scores - new[..., None])
            old = jnp.exp(most - new)
            return (total * old[..., None] + jnp.einsum("bhqk,bkhd->bhqd", e, kv[1]),
                    weight * old + e.sum(-1), new), None
        blocks = tuple(jnp.moveaxis(a.reshape(batch, -1, block, heads, depth), 1, 0) for a in (k, v))
        start = (jnp.zeros((batch, heads, length, depth)), jnp.zeros((batch, heads, length)),
                 jnp.full((batch, heads, length), -1e9))
        total, weight, _ = lax.scan(one, start, blocks)[0]
        return total / weight[..., None]

    def step(q, k, v):
        return jax.grad(lambda *a: (attention(*a)**2).mean(), (0, 1, 2))(q, k, v)
    return Program(step, (f32(batch, length, heads, depth),) * 3)


@program
def embedding_scatter(sizes):
    """Sparse updates of a donated table, by scatter."""
    rows, width, batch = sizes.around(20000, 40000), sizes.among(64, 128, 200), sizes.many(5000, 20000)

    def step(table, head, indices, target):
        def loss(picked, head):
            return ((jnp.tanh(picked) @ head - target)**2).mean()
        gradients = jax.grad(loss, (0, 1))(table[indices], head)
        return table.at[indices].add(-0.1 * gradients[0]), head - 0.1 * gradients[1]
    return Program(step, (f32(rows, width), f32(width, 32), i32(batch), f32(batch, 32)), (0, 1))


# ---- recurrent ----

def _recurrent(sizes, gates, cell):
    width, batch, length = sizes.among(256, 384, 512), sizes.many(16, 48), sizes.around(40, 90)

    def loss(p, xs, y):
        start = (jnp.zeros((batch, width)),) * 2
        (h, _), all_h = lax.scan(lambda carry, x: cell(p, carry, x), start, xs)
        return ((all_h.mean(0) + h - y)**2).mean()
    parameters = {"in": f32(width, gates * width), "rec": f32(width, gates * width)}
    return sgd(loss, parameters, f32(length, batch, width), f32(batch, width))


@program
def lstm(sizes):
    def cell(p, carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ p["in"] + h @ p["rec"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    return _recurrent(sizes, 4, cell)


@program
def gru(sizes):
    def cell(p, carry, x):
        h, last = carry
        xr, xz, xn = jnp.split(x @ p["in"], 3, -1)
        hr, hz, hn = jnp.split(h @ p["rec"], 3, -1)
        z = jax.nn.sigmoid(xz + hz)
        new = (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn) + z * h
        return (new, last * 0.9 + new * 0.1), new
    return _recurrent(sizes, 3, cell)


# ---- images ----

def conv(x, w, stride=1):
    return lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), "SAME",
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(x):
    wide = x.astype(jnp.float32)
    mean = wide.mean((0, 1, 2))
    return ((wide - mean) * lax.rsqrt(((wide - mean)**2).mean((0, 1, 2)) + 1e-5)).astype(x.dtype)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@program
def resnet(sizes):
    side, batch, width = sizes.among(32, 48, 64), sizes.many(8, 24), sizes.among(32, 64)

    def loss(p, x, y):
        x = batch_norm(conv(x, p["stem"]))
        for first, second, short in p["blocks"]:
            h = jax.nn.relu(batch_norm(conv(x, first, 2)))
            x = jax.nn.relu(batch_norm(conv(h, second)) + conv(x, short, 2))
        return cross_entropy(x.mean((1, 2)) @ p["head"].astype(x.dtype), y)
    blocks = [(f32(3, 3, width << i, width << i + 1), f32(3, 3, width << i + 1, width << i + 1),
               f32(1, 1, width << i, width << i + 1)) for i in range(2)]
    parameters = {"stem": f32(3, 3, 3, width), "blocks": blocks, "head": f32(width << 2, 100)}
    return sgd(loss, parameters, bf16(batch, side, side, 3), i32(batch))


def _unet_parameters(channels, width):
    return {"down": [f32(3, 3, channels, width), f32(3, 3, width, 2 * width)],
            "middle": f32(3, 3, 2 * width, 4 * width),
            "up": [f32(3, 3, 6 * width, 2 * width), f32(3, 3, 3 * width, width)],
            "last": f32(1, 1, width, channels)}


def _unet(p, x):
    skips = []
    for w in p["down"]:
        x = jax.nn.gelu(conv(x, w))
        skips.append(x)
        x = max_pool(x)
    x = jax.nn.gelu(conv(x, p["middle"]))
    for w, skip in zip(p["up"], reversed(skips)):
        x = jax.image.resize(x, (*skip.shape[:3], x.shape[3]), "nearest")
        x = jax.nn.gelu(conv(jnp.concatenate([x, skip], -1), w))
    return conv(x, p["last"])


@program
def unet(sizes):
    side, batch, width = sizes.among(48, 64, 80), sizes.many(3, 10), sizes.among(24, 32, 48)
    image = f32(batch, side, side, 3)
    return sgd(lambda p, x, y: ((_unet(p, x) - y)**2).mean(), _unet_parameters(3, width), image, image)


@program
def diffusion_step(sizes):
    """A denoising step: a U-Net that is told the time, and noise from a counter."""
    side, batch, width = sizes.among(32, 48, 64), sizes.many(6, 20), sizes.among(16, 32)

    def loss(p, x, time, key):
        noise = jax.random.normal(jax.random.wrap_key_data(key), x.shape)
        level = jnp.cos(time)[:, None, None, None]
        noisy = x * level + noise * jnp.sqrt(1 - level**2)
        shown = jnp.concatenate([noisy, jnp.broadcast_to(level, (*x.shape[:3], 1))], -1)
        return ((_unet(p, shown)[..., :3] - noise)**2).mean()
    key = jax.ShapeDtypeStruct((2,), jnp.uint32)
    return sgd(loss, _unet_parameters(4, width), f32(batch, side, side, 3), f32(batch), key)


@program
def vit(sizes):
    width, heads, patches = sizes.among(384, 512), 8, sizes.around(100, 200)
    layers, batch = sizes.around(2, 4), sizes.many(4, 10)

    def loss(p, x, y):
        x = x @ p["patch"].astype(x.dtype) + p["position"].astype(x.dtype)
        for w in p["layers"]:
            x = transformer_layer(x, w, heads, is_causal=False)
        return cross_entropy(norm(x).mean(1) @ p["head"].astype(x.dtype), y)
    parameters = {"patch": f32(768, width), "position": f32(patches, width), "head": f32(width, 1000),
                  "layers": [transformer_shapes(width) for _ in range(layers)]}
    return sgd(loss, parameters, bf16(batch, patches, 768), i32(batch))


# ---- numbers ----

@program
def mlp_adam(sizes):
    width, batch, layers = sizes.around(500, 1100), sizes.many(1500, 5000), sizes.around(4, 8)

    def loss(ws, x, y):
        for w in ws:
            x = jnp.tanh(x @ w)
        return ((x - y)**2).mean()
    return adam(loss, [f32(width, width) for _ in range(layers)], f32(batch, width), f32(batch, width))


@program
def mixed_precision(sizes):
    """Master weights in f32, products in bf16, a loss that is scaled, and gradients that are checked."""
    width, batch, layers = sizes.among(512, 768, 1024), sizes.many(2000, 5000), sizes.around(4, 7)

    def loss(ws, x, scale):
        h = x.astype(jnp.bfloat16)
        for w in ws:
            h = h + jax.nn.silu(norm(h) @ w.astype(jnp.bfloat16))
        return (h.astype(jnp.float32)**2).mean() * scale

    def step(ws, x, scale):
        gradients = jax.grad(loss)(ws, x, scale)
        finite = jnp.all(jnp.stack([jnp.isfinite(g).all() for g in gradients]))
        new = [jnp.where(finite, w - 0.1 * g / scale, w) for w, g in zip(ws, gradients)]
        return new, jnp.where(finite, scale * 1.01, scale * 0.5)
    return Program(step, ([f32(width, width) for _ in range(layers)], f32(batch, width), f32()), (0,))


@program
def conditional_in_loop(sizes):
    """Each step of the loop trains, and now and then does something else."""
    width, batch, steps = sizes.among(384, 512, 768), sizes.many(2000, 6000), sizes.around(4, 9)

    def forward(ws, x):
        for w in ws:
            x = jnp.tanh(x @ w)
        return x

    def step(ws, x):
        def one(i, ws):
            def loss(ws):
                h = forward(ws[:2], x)
                h = lax.cond(i % 2 == 0, lambda h: forward(ws[2:], h), lambda h: h * 0.5, h)
                return (h**2).mean()
            return jax.tree.map(lambda w, g: w - 0.1 * g, ws, jax.grad(loss)(ws))
        return lax.fori_loop(0, steps, one, ws)
    return Program(step, ([f32(width, width) for _ in range(4)], f32(batch, width)), (0,))


@program
def stencil_in_time(sizes):
    """The adjoint of a wave that is computed over some steps, all of whose states are kept."""
    side, steps = sizes.many(150, 250), sizes.around(8, 20)

    def loss(speed, field):
        def one(carry, _):
            now, last = carry
            laplace = (jnp.roll(now, 1, 0) + jnp.roll(now, -1, 0) + jnp.roll(now, 1, 1)
                       + jnp.roll(now, -1, 1) - 4 * now)
            return (2 * now - last + speed * speed * laplace, now), None
        return (lax.scan(one, (field, field), None, length=steps)[0][0]**2).mean()
    return Program(jax.grad(loss), (f32(side, side), f32(side, side)))


@program
def rollout(sizes):
    """A policy acts in a linear world for some steps, and learns from the whole."""
    state, width, batch = sizes.around(100, 250), sizes.among(256, 512), sizes.many(600, 2000)
    steps = sizes.around(8, 16)

    def loss(p, x, world):
        def one(x, _):
            action = jnp.tanh(jnp.tanh(x @ p["in"]) @ p["out"])
            return jnp.tanh(x @ world + action), ((x**2).sum(-1) + 0.1 * (action**2).sum(-1))
        return lax.scan(one, x, None, length=steps)[1].mean()
    parameters = {"in": f32(state, width), "out": f32(width, state)}
    return sgd(loss, parameters, f32(batch, state), f32(state, state))


@program
def sort_top_k(sizes):
    rows, columns, k = sizes.many(150, 400), sizes.around(4000, 12000), sizes.around(16, 64)

    def step(scores, noise):
        order = jnp.argsort(scores + noise, axis=-1)
        best, where = lax.top_k(scores, k)
        ranked = jnp.take_along_axis(noise, order, -1)
        total = jnp.cumsum(jnp.sort(jax.nn.softmax(ranked), -1), -1)
        return best, where, jnp.where(total < 0.9, ranked, 0.0)
    return Program(step, (f32(rows, columns), f32(rows, columns)))


@program
def donated_state(sizes):
    """Parts of donated arrays are overwritten while what was computed from them is still to be read."""
    rows, width = sizes.many(4000, 12000), sizes.among(256, 384, 512)

    def step(x, log, w, at):
        kept = [jnp.tanh(x @ (w * (i + 1))) for i in range(4)]
        x = lax.dynamic_update_slice(x, kept[0][:64] * 2, (at, 0))
        log = lax.dynamic_update_slice(log, x.mean(0)[None], (at, 0))
        h = x
        for value in kept:
            h = jnp.tanh(h @ w + value)
        return x, log, h.sum(0)
    return Program(step, (f32(rows, width), f32(1024, width), f32(width, width), i32()), (0, 1))


@program
def conv_with_statistics(sizes):
    """Convolutions and batch norm whose running mean and variance are state of their own, as in Flax; some
    convolutions have few channels, which a TPU pads to 128."""
    side, batch, width = sizes.among(28, 40, 56), sizes.many(6, 20), sizes.among(16, 24, 48)
    few = sizes.around(3, 9)

    def norm_and_update(x, p, state):
        wide = x.astype(jnp.float32)
        mean, square = wide.mean((0, 1, 2)), (wide * wide).mean((0, 1, 2))
        variance = square - mean * mean
        new = {"mean": 0.99 * state["mean"] + 0.01 * mean, "variance": 0.99 * state["variance"] + 0.01 * variance}
        return ((wide - mean) * lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]).astype(x.dtype), new

    def loss(p, state, x, y):
        new = []
        for w, n, old in zip(p["convolutions"], p["norms"], state):
            x, kept = norm_and_update(conv(x, w), n, old)
            x = jax.nn.relu(x)
            new.append(kept)
        return cross_entropy(x.mean((1, 2)) @ p["head"].astype(x.dtype), y), new

    def step(p, state, x, y):
        (value, state), gradients = jax.value_and_grad(loss, has_aux=True)(p, state, x, y)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients), state, value
    channels = (3, width, few, 2 * width, few, width)
    kernels = [f32(size, size, a, b) for size, a, b in zip((3, 1, 1, 3, 1), channels, channels[1:])]
    p = {"convolutions": kernels, "norms": [{"scale": f32(c), "bias": f32(c)} for c in channels[1:]],
         "head": f32(width, 10)}
    state = [{"mean": f32(c), "variance": f32(c)} for c in channels[1:]]
    return Program(step, (p, state, bf16(batch, side, side, 3), i32(batch)), (0, 1))


@program
def grouped_query_decoding(sizes):
    """Tokens of a sequence one after the other: the layers are scanned, and each writes its part of the cache,
    which several heads of queries read."""
    width, groups, ratio, depth = sizes.among(512, 1024), sizes.among(2, 4), 4, 64
    layers, batch, length = sizes.around(4, 8), sizes.many(2, 6), sizes.around(300, 900)
    steps = sizes.around(3, 8)

    def layer(carry, kept):
        x, position = carry
        w, keys, values = kept
        h = rms_norm(x)
        q = (h @ w["q"]).reshape(batch, groups, ratio, depth)
        k, v = ((h @ w[name]).reshape(batch, 1, groups, depth) for name in ("k", "v"))
        keys = lax.dynamic_update_slice(keys, k, (0, position, 0, 0))
        values = lax.dynamic_update_slice(values, v, (0, position, 0, 0))
        scores = jnp.einsum("bgrd,btgd->bgrt", q, keys).astype(jnp.float32) * depth**-0.5
        scores = jnp.where(jnp.arange(length) <= position, scores, -1e9)
        h = jnp.einsum("bgrt,btgd->bgrd", jax.nn.softmax(scores).astype(x.dtype), values)
        x = x + h.reshape(batch, -1) @ w["out"]
        return (x + jax.nn.silu(rms_norm(x) @ w["up"]) @ w["down"], position), (keys, values)

    def step(w, cache, x, position):
        def one(i, carry):
            x, cache = carry
            (x, _), cache = lax.scan(layer, (x, position + i), (w, *cache))
            return x, cache
        return lax.fori_loop(0, steps, one, (x, cache))
    heads = groups * ratio * depth
    w = {"q": bf16(layers, width, heads), "k": bf16(layers, width, groups * depth),
         "v": bf16(layers, width, groups * depth), "out": bf16(layers, heads, width),
         "up": bf16(layers, width, 3 * width), "down": bf16(layers, 3 * width, width)}
    cache = (bf16(layers, batch, length, groups, depth),) * 2
    return Program(step, (w, cache, bf16(batch, width), i32()), (1,))


@program
def routed_by_sorting(sizes):
    """Experts that tokens are sorted by: top-k, sort, gather, batched products, scatter; with gradients."""
    width, experts, tokens = sizes.among(256, 384), sizes.among(4, 8), sizes.many(500, 1500)
    capacity = 2 * tokens // experts + 8

    def loss(p, x, y):
        score, chosen = lax.top_k(jax.nn.softmax((x @ p["router"]).astype(jnp.float32)), 2)
        flat = chosen.reshape(-1)
        order = jnp.argsort(flat)
        sorted_by = flat[order]
        place = jnp.arange(flat.size) - jnp.searchsorted(sorted_by, sorted_by, side="left")
        rows = jnp.where(place < capacity, sorted_by * capacity + place, experts * capacity)
        h = jnp.zeros((experts * capacity + 1, width), x.dtype).at[rows].set(x[order // 2])
        h = h[:-1].reshape(experts, capacity, width)
        h = jnp.einsum("ecf,efd->ecd", jax.nn.silu(jnp.einsum("ecd,edf->ecf", h, p["up"])), p["down"])
        back = jnp.concatenate([h.reshape(-1, width), jnp.zeros((1, width), h.dtype)])[rows]
        back = back * score.reshape(-1)[order][:, None].astype(back.dtype)
        out = jnp.zeros((tokens, width), jnp.float32).at[order // 2].add(back.astype(jnp.float32))
        return ((out - y)**2).mean()
    p = {"router": bf16(width, experts), "up": bf16(experts, width, 2 * width), "down": bf16(experts, 2 * width, width)}
    return sgd(loss, p, bf16(tokens, width), f32(tokens, width))


@program
def routed_by_capacity(sizes):
    """Experts with room for so many tokens each: counted, scattered to their places, gathered again; with gradients."""
    width, experts, tokens = sizes.among(256, 384), 8, sizes.many(500, 1500)
    room = tokens // 4

    def layer(p, x):
        gate = jax.nn.softmax(x @ p["router"])
        chosen, weight = gate.argmax(-1), gate.max(-1)
        counts = jnp.cumsum(jax.nn.one_hot(chosen, experts), 0)
        place = jnp.take_along_axis(counts, chosen[:, None], 1)[:, 0].astype(jnp.int32) - 1
        h = jnp.zeros((experts, room, width), x.dtype).at[chosen, place].set(x, mode="drop")
        h = jnp.einsum("ecf,efd->ecd", jax.nn.gelu(jnp.einsum("ecd,edf->ecf", h, p["up"])), p["down"])
        return x + weight[:, None] * h.at[chosen, place].get(mode="fill", fill_value=0)

    def loss(p, x, y):
        return ((functools.reduce(lambda x, q: layer(q, x), p, x) - y)**2).mean()
    p = {"router": f32(width, experts), "up": f32(experts, width, 2 * width), "down": f32(experts, 2 * width, width)}
    return sgd(loss, [p] * 2, f32(tokens, width), f32(tokens, width))


@program
def k_means(sizes):
    """Clusters until they settle: distances, the nearest, sums by scatter, in a loop of unknown length."""
    points, width, clusters = sizes.many(10000, 20000), sizes.among(32, 100, 128), sizes.around(100, 600)

    def step(state, x):
        centers, _, count, _ = state
        distance = (centers**2).sum(1) - 2 * x @ centers.T
        nearest = distance.argmin(1)
        number = jnp.zeros(clusters).at[nearest].add(1.0)
        new = jnp.zeros_like(centers).at[nearest].add(x) / jnp.maximum(number, 1)[:, None]
        return new, nearest, count + 1, jnp.abs(new - centers).max()

    def fit(x, centers):
        start = centers, jnp.zeros(points, jnp.int32), 0, jnp.float32(1)
        return lax.while_loop(lambda state: (state[3] > 1e-3) & (state[2] < 100), lambda state: step(state, x), start)
    return Program(fit, (f32(points, width), f32(clusters, width)), (1,))


@program
def linear_recurrence(sizes):
    """A state space layer: an associative scan over time, and its gradients."""
    width, batch, length = sizes.among(128, 192, 256), sizes.many(2, 6), sizes.around(200, 500)

    def loss(p, x, y):
        decay = jax.nn.sigmoid(x @ p["decay"])
        driven = jnp.tanh(x @ p["in"])

        def join(a, b):
            return a[0] * b[0], b[0] * a[1] + b[1]
        _, h = lax.associative_scan(join, (decay, driven), axis=1)
        return ((jnp.cumsum(h @ p["out"], 1) / length - y)**2).mean()
    p = {name: f32(width, width) for name in ("decay", "in", "out")}
    return sgd(loss, p, f32(batch, length, width), f32(batch, length, width))


@program
def scan_with_outputs(sizes):
    """A scan that hands out several arrays in each step, whose body keeps some products and recomputes the rest."""
    width, batch, steps = sizes.among(256, 384), sizes.many(60, 200), sizes.around(6, 14)

    def loss(p, x, y):
        @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
        def body(h, w):
            wide = jax.nn.gelu(h @ w["wide"])
            h = h + jnp.sin(wide @ w["narrow"])
            return h, (h.mean(0), (wide**2).sum(-1), h[:, :16].astype(jnp.bfloat16))
        h, (means, sums, parts) = lax.scan(body, x, p)
        return ((h - y)**2).mean() + means.var() + 1e-3 * sums.mean() + parts.astype(jnp.float32).std()
    return sgd(loss, stacked({"wide": f32(width, 3 * width), "narrow": f32(3 * width, width)}, steps),
               f32(batch, width), f32(batch, width))


@program
def quantized_products(sizes):
    """Products of int8 with scales by row and column, and a lookup in an int8 table."""
    width, batch, layers = sizes.among(512, 768, 1024), sizes.many(400, 1500), sizes.around(3, 6)
    rows = sizes.around(5000, 20000)

    def quantize(x, axis):
        scale = jnp.abs(x).max(axis, keepdims=True) / 127 + 1e-9
        return jnp.round(x / scale).astype(jnp.int8), scale

    def step(table, ws, scales, tokens):
        x = table[tokens].astype(jnp.float32) * 0.01
        for w, scale in zip(ws, scales):
            q, by_row = quantize(x, -1)
            product = lax.dot_general(q, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
            x = x + jax.nn.silu(product.astype(jnp.float32) * by_row * scale)
        return x, quantize(x, 0)
    weights = [jax.ShapeDtypeStruct((width, width), jnp.int8)] * layers
    return Program(step, (jax.ShapeDtypeStruct((rows, width), jnp.int8), weights, [f32(width)] * layers, i32(batch)))


@program
def search_until_found(sizes):
    """A loop of unknown length that reads and writes slices of its state where the data says."""
    rows, width, block = sizes.many(800, 2500), sizes.among(256, 384, 512), sizes.among(64, 128)

    def step(x, w, best):
        def go_on(state):
            i, x, best, at = state
            return (best.max() > 1e-3) & (i < 50)

        def body(state):
            i, x, best, at = state
            part = lax.dynamic_slice(x, (at, 0), (block, width))
            part = jnp.tanh(part @ w) + part
            x = lax.dynamic_update_slice(x, part, (at, 0))
            best = best.at[i].set(jnp.abs(part).mean())
            return i + 1, x, best, (at + jnp.argmax(part.sum(-1)).astype(jnp.int32)) % (rows - block)
        _, x, best, _ = lax.while_loop(go_on, body, (0, x, best, 0))
        return (x @ w).sum(0), best
    return Program(step, (f32(rows, width), f32(width, width), f32(50)), (2,))


@program
def spectral_filter(sizes):
    """A filter of images by a Fourier transform, and the gradient of the filter."""
    side, batch = sizes.among(64, 96, 128), sizes.many(6, 20)

    def loss(filters, x, y):
        spectrum = jnp.fft.rfft2(x) * filters
        return ((jnp.fft.irfft2(spectrum, (side, side)) - y)**2).mean()
    return Program(lambda f, x, y: (loss(f, x, y), jax.grad(loss)(f, x, y)),
                   (f32(side, side // 2 + 1), f32(batch, side, side), f32(batch, side, side)))


# ---- further kinds ----

@program
def encoder_decoder(sizes):
    """Two scanned stacks, the second of which reads the first one's result in every layer; with gradients."""
    width, batch, layers = sizes.among(256, 384), sizes.many(2, 4), sizes.around(3, 6)
    length, target = sizes.around(128, 256, 16), sizes.around(64, 160, 16)

    def encode(x, w):
        return transformer_layer(x, w, 4, False), None

    def decode(memory, x, w):
        x = transformer_layer(x, {name: w[name] for name in ("qkv", "out", "wide", "narrow")}, 4)
        q, k, v = (a.reshape(*a.shape[:2], 4, -1) for a in (
            norm(x) @ w["q"].astype(x.dtype), *jnp.split(memory @ w["kv"].astype(x.dtype), 2, -1)))
        return x + attend(q, k, v, False).reshape(x.shape) @ w["read"].astype(x.dtype), None

    def loss(p, x, y, labels):
        memory, _ = lax.scan(encode, x, p["encoder"])
        out, _ = lax.scan(functools.partial(decode, norm(memory)), y, p["decoder"])
        return cross_entropy(norm(out) @ p["head"].astype(out.dtype), labels)
    layer = transformer_shapes(width)
    p = {"encoder": stacked(layer, layers), "head": f32(width, 4096), "decoder": stacked(
        {**layer, "q": f32(width, width), "kv": f32(width, 2 * width), "read": f32(width, width)}, layers)}
    return sgd(loss, p, bf16(batch, length, width), bf16(batch, target, width), i32(batch, target))


@program
def linear_attention(sizes):
    """Attention whose state is a matrix: products within a chunk of time, a scan over chunks; layers unrolled."""
    width, batch, chunks, chunk = sizes.among(256, 512), sizes.many(1, 3), sizes.around(6, 12), sizes.among(32, 64)
    heads, layers = 4, sizes.around(2, 4)

    def layer(x, w):
        q, k, v, g = jnp.split((rms_norm(x) @ w["in"]).reshape(batch, chunks, chunk, heads, -1), 4, -1)
        decay = jax.nn.sigmoid(g.mean((2, 4)).astype(jnp.float32))

        def step(state, of):
            q, k, v, d = of
            inner = jnp.einsum("bqhd,bkhd->bhqk", q, k) * jnp.tril(jnp.ones((chunk, chunk), q.dtype))
            out = jnp.einsum("bhqk,bkhd->bqhd", inner, v) + jnp.einsum("bqhd,bhde->bqhe", q, state.astype(q.dtype))
            return d[:, :, None, None] * state + jnp.einsum("bkhd,bkhe->bhde", k, v).astype(jnp.float32), out
        size = width // heads
        _, out = lax.scan(step, jnp.zeros((batch, heads, size, size), jnp.float32),
                          jax.tree.map(lambda a: jnp.moveaxis(a, 1, 0), (jax.nn.relu(q), jax.nn.relu(k), v, decay)))
        out = jnp.moveaxis(out, 0, 1).reshape(x.shape)
        return x + rms_norm(out) @ w["out"]

    def loss(p, x, y):
        for w in p:
            x = layer(x, w)
        return ((x - y).astype(jnp.float32)**2).mean()
    p = [{"in": bf16(width, 4 * width), "out": bf16(width, width)} for _ in range(layers)]
    shape = bf16(batch, chunks * chunk, width)
    return sgd(loss, p, shape, shape)


@program
def graph_network(sizes):
    """Messages along edges: gathers of nodes, a network for each edge, sums by segment; with gradients."""
    nodes, edges, width = sizes.many(200, 900), sizes.many(2000, 5000), sizes.among(64, 96, 128)
    rounds = sizes.around(2, 4)

    def loss(p, x, sender, receiver, y):
        for w in p:
            message = jax.nn.relu(jnp.concatenate([x[sender], x[receiver]], -1) @ w["edge"])
            pooled = jax.ops.segment_sum(message, receiver, nodes)
            worst = jax.ops.segment_max(message, receiver, nodes)
            x = x + jnp.tanh(jnp.concatenate([x, pooled, jnp.where(worst > -1e9, worst, 0)], -1) @ w["node"])
        return ((x.sum(-1) - y)**2).mean()
    p = [{"edge": f32(2 * width, width), "node": f32(3 * width, width)} for _ in range(rounds)]
    return sgd(loss, p, f32(nodes, width), i32(edges), i32(edges), f32(nodes))


@program
def recommendation(sizes):
    """Tables that are looked up, products of all pairs of features, Adam."""
    tables, rows = sizes.around(8, 16), sizes.around(5000, 20000)
    width, batch = sizes.among(16, 32, 64), sizes.many(128, 512)

    def loss(p, dense, ids, y):
        bottom = jax.nn.relu(dense @ p["bottom"])
        parts = [bottom, *(table[ids[:, i]] for i, table in enumerate(p["tables"]))]
        features = jnp.stack(parts, 1)
        pairs = jnp.einsum("bid,bjd->bij", features, features)
        x = jnp.concatenate([bottom, pairs.reshape(batch, -1)], -1)
        for w in p["top"]:
            x = jax.nn.relu(x @ w)
        return jnp.mean(jax.nn.softplus(x.sum(-1)) - y * x.sum(-1))
    wide = width + (tables + 1)**2
    p = {"bottom": f32(13, width), "tables": [f32(rows, width) for _ in range(tables)],
         "top": [f32(wide, 512), f32(512, 256), f32(256, 1)]}
    return adam(loss, p, f32(batch, 13), i32(batch, tables), f32(batch))


@program
def policy_gradient(sizes):
    """Advantages by a scan backwards in time, then epochs of minibatches in two scans, each with a step of descent."""
    steps, actors = sizes.around(32, 96, 16), sizes.many(16, 48)
    width, epochs = sizes.among(128, 256), sizes.around(2, 4)

    def network(p, x):
        for w in p["body"]:
            x = jnp.tanh(x @ w)
        return x @ p["policy"], (x @ p["value"])[..., 0]

    def step(p, seen, action, reward):
        _, value = network(p, seen)

        def back(carry, of):
            reward, value, following = of
            carry = reward + 0.99 * following - value + 0.95 * 0.99 * carry
            return carry, carry
        following = jnp.concatenate([value[1:], value[-1:]])
        _, advantage = lax.scan(back, jnp.zeros(actors), (reward, value, following), reverse=True)
        old = jnp.take_along_axis(jax.nn.log_softmax(network(p, seen)[0]), action[..., None], -1)[..., 0]

        def loss(p, seen, action, old, advantage, target):
            logits, value = network(p, seen)
            new = jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], -1)[..., 0]
            ratio = jnp.exp(new - old)
            gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage)
            return -gain.mean() + ((value - target)**2).mean()

        def minibatch(p, of):
            return jax.tree.map(lambda a, g: a - 1e-3 * g, p, jax.grad(loss)(p, *of)), None

        def epoch(p, _):
            parts = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[2:]),
                                 (seen, action, old, advantage, advantage + value))
            return lax.scan(minibatch, p, parts)
        return lax.scan(epoch, p, None, length=epochs)[0]
    p = {"body": [f32(64, width), f32(width, width), f32(width, width)], "policy": f32(width, 16),
         "value": f32(width, 1)}
    return Program(step, (p, f32(steps, actors, 64), i32(steps, actors), f32(steps, actors)), (0,))


@program
def two_towers(sizes):
    """Two encoders, and a loss over all pairs of their results."""
    width, batch, length = sizes.among(256, 384), sizes.many(16, 48), sizes.around(24, 64, 8)

    def tower(p, x):
        for w in p:
            x = transformer_layer(x, w, 4, False)
        return x.mean(1) * lax.rsqrt((x.mean(1).astype(jnp.float32)**2).sum(-1, keepdims=True) + 1e-6).astype(x.dtype)

    def loss(p, image, text):
        scores = (tower(p["image"], image) @ tower(p["text"], text).T).astype(jnp.float32) / 0.07
        diagonal = jnp.diagonal(scores)
        return -(2 * diagonal - jax.nn.logsumexp(scores, 0) - jax.nn.logsumexp(scores, 1)).mean() / 2
    layers = [transformer_shapes(width) for _ in range(sizes.around(1, 3))]
    shape = bf16(batch, length, width)
    return sgd(loss, {"image": layers, "text": layers}, shape, shape)


@program
def neural_ode(sizes):
    """Runge-Kutta steps in a scan whose body is checkpointed, with gradients."""
    width, batch, steps = sizes.among(128, 192, 256), sizes.many(128, 512), sizes.around(20, 60)

    def field(p, x, t):
        h = jnp.tanh(x @ p["in"] + t)
        return jnp.tanh(h @ p["mid"]) @ p["out"]

    @jax.checkpoint
    def step(p, x, t):
        a = field(p, x, t)
        b = field(p, x + a / (2 * steps), t + 0.5 / steps)
        c = field(p, x + b / (2 * steps), t + 0.5 / steps)
        d = field(p, x + c / steps, t + 1 / steps)
        return x + (a + 2 * b + 2 * c + d) / (6 * steps)

    def loss(p, x, y):
        x, _ = lax.scan(lambda x, t: (step(p, x, t), None), x, jnp.arange(steps) / steps)
        return ((x - y)**2).mean()
    p = {"in": f32(width, 2 * width), "mid": f32(2 * width, 2 * width), "out": f32(2 * width, width)}
    return sgd(loss, p, f32(batch, width), f32(batch, width))


@program
def depthwise_network(sizes):
    """Convolutions of single channels, norms over channels, wide products, squeeze and excitation."""
    width, batch, side = sizes.among(64, 96, 128), sizes.many(2, 6), sizes.among(28, 32, 40)

    def block(x, w):
        h = lax.conv_general_dilated(x, w["depthwise"], (1, 1), "SAME", feature_group_count=width,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        h = jax.nn.gelu(norm(h) @ w["wide"])
        h = h * jax.nn.sigmoid(h.mean((1, 2), keepdims=True) @ w["gate"])
        return x + h @ w["narrow"]

    def loss(p, x, y):
        for w in p:
            x = block(x, w)
        return ((x.mean((1, 2)) - y).astype(jnp.float32)**2).mean()
    p = [{"depthwise": bf16(7, 7, 1, width), "wide": bf16(width, 4 * width), "gate": bf16(4 * width, 4 * width),
          "narrow": bf16(4 * width, width)} for _ in range(sizes.around(3, 6))]
    return sgd(loss, p, bf16(batch, side, side, width), bf16(batch, width))


@program
def second_order(sizes):
    """Descent by preconditioners: gradients' products, inverse roots by iteration in a loop, for each matrix."""
    width, batch = sizes.among(256, 384), sizes.many(64, 256)

    def inverse_root(m):
        scale = jnp.trace(m)
        y, z = m / scale + 1e-4 * jnp.eye(width), jnp.eye(width)

        def iterate(_, of):
            y, z = of
            t = 0.5 * (3 * jnp.eye(width) - z @ y)
            return y @ t, t @ z
        return lax.fori_loop(0, 8, iterate, (y, z))[1] * lax.rsqrt(scale)

    def loss(p, x, y):
        for w in p:
            x = jnp.tanh(x @ w)
        return ((x - y)**2).mean()

    def step(p, left, right, x, y):
        gradients = jax.grad(loss)(p, x, y)
        left = [0.99 * a + g @ g.T for a, g in zip(left, gradients)]
        right = [0.99 * a + g.T @ g for a, g in zip(right, gradients)]
        p = [w - 0.01 * inverse_root(a) @ g @ inverse_root(b) for w, a, b, g in zip(p, left, right, gradients)]
        return p, left, right
    matrices = [f32(width, width) for _ in range(sizes.around(3, 6))]
    return Program(step, (matrices, matrices, matrices, f32(batch, width), f32(batch, width)), (0, 1, 2))


# ---- several devices ----

P = jax.sharding.PartitionSpec


@program
def fsdp(sizes):
    """Parameters and batch are both spread over four devices."""
    width, batch, layers = sizes.among(512, 768, 1024), 4 * sizes.many(1000, 3000), sizes.around(3, 5)

    def loss(ws, x, y):
        for w in ws:
            x = jnp.tanh(x @ w["wide"]) @ w["narrow"]
        return ((x - y)**2).mean()
    layers = [{"wide": f32(width, 2 * width), "narrow": f32(2 * width, width)} for _ in range(layers)]
    batch = f32(batch, width)
    return sgd(loss, layers, batch, batch, mesh={"data": 4}, specs=(P("data"), P("data"), P("data")))


@program
def tensor_parallel(sizes):
    """The wide dimension of each layer is spread over four devices."""
    width, batch, layers = sizes.among(512, 768, 1024), sizes.many(2000, 5000), sizes.around(2, 4)

    def loss(ws, x, y):
        for w in ws:
            x = x + jax.nn.gelu(norm(x) @ w["wide"].astype(x.dtype)) @ w["narrow"].astype(x.dtype)
        return ((x - y).astype(jnp.float32)**2).mean()
    weights = [{"wide": f32(width, 4 * width), "narrow": f32(4 * width, width)} for _ in range(layers)]
    specs = [{"wide": P(None, "model"), "narrow": P("model", None)} for _ in range(layers)]
    return sgd(loss, weights, bf16(batch, width), bf16(batch, width), mesh={"model": 4},
               specs=(specs, P(), P()))


# ---- what a TPU refuses ----

for _make, _many in ((gpt_scanned, 250), (llama_scanned, 96), (lstm, 16000), (gru, 16000), (rollout, 200000),
                     (scan_with_outputs, 200000)):
    refused(_make, _many)
