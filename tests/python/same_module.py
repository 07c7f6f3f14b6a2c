"""Whether two serialized modules are the same one, as XLA prints them. Run within JAX."""

import re

from remat_hlo import _proto, _rewriting

TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def _tables(text):
    for name in TABLES:
        found = re.search(rf"^{name}\n((?:\d+ .*\n)*)", text, re.M)
        yield dict(line.split(" ", 1) for line in found[1].splitlines()) if found else {}


def _fields(row):
    return dict(re.findall(r"(\w+)=(\d+)", row))


def normal_text(text):
    """The text with the computations in the order of their names, and stack frames by what they are:
    their numbers go by the order in which XLA meets them."""
    files, functions, locations, frames = _tables(text)
    known = {"0": "none"}

    def describe(number):
        if number not in known:
            frame = _fields(frames[number])
            place = _fields(locations[frame["file_location_id"]])
            parent = describe(str(int(frame.get("parent_frame_id", 1)) - 1))  # the text has one more
            own = (files.get(place.pop("file_name_id", "")), functions.get(place.pop("function_name_id", "")),
                   sorted(place.items()))
            known[number] = format(hash((own[0], own[1], str(own[2]), parent)), "x")
        return known[number]

    text = re.sub(r"stack_frame_id=(\d+)", lambda found: f"stack_frame={describe(found[1])}", text)
    parts = [part.strip() for part in text.strip().split("\n\n")]
    return "\n\n".join(sorted(part for part in parts if not part.startswith(TABLES)))


def text_of(serialized):
    from jaxlib import _hlo
    from remat_hlo._files import print_hlo
    return normal_text(print_hlo(_hlo.HloModule.from_serialized_hlo_module_proto(serialized)))


def difference(one, other):
    """'' for the same module, or else the first line that differs."""
    lines, others = (text_of(serialized).splitlines() for serialized in (one, other))
    if lines == others:
        return ""
    at = next((n for n, pair in enumerate(zip(lines, others)) if pair[0] != pair[1]),
              min(len(lines), len(others)))
    return f"{''.join(lines[at:at + 1])} | {''.join(others[at:at + 1])}"


def watch_routes(found):
    """Has each result written in both ways: as a patch of XLA's message, and as text that XLA reads. Appends
    to `found` which way it went, and, if both are there, in what they differ. Returns what is replaced."""
    patch = _rewriting.patch

    def compare(decision, serialized, mark):
        made = patch(decision, serialized, mark)
        if made is None:
            found.append(("text", ""))
        else:
            text = _proto.carry(serialized, _rewriting.write_text(decision.text, mark))
            found.append(("patch", difference(made, text)))
        return made

    _rewriting.patch = compare
    return patch
