"""Training steps as people write them with Flax (NNX and Linen), Haiku, Equinox and optax: a step takes
parameters, the optimizer's state and a batch, and gives new ones and the loss. Shapes are small; the
layers are deep or long enough that there is something to recompute.

A maker gives (step, arguments); NETWORKS has them by name. Each library is imported by its makers alone, so
that programs of one do not need the others."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

NETWORKS = {}
WIDTH, BATCH, TIME, CLASSES, LAYERS = 32, 48, 12, 10, 4


def network(maker):
    NETWORKS[maker.__name__] = maker
    return maker


def numbers(seed, *shape, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def labels(*shape):
    return np.random.default_rng(5).integers(0, CLASSES, shape).astype(np.int32)


X, Y = numbers(1, BATCH, WIDTH), labels(BATCH)
SEQUENCES, SEQUENCE_LABELS = numbers(2, 16, TIME, WIDTH), labels(16, TIME)
IMAGES, IMAGE_LABELS = numbers(3, 8, 16, 16, 3), labels(8)
TOKENS = np.random.default_rng(4).integers(0, 64, (16, TIME + 1)).astype(np.int32)
KEY = jax.random.PRNGKey(0)


def cross_entropy(logits, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def training_step(loss, params, optimizer, *batch):
    """(step, arguments) for a loss of parameters and a batch."""
    def step(params, state, *batch):
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value
    return step, (params, optimizer.init(params), *batch)


def make(name):
    return NETWORKS[name]()


# ---- Flax Linen ----

def of_linen(model, optimizer, x, y, **init):
    params = model.init(KEY, x, **init)["params"]
    return training_step(lambda p, x, y: cross_entropy(model.apply({"params": p}, x), y), params, optimizer, x, y)


@network
def linen_mlp_gelu():
    import flax.linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            for _ in range(LAYERS):
                x = nn.gelu(nn.Dense(2 * WIDTH)(x))
            return nn.Dense(CLASSES)(x)
    return of_linen(Network(), optax.adamw(1e-3), X, Y)


@network
def linen_residual_layer_norm():
    import flax.linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            for _ in range(LAYERS):
                x = x + nn.Dense(WIDTH)(nn.silu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))
            return nn.Dense(CLASSES)(nn.RMSNorm()(x))
    return of_linen(Network(), optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3)), X, Y)


@network
def linen_cnn_batch_norm():
    import flax.linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            for features in (8, 16):
                x = nn.relu(nn.BatchNorm(use_running_average=False)(nn.Conv(features, (3, 3))(x)))
                x = nn.avg_pool(x, (2, 2), (2, 2))
            return nn.Dense(CLASSES)(x.reshape(len(x), -1))
    model = Network()
    variables = model.init(KEY, IMAGES)

    def loss(params, statistics, x, y):
        logits, new = model.apply({"params": params, "batch_stats": statistics}, x, mutable=["batch_stats"])
        return cross_entropy(logits, y), new["batch_stats"]
    optimizer = optax.sgd(1e-2, momentum=0.9, nesterov=True)

    def step(params, statistics, state, x, y):
        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(params, statistics, x, y)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), statistics, state, value
    params = variables["params"]
    return step, (params, variables["batch_stats"], optimizer.init(params), IMAGES, IMAGE_LABELS)


def linen_rnn(cell):
    import flax.linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.RNN(getattr(nn, cell)(WIDTH))(x)
            return nn.Dense(CLASSES)(nn.RNN(getattr(nn, cell)(WIDTH))(x))
    return of_linen(Network(), optax.rmsprop(1e-3), SEQUENCES, SEQUENCE_LABELS)


@network
def linen_lstm():
    return linen_rnn("OptimizedLSTMCell")


@network
def linen_gru():
    return linen_rnn("GRUCell")


@network
def linen_gpt_scanned():
    import flax.linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            mask = nn.make_causal_mask(x[..., 0])
            x = x + nn.MultiHeadDotProductAttention(4)(nn.LayerNorm()(x), mask=mask)
            return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x)))), None

    class Network(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(64, WIDTH)(tokens)
            blocks = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=LAYERS)
            x, _ = blocks()(x, None)
            return nn.Dense(64)(nn.LayerNorm()(x))
    return of_linen(Network(), optax.adamw(optax.cosine_decay_schedule(1e-3, 100)), TOKENS[:, :-1], TOKENS[:, 1:])


@network
def linen_vae():
    import flax.linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x, noise):
            hidden = nn.softplus(nn.Dense(2 * WIDTH)(x))
            mean, log_variance = nn.Dense(8)(hidden), nn.Dense(8)(hidden)
            z = mean + jnp.exp(0.5 * log_variance) * noise
            return nn.Dense(WIDTH)(nn.elu(nn.Dense(2 * WIDTH)(z))), mean, log_variance
    model = Network()

    def loss(params, x, noise):
        y, mean, log_variance = model.apply({"params": params}, x, noise)
        divergence = -0.5 * (1 + log_variance - mean ** 2 - jnp.exp(log_variance)).sum(-1)
        return (((x - y) ** 2).sum(-1) + divergence).mean()
    noise = numbers(7, BATCH, 8)
    return training_step(loss, model.init(KEY, X, noise)["params"], optax.adam(1e-3), X, noise)


@network
def linen_swiglu_scanned():
    import flax.linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            y = nn.RMSNorm()(x)
            return x + nn.Dense(WIDTH, use_bias=False)(
                nn.silu(nn.Dense(2 * WIDTH, use_bias=False)(y)) * nn.Dense(2 * WIDTH, use_bias=False)(y)), None

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            blocks = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=2 * LAYERS)
            return nn.Dense(CLASSES)(blocks()(x, None)[0])
    return of_linen(Network(), optax.lion(1e-4), X, Y)


# ---- Flax NNX ----

def of_nnx(model, optimizer, x, y):
    from flax import nnx
    graph, params, rest = nnx.split(model, nnx.Param, ...)

    def loss(params, rest, x, y):
        # Variables that the derivative does not look at belong to the trace outside, so a copy is changed.
        model = nnx.merge(graph, params, rest, copy=True)
        value = cross_entropy(model(x), y)
        return value, nnx.split(model, nnx.Param, ...)[2]

    def step(params, rest, state, x, y):
        (value, rest), gradients = jax.value_and_grad(loss, has_aux=True)(params, rest, x, y)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), rest, state, value
    return step, (params, rest, optimizer.init(params), x, y)


@network
def nnx_mlp():
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs)
            self.second = nnx.Linear(2 * WIDTH, 2 * WIDTH, rngs=rngs)
            self.norm = nnx.LayerNorm(2 * WIDTH, rngs=rngs)
            self.last = nnx.Linear(2 * WIDTH, CLASSES, rngs=rngs)

        def __call__(self, x):
            x = nnx.gelu(self.first(x))
            return self.last(self.norm(x + nnx.tanh(self.second(x))))
    return of_nnx(Network(nnx.Rngs(0)), optax.adamw(1e-3), X, Y)


@network
def nnx_cnn():
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.conv = nnx.Conv(3, 8, kernel_size=(3, 3), rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)
            self.conv2 = nnx.Conv(8, 8, kernel_size=(3, 3), rngs=rngs)
            self.last = nnx.Linear(8, CLASSES, rngs=rngs)

        def __call__(self, x):
            x = nnx.silu(self.norm(self.conv(x)))
            return self.last((x + nnx.relu(self.conv2(x))).mean((1, 2)))
    return of_nnx(Network(nnx.Rngs(0)), optax.sgd(1e-2, momentum=0.9), IMAGES, IMAGE_LABELS)


@network
def nnx_layers_scanned():
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
            self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
            self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

        def __call__(self, x):
            return x + self.down(nnx.gelu(self.up(self.norm(x))))

    class Network(nnx.Module):
        def __init__(self, rngs):
            @nnx.split_rngs(splits=LAYERS)
            @nnx.vmap(in_axes=(0,), out_axes=0)
            def blocks(rngs):
                return Block(rngs)
            self.blocks = blocks(rngs)
            self.last = nnx.Linear(WIDTH, CLASSES, rngs=rngs)

        def __call__(self, x):
            @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
            def forward(block, x):
                return block(x)
            return self.last(forward(self.blocks, x))
    return of_nnx(Network(nnx.Rngs(0)), optax.adam(1e-3), X, Y)


@network
def nnx_lstm():
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.rnn = nnx.RNN(nnx.OptimizedLSTMCell(WIDTH, WIDTH, rngs=rngs))
            self.last = nnx.Linear(WIDTH, CLASSES, rngs=rngs)

        def __call__(self, x):
            return self.last(self.rnn(x))
    return of_nnx(Network(nnx.Rngs(0)), optax.adam(1e-3), SEQUENCES, SEQUENCE_LABELS)


@network
def nnx_attention():
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.attention = nnx.MultiHeadAttention(4, WIDTH, decode=False, rngs=rngs)
            self.norm = nnx.RMSNorm(WIDTH, rngs=rngs)
            self.up, self.down = (nnx.Linear(a, b, rngs=rngs) for a, b in
                                  ((WIDTH, 4 * WIDTH), (4 * WIDTH, CLASSES)))

        def __call__(self, x):
            x = x + self.attention(self.norm(x))
            return self.down(nnx.gelu(self.up(x), approximate=False))
    return of_nnx(Network(nnx.Rngs(0)), optax.lamb(1e-3), SEQUENCES, SEQUENCE_LABELS)


# ---- Haiku ----

def of_haiku(function, optimizer, x, y):
    import haiku as hk
    model = hk.without_apply_rng(hk.transform(function))
    return training_step(lambda p, x, y: cross_entropy(model.apply(p, x), y), model.init(KEY, x), optimizer, x, y)


@network
def haiku_mlp():
    import haiku as hk
    return of_haiku(lambda x: hk.nets.MLP([2 * WIDTH] * LAYERS + [CLASSES], activation=jax.nn.softplus)(x),
                    optax.adam(1e-3), X, Y)


@network
def haiku_lstm():
    import haiku as hk

    def forward(x):
        core = hk.DeepRNN([hk.LSTM(WIDTH), jax.nn.tanh, hk.LSTM(WIDTH)])
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[0]), time_major=False)
        return hk.BatchApply(hk.Linear(CLASSES))(outputs)
    return of_haiku(forward, optax.adam(1e-3), SEQUENCES, SEQUENCE_LABELS)


@network
def haiku_gru():
    import haiku as hk

    def forward(x):
        core = hk.GRU(WIDTH)
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[0]), time_major=False)
        return hk.Linear(CLASSES)(outputs)
    return of_haiku(forward, optax.adagrad(1e-2), SEQUENCES, SEQUENCE_LABELS)


@network
def haiku_layer_stack():
    import haiku as hk

    def forward(tokens):
        x = hk.Embed(64, WIDTH)(tokens)

        def block(x):
            y = hk.LayerNorm(-1, True, True)(x)
            attention = hk.MultiHeadAttention(2, WIDTH // 2, model_size=WIDTH,
                                              w_init=hk.initializers.VarianceScaling(1))
            x = x + attention(y, y, y)
            return x + hk.Linear(WIDTH)(jax.nn.gelu(hk.Linear(4 * WIDTH)(hk.LayerNorm(-1, True, True)(x))))
        return hk.Linear(64)(hk.experimental.layer_stack(LAYERS)(block)(x))
    return of_haiku(forward, optax.adamw(1e-3), TOKENS[:, :-1], TOKENS[:, 1:])


@network
def haiku_conv_group_norm():
    import haiku as hk

    def forward(x):
        for features in (8, 16):
            x = jax.nn.elu(hk.GroupNorm(4)(hk.Conv2D(features, 3, stride=2)(x)))
        return hk.Linear(CLASSES)(x.mean((1, 2)))
    return of_haiku(forward, optax.yogi(1e-3), IMAGES, IMAGE_LABELS)


# ---- Equinox ----

def of_equinox(model, forward, optimizer, x, y):
    import equinox as eqx
    params, static = eqx.partition(model, eqx.is_inexact_array)

    def loss(params, x, y):
        model = eqx.combine(params, static)
        return cross_entropy(jax.vmap(lambda one: forward(model, one))(x), y)
    return training_step(loss, params, optimizer, x, y)


@network
def equinox_mlp():
    import equinox as eqx
    return of_equinox(eqx.nn.MLP(WIDTH, CLASSES, 2 * WIDTH, LAYERS, activation=jax.nn.gelu, key=KEY),
                      lambda model, x: model(x), optax.adam(1e-3), X, Y)


def equinox_recurrent(cell, start, output):
    import equinox as eqx
    model = (getattr(eqx.nn, cell)(WIDTH, WIDTH, key=KEY), eqx.nn.Linear(WIDTH, CLASSES, key=KEY))

    def forward(model, x):
        def step(state, one):
            state = model[0](one, state)
            return state, model[1](output(state))
        return jax.lax.scan(step, start, x)[1]
    return of_equinox(model, forward, optax.adam(1e-3), SEQUENCES, SEQUENCE_LABELS)


@network
def equinox_gru():
    return equinox_recurrent("GRUCell", jnp.zeros(WIDTH), lambda state: state)


@network
def equinox_lstm():
    return equinox_recurrent("LSTMCell", (jnp.zeros(WIDTH), jnp.zeros(WIDTH)), lambda state: state[0])


@network
def equinox_layers_scanned():
    import equinox as eqx

    class Block(eqx.Module):
        norm: eqx.nn.LayerNorm
        up: eqx.nn.Linear
        down: eqx.nn.Linear

        def __init__(self, key):
            self.norm = eqx.nn.LayerNorm(WIDTH)
            self.up = eqx.nn.Linear(WIDTH, 4 * WIDTH, key=key)
            self.down = eqx.nn.Linear(4 * WIDTH, WIDTH, key=key)

        def __call__(self, x):
            return x + self.down(jax.nn.silu(self.up(self.norm(x))))

    blocks = eqx.filter_vmap(Block)(jax.random.split(KEY, LAYERS))
    last = eqx.nn.Linear(WIDTH, CLASSES, key=KEY)

    def forward(model, x):
        stacked, rest = eqx.partition(model[0], eqx.is_array)
        x, _ = jax.lax.scan(lambda x, one: (eqx.combine(one, rest)(x), None), x, stacked)
        return model[1](x)
    return of_equinox((blocks, last), forward, optax.nadamw(1e-3), X, Y)


@network
def equinox_conv():
    import equinox as eqx
    keys = jax.random.split(KEY, 3)
    model = (eqx.nn.Conv2d(3, 8, 3, key=keys[0]), eqx.nn.PReLU(), eqx.nn.Conv2d(8, 8, 3, key=keys[1]),
             eqx.nn.Linear(8, CLASSES, key=keys[2]))

    def forward(model, x):
        x = model[1](model[0](x.transpose(2, 0, 1)))
        return model[3](jnp.tanh(model[2](x)).mean((1, 2)))
    return of_equinox(model, forward, optax.adabelief(1e-3), IMAGES, IMAGE_LABELS)


# ---- optax alone ----

def dense_layers():
    return [(numbers(10 + i, WIDTH, WIDTH, scale=WIDTH ** -0.5), numbers(20 + i, WIDTH, scale=0.1))
            for i in range(LAYERS)]


@network
def optax_adafactor():
    def loss(layers, x):
        for w, b in layers:
            x = x + jax.nn.gelu(x @ w + b)
        return optax.huber_loss(x).mean()
    return training_step(loss, dense_layers(), optax.adafactor(1e-3), X)


@network
def optax_accumulated():
    optimizer = optax.MultiSteps(optax.adamw(1e-3), 2)

    def loss(layers, x):
        for w, b in layers:
            x = jnp.sin(x @ w + b) * x
        return optax.l2_loss(x).mean()
    return training_step(loss, dense_layers(), optimizer, X)


@network
def optax_steps_scanned():
    """Several steps in one program, as a scan over batches."""
    optimizer = optax.adam(1e-3)

    def loss(layers, x):
        for w, b in layers:
            x = jax.nn.silu(x @ w + b) + 0.5 * x
        return optax.l2_loss(x).mean()

    def steps(layers, state, batches):
        def step(carry, x):
            layers, state = carry
            value, gradients = jax.value_and_grad(loss)(layers, x)
            updates, state = optimizer.update(gradients, state, layers)
            return (optax.apply_updates(layers, updates), state), value
        (layers, state), values = jax.lax.scan(step, (layers, state), batches)
        return layers, state, values
    layers = dense_layers()
    return steps, (layers, optimizer.init(layers), numbers(9, 3, BATCH, WIDTH))


@network
def optax_diagonal_states():
    """Layers whose states are complex numbers (S4D), scanned over time and over layers."""
    states, keys = 8, jax.random.split(KEY, 2)
    params = {"decay": jnp.zeros((LAYERS, WIDTH, states)), "step": jnp.full((LAYERS, WIDTH), -3.0),
              "frequency": jnp.broadcast_to(jnp.pi * jnp.arange(states, dtype=jnp.float32), (LAYERS, WIDTH, states)),
              "out": jax.random.normal(keys[0], (LAYERS, 2, WIDTH, states)) * 0.3,
              "gate": jax.random.normal(keys[1], (LAYERS, WIDTH, 2 * WIDTH)) * WIDTH ** -0.5}

    def layer(x, w):
        a = jnp.exp((1j * w["frequency"] - jnp.exp(w["decay"])) * jnp.exp(w["step"])[:, None])
        out = w["out"][0] + 1j * w["out"][1]

        def over_time(state, x):
            state = a * state + x[..., None]
            return state, (out * state).sum(-1).real
        start = jnp.zeros((len(x), WIDTH, states), jnp.complex64)
        _, y = jax.lax.scan(over_time, start, x.swapaxes(0, 1))
        y, gate = jnp.split(jax.nn.gelu(y.swapaxes(0, 1)) @ w["gate"], 2, -1)
        return x + y * jax.nn.sigmoid(gate), None

    def loss(params, x):
        return optax.l2_loss(jax.lax.scan(layer, x, params)[0]).mean()
    return training_step(loss, params, optax.adam(1e-3), SEQUENCES)


@network
def optax_laplacian():
    """The second derivatives by the inputs of a network are what is learned (a physics-informed network)."""
    layers = dense_layers()

    def value(layers, x):
        for w, b in layers:
            x = jnp.sin(x @ w + b)
        return x.sum()

    def laplacian(layers, x):
        gradient = jax.grad(value, argnums=1)
        ways = jnp.eye(2, WIDTH)
        return sum(jax.jvp(lambda x: gradient(layers, x), (x,), (way,))[1] @ way for way in ways)

    def loss(layers, x):
        return optax.l2_loss(jax.vmap(lambda x: laplacian(layers, x))(x)).mean()
    return training_step(loss, layers, optax.adam(1e-3), X)


@network
def optax_spline_flow():
    """Couplings by splines of rational quadratics, whose bins are gathered by what passes through them."""
    bins, half, bound = 8, WIDTH // 2, 3.0
    params = [(numbers(20 + i, half, 2 * WIDTH, scale=0.2), numbers(30 + i, 2 * WIDTH, half * (3 * bins + 1), scale=0.1))
              for i in range(LAYERS)]

    def spline(x, widths, heights, slopes):
        widths, heights = (2 * bound * jax.nn.softmax(sizes) for sizes in (widths, heights))
        slopes = jax.nn.softplus(slopes) + 1e-3
        lefts, lows = (jnp.pad(jnp.cumsum(sizes, -1), ((0, 0), (0, 0), (1, 0))) - bound for sizes in (widths, heights))
        inside = jnp.clip(x, 0.99 * -bound, 0.99 * bound)
        index = jnp.clip((inside[..., None] >= lefts[..., 1:]).sum(-1), 0, bins - 1)[..., None]
        left, low, width, height, slope, next_slope = (
            jnp.take_along_axis(values, index, -1)[..., 0]
            for values in (lefts, lows, widths, heights, slopes[..., :-1], slopes[..., 1:]))
        mean, t = height / width, (inside - left) / width
        below = mean + (slope + next_slope - 2 * mean) * t * (1 - t)
        y = low + height * (mean * t * t + slope * t * (1 - t)) / below
        derivative = mean ** 2 * (next_slope * t * t + 2 * mean * t * (1 - t) + slope * (1 - t) ** 2) / below ** 2
        is_inside = jnp.abs(x) < 0.99 * bound
        return jnp.where(is_inside, y, x), jnp.where(is_inside, jnp.log(derivative), 0.0).sum(-1)

    def loss(params, x):
        density = 0.0
        for up, down in params:
            a, b = jnp.split(x, 2, -1)
            shapes = (jax.nn.relu(a @ up) @ down).reshape(len(x), half, -1)
            b, change = spline(b, *jnp.split(shapes, (bins, 2 * bins), -1))
            density, x = density + change, jnp.concatenate((b, a), -1)
        return (0.5 * (x ** 2).sum(-1) - density).mean()
    return training_step(loss, params, optax.adamax(1e-3), X)


@network
def optax_graph_attention():
    """Attention over the edges of a graph: gathered by their ends, scattered to their heads."""
    heads, nodes, edges = 4, 64, 256
    tails, tips = (np.random.default_rng(seed).integers(0, nodes, edges) for seed in (40, 41))
    params = [(numbers(50 + i, WIDTH, WIDTH, scale=0.2), numbers(60 + i, 2, heads, WIDTH // heads, scale=0.3))
              for i in range(LAYERS)]

    def loss(params, x):
        for w, (from_tail, from_tip) in params:
            h = (x @ w).reshape(nodes, heads, -1)
            score = jax.nn.leaky_relu((h * from_tail).sum(-1)[tails] + (h * from_tip).sum(-1)[tips], 0.2)
            weight = jnp.exp(score - jax.ops.segment_max(score, tips, nodes)[tips])
            weight = weight / (jax.ops.segment_sum(weight, tips, nodes)[tips] + 1e-9)
            x = x + jax.nn.elu(jax.ops.segment_sum(h[tails] * weight[..., None], tips, nodes).reshape(nodes, WIDTH))
            x = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return optax.log_cosh(x).mean()
    return training_step(loss, params, optax.adam(1e-3), numbers(42, nodes, WIDTH))


@network
def optax_experts():
    """A mixture of experts, to the two best of which tokens are scattered, scanned over layers."""
    experts, capacity = 4, 128
    params = {"route": numbers(70, LAYERS, WIDTH, experts, scale=0.2),
              "up": numbers(71, LAYERS, experts, WIDTH, 2 * WIDTH, scale=0.2),
              "down": numbers(72, LAYERS, experts, 2 * WIDTH, WIDTH, scale=0.1)}

    def layer(x, w):
        h = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        share, chosen = jax.lax.top_k(jax.nn.softmax(h @ w["route"]), 2)
        share, chosen = (share / share.sum(-1, keepdims=True)).reshape(-1, 1), chosen.reshape(-1)
        marks = jax.nn.one_hot(chosen, experts, dtype=jnp.int32)
        place = (jnp.cumsum(marks, 0) * marks).sum(-1) - 1
        slot = jnp.where(place < capacity, chosen * capacity + place, experts * capacity)
        sent = jnp.zeros((experts * capacity, WIDTH)).at[slot].set(jnp.repeat(h, 2, 0), mode="drop")
        hidden = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", sent.reshape(experts, capacity, WIDTH), w["up"]))
        made = jnp.einsum("ecf,efd->ecd", hidden, w["down"]).reshape(-1, WIDTH)
        back = made.at[slot].get(mode="fill", fill_value=0.0) * share
        return x + back.reshape(len(x), 2, WIDTH).sum(1), None

    def loss(params, x):
        return optax.huber_loss(jax.lax.scan(layer, x, params)[0]).mean()
    return training_step(loss, params, optax.adamw(1e-3), SEQUENCES.reshape(-1, WIDTH))
