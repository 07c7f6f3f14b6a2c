"""Training steps as tutorials have them, whose first advice an expert can name, for scripts/check/advice: the form is
that of programs.py. FIRST says of each which kinds of advice may come first, of which most would do for some sizes.

What is called logits has to be logits: a network whose last layer is wide is no classifier, a loss over pairs has a
matrix of scores that is square, and what decides is not the size but what is done with it."""

import functools

import jax
import jax.numpy as jnp
from advice_programs import attention, block, block_shapes, norm
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from programs import Program, f32, i32

PROGRAMS, FIRST = {}, {}

CHECKPOINT = ("checkpoint-scope",)
LOSS_IN_PIECES = ("chunk-loss",)


def program(*first):
    def note(make):
        PROGRAMS[make.__name__], FIRST[make.__name__] = make, first
        return make
    return note


def _adam(loss):
    """A step of Adam; parameters and moments are donated."""
    def step(params, first, second, *batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
        params = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, first, second)
        return params, first, second, value
    return step


def _step(loss, params, *batch):
    return Program(_adam(loss), (params, params, params, *batch), (0, 1, 2))


# ---- networks without logits of a size ----

def _dense(w, x):
    return jax.nn.relu(x @ w["w"] + w["b"])


def _dense_shapes(sizes):
    return [{"w": f32(one, other), "b": f32(other)} for one, other in zip(sizes, sizes[1:])]


@program(*CHECKPOINT)
def mlp_classifier(sizes):
    """Ten classes; the hidden layers are what takes memory."""
    width, batch = sizes.among(768, 1024), sizes.many(300, 600)

    def loss(ws, x, y):
        for w in ws[:-1]:
            x = _dense(w, x)
        z = x @ ws[-1]["w"] + ws[-1]["b"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1))
    return _step(loss, _dense_shapes([784, *[width] * sizes.among(4, 6), 10]), f32(batch, 784), i32(batch))


@program(*CHECKPOINT)
def mlp_bottleneck(sizes):
    """One wide layer between two narrow ones, in each block."""
    width, batch = sizes.among(192, 256), sizes.many(300, 600)

    def block(w, x):
        return x + _dense(w[0], x) @ w[1]

    def loss(ws, x, y):
        for w in ws:
            x = block(w, x)
        return jnp.mean((x - y)**2)
    layer = (_dense_shapes([width, 8 * width])[0], f32(8 * width, width))
    return _step(loss, [layer] * sizes.among(4, 6), f32(batch, width), f32(batch, width))


@program(*CHECKPOINT)
def regression(sizes):
    """One number for each row, which XLA sums up without a product, and the mean of squares."""
    width, batch = sizes.among(512, 768), sizes.many(400, 800)

    def hidden(w, x):
        return jax.nn.silu(x @ w["w"] + w["b"])

    def loss(ws, x, y):
        for w in ws[:-1]:
            x = hidden(w, x)
        return jnp.mean(((x @ ws[-1]["w"] + ws[-1]["b"])[:, 0] - y)**2)
    return _step(loss, _dense_shapes([64, *[width] * sizes.among(5, 7), 1]), f32(batch, 64), f32(batch))


@program(*CHECKPOINT)
def vae(sizes):
    """What is decoded is as wide as the image and goes into a loss of its own, which is no softmax."""
    batch, hidden, latent = sizes.many(300, 600), sizes.among(1024, 1536), 32

    def layers(ws, x):
        for w in ws[:-1]:
            x = _dense(w, x)
        return x @ ws[-1]["w"] + ws[-1]["b"]

    def loss(ws, x, noise):
        mean, log = jnp.split(layers(ws["encoder"], x), 2, -1)
        z = layers(ws["decoder"], mean + jnp.exp(0.5 * log) * noise)
        picture = jnp.sum(jnp.maximum(z, 0) - z * x + jnp.log1p(jnp.exp(-jnp.abs(z))), -1)
        return jnp.mean(picture - 0.5 * jnp.sum(1 + log - mean**2 - jnp.exp(log), -1))
    weights = {"encoder": _dense_shapes([784, hidden, hidden, 2 * latent]),
               "decoder": _dense_shapes([latent, hidden, hidden, 784])}
    return _step(loss, weights, f32(batch, 784), f32(batch, latent))


@program(*CHECKPOINT)
def cnn(sizes):
    batch, side, width = sizes.many(2, 4), 32, sizes.among(32, 48)

    def conv(w, x):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def stage(w, x):
        x = jax.nn.relu(conv(w["one"], x))
        return jax.nn.relu(conv(w["two"], x) + x)

    def loss(ws, x, y):
        x = conv(ws["stem"], x)
        for w in ws["stages"]:
            x = stage(w, x)
        z = x.mean((1, 2)) @ ws["out"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1))
    weights = {"stem": f32(3, 3, 3, width), "out": f32(width, 10),
               "stages": [{"one": f32(3, 3, width, width), "two": f32(3, 3, width, width)}] * sizes.among(4, 5)}
    return _step(loss, weights, f32(batch, side, side, 3), i32(batch))


# ---- logits and scores ----

def _cross_entropy(h, w, y):
    z = h @ w
    return jnp.mean(jax.nn.logsumexp(z, -1) - jnp.take_along_axis(z, y[..., None], -1)[..., 0])


def _gpt_shapes(width, layers, words):
    return {"embed": f32(words, width), "blocks": [block_shapes(width)] * layers, "head": f32(width, words)}


def _gpt(sizes, words, layer, whole=lambda network: network):
    """Of `words` words; `layer` and `whole` are the functions with what is around them."""
    width, length, layers, batch = sizes.among(128, 192), sizes.among(128, 192), sizes.among(4, 6), sizes.many(2, 4)

    def network(ws, tokens):
        x = ws["embed"][tokens]
        for w in ws["blocks"]:
            x = layer(w, x)
        return norm(x)

    def loss(ws, tokens, labels):
        return _cross_entropy(whole(network)(ws, tokens), ws["head"], labels)
    return _step(loss, _gpt_shapes(width, layers, words), i32(batch, length), i32(batch, length))


@program(*LOSS_IN_PIECES)
def gpt_many_words(sizes):
    return _gpt(sizes, sizes.among(16384, 24000), jax.checkpoint(block))


@program(*CHECKPOINT)
def gpt_few_words(sizes):
    return _gpt(sizes, sizes.among(96, 128), block)


@program(*LOSS_IN_PIECES)
def smoothed_labels(sizes):
    """Labels are distributions: the logits go into a product with them, and into a softmax."""
    rows, width, words = sizes.many(512, 1024), sizes.among(96, 128), sizes.among(4096, 8192)

    def loss(ws, x, y):
        z = jnp.tanh(x @ ws["in"]) @ ws["out"]
        logs = jax.nn.log_softmax(z)
        return -jnp.mean(0.9 * jnp.take_along_axis(logs, y[:, None], -1)[:, 0] + 0.1 * logs.mean(-1))
    return _step(loss, {"in": f32(width, width), "out": f32(width, words)}, f32(rows, width), i32(rows))


@program("chunk", "chunk-loss")
def contrastive(sizes):
    """Each row is compared with each other row: the scores are a square of the batch."""
    batch, width = sizes.among(6144, 8192), sizes.among(128, 192)

    def encode(ws, x):
        x = jax.nn.relu(x @ ws[0]) @ ws[1]
        return x * lax.rsqrt(jnp.sum(x * x, -1, keepdims=True) + 1e-6)

    def loss(ws, x, y):
        z = 20 * encode(ws["one"], x) @ encode(ws["other"], y).T
        return jnp.mean(jax.nn.logsumexp(z, 1) - jnp.diagonal(z)) + jnp.mean(jax.nn.logsumexp(z, 0) - jnp.diagonal(z))
    tower = [f32(width, 2 * width), f32(2 * width, width)]
    return _step(loss, {"one": tower, "other": tower}, f32(batch, width), f32(batch, width))


# ---- checkpoints that are there, and do not help ----

@program(*CHECKPOINT)
def gpt_whole(sizes):
    """A checkpoint around everything."""
    return _gpt(sizes, 128, block, jax.checkpoint)


@program(*CHECKPOINT)
def mlp_whole(sizes):
    """A checkpoint around all layers of a residual network."""
    width, batch = sizes.among(192, 256), sizes.many(300, 600)

    def layer(w, x):
        return x + jnp.tanh(x @ w[0]) @ w[1]

    def network(ws, x):
        for w in ws:
            x = layer(w, x)
        return x

    def loss(ws, x, y):
        return jnp.mean((jax.checkpoint(network)(ws, x) - y)**2)
    return _step(loss, [(f32(width, 4 * width), f32(4 * width, width))] * sizes.among(4, 6), f32(batch, width),
                 f32(batch, width))


@program(*CHECKPOINT)
def gpt_dots_saved(sizes):
    return _gpt(sizes, 128, jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable))


@program(*CHECKPOINT)
def gpt_names_saved(sizes):
    def named_block(w, x):
        x = x + checkpoint_name(attention(w, norm(x)), "attention")
        h = checkpoint_name(norm(x) @ w["up"], "up")
        return x + checkpoint_name(jax.nn.gelu(h), "gelu") @ w["down"]
    policy = jax.checkpoint_policies.save_only_these_names("attention", "up", "gelu")
    return _gpt(sizes, 128, jax.checkpoint(named_block, policy=policy))


@program(*CHECKPOINT)
def gpt_merged(sizes):
    return _gpt(sizes, 128, functools.partial(jax.checkpoint, prevent_cse=False)(block))
