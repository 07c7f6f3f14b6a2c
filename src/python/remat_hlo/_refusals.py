"""What XLA says where it refuses a program for want of memory."""

import re

# XLA:TPU's words for what such a program needs in all, arguments included: "… memory required for HLO temporaries
# (18.60G) exceeds available HBM (15.75G)", or "Used 18.60G of 15.75G hbm".
NEEDED = re.compile(r"memory required for HLO temporaries \(([0-9.]+)([KMGT])\)|"
                    r"Used ([0-9.]+)([KMGT]) of [0-9.]+[KMGT] hbm")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def is_out_of_memory(error):
    """Whether an error, or its text, is about memory."""
    return "RESOURCE_EXHAUSTED" in str(error)


def needed_bytes(error):
    """What an error, or its text, says that the program needs in all, or None."""
    found = NEEDED.search(str(error))
    if not found:
        return None
    number, unit = found.group(1, 2) if found[1] else found.group(3, 4)
    return int(float(number) * UNITS[unit])


class WrongUsage(ValueError):
    """What was asked for cannot be, whatever the program is."""
