#!/usr/bin/env python3
"""Counts the operations in the LLO that XLA:TPU makes of small programs for a TPU that is not there, and compares them with
what analysis/flow/rounding.h takes for granted there. Run by scripts/check/accelerators --contraction, in an environment that
has JAX and libtpu, which writes its LLO with --xla_jf_dump_to.

 1. XLA:TPU contracts nothing: a product and a sum are a vmul and a vadd, also where both are in one kernel.
 2. It adds up a chain of sums in the order of the HLO.
 3. What one kernel computes of arithmetic and of elementary functions, two kernels compute with the same operations,
    divided at a value that is handed on in memory.
 4. A value that is narrowed to bf16 and widened again in one kernel is not rounded at all. If it is, the rule is stricter
    than it has to be, which is said.
 5. A product of matrices is added up in windows of what it is contracted over, and how large these are depends on what
    else its kernel computes. If it does not, that is said, too.

usage: check_contraction_tpu.py --folder=FOLDER [--target=v5e]. Ends with 1 if a count is another one."""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

from apart import environment_for
from targets import TARGETS, devices_of

# `%v65_v10 = vmul.f32 %v49_v4, %v46_v3`: an operation, and what it reads.
OPERATION = re.compile(r"(%v\w+) = (v[a-z0-9]+(?:\.[a-z0-9]+)*) ([^;}]*)")
PACKING = ("vpack", "vunpack")
ROWS, COLUMNS = 8, 128  # one register
NARROW_NAME, CHAIN_NAME = "narrowed", "chain"
# What a register full of each program takes.
EXPECTED = {"sum": {"vmul.f32": 1, "vadd.f32": 1}, "compete": {"vmul.f32": 2, "vadd.f32": 1},
            "shared": {"vmul.f32": 3, "vadd.f32": 2}, CHAIN_NAME: {"vadd.f32": 9}}


# ---- programs: functions of arrays, by name. `_apart` hands values on between kernels ----

def programs():
    import jax
    import jax.numpy as jnp

    def apart(value):
        return jax.lax.optimization_barrier(value)

    def gelu(p, a, b):
        return (a * b + p) + p * b

    def whole(value):
        return value

    made = {}
    for end, cut in (("", whole), ("_apart", apart)):
        made |= {
            f"sum{end}": lambda a, b, c, d, cut=cut: cut(a * b) + c,
            f"compete{end}": lambda a, b, c, d, cut=cut: cut(a * b) + c * d,
            f"shared{end}": lambda a, b, c, d, cut=cut: gelu(cut(c * d), a, b),
            f"{CHAIN_NAME}{end}": lambda a, b, c, d, cut=cut: (((cut((((a + b) + c) + d) + b) + a) + d) + c) + b + a,
            **{f"{name}{end}": (lambda f: lambda a, b, c, d, cut=cut: cut(f(cut(a * b), c)) * b + d)(f)
               for name, f in functions().items()},
        }
    made[NARROW_NAME] = lambda a, b, c, d: apart((a * b).astype(jnp.bfloat16)).astype(jnp.float32) * c + d
    return made


def functions():
    import jax
    import jax.numpy as jnp
    unary = {"tanh": jnp.tanh, "logistic": jax.nn.sigmoid, "erf": jax.scipy.special.erf, "exp": jnp.exp, "log": jnp.log,
             "log1p": jnp.log1p, "expm1": jnp.expm1, "rsqrt": jax.lax.rsqrt, "sqrt": jnp.sqrt, "cbrt": jnp.cbrt,
             "sin": jnp.sin}
    return {**{name: (lambda f: lambda x, y: f(x))(f) for name, f in unary.items()},
            "divide": lambda x, y: x / y, "power": lambda x, y: x ** y}


# Of a product of these rows, contracted elements and columns, not all of the factors has room in VMEM.
PRODUCT = 256, 16384, 512


def products():
    """A product alone, and one whose kernel computes more of it and writes all of that into stacks."""
    import jax
    import jax.numpy as jnp

    def beside_stacks(a, b, c):
        y = a @ b
        stacked = (y, jnp.tanh(y + c), y * c, jnp.sin(y), y - c, y * y)
        return [jax.lax.dynamic_update_index_in_dim(jnp.zeros((4, *y.shape), y.dtype), value, 2, 0) for value in stacked]
    return {"product": lambda a, b, c: a @ b, "product_beside_stacks": beside_stacks}


def windows_of(text):
    """(contracted elements in a window, number of windows) of the product in a compiled text."""
    for line in text.splitlines():
        found = re.search(r"(?:kind=kOutput| convolution\().*backend_config=(\{.*\})", line)
        if found and "window_config" in line:
            window = json.loads(found[1])["window_config"]
            return int(window["input_window_bounds"][1]) * COLUMNS, int(window["iteration_bounds"][2])
    return None


# ---- the hook, which merges the two kernels of `narrowed` ----

def merge_kernels(text):
    """The module with what the first kernel computes within the second one, which reads it. None if it looks otherwise."""
    bodies = dict(re.findall(r"(?ms)^%(\S+) \([^\n]*\{\n(.*?)^\}\n", text))
    kernels = re.findall(r"%(\S+) = \S+ fusion\(([^)]*)\), kind=kLoop, calls=%([\w.]+)", text)
    barrier = re.search(r"%(\S+) = \S+ opt-barrier\(%([\w.-]+)\)", text)
    if len(kernels) != 2 or not barrier:
        return None
    (maker, made_of, maker_body), (_, read, reader_body) = kernels
    if barrier[2] != maker or f"%{barrier[1]}" not in read.split(", "):
        return None
    operands, makes = read.split(", "), made_of.split(", ")
    index = operands.index(f"%{barrier[1]}")
    places = [index, *range(len(operands), len(operands) + len(makes) - 1)]  # of the maker's parameters in the reader
    inner = re.sub(r"%([\w.]+)", r"%made.\1", bodies[maker_body])
    inner = re.sub(r"parameter\((\d+)\)", lambda found: f"parameter({places[int(found[1])]})", inner)
    result = re.search(r"ROOT %(\S+)", inner)[1]
    body = re.sub(rf"parameter\({index}\)", f"bitcast(%{result})", bodies[reader_body])
    operands[index] = makes[0]
    text = text.replace(bodies[reader_body], inner.replace("ROOT ", "") + body)
    text = text.replace(f"fusion({read})", f"fusion({', '.join(operands + makes[1:])})")
    text = re.sub(rf"(?m)^%{re.escape(reader_body)} \(.*?\) ->", f"%{reader_body} (merged: f32[]) ->", text)
    text = re.sub(rf"(?ms)^%{re.escape(maker_body)} \(.*?^\}}\n", "", text)
    for name in (barrier[1], maker):
        text = re.sub(rf"(?m)^  %{re.escape(name)} = .*\n", "", text)
    return text


def hook(serialized):
    from jaxlib import _hlo
    text = _hlo.HloModule.from_serialized_hlo_module_proto(bytes(serialized)).to_string()
    if f"jit_{NARROW_NAME}" not in text.splitlines()[0]:
        return None
    merged = merge_kernels(text)
    print(json.dumps({"merged": merged is not None}), flush=True)
    return None if merged is None else _hlo.hlo_module_from_text(merged).as_serialized_hlo_module_proto()


# ---- one compilation of all, in a process of its own ----

def bundles_in(folder):
    """Of the kernels, without those of the program around them."""
    return {path.name for path in folder.glob("*-final_bundles.txt")
            if not any(word in path.name for word in ("schedule-analysis", "-TLP-", "-<late"))}


def compile_all(target, folder):
    import jax
    import jax.numpy as jnp
    from remat_hlo import _plugins
    sharding = jax.sharding.SingleDeviceSharding(devices_of(target, 1)[0])
    arguments = [jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32)] * 4
    _plugins.register("tpu", "check_contraction", "POST_SCHEDULER", hook)
    for name, function in programs().items():
        def named(a, b, c, d, function=function):
            return function(a, b, c, d)
        named.__name__ = name
        before = bundles_in(folder)
        jax.jit(named, in_shardings=sharding, out_shardings=sharding).trace(*arguments).lower(
            lowering_platforms=("tpu",)).compile()
        print(json.dumps({"program": name, "files": sorted(bundles_in(folder) - before)}), flush=True)
    rows, contracted, columns = PRODUCT
    arguments = [jax.ShapeDtypeStruct(shape, jnp.bfloat16)
                 for shape in ((rows, contracted), (contracted, columns), (rows, columns))]
    for name, function in products().items():
        compiled = jax.jit(function, in_shardings=sharding, out_shardings=sharding).trace(*arguments).lower(
            lowering_platforms=("tpu",)).compile()
        print(json.dumps({"product": name, "windows": windows_of(compiled.as_text())}), flush=True)


def operations(folder, files):
    """(result, operation, operands) of all kernels of a program."""
    return [found for name in files for found in OPERATION.findall((folder / name).read_text(encoding="utf-8"))]


def count(found):
    return collections.Counter(operation for _, operation, _ in found
                               if operation.endswith((".f32", ".bf16")) and not operation.startswith(PACKING))


def is_in_order(found):
    """Whether each sum adds something to the sum before it, and not two sums to each other."""
    sums = {result for result, operation, _ in found if operation == "vadd.f32"}
    return all(sum(operand.strip() in sums for operand in operands.split(",")) < 2
               for _, operation, operands in found if operation == "vadd.f32")


# ---- what is expected ----

def faults_of(found):
    counts = {name: count(list_of) for name, list_of in found.items()}
    for name, expected in EXPECTED.items():
        if counts[name] != expected:
            yield f"{name}: {dict(counts[name])} instead of {expected}"
    for name in sorted(counts):
        if f"{name}_apart" in counts and counts[name] != counts[f"{name}_apart"]:
            yield f"{name}: {dict(counts[name])} in one kernel, {dict(counts[name + '_apart'])} in several"
    if not is_in_order(found[CHAIN_NAME]):
        yield f"{CHAIN_NAME}: sums are added to each other"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--target", choices=[n for n, t in TARGETS.items() if t.platform == "tpu"], default="v5e")
    parser.add_argument("--compile", action="store_true", help="the process that compiles")
    options = parser.parse_args()
    target = TARGETS[options.target]
    folder = options.folder / options.target
    if options.compile:
        compile_all(target, folder)
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    environment = {**os.environ, **environment_for(target, folder)}
    environment["LIBTPU_INIT_ARGS"] = " ".join((environment.get("LIBTPU_INIT_ARGS", ""), f"--xla_jf_dump_to={folder}",
                                                "--xla_jf_dump_llo_text=true"))
    done = subprocess.run([sys.executable, __file__, f"--folder={options.folder}", f"--target={options.target}",
                           "--compile"], env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return 1
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = {line["program"]: operations(folder, line["files"]) for line in lines if "program" in line}
    for name, list_of in found.items():
        print(f"{name:16} " + ", ".join(f"{number} {operation}" for operation, number in sorted(count(list_of).items())))
    windows = {line["product"]: line["windows"] for line in lines if "product" in line}
    for name, of in windows.items():
        print(f"{name:21} " + (f"{of[1]} windows of {of[0]} contracted elements" if of else "no window"))
    faults = [*faults_of(found)]
    if {"merged": True} not in lines:
        faults.append(f"{NARROW_NAME}: its two kernels were not merged")
    for fault in faults:
        print(f"FAULT: {fault}")
    packs = sum(operation.startswith(PACKING) for _, operation, _ in found[NARROW_NAME])
    print(f"{options.target}: nothing is contracted" if not faults else f"{len(faults)} faults",
          "; a value that is narrowed and widened in one kernel is ",
          "rounded, so the rule of narrow values is needless" if packs else "not rounded",
          "; a product is added up ", "in other windows" if len({str(of) for of in windows.values()}) > 1 else
          "in the same windows, so this says nothing for the rule that it stays in its fusion,", " beside others",
          sep="")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
