#!/usr/bin/env python3
"""Compiles a program of large_programs.py for a device that is not there, in a process of its own, since libtpu
takes one kind of TPU in each. usage: compile_absent.py TARGET PROGRAM [BUDGET]

Prints a line of JSON: `error`, or memory_analysis's temporaries, or `assigned` if the compilation for TPU was
stopped when XLA had assigned its buffers, which is all that memory depends on and comes minutes before the code."""

import json
import os
import pathlib
import runpy
import sys
import tempfile
import threading
import time

TOPOLOGIES = {"v5e": ("v5e:2x2", "v5litepod-4"), "v5p": ("v5p:2x2x1", "v5p-8"),
              "v6e": ("v6e:2x2", "v6e-4"), "tpu7x": ("tpu7x:2x2x1", "tpu7x-8")}
# The package's description, read without the package, which is imported after prepare() only.
GPUS = runpy.run_path(str(pathlib.Path(__file__).resolve().parents[2] / "src/python/remat_hlo/_checkpoints/gpus.py"))
H100 = GPUS["describe"](GPUS["GPUS"]["h100"])


def platform_of(target):
    return "tpu" if target in TOPOLOGIES else "cuda"


def prepare(target):
    """Sets the environment, before JAX is imported."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    if target in TOPOLOGIES:
        os.environ.update(TPU_SKIP_MDS_QUERY="1", TPU_WORKER_HOSTNAMES="localhost",
                          TPU_ACCELERATOR_TYPE=TOPOLOGIES[target][1], ALLOW_MULTIPLE_LIBTPU_LOAD="1",
                          TPU_LOG_DIR=tempfile.gettempdir() + "/tpu_logs")
    else:  # nothing can be timed
        os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"


def devices(target, topology="1x1x1"):
    from jax.experimental import topologies
    if target in TOPOLOGIES:
        return topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[target][0]).devices
    return topologies.get_topology_desc("", platform="cuda", topology=topology, target_config=H100).devices


def stop_when_assigned(folder, describe):
    """Ends the process as soon as XLA:TPU has assigned the buffers and dumped that."""
    while not any(folder.glob("*.after_optimizations_after_buffer_assignment.txt")):
        time.sleep(0.1)
    print(json.dumps({"assigned": True, **describe()}), flush=True)
    os._exit(0)


def main():
    target, name, *budget = sys.argv[1:]
    prepare(target)
    import large_programs
    import remat_hlo.jax as live
    if budget:
        live.install(budget[0], verbose=False)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="absent."))
    step = large_programs.lowered(name, devices(target)[0], platform_of(target))

    def describe():
        return {"reports": [str(report) for report in live.last_reports(with_unchanged=True)]}
    options = {}
    if platform_of(target) == "tpu":
        options = {"xla_dump_to": str(folder), "xla_dump_hlo_as_text": True}
        threading.Thread(target=stop_when_assigned, args=(folder, describe), daemon=True).start()
    try:
        made = step.compile(compiler_options=options)
        print(json.dumps({"temp_bytes": made.memory_analysis().temp_size_in_bytes, **describe()}))
    except Exception as error:
        print(json.dumps({"error": str(error)[:500], **describe()}))


if __name__ == "__main__":
    main()
