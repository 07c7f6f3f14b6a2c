"""Programs of many kinds for tests/python/matrix.py, written for it: models in their training steps, and
what else XLA has instructions for. Each compiles within a second or two on one core, and has some
megabytes of temporaries. Each function returns (function, arguments, donated arguments), as those of
live_programs.py do."""

import functools

import jax
import jax.numpy as jnp
import live_programs
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from live_programs import normal

PROGRAMS = {name: live_programs.PROGRAMS[name] for name in
            ("mlp", "constants", "overwritten_parameter", "overwritten_carry")}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def integers(seed, high, *shape):
    return np.random.default_rng(seed).integers(0, high, shape, dtype=np.int32)


def training(loss, parameters, *batch, rate=0.05):
    """A step of gradient descent, whose parameters are overwritten in place."""
    def step(parameters, *batch):
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        return jax.tree.map(lambda p, g: p - rate * g.astype(p.dtype), parameters, gradients), value
    return step, (parameters, *batch), (0,)


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def weight(seed, *shape):
    return normal(seed, *shape, scale=shape[-2]**-0.5)


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean)**2).mean(-1, keepdims=True) + 1e-5)


# ---- images ----

def kernel(seed, size, *channels):
    return normal(seed, size, size, *channels, scale=(size * size * channels[0])**-0.5)


def conv(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(x):
    mean = x.mean((0, 1, 2))
    return (x - mean) * lax.rsqrt(((x - mean)**2).mean((0, 1, 2)) + 1e-5)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


IMAGES = functools.partial(normal, 99, 8, 32, 32)
LABELS = integers(98, 10, 8)


@program
def conv_net():
    def loss(p, x, y):
        for w in p["convs"]:
            x = jax.nn.relu(conv(x, w))
        return cross_entropy(x.mean((1, 2)) @ p["head"], y)
    convs = [kernel(0, 3, 3, 16), *(kernel(i, 3, 16, 16) for i in range(1, 6))]
    return training(loss, {"convs": convs, "head": weight(9, 16, 10)}, IMAGES(3), LABELS)


@program
def mobilenet():
    """Inverted residuals with depthwise convolutions."""
    def loss(p, x, y):
        x = jax.nn.relu6(batch_norm(conv(x, p["stem"])))
        for wide, deep, narrow in p["blocks"]:
            h = jax.nn.relu6(batch_norm(conv(x, wide)))
            h = jax.nn.relu6(batch_norm(conv(h, deep, groups=48)))
            x = x + batch_norm(conv(h, narrow))
        return cross_entropy(x.mean((1, 2)) @ p["head"], y)
    blocks = [(kernel(i, 1, 12, 48), kernel(i + 10, 3, 1, 48), kernel(i + 20, 1, 48, 12))
              for i in range(3)]
    p = {"stem": kernel(5, 3, 3, 12), "blocks": blocks, "head": weight(9, 12, 10)}
    return training(loss, p, IMAGES(3)[:4], LABELS[:4])


@program
def vgg():
    def loss(p, x, y):
        for stage in p["stages"]:
            for w in stage:
                x = jax.nn.relu(conv(x, w))
            x = max_pool(x)
        x = x.reshape(len(x), -1)
        return cross_entropy(jax.nn.relu(x @ p["hidden"]) @ p["head"], y)
    stages = [[kernel(0, 3, 3, 16), kernel(1, 3, 16, 16)], [kernel(2, 3, 16, 32), kernel(3, 3, 32, 32)],
              [kernel(4, 3, 32, 32), kernel(5, 3, 32, 32)]]
    p = {"stages": stages, "hidden": weight(6, 512, 64), "head": weight(7, 64, 10)}
    return training(loss, p, IMAGES(3), LABELS)


@program
def resnet():
    def loss(p, x, y):
        x = batch_norm(conv(x, p["stem"]))
        for first, second, short in p["blocks"]:
            stride = 1 if short is None else 2
            h = jax.nn.relu(batch_norm(conv(x, first, stride)))
            h = batch_norm(conv(h, second))
            x = jax.nn.relu(h + (x if short is None else conv(x, short, 2)))
        return cross_entropy(x.mean((1, 2)) @ p["head"], y)
    blocks = [(kernel(1, 3, 16, 16), kernel(2, 3, 16, 16), None),
              (kernel(3, 3, 16, 32), kernel(4, 3, 32, 32), kernel(5, 1, 16, 32)),
              (kernel(6, 3, 32, 32), kernel(7, 3, 32, 32), None)]
    p = {"stem": kernel(0, 3, 3, 16), "blocks": blocks, "head": weight(9, 32, 10)}
    return training(loss, p, IMAGES(3), LABELS)


@program
def unet():
    """Skip connections live from the way down to the way up."""
    def loss(p, x, target):
        skips = []
        for w in p["down"]:
            x = jax.nn.gelu(conv(x, w))
            skips.append(x)
            x = max_pool(x)
        x = jax.nn.gelu(conv(x, p["middle"]))
        for w, skip in zip(p["up"], reversed(skips)):
            x = jax.image.resize(x, (*skip.shape[:3], x.shape[3]), "nearest")
            x = jax.nn.gelu(conv(jnp.concatenate([x, skip], -1), w))
        return ((conv(x, p["last"]) - target)**2).mean()
    p = {"down": [kernel(0, 3, 3, 16), kernel(1, 3, 16, 24)], "middle": kernel(2, 3, 24, 32),
         "up": [kernel(3, 3, 56, 24), kernel(4, 3, 40, 16)], "last": kernel(5, 1, 16, 3)}
    return training(loss, p, IMAGES(3)[:4], IMAGES(3)[:4] * 0.5)


# ---- sequences ----

WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = 64, 4, 64, 4, 128
TOKENS = integers(97, VOCABULARY, BATCH, LENGTH + 1)


def attention(x, qkv, is_causal=True):
    batch, length, width = x.shape
    q, k, v = jnp.split((x @ qkv).reshape(batch, length, HEADS, -1), 3, -1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1]**-0.5
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(batch, length, width)


def transformer_layer(x, w, is_causal=True):
    x = x + attention(layer_norm(x), w["qkv"], is_causal) @ w["out"]
    return x + jax.nn.gelu(layer_norm(x) @ w["wide"]) @ w["narrow"]


def transformer_weights(seed):
    return {"qkv": weight(seed, WIDTH, 3 * WIDTH), "out": weight(seed + 1, WIDTH, WIDTH),
            "wide": weight(seed + 2, WIDTH, 4 * WIDTH), "narrow": weight(seed + 3, 4 * WIDTH, WIDTH)}


def gpt_weights(layers):
    return {"embedding": normal(0, VOCABULARY, WIDTH, scale=0.1),
            "position": normal(1, LENGTH, WIDTH, scale=0.1),
            "layers": [transformer_weights(10 * i) for i in range(layers)]}


def stacked(layers):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *layers)


def gpt_loss(p, tokens, body):
    x = p["embedding"][tokens[:, :-1]] + p["position"]
    x = body(x, p["layers"])
    return cross_entropy(layer_norm(x) @ p["embedding"].T, tokens[:, 1:])


@program
def gpt_unrolled():
    """With Adam, whose moments are donated as well."""
    def body(x, layers):
        for w in layers:
            x = transformer_layer(x, w)
        return x

    def step(p, mean, square, tokens):
        value, g = jax.value_and_grad(gpt_loss)(p, tokens, body)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
        square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, g)
        p = jax.tree.map(lambda p, m, s: p - 1e-3 * m / (jnp.sqrt(s) + 1e-8), p, mean, square)
        return p, mean, square, value
    p = gpt_weights(3)
    zeros = jax.tree.map(np.zeros_like, p)
    return step, (p, zeros, jax.tree.map(np.copy, zeros), TOKENS), (0, 1, 2)


@program
def gpt_scan():
    def body(x, layers):
        return lax.scan(lambda x, w: (transformer_layer(x, w), None), x, layers)[0]
    p = gpt_weights(4)
    return training(functools.partial(gpt_loss, body=body), {**p, "layers": stacked(p["layers"])},
                    TOKENS)


@program
def gpt_checkpoint():
    """jax.checkpoint with a policy within the scan, and without one on what follows it."""
    def body(x, layers):
        turn = jax.checkpoint(lambda x, w: (transformer_layer(x, w), None),
                              policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
        x = lax.scan(turn, x, layers["scanned"])[0]
        return jax.checkpoint(transformer_layer)(x, layers["last"])
    p = gpt_weights(4)
    layers = {"scanned": stacked(p["layers"][:3]), "last": p["layers"][3]}
    return training(functools.partial(gpt_loss, body=body), {**p, "layers": layers}, TOKENS)


@program
def llama():
    """Rotary positions, grouped queries, gated units, and a loss over pieces of the sequence."""
    def rotate(x):
        half = x.shape[-1] // 2
        angles = jnp.arange(LENGTH)[:, None] * 10000.0**(-jnp.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    def rms_norm(x):
        return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    def body(x, layers):
        for w in layers:
            h = rms_norm(x)
            q = rotate((h @ w["q"]).reshape(BATCH, LENGTH, HEADS, -1))
            k, v = jnp.split((h @ w["kv"]).reshape(BATCH, LENGTH, HEADS // 2, -1), 2, -1)
            k, v = (jnp.repeat(one, 2, 2) for one in (rotate(k), v))
            x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ w["out"]
            h = rms_norm(x)
            x = x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
        return x

    def loss(p, tokens):
        x = body(p["embedding"][tokens[:, :-1]], p["layers"])
        parts = [cross_entropy(piece @ p["head"], labels) for piece, labels in
                 zip(jnp.split(x, 4, 1), jnp.split(tokens[:, 1:], 4, 1))]
        return sum(parts) / 4
    layers = [{"q": weight(i, WIDTH, WIDTH), "kv": weight(i + 1, WIDTH, WIDTH),
               "out": weight(i + 2, WIDTH, WIDTH), "gate": weight(i + 3, WIDTH, 3 * WIDTH),
               "up": weight(i + 4, WIDTH, 3 * WIDTH), "down": weight(i + 5, 3 * WIDTH, WIDTH)}
              for i in (0, 10, 20)]
    p = {"embedding": normal(0, VOCABULARY, WIDTH, scale=0.1), "layers": layers,
         "head": weight(7, WIDTH, VOCABULARY)}
    return training(loss, p, TOKENS)


@program
def vit():
    def loss(p, images, labels):
        batch = len(images)
        x = images.reshape(batch, 8, 4, 8, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(batch, 64, 48)
        x = x @ p["patches"] + p["position"]
        for w in p["layers"]:
            x = transformer_layer(x, w, is_causal=False)
        return cross_entropy(layer_norm(x).mean(1) @ p["head"], labels)
    p = {"patches": weight(5, 48, WIDTH), "position": normal(1, 64, WIDTH, scale=0.1),
         "layers": [transformer_weights(10 * i) for i in range(3)], "head": weight(6, WIDTH, 10)}
    return training(loss, p, IMAGES(3), LABELS)


@program
def mixer():
    def loss(p, x, labels):
        for w in p["layers"]:
            h = layer_norm(x).swapaxes(1, 2)
            x = x + (jax.nn.gelu(h @ w["rows"]) @ w["rows_back"]).swapaxes(1, 2)
            x = x + jax.nn.gelu(layer_norm(x) @ w["wide"]) @ w["narrow"]
        return cross_entropy(x.mean(1) @ p["head"], labels)
    layers = [{"rows": weight(i, LENGTH, 128), "rows_back": weight(i + 1, 128, LENGTH),
               "wide": weight(i + 2, WIDTH, 256), "narrow": weight(i + 3, 256, WIDTH)}
              for i in (0, 10, 20, 30)]
    return training(loss, {"layers": layers, "head": weight(9, WIDTH, 10)},
                    normal(99, 8, LENGTH, WIDTH), LABELS)


@program
def lstm():
    def loss(p, xs, target):
        def turn(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"], 4, -1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        start = jnp.zeros((32, 64))
        hs = lax.scan(turn, (start, start), xs)[1]
        return ((hs @ p["head"] - target)**2).mean()
    p = {"x": weight(0, 32, 256), "h": weight(1, 64, 256), "head": weight(2, 64, 8)}
    return training(loss, p, normal(99, 48, 32, 32), normal(98, 48, 32, 8))


@program
def mixture_of_experts():
    """Tokens go to their two best experts, by one-hot dispatch with a capacity."""
    experts, capacity = 4, 160

    def layer(x, w):
        gates, chosen = lax.top_k(jax.nn.softmax(x @ w["router"]), 2)
        one_hot = jax.nn.one_hot(chosen, experts)
        place = (jnp.cumsum(one_hot.reshape(-1, experts), 0) - 1).reshape(*one_hot.shape)
        place = jnp.sum(place * one_hot, -1).astype(jnp.int32)
        dispatch = one_hot[..., None] * jax.nn.one_hot(place, capacity)[:, :, None]
        inner = jnp.einsum("tkec,td->ecd", dispatch, x)
        inner = jax.nn.relu(jnp.einsum("ecd,edf->ecf", inner, w["in"]))
        out = jnp.einsum("ecf,efd->ecd", inner, w["out"])
        return x + jnp.einsum("tkec,tk,ecd->td", dispatch, gates, out)

    def loss(p, x):
        for w in p:
            x = layer(layer_norm(x), w)
        return (x**2).mean()
    p = [{"router": weight(i, WIDTH, experts), "in": weight(i + 1, experts, WIDTH, 128),
          "out": weight(i + 2, experts, 128, WIDTH)} for i in (0, 10)]
    return training(loss, p, normal(99, 256, WIDTH))


@program
def message_passing():
    """A graph network: gathers over edges and sums over nodes."""
    nodes, edges = 512, 4096

    def loss(p, x, senders, receivers):
        for w in p:
            pairs = jnp.concatenate([x[senders], x[receivers]], -1)
            messages = jax.nn.silu(pairs @ w["edge"])
            total = jax.ops.segment_sum(messages, receivers, nodes)
            peak = jax.ops.segment_max(messages, receivers, nodes)
            x = layer_norm(x + total @ w["node"] + jnp.where(jnp.isfinite(peak), peak, 0))
        return (x**3).mean()
    p = [{"edge": weight(i, 64, 32), "node": weight(i + 1, 32, 32)} for i in (0, 10, 20)]
    return training(loss, p, normal(99, nodes, 32), integers(1, nodes, edges),
                    integers(2, nodes, edges))


# ---- state ----

@program
def donated_arguments():
    """More than one donated argument, of which one is returned in another place, with momentum."""
    def step(ws, velocity, x):
        value, g = jax.value_and_grad(live_programs.loss)(ws, x)
        velocity = [0.9 * v + d for v, d in zip(velocity, g)]
        ws = [w - 0.1 * v for w, v in zip(ws, velocity)]
        return value, velocity, ws[::-1]
    ws = live_programs.weights(6, 128)
    return step, (ws, [np.zeros_like(w) for w in ws], normal(99, 2048, 128)), (0, 1)


@program
def decoding():
    """A scan whose carry has caches, which are updated in place, and are donated."""
    steps = 6

    def step(caches, ws, prompt, start):
        kept = []
        x = prompt
        for w in ws:  # the prompt is read before, and what was made of it is read after the scan
            x = transformer_layer(x, w)
            kept.append(x)
        x = x[:, -1]

        def turn(carry, offset):
            caches, x = carry
            new = []
            for (keys, values), w in zip(caches, ws):
                q, k, v = jnp.split(layer_norm(x) @ w["qkv"], 3, -1)
                keys = lax.dynamic_update_slice(keys, k[:, None], (0, start + offset, 0))
                values = lax.dynamic_update_slice(values, v[:, None], (0, start + offset, 0))
                scores = jnp.einsum("bd,btd->bt", q, keys)
                scores = jnp.where(jnp.arange(keys.shape[1]) <= start + offset, scores, -1e9)
                x = x + jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), values) @ w["out"]
                x = x + jax.nn.gelu(x @ w["wide"]) @ w["narrow"]
                new.append((keys, values))
            return (new, x), x.sum(-1)
        (caches, x), sums = lax.scan(turn, (caches, x), jnp.arange(steps))
        scores = [jnp.einsum("bd,btd->bt", x, one) for one in (caches[0][0], *kept)]
        return caches, sums, scores
    caches = [(normal(i, 32, 128, WIDTH), normal(i + 1, 32, 128, WIDTH)) for i in (0, 2)]
    return step, (caches, [transformer_weights(10 * i) for i in range(2)],
                  normal(99, 32, LENGTH, WIDTH), np.int32(40)), (0,)


@program
def branches():
    """cond and switch, in the forward part and in a donated update."""
    def step(state, ws, x, flag, index):
        def loss(ws):
            h = live_programs.forward(ws[:3], x)
            h = lax.cond(flag, lambda h: live_programs.forward(ws[3:], h), lambda h: h * 0.5, h)
            h = lax.switch(index, [jnp.sin, lambda h: live_programs.forward(ws[1:3], h), jnp.exp], h)
            return (h**2).mean(), h
        (value, h), g = jax.value_and_grad(loss, has_aux=True)(ws)
        state = lax.cond(value > 0.1, lambda s: s.at[:64].add(h[:64]), lambda s: s, state)
        return state, value, g, (state[:64] * h[:64]).sum()
    return step, (normal(5, 1024, 128), live_programs.weights(6, 128), normal(99, 1024, 128),
                  np.True_, np.int32(1)), (0,)


@program
def while_dynamic():
    """Loops whose trip counts are known only when they run, between values that outlive them."""
    def step(x, w, n, limit):
        kept = [jnp.tanh(x @ w * (i + 1)) for i in range(4)]
        x = lax.fori_loop(0, n, lambda i, x: jnp.tanh(x @ w) + x, x)
        x, turns = lax.while_loop(lambda s: (jnp.abs(s[0]).sum() > limit) & (s[1] < 20),
                                  lambda s: (s[0] * 0.5 + jnp.sin(s[0] @ w) * 0.1, s[1] + 1), (x, 0))
        for value in kept:
            x = jnp.tanh(x @ w + value)
        return x, turns
    return step, (normal(1, 1024, 256), weight(2, 256, 256), np.int32(3), np.float32(2e4)), (0,)


# ---- JAX's transformations ----

@program
def custom_vjp():
    """A function with a backward rule of its own, which keeps what it needs."""
    @jax.custom_vjp
    def clipped(x, w):
        return jnp.tanh(x @ w)

    def forward(x, w):
        y = clipped(x, w)
        return y, (x, w, y)

    def backward(kept, g):
        x, w, y = kept
        g = jnp.clip(g * (1 - y * y), -0.01, 0.01)
        return g @ w.T, x.T @ g
    clipped.defvjp(forward, backward)

    def loss(ws, x):
        for w in ws:
            x = clipped(x, w)
        return (x**2).sum()
    return training(loss, live_programs.weights(6, 128), normal(99, 2048, 128))


@program
def vmap():
    """A gradient for each example, clipped one by one."""
    def loss(ws, x):
        return (live_programs.forward(ws, x)**2).mean()

    def step(ws, xs):
        each = jax.vmap(jax.grad(loss), (None, 0))(ws, xs)
        norms = jnp.sqrt(sum((g**2).sum((1, 2)) for g in each))
        scale = jnp.minimum(1, 0.01 / norms)[:, None, None]
        return [w - (g * scale).mean(0) for w, g in zip(ws, each)]
    return step, (live_programs.weights(5, 64), normal(99, 64, 8, 64)), (0,)


@program
def higher_derivatives():
    """A network for a differential equation: second derivatives in the loss."""
    def value(ws, xy):
        h = jnp.tanh(xy @ ws[0])
        for w in ws[1:-1]:
            h = jnp.tanh(h @ w)
        return (h @ ws[-1])[0]

    def loss(ws, points):
        def residual(xy):
            return jnp.trace(jax.hessian(value, 1)(ws, xy)) - jnp.sin(xy).prod()
        return (jax.vmap(residual)(points)**2).mean()
    ws = [weight(0, 2, 48), weight(1, 48, 48), weight(2, 48, 48), weight(3, 48, 1)]
    return training(loss, ws, normal(99, 512, 2))


# ---- several devices ----

def mesh(*names):
    count = jax.device_count()
    sizes = (count,) if len(names) == 1 else (count // 2, 2) if count > 1 else (1, 1)
    return jax.make_mesh(sizes, names, axis_types=(AxisType.Auto,) * len(names))


def put(tree, devices, *spec):
    return jax.tree.map(lambda leaf: jax.device_put(leaf, NamedSharding(devices, P(*spec))), tree)


@program
def shard_map():
    """Collectives written by hand: all-reduce, all-gather, reduce-scatter, all-to-all, permute."""
    devices = mesh("d")

    def loss(ws, x):
        for i, w in enumerate(ws):
            whole = lax.all_gather(w, "d", tiled=True)
            x = jnp.tanh(x @ whole)
            if i == 1:
                x = lax.all_to_all(x, "d", 0, 0, tiled=True)
            if i == 2:
                x = lax.ppermute(x, "d", [(j, (j + 1) % devices.size) for j in range(devices.size)])
        norm = lax.psum_scatter(jnp.broadcast_to((x**2).sum(0), x.shape[1:]), "d", tiled=True)
        return lax.pmean((x**2).mean() + norm.mean() * 1e-6, "d")
    total = jax.shard_map(loss, mesh=devices, in_specs=(P("d"), P("d")), out_specs=P(),
                          check_vma=False)
    return jax.grad(total), (put(live_programs.weights(6, 128), devices, "d"),
                             put(normal(99, 8192, 128), devices, "d")), ()


@program
def pjit():
    """Data and tensor parallel: the collectives are XLA's."""
    devices = mesh("data", "model")

    def loss(ws, x):
        for wide, narrow in ws:
            h = jax.nn.gelu(layer_norm(x) @ wide)
            x = x + lax.with_sharding_constraint(h @ narrow, NamedSharding(devices, P("data")))
        return (x**2).mean()
    ws = [(put(weight(i, 128, 256), devices, None, "model"),
           put(weight(i + 1, 256, 128), devices, "model", None)) for i in (0, 2, 4)]
    return jax.grad(loss), (ws, put(normal(99, 4096, 128), devices, "data")), ()


# ---- types ----

@program
def bf16():
    def loss(ws, x):
        h = x.astype(jnp.bfloat16)
        for w in ws:
            h = jax.nn.gelu(h @ w.astype(jnp.bfloat16))
        return (h.astype(jnp.float32)**2).mean()
    return training(loss, live_programs.weights(5, 128), normal(99, 1024, 128))


@program
def fp8():
    """Products of scaled fp8 values, e4m3 forward and e5m2 backward."""
    def scaled(x, dtype):
        scale = jnp.max(jnp.abs(x)) / float(jnp.finfo(dtype).max) + 1e-12
        return (x / scale).astype(dtype), scale

    @jax.custom_vjp
    def product(x, w):
        return forward(x, w)[0]

    def forward(x, w):
        (x, a), (w, b) = scaled(x, jnp.float8_e4m3fn), scaled(w, jnp.float8_e4m3fn)
        return (x.astype(jnp.float32) @ w.astype(jnp.float32)) * (a * b), (x, a, w, b)

    def backward(kept, g):
        x, a, w, b = kept
        g, c = scaled(g, jnp.float8_e5m2)
        g = g.astype(jnp.float32)
        return (g @ w.astype(jnp.float32).T) * (b * c), (x.astype(jnp.float32).T @ g) * (a * c)
    product.defvjp(forward, backward)

    def loss(ws, x):
        for w in ws:
            x = jnp.tanh(product(x, w))
        return (x**2).mean()
    return training(loss, live_programs.weights(5, 128), normal(99, 2048, 128))


@program
def int8():
    """A quantized network: int8 products that are added up in int32."""
    def step(ws, x):
        kept = []
        for w, scale in ws:
            top = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
            q = jnp.round(x / top).astype(jnp.int8)
            y = lax.dot(q, w, preferred_element_type=jnp.int32)
            x = jnp.tanh(y.astype(jnp.float32) * top * scale)
            kept.append(x)
        for one in reversed(kept):
            x = jnp.tanh(x + one * 0.5)
        return x
    ws = [(np.clip(normal(i, 128, 128, scale=40), -127, 127).astype(np.int8),
           normal(i + 50, 128, scale=0.003)) for i in range(6)]
    return step, (ws, normal(99, 2048, 128)), ()


@program
def int4():
    """Weights of four bits, unpacked group by group where they are used."""
    def loss(scales, packed, x):
        for q, scale in zip(packed, scales):
            w = q.astype(jnp.float32).reshape(4, 32, 128) * scale[:, None]
            x = jnp.tanh(x @ w.reshape(128, 128))
        return (x**2).mean()
    packed = [integers(i, 15, 128, 128).astype(np.int8) - 7 for i in range(5)]
    packed = [jnp.asarray(q).astype(jnp.int4) for q in packed]
    scales = [normal(i + 50, 4, 128, scale=0.02) for i in range(5)]
    return training(loss, scales, packed, normal(99, 2048, 128))


@program
def complex_numbers():
    def loss(p, x):
        z = lax.complex(x, jnp.flip(x, -1))
        for real, imaginary in p:
            z = z @ lax.complex(real, imaginary)
            z = z / (1 + jnp.abs(z)) * jnp.exp(1j * jnp.angle(z + 0.1) * 0.5)
        return (z.real**2 + z.imag**2).mean()
    p = [(weight(i, 64, 64), weight(i + 1, 64, 64)) for i in (0, 2, 4)]
    return training(loss, p, normal(99, 1024, 64))


# ---- other instructions ----

@program
def gather_scatter():
    """An embedding table that is trained by rows, donated, and read again after its update."""
    def step(table, rows, w):
        def loss(picked):
            h = jnp.tanh(picked @ w)
            h = jnp.tanh(h @ w + picked)
            return (h**2).sum(), h
        picked = table[rows]
        (value, h), g = jax.value_and_grad(loss, has_aux=True)(picked)
        table = table.at[rows].add(-0.1 * g)
        table = table.at[rows[:64]].max(h[:64], mode="drop")
        return table, value, (table[rows[::2]] * h[::2]).sum(-1)
    return step, (normal(1, 4096, 64), integers(2, 4096, 4096), weight(3, 64, 64)), (0,)


@program
def sorting():
    def loss(ws, x):
        for w in ws:
            h = jnp.sort(x @ w, -1)
            order = jnp.argsort(h[:, 0])
            x = jnp.tanh(h[order] + jnp.cumsum(x, 0) * 0.01)
        best, at = lax.top_k(x, 8)
        return (best**2).mean() + (lax.sort((x[:, 0], x[:, 1]), num_keys=1)[1] * x[:, 2]).sum(), at
    gradient = jax.grad(loss, has_aux=True)
    return gradient, (live_programs.weights(4, 64), normal(99, 2048, 64)), ()


@program
def fft():
    """A Fourier neural operator."""
    def loss(p, x):
        for (real, imaginary), w in p:
            f = jnp.fft.rfft(x, axis=1)
            low = jnp.einsum("bfc,cd->bfd", f[:, :32], lax.complex(real, imaginary))
            f = jnp.pad(low, ((0, 0), (0, f.shape[1] - 32), (0, 0)))
            x = jax.nn.gelu(jnp.fft.irfft(f, axis=1) + x @ w)
        return (x**2).mean()
    p = [((weight(i, 32, 32), weight(i + 1, 32, 32)), weight(i + 2, 32, 32)) for i in (0, 5, 10)]
    return training(loss, p, normal(99, 16, 128, 32))


@program
def linear_algebra():
    """Custom calls of LAPACK, forward and backward."""
    def loss(ws, x):
        for w in ws:
            a = jnp.einsum("bij,bkj->bik", x, x) + 4 * jnp.eye(16)
            c = jnp.linalg.cholesky(a)
            x = jnp.tanh(jax.scipy.linalg.solve_triangular(c, x, lower=True) @ w)
            q, r = jnp.linalg.qr(x)
            x = x + 0.1 * q @ r
        values = jnp.linalg.eigvalsh(a)
        return (x**2).mean() + jnp.log(values).mean() + jnp.linalg.slogdet(a)[1].mean()
    return training(loss, [weight(i, 16, 16) for i in range(3)], normal(99, 256, 16, 16))


def _dropout(key, ws, x):
    for i, w in enumerate(ws):
        kept = jax.random.bernoulli(jax.random.fold_in(key, i), 0.9, x.shape)
        x = jnp.where(kept, jnp.tanh(x @ w) / 0.9, 0)
    return (x**2).mean()


@program
def threefry():
    """Masks that the backward part needs again."""
    def loss(ws, x, bits):
        return _dropout(jax.random.wrap_key_data(bits, impl="threefry2x32"), ws, x)
    return training(loss, live_programs.weights(4, 128), normal(99, 1024, 128),
                    np.array([1, 2], np.uint32))


@program
def rbg():
    """The same by XLA's own generator, whose state goes from one call to the next."""
    def loss(ws, x, bits):
        return _dropout(jax.random.wrap_key_data(bits, impl="rbg"), ws, x)
    return training(loss, live_programs.weights(4, 128), normal(99, 1024, 128),
                    np.array([1, 2, 3, 4], np.uint32))


@program
def callbacks():
    """Calls of the host, with and without an order, whose results are computed with."""
    from jax.experimental import io_callback

    def step(ws, x):
        def loss(ws):
            h = live_programs.forward(ws[:3], x)
            mean = jax.pure_callback(lambda v: v.mean(0), jax.ShapeDtypeStruct((128,), h.dtype),
                                     lax.stop_gradient(h))
            h = live_programs.forward(ws[3:], h - mean)
            return (h**2).mean(), h
        (value, h), g = jax.value_and_grad(loss, has_aux=True)(ws)
        turned = io_callback(lambda v: -v, jax.ShapeDtypeStruct(h[:8].shape, h.dtype), h[:8],
                             ordered=True)
        jax.debug.callback(lambda v: None, value)
        return value, g, turned
    return step, (live_programs.weights(6, 128), normal(99, 2048, 128)), ()
