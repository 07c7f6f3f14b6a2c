#!/usr/bin/env python3
"""Makes the real profile of tests/golden/times: a training step with a loop is compiled by XLA:CPU and run three times under
jax.profiler. Writes step.hlo, what was run, and the profile in both forms, step.xplane.pb.gz and step.trace.json.gz.

usage: dump_profile.py FOLDER"""

import gzip
import os
import pathlib
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no paths of this machine
STEPS = 3


def loss(weights, x):
    def body(carry, _):
        carry = jnp.tanh(carry @ weights[1])
        return carry, carry.sum()
    carry, sums = jax.lax.scan(body, jnp.tanh(x @ weights[0]), None, length=3)
    return (carry**2).mean() + sums.sum() * 1e-3


@jax.jit
def step(weights, x):
    return [w - 0.1 * g for w, g in zip(weights, jax.grad(loss)(weights, x))]


def main():
    folder = pathlib.Path(sys.argv[1])
    weights, x = [jnp.full((64, 64), 0.01)] * 2, jnp.ones((128, 64))
    weights = jax.block_until_ready(step(weights, x))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as made:
        with jax.profiler.trace(made, profiler_options=options):
            for _ in range(STEPS):
                weights = step(weights, x)
            jax.block_until_ready(weights)
        for path in pathlib.Path(made).rglob("*"):
            if path.name.endswith(".xplane.pb"):
                (folder / "step.xplane.pb.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            if path.name.endswith(".trace.json.gz"):
                text = gzip.decompress(path.read_bytes())
                (folder / "step.trace.json.gz").write_bytes(gzip.compress(text, mtime=0))
    (folder / "step.hlo").write_text(step.lower(weights, x).compile().as_text())


if __name__ == "__main__":
    main()
