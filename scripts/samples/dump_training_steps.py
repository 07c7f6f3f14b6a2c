"""Writes the HLO of training steps of thirteen networks, as JAX hands them to XLA.

    dump_training_steps.py FOLDER [NAME…]

Six more, whose layers are or contain loops, are only written by name: chunked_attention, gru, noise,
scanned_gpt, scanned_lstm, state_space.

Each is one step of AdamW with donated weights and averages: NAME.before_optimizations.hlo. They are only
lowered, not compiled, which takes a second each. `scripts/bench/search --make-steps` installs what this
needs. The networks are of kinds that the samples are not, or larger: nothing in the search was chosen by
them alone.
"""

import math
import pathlib
import sys

import jax
import jax.numpy as jnp
from jax import lax


# ---- layers ----

class Weights:
    """The weights of a network, in the order in which it asks for them: their shapes at first, and then
    arrays."""

    def __init__(self, arrays=None):
        self.arrays, self.shapes = arrays, []

    def __call__(self, *shape):
        self.shapes.append(jax.ShapeDtypeStruct(shape, jnp.float32))
        return jnp.zeros(shape) if self.arrays is None else self.arrays[len(self.shapes) - 1]


def conv(x, kernel, stride=1, groups=1):
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def average_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") / 4


def normalize(w, x, axes):
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * w(x.shape[-1]) + w(x.shape[-1])


def layer_norm(w, x):
    return normalize(w, x, (-1,))


def batch_norm(w, x):
    return normalize(w, x, (0, 1, 2))


def group_norm(w, x, groups=8):
    batch, height, width, channels = x.shape
    y = x.reshape(batch, height, width, groups, channels // groups)
    mean, variance = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
    return ((y - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape) * w(channels) + w(channels)


def rms_norm(w, x):
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w(x.shape[-1])


def dense(w, x, width):
    return x @ w(x.shape[-1], width) + w(width)


def perceptron(w, x, width):
    return dense(w, jax.nn.gelu(dense(w, x, width)), x.shape[-1])


def attention(w, x, heads, memory=None, causal=False):
    memory = x if memory is None else memory
    width = x.shape[-1]

    def split(y):
        return dense(w, y, width).reshape(*y.shape[:-1], heads, width // heads)
    query, key, value = split(x), split(memory), split(memory)
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(width // heads)
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
    return dense(w, mixed.reshape(x.shape), width)


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


# ---- networks ----

def unet(w, x, target):
    def block(x, channels):
        y = conv(jax.nn.silu(group_norm(w, x)), w(3, 3, x.shape[-1], channels))
        y = conv(jax.nn.silu(group_norm(w, y)), w(3, 3, channels, channels))
        return y + (x if x.shape[-1] == channels else conv(x, w(1, 1, x.shape[-1], channels)))
    skips, x = [], conv(x, w(3, 3, 3, 32))
    for channels in (32, 64, 128, 256):
        x = block(block(x, channels), channels)
        skips.append(x)
        x = average_pool(x)
    x = block(x, 256)
    batch, height, width, channels = x.shape
    x = x + attention(w, group_norm(w, x).reshape(batch, -1, channels), 4).reshape(x.shape)
    x = block(x, 256)
    for channels in (256, 128, 64, 32):
        batch, height, width, before = x.shape
        x = jax.image.resize(x, (batch, 2 * height, 2 * width, before), "nearest")
        x = block(block(jnp.concatenate([x, skips.pop()], -1), channels), channels)
    return ((conv(jax.nn.silu(group_norm(w, x)), w(3, 3, 32, 3)) - target)**2).mean()


def densenet(w, x, labels):
    x = conv(x, w(3, 3, 3, 32))
    for layers in (6, 8, 10):
        for _ in range(layers):
            y = conv(jax.nn.relu(batch_norm(w, x)), w(1, 1, x.shape[-1], 64))
            y = conv(jax.nn.relu(batch_norm(w, y)), w(3, 3, 64, 16))
            x = jnp.concatenate([x, y], -1)
        x = conv(jax.nn.relu(batch_norm(w, x)), w(1, 1, x.shape[-1], x.shape[-1] // 2))
        x = average_pool(x)
    return cross_entropy(dense(w, x.mean((1, 2)), 10), labels)


def translator(w, words, wanted):
    embedding = w(1000, 256)
    x = embedding[words]
    for _ in range(4):
        x = x + attention(w, layer_norm(w, x), 8)
        x = x + perceptron(w, layer_norm(w, x), 1024)
    memory, y = layer_norm(w, x), embedding[wanted]
    for _ in range(4):
        y = y + attention(w, layer_norm(w, y), 8, causal=True)
        y = y + attention(w, layer_norm(w, y), 8, memory)
        y = y + perceptron(w, layer_norm(w, y), 1024)
    return cross_entropy(layer_norm(w, y) @ embedding.T, wanted)


def bert(w, words, labels):
    """With dropout."""
    def drop(x, number):
        key = jax.random.fold_in(jax.random.PRNGKey(0), number)
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)
    x = w(1000, 256)[words]
    for layer in range(6):
        x = x + drop(attention(w, layer_norm(w, x), 8), 2 * layer)
        x = x + drop(perceptron(w, layer_norm(w, x), 1024), 2 * layer + 1)
    return cross_entropy(dense(w, x, 1000), labels)


def mixer(w, x, labels):
    x = conv(x, w(8, 8, 3, 256), 8).reshape(x.shape[0], -1, 256)
    for _ in range(8):
        y = layer_norm(w, x).swapaxes(1, 2)
        x = x + perceptron(w, y, 512).swapaxes(1, 2)
        x = x + perceptron(w, layer_norm(w, x), 1024)
    return cross_entropy(dense(w, x.mean(1), 10), labels)


def convnext(w, x, labels):
    x = conv(x, w(4, 4, 3, 64), 4)
    for channels, layers in ((64, 3), (128, 3), (256, 6)):
        if x.shape[-1] != channels:
            x = conv(layer_norm(w, x), w(2, 2, x.shape[-1], channels), 2)
        for _ in range(layers):
            y = layer_norm(w, conv(x, w(7, 7, 1, channels), 1, channels))
            x = x + w(channels) * perceptron(w, y, 4 * channels)
    return cross_entropy(dense(w, x.mean((1, 2)), 10), labels)


def lstm(w, x, labels):
    """Unrolled."""
    kernel, recurrent, bias = w(128, 1024), w(256, 1024), w(1024)
    hidden = cell = jnp.zeros((x.shape[0], 256))
    outputs = []
    for t in range(x.shape[1]):
        gates = x[:, t] @ kernel + hidden @ recurrent + bias
        enter, forget, new, leave = jnp.split(gates, 4, -1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(new)
        hidden = jax.nn.sigmoid(leave) * jnp.tanh(cell)
        outputs.append(hidden)
    return cross_entropy(dense(w, jnp.stack(outputs, 1), 500), labels)


def wavenet(w, x, labels):
    def dilated(x, dilation):
        return lax.conv_general_dilated(x, w(2, x.shape[-1], 64), (1,), [(dilation, 0)],
                                        rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC"))
    skip = 0
    for layer in range(16):
        dilation = 2**(layer % 8)
        y = jnp.tanh(dilated(x, dilation)) * jax.nn.sigmoid(dilated(x, dilation))
        skip = skip + dense(w, y, 128)
        x = x + dense(w, y, 64)
    y = jax.nn.relu(dense(w, jax.nn.relu(skip), 128))
    return cross_entropy(dense(w, y, 256), labels)


def experts(w, words, labels):
    x = w(1000, 256)[words]
    for _ in range(4):
        x = x + attention(w, layer_norm(w, x), 8, causal=True)
        y = layer_norm(w, x)
        gates = jax.nn.softmax(dense(w, y, 8))
        gates = jnp.where(gates >= lax.top_k(gates, 2)[0][..., -1:], gates, 0)
        inner = jax.nn.silu(jnp.einsum("btd,edf->betf", y, w(8, 256, 512)))
        x = x + jnp.einsum("betf,efd,bte->btd", inner, w(8, 512, 256), gates)
    return cross_entropy(dense(w, x, 1000), labels)


def llama(w, words, labels):
    x = w(2000, 512)[words]
    for _ in range(6):
        x = x + attention(w, rms_norm(w, x), 8, causal=True)
        y = rms_norm(w, x)
        x = x + (jax.nn.silu(y @ w(512, 1408)) * (y @ w(512, 1408))) @ w(1408, 512)
    return cross_entropy(rms_norm(w, x) @ w(512, 2000), labels)


def graph_network(w, x, edges):
    x = dense(w, x, 128)
    for _ in range(6):
        messages = jnp.concatenate([x[edges[0]], x[edges[1]]], -1)
        messages = jax.nn.silu(dense(w, jax.nn.silu(dense(w, messages, 128)), 128))
        sums = jax.ops.segment_sum(messages, edges[1], x.shape[0])
        y = jax.nn.silu(dense(w, jnp.concatenate([x, sums], -1), 128))
        x = layer_norm(w, x + dense(w, y, 128))
    return (x**2).mean()


def autoencoder(w, x):
    y = x
    for channels in (32, 64, 128):
        y = jax.nn.elu(batch_norm(w, conv(y, w(4, 4, y.shape[-1], channels), 2)))
    flat = y.reshape(y.shape[0], -1)
    mean, log_variance = dense(w, flat, 64), dense(w, flat, 64)
    z = mean + jnp.exp(log_variance / 2) * jax.random.normal(jax.random.PRNGKey(0), mean.shape)
    y = dense(w, z, flat.shape[-1]).reshape(y.shape)
    for channels in (64, 32, 3):
        y = lax.conv_transpose(y, w(4, 4, y.shape[-1], channels), (2, 2), "SAME")
        y = y if channels == 3 else jax.nn.elu(batch_norm(w, y))
    return ((y - x)**2).mean() - (1 + log_variance - mean**2 - jnp.exp(log_variance)).mean() / 2


def resnet_bf16(w, x, labels):
    def half(y):
        return y.astype(jnp.bfloat16)

    def norm(y):
        return half(batch_norm(w, y.astype(jnp.float32)))
    x = conv(half(x), half(w(7, 7, 3, 64)), 2)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for channels, layers in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for layer in range(layers):
            stride = 2 if layer == 0 and channels > 64 else 1
            y = jax.nn.relu(norm(conv(x, half(w(1, 1, x.shape[-1], channels)))))
            y = jax.nn.relu(norm(conv(y, half(w(3, 3, channels, channels)), stride)))
            y = norm(conv(y, half(w(1, 1, channels, 4 * channels))))
            if x.shape != y.shape:
                x = conv(x, half(w(1, 1, x.shape[-1], 4 * channels)), stride)
            x = jax.nn.relu(x + y)
    return cross_entropy(dense(w, x.mean((1, 2)).astype(jnp.float32), 10), labels)


# ---- networks whose layers are loops ----

def chunked_attention(w, words, labels):
    """A part of the queries at a time, each of which the backward pass computes again."""
    batch, length, width = *words.shape, 256
    x = w(1000, width)[words]
    for _ in range(6):
        y = layer_norm(w, x)
        q, k, v = [dense(w, y, width).reshape(batch, length, 8, -1) for _ in range(3)]

        def part(some, k=k, v=v):
            scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", some, k) / math.sqrt(k.shape[-1]))
            return jnp.einsum("bhqk,bkhd->bqhd", scores, v)
        parts = q.reshape(batch, 8, length // 8, 8, -1).swapaxes(0, 1)
        attended = lax.map(jax.checkpoint(part), parts).swapaxes(0, 1).reshape(x.shape)
        x = x + dense(w, attended, width)
        x = x + perceptron(w, layer_norm(w, x), 1024)
    return cross_entropy(dense(w, x, 1000), labels)


def gru(w, x, labels):
    """Four recurrent layers, each a scan."""
    width = 256
    for _ in range(4):
        from_input, from_state = w(x.shape[-1], 3 * width), w(width, 3 * width)

        def turn(h, given, from_input=from_input, from_state=from_state):
            a, b = jnp.split(given @ from_input, 3, -1), jnp.split(h @ from_state, 3, -1)
            reset, update = jax.nn.sigmoid(a[0] + b[0]), jax.nn.sigmoid(a[1] + b[1])
            h = (1 - update) * jnp.tanh(a[2] + reset * b[2]) + update * h
            return h, h
        x = lax.scan(turn, jnp.zeros((x.shape[1], width)), x)[1]
    return cross_entropy(dense(w, x, 100), labels)


def noise(w, x, labels):
    """A network that predicts the noise that was added; a loop draws it."""
    added = jax.random.normal(jax.random.PRNGKey(1), x.shape)
    y = 0.9 * x + 0.3 * added
    for channels in (32, 64, 64, 64, 32):
        y = jax.nn.silu(group_norm(w, conv(y, w(3, 3, y.shape[-1], channels))))
    return jnp.mean((conv(y, w(3, 3, y.shape[-1], x.shape[-1])) - added) ** 2)


def scanned_gpt(w, words, labels):
    """Twelve layers, in one scan over their weights."""
    width = 256
    x = w(2000, width)[words]
    weights = tuple(w(12, *shape) for shape in (
        (width,), (width, 3 * width), (width, width), (width,), (width, 4 * width), (4 * width, width)))

    def layer(x, weights):
        scale, project, out, scale_2, enter, leave = weights
        q, k, v = jnp.split(layer_norm(lambda _: scale, x) @ project, 3, -1)
        q, k, v = [y.reshape(*y.shape[:2], 8, -1) for y in (q, k, v)]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width // 8)
        past = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        scores = jax.nn.softmax(jnp.where(past, scores, -1e9))
        x = x + jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape) @ out
        return x + jax.nn.gelu(layer_norm(lambda _: scale_2, x) @ enter) @ leave, None
    return cross_entropy(dense(w, lax.scan(layer, x, weights)[0], 2000), labels)


def scanned_lstm(w, x, labels):
    """Two recurrent layers, each a scan."""
    for _ in range(2):
        kernel, recurrent, bias = w(x.shape[-1], 1024), w(256, 1024), w(1024)

        def turn(state, given, kernel=kernel, recurrent=recurrent, bias=bias):
            hidden, cell = state
            enter, forget, new, leave = jnp.split(given @ kernel + hidden @ recurrent + bias, 4, -1)
            cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(new)
            hidden = jax.nn.sigmoid(leave) * jnp.tanh(cell)
            return (hidden, cell), hidden
        zero = jnp.zeros((x.shape[1], 256))
        x = lax.scan(turn, (zero, zero), x)[1]
    return cross_entropy(dense(w, x, 500), labels)


def state_space(w, words, labels):
    """Six layers, each of which scans over time."""
    x = w(1000, 128)[words]
    for _ in range(6):
        y = layer_norm(w, x)
        given, gate, keep = dense(w, y, 256), *(jax.nn.sigmoid(dense(w, y, 256)) for _ in range(2))

        def turn(h, inputs):
            h = inputs[1] * h + (1 - inputs[1]) * inputs[0]
            return h, jnp.tanh(h)
        states = lax.scan(turn, jnp.zeros((x.shape[0], 256)), (given.swapaxes(0, 1), keep.swapaxes(0, 1)))[1]
        x = x + dense(w, states.swapaxes(0, 1) * gate, 128)
    return cross_entropy(dense(w, x, 1000), labels)


# ---- training steps ----

def floats(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def numbers(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


NETWORKS = {
    "autoencoder": (autoencoder, floats(64, 64, 64, 3)),
    "bert": (bert, numbers(16, 128), numbers(16, 128)),
    "convnext": (convnext, floats(16, 64, 64, 3), numbers(16)),
    "densenet": (densenet, floats(32, 32, 32, 3), numbers(32)),
    "experts": (experts, numbers(8, 128), numbers(8, 128)),
    "graph_network": (graph_network, floats(2000, 16), numbers(2, 16000)),
    "llama": (llama, numbers(8, 256), numbers(8, 256)),
    "lstm": (lstm, floats(64, 40, 128), numbers(64, 40)),
    "mixer": (mixer, floats(32, 64, 64, 3), numbers(32)),
    "resnet_bf16": (resnet_bf16, floats(16, 128, 128, 3), numbers(16)),
    "translator": (translator, numbers(16, 128), numbers(16, 128)),
    "unet": (unet, floats(8, 64, 64, 3), floats(8, 64, 64, 3)),
    "wavenet": (wavenet, floats(8, 1024, 64), numbers(8, 1024)),
}

LOOPS = {
    "chunked_attention": (chunked_attention, numbers(8, 512), numbers(8, 512)),
    "gru": (gru, floats(64, 32, 128), numbers(64, 32)),
    "noise": (noise, floats(16, 64, 64, 3), numbers(16)),
    "scanned_gpt": (scanned_gpt, numbers(8, 256), numbers(8, 256)),
    "scanned_lstm": (scanned_lstm, floats(64, 32, 128), numbers(64, 32)),
    "state_space": (state_space, numbers(16, 256), numbers(16, 256)),
}


def adamw(weight, gradient, mean, square, count):
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    step = mean / (1 - 0.9**count) / (jnp.sqrt(square / (1 - 0.999**count)) + 1e-8)
    return weight - 1e-3 * (step + 1e-4 * weight), mean, square


def lower(network, *data):
    seen = Weights()
    jax.eval_shape(lambda *inputs: network(seen, *inputs), *data)

    def step(weights, means, squares, count, *inputs):
        value, gradients = jax.value_and_grad(lambda arrays: network(Weights(arrays), *inputs))(weights)
        count = count + 1
        new = [adamw(*each, count) for each in zip(weights, gradients, means, squares)]
        return *zip(*new), count, value
    shapes = tuple(seen.shapes)
    return jax.jit(step, donate_argnums=(0, 1, 2, 3)).lower(shapes, shapes, shapes, floats(), *data)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETWORKS:
        file = folder / f"{name}.before_optimizations.hlo"
        file.write_text(lower(*(NETWORKS | LOOPS)[name]).compiler_ir("hlo").as_hlo_text())
        print(file)


if __name__ == "__main__":
    main()
