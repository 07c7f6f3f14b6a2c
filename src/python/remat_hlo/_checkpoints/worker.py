"""Compiles one program for a device that is not there. Run as a program: libtpu takes one kind of TPU in a process, a
compilation is stopped by ending it, and what a plugin does to its process stays there. usage: worker.py FOLDER

FOLDER/order.json says what, FOLDER/program is an Exported of jax.export. FOLDER/dump gets XLA's dump, outcome.json
what memory_analysis says, the error, or what the plugin says against the topology, module.txt the module."""

import json
import os
import pathlib
import pickle
import sys


def _devices(order):
    from jax.experimental import topologies
    if order["platform"] == "tpu":
        found = topologies.get_topology_desc(platform="tpu", topology_name=order["topology"])
    else:
        found = topologies.get_topology_desc("", platform="cuda", topology=order["topology"],
                                             target_config=order["description"])
    return found.devices[:order["num_devices"]]


def _lower(order, program, devices):
    import jax
    import numpy as np
    axes = order["mesh"]
    mesh = jax.sharding.Mesh(np.array(devices).reshape(axes["sizes"]), tuple(axes["names"]),
                             axis_types=tuple(jax.sharding.AxisType[one] for one in axes["types"]))
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    shardings = program.in_shardings_jax(mesh)
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding or whole)
              for aval, sharding in zip(program.in_avals, shardings)]

    def step(*arguments):
        return program.call(*arguments)
    return jax.jit(step, donate_argnums=tuple(order["donated"])).trace(*shapes).lower(
        lowering_platforms=(order["platform"],))


def main():
    folder = pathlib.Path(sys.argv[1])
    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    # This file's folder is no place for modules to be found in: it has names of its own.
    sys.path[:] = [path for path in sys.path if pathlib.Path(path).resolve() != pathlib.Path(__file__).resolve().parent]
    if order["platform"] == "cuda":
        os.environ["XLA_FLAGS"] += f" --xla_dump_to={folder / 'dump'} --xla_dump_hlo_as_text"
    program = pickle.loads((folder / "program").read_bytes())
    try:
        devices = _devices(order)
    except Exception as error:  # a topology that there is not
        return _write(folder, {"topology": f"{error}"[:1000]})
    lowered = _lower(order, program, devices)
    options = {}
    if order["platform"] == "tpu":  # which reads no XLA_FLAGS
        options = {"xla_dump_to": str(folder / "dump"), "xla_dump_hlo_as_text": True}
    try:
        compiled = lowered.compile(compiler_options=options)
        sizes = compiled.memory_analysis()
        outcome = {"argument_bytes": sizes.argument_size_in_bytes, "output_bytes": sizes.output_size_in_bytes,
                   "alias_bytes": sizes.alias_size_in_bytes, "temp_bytes": sizes.temp_size_in_bytes}
        (folder / "module.txt").write_text(compiled.as_text(), encoding="utf-8")
    except Exception as error:  # its text is the outcome
        outcome = {"error": f"{type(error).__name__}: {error}"[:3000]}
    _write(folder, outcome)


def _write(folder, outcome):
    made = folder / "outcome.json.new"
    made.write_text(json.dumps(outcome), encoding="utf-8")
    os.replace(made, folder / "outcome.json")


if __name__ == "__main__":
    main()
