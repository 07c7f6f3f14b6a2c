#!/usr/bin/env python3
"""Counts the multiplications, additions and fused multiply-adds in the PTX that XLA:GPU makes of small programs for a
GPU that is not there, and compares them with what analysis/flow/rounding.h takes for granted there. Run by
scripts/check/accelerators --contraction, in an environment that has JAX and the CUDA plugin.

 1. XLA:GPU contracts nothing: each product and each sum is an instruction that rounds (.rn, which ptxas must not fuse),
    in kernels of loops and in Triton's, whether a product and a sum are in one kernel or in two.
 2. What one kernel computes of arithmetic, two kernels compute with the same instructions, divided at a value that is
    handed on in memory.
 3. What a kernel adds up of a slice of an array, it adds up with the same instructions whether the array has many slices
    or one.
 4. Columns of fewer elements than a warp has threads are added up by one thread, each element to the sum before it,
    whether the kernel computes nothing else or more of it, or is one that adds up long columns.
 5. Products, quotients, powers and elementary functions of complex numbers are made of the same instructions in one
    kernel as in two.
 6. Some elementary functions are other instructions in Triton's kernels than in loops, so a fusion of another
    kind than a loop must stay what it is. If none is any more, the rule is stricter than it has to be, which is said.

usage: check_contraction.py --folder=FOLDER [--target=h100]. Ends with 1 if a count is another one."""

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

# An instruction of floating-point arithmetic: its operation and how it rounds.
ARITHMETIC = re.compile(r"^\s*(?:@%p\d+ )?(fma|mul|add|sub|div|rcp|sqrt|rsqrt|ex2|lg2|tanh|sin|cos)\.([a-z0-9.]*)\b"
                        r"(f16|bf16|f32|f64)x?2?\s", re.MULTILINE)
# A sum: its result, and what it adds. `add.rn.f32 %r3, %r1, %r2;`
SUM = re.compile(r"^\s*add\.rn\.f32\s+(%\w+), (%\w+), ([^;]+);", re.MULTILINE)
# What threads exchange.
EXCHANGE = re.compile(r"\b(?:shfl|bar|redux)\.sync")
ROWS = COLUMNS = 512
COLUMN_SIZES = (2, 4, 16)
FUNCTIONS = ("tanh", "logistic", "erf", "exp")
# Of complex numbers; what XLA:GPU makes of a product and of a quotient is all of it arithmetic.
COMPLEX = ("product", "quotient", "exp", "log", "tanh", "sin", "cos", "sqrt", "rsqrt", "expm1", "log1p", "power", "abs")


# ---- programs: functions of arrays, by name. `_apart` hands a value on between two kernels ----

def programs():
    import jax
    import jax.numpy as jnp

    def apart(value):
        return jax.lax.optimization_barrier(value)

    def row_max(value):  # Triton compiles what is normalized by rows
        return value.max(-1, keepdims=True)

    def gelu(a, b, c, d):
        p = c * d
        return (a * b + p) + p * b

    def rows_of_slice(stack, factor, index):
        return (jax.lax.dynamic_index_in_dim(stack, index[0, 0].astype(int), keepdims=False) * factor).sum(-1)

    def complex_one(name, cut):
        def of(a, b, c, d):
            z, w = jax.lax.complex(a, b), jax.lax.complex(c, d)
            made = complex_functions()[name](cut(z * w), w)
            last = cut(made) * cut(z * w)
            return last.real, last.imag, jnp.abs(made) if name == "product" else made.real
        return of

    def columns(a, count):
        return a.reshape(count, -1, COLUMNS).sum(0)

    return {
        **{f"columns_{n}": lambda a, b, c, d, n=n: columns(a, n) for n in COLUMN_SIZES},
        **{f"columns_{n}_beside": lambda a, b, c, d, n=n: (lambda s: (s * b[:ROWS // n], s * c[:ROWS // n], jnp.maximum(s, 0)))(
            columns(a, n)) for n in COLUMN_SIZES},
        **{f"columns_{n}_inside": lambda a, b, c, d, n=n: jnp.maximum(columns(a, n), 0).max(0) for n in COLUMN_SIZES},
        "slice_of_many": lambda a, b, c, d: rows_of_slice(a.reshape(8, -1, COLUMNS), b[:ROWS // 8], c),
        "slice_of_one": lambda a, b, c, d: rows_of_slice(a.reshape(8, -1, COLUMNS)[:1], b[:ROWS // 8], c),
        **{f"complex_{name}": complex_one(name, lambda value: value) for name in COMPLEX},
        **{f"complex_{name}_apart": complex_one(name, apart) for name in COMPLEX},
        "sum": lambda a, b, c, d: a * b + c,
        "sum_apart": lambda a, b, c, d: apart(a * b) + c,
        "compete": lambda a, b, c, d: a * b + c * d,
        "compete_apart": lambda a, b, c, d: apart(a * b) + c * d,
        "shared": gelu,
        "shared_apart": lambda a, b, c, d: (lambda p: (a * b + p) + p * b)(apart(c * d)),
        "sum_bf16": lambda a, b, c, d: (a.astype(jnp.bfloat16) * b.astype(jnp.bfloat16)
                                        + c.astype(jnp.bfloat16)),
        "rows": lambda a, b, c, d: (lambda s: s - row_max(s))(a * b + c),
        "rows_compete": lambda a, b, c, d: (lambda s: s - row_max(s))(a * b + c * d),
        **{f"{name}_loop": (lambda f: lambda a, b, c, d: f(a) * b)(f) for name, f in functions().items()},
        **{f"{name}_rows": (lambda f: lambda a, b, c, d: (lambda s: s - row_max(s))(f(a) * b))(f)
           for name, f in functions().items()},
    }


def functions():
    import jax
    import jax.numpy as jnp
    return dict(zip(FUNCTIONS, (jnp.tanh, jax.nn.sigmoid, jax.scipy.special.erf, jnp.exp), strict=True))


def complex_functions():
    import jax
    import jax.numpy as jnp
    made = {"product": lambda z, w: z * w * w, "quotient": lambda z, w: z / w, "rsqrt": lambda z, w: jax.lax.rsqrt(z),
            "power": lambda z, w: z ** w, "abs": lambda z, w: abs(z) + 0j}
    return {name: made.get(name) or (lambda f: lambda z, w: f(z))(getattr(jnp, name)) for name in COMPLEX}


# ---- one compilation of all, in a process of its own ----

def compile_all(target):
    import jax
    import jax.numpy as jnp
    sharding = jax.sharding.SingleDeviceSharding(devices_of(target, 1)[0])
    arguments = [jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32)] * 4
    for name, function in programs().items():
        def named(a, b, c, d, function=function):
            return function(a, b, c, d)
        named.__name__ = name
        lowered = jax.jit(named, in_shardings=sharding, out_shardings=sharding).trace(*arguments).lower(
            lowering_platforms=("cuda",))
        print(json.dumps({name: "__triton" in lowered.compile().as_text()}), flush=True)


def count(folder, name):
    """How often each operation occurs, over all kernels of a program."""
    counts = collections.Counter()
    for path in folder.glob(f"*.jit_{name}.*ptx"):
        for operation, rounding, _ in ARITHMETIC.findall(path.read_text()):
            counts[f"{operation}.{rounding.strip('.')}"] += 1
    return counts


def sums_in(folder, name):
    """(result, operands) of all sums of a program, by kernel, and whether its threads exchange anything."""
    texts = [path.read_text() for path in folder.glob(f"*.jit_{name}.*ptx")]
    return [[(found[0], found[1:]) for found in SUM.findall(text)] for text in texts], any(map(EXCHANGE.search, texts))


# ---- what is expected ----

def faults_of_columns(folder):
    for size in COLUMN_SIZES:
        for name in (f"columns_{size}", f"columns_{size}_beside", f"columns_{size}_inside"):
            kernels, do_exchange = sums_in(folder, name)
            if do_exchange and not name.endswith("_inside"):
                yield f"{name}: threads exchange what they have added up"
            if not any(kernels):
                yield f"{name}: nothing is added up"
            for sums in kernels:
                results = {result for result, _ in sums}
                if any(sum(operand in results for operand in operands) > 1 for _, operands in sums):
                    yield f"{name}: sums are added to each other"


def per_element(counts):
    """Of a kernel that computes several elements at a time, the counts for one."""
    least = min(counts.values(), default=1)
    return {operation: number / least for operation, number in counts.items()}


def joined(counts):
    """Differences are sums of what is negated, which LLVM writes as either."""
    made = collections.Counter(counts)
    made["add.rn"] += made.pop("sub.rn", 0)
    return made


def faults_of(counts, is_triton):
    for name in ("sum", "sum_apart", "compete", "compete_apart", "shared", "shared_apart", "sum_bf16", "rows",
                 "rows_compete", "slice_of_many", "slice_of_one"):
        if not counts[name]:
            yield f"{name}: there is no PTX"
        for operation in counts[name]:
            if operation.startswith("fma"):
                yield f"{name}: {counts[name][operation]} {operation}: a product and a sum are contracted"
            if operation.partition(".")[0] in ("mul", "add", "sub") and "rn" not in operation.split("."):
                yield f"{name}: {operation} does not say that it rounds, so that ptxas may contract it"
    for name in ("complex_product", "complex_quotient"):
        if any(operation.startswith("fma") for operation in counts[name]):
            yield f"{name}: {dict(counts[name])}: a product and a sum are contracted"
    for name in ("sum", "compete", "shared", *(f"complex_{name}" for name in COMPLEX)):
        if joined(counts[name]) != joined(counts[f"{name}_apart"]):
            yield f"{name}: {dict(counts[name])} in one kernel, {dict(counts[name + '_apart'])} in two"
    if counts["slice_of_many"] != counts["slice_of_one"]:
        yield f"a slice of many: {dict(counts['slice_of_many'])}, of one: {dict(counts['slice_of_one'])}"
    for name in ("rows", "rows_compete", *(f"{f}_rows" for f in FUNCTIONS)):
        if not is_triton[name]:
            yield f"{name}: Triton does not compile it any more, so nothing is known of Triton"


def differing(counts):
    """The functions that Triton computes with other instructions than loops do, apart from the maximum."""
    for name in FUNCTIONS:
        loop, rows = dict(counts[f"{name}_loop"]), dict(counts[f"{name}_rows"])
        rows.pop("sub.rn", None)
        loop.pop("sub.rn", None)
        if per_element(loop) != per_element(rows):
            yield name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--target", choices=[n for n, t in TARGETS.items() if t.platform == "cuda"], default="h100")
    parser.add_argument("--compile", action="store_true", help="the process that compiles")
    options = parser.parse_args()
    target = TARGETS[options.target]
    if options.compile:
        compile_all(target)
        return 0
    folder = options.folder / options.target
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    environment = {**os.environ, **environment_for(target, folder)}
    environment["XLA_FLAGS"] += " --xla_dump_emitter_re=.*"
    done = subprocess.run([sys.executable, __file__, f"--folder={options.folder}", f"--target={options.target}",
                           "--compile"], env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return 1
    is_triton = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            is_triton.update(json.loads(line))
    counts = {name: count(folder, name) for name in is_triton}
    for name in counts:
        text = ", ".join(f"{number} {operation}" for operation, number in sorted(counts[name].items()))
        print(f"{name:16} {'Triton' if is_triton[name] else 'loops ':6}  {text}")
    faults = [*faults_of(counts, is_triton), *faults_of_columns(folder)]
    for fault in faults:
        print(f"FAULT: {fault}")
    others = [*differing(counts)]
    print(f"{options.target}: nothing is contracted" if not faults else f"{len(faults)} faults",
          f"; other instructions in Triton: {', '.join(others) or 'none, so the rule of opaque kernels is needless'}",
          sep="")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
