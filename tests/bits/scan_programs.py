"""Training steps whose network is a loop: `lax.scan` over layers, time steps or blocks.

The forward loop stacks what the backward loop reads, and the stacks are most of the memory. Each program
is a function of a way to treat its layer (a Remat), so that the same layer gives the plain program, whose
stacks the tool may recompute, and those that `jax.checkpoint` makes of it. The last part has programs
where recomputing is wrong, or right only with care."""

import dataclasses
import functools
import typing

import jax
import jax.numpy as jnp
import numpy as np
import optax
from engine import Program
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from programs import (
    CONV,
    F32,
    From,
    arguments_of,
    cross_entropy,
    descend,
    each,
    integers,
    key,
    normal,
    zeros,
)

PROGRAMS = {}  # by "name.variant"
KEPT = "kept"  # what the variant `names` keeps of a layer
POLICIES = jax.checkpoint_policies


@dataclasses.dataclass(frozen=True)
class Remat:
    """What is done with a layer before it is scanned."""
    name: str
    options: typing.Optional[dict]  # those of jax.checkpoint; None leaves the layer as it is

    def __call__(self, layer):
        return layer if self.options is None else jax.checkpoint(layer, **self.options)


# Without a policy jax.checkpoint saves nothing, too. It puts barriers around what it recomputes, which
# prevent_cse=False leaves out, as is advised for the body of a scan.
VARIANTS = {variant.name: variant for variant in (
    Remat("plain", None),
    Remat("ckpt", {}),
    Remat("nothing", {"policy": POLICIES.nothing_saveable, "prevent_cse": False}),
    Remat("dots", {"policy": POLICIES.dots_saveable}),
    Remat("names", {"policy": POLICIES.save_only_these_names(KEPT)}))}
ALL = tuple(VARIANTS)
PLAIN = ("plain",)
SOME = ("plain", "ckpt", "dots")  # where a layer has no name to keep


def scanned(*specifications, variants=ALL, donate=(0,), feed=(0,), steps=2):
    """Registers a function of a Remat and the arguments once for each variant. The variants get the
    same arguments."""
    def register(function):
        arguments = arguments_of(function.__name__, specifications)
        for variant in variants:
            name = f"{function.__name__}.{variant}"
            assert name not in PROGRAMS, name
            step = functools.partial(function, VARIANTS[variant])
            step.__name__ = name.replace(".", "_")  # the name of the module in dumps
            PROGRAMS[name] = Program(name, step, arguments, donate, feed, steps)
        return function
    return register


# ---- parts ----

def kept(x):
    return checkpoint_name(x, KEPT)


def normalize(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def sgd(loss, parameters, *inputs):
    value, gradients = jax.value_and_grad(loss)(parameters, *inputs)
    return descend(parameters, gradients, 0.01), value


def through(layer, x, layers, **options):
    """What comes out of all layers."""
    return lax.scan(lambda x, weights: (layer(x, weights), None), x, layers, **options)[0]


def causal(length):
    return jnp.tril(jnp.ones((length, length), bool))


# ---- transformers over their layers ----

NUM_LAYERS, WIDTH, HEADS, WORDS = 8, 64, 4, 128
TOKENS = integers(WORDS, 4, 64)


def weights(*shape, num=NUM_LAYERS, scale=0.1, dtype=np.float32):
    """One such array for each layer."""
    return normal(num, *shape, scale=scale, dtype=dtype)


GPT_LAYERS = {"qkv": weights(WIDTH, 3 * WIDTH), "o": weights(WIDTH, WIDTH), "up": weights(WIDTH, 4 * WIDTH),
              "down": weights(4 * WIDTH, WIDTH), "scale": weights(2, WIDTH)}
GPT = {"words": normal(WORDS, WIDTH, scale=0.1), "layers": GPT_LAYERS}


def attention(x, layer, heads=HEADS, mask=None):
    batch, length, width = x.shape
    q, k, v = (part.reshape(batch, length, heads, -1) for part in jnp.split(x @ layer["qkv"], 3, -1))
    scores = jnp.einsum("bnhd,bmhd->bhnm", q, k) / np.sqrt(width / heads).astype(x.dtype)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    seen = jnp.einsum("bhnm,bmhd->bnhd", jax.nn.softmax(scores), v).reshape(x.shape)
    return kept(seen @ layer["o"])


def feed_forward(x, layer, activation=jax.nn.gelu):
    return kept(activation(x @ layer["up"]) @ layer["down"])


def gpt_layer(x, layer):
    x = x + attention(normalize(x) * (1 + layer["scale"][0]), layer, mask=causal(x.shape[1]))
    return x + feed_forward(normalize(x) * (1 + layer["scale"][1]), layer)


def gpt_loss(network, parameters, tokens):
    x = network(parameters["words"][tokens], parameters["layers"])
    return cross_entropy((normalize(x) @ parameters["words"].T)[:, :-1], tokens[:, 1:])


@scanned(GPT, TOKENS)
def gpt(remat, parameters, tokens):
    return sgd(functools.partial(gpt_loss, functools.partial(through, remat(gpt_layer))), parameters, tokens)


ADAM = optax.adam(1e-3)


@scanned(GPT, From(ADAM.init), TOKENS, donate=(0, 1), feed=(0, 1))
def gpt_adam(remat, parameters, state, tokens):
    loss = functools.partial(gpt_loss, functools.partial(through, remat(gpt_layer)))
    value, gradients = jax.value_and_grad(loss)(parameters, tokens)
    updates, state = ADAM.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), state, value


@scanned(GPT, TOKENS, variants=SOME, donate=(), feed=())
def gpt_gradients(remat, parameters, tokens):
    """Nothing is donated: the gradients are put out."""
    loss = functools.partial(gpt_loss, functools.partial(through, remat(gpt_layer)))
    return jax.value_and_grad(loss)(parameters, tokens)


@scanned(GPT, TOKENS, variants=SOME)
def gpt_unroll_2(remat, parameters, tokens):
    """Two layers in each turn."""
    network = functools.partial(through, remat(gpt_layer), unroll=2)
    return sgd(functools.partial(gpt_loss, network), parameters, tokens)


@scanned(GPT, TOKENS, variants=SOME)
def gpt_unroll_3(remat, parameters, tokens):
    """Three layers in each turn, and two behind the loop."""
    network = functools.partial(through, remat(gpt_layer), unroll=3)
    return sgd(functools.partial(gpt_loss, network), parameters, tokens)


@scanned(GPT, TOKENS, variants=("plain", "ckpt"))
def gpt_reverse_unroll_3(remat, parameters, tokens):
    """The rest is that of the first layers."""
    network = functools.partial(through, remat(gpt_layer), reverse=True, unroll=3)
    return sgd(functools.partial(gpt_loss, network), parameters, tokens)


@scanned(GPT, TOKENS, variants=SOME)
def gpt_reverse(remat, parameters, tokens):
    """The forward loop begins with the last layer."""
    network = functools.partial(through, remat(gpt_layer), reverse=True)
    return sgd(functools.partial(gpt_loss, network), parameters, tokens)


def dropout(x, seed, rate=0.1):
    return jnp.where(jax.random.bernoulli(seed, 1 - rate, x.shape), x / (1 - rate), 0)


def gpt_dropout_layer(x, layer, seed):
    first, second = jax.random.split(seed)
    h = attention(normalize(x), layer, mask=causal(x.shape[1]))
    x = x + dropout(h, first)
    return x + dropout(feed_forward(normalize(x), layer), second)


@scanned(GPT, TOKENS, key())
def gpt_dropout(remat, parameters, tokens, seed):
    """Each layer has a key of its own."""
    layer = remat(gpt_dropout_layer)

    def network(x, layers):
        keys = jax.random.split(seed, NUM_LAYERS)
        return lax.scan(lambda x, each: (layer(x, *each), None), x, (layers, keys))[0]
    return sgd(functools.partial(gpt_loss, network), parameters, tokens)


@scanned(GPT, TOKENS, key(), variants=SOME)
def gpt_dropout_carried(remat, parameters, tokens, seed):
    """The key is carried, and split in each layer."""
    layer = remat(gpt_dropout_layer)

    def turn(carry, weights):
        x, seed = carry
        seed, own = jax.random.split(seed)
        return (layer(x, weights, own), seed), None

    def network(x, layers):
        return lax.scan(turn, (x, seed), layers)[0][0]
    return sgd(functools.partial(gpt_loss, network), parameters, tokens)


def llama_parameters(dtype):
    """Two heads of queries share one of keys and values."""
    layers = {"q": weights(WIDTH, WIDTH, dtype=dtype), "kv": weights(WIDTH, WIDTH, dtype=dtype),
              "o": weights(WIDTH, WIDTH, dtype=dtype), "gate": weights(WIDTH, 192, dtype=dtype),
              "up": weights(WIDTH, 192, dtype=dtype), "down": weights(192, WIDTH, dtype=dtype),
              "scale": weights(2, WIDTH, dtype=dtype)}
    return {"words": normal(WORDS, WIDTH, scale=0.1, dtype=dtype), "layers": layers}


def rms_norm(x, scale):
    wide = x.astype(F32) if x.dtype == jnp.bfloat16 else x
    wide = wide * lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    return wide.astype(x.dtype) * (1 + scale)


def rotate(x, angles):
    a, b = jnp.split(x, 2, -1)
    sin, cos = jnp.sin(angles).astype(x.dtype), jnp.cos(angles).astype(x.dtype)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def llama_layer(x, layer):
    batch, length, width = x.shape
    size = width // HEADS
    h = rms_norm(x, layer["scale"][0])
    angles = (jnp.arange(length)[:, None] / 1000 ** (jnp.arange(size // 2) / size * 2))[:, None]
    q = rotate((h @ layer["q"]).reshape(batch, length, HEADS, size), angles)
    k, v = (part.reshape(batch, length, HEADS // 2, size) for part in jnp.split(h @ layer["kv"], 2, -1))
    q = q.reshape(batch, length, HEADS // 2, 2, size)
    scores = jnp.einsum("bnhgd,bmhd->bhgnm", q, rotate(k, angles)) * size**-0.5
    shares = jax.nn.softmax(jnp.where(causal(length), scores, -1e9))
    x = x + kept(jnp.einsum("bhgnm,bmhd->bnhgd", shares, v).reshape(x.shape) @ layer["o"])
    h = rms_norm(x, layer["scale"][1])
    return x + kept((jax.nn.silu(h @ layer["gate"]) * (h @ layer["up"])) @ layer["down"])


def llama_step(remat, parameters, tokens):
    return sgd(functools.partial(gpt_loss, functools.partial(through, remat(llama_layer))), parameters,
               tokens)


@scanned(llama_parameters(np.float32), TOKENS)
def llama(remat, parameters, tokens):
    return llama_step(remat, parameters, tokens)


@scanned(llama_parameters(jnp.bfloat16), TOKENS, variants=SOME)
def llama_bf16(remat, parameters, tokens):
    return llama_step(remat, parameters, tokens)


@scanned({"layers": GPT_LAYERS, "patches": normal(48, WIDTH, scale=0.1), "head": normal(WIDTH, 10)},
         normal(4, 32, 32, 3), integers(10, 4))
def vit(remat, parameters, images, labels):
    layer = remat(lambda x, layer: (lambda y: y + feed_forward(normalize(y), layer))(
        x + attention(normalize(x), layer)))

    def loss(parameters):
        patches = images.reshape(4, 8, 4, 8, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(4, 64, 48)
        x = through(layer, patches @ parameters["patches"], parameters["layers"])
        return cross_entropy(normalize(x).mean(1) @ parameters["head"], labels)
    return sgd(loss, parameters)


@scanned({"tokens": [weights(64, 128), weights(128, 64)], "channels": [weights(64, 256), weights(256, 64)]},
         normal(8, 64, 64))
def mixer(remat, parameters, x):
    def mix(x, pair):
        return kept(jax.nn.gelu(x @ pair[0]) @ pair[1])

    @remat
    def layer(x, layer):
        x = x + mix(normalize(x).swapaxes(1, 2), layer["tokens"]).swapaxes(1, 2)
        return x + mix(normalize(x), layer["channels"])
    return sgd(lambda p: (through(layer, x, p) ** 2).mean(), parameters)


@scanned({"up": weights(4, 32, 64), "down": weights(4, 64, 32), "router": weights(32, 4)}, normal(256, 32))
def experts(remat, parameters, x):
    """A mixture of experts in each layer: each row goes to two of four."""
    @remat
    def layer(x, layer):
        weight, expert = lax.top_k(jax.nn.softmax(x @ layer["router"]), 2)
        chosen = (jax.nn.one_hot(expert, 4, dtype=x.dtype) * weight[..., None]).sum(1)
        hidden = jax.nn.gelu(jnp.einsum("nd,edf->enf", normalize(x), layer["up"]))
        return x + kept(jnp.einsum("enf,efd,ne->nd", hidden, layer["down"], chosen))
    return sgd(lambda p: (through(layer, x, p) ** 2).mean(), parameters)


# ---- convolutions ----

def conv(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=CONV)


@scanned([weights(3, 3, 16, 16), weights(3, 3, 16, 16)], normal(4, 24, 24, 16), donate=(0,))
def residual_convolutions(remat, kernels, x):
    @remat
    def layer(x, kernels):
        h = jax.nn.relu(conv(jax.nn.relu(normalize(x)), kernels[0]))
        return x + kept(conv(h, kernels[1]))
    return sgd(lambda k: (through(layer, x, k) ** 2).mean(), kernels)


# ---- over time ----

@scanned([normal(64, 64, scale=0.1), normal(32, 64, scale=0.3)], normal(100, 32, 32), variants=SOME)
def rnn(remat, matrices, xs):
    def loss(matrices):
        w, u = matrices
        cell = remat(lambda h, x: jnp.tanh(h @ w + x @ u))
        return (through(cell, jnp.zeros((32, 64), xs.dtype), xs) ** 2).mean()
    return sgd(loss, matrices)


@scanned([normal(64, 64, scale=0.1), normal(32, 64, scale=0.3)], normal(100, 32, 32), variants=("plain", "ckpt"))
def rnn_unroll_7(remat, matrices, xs):
    """14 turns, and two time steps behind them; the states are put out, too."""
    def loss(matrices):
        w, u = matrices
        cell = remat(lambda h, x: jnp.tanh(h @ w + x @ u))

        def turn(h, x):
            h = cell(h, x)
            return h, h
        states = lax.scan(turn, jnp.zeros((32, 64), xs.dtype), xs, unroll=7)[1]
        return (states**2).mean()
    return sgd(loss, matrices)


@scanned(weights(2, 32, 32, num=16), normal(64, 32), variants=("plain", "ckpt"))
def mlp_unroll_3(remat, layers, x):
    """16 layers in 5 turns, and one layer behind them."""
    layer = remat(lambda x, w: x + jnp.tanh(x @ w[0]) @ w[1].T)
    return sgd(lambda p: (through(layer, x, p, unroll=3) ** 2).mean(), layers)


GATES = [normal(32, 4 * 64, scale=0.2), normal(64, 4 * 64, scale=0.1), normal(4 * 64, scale=0.1)]


def lstm_cell(gates, carry, x):
    h, c = carry
    i, f, g, o = jnp.split(kept(x @ gates[0] + h @ gates[1] + gates[2]), 4, 1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def lstm_loss(remat, gates, xs):
    cell = remat(functools.partial(lstm_cell, gates))
    zero = jnp.zeros((xs.shape[1], 64), xs.dtype)
    return (lax.scan(lambda c, x: (cell(c, x), None), (zero, zero), xs)[0][0] ** 2).mean()


@scanned(GATES, normal(128, 32, 32))
def lstm(remat, gates, xs):
    return sgd(functools.partial(lstm_loss, remat), gates, xs)


@scanned(GATES, normal(96, 16, 32), variants=SOME)
def lstm_outputs(remat, gates, xs):
    """Each hidden state counts in the loss, and all of them are put out."""
    def loss(gates):
        cell = remat(functools.partial(lstm_cell, gates))

        def turn(carry, x):
            h, c = cell(carry, x)
            return (h, c), h
        zero = jnp.zeros((16, 64), xs.dtype)
        states = lax.scan(turn, (zero, zero), xs)[1]
        return (states**2).mean(), states
    (value, states), gradients = jax.value_and_grad(loss, has_aux=True)(gates)
    return descend(gates, gradients), value, states


@scanned([normal(32, 3 * 64, scale=0.2), normal(64, 3 * 64, scale=0.1)], normal(64, 32, 32), variants=SOME)
def gru(remat, matrices, xs):
    def loss(matrices):
        w, u = matrices

        @remat
        def cell(h, x):
            reset, update, new = jnp.split(x @ w, 3, 1)
            from_reset, from_update, from_new = jnp.split(h @ u, 3, 1)
            z = jax.nn.sigmoid(update + from_update)
            new = jnp.tanh(new + jax.nn.sigmoid(reset + from_reset) * from_new)
            return (1 - z) * new + z * h
        return (through(cell, jnp.zeros((32, 64), xs.dtype), xs) ** 2).mean()
    return sgd(loss, matrices)


@scanned([GATES, [normal(64, 4 * 64, scale=0.1), *GATES[1:]], [normal(64, 4 * 64, scale=0.1), *GATES[1:]]],
         normal(64, 16, 32), variants=SOME)
def stacked_lstm(remat, layers, xs):
    """Three layers: what a loop puts out is read by the next one, and by the backward loops of both."""
    def loss(layers):
        states = xs
        for gates in layers:
            cell = remat(functools.partial(lstm_cell, gates))

            def turn(carry, x, cell=cell):
                h, c = cell(carry, x)
                return (h, c), h
            zero = jnp.zeros((16, 64), xs.dtype)
            states = lax.scan(turn, (zero, zero), states)[1]
        return (states**2).mean()
    return sgd(loss, layers)


@scanned([GATES, GATES], normal(64, 16, 32), variants=SOME)
def bidirectional_lstm(remat, gates, xs):
    """Two pairs of loops, one of them from the end to the begin."""
    def run(gates, reverse):
        cell = remat(functools.partial(lstm_cell, gates))
        zero = jnp.zeros((16, 64), xs.dtype)

        def turn(carry, x):
            h, c = cell(carry, x)
            return (h, c), h
        return lax.scan(turn, (zero, zero), xs, reverse=reverse)[1]

    def loss(gates):
        return (run(gates[0], False) * run(gates[1], True)).mean()
    return sgd(loss, gates)


@scanned({"a": normal(64, scale=0.1), "b": normal(32, 64, scale=0.2), "c": normal(64, 32, scale=0.2)},
         normal(128, 16, 32), variants=SOME)
def state_space(remat, parameters, xs):
    """A linear recurrence whose rates depend upon its inputs."""
    def loss(parameters):
        @remat
        def cell(h, x):
            rate = jax.nn.sigmoid(x @ parameters["b"] + parameters["a"])
            h = rate * h + (1 - rate) * (x @ parameters["b"])
            return h, h @ parameters["c"]
        return (lax.scan(cell, jnp.zeros((16, 64), xs.dtype), xs)[1] ** 2).mean()
    return sgd(loss, parameters)


@scanned(GATES, normal(4, 64, 8, 32), variants=SOME)
def vmap_of_scan(remat, gates, batches):
    return sgd(lambda g: jax.vmap(functools.partial(lstm_loss, remat, g))(batches).mean(), gates)


@scanned({"encoder": GATES, "decoder": GATES, "out": normal(64, 32, scale=0.1)}, normal(64, 16, 32),
         normal(48, 16, 32), variants=SOME)
def encoder_decoder(remat, parameters, source, target):
    """The second loop begins with what the first ends with, and reads all that it has put out."""
    def loss(parameters):
        encode = remat(functools.partial(lstm_cell, parameters["encoder"]))
        decode = remat(functools.partial(lstm_cell, parameters["decoder"]))

        def read(carry, x):
            h, c = encode(carry, x)
            return (h, c), h
        zero = jnp.zeros((16, 64), source.dtype)
        state, states = lax.scan(read, (zero, zero), source)

        def write(carry, x):
            h, c = decode(carry, x)
            shares = jax.nn.softmax(jnp.einsum("bd,tbd->bt", h, states) / 8)
            return (h + jnp.einsum("bt,tbd->bd", shares, states), c), h @ parameters["out"]
        return ((lax.scan(write, state, target)[1] - target) ** 2).mean()
    return sgd(loss, parameters)


# ---- loops in loops ----

@scanned([weights(64, 64, num=4), weights(64, 64, num=4)], normal(64, 16, 64), variants=SOME)
def layers_over_time(remat, matrices, xs):
    """The outer loop goes over the layers, the inner ones over time. A cell is checkpointed."""
    def loss(matrices):
        def layer(xs, matrices):
            w, u = matrices
            cell = remat(lambda h, x: jnp.tanh(h @ w + x @ u))

            def turn(h, x):
                h = cell(h, x)
                return h, h
            return lax.scan(turn, jnp.zeros((16, 64), xs.dtype), xs)[1] + xs
        return (through(layer, xs, matrices) ** 2).mean()
    return sgd(loss, matrices)


@scanned([weights(64, 64, num=4), weights(64, 64, num=4)], normal(64, 16, 64), variants=("plain", "ckpt"))
def checkpointed_loops(remat, matrices, xs):
    """The same, where whole inner loops are checkpointed."""
    def loss(matrices):
        @remat
        def layer(xs, matrices):
            def turn(h, x):
                h = jnp.tanh(h @ matrices[0] + x @ matrices[1])
                return h, h
            return lax.scan(turn, jnp.zeros((16, 64), xs.dtype), xs)[1] + xs
        return (through(layer, xs, matrices) ** 2).mean()
    return sgd(loss, matrices)


@scanned([weights(64, 64, num=4), weights(64, 64, num=4)], normal(48, 16, 64), variants=SOME)
def time_over_layers(remat, matrices, xs):
    """The outer loop goes over time, the inner ones over the layers, whose states are carried."""
    cell = remat(lambda h, x, w, u: jnp.tanh(h @ w + x @ u))

    def loss(matrices):
        def step(states, x):
            def layer(x, each):
                h = cell(each[0], x, each[1], each[2])
                return h + x, h
            x, states = lax.scan(layer, x, (states, *matrices))
            return states, x
        return (lax.scan(step, jnp.zeros((4, 16, 64), xs.dtype), xs)[1] ** 2).mean()
    return sgd(loss, matrices)


@scanned(GPT, integers(WORDS, 3, 4, 64))
def accumulated(remat, parameters, batches):
    """A loop over batches, with the two loops over layers in its body."""
    loss = functools.partial(gpt_loss, functools.partial(through, remat(gpt_layer)))

    def add_up(sums, tokens):
        value, gradients = jax.value_and_grad(loss)(parameters, tokens)
        return jax.tree.map(jnp.add, sums, gradients), value
    gradients, values = lax.scan(add_up, jax.tree.map(jnp.zeros_like, parameters), batches)
    return descend(parameters, gradients, 0.01), values


@scanned(GPT, integers(WORDS, 3, 4, 64), variants=("plain", "ckpt"))
def steps_in_a_loop(remat, parameters, batches):
    """Several steps of training: the weights are carried and changed in the outer loop."""
    loss = functools.partial(gpt_loss, functools.partial(through, remat(gpt_layer)))
    return lax.scan(lambda parameters, tokens: sgd(loss, parameters, tokens), parameters, batches)


# ---- other bodies ----

@scanned([normal(8, 192, 32)] * 3, donate=(), feed=(), variants=SOME)
def chunked_attention(remat, qkv):
    """Softmax by running maxima over blocks of keys and values."""
    def loss(qkv):
        q = qkv[0] / 6
        k, v = (x.reshape(8, 6, 32, 32).swapaxes(0, 1) for x in qkv[1:])

        @remat
        def turn(carry, block):
            largest, total, out = carry
            scores = jnp.einsum("nqd,nkd->nqk", q, block[0])
            new = jnp.maximum(largest, scores.max(-1))
            p = jnp.exp(scores - new[..., None])
            old = jnp.exp(largest - new)
            return (new, total * old + p.sum(-1),
                    out * old[..., None] + jnp.einsum("nqk,nkd->nqd", p, block[1]))
        begin = (jnp.full((8, 192), -1e30, k.dtype), jnp.zeros((8, 192), k.dtype), jnp.zeros_like(q))
        _, total, out = through(turn, begin, (k, v))
        return ((out / total[..., None]) ** 2).mean()
    return jax.value_and_grad(loss)(qkv)


@scanned(GPT_LAYERS, normal(4, 64, WIDTH), variants=SOME)
def fori(remat, layers, x):
    """A loop that counts; the layer of each turn is sliced out of the weights by hand."""
    layer = remat(gpt_layer)

    def loss(layers):
        def turn(i, x):
            return layer(x, jax.tree.map(lambda w: lax.dynamic_index_in_dim(w, i, keepdims=False), layers))
        return (lax.fori_loop(0, NUM_LAYERS, turn, x) ** 2).mean()
    return sgd(loss, layers)


@scanned(GPT_LAYERS, normal(4, 64, WIDTH), each([True, False, True, True, False, True, False, True],
                                                [False] * 4 + [True] * 4, dtype=bool), variants=SOME)
def conditional_layers(remat, layers, x, chosen):
    """Some layers are passed by."""
    @remat
    def layer(x, each):
        weights, is_chosen = each
        return lax.cond(is_chosen, lambda x: gpt_layer(x, weights), lambda x: jnp.tanh(x), x)
    return sgd(lambda p: (through(layer, x, (p, chosen)) ** 2).mean(), layers)


@scanned(weights(64, 64), normal(256, 64), variants=("plain", "ckpt"))
def factored_layers(remat, matrices, x):
    """Custom calls (LAPACK) in the body."""
    @remat
    def layer(x, w):
        gram = w @ w.T + jnp.eye(64, dtype=w.dtype)
        return jnp.tanh(jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(gram), x.T, lower=True).T)
    return sgd(lambda w: (through(layer, x, w) ** 2).mean(), matrices)


@scanned(weights(64, 64), normal(512, 64), variants=("plain", "ckpt"))
def sorted_layers(remat, matrices, x):
    """A sort and a gather in each layer."""
    @remat
    def layer(x, w):
        h = x @ w
        order = jnp.argsort(h[:, 0])
        return x + jnp.tanh(h[order] * x)
    return sgd(lambda w: (through(layer, x, w) ** 2).mean(), matrices)


@scanned([normal(64, 64, scale=0.1), normal(32, 64, scale=0.3)],
         [normal(64, 64, scale=0.1), normal(32, 64, scale=0.3)], normal(48, 16, 32),
         variants=("plain", "ckpt"))
def product_with_hessian(remat, matrices, direction, xs):
    """The derivative of a backward loop: four loops, some of which both stack and read stacks."""
    def loss(matrices):
        w, u = matrices
        cell = remat(lambda h, x: jnp.tanh(h @ w + x @ u))
        return (through(cell, jnp.zeros((16, 64), xs.dtype), xs) ** 2).mean()

    def slope(matrices):
        parts = jax.tree.map(lambda g, d: (g * d).sum(), jax.grad(loss)(matrices), direction)
        return sum(jax.tree.leaves(parts))
    return sgd(slope, matrices)


# ---- flax ----

def add_linen():
    try:
        from flax import linen as nn
    except ImportError:  # no program less is tested of what is ours
        return

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            h = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS)(h, mask=causal(x.shape[1]))
            return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x)))), None

    def model(remat):
        block = Block if remat.options is None else nn.remat(Block, **remat.options)
        return nn.scan(block, variable_axes={"params": 0}, split_rngs={"params": True},
                       length=NUM_LAYERS)()

    @scanned(From(lambda: model(VARIANTS["plain"]).init(jax.random.key(0), np.zeros((4, 64, WIDTH)), None)),
             normal(4, 64, WIDTH), variants=SOME)
    def flax_linen(remat, parameters, x):
        return sgd(lambda p: (model(remat).apply(p, x, None)[0] ** 2).mean(), parameters)


def add_nnx():
    try:
        from flax import nnx
    except ImportError:
        return

    class Block(nnx.Module):
        def __init__(self, seeds):
            self.norm = nnx.LayerNorm(WIDTH, rngs=seeds)
            self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=seeds)
            self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=seeds)

        def __call__(self, x):
            return x + self.down(nnx.gelu(self.up(self.norm(x))))

    @functools.cache
    def blocks():
        @nnx.split_rngs(splits=NUM_LAYERS)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def make(seeds):
            return Block(seeds)
        return nnx.split(make(nnx.Rngs(0)))

    @scanned(From(lambda: nnx.to_pure_dict(blocks()[1])), normal(256, WIDTH), variants=SOME)
    def flax_nnx(remat, parameters, x):
        def loss(parameters):
            graph, state = blocks()
            state = jax.tree.map(lambda leaf: leaf, state)
            nnx.replace_by_pure_dict(state, parameters)
            call = Block.__call__ if remat.options is None else nnx.remat(Block.__call__, **remat.options)
            turn = nnx.scan(lambda x, block: call(block, x), in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
            return (turn(x, nnx.merge(graph, state)) ** 2).mean()
        return sgd(loss, parameters)


add_linen()
add_nnx()


# ---- where nothing may be recomputed, or only with care ----

@scanned(normal(8, 64, 64, scale=0.1), normal(8, 256, 64), normal(256, 64), variants=PLAIN, donate=(1,),
         feed=())
def cache_in_place(remat, matrices, cache, x):
    """The loop reads a row of a donated cache and writes over it: a second run would read new rows."""
    def forth(carry, w):
        i, x, cache = carry
        old = lax.dynamic_index_in_dim(cache, i, keepdims=False)
        h = jnp.tanh(x @ w + old)
        return (i + 1, h, lax.dynamic_update_index_in_dim(cache, h * 0.5, i, 0)), (x, h)

    def back(grad, each):
        w, x, h = each
        inner = grad * (1 - h**2)
        return inner @ w.T, x.T @ inner
    (_, out, cache), (xs, hs) = lax.scan(forth, (0, x, cache), matrices)
    _, gradients = lax.scan(back, 2 * out / out.size, (matrices, xs, hs), reverse=True)
    return cache, gradients, out.sum()


@scanned(normal(16, 64, 64, scale=0.1), normal(256, 64), each(9, 16), variants=PLAIN, donate=(), feed=())
def dynamic_trips(remat, matrices, x, num):
    """How often the loops turn is known only when they run."""
    stack = jnp.zeros((16, *x.shape), x.dtype)

    def forth(carry):
        i, x, stack = carry
        stack = lax.dynamic_update_index_in_dim(stack, x, i, 0)
        return i + 1, jnp.tanh(x @ matrices[i]), stack
    _, out, stack = lax.while_loop(lambda c: c[0] < num, forth, (0, x, stack))

    def back(carry):
        i, grad, sums = carry
        x = stack[i]
        inner = grad * (1 - jnp.tanh(x @ matrices[i]) ** 2)
        return i - 1, inner @ matrices[i].T, lax.dynamic_update_index_in_dim(sums, x.T @ inner, i, 0)
    _, grad, gradients = lax.while_loop(lambda c: c[0] >= 0, back,
                                        (num - 1, 2 * out / out.size, jnp.zeros_like(matrices)))
    return gradients, grad, out.sum()


def forth_and_back(matrices, x, between=None):
    """A forward and a backward loop by hand: stack, what the backward one makes of it, the last h."""
    out, stack = lax.scan(lambda x, w: (jnp.tanh(x @ w), x), x, matrices)
    late = between(matrices, stack, out) if between else matrices

    def back(grad, each):
        w, x = each
        inner = grad * (1 - jnp.tanh(x @ w) ** 2)
        return inner @ w.T, x.T @ inner
    grad, gradients = lax.scan(back, 2 * out / out.size, (late, stack), reverse=True)
    return stack, gradients, grad, out


@scanned(normal(12, 64, 64, scale=0.1), normal(256, 64), variants=PLAIN, donate=(), feed=())
def stack_returned(remat, matrices, x):
    """The stack is also an output of the program: nothing is freed by recomputing it."""
    return forth_and_back(matrices, x)


@scanned(normal(12, 64, 64, scale=0.1), normal(256, 64), variants=PLAIN, donate=(), feed=())
def stack_read_whole(remat, matrices, x):
    """Between the loops the whole stack is read at once, and again behind them."""
    stack, gradients, grad, out = forth_and_back(
        matrices, x, lambda w, stack, out: w * jnp.tanh((stack**2).mean()))
    return gradients, grad, out.sum(), jnp.einsum("lnd,lnd->n", stack, stack[::-1])


@scanned(normal(12, 64, 64, scale=0.1), normal(256, 64), variants=PLAIN, donate=(0,), feed=(0,))
def weights_changed_between(remat, matrices, x):
    """The donated weights are changed in place before the backward loop reads the stack."""
    changed = []

    def change(weights, stack, out):
        changed.append(weights.at[0].multiply(0.5) + out.mean())
        return changed[0]
    _, gradients, grad, out = forth_and_back(matrices, x, change)
    return changed[0] - 0.01 * gradients, grad, out.sum()


@scanned(normal(12, 64, 64, scale=0.1), normal(256, 64), variants=PLAIN, donate=(1,), feed=(1,))
def input_overwritten(remat, matrices, x):
    """The forward loop's carry may lie in the donated input, where its first turn is lost."""
    _, gradients, grad, out = forth_and_back(matrices, x)
    return out, gradients, grad


@scanned(normal(12, 64, 64, scale=0.1), normal(256, 64), variants=PLAIN, donate=(), feed=())
def two_readers(remat, matrices, x):
    """Two backward loops read the same stack, the second in forward order."""
    stack, gradients, grad, out = forth_and_back(matrices, x)
    again, _ = lax.scan(lambda sums, each: (sums + jnp.tanh(each[0] @ each[1]), None), jnp.zeros_like(x),
                        (stack, matrices))
    return gradients, grad, out.sum(), again


@scanned(normal(12, 64, 64, scale=0.1), normal(256, 64), integers(12, 12), variants=PLAIN, donate=(), feed=())
def read_out_of_order(remat, matrices, x, order):
    """The second loop reads the stack in an order that only the inputs tell."""
    out, stack = lax.scan(lambda x, w: (jnp.tanh(x @ w), x), x, matrices)
    return lax.scan(lambda sums, i: (jnp.tanh(sums + stack[i]), sums.mean()), jnp.zeros_like(x), order), out


@scanned(normal(12, 64, 64, scale=0.1), normal(256, 64), variants=PLAIN, donate=(), feed=())
def neighbours_read(remat, matrices, x):
    """A turn of the second loop reads two elements of the stack: those of its layer and of the next."""
    out, stack = lax.scan(lambda x, w: (jnp.tanh(x @ w), x), x, matrices)

    def back(grad, i):
        own, next_one = stack[i], stack[jnp.minimum(i + 1, 11)]
        return grad * (1 - jnp.tanh(own) ** 2) + next_one * 0.1, own.T @ grad
    return lax.scan(back, out, jnp.arange(12), reverse=True)


@scanned(normal(12, 64, 64, scale=0.1), normal(256, 64), variants=PLAIN, donate=(), feed=())
def rows_of_another_shape(remat, matrices, x):
    """Each turn writes two rows of the stack, and the second loop reads one of them in each turn."""
    def forth(x, w):
        h = jnp.tanh(x @ w)
        return jnp.tanh(h * 2), jnp.stack([x, h])
    out, stack = lax.scan(forth, x, matrices)
    return lax.scan(lambda grad, row: (grad * (1 - row**2), grad.mean()), out,
                    stack.reshape(24, 256, 64), reverse=True)


@scanned(zeros(dtype=np.int32), weights(64, 64), normal(256, 64), variants=PLAIN, donate=(0,), feed=(0,))
def state_in_body(remat, count, matrices, x):
    """A number that is an argument, is carried and counted up takes part in each layer."""
    def turn(carry, w):
        x, count = carry
        return (jnp.tanh(x @ w) + 0.1 * jnp.sin(count.astype(x.dtype)), count + 1), None

    def loss(matrices):
        (x_out, new), _ = lax.scan(turn, (x, count), matrices)
        return (x_out**2).mean(), new
    (value, new), gradients = jax.value_and_grad(loss, has_aux=True)(matrices)
    return new, gradients, value
