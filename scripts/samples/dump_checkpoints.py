#!/usr/bin/env python3
"""Write tests/golden/checkpoints/*.hlo: a network whose checkpoints do not help, or that has none, for `advise`, as XLA:CPU compiles it.

    whole.hlo   one checkpoint around everything: all of it is computed again at once
    merged.hlo  around each layer with prevent_cse=False: XLA merges what is computed again with the forward part
    saves.hlo   around each layer with a policy that saves products
    names.hlo   around each layer with names that are saved: a product, and what is computed of it by a tanh
    steps.hlo   none: layers are steps of a loop in a function that is called once, and has other lines
    drawn.hlo   none: layers drop rows by numbers that come from integers, for all layers before the first one
    told.hlo    none: layers are told the time, of which XLA makes what each one needs before the first one
    narrow.hlo  none: a last layer of one number, whose product XLA leaves without a place in the program

    build/venv/bin/python scripts/samples/dump_checkpoints.py     # needs JAX
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "tests" / "golden" / "checkpoints"
LAYERS, BATCH, WIDTH = 4, 1024, 64


def layer(weights, x):
    import jax.numpy as jnp
    hidden = jnp.tanh(x @ weights[0])
    return x + jnp.tanh(hidden @ weights[1])


def named_layer(weights, x):
    import jax
    from jax.ad_checkpoint import checkpoint_name
    up = checkpoint_name(x @ weights[0], "up")
    return x + checkpoint_name(jax.nn.gelu(up), "gelu") @ weights[1]


def steps(layers, x):
    import jax
    for weights in layers:
        hidden = jax.nn.gelu(x @ weights[0])
        x = x + hidden @ weights[1]
    return x / (1 + x * x)


def drawn(layers, x, numbers):
    import jax
    import jax.numpy as jnp
    for at, weights in enumerate(layers):
        share = jnp.sort(jnp.sin((numbers ^ (at + 1)).astype(jnp.float32)))
        hidden = jax.nn.gelu(x @ weights[0])
        x = x + jnp.where(share[:, None] < 0.5, hidden @ weights[1], 0)
    return x / (1 + x * x)


def network(block, layers, x):
    for weights in layers:
        x = block(weights, x)
    return x


def told_layer(weights, x, time):
    import jax
    hidden = x @ weights[0]
    told = time @ weights[0]
    return x + jax.nn.silu(hidden + told) @ weights[1]


def told(layers, x, time):
    import jax.numpy as jnp
    x = jnp.sort(jnp.sort(x), 0)  # which takes longer than the projections of the time
    for weights in layers:
        x = told_layer(weights, x, time)
    return x


def wide_layer(weights, x):
    import jax
    return jax.nn.silu(x @ weights[0])


def narrow(layers, x, last):
    for weights in layers:
        x = wide_layer(weights, x)
    return (x @ last)[:, 0]


def program(name):
    import jax
    saves = jax.checkpoint_policies.dots_saveable
    names = jax.checkpoint_policies.save_only_these_names("up", "gelu")
    return {
        "whole": jax.checkpoint(lambda layers, x: network(layer, layers, x)),
        "merged": lambda layers, x: network(jax.checkpoint(layer, prevent_cse=False), layers, x),
        "saves": lambda layers, x: network(jax.checkpoint(layer, policy=saves), layers, x),
        "names": lambda layers, x: network(jax.checkpoint(named_layer, policy=names), layers, x),
        "steps": steps,
        "drawn": drawn,
        "told": told,
        "narrow": narrow,
    }[name]


def compile_program(name):
    """Runs in a process of its own, whose environment says where the dump goes."""
    import jax
    import jax.numpy as jnp
    function = program(name)

    def step(layers, x, *more):
        grads = jax.grad(lambda layers: jnp.mean(function(layers, x, *more) ** 2))(layers)
        return jax.tree.map(lambda weights, grad: weights - 0.1 * grad, layers, grads)

    def shape(*dims):
        return jax.ShapeDtypeStruct(dims, jnp.float32)
    layers = [(shape(WIDTH, 4 * WIDTH), shape(4 * WIDTH, WIDTH)) for _ in range(LAYERS)]
    if name == "narrow":
        layers = [(shape(WIDTH if i == 0 else 4 * WIDTH, 4 * WIDTH),) for i in range(LAYERS)]
    more = {"drawn": [jax.ShapeDtypeStruct((BATCH,), jnp.int32)], "told": [shape(BATCH, WIDTH)], "narrow": [shape(4 * WIDTH, 1)]}
    jax.jit(step, donate_argnums=0).lower(layers, shape(BATCH, WIDTH), *more.get(name, [])).compile()


def dump(name):
    with tempfile.TemporaryDirectory() as folder:
        flags = f"--xla_dump_to={folder} --xla_dump_hlo_as_text"
        subprocess.run([sys.executable, __file__, name], check=True, env={"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags})
        text = next(Path(folder).glob("*.jit_step.cpu_after_optimizations.txt")).read_text(encoding="utf-8")
    text = text.replace(f"{ROOT}/scripts/", "")
    if re.search(r'"/[^"]*"', text):
        raise SystemExit(f"{name}: a path of this machine is in it")
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.hlo").write_text(f"// Origin: scripts/samples/dump_checkpoints.py, {name}.\n{text}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        compile_program(sys.argv[1])
    else:
        for one in ("whole", "merged", "saves", "names", "steps", "drawn", "told", "narrow"):
            dump(one)
