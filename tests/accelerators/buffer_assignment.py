"""Reads what XLA dumps of a buffer assignment: which value lies at which bytes of which allocation."""

import collections
import dataclasses
import re

ALLOCATION = re.compile(r"allocation (\d+): size (\d+)(?:, color (\d+))?(?:, page \d+)?,? ?(.*?):?$")
VALUE = re.compile(r" value: <(\d+) (\S+?)(\{[\d,]*\})?( \(phi\))? @(\d+)> \(size=(\d+),offset=(\d+)\): (.*)$")
LIVE_RANGE = re.compile(r"\s+(\S+?)(\{[\d,]*\}):(\d+)-(\d+)$")
TPU_GRAIN = 16384  # XLA:TPU says temporaries in whole multiples of it


@dataclasses.dataclass
class Allocation:
    number: int
    size: int
    color: int
    kind: str                        # "parameter 3, shape |f32[8]| at ShapeIndex {}, maybe-live-out", say
    values: list = dataclasses.field(default_factory=list)

    @property
    def parameter(self):
        """(number, index) of the entry's parameter that it is, or None."""
        found = re.search(r"parameter (\d+), shape .* at ShapeIndex \{([\d,]*)\}", self.kind)
        return found and (int(found[1]), index_of(found[2]))

    @property
    def is_constant(self):
        return re.search(r"\bconstant\b", self.kind) is not None

    @property
    def is_thread_local(self):
        return "thread-local" in self.kind

    @property
    def is_live_out(self):
        return "maybe-live-out" in self.kind

    @property
    def is_temporary(self):
        return not (self.is_constant or self.is_thread_local or self.is_live_out or self.parameter)


@dataclasses.dataclass(frozen=True)
class Place:
    """The bytes of a value. `is_phi`: it is not written where it is defined, but is one of several others."""
    allocation: int
    begin: int
    end: int
    is_phi: bool
    shape: str


def index_of(text):
    return tuple(int(number) for number in text.strip("{}").split(",") if number)


class BufferAssignment:
    """`places`: (instruction, shape index) of the definition of each value: its Place."""

    def __init__(self, text):
        self.allocations, self.places = [], {}
        for line in text.splitlines():
            if line.startswith(("allocation ", " value: ")):
                self._read(line)
            elif self.allocations and not line.strip():
                break
        if not self.allocations:
            raise ValueError("this is no buffer assignment")

    def _read(self, line):
        if found := ALLOCATION.fullmatch(line):
            self.allocations.append(Allocation(int(found[1]), int(found[2]), int(found[3] or 0), found[4]))
            return
        found = VALUE.fullmatch(line)
        if not found:
            raise ValueError(f"a line of the buffer assignment that is not understood: {line}")
        allocation, begin = self.allocations[-1], int(found[7])
        place = Place(allocation.number, begin, begin + int(found[6]), bool(found[4]), found[8])
        key = found[2], index_of(found[3] or "")
        self.places[key] = place
        allocation.values.append((key, place))

    def temp_bytes(self, color=0):
        """What memory_analysis says of the temporaries of a memory space."""
        return sum(a.size for a in self.allocations if a.is_temporary and a.color == color)

    def truth(self, is_tpu):
        """As far as it can be told from here, what memory_analysis says of the device's memory."""
        temp = self.temp_bytes()
        if is_tpu:
            temp = -(-temp // TPU_GRAIN) * TPU_GRAIN
        own = [a for a in self.allocations if a.color == 0]
        return {"temp_size_in_bytes": temp,
                "argument_size_in_bytes": sum(a.size for a in own if a.parameter),
                "output_size_in_bytes": sum(a.size for a in own if a.is_live_out),
                "alias_size_in_bytes": sum(a.size for a in own if a.parameter and a.is_live_out)}

    def live_temp_bytes(self, live_ranges, color=0):
        """The most bytes of temporaries that are in use at one time, by XLA's own dump of live ranges: what they would
        take if nothing were lost between them."""
        places, events = self._temporaries(color), []
        for line in live_ranges.splitlines():
            found = LIVE_RANGE.fullmatch(line)
            place = found and places.get((found[1], index_of(found[2])))
            if place and place.begin < place.end:
                events += [(int(found[3]), 1, place), (int(found[4]) + 1, 0, place)]
        most, live = 0, collections.Counter()
        for _, begins, place in sorted(events, key=lambda event: event[:2]):
            live[place] += 1 if begins else -1
            if begins:
                most = max(most, _covered_bytes(+live))
        return most

    def _temporaries(self, color):
        return {key: place for allocation in self.allocations if allocation.is_temporary and allocation.color == color
                for key, place in allocation.values}


def _covered_bytes(places):
    """Bytes that are in at least one of them."""
    total, at = 0, (-1, 0)
    for place in sorted(places, key=lambda place: (place.allocation, place.begin)):
        begin = max(place.begin, at[1]) if place.allocation == at[0] else place.begin
        total += max(0, place.end - begin)
        at = place.allocation, max(place.end, at[1]) if place.allocation == at[0] else place.end
    return total
