"""What the compiler says of a program: bytes as it has assigned them, seconds as they are modelled."""

import dataclasses
import re
import typing

from .._refusals import is_out_of_memory, needed_bytes

TPU_GRAIN = 16384  # XLA:TPU says temporaries in whole multiples of it
ALLOCATION = re.compile(r"^allocation \d+: size (\d+)(?:, color (\d+))?(?:, page \d+)?,? ?(.*?):?$", re.M)
CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')


@dataclasses.dataclass(frozen=True)
class Measured:
    """Bytes on one device. `error` is the compiler's where it refuses the program; bytes are then those that it says it
    would need, as far as it says so. `text` is the module that it has made, `hook_text` what a hook of the compiler is
    given."""
    argument_bytes: typing.Optional[int] = None
    output_bytes: typing.Optional[int] = None
    alias_bytes: typing.Optional[int] = None
    temp_bytes: typing.Optional[int] = None
    seconds: typing.Optional[float] = None
    cycles: typing.Optional[int] = None
    error: str = ""
    text: str = dataclasses.field(default="", repr=False)
    hook_text: str = dataclasses.field(default="", repr=False)

    @property
    def total_bytes(self):
        if self.temp_bytes is None:
            return None
        return self.temp_bytes + self.argument_bytes + self.output_bytes - self.alias_bytes

    @property
    def is_out_of_memory(self):
        return is_out_of_memory(self.error)

    @property
    def needed_bytes(self):
        """The bytes in all; where the compiler refuses the program, those that it says it would need, or None."""
        return self.total_bytes if self.total_bytes is not None else needed_bytes(self.error)

    def to_dict(self):
        """For JSON, without the text."""
        return {"argument_bytes": self.argument_bytes, "output_bytes": self.output_bytes,
                "alias_bytes": self.alias_bytes, "temp_bytes": self.temp_bytes, "total_bytes": self.total_bytes,
                "seconds": self.seconds, "cycles": self.cycles, "error": self.error}


def of_executable(compiled):
    """Of jax.stages.Compiled, as keyword arguments of Measured."""
    sizes = compiled.memory_analysis()
    return {"argument_bytes": sizes.argument_size_in_bytes, "output_bytes": sizes.output_size_in_bytes,
            "alias_bytes": sizes.alias_size_in_bytes, "temp_bytes": sizes.temp_size_in_bytes}


def of_assignment(text):
    """Of the text of XLA:TPU's buffer assignment, which is what memory_analysis() says: HBM has color 0."""
    found = {"argument_bytes": 0, "output_bytes": 0, "alias_bytes": 0, "temp_bytes": 0}
    for size, color, kind in ALLOCATION.findall(text):
        if int(color or 0) or "constant" in kind or "thread-local" in kind:
            continue
        is_parameter, is_output = "parameter " in kind, "maybe-live-out" in kind
        found["argument_bytes"] += int(size) * is_parameter
        found["output_bytes"] += int(size) * is_output
        found["alias_bytes"] += int(size) * (is_parameter and is_output)
        found["temp_bytes"] += int(size) * (not is_parameter and not is_output)
    found["temp_bytes"] = -(-found["temp_bytes"] // TPU_GRAIN) * TPU_GRAIN
    return found


def cycles_of(text):
    """XLA:TPU's estimated cycles of a module's instructions, loops once; None where it has none."""
    found = [int(one) for one in CYCLES.findall(text)]
    return sum(found) if found else None
