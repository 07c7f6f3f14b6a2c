"""As much of protobuf's wire format as is needed to carry what HLO text leaves out from one
HloModuleProto to another. Fields are those of xla/service/hlo.proto."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# Fields of HloModuleProto.
NAME, ID, DEVICE_ASSIGNMENT = 1, 5, 15
# Those that speak of the computations, which the text has in full: the entry's name and id, the
# computations, the program's shape, the schedule and the stack frames, which are numbered anew.
OF_THE_TEXT = frozenset((2, 3, 4, 6, 7, 17))


def read_varint(data, at):
    """(value, where it ends). Raises ValueError if it does not end."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("not a protobuf message")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """(number, content, begin, end) of each field of a message: content is a number for varints, and
    bytes otherwise. Raises ValueError."""
    data, at = memoryview(data), 0
    while at < len(data):
        begin = at
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == VARINT:
            content, at = read_varint(data, at)
        else:
            if kind == BYTES:
                size, at = read_varint(data, at)
            elif kind in (FIXED32, FIXED64):
                size = 4 if kind == FIXED32 else 8
            else:
                raise ValueError(f"a protobuf message has no fields of type {kind}")
            content = data[at:at + size]
            at += size
            if at > len(data):
                raise ValueError("the protobuf message ends too early")
        yield key >> 3, content, begin, at


def device_counts(module):
    """(replicas, partitions) of the device assignment of an HloModuleProto; (1, 1) without one."""
    counts = {1: 1, 2: 1}
    for number, content, _, _ in fields(module):
        if number == DEVICE_ASSIGNMENT:
            counts.update((n, c) for n, c, _, _ in fields(content) if n in (1, 2))
    return counts[1], counts[2]


def carry(original, result):
    """`result` with what only `original` has: the id, shardings, the device assignment, and whatever
    later versions of XLA add."""
    has = {number for number, content, _, _ in fields(result)
           if not isinstance(content, memoryview) or len(content)}
    parts = [result, bytes((ID << 3, 0))]  # of a number the last one counts
    for number, _, begin, end in fields(original):
        if number == ID or (number not in has and number not in OF_THE_TEXT):
            parts.append(original[begin:end])
    return b"".join(parts)
