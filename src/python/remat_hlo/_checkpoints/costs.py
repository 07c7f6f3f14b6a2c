"""What it costs to compute an equation again, in bytes of memory traffic that take as long: a roofline. What XLA fuses
into its readers costs its arithmetic alone."""

import math

import numpy as np

# Operations of the vector unit for each element of a result. What is in no table below is one.
OPERATIONS = {"exp": 8, "exp2": 8, "expm1": 8, "log": 8, "log1p": 8, "tanh": 10, "logistic": 10, "sin": 12, "cos": 12,
              "tan": 16, "erf": 12, "erf_inv": 16, "erfc": 12, "pow": 16, "rsqrt": 4, "sqrt": 4, "cbrt": 10, "div": 4,
              "atan2": 16, "integer_pow": 2, "lgamma": 30, "digamma": 30, "threefry2x32": 60, "random_bits": 60,
              "rng_bit_generator": 10, "random_gamma": 100}
# They say only where values are, or are read through their readers.
FREE = frozenset(("reshape", "broadcast_in_dim", "squeeze", "expand_dims", "bitcast_convert_type", "iota", "copy",
                  "stop_gradient", "sharding_constraint", "random_wrap", "random_unwrap", "random_split",
                  "random_fold_in", "random_seed", "random_clone", "pvary", "empty"))
# They read all of their inputs, which no reader of the result does for them.
PASSES = {"reduce_sum": 1, "reduce_max": 1, "reduce_min": 1, "reduce_prod": 1, "reduce_and": 1, "reduce_or": 1,
          "argmax": 1, "argmin": 1, "cumsum": 3, "cumprod": 3, "cummax": 3, "cummin": 3, "cumlogsumexp": 4, "sort": 16,
          "top_k": 16, "approx_top_k": 4, "gather": 2, "scatter": 4, "scatter-add": 4, "scatter_add": 4,
          "dynamic_update_slice": 2, "reduce_window": 2, "reduce_window_sum": 2, "reduce_window_max": 2,
          "select_and_scatter_add": 4, "select_and_gather_add": 4, "transpose": 2, "rev": 2, "fft": 8}


def aval_bytes(aval):
    """Bytes of one array as it is written down, without padding."""
    dtype = getattr(aval, "dtype", None)
    if dtype is None:
        return 0
    itemsize = getattr(dtype, "itemsize", 4)
    return math.prod(aval.shape) * itemsize


class Rates:
    """How much arithmetic takes as long as a byte of memory traffic, by a device profile."""

    def __init__(self, profile):
        bandwidth, flops = profile["memory_bandwidth"], profile["flops"]
        self._flops = {name: rate / bandwidth for name, rate in flops.items()}
        vector = profile.get("vector_flops", {}).get("default") or flops["default"] / 8
        self.vector = vector / bandwidth

    def flops(self, dtype):
        name = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64", "int8": "s8",
                "uint8": "u8"}.get(getattr(dtype, "name", ""), "default")
        return self._flops.get(name, self._flops["default"])


def jaxpr_cost(opened, rates):
    """The cost of a jaxpr's equations, each alone."""
    return sum(equation_cost(one.primitive.name, one.params, [atom.aval for atom in one.invars],
                             [variable.aval for variable in one.outvars], rates) for one in opened.equations)


def equation_cost(name, params, inputs, outputs, rates):
    """In bytes of memory traffic, of an equation on one device."""
    size = sum(math.prod(aval.shape) for aval in outputs if hasattr(aval, "shape"))
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        depth = math.prod(inputs[0].shape[axis] for axis in contracted)
        return _product(2 * size * depth, inputs, outputs, rates)
    if name == "conv_general_dilated":
        numbers, kernel = params["dimension_numbers"], inputs[1].shape
        depth = math.prod(kernel) // max(1, kernel[numbers.rhs_spec[0]])
        return _product(2 * size * depth, inputs, outputs, rates)
    inner = _inner_jaxprs(params)
    if inner:
        from .equations import open_jaxpr
        trips = params.get("length", 1)
        return trips * max(jaxpr_cost(open_jaxpr(one), rates) for one in inner)
    if name in FREE:
        return 0
    traffic = sum(map(aval_bytes, inputs)) + sum(map(aval_bytes, outputs))
    if name in PASSES:
        return PASSES[name] * traffic
    if _is_elementwise(inputs, outputs) or name in OPERATIONS or name == "convert_element_type":
        return OPERATIONS.get(name, 1) * size / rates.vector
    if name in ("slice", "dynamic_slice", "concatenate", "pad", "select_n", "clamp", "split"):
        return size / rates.vector
    return 8 * traffic  # solvers, calls of kernels, and what is not known


def _product(flops, inputs, outputs, rates):
    traffic = sum(map(aval_bytes, inputs)) + sum(map(aval_bytes, outputs))
    return max(traffic, flops / rates.flops(inputs[0].dtype))


def _is_elementwise(inputs, outputs):
    """Whether each element of the result is made of one of each input; dimensions of size 1 may be repeated."""
    shapes = {aval.shape for aval in outputs}
    return len(shapes) == 1 and all(_repeats(aval.shape, *shapes) for aval in inputs)


def _repeats(shape, whole):
    return not shape or (len(shape) == len(whole) and all(one in (1, all_) for one, all_ in zip(shape, whole)))


def _inner_jaxprs(params):
    found = []
    for value in params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(one, "eqns") or hasattr(one, "jaxpr"):
                found.append(one)
    return found


def as_integer(cost):
    """Costs are compared as whole numbers, so that each machine decides alike."""
    return int(np.ceil(cost))
