"""Compares what XLA:CPU's code generators make of each operation: that of tiles, which compiles a fusion of nothing
but elementwise operations, and that of loops, which compiles what reads and writes slices. An operation whose
bits differ must be kept in its function (rounding.c), as erf is. Run by scripts/check/bits --functions.

    function_check.py FOLDER [OPTION...]"""

import argparse
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

KEPT = {"erf", "erf + b"}  # by rounding.c
DTYPES = {"f32": jnp.float32, "f64": jnp.float64, "bf16": jnp.bfloat16, "f16": jnp.float16}
UNARY = ("tanh", "exp", "exp2", "expm1", "log", "log1p", "logistic", "sin", "cos", "tan", "sqrt", "rsqrt", "cbrt", "erf",
         "erfc", "erf_inv", "sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos", "atan", "floor", "ceil", "sign",
         "abs", "neg", "lgamma", "digamma")
BINARY = ("pow", "atan2", "div", "rem", "max", "min", "mul", "add", "sub")
FORMS = {
    "a * b + c": lambda a, b, c: a * b + c, "a * b - c": lambda a, b, c: a * b - c,
    "c - a * b": lambda a, b, c: c - a * b, "-(a * b) + c": lambda a, b, c: -(a * b) + c,
    "abs(a * b) + c": lambda a, b, c: abs(a * b) + c, "a * b * c + a": lambda a, b, c: a * b * c + a,
    "(a + b) * c": lambda a, b, c: (a + b) * c, "a / b + c": lambda a, b, c: a / b + c,
    "exp * b - c": lambda a, b, c: jnp.exp(a) * b - c, "exp + b": lambda a, b, c: jnp.exp(a) + b,
    "sin * b + c": lambda a, b, c: jnp.sin(a) * b + c, "tanh + b": lambda a, b, c: jnp.tanh(a) + b,
    "tanh(a * b)": lambda a, b, c: jnp.tanh(a * b), "logistic * b + c": lambda a, b, c: lax.logistic(a) * b + c,
    "rsqrt * b + c": lambda a, b, c: lax.rsqrt(abs(a)) * b + c, "expm1 + b": lambda a, b, c: jnp.expm1(a) + b,
    "log1p(a * b)": lambda a, b, c: jnp.log1p(abs(a * b)), "pow + c": lambda a, b, c: lax.pow(abs(a), b) + c,
    "maximum(a * b, c) + a": lambda a, b, c: jnp.maximum(a * b, c) + a,
    "where(a > b, a * b, c)": lambda a, b, c: jnp.where(a > b, a * b, c), "erf + b": lambda a, b, c: lax.erf(a) + b,
    "to bf16 and back": lambda a, b, c: (a * b).astype(jnp.bfloat16).astype(a.dtype) + c,
}


def forms():
    """By name: a function of three arrays."""
    unary = {name: lambda a, b, c, f=getattr(lax, name): f(a) for name in UNARY if hasattr(lax, name)}
    binary = {name: lambda a, b, c, f=getattr(lax, name): f(a, b) for name in BINARY}
    return {**unary, **binary, **FORMS}


def numbers(generator, dtype, count):
    """Of all sizes; a quarter of them are any bits."""
    made = (generator.standard_normal(count) * np.exp(2 * generator.standard_normal(count))).astype(np.float32)
    made[:count // 4] = generator.integers(0, 2**32, count // 4, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        return jnp.asarray(made.astype(DTYPES[dtype]))


def in_loops(function, arrays, count):
    """What the function computes where it reads slices, and writes one."""
    def sliced(wholes, start, out):
        parts = [lax.dynamic_slice(whole, (start,), (count,)) for whole in wholes]
        return lax.dynamic_update_slice(out, function(*parts)[None], (start, jnp.zeros_like(start)))
    dtype = jax.eval_shape(function, *arrays).dtype
    wholes = [jnp.concatenate([a, a]) for a in arrays]
    return jax.jit(sliced)(wholes, jnp.int32(0), jnp.zeros((3, count), dtype))[0]


def num_other(a, b):
    """How many elements have other bits, all that is no number being the same."""
    a, b = np.array(a), np.array(b)
    for one in (a, b):
        with np.errstate(all="ignore"):
            one[np.isnan(one.astype(np.float64))] = np.nan
    a, b = (np.frombuffer(one.tobytes(), np.uint8).reshape(one.size, -1) for one in (a, b))
    return int((a != b).any(axis=1).sum())


def main():
    parser = argparse.ArgumentParser(prog="scripts/check/bits --functions")
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=1 << 17, help="numbers for each operation [131072]")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    generator, num_compared, found = np.random.default_rng(given.seed), 0, set()
    for dtype in DTYPES:
        arrays = [numbers(generator, dtype, given.count) for _ in range(3)]
        for name, function in forms().items():
            count = num_other(jax.jit(function)(*arrays), in_loops(function, arrays, given.count))
            num_compared += 1
            if count:
                found.add(name)
                print(f"{name} of {dtype}: {count} of {given.count} numbers differ", flush=True)
    print(f"JAX {jax.__version__}: {num_compared} operations and types, {len(found)} differ; kept in their functions: "
          f"{', '.join(sorted(KEPT))}")
    return int(bool(found - KEPT))


if __name__ == "__main__":
    sys.exit(main())
