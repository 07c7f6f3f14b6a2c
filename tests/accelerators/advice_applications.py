"""Training steps of several kinds of application, as their users write them, for scripts/check/advice: the form is that of
programs.py. No figure of the tool was chosen by them: they were written to judge what others had been mended by."""

import jax
import jax.numpy as jnp
from jax import lax
from programs import Program, adds_to, cross_entropy, f32, i32

PROGRAMS = {}
program = adds_to(PROGRAMS)


def _momentum(loss, params, *batch):
    """Gradient descent with momentum; parameters and velocities are donated."""
    def step(params, velocity, *batch):
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
        return jax.tree.map(lambda p, v: p - 0.01 * v, params, velocity), velocity, value
    return Program(step, (params, params, *batch), (0, 1))


@program
def linen_vit(sizes):
    """Patches by a convolution, a token for the class, blocks with dropout left out, a head."""
    import flax.linen as nn
    side, width, layers, batch = sizes.among(96, 112), sizes.among(128, 192), sizes.among(5, 6), sizes.many(2, 4)

    class Mlp(nn.Module):
        @nn.compact
        def __call__(self, x):
            width = x.shape[-1]
            return nn.Dense(width)(nn.gelu(nn.Dense(4 * width)(x)))

    class EncoderBlock(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(4)(y, y)
            return x + Mlp()(nn.LayerNorm()(x))

    class ViT(nn.Module):
        @nn.compact
        def __call__(self, images):
            x = nn.Conv(width, (8, 8), strides=(8, 8))(images)
            x = x.reshape(x.shape[0], -1, width)
            token = self.param("token", nn.initializers.zeros, (1, 1, width))
            x = jnp.concatenate([jnp.broadcast_to(token, (x.shape[0], 1, width)), x], 1)
            x = x + self.param("positions", nn.initializers.zeros, (1, x.shape[1], width))
            for _ in range(layers):
                x = EncoderBlock()(x)
            return nn.Dense(100)(nn.LayerNorm()(x[:, 0]))
    images, model = f32(batch, side, side, 3), ViT()
    params = jax.eval_shape(lambda: model.init(jax.random.PRNGKey(0), jnp.zeros(images.shape)))["params"]
    return _momentum(lambda params, x, y: cross_entropy(model.apply({"params": params}, x), y),
                     params, images, i32(batch))


@program
def haiku_stepped(sizes):
    """Two recurrent layers, stepped by a loop of Python."""
    import haiku as hk
    width, steps, batch = sizes.among(128, 192), sizes.among(16, 20), sizes.many(40, 80)

    def forward(tokens):
        core = hk.DeepRNN([hk.LSTM(width), jax.nn.relu, hk.LSTM(width)])
        state, outputs = core.initial_state(batch), []
        x = hk.Embed(96, width)(tokens)
        for step in range(steps):
            output, state = core(x[step], state)
            outputs.append(output)
        return hk.Linear(96)(jnp.stack(outputs))
    model = hk.without_apply_rng(hk.transform(forward))
    params = jax.eval_shape(lambda: model.init(jax.random.PRNGKey(0), jnp.zeros((steps, batch), jnp.int32)))
    return _momentum(lambda params, x, y: cross_entropy(model.apply(params, x), y), params, i32(steps, batch),
                     i32(steps, batch))


@program
def equinox_mixer(sizes):
    """One picture at a time under vmap, as Equinox has its layers."""
    import equinox as eqx
    patches, width, layers, batch = sizes.among(64, 100), sizes.among(128, 192), sizes.among(4, 6), sizes.many(3, 5)

    class MixerBlock(eqx.Module):
        patch_mixer: eqx.nn.MLP
        hidden_mixer: eqx.nn.MLP
        first: eqx.nn.LayerNorm
        second: eqx.nn.LayerNorm

        def __init__(self, key):
            one, other = jax.random.split(key)
            self.patch_mixer = eqx.nn.MLP(patches, patches, 4 * patches, depth=1, activation=jax.nn.gelu, key=one)
            self.hidden_mixer = eqx.nn.MLP(width, width, 4 * width, depth=1, activation=jax.nn.gelu, key=other)
            self.first, self.second = eqx.nn.LayerNorm((width, patches)), eqx.nn.LayerNorm((patches, width))

        def __call__(self, y):
            y = y + jax.vmap(self.patch_mixer)(self.first(y))
            y = y.T
            y = y + jax.vmap(self.hidden_mixer)(self.second(y))
            return y.T

    class Mixer(eqx.Module):
        embed: eqx.nn.Linear
        blocks: list
        norm: eqx.nn.LayerNorm

        def __init__(self, key):
            first, *others = jax.random.split(key, layers + 1)
            self.embed = eqx.nn.Linear(48, width, key=first)
            self.blocks = [MixerBlock(one) for one in others]
            self.norm = eqx.nn.LayerNorm((width, patches))

        def __call__(self, x):
            y = jax.vmap(self.embed)(x).T
            for block in self.blocks:
                y = block(y)
            return self.norm(y).mean(1)
    model = eqx.filter_eval_shape(Mixer, jax.random.PRNGKey(0))
    params, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(params, x, y):
        return cross_entropy(jax.vmap(eqx.combine(params, static))(x), y)
    return _momentum(loss, params, f32(batch, patches, 48), i32(batch))


@program
def nnx_drop_path(sizes):
    """Blocks that random numbers leave out for some pictures; each block has a key of its own."""
    from flax import nnx
    width, depth, patches, batch = sizes.among(128, 192), sizes.among(4, 6), sizes.among(100, 144), sizes.many(2, 4)

    def drop_path(x, rate, key):
        keep = jax.random.bernoulli(key, 1 - rate, (x.shape[0], 1, 1))
        return jnp.where(keep, x / (1 - rate), 0.0)

    class Mlp(nnx.Module):
        def __init__(self, rngs):
            self.up, self.down = nnx.Linear(width, 4 * width, rngs=rngs), nnx.Linear(4 * width, width, rngs=rngs)

        def __call__(self, x):
            return self.down(nnx.gelu(self.up(x)))

    class Block(nnx.Module):
        def __init__(self, rate, rngs):
            self.rate, self.mlp = rate, Mlp(rngs)
            self.first, self.second = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)

        def __call__(self, x, key):
            one, other = jax.random.split(key)
            x = x + drop_path(self.attention(self.first(x)), self.rate, one)
            return x + drop_path(self.mlp(self.second(x)), self.rate, other)

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.embed, self.head = nnx.Linear(48, width, rngs=rngs), nnx.Linear(width, 100, rngs=rngs)
            self.blocks = nnx.List([Block(0.1 * i / depth, rngs) for i in range(depth)])

        def __call__(self, x, key):
            x = self.embed(x)
            for i, block in enumerate(self.blocks):
                x = block(x, jax.random.fold_in(key, i))
            return self.head(x.mean(1))
    graph, state = nnx.split(nnx.eval_shape(lambda: Network(nnx.Rngs(0))), nnx.Param)
    plain = nnx.to_pure_dict(state)

    def loss(plain, x, y, seed):
        full = jax.tree.map(lambda leaf: leaf, state)
        nnx.replace_by_pure_dict(full, plain)
        return cross_entropy(nnx.merge(graph, full)(x, jax.random.key(seed)), y)
    shapes = jax.tree.map(lambda leaf: f32(*leaf.shape), plain)
    return _momentum(loss, shapes, f32(batch, patches, 48), i32(batch), i32())


def conv(w, x, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def group_norm(x, groups=8):
    y = x.reshape(*x.shape[:-1], groups, -1)
    mean = y.mean((1, 2, 4), keepdims=True)
    return ((y - mean) * lax.rsqrt(y.var((1, 2, 4), keepdims=True) + 1e-5)).reshape(x.shape)


def resnet_block(w, x, time):
    h = conv(w["in"], jax.nn.silu(group_norm(x)))
    h = h + (time @ w["time"])[:, None, None, :]
    return conv(w["skip"], x) + conv(w["out"], jax.nn.silu(group_norm(h)))


def _resnet_shapes(wide, width):
    return {"in": f32(3, 3, wide, width), "time": f32(64, width), "out": f32(3, 3, width, width),
            "skip": f32(1, 1, wide, width)}


@program
def diffusion_unet(sizes):
    """Noise is predicted by a U-Net whose way down is kept for its way up; what it is told the time by goes everywhere."""
    width, side, batch = sizes.among(16, 24), sizes.among(32, 48), sizes.many(2, 3)
    widths = [width, 2 * width, 4 * width]
    ways = list(zip([width, *widths], widths))
    params = {"stem": f32(3, 3, 3, width), "end": f32(3, 3, width, 3), "middle": _resnet_shapes(4 * width, 4 * width),
              "down": [_resnet_shapes(wide, narrow) for wide, narrow in ways],
              "up": [_resnet_shapes(2 * narrow, wide) for wide, narrow in reversed(ways)]}

    def unet(p, x, time):
        kept, x = [], conv(p["stem"], x)
        for w in p["down"]:
            x = resnet_block(w, x, time)
            kept.append(x)
            x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") / 4
        x = resnet_block(p["middle"], x, time)
        for w, skip in zip(p["up"], reversed(kept)):
            x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
            x = resnet_block(w, jnp.concatenate([x, skip], -1), time)
        return conv(p["end"], x)

    def loss(p, x, noise, level):
        steps = jnp.exp(jnp.linspace(0, 4, 32)) * level[:, None]
        time = jnp.concatenate([jnp.sin(steps), jnp.cos(steps)], -1)
        level = level[:, None, None, None]
        return jnp.mean((unet(p, jnp.sqrt(1 - level) * x + jnp.sqrt(level) * noise, time) - noise)**2)
    return _momentum(loss, params, f32(batch, side, side, 3), f32(batch, side, side, 3), f32(batch))


@program
def graph_network(sizes):
    """Messages along edges are computed of both ends and summed at the nodes."""
    nodes, width, layers = sizes.many(100, 200), sizes.among(96, 128), sizes.among(4, 6)
    edges = 6 * nodes

    def message_passing(w, h, senders, receivers):
        pair = jnp.concatenate([h[senders], h[receivers]], -1)
        messages = jax.nn.relu(jax.nn.relu(pair @ w["edge"]) @ w["message"])
        heard = jax.ops.segment_sum(messages, receivers, nodes)
        return h + jax.nn.relu(jnp.concatenate([h, heard], -1) @ w["node"])

    def loss(p, x, senders, receivers, y):
        h = x @ p["embed"]
        for w in p["layers"]:
            h = message_passing(w, h, senders, receivers)
        return jnp.mean((h @ p["out"] - y)**2)
    layer = {"edge": f32(2 * width, width), "message": f32(width, width), "node": f32(2 * width, width)}
    return _momentum(loss, {"embed": f32(16, width), "layers": [layer] * layers, "out": f32(width, 4)},
                     f32(nodes, 16), i32(edges), i32(edges), f32(nodes, 4))


@program
def actor_critic(sizes):
    """PPO on what was collected: frames go through a small network of convolutions, which both heads share."""
    batch, width = sizes.many(10, 20), sizes.among(256, 512)

    def encoder(w, frames):
        x = frames / 255.0
        for filters, stride in zip(w["convs"], (4, 2, 1)):
            x = jax.nn.relu(conv(filters, x, stride))
        return jax.nn.relu(x.reshape(x.shape[0], -1) @ w["dense"])

    def loss(p, frames, actions, old, advantages, returns):
        h = encoder(p["encoder"], frames)
        logs = jax.nn.log_softmax(jnp.tanh(h @ p["actor"][0]) @ p["actor"][1])
        value = (jnp.tanh(h @ p["critic"][0]) @ p["critic"][1])[:, 0]
        ratio = jnp.exp(jnp.take_along_axis(logs, actions[:, None], 1)[:, 0] - old)
        gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.8, 1.2) * advantages)
        entropy = -jnp.sum(jnp.exp(logs) * logs, 1)
        return jnp.mean(0.5 * (value - returns)**2 - gain - 0.01 * entropy)
    shapes = {"encoder": {"convs": [f32(8, 8, 4, 32), f32(4, 4, 32, 64), f32(3, 3, 64, 64)],
                          "dense": f32(7744, width)},
              "actor": [f32(width, width), f32(width, 18)], "critic": [f32(width, width), f32(width, 1)]}
    return _momentum(loss, shapes, f32(batch, 84, 84, 4), i32(batch), f32(batch), f32(batch), f32(batch))
