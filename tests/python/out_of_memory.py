"""A training step that runs out of memory, and does not under rematerialization:

    python out_of_memory.py 700                                          # MiB; fails
    python -m remat_hlo --mem-limit=700MiB out_of_memory.py 700          # runs

Once everything is compiled the process may take no more than that beyond what it has (RLIMIT_AS, which is
ulimit -v)."""

import resource
import sys

import jax
import jax.numpy as jnp
import numpy as np

ROWS, WIDTH, LAYERS = 1 << 18, 64, 16


def loss(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return (x**2).mean()


@jax.jit
def step(weights, x):
    value, gradients = jax.value_and_grad(loss)(weights, x)
    return [w - 0.1 * g for w, g in zip(weights, gradients)], value


def allow(more_bytes):
    with open("/proc/self/status") as file:
        kib = next(int(line.split()[1]) for line in file if line.startswith("VmSize:"))
    resource.setrlimit(resource.RLIMIT_AS, (kib * 1024 + more_bytes, resource.RLIM_INFINITY))


weights = [jax.random.normal(jax.random.key(i), (WIDTH, WIDTH)) / WIDTH**0.5 for i in range(LAYERS)]
x = jax.block_until_ready(jnp.asarray(np.random.default_rng(0).random((ROWS, WIDTH), np.float32)))
compiled = step.lower(weights, x).compile()
print(f"temporaries: {compiled.memory_analysis().temp_size_in_bytes >> 20} MiB", flush=True)
allow(int(sys.argv[1]) << 20)
# One step: the temporaries of a step may be freed after its results are ready, and then those of the next
# one come on top, with us or without.
weights, value = jax.block_until_ready(compiled(weights, x))
print(f"loss {value:.6f}")
