"""Whole programs as people write them, for scripts/bench/live --programs: weights are made one by one, outside
of any jit, data is prepared in the same way, a training step is compiled once and called twice, and then what
evaluates. Most of what XLA compiles for such a program is small. Each function runs the program and returns
its losses and the score."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from matrix_programs import batch_norm, conv, cross_entropy, layer_norm, max_pool

PROGRAMS = {}


def program(run):
    PROGRAMS[run.__name__] = run
    return run


class Weights:
    """Makes weights eagerly, with a key for each."""

    def __init__(self, seed=0):
        self.key = jax.random.key(seed)

    def next_key(self):
        self.key, key = jax.random.split(self.key)
        return key

    def dense(self, *shape):
        return {"w": jax.random.normal(self.next_key(), shape) / jnp.sqrt(shape[-2]),
                "b": jnp.zeros(shape[-1])}

    def kernel(self, size, *channels):
        return jax.random.truncated_normal(
            self.next_key(), -2, 2, (size, size, *channels)) * (size * size * channels[0])**-0.5

    def table(self, *shape):
        return 0.02 * jax.random.normal(self.next_key(), shape)


def dense(x, p):
    return x @ p["w"] + p["b"]


def adam(p, state, g, rate=1e-3):
    count, mean, square = state
    count = count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, g)
    p = jax.tree.map(lambda p, m, s: p - rate * (m / (1 - 0.9**count))
                     / (jnp.sqrt(s / (1 - 0.999**count)) + 1e-8), p, mean, square)
    return p, (count, mean, square)


def train(loss, p, batch, evaluate=None, donate=True):
    """Two steps of Adam, and an evaluation."""
    state = (jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, p),
             jax.tree.map(jnp.zeros_like, p))

    @functools.partial(jax.jit, donate_argnums=(0, 1) if donate else ())
    def train_step(p, state, *batch):
        value, g = jax.value_and_grad(loss)(p, *batch)
        return *adam(p, state, g), value

    losses = []
    for _ in range(2):
        p, state, value = train_step(p, state, *batch)
        losses.append(value)
    score = jax.jit(evaluate or loss)(p, *batch)
    return [float(value) for value in (*losses, jnp.mean(score))]


def images(key, count, size, channels=3):
    """A batch and its labels, which are prepared eagerly as those of a file are."""
    raw = jax.random.randint(key, (count, size * size * channels), 0, 256)
    x = raw.reshape(count, size, size, channels).astype(jnp.float32) / 255
    x = (x - x.mean((0, 1, 2))) / (x.std((0, 1, 2)) + 1e-5)
    return x, jnp.argmax(jax.random.uniform(key, (count, 10)), -1)


@program
def perceptron():
    make = Weights()
    p = [make.dense(*shape) for shape in ((784, 512), (512, 512), (512, 256), (256, 10))]
    x, y = images(make.next_key(), 1024, 28, 1)

    def logits(p, x):
        for layer in p[:-1]:
            x = jax.nn.relu(dense(x, layer))
        return dense(x, p[-1])

    def loss(p, x, y):
        return cross_entropy(logits(p, x), y)
    return train(loss, p, (x.reshape(1024, -1), y), lambda p, x, y: logits(p, x).argmax(-1) == y)


@program
def residual_network():
    make = Weights()
    p = {"stem": make.kernel(3, 3, 16), "head": make.dense(64, 10), "blocks": []}
    for width, before in ((16, 16), (16, 16), (32, 16), (32, 32), (64, 32), (64, 64)):
        p["blocks"].append({"first": make.kernel(3, before, width), "second": make.kernel(3, width, width),
                            "short": make.kernel(1, before, width) if width != before else None,
                            "scale": jnp.ones(width), "shift": jnp.zeros(width)})
    x, y = images(make.next_key(), 32, 32)

    def logits(p, x):
        x = conv(x, p["stem"])
        for block in p["blocks"]:
            stride = 1 if block["short"] is None else 2
            h = jax.nn.relu(batch_norm(conv(x, block["first"], stride)))
            h = batch_norm(conv(h, block["second"])) * block["scale"] + block["shift"]
            x = jax.nn.relu(h + (x if block["short"] is None else conv(x, block["short"], 2)))
        return dense(x.mean((1, 2)), p["head"])

    def loss(p, x, y):
        return cross_entropy(logits(p, x), y)
    return train(loss, p, (x, y), lambda p, x, y: logits(p, x).argmax(-1) == y)


# ---- sequences ----

WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = 128, 4, 64, 8, 512


def layer_weights(make):
    return {"qkv": make.dense(WIDTH, 3 * WIDTH), "out": make.dense(WIDTH, WIDTH),
            "wide": make.dense(WIDTH, 4 * WIDTH), "narrow": make.dense(4 * WIDTH, WIDTH),
            "first": jnp.ones(WIDTH), "second": jnp.ones(WIDTH)}


def transformer_layer(x, p, is_causal=True):
    h = layer_norm(x) * p["first"]
    q, k, v = jnp.split(dense(h, p["qkv"]).reshape(*x.shape[:2], HEADS, -1), 3, -1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1]**-0.5
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    h = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape)
    x = x + dense(h, p["out"])
    return x + dense(jax.nn.gelu(dense(layer_norm(x) * p["second"], p["wide"])), p["narrow"])


def tokens(make):
    return jax.random.randint(make.next_key(), (BATCH, LENGTH + 1), 0, VOCABULARY)


def gpt(body, arrange):
    make = Weights()
    layers = [layer_weights(make) for _ in range(4)]
    p = {"tokens": make.table(VOCABULARY, WIDTH), "places": make.table(LENGTH, WIDTH),
         "layers": arrange(layers), "scale": jnp.ones(WIDTH)}

    def loss(p, tokens):
        x = p["tokens"][tokens[:, :-1]] + p["places"]
        x = layer_norm(body(x, p["layers"])) * p["scale"]
        return cross_entropy(x @ p["tokens"].T, tokens[:, 1:])
    return train(loss, p, (tokens(make),))


@program
def gpt_unrolled():
    return gpt(lambda x, layers: functools.reduce(transformer_layer, layers, x), lambda layers: layers)


@program
def gpt_scan():
    return gpt(lambda x, layers: lax.scan(lambda x, p: (transformer_layer(x, p), None), x, layers)[0],
               lambda layers: jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers))


@program
def vision_transformer():
    make = Weights()
    p = {"patches": make.dense(48, WIDTH), "places": make.table(64, WIDTH),
         "layers": [layer_weights(make) for _ in range(4)], "head": make.dense(WIDTH, 10)}
    x, y = images(make.next_key(), 16, 32)

    def logits(p, x):
        x = x.reshape(len(x), 8, 4, 8, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(len(x), 64, 48)
        x = dense(x, p["patches"]) + p["places"]
        for layer in p["layers"]:
            x = transformer_layer(x, layer, is_causal=False)
        return dense(layer_norm(x).mean(1), p["head"])

    def loss(p, x, y):
        return cross_entropy(logits(p, x), y)
    return train(loss, p, (x, y), lambda p, x, y: logits(p, x).argmax(-1) == y)


@program
def lstm():
    make = Weights()
    p = {"tokens": make.table(VOCABULARY, WIDTH), "head": make.dense(WIDTH, VOCABULARY),
         "cells": [make.dense(2 * WIDTH, 4 * WIDTH) for _ in range(2)]}

    def layer(xs, cell):
        def turn(state, x):
            h, c = state
            i, f, g, o = jnp.split(dense(jnp.concatenate([x, h], -1), cell), 4, -1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        start = jnp.zeros((BATCH, WIDTH))
        return lax.scan(turn, (start, start), xs)[1]

    def loss(p, tokens):
        xs = p["tokens"][tokens[:, :-1].T]
        for cell in p["cells"]:
            xs = layer(xs, cell)
        return cross_entropy(dense(xs, p["head"]), tokens[:, 1:].T)
    return train(loss, p, (tokens(make),))


# ---- other models ----

@program
def variational_autoencoder():
    make = Weights()
    p = {"encode": [make.dense(784, 400), make.dense(400, 40)],
         "decode": [make.dense(20, 400), make.dense(400, 784)]}
    x, _ = images(make.next_key(), 512, 28, 1)

    def loss(p, x, key):
        mean, log = jnp.split(dense(jax.nn.relu(dense(x, p["encode"][0])), p["encode"][1]), 2, -1)
        z = mean + jnp.exp(0.5 * log) * jax.random.normal(key, mean.shape)
        y = dense(jax.nn.relu(dense(z, p["decode"][0])), p["decode"][1])
        divergence = -0.5 * (1 + log - mean**2 - jnp.exp(log)).sum(-1)
        return (((y - x)**2).sum(-1) + divergence).mean()
    return train(loss, p, (x.reshape(512, -1), make.next_key()))


@program
def diffusion():
    make = Weights()
    p = {"time": make.dense(32, 64), "down": [make.kernel(3, 3, 16), make.kernel(3, 16, 32)],
         "middle": make.kernel(3, 32, 64), "up": [make.kernel(3, 96, 32), make.kernel(3, 48, 16)],
         "last": make.kernel(1, 16, 3)}
    x, _ = images(make.next_key(), 8, 32)

    def loss(p, x, key):
        one, two = jax.random.split(key)
        t, noise = jax.random.uniform(one, (len(x),)), jax.random.normal(two, x.shape)
        level = jnp.cos(t * jnp.pi / 2)[:, None, None, None]
        h, skips = level * x + jnp.sqrt(1 - level**2) * noise, []
        angles = t[:, None] * 2.0**jnp.arange(16)
        when = jax.nn.silu(dense(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1), p["time"]))
        for w in p["down"]:
            h = jax.nn.gelu(conv(h, w))
            skips.append(h)
            h = max_pool(h)
        h = jax.nn.gelu(conv(h, p["middle"])) + when[:, None, None]
        for w, skip in zip(p["up"], reversed(skips)):
            h = jax.image.resize(h, (*skip.shape[:3], h.shape[3]), "nearest")
            h = jax.nn.gelu(conv(jnp.concatenate([h, skip], -1), w))
        return ((conv(h, p["last"]) - noise)**2).mean()
    return train(loss, p, (x, make.next_key()))


@program
def graph_network():
    make = Weights()
    nodes, edges = 1024, 8192
    p = {"layers": [{"edge": make.dense(64, 32), "node": make.dense(32, 32)} for _ in range(3)],
         "head": make.dense(32, 10)}
    x = jax.random.normal(make.next_key(), (nodes, 32))
    senders, receivers = (jax.random.randint(make.next_key(), (edges,), 0, nodes) for _ in range(2))
    labels = jnp.arange(nodes) % 10

    def loss(p, x, senders, receivers, labels):
        for layer in p["layers"]:
            pairs = jnp.concatenate([x[senders], x[receivers]], -1)
            messages = jax.nn.silu(dense(pairs, layer["edge"]))
            total = jax.ops.segment_sum(messages, receivers, nodes)
            x = layer_norm(x + dense(total, layer["node"]))
        return cross_entropy(dense(x, p["head"]), labels)
    return train(loss, p, (x, senders, receivers, labels), donate=False)


@program
def policy_gradient():
    """A pole on a cart: a rollout by scan, whose rewards weigh what was done."""
    make = Weights()
    p = [make.dense(4, 64), make.dense(64, 64), make.dense(64, 2)]
    start = 0.05 * jax.random.normal(make.next_key(), (256, 4))

    def logits(p, x):
        for layer in p[:-1]:
            x = jnp.tanh(dense(x, layer))
        return dense(x, p[-1])

    def loss(p, start, key):
        def turn(state, key):
            scores = jax.nn.log_softmax(logits(p, state))
            action = jax.random.categorical(key, scores)
            force = jnp.where(action == 1, 10.0, -10.0)
            x, v, angle, w = state.T
            push = (force + 0.05 * w**2 * jnp.sin(angle)) / 1.1
            turned = (9.8 * jnp.sin(angle) - jnp.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * jnp.cos(angle)**2 / 1.1))
            moved = push - 0.05 * turned * jnp.cos(angle) / 1.1
            state = state + 0.02 * jnp.stack([v, moved, w, turned], -1)
            chosen = jnp.take_along_axis(scores, action[:, None], -1)[:, 0]
            return state, (chosen, (jnp.abs(state[:, 2]) < 0.2).astype(jnp.float32))
        _, (chosen, rewards) = lax.scan(turn, start, jax.random.split(key, 100))
        returns = jnp.cumsum(rewards[::-1], 0)[::-1]
        returns = (returns - returns.mean()) / (returns.std() + 1e-5)
        return -(chosen * lax.stop_gradient(returns)).mean()
    return train(loss, p, (start, make.next_key()))


@program
def eager():
    """No jit at all: a step of gradient descent, instruction by instruction."""
    make = Weights()
    p = [make.dense(256, 512), make.dense(512, 512), make.dense(512, 8)]
    x = jax.random.normal(make.next_key(), (2048, 256))

    def loss(p):
        return (functools.reduce(lambda x, layer: jnp.tanh(dense(x, layer)), p, x)**2).mean()
    value, g = jax.value_and_grad(loss)(p)
    p = jax.tree.map(lambda p, g: p - 0.1 * g, p, g)
    return [float(value), float(jnp.sqrt(sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(p))))]
