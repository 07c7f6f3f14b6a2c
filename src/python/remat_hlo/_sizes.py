"""Sizes and budgets, read exactly as the command-line tool does."""

import re
from fractions import Fraction

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
SIZE = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) ?([A-Za-z]*)")
SHARE = re.compile(r"(r?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)%")


def _millionths(digits):
    """A decimal number in millionths, rounded down."""
    return int(Fraction("0" + digits if digits.startswith(".") else digits) * 10**6)


def parse_size(size):
    """Bytes of `12GiB`, `800MB`, 4096. Raises ValueError."""
    if isinstance(size, int) and not isinstance(size, bool):
        if size < 0:
            raise ValueError(f"{size}: a size is not negative")
        return size
    match = SIZE.fullmatch(str(size).strip())
    if not match or match[2] not in UNITS:
        raise ValueError(f"'{size}' is not a size such as 12GiB or 800MB")
    size = _millionths(match[1]) * UNITS[match[2]] // 10**6
    if size >= 1 << 63:
        raise ValueError("a size is less than 2^63 bytes")
    return size


def parse_part(part, whole):
    """Bytes of a size, or of a share of `whole` such as 5%. Raises ValueError."""
    match = SHARE.fullmatch(str(part).strip())
    if match and not match[1]:
        return whole * _millionths(match[2]) // 10**8
    return parse_size(part)


class Budget:
    """What a memory limit says: `kind` is `bytes`, `share`, `reducible` or `min`. `amount` is in
    bytes, or in hundred-millionths for the two shares."""

    def __init__(self, kind, amount=0):
        self.kind, self.amount = kind, amount

    @property
    def is_relative(self):
        """Whether it asks the same of each module, however small: a share, or as little as possible."""
        return self.kind != "bytes"

    def bytes(self, before, lower_bound):
        """The limit for a module that takes `before` bytes and cannot go below `lower_bound`."""
        if self.kind == "share":
            return before * self.amount // 10**8
        if self.kind == "reducible":
            return lower_bound + (before - lower_bound) * self.amount // 10**8
        return self.amount


def parse_budget(limit):
    """A budget: bytes as a number, `12GiB`, `80%`, `r50%` or `min`. Raises ValueError."""
    if isinstance(limit, str):
        if limit == "min":
            return Budget("min")
        match = SHARE.fullmatch(limit.strip())
        if match:
            return Budget("reducible" if match[1] else "share", _millionths(match[2]))
    try:
        amount = parse_size(limit)
    except ValueError as error:
        raise ValueError(f"{error}, a share such as 80% or r50%, or min") from None
    return Budget("bytes", amount) if amount else Budget("min")


def format_bytes(size):
    """`1.50 KiB`, `81.25 MiB`, as the library writes sizes."""
    if abs(size) < 1024:
        return f"{size} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if abs(size) < 1024 or unit == "TiB":
            return f"{size:,.2f} {unit}"


def format_seconds(seconds):
    """`1.50 ms`."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if abs(seconds) * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"


def format_percent(share, digits=1):
    """`-41.9 %`; no sign that says nothing, as in `-0.0 %`."""
    percent = round(100 * share, digits)
    return f"{percent or 0.0:+.{digits}f} %"


def format_change(before, after):
    """`-41.9 %`; empty where there was nothing before."""
    return format_percent((after - before) / before) if before else ""
