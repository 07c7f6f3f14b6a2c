#!/usr/bin/env python3
"""Write the HLO dumps in hlo_samples/: small training steps, compiled by XLA for the CPU.

Each model below is a complete training step (loss, gradient, optimizer update) in plain jax.numpy
and jax.lax, small in parameters and large in batch, so that its memory is what real training's is:
activations of the forward pass, kept for the backward pass. A step is compiled in a process of its
own, from shapes alone, and never run; XLA writes its dumps, and this script takes two of them:

    NAME.before_optimizations.hlo   what JAX gave to XLA: unscheduled, nothing fused
    NAME.after_optimizations.hlo    what XLA runs: fused, copies inserted, scheduled

The text is XLA's own, with two changes: a first line that says where it comes from, and source
paths cut to file names. The line numbers in its metadata are lines of this file, so an edit that
moves a model calls for new dumps; --check tells. What drives the dumping stands below the models.

    scripts/samples/dump_samples.py --venv .venv-samples            # all models
    scripts/samples/dump_samples.py --venv .venv-samples --check    # are the files in the tree still right?

Exit status: 0 done; 1 failed, or a difference found by --check; 2 usage; 77 skipped, because JAX is
missing or is not the version that the files come from.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ModuleNotFoundError:  # the first run of --venv: JAX is there once main() has come back
    pass

Tree = Any  # a pytree: nested dicts and lists with arrays, or their shapes, as leaves
Array = Any

# --- compiling ------------------------------------------------------------------------------------


def compile_model(name: str) -> None:
    """Runs in a process that run_compile() starts; prints XLA's memory figures as JSON."""
    model = MODELS[name]
    step = jax.jit(model.step, donate_argnums=model.donated)
    stats = step.lower(*model.shapes()).compile().memory_analysis()
    parts = ("argument", "output", "alias", "temp")
    params = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(model.shapes()[0]))
    figures = {f"{part}_bytes": getattr(stats, f"{part}_size_in_bytes") for part in parts}
    print(json.dumps({"parameter_bytes": params} | figures))


# --- shapes ---------------------------------------------------------------------------------------


def f32(*shape: int) -> Tree:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def s32(*shape: int) -> Tree:
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def dense_shapes(inputs: int, outputs: int) -> Tree:
    return {"kernel": f32(inputs, outputs), "bias": f32(outputs)}


def conv_shapes(inputs: int, outputs: int, size: int = 3) -> Tree:
    return {"kernel": f32(size, size, inputs, outputs), "bias": f32(outputs)}


def conv_norm_shapes(inputs: int, outputs: int, size: int = 3) -> Tree:
    return {"kernel": f32(size, size, inputs, outputs), "norm": norm_shapes(outputs)}


def norm_shapes(features: int) -> Tree:
    return {"scale": f32(features), "bias": f32(features)}


# --- layers ---------------------------------------------------------------------------------------


def along_last(vector: Array, x: Array) -> Array:
    """vector + x would do, but comes out as four instructions instead of one."""
    return lax.broadcast_in_dim(vector, x.shape, (x.ndim - 1,))


def dense(params: Tree, x: Array) -> Array:
    y = x @ params["kernel"]
    return y + along_last(params["bias"], y)


def conv(kernel: Array, x: Array, stride: int = 1, groups: int = 1) -> Array:
    return lax.conv_general_dilated(
        x,
        kernel,
        window_strides=(stride, stride),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def conv_bias(params: Tree, x: Array) -> Array:
    y = conv(params["kernel"], x)
    return y + along_last(params["bias"], y)


def batch_norm(params: Tree, x: Array) -> Array:
    mean = jnp.mean(x, (0, 1, 2))
    variance = jnp.mean(x * x, (0, 1, 2)) - mean * mean
    scale = params["scale"] * lax.rsqrt(variance + 1e-5)
    return x * along_last(scale, x) + along_last(params["bias"] - mean * scale, x)


def rms_norm(scale: Array, x: Array) -> Array:
    inverse = lax.rsqrt(jnp.mean(x * x, axis=-1) + 1e-5)
    return x * lax.broadcast_in_dim(inverse, x.shape, range(x.ndim - 1)) * along_last(scale, x)


def relu(x: Array) -> Array:
    return jnp.where(x > 0.0, x, 0.0)


def relu6(x: Array) -> Array:
    return lax.clamp(0.0, x, 6.0)


def silu(x: Array) -> Array:
    return x * lax.logistic(x)


def gelu(x: Array) -> Array:
    return x * lax.logistic(1.702 * x)


def max_pool(x: Array) -> Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def upsample(x: Array) -> Array:
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def dropout(x: Array, key: Array, rate: float) -> Array:
    keep = jax.random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0)


def cross_entropy(logits: Array, labels: Array) -> Array:
    shifted = logits - lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True))
    log_sum = jnp.log(jnp.sum(jnp.exp(shifted), axis=-1))
    picked = jnp.take_along_axis(shifted, labels[..., None], axis=-1)[..., 0]
    return jnp.mean(log_sum - picked)


# --- optimizers -----------------------------------------------------------------------------------


def sgd(params: Tree, grads: Tree, rate: float = 0.01) -> Tree:
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


def momentum(params: Tree, velocity: Tree, grads: Tree, rate: float = 0.01) -> tuple[Tree, Tree]:
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    return sgd(params, velocity, rate), velocity


def clip_by_global_norm(grads: Tree, limit: float) -> Tree:
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, limit / (norm + 1e-6))
    return jax.tree.map(lambda g: g * scale, grads)


def adam_shapes(params: Tree) -> Tree:
    return {"count": s32(), "mean": params, "square": params}


def adam(params: Tree, state: Tree, grads: Tree, rate: float = 1e-3) -> tuple[Tree, Tree]:
    count = state["count"] + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mean"], grads)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["square"], grads)
    step = count.astype(jnp.float32)
    step_rate = rate * jnp.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step)
    params = jax.tree.map(
        lambda p, m, v: p - step_rate * m / (jnp.sqrt(v) + 1e-8), params, mean, square
    )
    return params, {"count": count, "mean": mean, "square": square}


# --- mobilenet: depthwise separable convolutions --------------------------------------------------

MOBILENET_STEM = 16
MOBILENET_BLOCKS = ((32, 1), (64, 2), (128, 2))  # features, stride


def mobilenet_shapes() -> tuple[Tree, ...]:
    blocks, inputs = [], MOBILENET_STEM
    for features, _ in MOBILENET_BLOCKS:
        depthwise = {"kernel": f32(3, 3, 1, inputs), "norm": norm_shapes(inputs)}
        blocks.append({"depthwise": depthwise, "pointwise": conv_norm_shapes(inputs, features, 1)})
        inputs = features
    params = {
        "stem": conv_norm_shapes(3, MOBILENET_STEM),
        "blocks": blocks,
        "head": dense_shapes(inputs, 10),
    }
    return params, f32(32, 96, 96, 3), s32(32)


def mobilenet_loss(params: Tree, images: Array, labels: Array) -> Array:
    stem = params["stem"]
    x = relu6(batch_norm(stem["norm"], conv(stem["kernel"], images, stride=2)))
    for block, (_, stride) in zip(params["blocks"], MOBILENET_BLOCKS, strict=True):
        depthwise, pointwise = block["depthwise"], block["pointwise"]
        x = conv(depthwise["kernel"], x, stride, groups=x.shape[-1])
        x = relu6(batch_norm(depthwise["norm"], x))
        x = relu6(batch_norm(pointwise["norm"], conv(pointwise["kernel"], x)))
    return cross_entropy(dense(params["head"], jnp.mean(x, (1, 2))), labels)


def mobilenet(params: Tree, images: Array, labels: Array) -> tuple[Tree, Array]:
    loss, grads = jax.value_and_grad(mobilenet_loss)(params, images, labels)
    return sgd(params, grads), loss


# --- vgg: plain stacks of convolutions, max pooling, dropout --------------------------------------

VGG_STAGES = (32, 64, 128)


def vgg_shapes() -> tuple[Tree, ...]:
    stages, inputs = [], 3
    for features in VGG_STAGES:
        stages.append([conv_shapes(inputs, features), conv_shapes(features, features)])
        inputs = features
    params = {
        "stages": stages,
        "hidden": dense_shapes(8 * 8 * inputs, 128),
        "head": dense_shapes(128, 10),
    }
    return params, params, f32(64, 64, 64, 3), s32(64), jax.ShapeDtypeStruct((2,), jnp.uint32)


def vgg_loss(params: Tree, images: Array, labels: Array, key: Array) -> Array:
    x = images
    for stage in params["stages"]:
        for layer in stage:
            x = relu(conv_bias(layer, x))
        x = max_pool(x)
    x = relu(dense(params["hidden"], x.reshape(x.shape[0], -1)))
    return cross_entropy(dense(params["head"], dropout(x, key, 0.5)), labels)


def vgg(
    params: Tree, velocity: Tree, images: Array, labels: Array, key: Array
) -> tuple[Tree, Tree, Array]:
    loss, grads = jax.value_and_grad(vgg_loss)(params, images, labels, key)
    params, velocity = momentum(params, velocity, grads)
    return params, velocity, loss


# --- resnet: residual blocks ----------------------------------------------------------------------

RESNET_STAGES = (16, 32, 64)
RESNET_BLOCKS_PER_STAGE = 1


def resnet_shapes() -> tuple[Tree, ...]:
    blocks, inputs = [], RESNET_STAGES[0]
    for features in RESNET_STAGES:
        for _ in range(RESNET_BLOCKS_PER_STAGE):
            block = {
                "first": conv_norm_shapes(inputs, features),
                "second": conv_norm_shapes(features, features),
            }
            if inputs != features:
                block["shortcut"] = f32(1, 1, inputs, features)
            blocks.append(block)
            inputs = features
    params = {
        "stem": conv_norm_shapes(3, RESNET_STAGES[0]),
        "blocks": blocks,
        "head": dense_shapes(inputs, 10),
    }
    return params, f32(128, 32, 32, 3), s32(128)


def residual_block(params: Tree, x: Array) -> Array:
    stride = 2 if "shortcut" in params else 1
    first, second = params["first"], params["second"]
    y = relu(batch_norm(first["norm"], conv(first["kernel"], x, stride)))
    y = batch_norm(second["norm"], conv(second["kernel"], y))
    if "shortcut" in params:
        x = conv(params["shortcut"], x, stride)
    return relu(x + y)


def resnet_loss(params: Tree, images: Array, labels: Array) -> Array:
    stem = params["stem"]
    x = relu(batch_norm(stem["norm"], conv(stem["kernel"], images)))
    for block in params["blocks"]:
        x = residual_block(block, x)
    return cross_entropy(dense(params["head"], jnp.mean(x, (1, 2))), labels)


def resnet(params: Tree, images: Array, labels: Array) -> tuple[Tree, Array]:
    loss, grads = jax.value_and_grad(resnet_loss)(params, images, labels)
    return sgd(params, grads), loss


# --- gpt: a decoder-only transformer, layers in a scan or in a Python loop ------------------------

GPT_VOCABULARY = 512
GPT_CONTEXT = 128
GPT_WIDTH = 128
GPT_HEADS = 4


def gpt_block_shapes() -> Tree:
    return {
        "norm1": f32(GPT_WIDTH),
        "qkv": f32(GPT_WIDTH, 3 * GPT_WIDTH),
        "project": f32(GPT_WIDTH, GPT_WIDTH),
        "norm2": f32(GPT_WIDTH),
        "expand": f32(GPT_WIDTH, 4 * GPT_WIDTH),
        "contract": f32(4 * GPT_WIDTH, GPT_WIDTH),
    }


def gpt_shapes(blocks: Tree) -> Tree:
    return {
        "tokens": f32(GPT_VOCABULARY, GPT_WIDTH),
        "positions": f32(GPT_CONTEXT, GPT_WIDTH),
        "blocks": blocks,
        "norm": f32(GPT_WIDTH),
    }


def attention(params: Tree, x: Array) -> Array:
    batch, length, width = x.shape
    qkv = (x @ params["qkv"]).reshape(batch, length, 3, GPT_HEADS, width // GPT_HEADS)
    query, key, value = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (width // GPT_HEADS) ** 0.5
    position = jnp.arange(length)
    scores = jnp.where(position[:, None] >= position[None, :], scores, -1e9)
    weights = jnp.exp(scores - lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True)))
    weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    return mixed.reshape(batch, length, width) @ params["project"]


def gpt_block(params: Tree, x: Array) -> Array:
    x = x + attention(params, rms_norm(params["norm1"], x))
    return x + gelu(rms_norm(params["norm2"], x) @ params["expand"]) @ params["contract"]


def blocks_in_scan(blocks: Tree, x: Array) -> Array:
    return lax.scan(lambda x, block: (gpt_block(block, x), None), x, blocks)[0]


def blocks_in_loop(blocks: Tree, x: Array) -> Array:
    for block in blocks:
        x = gpt_block(block, x)
    return x


def gpt_loss(
    params: Tree, tokens: Array, targets: Array, apply_blocks: Callable[[Tree, Array], Array]
) -> Array:
    x = params["tokens"][tokens] + params["positions"]
    x = rms_norm(params["norm"], apply_blocks(params["blocks"], x))
    return cross_entropy(x @ params["tokens"].T, targets)


def gpt_scan_shapes(layers: int = 6, batch: int = 16) -> tuple[Tree, ...]:
    stacked = jax.tree.map(lambda leaf: f32(layers, *leaf.shape), gpt_block_shapes())
    params = gpt_shapes(stacked)
    return params, adam_shapes(params), s32(batch, GPT_CONTEXT), s32(batch, GPT_CONTEXT)


def gpt_scan(params: Tree, state: Tree, tokens: Array, targets: Array) -> tuple[Tree, Tree, Array]:
    loss, grads = jax.value_and_grad(gpt_loss)(params, tokens, targets, blocks_in_scan)
    params, state = adam(params, state, grads)
    return params, state, loss


def gpt_unrolled_shapes(layers: int = 3, batch: int = 16) -> tuple[Tree, ...]:
    params = gpt_shapes([gpt_block_shapes() for _ in range(layers)])
    return params, s32(batch, GPT_CONTEXT), s32(batch, GPT_CONTEXT)


def gpt_unrolled(params: Tree, tokens: Array, targets: Array) -> tuple[Tree, Array]:
    loss, grads = jax.value_and_grad(gpt_loss)(params, tokens, targets, blocks_in_loop)
    return sgd(params, grads), loss


# --- lstm: a scan over time -----------------------------------------------------------------------

LSTM_VOCABULARY = 256
LSTM_WIDTH = 128
LSTM_LAYERS = 2


def lstm_shapes(length: int = 64, batch: int = 64) -> tuple[Tree, ...]:
    params = {
        "tokens": f32(LSTM_VOCABULARY, LSTM_WIDTH),
        "cells": [dense_shapes(2 * LSTM_WIDTH, 4 * LSTM_WIDTH) for _ in range(LSTM_LAYERS)],
        "head": dense_shapes(LSTM_WIDTH, LSTM_VOCABULARY),
    }
    return params, s32(length, batch), s32(length, batch)


def lstm_cell(params: Tree, carry: tuple[Array, Array], x: Array) -> tuple[Array, Array]:
    hidden, cell = carry
    gates = dense(params, jnp.concatenate([x, hidden], axis=-1))
    take, forget, update, emit = jnp.split(gates, 4, axis=-1)
    cell = lax.logistic(forget + 1.0) * cell + lax.logistic(take) * jnp.tanh(update)
    return lax.logistic(emit) * jnp.tanh(cell), cell


def lstm_loss(params: Tree, tokens: Array, targets: Array) -> Array:
    def time_step(carries: list[tuple[Array, Array]], token: Array) -> tuple[Tree, Array]:
        x, stepped = params["tokens"][token], []
        for cell, carry in zip(params["cells"], carries, strict=True):
            stepped.append(lstm_cell(cell, carry, x))
            x = stepped[-1][0]
        return stepped, x

    zeros = jnp.zeros((tokens.shape[1], LSTM_WIDTH))
    _, outputs = lax.scan(time_step, [(zeros, zeros)] * LSTM_LAYERS, tokens)
    return cross_entropy(dense(params["head"], outputs), targets)


def lstm(params: Tree, tokens: Array, targets: Array) -> tuple[Tree, Array]:
    loss, grads = jax.value_and_grad(lstm_loss)(params, tokens, targets)
    return sgd(params, clip_by_global_norm(grads, 1.0), rate=0.5), loss


# --- mlp_checkpoint: residual blocks under jax.checkpoint -----------------------------------------

MLP_WIDTH = 256
MLP_BLOCKS = 4


def mlp_checkpoint_shapes() -> tuple[Tree, ...]:
    block = {
        "norm": f32(MLP_WIDTH),
        "expand": dense_shapes(MLP_WIDTH, 4 * MLP_WIDTH),
        "contract": dense_shapes(4 * MLP_WIDTH, MLP_WIDTH),
    }
    params = {
        "embed": dense_shapes(64, MLP_WIDTH),
        "blocks": [block] * MLP_BLOCKS,
        "head": dense_shapes(MLP_WIDTH, 10),
    }
    return params, f32(4096, 64), s32(4096)


def mlp_block(params: Tree, x: Array) -> Array:
    hidden = gelu(dense(params["expand"], rms_norm(params["norm"], x)))
    return x + dense(params["contract"], hidden)


def mlp_checkpoint_loss(params: Tree, features: Array, labels: Array) -> Array:
    x = dense(params["embed"], features)
    for block in params["blocks"]:
        x = jax.checkpoint(mlp_block)(block, x)
    return cross_entropy(dense(params["head"], x), labels)


def mlp_checkpoint(params: Tree, features: Array, labels: Array) -> tuple[Tree, Array]:
    loss, grads = jax.value_and_grad(mlp_checkpoint_loss)(params, features, labels)
    return sgd(params, grads), loss


# --- unet_donated: long skip connections, parameters and optimizer state donated ------------------

UNET_LEVELS = (16, 32, 64)


def unet_donated_shapes() -> tuple[Tree, ...]:
    down, inputs = [], 3
    for features in UNET_LEVELS:
        down.append(conv_shapes(inputs, features))
        inputs = features
    up = []
    for features in reversed(UNET_LEVELS[:-1]):
        up.append(conv_shapes(inputs + features, features))
        inputs = features
    params = {"down": down, "up": up, "head": conv_shapes(inputs, 1, 1)}
    return params, adam_shapes(params), f32(32, 64, 64, 3), f32(32, 64, 64, 1)


def unet_donated_loss(params: Tree, images: Array, masks: Array) -> Array:
    x: Array = images
    skips: list[Array] = []
    for layer in params["down"]:
        if skips:
            x = max_pool(x)
        x = silu(conv_bias(layer, x))
        skips.append(x)
    skips.pop()
    for layer in params["up"]:
        x = jnp.concatenate([upsample(x), skips.pop()], axis=-1)
        x = silu(conv_bias(layer, x))
    logits = conv_bias(params["head"], x)
    return jnp.mean(jnp.maximum(logits, 0.0) - logits * masks + jnp.log1p(jnp.exp(-abs(logits))))


def unet_donated(
    params: Tree, state: Tree, images: Array, masks: Array
) -> tuple[Tree, Tree, Array]:
    loss, grads = jax.value_and_grad(unet_donated_loss)(params, images, masks)
    params, state = adam(params, state, grads)
    return params, state, loss


# --- the models -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    step: Callable[..., Any]  # its name is the model's name, and jit_NAME that of its HLO module
    shapes: Callable[[], tuple[Tree, ...]]  # of the step's arguments
    description: str
    donated: tuple[int, ...] = ()
    compact_tuples: bool = True  # XLA's default, %x#0; else get-tuple-element written out


MODELS = {
    model.step.__name__: model
    for model in (
        Model(
            mobilenet,
            mobilenet_shapes,
            "MobileNet: 3 depthwise separable blocks with batch norm, 32 images of 96x96, SGD",
        ),
        Model(
            vgg,
            vgg_shapes,
            "VGG: 6 convolutions, max pooling, dropout, 64 images of 64x64, momentum",
            compact_tuples=False,
        ),
        Model(
            resnet,
            resnet_shapes,
            "ResNet: 3 residual blocks with batch norm, 128 images of 32x32, SGD",
        ),
        Model(
            gpt_scan,
            gpt_scan_shapes,
            "GPT: 6 layers in a lax.scan, width 128, 16 sequences of 128 tokens, Adam",
        ),
        Model(
            gpt_unrolled,
            gpt_unrolled_shapes,
            "GPT: 3 layers in a Python loop, width 128, 16 sequences of 128 tokens, SGD",
            compact_tuples=False,
        ),
        Model(
            lstm,
            lstm_shapes,
            "LSTM: 2 layers, lax.scan over 64 time steps, batch 64, clipped gradients, SGD",
            compact_tuples=False,
        ),
        Model(
            mlp_checkpoint,
            mlp_checkpoint_shapes,
            "MLP: 4 residual blocks, each in jax.checkpoint, batch 4096, SGD",
        ),
        Model(
            unet_donated,
            unet_donated_shapes,
            "U-Net: 3 levels with skip connections, 32 images of 64x64, Adam, "
            "parameters and optimizer state donated",
            donated=(0, 1),
        ),
    )
}

# --- dumping --------------------------------------------------------------------------------------

STAGES = {  # stage: how XLA's dump of it ends
    "before_optimizations": "before_optimizations.txt",
    "after_optimizations": "cpu_after_optimizations.txt",
}
SCRIPT = "scripts/samples/dump_samples.py"
DEFAULT_OUT = Path(__file__).resolve().parents[2] / "hlo_samples"
INDEX = "index.json"
MAX_FILE_BYTES = 300_000
MAX_ALL_BYTES = 3_000_000
COMPILE_SECONDS = 600
EXIT_SKIPPED = 77


class DumpError(Exception):
    """Something about the dumps is not as it has to be; the message says what."""


def versions() -> dict[str, str]:
    """What the text of a dump depends on, apart from this file."""
    return {
        "jax": jax.__version__,
        "jaxlib": importlib.import_module("jaxlib").__version__,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "machine": platform.machine(),
    }


def xla_flags(model: Model, dump_dir: Path | str) -> list[str]:
    flags = [
        f"--xla_dump_to={dump_dir}",
        f"--xla_dump_hlo_module_re=^jit_{model.step.__name__}$",
        "--xla_dump_hlo_as_text",
        "--xla_dump_large_constants=true",
    ]
    if not model.compact_tuples:
        flags.append("--xla_dump_compact_gte=false")
    return flags


def dump_environment(flags: Sequence[str]) -> dict[str, str]:
    """The caller's environment without what would change the dumps."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_", "PJRT_"))}
    return kept | {
        "JAX_PLATFORMS": "cpu",
        "NPROC": "1",  # else XLA:CPU splits loops by the number of cores, and writes that down
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(Path(__file__).resolve().parent),
        "XLA_FLAGS": " ".join(flags),
    }


def dump_model(name: str, out: Path) -> list[dict[str, Any]]:
    """Compile one model in a process of its own; return the index entries of its files."""
    model = MODELS[name]
    with tempfile.TemporaryDirectory(prefix="dump_samples.") as dump_dir:
        flags = xla_flags(model, dump_dir)
        result = run_compile(name, dump_dir, flags)
        if "Unknown flag" in result.stderr:  # before 0.12 there is no compact form to turn off
            flags = [flag for flag in flags if "compact_gte" not in flag]
            result = run_compile(name, dump_dir, flags)
        if result.returncode != 0:
            raise DumpError(f"{name}: compilation failed:\n{result.stderr}")
        memory = json.loads(result.stdout.splitlines()[-1])
        shown_flags = [flag.replace(dump_dir, "DIR") for flag in flags]
        return [
            write_sample(name, stage, dump_text(name, stage, Path(dump_dir)), out)
            | {"xla_flags": shown_flags}
            | ({"memory": memory} if stage == "after_optimizations" else {})
            for stage in STAGES
        ]


def run_compile(name: str, dump_dir: str, flags: Sequence[str]) -> subprocess.CompletedProcess[str]:
    module = Path(__file__).stem
    try:
        return subprocess.run(
            [sys.executable, "-B", "-c", f"import {module}; {module}.compile_model('{name}')"],
            cwd=dump_dir,
            env=dump_environment(flags),
            capture_output=True,
            text=True,
            timeout=COMPILE_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise DumpError(f"{name}: not compiled after {COMPILE_SECONDS} s") from error


def dump_text(name: str, stage: str, dump_dir: Path) -> str:
    found = list(dump_dir.glob(f"module_*.jit_{name}.{STAGES[stage]}"))
    if len(found) != 1:
        raise DumpError(f"{name}: {len(found)} dumps of {stage}, expected one")
    return found[0].read_text(encoding="utf-8")


# --- the text -------------------------------------------------------------------------------------

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
FILE_NAMES = re.compile(r"^FileNames\n(?:\d+ .*\n)+", re.MULTILINE)
SOURCE_FILE = re.compile(r'(source_file=")[^"]*/')
INSTRUCTION = re.compile(r"^ +(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)
TUPLE_ELEMENT = re.compile(r"%[\w.-]+(?:#\d+)+")


def write_sample(name: str, stage: str, dump: str, out: Path) -> dict[str, Any]:
    here = versions()
    origin = f"// Origin: {SCRIPT}, JAX {here['jax']}, model {name}, stage {stage}.\n"
    text = origin + relative_paths(dump)
    file = out / f"{name}.{stage}.hlo"
    check_text(file.name, text)
    file.write_text(text, encoding="utf-8")
    return {
        "file": file.name,
        "name": name,
        "stage": stage,
        "description": MODELS[name].description,
        "instructions": count_instructions(text),
        "compact_get_tuple_element": TUPLE_ELEMENT.search(STRING.sub('""', text)) is not None,
        "command": f"{SCRIPT} --venv .venv-samples --jax jax=={here['jax']} --only {name}",
        **here,
    }


def relative_paths(dump: str) -> str:
    """Cut the paths in the FileNames table and in source_file= to file names, ids unchanged."""
    dump = FILE_NAMES.sub(lambda table: re.sub(r'"[^"]*/', '"', table[0]), dump)
    return SOURCE_FILE.sub(r"\1", dump)


def check_text(file: str, text: str) -> None:
    if "{...}" in STRING.sub('""', text):
        raise DumpError(f"{file}: a constant is elided")
    folder = re.search(r'"/[^"]*"|"[^"]*site-packages[^"]*"', text)
    if folder:
        raise DumpError(f"{file}: {folder[0]} is a path of this machine")
    if "stack_frame_id=" not in text and "source_line=" not in text:
        raise DumpError(f"{file}: no source lines in its metadata")
    if len(text.encode()) > MAX_FILE_BYTES:
        raise DumpError(f"{file}: {len(text.encode())} bytes, more than {MAX_FILE_BYTES}")
    if importlib.util.find_spec("jaxlib._hlo"):  # XLA's own parser, where this jaxlib has it
        importlib.import_module("jaxlib._hlo").hlo_module_from_text(text)


def count_instructions(text: str) -> int:
    """As HloModule::instruction_count: each element taken from a tuple by %x#0 counts, once."""
    elements = 0
    for computation in STRING.sub('""', text).split("\n}\n"):
        chains = [element.split("#") for element in TUPLE_ELEMENT.findall(computation)]
        elements += len({tuple(c[:n]) for c in chains for n in range(2, len(c) + 1)})
    return elements + len(INSTRUCTION.findall(text))


# --- the index, and the command line --------------------------------------------------------------


def read_index(out: Path) -> list[dict[str, Any]]:
    path = out / INDEX
    return json.loads(path.read_text())["files"] if path.exists() else []


def write_index(out: Path, new: list[dict[str, Any]]) -> None:
    """Replace the entries of the models that were dumped, keep the others."""
    entries = {entry["file"]: entry for entry in read_index(out) + new}
    order = [f"{name}.{stage}.hlo" for name in MODELS for stage in STAGES]
    files = [entries[file] for file in order if file in entries]
    total = sum((out / entry["file"]).stat().st_size for entry in files)
    if total > MAX_ALL_BYTES:
        raise DumpError(f"{total} bytes in all, more than {MAX_ALL_BYTES}")
    (out / INDEX).write_text(json.dumps({"files": files}, indent=1) + "\n")


def dump_all(names: Sequence[str], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    entries = []
    for name in names:
        entries += dump_model(name, out)
        before, after = entries[-2:]
        print(
            f"{name:15} {before['instructions']:5} / {after['instructions']:5} instructions,"
            f" {after['memory']['parameter_bytes'] / 1e6:5.1f} MB parameters,"
            f" {after['memory']['temp_bytes'] / 1e6:6.1f} MB temporaries",
            flush=True,
        )
    write_index(out, entries)


def check_all(names: Sequence[str], out: Path) -> int:
    """Dump again, elsewhere, and compare."""
    wanted = {entry["file"]: entry for entry in read_index(out) if entry["name"] in names}
    here = versions()
    for entry in wanted.values():
        there = {key: entry[key] for key in here}
        if there != here:
            print(f"skipped: {version_text(here)} here, files from {version_text(there)}")
            return EXIT_SKIPPED
    with tempfile.TemporaryDirectory(prefix="dump_samples.") as fresh:
        dump_all(names, Path(fresh))
        different = []
        for entry in read_index(Path(fresh)):
            file = entry["file"]
            same_text = (out / file).exists() and (
                (out / file).read_bytes() == (Path(fresh) / file).read_bytes()
            )
            if not same_text or wanted.get(file) != entry:
                different.append(file)
    for file in different:
        print(f"different: {file}, or its entry in {INDEX}")
    return 1 if different else 0


def version_text(of: dict[str, str]) -> str:
    return f"JAX {of['jax']} (Python {of['python']}, {of['machine']})"


def enter_venv(venv: Path, requirement: str | None) -> None:
    """Go on inside the virtual environment, which is made, with JAX in it, if need be."""
    if Path(sys.prefix).resolve() == venv.resolve():
        return
    python = str(venv / "bin" / "python")
    try:
        if not (venv / "bin" / "pip").exists():
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        has_jax = subprocess.run([python, "-c", "import jax"], capture_output=True).returncode == 0
        if requirement or not has_jax:
            pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
            subprocess.run([*pip, requirement or "jax"], check=True)
    except subprocess.CalledProcessError as error:
        print(f"skipped: no JAX in {venv} ({error}); this needs python3-venv and PyPI")
        sys.exit(EXIT_SKIPPED)
    os.execv(python, [python, __file__, *sys.argv[1:]])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", action="append", choices=MODELS, metavar="NAME", help="this model; repeatable")
    add("--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help="default: hlo_samples/")
    add("--check", action="store_true", help="write nothing: dump again and compare with --out")
    add("--list", action="store_true", help="write nothing: name the models")
    add("--venv", type=Path, metavar="DIR", help="run in this virtual environment, made if missing")
    add("--jax", metavar="SPEC", help="install this in it, as jax==0.12.0.1; default: newest, once")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if arguments.list:
        for name, model in MODELS.items():
            print(f"{name:15} {model.description}")
        return 0
    if arguments.venv:
        enter_venv(arguments.venv, arguments.jax)
    if not importlib.util.find_spec("jax"):
        print("skipped: no JAX in this Python; --venv DIR installs it")
        return EXIT_SKIPPED
    names = [name for name in MODELS if name in (arguments.only or MODELS)]
    try:
        if arguments.check:
            return check_all(names, arguments.out)
        dump_all(names, arguments.out)
    except DumpError as error:
        print(f"dump_samples: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
