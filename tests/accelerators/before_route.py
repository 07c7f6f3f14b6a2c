"""Rematerializes a program before XLA optimizes it, as remat_hlo.jax.jit does, with each compilation in a process of
its own: what is compiled for a TPU can then be stopped when XLA has assigned the buffers. What is tested is the
package's own search for the best candidate (remat_hlo/_before.py), which is given these compilations."""

import types

from apart import SIZES


class Executable:
    """A compilation, with what the search asks of one."""

    def __init__(self, made):
        self.made = made

    def get_compiled_memory_stats(self):
        truth = self.made.truth()
        return types.SimpleNamespace(**{name: truth[name] for name in SIZES})


def read_module(path):
    """The StableHLO module that a process has written."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    return ir.Module.parse(path.read_bytes(), mlir.make_ir_context())


def write_module(module, path):
    with open(path, "wb") as file:
        module.operation.write_bytecode(file)


def search(case, plain, target, folder, compile_given):
    """(the compilation of the best candidate, the report, warnings). `compile_given(path, number)` compiles the module
    of a file."""
    from remat_hlo import _before, _limits
    from remat_hlo._options import Options
    from remat_hlo._refusals import is_out_of_memory
    original = read_module(plain.folder / "lowered.mlirbc")
    numbers = iter(range(1 << 30))

    def compile_module(module):
        if module is original:
            made = plain
        else:
            number = next(numbers)
            path = folder / f"candidate{number}.mlirbc"
            write_module(module, path)
            made = compile_given(path, number)
        if "error" in made.outcome:
            raise RuntimeError(made.outcome["error"])
        return Executable(made)

    options = Options.make(mem_limit=case.budget, min_peak="64KiB", stage=_before.STAGE)
    limit = case.budget
    if limit == "auto":
        limit = _limits.limit_of_absent(options, target.platform, target.profile)
    try:
        best, report, warnings = _before.compile_within(compile_module, original, options, limit, target.profile,
                                                        target.platform)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return plain, None, []  # neither fits
    return best.made, report, warnings
