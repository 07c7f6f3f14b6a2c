"""Programs with marks for plans, with as many arrays that are kept as do not fit into a TPU's VMEM. Each function of
PROGRAMS takes the mark and what is done to each block, and returns (a step, its arguments as shapes)."""

import jax
import jax.numpy as jnp
from jax import lax

PROGRAMS = {}
LAYERS, WIDTH, HEADS, BATCH, LENGTH, WORDS = 3, 512, 8, 4, 1024, 2048


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def f32(*shape, sharding=None):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)


def norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * scale).astype(x.dtype)


def block(x, w):
    """A layer of a transformer, in bf16."""
    def heads(a):
        return a.reshape(*a.shape[:2], HEADS, -1)
    length = x.shape[1]
    q, k, v = map(heads, jnp.split(norm(x, w["first"]) @ w["qkv"].astype(x.dtype), 3, -1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / 8
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    seen = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), v)
    x = x + seen.reshape(x.shape) @ w["out"].astype(x.dtype)
    return x + jax.nn.gelu(norm(x, w["second"]) @ w["up"].astype(x.dtype)) @ w["down"].astype(x.dtype)


def layer_shapes(*count, sharding=None):
    shapes = {"first": (WIDTH,), "second": (WIDTH,), "qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH),
              "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    return {name: f32(*count, *shape, sharding=sharding) for name, shape in shapes.items()}


def cross_entropy(p, x, words):
    logits = (norm(x, p["last"]) @ p["words"].T.astype(x.dtype)).astype(jnp.float32)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), words[..., None], -1).mean()


def adam(loss):
    def step(p, mean, square, *batch):
        value, gradients = jax.value_and_grad(loss)(p, *batch)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
        square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, gradients)
        return jax.tree.map(lambda p, m, s: p - 1e-3 * m / (jnp.sqrt(s) + 1e-8), p, mean, square), mean, square, value
    return jax.jit(step, donate_argnums=(0, 1, 2))


def words_shape(sharding=None):
    return jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32, sharding=sharding)


@program
def gpt(mark, each):
    def loss(p, words):
        x = p["words"].astype(jnp.bfloat16)[words[:, :-1]]
        for w in p["layers"]:
            x = each(block)(x, w)
        return cross_entropy(p, x, words[:, 1:])
    shapes = {"words": f32(WORDS, WIDTH), "last": f32(WIDTH), "layers": [layer_shapes() for _ in range(LAYERS)]}
    return adam(mark(loss)), (shapes, shapes, shapes, words_shape())


def _scanned_loss(each):
    def loss(p, words):
        x = p["words"].astype(jnp.bfloat16)[words[:, :-1]]
        x, _ = lax.scan(lambda x, w: (each(block)(x, w), None), x, p["layers"])
        return cross_entropy(p, x, words[:, 1:])
    return loss


@program
def llama(mark, each):
    shapes = {"words": f32(WORDS, WIDTH), "last": f32(WIDTH), "layers": layer_shapes(2 * LAYERS)}
    return adam(mark(_scanned_loss(each))), (shapes, shapes, shapes, words_shape())


@program
def fsdp(mark, each):
    """Parameters and batch are both spread over four devices."""
    mesh = jax.sharding.AbstractMesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    first, second = (jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
                     for spec in (("data",), (None, "data")))
    shapes = {"words": f32(WORDS, WIDTH, sharding=first), "last": f32(WIDTH, sharding=first),
              "layers": layer_shapes(2 * LAYERS, sharding=second)}
    words = jax.ShapeDtypeStruct((4 * BATCH, LENGTH + 1), jnp.int32, sharding=first)
    return adam(mark(_scanned_loss(each))), (shapes, shapes, shapes, words)


@program
def unet(mark, each):
    def conv(x, w):
        return lax.conv_general_dilated(x, w.astype(x.dtype), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def stage(x, w):
        return jax.nn.gelu(conv(jax.nn.gelu(conv(x, w[0])), w[1]))

    def loss(p, x, y):
        skips, x = [], x.astype(jnp.bfloat16)
        for w in p["down"]:
            x = each(stage)(x, w)
            skips.append(x)
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = each(stage)(x, p["middle"])
        for w, skip in zip(p["up"], reversed(skips)):
            x = jnp.concatenate([jax.image.resize(x, (*skip.shape[:3], x.shape[3]), "nearest"), skip], -1)
            x = each(stage)(x, w)
        return ((conv(x, p["last"]).astype(jnp.float32) - y)**2).mean()

    def kernels(before, after):
        return f32(3, 3, before, after), f32(3, 3, after, after)
    shapes = {"down": [kernels(8, 64), kernels(64, 128)], "middle": kernels(128, 256),
              "up": [kernels(384, 128), kernels(192, 64)], "last": f32(3, 3, 64, 8)}
    image = f32(16, 128, 128, 8)
    return adam(mark(loss)), (shapes, shapes, shapes, image, image)
