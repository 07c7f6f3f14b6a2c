"""Networks as people write them with Flax (NNX and Linen), Equinox and Haiku, for scripts/check/advice: the form is
that of programs.py. Each library is imported by its makers alone, so that programs of one do not need the others."""

import jax
import jax.numpy as jnp
from jax import lax
from programs import Program, adds_to, f32

PROGRAMS = {}
program = adds_to(PROGRAMS)


def _sizes_of(sizes):
    """(batch, length, width, layers) of a transformer."""
    return sizes.many(2, 4), sizes.among(192, 256), sizes.among(128, 192), sizes.among(4, 6)


def _step(loss, params, *batch):
    """Gradient descent whose parameters are donated."""
    def step(params, *batch):
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), value
    return Program(step, (params, *batch), (0,))


# ---- Flax Linen ----

def _of_linen(model, x):
    params = jax.eval_shape(lambda: model.init(jax.random.PRNGKey(0), jnp.zeros(x.shape)))["params"]
    return _step(lambda params, x: (model.apply({"params": params}, x)**2).mean(), params, x)


@program
def linen_transformer(sizes):
    import flax.linen as nn
    batch, length, width, layers = _sizes_of(sizes)

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = x + nn.MultiHeadDotProductAttention(4)(nn.LayerNorm()(x))
            return x + nn.Dense(width)(nn.gelu(nn.Dense(4 * width)(nn.LayerNorm()(x))))

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            for _ in range(layers):
                x = Block()(x)
            return nn.Dense(width)(x)
    return _of_linen(Network(), f32(batch, length, width))


@program
def linen_scanned(sizes):
    import flax.linen as nn
    batch, length, width, layers = _sizes_of(sizes)

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            y = nn.RMSNorm()(x)
            return x + nn.Dense(width)(nn.silu(nn.Dense(2 * width)(y)) * nn.Dense(2 * width)(y)), None

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            blocks = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=2 * layers)
            return nn.Dense(width)(blocks()(x, None)[0])
    return _of_linen(Network(), f32(4 * batch * length, width))


# ---- Flax NNX ----

def _of_nnx(make, x):
    from flax import nnx
    graph, params = nnx.split(nnx.eval_shape(lambda: make(nnx.Rngs(0))), nnx.Param)
    plain = nnx.to_pure_dict(params)

    def loss(plain, x):
        state = jax.tree.map(lambda leaf: leaf, params)
        nnx.replace_by_pure_dict(state, plain)
        return (nnx.merge(graph, state)(x)**2).mean()
    return _step(loss, jax.tree.map(lambda leaf: f32(*leaf.shape), plain), x)


@program
def nnx_transformer(sizes):
    from flax import nnx
    batch, length, width, layers = _sizes_of(sizes)

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
            self.first, self.second = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
            self.up = nnx.Linear(width, 4 * width, rngs=rngs)
            self.down = nnx.Linear(4 * width, width, rngs=rngs)

        def __call__(self, x):
            x = x + self.attention(self.first(x))
            return x + self.down(nnx.gelu(self.up(self.second(x))))

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.blocks = nnx.List([Block(rngs) for _ in range(layers)])
            self.last = nnx.Linear(width, width, rngs=rngs)

        def __call__(self, x):
            for block in self.blocks:
                x = block(x)
            return self.last(x)
    return _of_nnx(Network, f32(batch, length, width))


@program
def nnx_mlp(sizes):
    from flax import nnx
    batch, length, width, layers = _sizes_of(sizes)

    class Layer(nnx.Module):
        def __init__(self, rngs):
            self.up, self.down = nnx.Linear(width, 3 * width, rngs=rngs), nnx.Linear(3 * width, width, rngs=rngs)

        def __call__(self, x):
            return nnx.tanh(self.down(nnx.silu(self.up(x))))

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.layers = nnx.List([Layer(rngs) for _ in range(layers)])

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    return _of_nnx(Network, f32(4 * batch * length, width))


# ---- Equinox ----

@program
def equinox_mlp(sizes):
    import equinox as eqx
    batch, length, width, layers = _sizes_of(sizes)

    class Layer(eqx.Module):
        up: eqx.nn.Linear
        down: eqx.nn.Linear

        def __init__(self, key):
            first, second = jax.random.split(key)
            self.up, self.down = eqx.nn.Linear(width, 3 * width, key=first), eqx.nn.Linear(3 * width, width, key=second)

        def __call__(self, x):
            return jnp.tanh(jax.vmap(self.down)(jax.nn.silu(jax.vmap(self.up)(x))))

    def make(key):
        return [Layer(one) for one in jax.random.split(key, layers)]
    model = eqx.filter_eval_shape(make, jax.random.PRNGKey(0))
    params, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(params, x):
        for layer in eqx.combine(params, static):
            x = layer(x)
        return (x**2).mean()
    return _step(loss, params, f32(4 * batch * length, width))


@program
def equinox_gru(sizes):
    import equinox as eqx
    width, batch, length = sizes.among(96, 128), sizes.many(20, 40), sizes.among(64, 96)
    cell = eqx.filter_eval_shape(lambda key: eqx.nn.GRUCell(width, width, key=key), jax.random.PRNGKey(0))
    params, static = eqx.partition(cell, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(params, xs):
        cell = eqx.combine(params, static)

        def step(h, x):
            h = jax.vmap(cell)(x, h)
            return h, h.sum()
        h, sums = lax.scan(step, jnp.zeros((batch, width)), xs)
        return (h**2).mean() + sums.mean()
    return _step(loss, params, f32(length, batch, width))


# ---- Haiku ----

def _of_haiku(forward, x):
    import haiku as hk
    model = hk.without_apply_rng(hk.transform(forward))
    params = jax.eval_shape(lambda: model.init(jax.random.PRNGKey(0), jnp.zeros(x.shape)))
    return _step(lambda params, x: (model.apply(params, x)**2).mean(), params, x)


@program
def haiku_transformer(sizes):
    import haiku as hk
    batch, length, width, layers = _sizes_of(sizes)

    class Block(hk.Module):
        def __call__(self, x):
            y = hk.LayerNorm(-1, True, True)(x)
            attention = hk.MultiHeadAttention(4, width // 4, model_size=width, w_init=hk.initializers.VarianceScaling(1))
            x = x + attention(y, y, y)
            return x + hk.Linear(width)(jax.nn.gelu(hk.Linear(4 * width)(hk.LayerNorm(-1, True, True)(x))))

    def forward(x):
        for _ in range(layers):
            x = Block()(x)
        return hk.Linear(width)(x)
    return _of_haiku(forward, f32(batch, length, width))


@program
def haiku_lstm(sizes):
    import haiku as hk
    width, batch, length = sizes.among(96, 128), sizes.many(20, 40), sizes.among(64, 96)

    def forward(x):
        core = hk.LSTM(width)
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(batch))
        return hk.Linear(width)(outputs)
    return _of_haiku(forward, f32(length, batch, width))
