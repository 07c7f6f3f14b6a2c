"""Training steps that TPUs refuse for want of memory: small code, large shapes, nothing scanned. Nothing of
them is ever run, so they take no memory here."""

import functools

import jax
import jax.numpy as jnp
from jax import lax


def _norm(x):
    x = x - jnp.mean(x, -1, keepdims=True)
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def _attention(w, x, is_causal):
    batch, length, width = x.shape
    q, k, v = (jnp.reshape(x @ one, (batch, length, -1, 64)) for one in w)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(batch, length, width)


def _transformer(blocks, x, is_causal):
    for qkv, out, up, down in blocks:
        x = x + _attention(qkv, _norm(x), is_causal) @ out
        x = x + jax.nn.gelu(_norm(x) @ up) @ down
    return _norm(x)


def _blocks(count, width):
    one = (((width, width),) * 3, (width, width), (width, 4 * width), (4 * width, width))
    return (one,) * count


def gpt():
    """A language model with causal attention."""
    def loss(params, tokens):
        table, blocks = params
        logits = _transformer(blocks, table[tokens[:, :-1]], True) @ table.T
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1))
    return loss, ((8192, 768), _blocks(8, 768)), jax.ShapeDtypeStruct((40, 1025), jnp.int32)


def vit():
    """A classifier of images that are cut into patches."""
    def loss(params, images):
        embed, blocks, head = params
        patches = images.reshape(images.shape[0], 16, 16, 16, 16, 3).swapaxes(2, 3)
        x = _transformer(blocks, patches.reshape(images.shape[0], 256, 768) @ embed, False)
        return jnp.mean(jax.nn.logsumexp(jnp.mean(x, 1) @ head, -1))
    return loss, ((768, 512), _blocks(10, 512), (512, 1000)), _floats(896, 256, 256, 3)


def mixer():
    """Products over tokens and over channels in turn."""
    def loss(params, x):
        for token, back, up, down in params:
            y = jax.nn.gelu(_norm(x).swapaxes(1, 2) @ token) @ back
            x = x + y.swapaxes(1, 2)
            x = x + jax.nn.gelu(_norm(x) @ up) @ down
        return jnp.mean(x * x)
    one = ((256, 512), (512, 256), (512, 2048), (2048, 512))
    return loss, (one,) * 12, _floats(1536, 256, 512)


def _conv(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def convnet():
    """Residual convolutions with normalization over the batch."""
    def normed(x):
        mean = jnp.mean(x, (0, 1, 2))
        return (x - mean) * lax.rsqrt(jnp.mean(x * x, (0, 1, 2)) - mean * mean + 1e-5)

    def loss(params, x):
        first, blocks = params
        x = _conv(x, first)
        for a, b in blocks:
            x = x + _conv(jax.nn.relu(normed(_conv(jax.nn.relu(normed(x)), a))), b)
        return jnp.mean(x * x)
    one = ((3, 3, 128, 128),) * 2
    return loss, ((3, 3, 3, 128), (one,) * 16), _floats(1024, 64, 64, 3)


def unet():
    """A diffusion model's network, which goes down and up again with connections across."""
    def block(x, pair):
        return x + _conv(jax.nn.silu(_norm(_conv(jax.nn.silu(_norm(x)), pair[0]))), pair[1])

    def loss(params, noisy):
        first, down, up, last = params
        x, kept = _conv(noisy, first), []
        for pair, narrow in down:
            x = block(x, pair)
            kept.append(x)
            x = _conv(x, narrow, 2)
        for pair, wide in up:
            x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
            x = block(_conv(jnp.concatenate([x, kept.pop()], -1), wide), pair)
        return jnp.mean((_conv(x, last) - noisy) ** 2)
    pair, levels = ((3, 3, 128, 128),) * 2, 3
    return loss, ((3, 3, 3, 128), ((pair, (3, 3, 128, 128)),) * levels,
                  ((pair, (3, 3, 256, 128)),) * levels, (3, 3, 128, 3)), _floats(320, 128, 128, 3)


def deep_mlp():
    """Gated products of a regression."""
    def loss(params, x):
        for gate, up, down in params:
            x = x + (jax.nn.silu(x @ gate) * (x @ up)) @ down
        return jnp.mean(x * x)
    one = ((1024, 4096), (1024, 4096), (4096, 1024))
    return loss, (one,) * 10, _floats(196608, 1024)


def _floats(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


PROGRAMS = {make.__name__: make for make in (gpt, vit, mixer, convnet, unet, deep_mlp)}


def _is_shape(leaf):
    return isinstance(leaf, tuple) and leaf and isinstance(leaf[0], int)


def lowered(name, device, platform):
    """The training step of a program, lowered for a device that need not be there."""
    loss, shapes, batch = PROGRAMS[name]()
    sharding = jax.sharding.SingleDeviceSharding(device)
    place = functools.partial(jax.ShapeDtypeStruct, sharding=sharding)
    params = jax.tree.map(lambda shape: place(shape, jnp.float32), shapes, is_leaf=_is_shape)

    def step(params, batch):
        value, slopes = jax.value_and_grad(loss)(params, batch)
        return value, jax.tree.map(lambda p, g: p - 0.01 * g, params, slopes)
    step.__name__ = name
    return jax.jit(step, donate_argnums=0).trace(params, place(batch.shape, batch.dtype)).lower(
        lowering_platforms=(platform,))
