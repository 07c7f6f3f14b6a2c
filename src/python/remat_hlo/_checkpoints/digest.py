"""What an equation is, as text: the same for the same program on any number of devices and in each process, and what
plans are compared by. Shardings, meshes and names of functions that have no part in the result are left out."""

import hashlib
import re

import numpy as np

from .equations import open_jaxpr, scan_counts

# Parameters that say where values are, or how they are compiled, rather than what they are.
WITHOUT = frozenset(("sharding", "out_sharding", "in_shardings", "out_shardings", "in_layouts", "out_layouts",
                     "ctx_mesh", "mesh", "donated_invars", "keep_unused", "inline", "name", "compiler_options_kvs",
                     "resource_env", "unconstrained_dims", "layout", "devices", "srcs", "copy_semantics", "ft_in",
                     "ft_out", "num_consts", "num_carry", "linear", "_split_transpose", "policy", "prevent_cse",
                     "differentiated", "debug_info", "jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd", "out_trees"))
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def type_text(aval):
    """A type as f32[8,128]."""
    dtype = getattr(aval, "dtype", None)
    if dtype is None:
        return str(aval)
    name = getattr(dtype, "name", str(dtype))
    short = re.sub(r"^(bfloat|float|uint|int|complex)", lambda m: {
        "bfloat": "bf", "float": "f", "uint": "u", "int": "s", "complex": "c"}[m[1]], name)
    return f"{short}[{','.join(map(str, aval.shape))}]"


def params_text(params):
    """An equation's parameters, in the order of their names."""
    return " ".join(f"{name}={text}" for name, value in sorted(params.items())
                    if name not in WITHOUT and (text := _value_text(value)) is not None)


def _value_text(value):
    """None where it has no part in the result, or cannot be told from another."""
    if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
        return f"{{{short_digest(jaxpr_lines(value))}}}"
    if isinstance(value, (tuple, list)):
        return f"({','.join(str(_value_text(one)) for one in value)})"
    if isinstance(value, np.ndarray):
        return f"{type_text(value)}:{hashlib.sha256(value.tobytes()).hexdigest()[:12]}"
    if callable(value) and not isinstance(value, (type, np.dtype)):
        return None
    return ADDRESS.sub("", str(value))


def jaxpr_lines(jaxpr):
    """A line for each equation of a jaxpr that stays one equation, such as the body of a custom rule."""
    opened = open_jaxpr(jaxpr)
    numbers = {variable: number for number, variable in enumerate(
        (*opened.inputs, *(variable for variable, _ in opened.constants)))}
    for equation in opened.equations:
        for variable in equation.outvars:
            numbers[variable] = len(numbers)
        inputs = " ".join(f"%{numbers[atom]}" if atom in numbers else str(atom)
                          for atom in map(_hashable, equation.invars))
        yield (f"{equation.primitive.name} {inputs} {params_text(equation.params)} -> "
               f"{' '.join(type_text(variable.aval) for variable in equation.outvars)}")


class _Text(str):
    """A literal as text, among variables."""


def _hashable(atom):
    return _Text(_literal_text(atom)) if hasattr(atom, "val") else atom


def _literal_text(literal):
    value = np.asarray(literal.val) if not hasattr(literal.val, "dtype") or isinstance(
        literal.val, (np.ndarray, np.generic)) else literal.val
    if getattr(value, "size", 2) == 1 and isinstance(value, np.ndarray):
        return f"{value.reshape(()).item()!r}:{type_text(literal.aval)}"
    return type_text(literal.aval)


def program_lines(program):
    """A line for each equation, those of a scan's body after it, indented."""
    lines = []
    for equation in program.equations:
        inputs = " ".join(f"%{one}" if isinstance(one, int) else _literal_text(one) for one in equation.inputs)
        params = dict(equation.params)
        if equation.body is not None:
            params["jaxpr"] = "body"
            params["counts"] = scan_counts(params)
        outputs = " ".join(f"%{one}:{type_text(program.avals[one])}" for one in equation.outputs)
        lines.append(" ".join(filter(None, (outputs, "=", equation.name, inputs, params_text(params)))))
        if equation.body is not None:
            lines += [f"  {line}" for line in program_lines(equation.body)]
    return lines


def head_line(program):
    """The types of what goes in, and what comes out."""
    given = " ".join(type_text(aval) for aval in program.avals[:program.num_given])
    outputs = " ".join(f"%{one}" if isinstance(one, int) else _literal_text(one) for one in program.outputs)
    return f"({given}) -> {outputs}"


def digest(program):
    return short_digest([head_line(program), *program_lines(program)])


def short_digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
