"""Every folder of src is a room, and this table says into which rooms it may look. The order of the rows
is the order of the pipeline: a room includes only rooms that stand above it, so that there is no cycle.
The map in CONTRIBUTING.md names the same rooms in the same order."""

import pathlib
import re
import sys

FLOW, MEMORY, PACK, COST, LOOP, RANGE, LINT = (
    f"analysis/{room}" for room in ("flow", "memory", "pack", "cost", "loop", "range", "lint"))
REWRITE, LEGALITY, JOB, SEARCH, EXACT, BOUND, ALGORITHMS, SCAN, PLAN, PROTECT, VERIFY, ENGINE = (
    f"remat/{room}"
    for room in ("rewrite", "legality", "job", "search", "exact", "bound", "algorithms", "scan", "plan", "protect", "verify",
                 "engine"))

ROOMS = {
    "ir": [],
    "ir/infer": ["ir"],
    "text": ["ir", "ir/infer"],
    FLOW: ["ir"],
    PACK: ["ir"],
    MEMORY: ["ir", FLOW, PACK],
    COST: ["ir", FLOW],
    LOOP: ["ir", FLOW, COST],
    RANGE: ["ir", FLOW],
    LINT: ["ir", "ir/infer", FLOW],
    "schedule": ["ir", FLOW, MEMORY],
    REWRITE: ["ir", FLOW],
    LEGALITY: ["ir", FLOW, MEMORY, COST, LOOP, "schedule", REWRITE],
    JOB: ["ir", FLOW, MEMORY, COST, RANGE, REWRITE, LEGALITY],
    SEARCH: ["ir", "ir/infer", FLOW, MEMORY, COST, "schedule", REWRITE, LEGALITY, JOB],
    "schedule/search": ["ir", MEMORY, "schedule", LEGALITY, JOB, SEARCH],
    EXACT: ["ir", FLOW, MEMORY, COST, REWRITE, LEGALITY, JOB, SEARCH],
    BOUND: ["ir", FLOW, MEMORY, LEGALITY, JOB, SEARCH],
    ALGORITHMS: ["ir", "ir/infer", FLOW, MEMORY, COST, REWRITE, LEGALITY, JOB, SEARCH, EXACT],
    SCAN: ["ir", FLOW, COST, LOOP, REWRITE, LEGALITY, JOB],
    PLAN: ["ir", "ir/infer", MEMORY, RANGE, "schedule", REWRITE, JOB, SCAN],
    PROTECT: ["ir", "ir/infer", MEMORY, REWRITE],
    # Independent of what it judges: no legality, no rewriting.
    VERIFY: ["ir", FLOW, RANGE],
    # What is judged is the text: it prints what it made, and reads it again.
    ENGINE: ["ir", "text", FLOW, MEMORY, COST, "schedule", REWRITE, LEGALITY, JOB, SEARCH, EXACT, BOUND, SCAN, PLAN,
             PROTECT, VERIFY],
    "emit": ["ir"],
    "emit/report": ["ir", FLOW, MEMORY, "emit"],
    "emit/memlog": ["ir", FLOW, MEMORY, "emit"],
    "emit/dot": ["ir", FLOW, MEMORY, "emit", "emit/report"],
    "emit/picture": ["ir", "emit"],
    "emit/proto": ["ir", FLOW],
    # Simulates changes of the program by what rematerialization rewrites with.
    "advice": ["ir", "text", FLOW, MEMORY, COST, LOOP, "schedule", REWRITE, LEGALITY, JOB, ALGORITHMS, SCAN, ENGINE, "emit",
               "emit/report"],
    "api": None,  # the public functions: they join all of the library
}


def allowed(room):
    """The rooms that a room may include, itself first; None = cli, that sees the public header only."""
    if room.split("/")[0] not in {name.split("/")[0] for name in ROOMS}:
        return None
    if room not in ROOMS:
        return set()
    if ROOMS[room] is None:
        return {room, *ROOMS}
    return {room, *ROOMS[room]}


def faults(root):
    source = root / "src"
    for index, (room, below) in enumerate(ROOMS.items()):
        if not (source / room).is_dir():
            yield f"check_layers.py: there is no folder src/{room}"
        for other in set(below or []) - set(list(ROOMS)[:index]):
            yield f"check_layers.py: {room} may include {other}, which stands below it"
    for path in sorted(source.rglob("*.[ch]")):
        room = path.parent.relative_to(source).as_posix()
        rooms = allowed(room)
        if rooms == set():
            yield f"{path}: src/{room} is in no row of check_layers.py"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "([^"]+)"', line)
            if not match or match[1] == "remat_hlo.h":
                continue
            folder = pathlib.PurePosixPath(match[1]).parent.as_posix()
            if rooms is None:
                if (source / match[1]).exists():
                    yield f"{path}:{number}: {room} must not include {match[1]}"
            elif folder not in rooms and not match[1].endswith(("_page.h", ".pb-c.h")):
                yield f"{path}:{number}: {room} must not include {folder}"


def map_faults(root):
    """The map in CONTRIBUTING.md has a row for each room, in the order of the table above, and then cli."""
    text = (root / "CONTRIBUTING.md").read_text().partition("### The rooms")[2].partition("\n### ")[0]
    shown, needed = re.findall(r"^\| `([a-z/]+)` \|", text, re.M), [*ROOMS, "cli"]
    if shown != needed:
        yield f"CONTRIBUTING.md: the map has the rooms {' '.join(shown)}, and should have {' '.join(needed)}"


def main():
    root = pathlib.Path(sys.argv[1])
    found = [*faults(root), *map_faults(root)]
    print("\n".join(found) or f"{len(ROOMS)} rooms, every include goes to one that stands above")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
