"""Rematerializes XLA's HLO under a memory budget.

    import remat_hlo
    module = remat_hlo.load("step.after_optimizations.txt")   # or text, or jax.jit(f).lower(…)
    print(module.report())
    result = module.remat("60%", algorithm="search")
    result.save("step.remat.hlo"); result.html("step.html")

remat_hlo.jax does this to every program while XLA compiles it."""

from . import _library
from ._library import (Diagnostic, Error, InputError, InternalError, NotEquivalentError,
                       OutOfMemoryError, UsageError)
from ._figures import Change, Comparison, Cost, LiveValue, Memory, Report
from ._files import devices
from ._module import Module, Rematerialized, advise, load
from ._request import algorithms, schedulers

__version__ = _library.load().rh_version().decode()

__all__ = ["Change", "Comparison", "Cost", "Diagnostic", "Error", "InputError", "InternalError",
           "LiveValue", "Memory", "Module", "NotEquivalentError", "OutOfMemoryError",
           "Rematerialized", "Report", "UsageError", "advise", "algorithms", "devices", "load",
           "schedulers"]
