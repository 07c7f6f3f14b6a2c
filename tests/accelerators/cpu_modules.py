#!/usr/bin/env python3
"""Walks modules over the memory that XLA:CPU gives them: scheduled samples as they are and rewritten by the tool, which XLA has to accept, and of ../shared a rewrite that is known to read what is overwritten. A module gets into
XLA at JAX's hook, in the place of a program that has its parameters and results. Faults are planted in each.

usage: cpu_modules.py --tool=FILE [--seed=N]"""

import argparse
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile

import hlo_reader
import plant
import safe_walk
from buffer_assignment import BufferAssignment

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNSAFE = ROOT.parent / "shared" / "corpus" / "unsafe"
SAMPLES = ("gpt_scan", "lstm", "mlp_checkpoint", "unet_donated")  # those that compile within seconds
DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "s32": "int32", "u32": "uint32", "s8": "int8",
          "u8": "uint8", "pred": "bool"}


class Compiler:
    """XLA:CPU, which is given modules in the place of others."""

    def __init__(self, dump):
        os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS=f"--xla_dump_to={dump} --xla_dump_hlo_as_text")
        from jax.extend import xla
        from jaxlib import _hlo
        self.dump, self.text = dump, None
        xla.register_hlo_module_transformation(
            lambda _: _hlo.hlo_module_from_text(self.text).as_serialized_hlo_module_proto(),
            name="instead", stage=xla.PipelineStage.POST_SCHEDULER, platforms="cpu")

    def compile(self, text):
        """(the module that buffers are assigned to, the buffer assignment)"""
        import jax
        import jax.numpy as jnp
        for path in self.dump.glob("*.txt"):
            path.unlink()
        self.text, header = text, re.search("^HloModule.*", text, re.M)[0]
        begin = header.index("entry_computation_layout={") + len("entry_computation_layout={")
        parameters, end = hlo_reader.read_shape(header, begin)
        results, _ = hlo_reader.read_shape(header, end + len("->"))
        leaves = [array(shape) for shape in (results if isinstance(results, list) else [results])]
        donated = sorted({number for _, number, _ in hlo_reader.Module(header, {}, None).output_aliases()})

        def stand_in(*_):
            made = [jnp.zeros(leaf.shape, leaf.dtype) for leaf in leaves]
            return made if isinstance(results, list) else made[0]
        jax.jit(stand_in, keep_unused=True, donate_argnums=donated).lower(*map(array, parameters)).compile()
        path = next(self.dump.glob("*-buffer-assignment.txt"))
        module = path.with_name(path.name.replace("-buffer-assignment.txt", ".txt"))
        return module.read_text(), BufferAssignment(path.read_text())


def array(shape):
    import jax
    dtype, sizes = re.match(r"(\w+)\[([\d,]*)\]", re.sub(r"/\*.*?\*/", "", shape)).groups()
    return jax.ShapeDtypeStruct(tuple(int(size) for size in sizes.split(",") if size), DTYPES[dtype])


def modules(tool):
    """(name, text, whether it is safe)"""
    for name in SAMPLES:
        path = ROOT / "hlo_samples" / f"{name}.after_optimizations.hlo"
        yield name, path.read_text(), True
        run = subprocess.run([tool, path, "--mem-limit=r40%", "--small-node-limit=0", "--quiet", "-o", "-"],
                             capture_output=True, text=True)
        if run.returncode not in (0, 1):  # 1: the best that there is, and above the budget
            raise ValueError(f"{name}: {run.stderr}")
        yield f"{name} under r40%", run.stdout, True
    if UNSAFE.is_dir():
        yield "donated_cond.before.hlo", (UNSAFE / "donated_cond.before.hlo").read_text(), True
        yield "donated_cond.wrong.hlo", (UNSAFE / "donated_cond.wrong.hlo").read_text(), False


def fault_of(text, assignment):
    try:
        safe_walk.check(text, assignment)
    except safe_walk.Fault as fault:
        return str(fault)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 30))
    arguments = parser.parse_args()
    num_modules = num_planted = num_wrong = 0
    with tempfile.TemporaryDirectory(prefix="cpu_modules.") as folder:
        compiler = Compiler(pathlib.Path(folder))
        for name, text, is_safe in modules(arguments.tool):
            module, assignment = compiler.compile(text)
            fault = fault_of(module, assignment)
            num_modules += 1
            if bool(fault) == is_safe:
                num_wrong += 1
                print(f"FAULT: {name}: {fault or 'nothing is found, and it is wrong'}")
            elif is_safe:
                planted, missed = plant.missed(module, assignment, arguments.seed, 1)
                num_planted += planted
                num_wrong += len(missed)
                for one in missed:
                    print(f"FAULT: {name}: not found: {one.kind}: {one.what}")
    print(f"cpu: {num_modules} modules, {num_planted} faults planted, {num_wrong} wrong, seed {arguments.seed}")
    return 1 if num_wrong or num_planted < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
