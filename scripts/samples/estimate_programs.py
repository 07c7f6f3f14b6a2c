"""Programs from whose compilation for TPU XLA's estimates of time are read (scripts/samples/fit-estimates).

KERNELS are functions of a few operations each, STEPS small losses with their gradients. pieces() and steps() draw shapes
for each of them and put them into programs, several in one, side by side, so that what the profiles are fitted to has
every kind of operation in several sizes, types and layouts. HELD_OUT are whole programs of other kinds, by which a fitted profile is judged: it never sees their
estimates."""

import functools
import random

import jax
import jax.numpy as jnp
from jax import lax

KERNELS = []


def kernel(make):
    """make(draw) returns a function and the shapes of its arguments."""
    KERNELS.append(make)
    return make


def array(dtype, *shape):
    return jax.ShapeDtypeStruct(shape, dtype)


def f32(*shape):
    return array(jnp.float32, *shape)


def bf16(*shape):
    return array(jnp.bfloat16, *shape)


def i32(*shape):
    return array(jnp.int32, *shape)


class Draw:
    """Shapes, most of them of what networks have, some of them of anything."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def among(self, *choices):
        return self.random.choice(choices)

    def dtype(self):
        return self.among(jnp.float32, jnp.bfloat16)

    def size(self, low, high):
        """Mostly a multiple of 8 or 128, uniform in the logarithm."""
        value = int(low * (high / low)**self.random.random())
        step = self.among(1, 8, 8, 128, 128)
        return max(1, value // step * step) if value >= step else value

    def matrix(self):
        return self.size(64, 8192), self.size(64, 4096)

    def cube(self):
        return self.size(2, 32), self.size(32, 1024), self.size(32, 1024)


# ---- elementwise ----

def _chain(operations):
    def make(draw):
        dtype, shape = draw.dtype(), draw.among(draw.matrix(), draw.cube())
        return operations, [array(dtype, *shape)] * draw.among(1, 2)
    return make


for _operations in (
        lambda x, y=2.0: x + y,
        lambda x, y=2.0: x * y + x,
        lambda x, y=2.0: jnp.exp(x) * y,
        lambda x, y=2.0: jnp.tanh(x + y),
        lambda x, y=2.0: x / (y + 3),
        lambda x, y=2.0: jnp.sqrt(x * x + y),
        lambda x, y=2.0: jax.nn.gelu(x) * y,
        lambda x, y=2.0: jax.nn.silu(x) + y,
        lambda x, y=2.0: jnp.where(x > y, x, 0),
        lambda x, y=2.0: jnp.log1p(jnp.abs(x)) * y,
        lambda x, y=2.0: jnp.sin(x) + y,
        lambda x, y=2.0: lax.rsqrt(jnp.abs(x) + 1) - y,
        lambda x, y=2.0: (x + y, x * y, x - y),
        lambda x, y=2.0: x**3 + y**2 - 4 * x):
    kernel(_chain(_operations))


@kernel
def convert(draw):
    shape = draw.among(draw.matrix(), draw.cube())
    if draw.among(True, False):
        return lambda x: x.astype(jnp.bfloat16), [f32(*shape)]
    return lambda x: x.astype(jnp.float32) * 2, [bf16(*shape)]


@kernel
def adam(draw):
    shape = draw.matrix()

    def step(p, m, v, g):
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v
    return step, [f32(*shape)] * 3 + [array(draw.dtype(), *shape)]


@kernel
def integers(draw):
    shape = draw.matrix()
    return lambda x, y: ((x ^ y) << 3) + x % 7, [i32(*shape), i32(*shape)]


@kernel
def random_bits(draw):
    shape = draw.matrix()
    return lambda key: jax.random.normal(jax.random.wrap_key_data(key), shape), [array(jnp.uint32, 2)]


# ---- broadcasts and reductions ----

@kernel
def broadcast_scalar(draw):
    shape, dtype = draw.matrix(), draw.dtype()
    return lambda s: jnp.broadcast_to(s, shape), [array(dtype)]


@kernel
def broadcast_row(draw):
    rows, columns = draw.matrix()
    dtype = draw.dtype()
    return lambda s: jnp.broadcast_to(s[None], (rows, columns)), [array(dtype, columns)]


@kernel
def broadcast_column(draw):
    rows, columns = draw.matrix()
    dtype = draw.dtype()
    return lambda s: jnp.broadcast_to(s[:, None], (rows, columns)), [array(dtype, rows)]


@kernel
def scale_rows(draw):
    rows, columns = draw.matrix()
    dtype = draw.dtype()
    return lambda x, s: x * s[:, None], [array(dtype, rows, columns), array(dtype, rows)]


@kernel
def scale_columns(draw):
    rows, columns = draw.matrix()
    dtype = draw.dtype()
    return lambda x, s: x * s + 1, [array(dtype, rows, columns), array(dtype, columns)]


def _reduction(function, axis):
    def make(draw):
        dtype, shape = draw.dtype(), draw.cube()
        return lambda x: function(x.astype(jnp.float32) * 2, axis), [array(dtype, *shape)]
    return make


for _function in (jnp.sum, jnp.max):
    for _axis in (-1, 1, 0, (0, 1), (1, 2), None):
        kernel(_reduction(_function, _axis))
for _axis in (-1, 0):
    kernel(_reduction(jnp.argmax, _axis))


def backward_of(forward):
    """The derivative of a kernel of one array."""
    function, shapes = forward
    return lambda x, g: jax.vjp(function, x)[1](g)[0], shapes * 2


@kernel
def norm_forward(draw):
    dtype, (rows, columns) = draw.dtype(), draw.matrix()

    def norm(x):
        x = x.astype(jnp.float32)
        mean = x.mean(-1, keepdims=True)
        return ((x - mean) * lax.rsqrt(((x - mean)**2).mean(-1, keepdims=True) + 1e-5)).astype(dtype)
    return norm, [array(dtype, rows, columns)]


@kernel
def norm_backward(draw):
    return backward_of(norm_forward(draw))


@kernel
def softmax(draw):
    dtype, shape = draw.dtype(), draw.cube()
    return lambda x: jax.nn.softmax(x.astype(jnp.float32)).astype(dtype), [array(dtype, *shape)]


@kernel
def softmax_backward(draw):
    return backward_of(softmax(draw))


@kernel
def cross_entropy(draw):
    rows, columns = draw.matrix()
    dtype = draw.dtype()

    def loss(x, labels):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x.astype(jnp.float32)), labels[:, None], -1))
    return jax.grad(loss), [array(dtype, rows, columns), i32(rows)]


@kernel
def batch_norm(draw):
    dtype, side, channels = draw.dtype(), draw.among(7, 8, 14, 16, 28, 32), draw.size(16, 256)

    def norm(x):
        wide = x.astype(jnp.float32)
        mean = wide.mean((0, 1, 2))
        return ((wide - mean) * lax.rsqrt(((wide - mean)**2).mean((0, 1, 2)) + 1e-5)).astype(dtype)
    return norm, [array(dtype, draw.size(8, 64), side, side, channels)]


@kernel
def cumulative(draw):
    rows, columns = draw.size(64, 1024), draw.size(32, 1024)
    axis = draw.among(0, 1)
    return lambda x: jnp.cumsum(x, axis), [f32(rows, columns)]


# ---- moves ----

@kernel
def transpose(draw):
    dtype, shape = draw.dtype(), draw.matrix()
    return lambda x: x.T * 2 + lax.iota(dtype, shape[0]), [array(dtype, *shape)]


def _permutation(order):
    def make(draw):
        dtype, shape = draw.dtype(), draw.cube()
        return (lambda x, y: jnp.sin(x).transpose(order).reshape(-1, shape[order[-1]]) @ y,
                [array(dtype, *shape), array(dtype, shape[order[-1]], 64)])
    return make


for _order in ((1, 0, 2), (0, 2, 1), (2, 1, 0)):
    kernel(_permutation(_order))


@kernel
def split_heads(draw):
    batch, length, heads, depth = draw.size(2, 16), draw.size(64, 512), draw.among(4, 8, 12), draw.among(32, 64, 128)
    dtype = draw.dtype()

    def attend(x):
        q, k, v = jnp.split(x.reshape(batch, length, 3 * heads, depth), 3, 2)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * depth**-0.5
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(dtype), v).reshape(batch, length, -1)
    return attend, [array(dtype, batch, length, 3 * heads * depth)]


@kernel
def split_heads_backward(draw):
    attend, shapes = split_heads(draw)
    return lambda x: jax.grad(lambda x: (attend(x).astype(jnp.float32)**2).sum())(x), shapes


@kernel
def reshape(draw):
    dtype, (a, b, c) = draw.dtype(), draw.cube()
    return lambda x: x.reshape(a * b * c // (c * 4), c * 4) * 2 if a * b % 4 == 0 else x * 2, [array(dtype, a, b, c)]


@kernel
def concatenate(draw):
    dtype, (rows, columns), axis = draw.dtype(), draw.matrix(), draw.among(0, 1)
    return lambda x, y: jnp.concatenate([x, y * 2], axis), [array(dtype, rows, columns)] * 2


@kernel
def pad(draw):
    dtype, (rows, columns) = draw.dtype(), draw.matrix()
    return lambda x: jnp.pad(x, ((3, 5), draw.among((0, 0), (4, 4)))), [array(dtype, rows, columns)]


@kernel
def cut(draw):
    dtype, (rows, columns) = draw.dtype(), draw.matrix()
    return lambda x: x[rows // 4:, columns // 3:], [array(dtype, rows, columns)]


@kernel
def roll(draw):
    dtype, (rows, columns), axis = draw.dtype(), draw.matrix(), draw.among(0, 1)
    return lambda x: jnp.roll(x, 1, axis) + x, [array(dtype, rows, columns)]


@kernel
def read_at(draw):
    dtype, (a, b, c) = draw.dtype(), draw.cube()
    return lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False) * 2, [array(dtype, a, b, c), i32()]


@kernel
def write_at(draw):
    dtype, (a, b, c) = draw.dtype(), draw.cube()
    return lambda x, y, i: lax.dynamic_update_index_in_dim(x, y * 2, i, 0), [
        array(dtype, a, b, c), array(dtype, b, c), i32()]


@kernel
def gather_rows(draw):
    dtype, rows, columns = draw.dtype(), draw.size(500, 20000), draw.size(32, 1024)
    return lambda x, i: x[i], [array(dtype, rows, columns), i32(draw.size(64, 8192))]


@kernel
def scatter_rows(draw):
    dtype, rows, columns = draw.dtype(), draw.size(500, 20000), draw.size(32, 1024)
    picked = draw.size(64, 8192)
    return lambda x, i, y: x.at[i].add(y), [array(dtype, rows, columns), i32(picked), array(dtype, picked, columns)]


@kernel
def gather_elements(draw):
    rows, columns = draw.size(64, 1024), draw.size(32, 1024)
    return lambda x, i: jnp.take_along_axis(x, i, -1), [f32(rows, columns), i32(rows, 8)]


@kernel
def sort(draw):
    rows, columns = draw.size(16, 256), draw.size(64, 2048)
    return lambda x: jnp.sort(x, -1), [f32(rows, columns)]


@kernel
def top_k(draw):
    rows, columns = draw.size(16, 256), draw.size(64, 2048)
    return lambda x: lax.top_k(x, 8), [f32(rows, columns)]


@kernel
def one_hot(draw):
    rows, columns = draw.matrix()
    return lambda i: jax.nn.one_hot(i, columns), [i32(rows)]


@kernel
def mask(draw):
    batch, length = draw.size(2, 32), draw.size(64, 512)
    return (lambda x: jnp.where(jnp.tril(jnp.ones((length, length), bool)), x, -1e9),
            [f32(batch, length, length)])


# ---- products ----

def _sides(draw, high=4096):
    return draw.size(64, high), draw.size(32, high // 2), draw.size(32, high // 2)


@kernel
def product(draw):
    dtype, (m, k, n) = draw.dtype(), _sides(draw)
    return lambda x, y: x @ y, [array(dtype, m, k), array(dtype, k, n)]


@kernel
def product_wide(draw):
    dtype, (m, k, n) = draw.dtype(), _sides(draw, 8192)
    return lambda x, y: (x @ y).astype(jnp.float32), [array(dtype, m, k), array(dtype, k, n)]


@kernel
def product_transposed(draw):
    dtype, (m, k, n) = draw.dtype(), _sides(draw)
    return lambda x, y: x.T @ y, [array(dtype, k, m), array(dtype, k, n)]


@kernel
def product_of_transposed(draw):
    dtype, (m, k, n) = draw.dtype(), _sides(draw)
    return lambda x, y: x @ y.T, [array(dtype, m, k), array(dtype, n, k)]


@kernel
def product_of_few(draw):
    dtype, (m, k, n) = draw.dtype(), _sides(draw)
    return lambda x, y: x @ y, [array(dtype, draw.among(1, 4, 8, 16), k), array(dtype, k, n)]


@kernel
def product_of_vector(draw):
    dtype, (m, k, n) = draw.dtype(), _sides(draw)
    return lambda x, y: x @ y, [array(dtype, m, k), array(dtype, k)]


@kernel
def products_batched(draw):
    dtype, batch = draw.dtype(), draw.size(2, 64)
    m, k, n = draw.size(32, 512), draw.size(32, 512), draw.size(32, 512)
    return lambda x, y: jnp.einsum("bmk,bkn->bmn", x, y), [array(dtype, batch, m, k), array(dtype, batch, k, n)]


@kernel
def product_and_activation(draw):
    dtype, (m, k, n) = draw.dtype(), _sides(draw)
    activation = draw.among(jax.nn.gelu, jnp.tanh, jax.nn.relu, jax.nn.silu)
    return lambda x, y, b: activation(x @ y + b), [array(dtype, m, k), array(dtype, k, n), array(dtype, n)]


@kernel
def product_of_converted(draw):
    m, k, n = _sides(draw)
    return (lambda x, y: (jnp.tanh(x).astype(jnp.bfloat16) @ y.astype(jnp.bfloat16)),
            [f32(m, k), f32(k, n)])


@kernel
def product_and_step(draw):
    m, k, n = _sides(draw)
    dtype = draw.dtype()
    return (lambda x, y, w: w - 0.1 * (x.T @ y).astype(jnp.float32),
            [array(dtype, k, m), array(dtype, k, n), f32(m, n)])


@kernel
def product_and_sum(draw):
    m, k, n = _sides(draw)
    dtype = draw.dtype()
    return (lambda x, y: (x @ y).astype(jnp.float32).sum(-1), [array(dtype, m, k), array(dtype, k, n)])


def _convolution(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def _convolution_shapes(draw):
    dtype, batch, side = draw.dtype(), draw.size(4, 64), draw.among(8, 14, 16, 28, 32, 56)
    window = draw.among(1, 3, 3, 5)
    channels = draw.among(3, 16, 32, 64, 96, 128, 192, 256)
    return array(dtype, batch, side, side, channels), array(dtype, window, window, channels,
                                                            draw.among(16, 32, 64, 128, 192, 256))


@kernel
def convolution(draw):
    return functools.partial(_convolution, stride=draw.among(1, 1, 2)), [*_convolution_shapes(draw)]


@kernel
def convolution_backward(draw):
    convolve = functools.partial(_convolution, stride=draw.among(1, 1, 2))
    return (lambda x, w: jax.grad(lambda *a: (convolve(*a).astype(jnp.float32)**2).sum(), (0, 1))(x, w),
            [*_convolution_shapes(draw)])


@kernel
def convolution_and_activation(draw):
    return (lambda x, w: jax.nn.relu(_convolution(x, w) * 2 + 1), [*_convolution_shapes(draw)])


@kernel
def convolution_by_channel(draw):
    dtype, channels = draw.dtype(), draw.among(32, 64, 128)
    side = draw.among(8, 14, 16, 28)
    return (functools.partial(_convolution, groups=channels),
            [array(dtype, draw.size(4, 32), side, side, channels), array(dtype, 3, 3, 1, channels)])


@kernel
def pool(draw):
    dtype, side, channels = draw.dtype(), draw.among(16, 28, 32), draw.among(16, 32, 64, 128)

    def most(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    shape = array(dtype, draw.size(4, 64), side, side, channels)
    if draw.among(True, False): return most, [shape]
    return lambda x: jax.grad(lambda x: (most(x).astype(jnp.float32)**2).sum())(x), [shape]


@kernel
def enlarge(draw):
    dtype, side, channels = draw.dtype(), draw.among(8, 14, 16), draw.among(16, 32, 64, 128)
    batch = draw.size(4, 32)
    return (lambda x: jax.image.resize(x, (batch, 2 * side, 2 * side, channels), "nearest"),
            [array(dtype, batch, side, side, channels)])


# ---- small steps: forward and backward ----

STEPS = []


def step(make):
    STEPS.append(make)
    return make


def _gradients(loss):
    return lambda *arguments: jax.grad(loss, tuple(range(len(arguments))))(*arguments)


@step
def perceptron(draw):
    activation = draw.among(jax.nn.relu, jax.nn.relu, jax.nn.gelu, jax.nn.silu, jnp.tanh)
    m, k, n = draw.size(256, 8192), draw.size(32, 512), draw.size(32, 512)

    def loss(x, first, second):
        return (activation(activation(x @ first) @ second)**2).mean()
    return _gradients(loss), [f32(m, k), f32(k, n), f32(n, 64)]


@step
def perceptron_of_half(draw):
    activation = draw.among(jax.nn.relu, jax.nn.gelu, jax.nn.silu, jnp.tanh)
    m, k, n = draw.size(256, 8192), draw.size(64, 512), draw.size(64, 512)

    def loss(x, first, second):
        h = activation(x.astype(jnp.bfloat16) @ first.astype(jnp.bfloat16))
        return (activation(h @ second.astype(jnp.bfloat16)).astype(jnp.float32)**2).mean()
    return _gradients(loss), [f32(m, k), f32(k, n), f32(n, k)]


@step
def masked_rows(draw):
    dtype, m, k, n = draw.dtype(), draw.size(512, 8192), draw.size(64, 512), draw.size(64, 512)

    def loss(x, w, keep):
        return ((jnp.where(keep[:, None] > 0, x, 0) @ w).astype(jnp.float32)**2).mean()
    return (lambda x, w, keep: jax.grad(loss, (0, 1))(x, w, keep),
            [array(dtype, m, k), array(dtype, k, n), i32(m)])


@step
def joined_product(draw):
    m, k, n = draw.size(512, 8192), draw.size(64, 256), draw.size(64, 256)

    def loss(x, y, w):
        return (jnp.tanh(jnp.concatenate([x, y], -1) @ w)**2).mean()
    return _gradients(loss), [f32(m, k), f32(m, k), f32(2 * k, n)]


@step
def norm_and_product(draw):
    dtype, m, k, n = draw.dtype(), draw.size(512, 8192), draw.size(128, 1024), draw.size(128, 1024)

    def loss(x, w):
        wide = x.astype(jnp.float32)
        y = ((wide - wide.mean(-1, keepdims=True)) * lax.rsqrt(wide.var(-1, keepdims=True) + 1e-5)).astype(dtype)
        return ((x + jax.nn.gelu(y @ w) @ w.T).astype(jnp.float32)**2).mean()
    return _gradients(loss), [array(dtype, m, k), array(dtype, k, n)]


@step
def strided_convolution(draw):
    dtype, batch, side = draw.dtype(), draw.size(8, 96), draw.among(16, 28, 32)
    channels, features = draw.among(16, 32, 64, 96), draw.among(32, 64, 128, 160)

    def loss(x, w):
        return (jax.nn.silu(_convolution(x, w, 2)).astype(jnp.float32)**2).mean()
    return _gradients(loss), [array(dtype, batch, side, side, channels), array(dtype, 3, 3, channels, features)]


@step
def transposed_convolution(draw):
    dtype, batch, side = draw.dtype(), draw.size(8, 96), draw.among(8, 14, 16)
    channels, features = draw.among(16, 32, 64, 96), draw.among(16, 32, 64, 128)

    def loss(x, w):
        y = lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (jax.nn.relu(y).astype(jnp.float32)**2).mean()
    return _gradients(loss), [array(dtype, batch, side, side, channels), array(dtype, 3, 3, channels, features)]


@step
def residual_block(draw):
    dtype, batch, side, channels = draw.dtype(), draw.size(8, 64), draw.among(8, 14, 16), draw.among(32, 64, 128)

    def loss(x, first, second):
        y = jax.nn.relu(_convolution(x, first))
        y = x + _convolution(y, second)
        scale = lax.rsqrt(y.astype(jnp.float32).var((0, 1, 2)) + 1e-5)
        return ((y * scale).astype(jnp.float32)**2).mean()
    return _gradients(loss), [array(dtype, batch, side, side, channels)] + [array(dtype, 3, 3, channels, channels)] * 2


@step
def attention_step(draw):
    dtype, batch, length, heads = draw.dtype(), draw.size(2, 16), draw.size(64, 384), draw.among(4, 8)
    width = heads * draw.among(32, 64)

    def loss(x, w):
        q, k, v = jnp.split((x @ w).reshape(batch, length, 3 * heads, -1), 3, 2)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / 8
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(dtype), v)
        return (y.astype(jnp.float32)**2).mean()
    return _gradients(loss), [array(dtype, batch, length, width), array(dtype, width, 3 * width)]


@step
def scanned_gate(draw):
    length, batch, width = draw.size(16, 64), draw.size(8, 64), draw.size(64, 512)

    def loss(x, gate):
        def one(state, pair):
            state = jax.nn.sigmoid(pair[1]) * state + pair[0]
            return state, jnp.tanh(state)
        return (lax.scan(one, jnp.zeros((batch, width)), (x, gate))[1]**2).mean()
    return _gradients(loss), [f32(length, batch, width)] * 2


@step
def scanned_product(draw):
    length, batch, width = draw.size(16, 64), draw.size(8, 256), draw.size(64, 512)

    def loss(x, w):
        def one(state, new):
            state = jnp.tanh(new + state @ w)
            return state, state
        return (lax.scan(one, jnp.zeros((batch, width)), x)[1]**2).mean()
    return _gradients(loss), [f32(length, batch, width), f32(width, width)]


# ---- ladders: one operation in several sizes ----

LADDERS = {}


def ladder(make):
    LADDERS[make.__name__] = make
    return make


@ladder


def ladder_elementwise():
    """Operations alone and in fusions, from 8 rows to 20,000."""
    k = []
    for n, dt in ((0, f32), (1, bf16)):
        for m in (8, 40, 200, 1000, 5000, 20000):
            s = (m + 8 * n, 256)
            k.append((lambda x: -x, [dt(*s)]))
            k.append((lambda x, y: x * y + 1, [dt(s[0] + 16, 256)] * 2))
            k.append((lambda x: jnp.exp(x), [dt(s[0] + 32, 256)]))
    for m in (16, 400, 10000):
        k.append((lambda x: x.astype(jnp.bfloat16), [f32(m + 64, 128)]))
        k.append((lambda x: x.astype(jnp.float32), [bf16(m + 80, 128)]))
        k.append((lambda x: x.astype(jnp.bfloat16).astype(jnp.float32).sum(0), [f32(m + 96, 128)]))
    return together(k)


@ladder


def ladder_moves():
    """Reductions, broadcasts, slices, paddings, rolls and changes of the layout, in three sizes."""
    k = []
    for n, dt in ((0, f32), (1, bf16)):
        for m in (24, 440, 4000):
            m += 8 * n
            k.append((lambda x: x.sum(0), [dt(m, 384)]))
            k.append((lambda x: x.sum(1), [dt(m + 16, 384)]))
            k.append((lambda x: x.sum((0, 1)), [dt(m + 32, 384)]))
            k.append((lambda x: x.max(1), [dt(m + 48, 384)]))
            k.append((lambda x: jnp.broadcast_to(x[:, None], (x.shape[0], 384)) * 2, [dt(m + 64)]))
            k.append((lambda x: jnp.broadcast_to(x[None], (500, x.shape[0])) * 2, [dt(m + 80)]))
            k.append((lambda x: x[4:, :], [dt(m + 96, 384)]))
            k.append((lambda x: x[:, 5:], [dt(m + 112, 384)]))
            k.append((lambda x: x[8:16], [dt(m + 128, 384)]))
            k.append((lambda x: jnp.pad(x, ((3, 1), (0, 0))), [dt(m + 144, 384)]))
            k.append((lambda x: jnp.roll(x, 1, 0), [dt(m + 160, 384)]))
            k.append((lambda x: jnp.roll(x, 1, 1), [dt(m + 176, 384)]))
            k.append((lambda x: x.T, [dt(m + 192, 384)]))
            k.append((lambda x: x.reshape(-1, 128), [dt(m + 208, 384)]))
            k.append((lambda x: x.reshape(-1, 8, 384).swapaxes(0, 1), [dt(m + 224, 384)]))
    return together(k)


def _slide(x, w, stride=1, dil=1, out=jnp.float32, pad="SAME"):
    return lax.conv_general_dilated(x, w, (stride, stride), pad, lhs_dilation=(dil, dil), dimension_numbers=("NHWC","HWIO","NHWC"), preferred_element_type=out)


@ladder


def ladder_convolutions():
    """Convolutions by features, windows, strides and dilations."""
    k = []
    n = 0
    for ci, co in ((16, 32), (32, 32), (48, 64), (64, 64), (96, 128), (128, 128), (160, 128), (192, 192), (256, 256)):
        for window in (1, 3):
            side = 12 + n % 3; n += 1
            k.append((_slide, [bf16(32, side, side, ci), bf16(window, window, ci, co)]))
    for ci, co in ((32, 32), (64, 64), (128, 64), (160, 16), (192, 128)):
        k.append((functools.partial(_slide, dil=2, pad=((1, 2), (1, 2))), [bf16(16, 11, 11, ci), bf16(3, 3, ci, co)]))
        k.append((functools.partial(_slide, stride=2), [bf16(24, 26, 26, ci), bf16(3, 3, ci, co)]))
    k.append((functools.partial(_slide, out=jnp.bfloat16), [bf16(32, 16, 16, 64), bf16(3, 3, 64, 64)]))
    k.append((functools.partial(_slide, out=jnp.bfloat16), [bf16(32, 18, 18, 128), bf16(3, 3, 128, 128)]))
    k.append((_slide, [bf16(128, 10, 10, 64), bf16(3, 3, 64, 64)]))
    k.append((_slide, [bf16(4, 30, 30, 64), bf16(3, 3, 64, 64)]))
    k.append((_slide, [bf16(4, 30, 30, 128), bf16(3, 3, 128, 128)]))
    k.append((_slide, [bf16(1, 60, 60, 64), bf16(3, 3, 64, 64)]))
    k.append((lambda x, w: _slide(x * 2, w), [f32(32, 15, 15, 64), f32(3, 3, 64, 64)]))
    k.append((lambda x, w: _slide(x, w), [f32(32, 17, 17, 64), f32(3, 3, 64, 64)]))
    return together(k)


@ladder


def ladder_products():
    """Products by what they contract, of one matrix and of batches."""
    k = []
    def dot(out): return lambda x, y: lax.dot(x, y, preferred_element_type=out)
    for m, c, n in ((1000, 256, 384), (1008, 64, 384), (1016, 160, 384), (1024, 512, 96), (3000, 128, 128), (3008, 512, 512), (256, 2048, 512)):
        k.append((dot(jnp.float32), [bf16(m, c), bf16(c, n)]))
        k.append((dot(jnp.bfloat16), [bf16(m + 32, c), bf16(c, n)]))
        k.append((dot(jnp.float32), [f32(m + 64, c), f32(c, n)]))
        k.append((lambda x, y: jnp.tanh(lax.dot(x, y, preferred_element_type=jnp.float32)), [bf16(m + 96, c), bf16(c, n)]))
    for m, c, n in ((16, 1024, 4096), (64, 4096, 4096), (512, 4096, 1024)):
        k.append((dot(jnp.float32), [bf16(m, c), bf16(c, n)]))
    for b, m, c, n in ((32, 128, 64, 128), (24, 256, 64, 256), (8, 200, 128, 200), (64, 64, 32, 64)):
        k.append((lambda x, y: jnp.einsum("bmk,bkn->bmn", x, y, preferred_element_type=jnp.float32), [bf16(b, m, c), bf16(b, c, n)]))
        k.append((lambda x, y: jnp.einsum("bmk,bnk->bmn", x, y), [bf16(b, m + 8, c), bf16(b, n, c)]))
    return together(k)


def _spread(count):
    """A product of columns that are the same in all lanes, and of one row."""
    def spread(*columns):
        lanes = lax.broadcasted_iota(jnp.float32, (columns[0].shape[0], 128), 1)
        return functools.reduce(lambda x, y: x * y[:, None] + 1, columns, lanes).sum(0)
    return lambda rows: (spread, [f32(rows)] * count)


@ladder


def ladder_rows():
    """What is the same in a row: sums of rows whose number 128 does not divide, columns that are spread over the lanes."""
    k = []
    for blocks in (64, 79, 97, 131, 157, 188, 234, 313):
        k.append((lambda x: jnp.exp(x).sum(1), [f32(128 * blocks - 40, 128)]))
        k.append((lambda x: x.max(1), [f32(128 * blocks - 48, 128)]))
    for count in (1, 2, 3, 4):
        k += [_spread(count)(rows + 8 * count) for rows in (1000, 4000, 20000)]
    for rows in (1000, 4000, 20000):
        for columns in (128, 384, 1024):
            wide = columns // 3 if rows == 20000 else columns
            k.append((lambda x, a, b: (jnp.exp(x - a[:, None]) * b[:, None]).sum(0),
                      [f32(rows + columns, wide), f32(rows + columns), f32(rows + columns)]))
        k.append((lambda x, label: x + jax.nn.one_hot(label, 128), [f32(rows, 128), i32(rows)]))
    return together(k)


# ---- programs ----

def together(kernels):
    """One function that calls each of the kernels with arguments of its own."""
    def call(*arguments):
        return [function(*values) for (function, _), values in zip(kernels, arguments)]
    return call, tuple(tuple(shapes) for _, shapes in kernels)


def _programs(name, kernels, seed, in_one):
    drawn = list(enumerate(kernels))
    random.Random(seed).shuffle(drawn)
    made = [make(Draw(f"{seed} {index}")) for index, make in drawn]
    return {f"{name}_{seed}_{start // in_one}": together(made[start:start + in_one])
            for start in range(0, len(made), in_one)}


def pieces(seed):
    """Programs by name: each kernel once, a dozen of them in each program."""
    return _programs("pieces", KERNELS, seed, 12)


def steps(seed):
    """Likewise of the small steps."""
    return _programs("steps", STEPS, seed, 4)


# ---- held-out programs ----

HELD_OUT = {}


def held_out(make):
    HELD_OUT[make.__name__] = make
    return make


def _sgd(loss, parameters, *batch):
    def step(parameters, *batch):
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        return jax.tree.map(lambda p, g: p - 0.05 * g.astype(p.dtype), parameters, gradients), value
    return step, (parameters, *batch)


@held_out
def mixer():
    """An MLP-Mixer in bf16 with f32 weights."""
    patches, width = 196, 384

    def block(x, w):
        def norm(x):
            wide = x.astype(jnp.float32)
            return ((wide - wide.mean(-1, keepdims=True)) * lax.rsqrt(wide.var(-1, keepdims=True) + 1e-6)
                    ).astype(x.dtype)
        w = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), w)
        y = norm(x).swapaxes(1, 2)
        x = x + (jax.nn.gelu(y @ w[0]) @ w[1]).swapaxes(1, 2)
        return x + jax.nn.gelu(norm(x) @ w[2]) @ w[3]

    def loss(p, x, y):
        x = x @ p["patch"].astype(jnp.bfloat16)
        for w in p["blocks"]:
            x = block(x, w)
        return ((x.mean(1).astype(jnp.float32) @ p["head"] - y)**2).mean()
    blocks = [[f32(patches, 256), f32(256, patches), f32(width, 1536), f32(1536, width)] for _ in range(2)]
    return _sgd(loss, {"patch": f32(768, width), "blocks": blocks, "head": f32(width, 100)},
                bf16(48, patches, 768), f32(48, 100))


@held_out
def graph_network():
    """Messages along edges: gathers and segment sums."""
    nodes, edges, width = 6000, 24000, 128

    def loss(ws, x, source, target, y):
        for w in ws:
            message = jax.nn.relu(jnp.concatenate([x[source], x[target]], -1) @ w["message"])
            total = jax.ops.segment_sum(message, target, nodes)
            x = x + jnp.tanh(jnp.concatenate([x, total], -1) @ w["update"])
        return ((x - y)**2).mean()
    weights = [{"message": f32(2 * width, width), "update": f32(2 * width, width)} for _ in range(2)]
    return _sgd(loss, weights, f32(nodes, width), i32(edges), i32(edges), f32(nodes, width))


@held_out
def autoencoder():
    """Convolutions down and transposed convolutions up, with a latent that is drawn."""
    def loss(p, x, noise):
        h = x
        for w in p["down"]:
            h = jax.nn.silu(lax.conv_general_dilated(h, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        mean, spread = jnp.split(h.reshape(h.shape[0], -1) @ p["in"], 2, -1)
        h = jax.nn.silu((mean + jnp.exp(spread) * noise) @ p["out"]).reshape(h.shape)
        for w in p["up"]:
            h = jax.nn.silu(lax.conv_transpose(h, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return ((h - x)**2).mean() + (mean**2 + jnp.exp(2 * spread) - spread).mean()
    parameters = {"down": [f32(3, 3, 3, 48), f32(3, 3, 48, 96), f32(3, 3, 96, 160)], "in": f32(8 * 8 * 160, 256),
                  "out": f32(128, 8 * 8 * 160), "up": [f32(3, 3, 160, 96), f32(3, 3, 96, 48), f32(3, 3, 48, 3)]}
    return _sgd(loss, parameters, f32(72, 64, 64, 3), f32(72, 128))


@held_out
def translation():
    """Encoder and decoder with cross attention, label smoothing, weights in f32 and all else in bf16."""
    width, heads, words, batch = 512, 8, 6016, 16

    def norm(x):
        wide = x.astype(jnp.float32)
        return (wide * lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype)

    def attend(x, memory, w, is_causal):
        def heads_of(value, weight):
            return (value @ weight).reshape(*value.shape[:2], heads, -1)
        q, k, v = heads_of(x, w["q"]), heads_of(memory, w["k"]), heads_of(memory, w["v"])
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / 8
        if is_causal: scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), v).reshape(x.shape) @ w["o"]

    def loss(p, source, target):
        p = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), p)
        memory = p["words"][source]
        memory = memory + attend(norm(memory), norm(memory), p["encoder"], False)
        memory = norm(memory + jax.nn.relu(norm(memory) @ p["wide"]) @ p["narrow"])
        x = p["words"][target[:, :-1]]
        x = x + attend(norm(x), norm(x), p["decoder"], True)
        x = x + attend(norm(x), memory, p["cross"], False)
        logits = (norm(x) @ p["words"].T).astype(jnp.float32)
        smooth = 0.9 * jax.nn.one_hot(target[:, 1:], words) + 0.1 / words
        return -(smooth * jax.nn.log_softmax(logits)).sum(-1).mean()
    attention = {name: f32(width, width) for name in "qkvo"}
    parameters = {"words": f32(words, width), "encoder": attention, "decoder": attention, "cross": attention,
                  "wide": f32(width, 2048), "narrow": f32(2048, width)}
    return _sgd(loss, parameters, i32(batch, 160), i32(batch, 145))


@held_out
def radiance():
    """A field of density and colour along rays: wide chains of small products, sums along rays."""
    rays, samples, width = 1024, 48, 128

    def loss(p, origin, direction, depth, colour):
        point = origin[:, None] + direction[:, None] * depth[..., None]
        angles = (point[..., None] * 2.0**jnp.arange(6)).reshape(rays, samples, -1)
        h = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)
        for w in p["layers"]:
            h = jax.nn.relu(h @ w)
        out = h @ p["head"]
        density = jax.nn.softplus(out[..., 0]) / samples
        seen = jnp.exp(-jnp.cumsum(density, -1))
        shade = ((seen * (1 - jnp.exp(-density)))[..., None] * jax.nn.sigmoid(out[..., 1:])).sum(1)
        return ((shade - colour)**2).mean()
    layers = [f32(36, width), *[f32(width, width)] * 3]
    return _sgd(loss, {"layers": layers, "head": f32(width, 4)},
                f32(rays, 3), f32(rays, 3), f32(rays, samples), f32(rays, 3))


@held_out
def state_space():
    """A gated linear recurrence over time, in a loop, between products."""
    batch, length, width = 32, 128, 512

    def loss(ws, x, y):
        for w in ws:
            gate, value = jnp.split(x @ w["in"], 2, -1)
            decay = jax.nn.sigmoid(gate)

            def one(state, pair):
                state = pair[0] * state + (1 - pair[0]) * pair[1]
                return state, state
            pairs = (decay.swapaxes(0, 1), value.swapaxes(0, 1))
            states = lax.scan(one, jnp.zeros((batch, width)), pairs)[1].swapaxes(0, 1)
            x = x + jax.nn.silu(states) @ w["out"]
        return ((x - y)**2).mean()
    weights = [{"in": f32(width, 2 * width), "out": f32(width, width)} for _ in range(2)]
    return _sgd(loss, weights, f32(batch, length, width), f32(batch, length, width))


@held_out
def generate():
    """One token of a model with grouped queries, a cache that is written in place, and sampling."""
    width, layers, batch, length, words = 1024, 2, 16, 1024, 16000

    def step(p, cache, token, position, key):
        x = p["words"][token]
        new = []
        for w, (keys, values) in zip(p["layers"], cache):
            q = (x @ w["q"]).reshape(batch, 4, 4, 64)
            keys = lax.dynamic_update_slice(keys, (x @ w["k"]).reshape(batch, 1, 4, 64), (0, position, 0, 0))
            values = lax.dynamic_update_slice(values, (x @ w["v"]).reshape(batch, 1, 4, 64), (0, position, 0, 0))
            scores = jnp.einsum("bgqd,bkgd->bgqk", q, keys).astype(jnp.float32) / 8
            scores = jnp.where(jnp.arange(length) <= position, scores, -1e9)
            h = jnp.einsum("bgqk,bkgd->bgqd", jax.nn.softmax(scores).astype(x.dtype), values)
            x = x + h.reshape(batch, width) @ w["o"]
            x = x + (jax.nn.silu(x @ w["gate"]) * (x @ w["up"])) @ w["down"]
            new.append((keys, values))
        logits = (x @ p["words"].T).astype(jnp.float32)
        return new, jax.random.categorical(jax.random.wrap_key_data(key), logits)
    layer = {"q": bf16(width, width), "k": bf16(width, 256), "v": bf16(width, 256), "o": bf16(width, width),
             "gate": bf16(width, 2048), "up": bf16(width, 2048), "down": bf16(2048, width)}
    return step, ({"words": bf16(words, width), "layers": [layer] * layers},
                  [(bf16(batch, length, 4, 64),) * 2] * layers, i32(batch), i32(), array(jnp.uint32, 2))


NHWC = ("NHWC", "HWIO", "NHWC")

def _rms(x, g=1.0):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * g).astype(x.dtype)

def _layer_norm(x):
    wide = x.astype(jnp.float32)
    return ((wide - wide.mean(-1, keepdims=True)) * lax.rsqrt(wide.var(-1, keepdims=True) + 1e-5)).astype(x.dtype)

def _adam(loss, parameters, *batch):
    def step(parameters, m, v, *batch):
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g.astype(m.dtype), m, gradients)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g.astype(v.dtype)**2, v, gradients)
        return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), parameters, m, v), m, v, value
    return step, (parameters, parameters, parameters, *batch)


@held_out
def convnext():
    """Depthwise convolutions, norms over channels, wide products, bf16."""
    def block(x, w):
        w = jax.tree.map(lambda leaf: leaf.astype(x.dtype), w)
        y = _layer_norm(_convolution(x, w["by"], groups=x.shape[-1]))
        return x + (jax.nn.gelu(y @ w["up"]) @ w["down"]) * w["scale"]

    def loss(p, x, y):
        h = lax.conv_general_dilated(x, p["stem"].astype(x.dtype), (4, 4), "VALID", dimension_numbers=NHWC)
        for n, stage in enumerate(p["stages"]):
            if n: h = _convolution(_layer_norm(h), p["down"].astype(x.dtype), 2)
            for w in stage:
                h = block(h, w)
        logits = h.mean((1, 2)).astype(jnp.float32) @ p["head"]
        return -(y * jax.nn.log_softmax(logits)).sum(-1).mean()

    def w(c):
        return {"by": f32(5, 5, 1, c), "up": f32(c, 4 * c), "down": f32(4 * c, c), "scale": f32(c)}
    p = {"stem": f32(4, 4, 3, 64), "stages": [[w(64)], [w(128), w(128)]], "down": f32(2, 2, 64, 128),
         "head": f32(128, 100)}
    return _sgd(loss, p, bf16(32, 64, 64, 3), f32(32, 100))


@held_out
def graph_attention():
    """Softmax over the edges of each node."""
    nodes, edges, width, heads = 3000, 12000, 96, 4

    def loss(p, x, source, target, y):
        h = (x @ p["w"]).reshape(nodes, heads, -1)
        score = jax.nn.leaky_relu((h * p["a"]).sum(-1)[source] + (h * p["b"]).sum(-1)[target])
        most = jax.ops.segment_max(score, target, nodes)
        e = jnp.exp(score - most[target])
        total = jax.ops.segment_sum(e, target, nodes)
        part = e / (total[target] + 1e-9)
        out = jax.ops.segment_sum(part[..., None] * h[source], target, nodes).reshape(nodes, -1)
        return ((jax.nn.elu(out) @ p["o"] - y)**2).mean()
    return _sgd(loss, {"w": f32(width, width), "a": f32(heads, width // heads), "b": f32(heads, width // heads),
                       "o": f32(width, 40)}, f32(nodes, width), i32(edges), i32(edges), f32(nodes, 40))


@held_out
def masked_language():
    """An encoder with padding masks, dropout, and a loss on masked words only."""
    width, heads, batch, length, words = 384, 6, 16, 128, 5000

    def drop(x, key, n):
        keep = jax.random.bernoulli(jax.random.fold_in(key, n), 0.9, x.shape)
        return jnp.where(keep, x / jnp.asarray(0.9, x.dtype), 0)

    def loss(p, tokens, lengths, labels, key):
        key = jax.random.wrap_key_data(key)
        w = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), p)
        seen = jnp.arange(length)[None] < lengths[:, None]
        x = drop(_layer_norm(w["words"][tokens] + w["places"]), key, 0)
        for n, l in enumerate(w["layers"]):
            q, k, v = ((x @ l[m]).reshape(batch, length, heads, -1) for m in "qkv")
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / 8
            s = jax.nn.softmax(jnp.where(seen[:, None, None], s, -1e9)).astype(x.dtype)
            a = jnp.einsum("bhqk,bkhd->bqhd", s, v).reshape(x.shape) @ l["o"]
            x = _layer_norm(x + drop(a, key, 2 * n + 1))
            x = _layer_norm(x + drop(jax.nn.gelu(x @ l["up"] + l["bias"]) @ l["down"], key, 2 * n + 2))
        logits = (x @ w["words"].T).astype(jnp.float32)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.maximum(labels, 0)[..., None], -1)[..., 0]
        wanted = labels >= 0
        return -jnp.where(wanted, picked, 0).sum() / jnp.maximum(wanted.sum(), 1)
    l = {m: f32(width, width) for m in "qkvo"} | {"up": f32(width, 1536), "bias": f32(1536), "down": f32(1536, width)}
    return _sgd(loss, {"words": f32(words, width), "places": f32(length, width), "layers": [l] * 2},
                i32(batch, length), i32(batch), i32(batch, length), array(jnp.uint32, 2))


@held_out
def lamb():
    """An optimizer alone: norms of gradients, moments in bf16, trust ratios."""
    def step(p, g, m, v, count):
        total = jnp.sqrt(sum((leaf.astype(jnp.float32)**2).sum() for leaf in jax.tree.leaves(g)))
        clip = jnp.minimum(1, 1 / (total + 1e-6))
        g = jax.tree.map(lambda g: g.astype(jnp.float32) * clip, g)
        m = jax.tree.map(lambda m, g: (0.9 * m.astype(jnp.float32) + 0.1 * g).astype(m.dtype), m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)

        def update(p, m, v):
            u = m.astype(jnp.float32) / (1 - 0.9**count) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-6) + 0.01 * p
            ratio = jnp.sqrt((p**2).sum()) / (jnp.sqrt((u**2).sum()) + 1e-6)
            return p - 1e-3 * ratio * u
        return jax.tree.map(update, p, m, v), m, v

    def tree(dtype):
        return {n: array(dtype, *s) for n, s in {"a": (4000, 512), "b": (512, 2048), "c": (2048,), "d": (3, 3, 128, 256),
                                                   "e": (512, 12, 64), "f": (256,), "g": (7, 7, 3, 64)}.items()}
    return step, (tree(jnp.float32), tree(jnp.bfloat16), tree(jnp.bfloat16), tree(jnp.float32), f32())


@held_out
def long_convolution():
    """Convolutions as long as the sequence, through Fourier transforms, with gates."""
    batch, length, width = 8, 512, 128

    def loss(p, x, y):
        for w in p:
            u, v, gate = jnp.split(x @ w["in"], 3, -1)
            u = u * v
            k = w["filter"] * jnp.exp(-jnp.arange(length)[:, None] * jax.nn.softplus(w["decay"]))
            f = jnp.fft.rfft(u, 2 * length, 1) * jnp.fft.rfft(k, 2 * length, 0)
            x = x + (jnp.fft.irfft(f, 2 * length, 1)[:, :length] * jax.nn.sigmoid(gate)) @ w["out"]
        return ((x - y)**2).mean()
    w = {"in": f32(width, 3 * width), "filter": f32(length, width), "decay": f32(width), "out": f32(width, width)}
    return _sgd(loss, [w] * 2, f32(batch, length, width), f32(batch, length, width))


@held_out
def attending_lstm():
    """A decoder in a loop that looks at encoded words at each step."""
    width, batch, length, steps = 256, 32, 40, 24

    def loss(p, memory, targets, y):
        def one(state, x):
            h, c = state
            s = jax.nn.softmax((memory @ p["key"] * (h @ p["query"])[:, None]).sum(-1))
            seen = (s[..., None] * memory).sum(1)
            i, f, g, o = jnp.split(jnp.concatenate([x, seen, h], -1) @ p["w"] + p["bias"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((batch, width))
        states = lax.scan(one, (zero, zero), targets)[1]
        return ((states @ p["out"] - y)**2).mean()
    p = {"key": f32(width, width), "query": f32(width, width), "w": f32(3 * width, 4 * width), "bias": f32(4 * width),
         "out": f32(width, 100)}
    return _sgd(loss, p, f32(batch, length, width), f32(steps, batch, width), f32(steps, batch, 100))


@held_out
def recommender():
    """Tables of users and items, bags of words, crosses, a tower of products."""
    batch, width = 2048, 32

    def loss(p, ids, bag, dense, y):
        parts = [p["tables"][n][ids[:, n]] for n in range(6)] + [p["words"][bag].mean(1)]
        parts.append(jax.nn.relu(dense @ p["dense"]))
        stack = jnp.stack(parts, 1)
        cross = jnp.einsum("bid,bjd->bij", stack, stack)
        rows, columns = jnp.triu_indices(8, 1)
        x = jnp.concatenate([stack.reshape(batch, -1), cross[:, rows, columns]], -1)
        x = jax.nn.relu(x @ p["a"] + p["ab"])
        x = jax.nn.relu(x @ p["b"] + p["bb"])
        logit = (x @ p["c"])[:, 0]
        return (jax.nn.softplus(logit) - y * logit).mean()
    p = {"tables": [f32(rows, width) for rows in (20000, 8000, 500, 100, 40, 3000)], "words": f32(4000, width),
         "dense": f32(13, width), "a": f32(8 * width + 28, 512), "ab": f32(512), "b": f32(512, 128), "bb": f32(128),
         "c": f32(128, 1)}
    return _sgd(loss, p, i32(batch, 6), i32(batch, 20), f32(batch, 13), f32(batch))


@held_out
def linear_attention():
    """An associative scan over chunks, and products between; bf16 training."""
    batch, length, width, heads, chunk = 8, 512, 256, 4, 64

    def loss(p, x, y):
        p = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), p)
        for w in p:
            q, k, v = ((x @ w[n]).reshape(batch, length // chunk, chunk, heads, -1) for n in "qkv")
            q, k = jax.nn.elu(q) + 1, jax.nn.elu(k) + 1
            states = jnp.einsum("bnchd,bnche->bnhde", k, v).astype(jnp.float32)
            decay = jax.nn.sigmoid(w["decay"]).astype(jnp.float32)[:, None, None] * jnp.ones_like(states[:, :, :, :1, :1])
            def join(a, b):
                return a[0] * b[0], b[0] * a[1] + b[1]
            sums = lax.associative_scan(join, (decay, states), axis=1)[1]
            before = jnp.pad(sums[:, :-1], ((0, 0), (1, 0), (0, 0), (0, 0), (0, 0))).astype(x.dtype)
            far = jnp.einsum("bnchd,bnhde->bnche", q, before)
            s = jnp.einsum("bnchd,bnkhd->bnhck", q, k) * jnp.tril(jnp.ones((chunk, chunk), x.dtype))
            near = jnp.einsum("bnhck,bnkhe->bnche", s, v)
            x = x + _rms((near + far).reshape(x.shape)) @ w["o"]
        return ((x.astype(jnp.float32) - y)**2).mean()
    w = {n: f32(width, width) for n in "qkvo"} | {"decay": f32(heads)}
    return _sgd(loss, [w] * 2, bf16(batch, length, width), f32(batch, length, width))


@held_out
def detector():
    """Inference in bf16: a pyramid of features, boxes, the best of them, suppression in a loop."""
    def infer(p, x):
        c1 = jax.nn.relu(_convolution(x, p["a"], 2) * p["sa"] + p["ba"])
        c2 = jax.nn.relu(_convolution(c1, p["b"], 2) * p["sb"] + p["bb"])
        c3 = jax.nn.relu(_convolution(c2, p["c"], 2) * p["sc"] + p["bc"])
        top = _convolution(c3, p["lc"])
        mid = _convolution(c2, p["lb"]) + jax.image.resize(top, (*c2.shape[:3], 64), "nearest")
        scores, boxes = [], []
        for level in (top, mid):
            h = jax.nn.relu(_convolution(level, p["head"]))
            scores.append(_convolution(h, p["score"]).reshape(x.shape[0], -1))
            boxes.append(_convolution(h, p["box"]).reshape(x.shape[0], -1, 4))
        scores, boxes = jnp.concatenate(scores, 1).astype(jnp.float32), jnp.concatenate(boxes, 1).astype(jnp.float32)
        best, index = lax.top_k(scores, 64)
        boxes = jnp.take_along_axis(boxes, index[..., None], 1)
        low, high = boxes[..., :2] - jnp.exp(boxes[..., 2:]), boxes[..., :2] + jnp.exp(boxes[..., 2:])
        inter = jnp.clip(jnp.minimum(high[:, :, None], high[:, None]) - jnp.maximum(low[:, :, None], low[:, None]), 0).prod(-1)
        area = (high - low).prod(-1)
        overlap = inter / (area[:, :, None] + area[:, None] - inter + 1e-6)

        def suppress(n, keep):
            return keep & ~((overlap[:, n] > 0.5) & (jnp.arange(64) > n) & keep[:, n][:, None])
        return lax.fori_loop(0, 64, suppress, jnp.ones(best.shape, bool)), boxes, best
    p = {"a": bf16(3, 3, 3, 32), "b": bf16(3, 3, 32, 64), "c": bf16(3, 3, 64, 128), "lc": bf16(1, 1, 128, 64),
         "lb": bf16(1, 1, 64, 64), "head": bf16(3, 3, 64, 64), "score": bf16(1, 1, 64, 3), "box": bf16(1, 1, 64, 12)}
    p |= {n + s: bf16(c) for s, c in (("a", 32), ("b", 64), ("c", 128)) for n in "sb" if n + s != "b"}
    return infer, (p, bf16(8, 96, 96, 3))


@held_out
def shallow_water():
    """Differences of neighbours on a grid over time, and the derivative by the first state."""
    side = 200

    def run(h, u, v):
        def one(state, _):
            h, u, v = state
            def dx(a): return (jnp.roll(a, -1, 1) - jnp.roll(a, 1, 1)) / 2
            def dy(a): return (jnp.roll(a, -1, 0) - jnp.roll(a, 1, 0)) / 2
            u2 = u - 0.1 * (dx(h) + u * dx(u) + v * dy(u))
            v2 = v - 0.1 * (dy(h) + u * dx(v) + v * dy(v))
            h2 = h - 0.1 * (dx(h * u) + dy(h * v))
            return (h2, u2, v2), h2.mean()
        state, means = lax.scan(one, (h, u, v), None, 12)
        return (state[0]**2).mean() + means.sum()
    return lambda h, u, v: jax.value_and_grad(run, (0, 1, 2))(h, u, v), (f32(side, side),) * 3


@held_out
def speech_encoder():
    """Inference: convolutions over time, relative positions, gated convolutions."""
    batch, frames, width, heads = 8, 320, 256, 4

    def infer(p, x):
        h = lax.conv_general_dilated(x, p["stem"], (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
        h = jax.nn.gelu(h)
        length = h.shape[1]
        for w in p["layers"]:
            h = h + 0.5 * (jax.nn.silu(_layer_norm(h) @ w["up"]) @ w["down"])
            y = _layer_norm(h)
            q, k, v = ((y @ w[n]).reshape(batch, length, heads, -1) for n in "qkv")
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
            distance = jnp.arange(length)[:, None] - jnp.arange(length)[None] + length - 1
            s = jax.nn.softmax(s + w["near"].T[:, distance].astype(s.dtype), -1)
            h = h + jnp.einsum("bhqk,bkhd->bqhd", s, v).reshape(h.shape) @ w["o"]
            a, b = jnp.split(_layer_norm(h) @ w["glu"], 2, -1)
            a = lax.conv_general_dilated(a * jax.nn.sigmoid(b), w["by"], (1,), "SAME",
                                         dimension_numbers=("NWC", "WIO", "NWC"), feature_group_count=width)
            h = h + jax.nn.silu(a) @ w["o"]
        return jax.nn.log_softmax((h @ p["out"]).astype(jnp.float32))
    l = {n: bf16(width, width) for n in "qkvo"} | {"up": bf16(width, 1024), "down": bf16(1024, width), "near": bf16(319, heads),
         "glu": bf16(width, 2 * width), "by": bf16(15, 1, width)}
    return infer, ({"stem": bf16(3, 80, width), "layers": [l] * 2, "out": bf16(width, 500)}, bf16(batch, frames, 80))


@held_out
def gpt_long():
    """A GPT in bf16 with biases and learned places, layers written out, Adam in f32."""
    width, heads, batch, length, words = 512, 8, 4, 512, 8192

    def layer(x, w):
        y = _layer_norm(x) * w["g1"]
        q, k, v = jnp.split((y @ w["qkv"] + w["b"]).reshape(batch, length, 3 * heads, -1), 3, 2)
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / 8
        s = jnp.where(jnp.tril(jnp.ones((length, length), bool)), s, -jnp.inf)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s).astype(x.dtype), v).reshape(x.shape) @ w["o"]
        return x + jax.nn.gelu(_layer_norm(x) * w["g2"] @ w["up"] + w["ub"]) @ w["down"]

    def loss(p, tokens):
        p = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), p)
        x = p["words"][tokens] + p["places"]
        for w in p["layers"]:
            x = layer(x, w)
        logits = (_layer_norm(x) @ p["words"].T).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits[:, :-1]), tokens[:, 1:, None], -1).mean()
    l = {"g1": f32(width), "g2": f32(width), "qkv": f32(width, 3 * width), "b": f32(3 * width), "o": f32(width, width),
         "up": f32(width, 2048), "ub": f32(2048), "down": f32(2048, width)}
    return _adam(loss, {"words": f32(words, width), "places": f32(length, width), "layers": [l] * 2}, i32(batch, length))
