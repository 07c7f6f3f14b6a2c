"""Figures of modules: what is measured of one, where its memory goes, and how algorithms compare."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import functools
import json
import typing

from . import _library as lib
from . import _show
from ._sizes import format_bytes


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of a module, as a memory model counts them. See rh_memory in remat_hlo.h."""
    peak_bytes: int
    temp_bytes: int
    parameter_bytes: int
    output_bytes: int
    aliased_bytes: int
    constant_bytes: int
    total_bytes: int
    lower_bound_bytes: int
    peak_instruction: str
    temp_more_bytes: int = 0
    temp_less_bytes: int = 0
    lower_bound_kind: str = ""

    @property
    def least_temp_bytes(self) -> int:
        """The temporaries that XLA will assign, at least. On TPU it has yet to put some of them into VMEM."""
        return self.temp_bytes - self.temp_less_bytes

    @property
    def most_temp_bytes(self) -> int:
        """The temporaries that XLA will assign, at most, which is what limits count."""
        return self.temp_bytes + self.temp_more_bytes

    @property
    def has_temp_range(self) -> bool:
        return self.least_temp_bytes < self.most_temp_bytes

    def counted_bytes(self, counts: str = "total") -> int:
        """What a limit on `temp`, `temp+outputs` or `total` counts."""
        return self._counted[counts]

    def bound_bytes(self, counts: str = "total") -> int:
        """What no order and no recomputation brings counted_bytes(counts) below."""
        return lib.load().rh_counted_bound_bytes(ctypes.byref(self._struct), lib.COUNTS[counts])

    def weigh(self, counts: str, limit_bytes: int, min_reducible_bytes: int = 0) -> str:
        """What a budget asks of the module: `within`, `little`, `below` or `open`; see rh_prospect in
        remat_hlo.h."""
        return lib.name_of(lib.load().rh_weigh_budget(
            ctypes.byref(self._struct), lib.COUNTS[counts], limit_bytes, min_reducible_bytes),
            lib.PROSPECTS)

    @functools.cached_property
    def _struct(self):
        return lib.Memory(**{f.name: getattr(self, f.name) for f in dataclasses.fields(self)
                             if f.type in (int, "int")}, lower_bound_kind=lib.encode(self.lower_bound_kind))

    @functools.cached_property
    def _counted(self):
        return {name: lib.load().rh_counted_bytes(ctypes.byref(self._struct), number)
                for name, number in lib.COUNTS.items()}


@dataclasses.dataclass(frozen=True)
class Cost:
    """The modelled work of a module, weighted by trip counts, and its seconds on the device."""
    flops: float
    transcendentals: float
    bytes_accessed: float
    seconds: float
    source: str = "roofline"  # whose seconds: "XLA:TPU's estimates", "measured, 12 steps", …


@dataclasses.dataclass(frozen=True)
class LiveValue:
    """A value that is live at the peak."""
    name: str
    opcode: str
    shape: str
    category: str
    bytes: int
    op_name: str
    source: str


@dataclasses.dataclass(frozen=True)
class Change:
    """A sum over values that differs between two modules."""
    name: str
    before_bytes: int
    after_bytes: int


def place(struct):
    """What a sum is of, with the line if it is of one."""
    return f"{struct.name}:{struct.line}" if struct.line else str(struct.name)


def read_memory(struct):
    return Memory(**{field.name: getattr(struct, field.name) for field in
                     dataclasses.fields(Memory) if field.type in (int, "int")},
                  peak_instruction=str(struct.peak_instruction),
                  lower_bound_kind=(struct.lower_bound_kind or b"").decode())


class Report:
    """Where the memory of a module goes at its peak. `live` are the values there, largest first;
    `by` has their sums by category, opcode, source, op_name and computation."""

    def __init__(self, module, struct):
        self.module, self.name = module, str(struct.module)
        self.memory_model, self.target = struct.memory_model.decode(), struct.target.decode()
        self.memory = read_memory(struct.memory.contents)
        self.fragmentation_bytes = struct.fragmentation_bytes
        self.shared_bytes, self.num_positions = struct.shared_bytes, struct.num_positions
        self.peak_position = struct.peak_position
        self.live = [self._value(struct.live[i].contents) for i in range(struct.num_live)]
        self.by = {name: self._sums(struct.sums[number]) for name, number in lib.SUMS.items()}

    @staticmethod
    def _value(value):
        source = str(value.source_file)
        return LiveValue(str(value.name), str(value.opcode), str(value.shape),
                         value.category.decode(), value.bytes, str(value.op_name),
                         f"{source}:{value.source_line}" if source else "")

    @staticmethod
    def _sums(sums):
        return {place(one): one.bytes for one in (sums.list[i].contents for i in range(sums.len))}

    def to_dict(self) -> dict[str, typing.Any]:
        """All of it as plain values, for json.dumps."""
        return {"name": self.name, "memory": dataclasses.asdict(self.memory), "by": self.by,
                "live": [dataclasses.asdict(value) for value in self.live]}

    def __str__(self):
        return _show.report_text(self)

    def __repr__(self):
        return (f"<Report {self.name}: peak {format_bytes(self.memory.peak_bytes)} at "
                f"{self.memory.peak_instruction}>")

    def _repr_html_(self):
        return _show.report_html(self)


class Comparison:
    """What algorithms save under budgets."""
    Row = collections.namedtuple("Row", "algorithm mem_limit is_met before_bytes after_bytes "
                                 "added_time num_rematerialized seconds error")

    def __init__(self, name, rows):
        self.name, self.rows = name, rows

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def to_json(self) -> str:
        return json.dumps([row._asdict() for row in self.rows])

    def __str__(self):
        return _show.comparison_text(self)

    def __repr__(self):
        return f"<Comparison {self.name}: {len(self.rows)} results>"

    def _repr_html_(self):
        return _show.comparison_html(self)
