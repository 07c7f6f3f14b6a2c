#!/usr/bin/env python3
"""Compiles a small training step for devices that are not there, with us and without, in a process of its own.
usage: hook_absent.py TARGET one|fsdp|tensor|pipeline before|after

The last word says when install() is called: before the plugin is loaded or after that. Prints a line of JSON. For TPUs it
ends when XLA has assigned the buffers of what the hook gave back."""

import json
import pathlib
import sys
import tempfile
import threading

from compile_absent import devices, platform_of, prepare, stop_when_assigned

WIDTH, ROWS, LAYERS = 2048, 8192, 6


def steps(kind, mesh):
    """(function, shapes, specs of shardings)."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as Spec

    def layers(weights, x):
        for w in weights:
            x = jnp.tanh(x @ w)
        return x

    def loss(weights, x):
        return jnp.mean(layers(weights, x) ** 2)
    weights = ((WIDTH, WIDTH),) * LAYERS
    if kind == "pipeline":  # each device has layers of its own, and hands on what comes out
        def stage(w, x):
            for _ in range(3):
                x = layers([w[0]] * 2, x)
                x = jax.lax.ppermute(x, "d", [(i, (i + 1) % 4) for i in range(4)])
            return x
        inner = jax.shard_map(stage, mesh=mesh, in_specs=(Spec("d"), Spec("d")), out_specs=Spec("d"))

        def pipeline_loss(w, x):
            return jnp.mean(inner(w, x) ** 2)
        return jax.grad(pipeline_loss), [(4, WIDTH, WIDTH), (4 * ROWS, WIDTH)], [Spec("d"), Spec("d")]
    specs = {"one": (Spec(), Spec()), "fsdp": (Spec("d"), Spec("d")), "tensor": (Spec(None, "d"), Spec())}[kind]
    rows = ROWS * 4 if kind == "fsdp" else ROWS

    def step(*arguments):
        return jax.grad(lambda w: loss(w, arguments[-1]))(list(arguments[:-1]))
    return step, [*weights, (rows, WIDTH)], [specs[0]] * LAYERS + [specs[1]]


def lower(kind, target):
    import jax
    import jax.numpy as jnp
    import numpy as np
    count = 1 if kind == "one" else 4
    mesh = jax.sharding.Mesh(np.array(devices(target, count)), ("d",))
    function, shapes, specs = steps(kind, mesh)
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32, sharding=jax.sharding.NamedSharding(mesh, spec))
                 for shape, spec in zip(shapes, specs)]
    return jax.jit(function).trace(*arguments).lower(lowering_platforms=(platform_of(target),))


def main():
    target, kind, order = sys.argv[1:]
    prepare(target)
    import remat_hlo.jax as live
    if order == "before":
        live.install("r50%", verbose=False)
    step = lower(kind, target)
    if order == "after":
        live.install("r50%", verbose=False)
    if platform_of(target) == "tpu":
        folder = pathlib.Path(tempfile.mkdtemp(prefix="absent."))
        threading.Thread(target=stop_when_assigned, daemon=True, args=(folder, lambda: {
            "outcomes": [r.outcome for r in live.last_reports(with_unchanged=True)]})).start()
        step.compile(compiler_options={"xla_dump_to": str(folder), "xla_dump_hlo_as_text": True})
    compiled = step.compile()
    check, reports = live.check(compiled), live.last_reports(with_unchanged=True)
    live.uninstall()
    plain = lower(kind, target).compile()
    print(json.dumps({
        "is_changed": check.is_changed, "temp_bytes": check.assigned_temp_bytes,
        "predicted_bytes": check.predicted_temp_bytes, "before_bytes": check.before_temp_bytes,
        "plain_bytes": plain.memory_analysis().temp_size_in_bytes, "outcomes": [r.outcome for r in reports],
        "num_later": len(live.last_reports(with_unchanged=True)) - len(reports)}))


if __name__ == "__main__":
    main()
