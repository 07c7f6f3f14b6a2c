#!/usr/bin/env python3
"""Compiles a program of large_programs.py for a device that is not there, in a process of its own, since libtpu
takes one kind of TPU in each. usage: compile_absent.py TARGET PROGRAM [BUDGET]

Prints a line of JSON: `error`, or memory_analysis's temporaries, or `assigned` if the compilation for TPU was
stopped when XLA had assigned its buffers, which is all that memory depends on and comes minutes before the code."""

import json
import os
import pathlib
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "accelerators"))
from targets import TARGETS, devices_of  # noqa: E402  without the package, which is imported after prepare() only


def platform_of(target):
    return TARGETS[target].platform


def prepare(target):
    """Sets the environment, before JAX is imported."""
    os.environ.update(TARGETS[target].environment)


def devices(target, count=1):
    return devices_of(TARGETS[target], count)


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
