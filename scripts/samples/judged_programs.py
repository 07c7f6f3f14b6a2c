"""Further held-out programs of scripts/samples/fit-estimates: training steps by gradient descent, most of them of kinds that
estimate_programs.py has none of."""

import jax
import jax.numpy as jnp
from estimate_programs import _layer_norm, _sgd, array, bf16, f32, held_out, i32
from jax import lax

IMAGES, LINES = ("NHWC", "HWIO", "NHWC"), ("NWC", "WIO", "NWC")


def _cross_entropy(logits, labels):
    taken = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - taken).mean()


@held_out
def squeezed_convolutions():
    """Inverted bottlenecks: convolutions by channel, batch norms, squeeze and excitation."""
    widths, batch = (24, 40, 80), 32

    def convolve(x, w, stride=1, groups=1):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=IMAGES,
                                        feature_group_count=groups)

    def block(x, w):
        h = jax.nn.silu(convolve(x, w["wide"]))
        mean = h.mean((0, 1, 2))
        h = (h - mean) * lax.rsqrt(((h - mean)**2).mean((0, 1, 2)) + 1e-5) * w["scale"]
        h = jax.nn.silu(convolve(h, w["by"], groups=h.shape[-1]))
        gate = jax.nn.sigmoid(jax.nn.silu(h.mean((1, 2)) @ w["squeeze"]) @ w["excite"])
        return x + convolve(h * gate[:, None, None], w["narrow"])

    def loss(p, x, y):
        x = convolve(jax.nn.silu(convolve(x, p["stem"], 2)), p["second"], 2)
        for w, down in zip(p["blocks"], [*p["downs"], None]):
            x = block(x, w)
            x = x if down is None else convolve(x, down, 2)
        return _cross_entropy(x.mean((1, 2)) @ p["head"], y)
    blocks = [{"wide": f32(1, 1, n, 4 * n), "by": f32(5, 5, 1, 4 * n), "squeeze": f32(4 * n, n), "excite": f32(n, 4 * n),
               "narrow": f32(1, 1, 4 * n, n), "scale": f32(4 * n)} for n in widths]
    p = {"blocks": blocks, "stem": f32(3, 3, 3, 24), "second": f32(1, 1, 24, 24), "head": f32(80, 1000),
         "downs": [f32(1, 1, *pair) for pair in zip(widths, widths[1:])]}
    return _sgd(loss, p, f32(batch, 224, 224, 3), i32(batch))


@held_out
def dropout_encoder():
    """An encoder in bf16 with masks, and dropout by random bits."""
    width, heads, length, batch, words = 512, 8, 256, 16, 8192

    def drop(x, key):
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)

    def layer(x, w, mask, key):
        w = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), w)
        first, second = jax.random.split(key)
        y = (_layer_norm(x) * w["g1"]).astype(jnp.bfloat16)
        qkv = (y @ w["qkv"]).reshape(batch, length, 3, heads, -1)
        s = jnp.einsum("bqhd,bkhd->bhqk", qkv[:, :, 0], qkv[:, :, 1]).astype(jnp.float32) / 8
        s = jax.nn.softmax(jnp.where(mask[:, None, None], s, -1e9), -1)
        y = jnp.einsum("bhqk,bkhd->bqhd", drop(s, first).astype(jnp.bfloat16), qkv[:, :, 2]).reshape(x.shape)
        x = x + drop((y @ w["o"]).astype(jnp.float32), second)
        y = jax.nn.gelu((_layer_norm(x) * w["g2"]).astype(jnp.bfloat16) @ w["up"])
        return x + (y @ w["down"]).astype(jnp.float32)

    def loss(p, tokens, labels, mask, key):
        x = p["words"][tokens] + p["places"]
        for number, w in enumerate(p["layers"]):
            x = layer(x, w, mask, jax.random.fold_in(jax.random.wrap_key_data(key), number))
        return _cross_entropy((x.astype(jnp.bfloat16) @ p["words"].T.astype(jnp.bfloat16)).astype(jnp.float32), labels)
    w = {"qkv": f32(width, 3 * width), "o": f32(width, width), "up": f32(width, 2048), "down": f32(2048, width),
         "g1": f32(width), "g2": f32(width)}
    return _sgd(loss, {"layers": [w] * 3, "words": f32(words, width), "places": f32(length, width)}, i32(batch, length),
                i32(batch, length), array(jnp.bool_, batch, length), array(jnp.uint32, 2))


@held_out
def graph_convolutions():
    """Sums of the neighbours' features along edges."""
    nodes, edges, width = 20000, 120000, 128

    def loss(p, x, source, target, labels):
        degree = jax.ops.segment_sum(jnp.ones(edges), target, nodes) + 1
        for w in p:
            h = x @ w["w"]
            sent = h[source] / jnp.sqrt(degree[source] * degree[target])[:, None]
            x = jax.nn.relu(jax.ops.segment_sum(sent, target, nodes) + h + w["b"]) + x
        return _cross_entropy(x, labels)
    return _sgd(loss, [{"w": f32(width, width), "b": f32(width)}] * 3, f32(nodes, width), i32(edges), i32(edges), i32(nodes))


@held_out
def transposed_convolutions():
    """A decoder of images."""
    widths, batch = (256, 128, 64, 32, 3), 32

    def loss(p, x, y):
        for number, w in enumerate(p):
            x = lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=IMAGES)
            x = jax.nn.leaky_relu(x, 0.2) if number + 1 < len(p) else jnp.tanh(x)
        return jnp.abs(x - y).mean()
    return _sgd(loss, [f32(4, 4, *pair) for pair in zip(widths, widths[1:])], f32(batch, 8, 8, 256), f32(batch, 128, 128, 3))


@held_out
def grouped_queries():
    """A decoder in bf16: rotary places, fewer heads of keys than of queries, gated layers."""
    width, heads, length, batch, words = 1024, 8, 1024, 4, 16000

    def norm(x, g):
        return (x * lax.rsqrt((x.astype(jnp.float32)**2).mean(-1, keepdims=True) + 1e-6) * g).astype(jnp.bfloat16)

    def rotate(x):
        half = x.shape[-1] // 2
        angle = jnp.arange(length)[:, None] / 10000**(jnp.arange(half) / half)
        c, s, a, b = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None], x[..., :half], x[..., half:]
        return jnp.concatenate([a * c - b * s, b * c + a * s], -1).astype(jnp.bfloat16)

    def layer(x, w):
        y = norm(x, w["g1"])
        q = rotate((y @ w["q"]).reshape(batch, length, heads, -1))
        k = jnp.repeat(rotate((y @ w["k"]).reshape(batch, length, heads // 4, -1)), 4, 2)
        v = jnp.repeat((y @ w["v"]).reshape(batch, length, heads // 4, -1), 4, 2)
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / 11.3
        s = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length), bool)), s, -1e30), -1).astype(jnp.bfloat16)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", s, v).reshape(x.shape) @ w["o"]
        y = norm(x, w["g2"])
        return x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"]

    def loss(p, tokens, labels):
        x = p["words"][tokens]
        for w in p["layers"]:
            x = layer(x, w)
        return _cross_entropy((x @ p["head"]).astype(jnp.float32), labels)
    w = {"q": bf16(width, width), "k": bf16(width, width // 4), "v": bf16(width, width // 4), "o": bf16(width, width),
         "gate": bf16(width, 2816), "up": bf16(width, 2816), "down": bf16(2816, width), "g1": f32(width), "g2": f32(width)}
    return _sgd(loss, {"layers": [w] * 2, "words": bf16(words, width), "head": bf16(width, words)}, i32(batch, length),
                i32(batch, length))


@held_out
def factorization_machine():
    """Tables that a batch reads rows of, and a small network."""
    rows, fields, width, batch = 200000, 26, 32, 4096

    def loss(p, x, y):
        e = p["table"][x]
        pairs = 0.5 * (e.sum(1)**2 - (e**2).sum(1)).sum(-1)
        h = jax.nn.relu(jax.nn.relu(e.reshape(batch, -1) @ p["a"]) @ p["b"]) @ p["c"]
        z = p["line"][x].sum(-1) + pairs + h[:, 0]
        return (jax.nn.softplus(z) - z * y).mean()
    p = {"table": f32(rows, width), "line": f32(rows), "a": f32(fields * width, 512), "b": f32(512, 256), "c": f32(256, 1)}
    return _sgd(loss, p, i32(batch, fields), f32(batch))


@held_out
def dilated_convolutions():
    """Gated convolutions over time, each with twice the holes of the one before."""
    width, length, batch, depth = 64, 4096, 8, 6

    def convolve(x, w, holes=1):
        return lax.conv_general_dilated(x, w, (1,), [((w.shape[0] - 1) * holes, 0)], rhs_dilation=(holes,),
                                        dimension_numbers=LINES)

    def loss(p, x, y):
        x, skipped = convolve(x, p["in"]), 0
        for number, w in enumerate(p["layers"]):
            h = jnp.tanh(convolve(x, w["f"], 2**number)) * jax.nn.sigmoid(convolve(x, w["g"], 2**number))
            x, skipped = x + convolve(h, w["r"]), skipped + convolve(h, w["s"])
        return _cross_entropy(convolve(jax.nn.relu(skipped), p["out"]), y)
    w = {"f": f32(2, width, width), "g": f32(2, width, width), "r": f32(1, width, width), "s": f32(1, width, width)}
    return _sgd(loss, {"layers": [w] * depth, "in": f32(1, 1, width), "out": f32(1, width, 256)}, f32(batch, length, 1),
                i32(batch, length))


@held_out
def latent_queries():
    """Few latent rows that attend to many inputs."""
    inputs, latents, width, batch = 2048, 256, 512, 4

    def loss(p, x, z, y):
        for w in p:
            s = jax.nn.softmax((z @ w["q"]) @ (x @ w["k"]).swapaxes(1, 2) / 22, -1)
            z = z + s @ (x @ w["v"]) @ w["o"]
            z = z + jax.nn.gelu(_layer_norm(z) @ w["up"]) @ w["down"]
        return ((z.mean(1) - y)**2).mean()
    w = {name: f32(width, width) for name in ("q", "k", "v", "o", "up", "down")}
    return _sgd(loss, [w] * 2, f32(batch, inputs, width), f32(batch, latents, width), f32(batch, width))
