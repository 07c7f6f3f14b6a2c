"""JAX programs of many kinds, to be compiled by whoever compares figures with XLA's: training steps,
loops, linear algebra, random numbers, updates in place, and programs for four devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as Spec

F32, BF16, S32, KEY = jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint32
NUM_DEVICES = 4
PROGRAMS = {}  # name: (function, shapes of its arguments, numbers of those that it is given)
CONV = ("NHWC", "HWIO", "NHWC")


def shape(*dimensions, dtype=F32):
    return jax.ShapeDtypeStruct(dimensions, dtype)


def sharded(*dimensions, spec=Spec(), dtype=F32):
    mesh = Mesh(np.array(jax.devices()[:NUM_DEVICES]).reshape(2, 2), ("x", "y"))
    return jax.ShapeDtypeStruct(dimensions, dtype, sharding=NamedSharding(mesh, spec))


def program(*shapes, donate=()):
    def add(function):
        PROGRAMS[function.__name__] = (function, shapes, donate)
        return function
    return add


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def descend(parameters, gradients, rate=0.1):
    return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients)


def adam(parameters, mean, square, gradients):
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, gradients)
    update = jax.tree.map(lambda p, m, s: p - 1e-3 * m / (jnp.sqrt(s) + 1e-8), parameters, mean, square)
    return update, mean, square


def normalize(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def conv(x, kernel, stride=1, groups=1):
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=CONV,
                                    feature_group_count=groups)


# --- dense networks -------------------------------------------------------------------------------

MLP = [shape(128, 256), shape(256, 256), shape(256, 10)]


def mlp_loss(weights, x, labels, activation=jax.nn.gelu):
    for w in weights[:-1]:
        x = activation(x @ w)
    return cross_entropy(x @ weights[-1], labels)


@program(MLP, shape(32, 128), shape(32, dtype=S32), donate=(0,))
def mlp_sgd(weights, x, labels):
    return descend(weights, jax.grad(mlp_loss)(weights, x, labels))


@program(MLP, MLP, MLP, shape(32, 128), shape(32, dtype=S32), donate=(0, 1, 2))
def mlp_adam(weights, mean, square, x, labels):
    return adam(weights, mean, square, jax.grad(mlp_loss)(weights, x, labels, jax.nn.silu))


@program(shape(64, 128, dtype=BF16), shape(128, 128, dtype=BF16))
def mixed_precision(x, w):
    return jax.grad(lambda w: (jnp.tanh(x @ w).astype(F32) ** 2).sum())(w)


@program(shape(784, 128), shape(128, 40), shape(20, 128), shape(128, 784), shape(2, dtype=KEY),
         shape(32, 784))
def autoencoder(a, b, c, d, key, x):
    def loss(a, b, c, d):
        mean, log = jnp.split(jax.nn.relu(x @ a) @ b, 2, 1)
        code = mean + jnp.exp(log / 2) * jax.random.normal(key, mean.shape)
        y = jax.nn.sigmoid(jax.nn.relu(code @ c) @ d)
        fit = -(x * jnp.log(y + 1e-6) + (1 - x) * jnp.log(1 - y + 1e-6)).sum()
        return fit + 0.5 * (jnp.exp(log) + mean * mean - 1 - log).sum()
    return jax.grad(loss, (0, 1, 2, 3))(a, b, c, d)


@program(shape(64, 32), shape(8, 32, 64), shape(8, 64, 32), shape(32, 8))
def mixture_of_experts(x, up, down, router):
    def loss(up, down, router):
        weight, expert = lax.top_k(jax.nn.softmax(x @ router), 2)
        chosen = (jax.nn.one_hot(expert, 8) * weight[..., None]).sum(1)
        hidden = jax.nn.gelu(jnp.einsum("nd,edf,ne->enf", x, up, chosen))
        return (jnp.einsum("enf,efd->nd", hidden, down) ** 2).mean()
    return jax.grad(loss, (0, 1, 2))(up, down, router)


@program(shape(200, 16), shape(16, 16), shape(16, 16), shape(600, dtype=S32), shape(600, dtype=S32))
def graph_network(x, w, u, source, target):
    def loss(w, u):
        h = x
        for _ in range(3):
            h = jnp.tanh(h @ u + jax.ops.segment_sum(jax.nn.relu(h[source] @ w), target, 200))
        return (h**2).sum()
    return jax.grad(loss, (0, 1))(w, u)


@program(shape(3, 5), shape(7, 5))
def hessian(a, b):
    return jax.hessian(lambda a: jnp.log(jnp.cosh(a @ b.T)).sum())(a)


# --- convolutions ---------------------------------------------------------------------------------


@program(shape(4, 32, 32, 3), shape(3, 3, 3, 16), shape(3, 3, 16, 32))
def convolutions(x, first, second):
    def loss(first, second):
        h = jax.nn.relu(conv(x, first))
        h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        return (jax.nn.relu(conv(h, second, 2)) ** 2).mean()
    return jax.grad(loss, (0, 1))(first, second)


@program(shape(4, 16, 16, 8), shape(3, 3, 1, 8))
def depthwise(x, kernel):
    def loss(kernel):
        h = conv(x, kernel, groups=8)
        return ((h - h.mean((0, 1, 2))) / jnp.sqrt(h.var((0, 1, 2)) + 1e-5)).max()
    return jax.value_and_grad(loss)(kernel)


RESNET = {"stem": shape(3, 3, 3, 16), "head": shape(16, 10),
          "blocks": [[shape(3, 3, 16, 16), shape(16)] * 2 for _ in range(3)]}


@program(RESNET, shape(8, 32, 32, 3), shape(8, dtype=S32), donate=(0,))
def resnet_sgd(parameters, x, labels):
    def norm(h, scale):
        return (h - h.mean((0, 1, 2))) * lax.rsqrt(h.var((0, 1, 2)) + 1e-5) * scale

    def loss(parameters):
        h = conv(x, parameters["stem"])
        for first, scale, second, other in parameters["blocks"]:
            inner = jax.nn.relu(norm(conv(h, first), scale))
            h = jax.nn.relu(norm(conv(inner, second), other) + h)
        h = lax.reduce_window(h, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return cross_entropy(h.mean((1, 2)) @ parameters["head"], labels)
    value, gradients = jax.value_and_grad(loss)(parameters)
    return value, descend(parameters, gradients)


@program(shape(32, 32, 3), shape(8, 2))
def images(image, points):
    sampled = jax.scipy.ndimage.map_coordinates(image[..., 0], [points[:, 0], points[:, 1]], order=1)
    return sampled, jax.image.resize(image, (64, 48, 3), "bilinear")


# --- transformers ---------------------------------------------------------------------------------

HEADS, WIDTH, LAYERS, WORDS = 4, 64, 3, 500
LAYER = {name: shape(WIDTH, WIDTH) for name in "qkvo"} | {
    "up": shape(WIDTH, 4 * WIDTH), "down": shape(4 * WIDTH, WIDTH), "scale": shape(WIDTH)}
GPT = {"words": shape(WORDS, WIDTH), "layers": [LAYER] * LAYERS}
TOKENS = shape(4, 48, dtype=S32)


def gpt_layer(x, layer):
    batch, length, width = x.shape
    layer = jax.tree.map(lambda w: w.astype(x.dtype), layer)
    h = normalize(x.astype(F32)).astype(x.dtype) * layer["scale"]
    q, k, v = ((h @ layer[name]).reshape(batch, length, HEADS, -1) for name in "qkv")
    scores = jnp.einsum("bnhd,bmhd->bhnm", q, k).astype(F32) / np.sqrt(width / HEADS)
    scores = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9))
    mixed = jnp.einsum("bhnm,bmhd->bnhd", scores.astype(x.dtype), v).reshape(x.shape)
    x = x + mixed @ layer["o"]
    return x + jax.nn.gelu(normalize(x) @ layer["up"]) @ layer["down"]


def gpt_loss(parameters, tokens, layer=gpt_layer, dtype=F32):
    x = parameters["words"][tokens].astype(dtype)
    for weights in parameters["layers"]:
        x = layer(x, weights)
    logits = x.astype(F32) @ parameters["words"].T
    return cross_entropy(logits[:, :-1], tokens[:, 1:])


@program(GPT, GPT, GPT, TOKENS, donate=(0, 1, 2))
def gpt_adam(parameters, mean, square, tokens):
    value, gradients = jax.value_and_grad(gpt_loss)(parameters, tokens)
    return value, adam(parameters, mean, square, gradients)


@program(GPT, GPT, GPT, TOKENS, donate=(0, 1, 2))
def gpt_checkpointed(parameters, mean, square, tokens):
    layer = jax.checkpoint(gpt_layer)
    value, gradients = jax.value_and_grad(gpt_loss)(parameters, tokens, layer, BF16)
    return value, adam(parameters, mean, square, gradients)


@program(GPT, shape(8, 48, dtype=S32), donate=(0,))
def gpt_accumulated(parameters, tokens):
    def add(sums, part):
        value, gradients = jax.value_and_grad(gpt_loss)(parameters, part)
        return jax.tree.map(jnp.add, sums, gradients), value
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    gradients, values = lax.scan(add, zeros, tokens.reshape(4, 2, 48))
    return descend(parameters, gradients), values


CACHE = shape(LAYERS, 2, 4, 64, HEADS, WIDTH // HEADS)


@program(GPT, CACHE, shape(4, dtype=S32), shape(dtype=S32), donate=(1,))
def gpt_decode(parameters, cache, token, position):
    x = parameters["words"][token]
    for i, layer in enumerate(parameters["layers"]):
        q, k, v = ((x @ layer[name]).reshape(4, HEADS, -1) for name in "qkv")
        new = jnp.stack([k, v])[None, :, :, None]
        cache = lax.dynamic_update_slice(cache, new, (i, 0, 0, position, 0, 0))
        scores = jnp.einsum("bhd,bnhd->bhn", q, cache[i, 0])
        scores = jax.nn.softmax(jnp.where(jnp.arange(64) <= position, scores, -1e9))
        x = x + jnp.einsum("bhn,bnhd->bhd", scores, cache[i, 1]).reshape(4, WIDTH) @ layer["o"]
        x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
    return (x @ parameters["words"].T).argmax(-1), cache


@program(GPT, CACHE, shape(4, dtype=S32), donate=(1,))
def gpt_generate(parameters, cache, token):
    def step(carry, position):
        token, cache = gpt_decode(parameters, *carry, position)
        return (cache, token.astype(S32)), token
    (cache, _), tokens = lax.scan(step, (cache, token), jnp.arange(20))
    return tokens, cache


@program(*[shape(2, 8, 64, 32)] * 3)
def attention(q, k, v):
    def loss(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
        scores = jnp.where(jnp.tril(jnp.ones((64, 64), bool)), scores, -1e9)
        return (jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v) ** 2).sum()
    return jax.grad(loss, (0, 1, 2))(q, k, v)


# --- loops ----------------------------------------------------------------------------------------


@program(shape(50, 16, 32), shape(32, 64), shape(64, 64))
def recurrent(xs, w, u):
    def loss(w, u):
        def cell(h, x):
            h = jnp.tanh(x @ w + h @ u)
            return h, h
        return (lax.scan(cell, jnp.zeros((16, 64)), xs)[1] ** 2).sum()
    return jax.grad(loss, (0, 1))(w, u)


@program(shape(50, 16, 32), shape(32, 256), shape(64, 256))
def lstm_checkpointed(xs, w, u):
    def loss(w, u):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ w + h @ u, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zeros = jnp.zeros((16, 64))
        return (lax.scan(jax.checkpoint(cell), (zeros, zeros), xs)[1] ** 2).sum()
    return jax.grad(loss, (0, 1))(w, u)


@program(shape(16, 100, 8), shape(16, dtype=S32), shape(8, 32), shape(32, 32), shape(32, 5))
def masked_recurrent(x, lengths, w, u, head):
    def loss(w, u, head):
        def cell(h, at):
            x, t = at
            return jnp.where((t < lengths)[:, None], jnp.tanh(x @ w + h @ u), h), None
        h, _ = lax.scan(cell, jnp.zeros((16, 32)), (x.transpose(1, 0, 2), jnp.arange(100)))
        return jax.nn.logsumexp(h @ head, -1).sum()
    return jax.grad(loss, (0, 1, 2))(w, u, head)


@program(shape(8, 64, 64), shape(32, 64))
def scanned_layers(weights, x):
    def loss(weights):
        def layer(h, w):
            return jax.nn.relu(h @ w), None
        return (lax.scan(jax.checkpoint(layer), x, weights)[0] ** 2).sum()
    return jax.grad(loss)(weights)


@program(shape(8, 64, 64), shape(32, 64))
def unrolled_scan(weights, x):
    def loss(weights):
        h, sums = lax.scan(lambda h, w: (jnp.sin(h @ w), h.sum()), x, weights, unroll=4)
        return (h**2).sum() + sums.sum()
    return jax.grad(loss)(weights)


@program(shape(20, 30))
def nested_scan(x):
    def outer(carry, row):
        return lax.scan(lambda c, e: (c * 0.9 + e, c), carry, row)
    return lax.scan(outer, jnp.float32(0), x)


@program(shape(100, 100))
def power_iteration(a):
    def step(state):
        i, x = state
        return i + 1, x @ a / jnp.linalg.norm(x)
    return lax.while_loop(lambda state: state[0] < 10, step, (0, jnp.ones(100)))


@program(shape(64, 64))
def until_large(x):
    def step(state):
        i, x, seen = state
        return i + 1, x + 1, seen.at[i].set(x[0])
    begin = (0, x, jnp.zeros((50, 64)))
    return lax.while_loop(lambda s: (s[1].sum() < 100) & (s[0] < 50), step, begin)


@program(shape(), shape(1000))
def choice(p, x):
    return lax.cond(p > 0, lambda x: jnp.sin(x) + jnp.cumsum(x), jnp.sort, x)


@program(shape(dtype=S32), shape(64, 64), shape(64, 64))
def switch(i, x, y):
    branches = [jnp.matmul, lambda x, y: jnp.linalg.inv(x), lambda x, y: x.T + y]
    return lax.switch(i, branches, x, y)


@program(shape(10, 64, 64))
def updates(x):
    def step(k, x):
        return lax.dynamic_update_slice(x, (x[k] * 2)[None], (k, 0, 0))
    return lax.fori_loop(0, 10, step, x)


@program(shape(10, 64, 64), donate=(0,))
def updates_in_place(x):
    return lax.fori_loop(1, 10, lambda k, x: x.at[k].set(x[k] * 2 + x[0]), x)


@program(shape(64, 64), shape(64, 64))
def gradient_in_loop(a, b):
    def loss(a):
        x = b
        for _ in range(5):
            x = jnp.tanh(a @ x)
        return x.sum()
    gradient = jax.grad(loss)
    return lax.fori_loop(0, 5, lambda i, c: c - 0.1 * gradient(c), a), gradient(a)


@program(shape(64, 64), donate=(0,))
def heat(u):
    def step(i, u):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1]))
    return lax.fori_loop(0, 100, step, u)


@program(shape(128, 3), shape(128, 3), donate=(0, 1))
def bodies(x, v):
    def step(carry, _):
        x, v = carry
        apart = x[:, None] - x[None]
        distance = jnp.sqrt((apart**2).sum(-1) + 1e-3)
        v = v - 0.01 * (apart / distance[..., None] ** 3).sum(1)
        return (x + 0.01 * v, v), (v**2).sum()
    return lax.scan(step, (x, v), None, length=50)


@program(shape(10, 10))
def runge_kutta(a):
    def step(y, _):
        first = a @ y
        second = a @ (y + 0.5 * first)
        third = a @ (y + 0.5 * second)
        return y + (first + 2 * second + 2 * third + a @ (y + third)) / 6, y
    return lax.scan(step, jnp.ones(10), None, length=100)


@program(shape(4, 4), shape(2, 4), shape(50, 2))
def kalman(a, c, seen):
    def step(state, y):
        m, p = a @ state[0], a @ state[1] @ a.T + jnp.eye(4)
        gain = jnp.linalg.solve(c @ p @ c.T + jnp.eye(2), c @ p).T
        return (m + gain @ (y - c @ m), p - gain @ c @ p), m
    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), seen)


@program(*[shape(1000)] * 4)
def advantages(reward, value, done, ratio):
    def step(carry, at):
        reward, value, following, done = at
        advantage = reward + 0.99 * following * (1 - done) - value + 0.94 * (1 - done) * carry
        return advantage, advantage
    _, advantage = lax.scan(step, 0.0, (reward, value, jnp.roll(value, -1), done), reverse=True)
    ratio = jnp.exp(ratio)
    return jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean(), advantage


# --- operations -----------------------------------------------------------------------------------


@program(shape(64, 128))
def softmax(x):
    return jax.nn.softmax(x @ x.T)


@program(shape(256, 256))
def fourier(x):
    return jnp.abs(jnp.fft.fft2(x))


@program(shape(64, dtype=jnp.complex64))
def complex_numbers(x):
    return jnp.fft.ifft(jnp.fft.fft(x) * jnp.conj(x)), jnp.real(x), jnp.angle(x)


@program(shape(1000, 8))
def sorting(x):
    return jnp.sort(x, 0), lax.top_k(x.T, 5), jnp.argsort(x[:, 0])


@program(shape(1000, 64), shape(300, dtype=S32), shape(300, 64), donate=(0,))
def scatter(table, rows, update):
    return table.at[rows].add(update)


@program(shape(1000, 64), shape(300, dtype=S32))
def embedding(table, rows):
    return jax.grad(lambda table: (table[rows] ** 3).sum())(table)


@program(shape(64, 64))
def cholesky(x):
    lower = jnp.linalg.cholesky(x @ x.T + jnp.eye(64))
    return jax.scipy.linalg.solve_triangular(lower, x, lower=True)


@program(shape(64, 64))
def decompositions(x):
    u, s, v = jnp.linalg.svd(x)
    q, r = jnp.linalg.qr(x)
    return u, s, v, q @ r, jnp.linalg.eigh(x + x.T), jnp.linalg.det(x), jnp.linalg.slogdet(x)


@program(shape(8, 40, 40))
def solve(x):
    return jnp.linalg.solve(x, x[:, :, :3])


@program(shape(2, dtype=KEY), shape(256, 256))
def dropout(key, x):
    return x * jax.random.bernoulli(key, 0.5, x.shape) / 0.5


@program(shape(2, dtype=KEY))
def random_numbers(key):
    keys = jax.random.split(key, 4)
    return (jax.random.normal(keys[0], (128, 128)), jax.random.uniform(keys[1], (77,)),
            jax.random.permutation(keys[2], 200), jax.random.gamma(keys[3], 2.0, (50,)))


@program(shape(512))
def prefix_products(x):
    return lax.associative_scan(jnp.multiply, x)


@program(shape(100, dtype=jnp.uint8), shape(100, dtype=jnp.int16))
def integers(a, b):
    return (a.astype(S32) << 3) ^ b, lax.population_count(a), jnp.bincount(a, length=10)


@program(shape(1000, 3), shape(1000, 3))
def nearest(a, b):
    return jnp.argmin(((a[:, None] - b[None]) ** 2).sum(-1), 1)


@program(shape(30), shape(3, 30))
def interpolation(a, rows):
    return jax.vmap(lambda row: jnp.interp(row, a, a * 2))(rows)


@program(shape(16, dtype=S32), shape(16, 100))
def ragged(lengths, x):
    return jnp.where(jnp.arange(100)[None] < lengths[:, None], x, 0).cumsum(1)


@program(shape(300), shape(300))
def convolve(a, b):
    return jnp.convolve(a, b)


@program(shape(100, 50))
def reductions(x):
    return (x.sum(0), x.max(1), x.argmax(0), jnp.median(x), x.prod(), jnp.any(x > 0),
            jnp.quantile(x, 0.3))


@program(shape(1000))
def cumulative(x):
    return jnp.cumsum(x), jnp.cumprod(x), lax.cummax(x), jnp.unique(x, size=100)


@program(shape(17, 31, 13))
def moves(x):
    product = x.transpose(2, 0, 1).reshape(13, -1) @ x.reshape(17 * 31, 13)
    return product, jnp.flip(x, 1), jnp.roll(x, 3, 0), jnp.pad(x, 1)


@program(shape(100, 100))
def mapped_rows(x):
    upper = jnp.triu(x)
    return lax.map(lambda row: row @ upper, x)


# --- four devices ---------------------------------------------------------------------------------


def add_sharded():
    """To be called when the devices are there."""
    @program(sharded(64, 128, spec=Spec("x")), sharded(128, 256, spec=Spec(None, "y")),
             sharded(256, 128, spec=Spec("y")))
    def tensor_parallel(x, a, b):
        return jax.value_and_grad(lambda a, b: (jax.nn.relu(x @ a) @ b).sum(), (0, 1))(a, b)

    @program([sharded(128, 256), sharded(256, 10)], sharded(64, 128, spec=Spec(("x", "y"))),
             sharded(64, spec=Spec(("x", "y")), dtype=S32), donate=(0,))
    def data_parallel(weights, x, labels):
        return descend(weights, jax.grad(mlp_loss)(weights, x, labels, jax.nn.relu))

    @program(sharded(8, 256, 256, spec=Spec(None, "x", "y")), sharded(64, 256, spec=Spec("x")))
    def fully_sharded(weights, x):
        def loss(weights):
            layer = jax.checkpoint(lambda h, w: (jnp.tanh(h @ w), None))
            return (lax.scan(layer, x, weights)[0] ** 2).sum()
        return jax.grad(loss)(weights)

    @program(sharded(64, 64, spec=Spec("x", "y")))
    def resharded(x):
        return x.T, jnp.sort(x, 0), x.sum(1), jnp.roll(x, 1, 0)

    @program(sharded(1000, 64, spec=Spec("x")), sharded(300, dtype=S32))
    def sharded_embedding(table, rows):
        return jax.grad(lambda table: (table[rows] ** 3).sum())(table)

    @program(sharded(16, 64, 512, spec=Spec("x", None, "y")), sharded(512, spec=Spec("y")))
    def sharded_norm(x, scale):
        return jax.grad(lambda x, scale: (normalize(x) * scale).sum(), (0, 1))(x, scale)

    @program(*[sharded(4, 128, 128, spec=Spec("x"))] * 2)
    def sharded_loop(a, b):
        return lax.fori_loop(0, 10, lambda i, c: jnp.einsum("bij,bjk->bik", c, b) / 128, a)
