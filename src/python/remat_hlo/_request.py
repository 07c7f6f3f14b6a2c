"""What may be asked of a rematerialization: which algorithms there are, and the options as the library takes them."""

from __future__ import annotations

from . import _library as lib
from ._sizes import parse_size

COLLECTION = "checkpoint=collection"


def algorithms() -> dict[str, str]:
    """A dictionary of the algorithms, with a line on each."""
    return dict(lib.entries("algorithms"))


def schedulers() -> dict[str, str]:
    """A dictionary of the schedulers, with a line on each."""
    return dict(lib.entries("schedulers"))


def _lines(expressions):
    if expressions is None or isinstance(expressions, str):
        return lib.encode(expressions)
    return lib.encode("\n".join(expressions)) if expressions else None


def remat_options(*, algorithm="auto", memory_model="heap", limit_counts="total",
                  emit="scheduled", protect="auto", small_node_limit=None, modes=("recompute",),
                  remat_collectives=False, block_size_limit=1, pin=None, never=None, parameters=None,
                  effort=5, time_limit=0, num_threads=1):
    """(options of rh_remat, what they refer to). Raises ValueError."""
    name, _, collection = algorithm.partition(":") if algorithm.startswith(COLLECTION) else (
        algorithm, "", "")
    if name == COLLECTION and not collection:
        raise ValueError(f"{COLLECTION} needs what to keep: {COLLECTION}:REGEX")
    if name not in algorithms():
        raise ValueError(f"algorithm: '{name}' is none of {', '.join(algorithms())}")
    bits = lib.flags("modes", modes, lib.MODES)
    settings = "\n".join(f"{key}={value}" for key, value in (parameters or {}).items())
    strings = [lib.encode(name), lib.encode(memory_model), lib.encode(collection or None),
               _lines(pin), _lines(never), lib.encode(settings or None)]
    options = lib.RematOptions(
        algorithm=strings[0], memory_model=strings[1],
        limit_counts=lib.choice("limit_counts", limit_counts, lib.COUNTS),
        emit=lib.choice("emit", emit, lib.EMITS),
        protect=lib.choice("protect", protect, lib.PROTECTS),
        small_node_bytes=-1 if small_node_limit is None else parse_size(small_node_limit),
        modes=bits, remat_collectives=remat_collectives, block_size_limit=block_size_limit,
        collection=strings[2], pin=strings[3], never=strings[4], parameters=strings[5],
        effort=effort, time_limit_seconds=time_limit, num_threads=num_threads)
    return options, strings
