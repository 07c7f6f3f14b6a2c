"""Compares what `remat-hlo report` makes of the dumps of XLA:GPU and XLA:TPU with what XLA allocated:
the temporaries of ../shared/corpus/accelerators, where truth.json is memory_analysis().

usage: check_accelerators.py TOOL FOLDER

Prints a line for each dump that differs by more than its target is allowed; ends with 77 if there
are no dumps."""

import json
import pathlib
import subprocess
import sys

# by the beginning of a target's folder: how far temporaries may be below and above, in percent
ALLOWED = {"gpu": (0.0, 0.0), "tpu_v5e": (1.0, 1.0), "tpu": (1.0, 2.0)}
PAGE = 16384  # XLA:TPU allocates in units of this size


def allocated_bytes(folder):
    """The temporaries; where the program did not fit, the list of allocations has them."""
    truth = json.loads((folder / "truth.json").read_text())
    if "temp_size_in_bytes" in truth:
        return truth["temp_size_in_bytes"]
    for path in folder.glob("*.after_optimizations-buffer-assignment.txt"):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] == ["allocation"] and "preallocated-temp:" in words and "color" not in words:
                return -(-int(words[3].rstrip(",")) // PAGE) * PAGE
    return None


def predicted_bytes(tool, folder):
    paths = [path for path in folder.glob("*after_optimizations.txt") if ".jit_" in path.name]
    run = subprocess.run([tool, "report", paths[0], "--json=-", "--quiet"], capture_output=True,
                         text=True, check=True)
    return json.loads(run.stdout)["temp_bytes"]


def main():
    tool, corpus = sys.argv[1], pathlib.Path(sys.argv[2])
    folders = sorted(path.parent for path in corpus.glob("*/*/truth.json"))
    if not folders:
        print("no dumps")
        return 77
    num_wrong = num_exact = 0
    for folder in folders:
        below, above = next(ALLOWED[key] for key in ALLOWED if folder.parent.name.startswith(key))
        theirs, ours = allocated_bytes(folder), predicted_bytes(tool, folder)
        percent = 100 * (ours - theirs) / theirs
        num_exact += ours == theirs
        if not -below <= percent <= above:
            num_wrong += 1
            print(f"{folder.parent.name}/{folder.name}: {ours:,} bytes, XLA {theirs:,} ({percent:+.2f} %)")
    print(f"{len(folders)} dumps, {num_exact} exact, {num_wrong} beyond what is allowed")
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
