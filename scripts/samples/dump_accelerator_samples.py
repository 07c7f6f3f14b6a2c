#!/usr/bin/env python3
"""Write the dumps in hlo_samples/accelerators/: a model of scripts/samples/dump_samples.py, compiled by XLA for a GPU and for a
TPU that are not there.

    gpt_unrolled.sm_9.0a_gpu_after_optimizations.txt                  for an H100: what runs, and about what the hook sees
    gpt_unrolled.v5e.after_optimizations_before_buffer_assignment.txt for a TPU v5e: what the hook sees

The names are those of XLA's dumps, from which the tool knows the device; that of a TPU is added. index.json has XLA's
memory figures. It needs JAX, libtpu and jax-cuda13-plugin (scripts/check/accelerators makes such an environment):

    build/venv-accelerators/bin/python scripts/samples/dump_accelerator_samples.py

Exit status: 0 done; 1 failed; 77 skipped, because a plugin is missing.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "scripts" / "samples")]
import compile_absent  # noqa: E402
import dump_samples as samples  # noqa: E402

SCRIPT = "scripts/samples/dump_accelerator_samples.py"
OUT = ROOT / "hlo_samples" / "accelerators"
MODEL = "gpt_unrolled"
SIZES = {"layers": 2, "batch": 256}  # text of moderate size, and a batch for an accelerator
STAGES = {  # target: what its dumps end with, and the files
    "h100": {"sm_9.0a_gpu_after_optimizations": "sm_9.0a_gpu_after_optimizations"},
    "v5e": {"after_optimizations_before_buffer_assignment": "v5e.after_optimizations_before_buffer_assignment"},
}
ALLOCATION = re.compile(r"^allocation \d+: size (\d+), (.*)", re.MULTILINE)


def assigned_bytes(folder):
    """What XLA:TPU has assigned of HBM for temporaries, and of VMEM, as its buffer assignment says."""
    text = next(folder.glob("*.after_optimizations-buffer-assignment.txt")).read_text()
    temps = [(int(size), rest) for size, rest in ALLOCATION.findall(text) if "preallocated-temp" in rest]
    return {"temp_bytes": sum(size for size, rest in temps if "color" not in rest),
            "vmem_bytes": sum(size for size, rest in temps if "color 1," in rest)}


def compile_for(target, folder):
    """Runs in a process of its own, whose environment is prepared. Prints XLA's figures as JSON."""
    folder = Path(folder)
    is_tpu = compile_absent.platform_of(target) == "tpu"
    if not is_tpu:
        os.environ["XLA_FLAGS"] += f" --xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_large_constants=true"
    import jax
    from jax.sharding import SingleDeviceSharding
    model = samples.MODELS[MODEL]
    place = SingleDeviceSharding(compile_absent.devices(target)[0])
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place), samples.gpt_unrolled_shapes(**SIZES))
    step = jax.jit(model.step, donate_argnums=model.donated, out_shardings=place)
    lowered = step.trace(*shapes).lower(lowering_platforms=(compile_absent.platform_of(target),))
    options = {}
    if is_tpu:
        options = {"xla_dump_to": str(folder), "xla_dump_hlo_as_text": True, "xla_dump_large_constants": True}
        threading.Thread(target=compile_absent.stop_when_assigned, args=(folder, lambda: assigned_bytes(folder)),
                         daemon=True).start()
    stats = lowered.compile(compiler_options=options).memory_analysis()
    print(json.dumps({"temp_bytes": stats.temp_size_in_bytes}))


def dump_for(target):
    """The entries of the index."""
    with tempfile.TemporaryDirectory(prefix="dump_samples.") as folder:
        code = f"import sys; sys.path[:0] = {sys.path[:2]!r}; import compile_absent; compile_absent.prepare({target!r}); " \
               f"import {Path(__file__).stem} as own; own.compile_for({target!r}, {folder!r})"
        done = subprocess.run([sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True,
                              timeout=samples.COMPILE_SECONDS, env=dict(os.environ, PYTHONHASHSEED="0"))
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise samples.DumpError(f"{target}: compilation failed:\n{done.stderr[-2000:]}")
        memory = {key: value for key, value in json.loads(lines[-1]).items() if key.endswith("_bytes")}
        return [write(target, stage, name, Path(folder), memory) for stage, name in STAGES[target].items()]


def write(target, stage, name, folder, memory):
    found = list(folder.glob(f"module_*.jit_{MODEL}.*{stage}.txt"))
    if len(found) != 1:
        raise samples.DumpError(f"{target}: {len(found)} dumps of {stage}, expected one")
    here = samples.versions()
    origin = f"// Origin: {SCRIPT}, JAX {here['jax']}, model {MODEL}, target {target}, stage {stage}.\n"
    text = origin + samples.relative_paths(found[0].read_text(encoding="utf-8"))
    file = f"{MODEL}.{name}.txt"
    if len(text.encode()) > samples.MAX_FILE_BYTES:
        raise samples.DumpError(f"{file}: {len(text.encode())} bytes, more than {samples.MAX_FILE_BYTES}")
    if re.search(r'"/[^"]*"|"[^"]*site-packages[^"]*"', text):
        raise samples.DumpError(f"{file}: a path of this machine is in it")
    (OUT / file).write_text(text, encoding="utf-8")
    print(f"{file}: {len(text.encode())} bytes, {memory}")
    return {"file": file, "model": MODEL, "sizes": SIZES, "target": target, "stage": stage, **here, "memory": memory}


def main():
    if not importlib.util.find_spec("libtpu") or not importlib.util.find_spec("jax_plugins.xla_cuda13"):
        print("skipped: libtpu or jax-cuda13-plugin is missing")
        return samples.EXIT_SKIPPED
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        entries = [entry for target in STAGES for entry in dump_for(target)]
    except samples.DumpError as error:
        print(f"dump_accelerator_samples: {error}", file=sys.stderr)
        return 1
    (OUT / samples.INDEX).write_text(json.dumps({"files": entries}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
