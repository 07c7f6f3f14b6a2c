#!/usr/bin/env python3
"""Compiles one program for one target, with or without us, in a process of its own: libtpu takes one target in a
process, and a compilation for TPU is stopped by ending the process (apart.py).

usage: compile_one.py CASE, a JSON object: program, target, seed, route (plain, hook or before), budget,
algorithm, folder, given. FOLDER/dump gets XLA's dump; FOLDER/hook what the hook was given and gave back; outcome.json
what memory_analysis says, or the error; lowered.mlirbc the program. With the route before, the file `given` is compiled
instead of that (before_route.py). XLA's flags come with the environment, see apart.py."""

import functools
import json
import pathlib
import sys
import time

from apart import error_of, sizes_of, write_outcome
from before_route import write_module
from targets import TARGETS, devices_of

DUMP_OPTIONS = {"xla_dump_hlo_as_text": True}


def lower(program, name, target):
    """The program as jax.jit lowers it for devices that are not there."""
    import jax
    import numpy as np
    count = int(np.prod([*program.mesh.values()], dtype=int))
    devices = devices_of(target, count)
    if program.mesh:
        mesh = jax.sharding.Mesh(np.array(devices).reshape(*program.mesh.values()),
                                 tuple(program.mesh))
        shardings = tuple(
            jax.tree.map(lambda spec: jax.sharding.NamedSharding(mesh, spec), specs,
                         is_leaf=lambda leaf: isinstance(leaf, jax.sharding.PartitionSpec))
            for specs in program.specs)
    else:
        shardings = (jax.sharding.SingleDeviceSharding(devices[0]),) * len(program.arguments)

    def place(sharding, argument):
        if isinstance(sharding, jax.sharding.Sharding):
            return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype,
                                                                  sharding=sharding), argument)
        return jax.tree.map(place, sharding, argument)
    arguments = [place(*pair) for pair in zip(shardings, program.arguments)]

    @functools.wraps(program.function)  # whose arguments' names are those of the module's parameters
    def call(*arguments):
        return program.function(*arguments)
    call.__name__ = name  # of which the module's name is made
    return jax.jit(call, donate_argnums=program.donated).trace(*arguments).lower(
        lowering_platforms=(target.platform,))


def compile_lowered(lowered, target, folder):
    options = {}
    if target.platform == "tpu":  # which reads no XLA_FLAGS
        options = {**DUMP_OPTIONS, "xla_dump_to": str(folder / "dump")}
    return lowered.compile(compiler_options=options)


# ---- with us ----

def watch_hook(folder):
    """Keeps what the hook is given and gives back, as text."""
    from remat_hlo import _hooks, _text
    inner, files = _hooks.hook, iter(range(1 << 30))

    def watched(stage, platform, serialized):
        made = inner(stage, platform, serialized)
        serialized, number = bytes(serialized), next(files)
        text = _text.text_of(serialized)
        name = text[:300].removeprefix("HloModule ").partition(",")[0]
        (folder / "hook" / f"{number:03}.{name}.before.hlo").write_text(text)
        if made is not None:
            (folder / "hook" / f"{number:03}.{name}.after.hlo").write_text(_text.text_of(bytes(made)))
        return made
    _hooks.hook = watched


def watch(module, name, after):
    """Has something be done after each call of a function."""
    inner = getattr(module, name)

    def watched(*arguments):
        made = inner(*arguments)
        after()
        return made
    setattr(module, name, watched)


def compile_with_hook(case, lowered, target, folder):
    import remat_hlo.jax as live
    from remat_hlo import _compilations, _rewriting
    watch_hook(folder)

    def write_reports():
        (folder / "reports.json").write_text(
            json.dumps([report.to_dict() for report in live.last_reports(with_unchanged=True)], indent=1))

    # A compilation that is stopped leaves its reports, too, and what XLA has said about what was made.
    for module, name in ((_rewriting, "remember"), (_compilations, "_refuse")):
        watch(module, name, write_reports)
    with live.rematerialize(case["budget"], algorithm=case["algorithm"], min_peak="64KiB", verbose=False):
        compiled = compile_lowered(lowered, target, folder)
        write_reports()
    return compiled


def compile_before(case, lowered, target, folder):
    """What was made of the program before XLA optimizes it."""
    from jaxlib.mlir import ir
    module = lowered.compiler_ir("stablehlo")
    lowered._lowering._hlo = ir.Module.parse(pathlib.Path(case["given"]).read_bytes(), module.context)
    return compile_lowered(lowered, target, folder)


COMPILE = {"plain": lambda case, *rest: compile_lowered(*rest), "hook": compile_with_hook,
           "before": compile_before}


def program_of(name, seed):
    import programs
    import scan_programs
    return (scan_programs if scan_programs.has(name) else programs).make(name, seed)


def main():
    case = json.loads(sys.argv[1])
    folder, target = pathlib.Path(case["folder"]), TARGETS[case["target"]]
    start = time.monotonic()
    program = program_of(case["program"], case["seed"])
    lowered = lower(program, case["program"], target)
    write_module(lowered.compiler_ir("stablehlo"), folder / "lowered.mlirbc")
    start_compile = time.monotonic()
    try:
        compiled = COMPILE[case["route"]](case, lowered, target, folder)
        outcome = sizes_of(compiled, "generated_code_size_in_bytes", "host_temp_size_in_bytes")
    except Exception as error:  # its text is the outcome
        outcome = error_of(error)
    outcome.update(lower_seconds=start_compile - start, compile_seconds=time.monotonic() - start_compile)
    write_outcome(folder, outcome)


if __name__ == "__main__":
    main()
