"""Compiles a program for a target: in this process for devices that it has, and else in one of its own, which is given
the program as jax.export writes it. An error of the compiler is a result."""

import dataclasses
import functools
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import jax

from .. import _library as lib
from .._module import load as load_module
from .._refusals import WrongUsage, is_out_of_memory
from . import mark, measured
from .measured import Measured

MOST_SECONDS = 900  # of one compilation
# Calls whose form XLA does not promise to keep, which has no part here: nothing is stored.
CUSTOM_CALLS = ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "tpu_custom_call",
                "__gpu$xla.gpu.triton", "ResizeNearest", "ApproxTopK", "TopK")


def prepare(step, arguments, named):
    """(what jax.jit returns for a step, positional and named arguments). A step that jax.jit has made stays as it is,
    with its shardings and donations. Of another one, arguments and results that are no arrays are constants; arrays keep
    the names that they have in the step's signature, by which advice speaks of them."""
    if hasattr(step, "lower") and hasattr(step, "trace"):
        return step, arguments, named
    leaves, tree = jax.tree.flatten((arguments, named))
    places = [place for place, leaf in enumerate(leaves) if _is_shaped(leaf)]

    @functools.wraps(step)
    def call(*given, **given_named):
        inner = list(leaves)
        for place, array in zip(places, jax.tree.leaves((given, given_named))):
            inner[place] = array
        given, given_named = jax.tree.unflatten(tree, inner)
        return [one for one in jax.tree.leaves(step(*given, **given_named)) if _is_shaped(one)]
    arrays, arrays_named = jax.tree.unflatten(tree, [leaf if _is_shaped(leaf) else None for leaf in leaves])
    return jax.jit(call), arrays, arrays_named


def _is_shaped(leaf):
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def measure(step, arguments, named, target, chooser=None, *, is_whole=False):
    """The Measured of a step that was prepared, traced with what the chooser says. With `is_whole` code is generated for
    TPU, too, which takes longer, and has XLA's estimate of the cycles."""
    with mark.active(chooser):
        if target.is_absent:
            return _in_process_of_its_own(step, arguments, named, target, is_whole)
        lowered = step.lower(*arguments, **named)
    try:
        compiled = lowered.compile()
    except Exception as error:  # the compiler's words are the result
        if not is_out_of_memory(error):
            raise
        return Measured(error=str(error)[:3000])
    text = compiled.as_text()
    return Measured(**measured.of_executable(compiled), seconds=modelled_seconds(text, target), text=text,
                    hook_text=text)


def modelled_seconds(text, target):
    """By the library's model and the target's profile; None for a module that it cannot read."""
    try:
        return load_module(text, device=target.profile).cost().seconds
    except (lib.Error, ValueError) as error:
        warn_of_fault(error)
        return None


def warn_of_fault(error):
    """What the library refuses is missing from an answer without a word; that it has a fault is said."""
    if isinstance(error, lib.InternalError):
        warnings.warn(f"remat_hlo: {error}", stacklevel=2)


# ---- for devices that are not there ----

def _in_process_of_its_own(step, arguments, named, target, is_whole):
    target.need_plugin()
    with tempfile.TemporaryDirectory(prefix="remat_hlo.") as folder:
        folder = pathlib.Path(folder)
        order = _export(step, arguments, named, target, folder)
        order.update(folder=str(folder), platform=target.platform, topology=target.topology,
                     description=target.description)
        (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        (folder / "dump").mkdir()
        said = _run(folder, target, is_whole)
        return _read(folder, target, said, order["names"])


def _mesh_of(exported):
    """The axes that a program's arguments are spread over, for the worker: names, sizes, and whether each is explicit."""
    for sharding in exported._in_named_shardings:
        if sharding is not None and not sharding.mesh.empty:
            mesh = sharding.mesh
            return {"names": mesh.axis_names, "sizes": mesh.axis_sizes,
                    "types": [one.name for one in mesh.axis_types]}
    return {"names": ("devices",), "sizes": (exported.nr_devices,), "types": ["Auto"]}


def _export(step, arguments, named, target, folder):
    """Writes the program; returns what has to be known besides. Trees may have nodes that only the program knows, so
    that it is written as one of lists. It is read by the same versions of Python and JAX; Exported.serialize() would
    ask for another package."""
    from jax import export
    traced = step.trace(*arguments, **named)
    infos = jax.tree.leaves(traced.args_info)
    checks = [export.DisabledSafetyCheck.custom_call(name) for name in CUSTOM_CALLS]
    made = export.export(step, platforms=[target.platform], disabled_checks=checks)(*arguments, **named)
    if made.nr_devices > target.num_devices:
        raise WrongUsage(f"the program is for {made.nr_devices} device{'s' * (made.nr_devices != 1)}, "
                         f"{target.name} has {target.num_devices}")
    made = dataclasses.replace(made, _get_vjp=None,
                               in_tree=jax.tree.structure(((0,) * len(made.in_avals), {})),
                               out_tree=jax.tree.structure((0,) * len(made.out_avals)))
    (folder / "program").write_bytes(pickle.dumps(made))
    return {"donated": [place for place, info in enumerate(infos) if info.donated],
            "num_devices": made.nr_devices, "mesh": _mesh_of(made),
            "names": _names_of(traced, len(made.in_avals))}


def _names_of(traced, count):
    """What the program calls its arguments, `state[0].mu`; empty where this JAX does not say."""
    names = getattr(getattr(getattr(traced.jaxpr, "jaxpr", None), "debug_info", None), "arg_names", None) or ()
    return list(names) if len(names) == count and all(names) else []


def _with_names(text, names):
    """The module with the program's names of its arguments in place of the worker's."""
    def name_of(match):
        place = int(match[1])
        name = names[place].replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"') if place < len(names) else None
        return match[0] if name is None else f'op_name="{name}"'
    return re.sub(r'op_name="arguments\[(\d+)\]"', name_of, text) if names else text


def _run(folder, target, is_whole):
    """Runs worker.py. XLA:TPU is stopped when it has assigned the buffers, unless the whole is asked for: code takes
    minutes, and has no part in memory. Returns what the process says at its end."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("JAX_", "XLA_", "TPU_", "LIBTPU_"))}
    path = os.pathsep.join(filter(None, (*sys.path, os.environ.get("PYTHONPATH"))))
    with open(folder / "said", "w", encoding="utf-8") as said:
        process = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("worker.py")), str(folder)],
                                   stdout=said, stderr=said, env={**clean, **target.environment(), "PYTHONPATH": path},
                                   start_new_session=True)
        begin, sizes = time.monotonic(), None
        try:
            while process.poll() is None:
                if target.platform == "tpu" and not is_whole:
                    before, sizes = sizes, _dumped_sizes(folder)
                    if sizes and sizes == before:  # written to their ends
                        break
                if time.monotonic() - begin > MOST_SECONDS:
                    raise TimeoutError(f"the program is not compiled for {target.name} within {MOST_SECONDS} s")
                time.sleep(0.2)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return (folder / "said").read_text(encoding="utf-8", errors="replace")


def _dumped_sizes(folder):
    """The sizes of what is read of XLA:TPU's dump, None as long as it is not there."""
    paths = _assigned(folder), _newest(folder, "*-buffer-assignment.txt")
    return None if None in paths else tuple(path.stat().st_size for path in paths)


def _assigned(folder):
    """The module of XLA:TPU's dump that has been assigned, or None."""
    return next(iter(sorted((folder / "dump").glob("*.after_optimizations_after_buffer_assignment.txt"))), None)


def _read(folder, target, said, names):
    """The Measured of what a worker has left behind."""
    outcome = folder / "outcome.json"
    if outcome.exists():
        found = json.loads(outcome.read_text(encoding="utf-8"))
        if "topology" in found:
            raise WrongUsage(f"there is no device '{target.name}' to compile for: {found['topology']}")
        error = found.pop("error", "")
    elif target.platform == "tpu" and _assigned(folder) is not None:
        found, error = {}, ""
    else:
        raise RuntimeError(f"the process that compiles for {target.name} has ended: {said[-2000:]}")
    if error and not is_out_of_memory(error):
        raise RuntimeError(f"XLA does not compile the program for {target.name}: {error[:2000]}")
    if "temp_bytes" not in found and (dumped := _newest(folder, "*-buffer-assignment.txt")):
        found.update(measured.of_assignment(dumped.read_text(encoding="utf-8")))
    module = folder / "module.txt"
    module = module if module.exists() else _assigned(folder) or _newest(folder, "*after_optimizations.txt")
    text = _with_names(module.read_text(encoding="utf-8"), names) if module else ""
    return Measured(**found, seconds=modelled_seconds(text, target) if text else None,
                    cycles=measured.cycles_of(text), error=error, text=text,
                    hook_text=_hook_text(folder, text, names))


def _hook_text(folder, text, names):
    """XLA:TPU asks its hook before values are put into VMEM."""
    before = _newest(folder, "*.after_optimizations_before_buffer_assignment.txt")
    return _with_names(before.read_text(encoding="utf-8"), names) if before else text


def _newest(folder, pattern):
    """The largest of some files of the dump: XLA compiles small modules besides."""
    found = sorted((folder / "dump").glob(pattern), key=lambda path: (path.stat().st_size, path.name))
    return found[-1] if found else None
