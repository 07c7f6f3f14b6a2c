"""What XLA:TPU has placed in VMEM and other memories stays there as it was: on its dumps after memory-space
assignment, no rewrite and no order makes another memory than the device's hold more at once.

usage: check_spaces.py TOOL FOLDER...

Looks for dumps after memory-space assignment, and for modules of a few lines, in the folders. Prints a line for each
memory that has to hold more; ends with 77 if there are no modules."""

import json
import pathlib
import subprocess
import sys

RUNS = [
    ["--mem-limit=min"],
    ["--mem-limit=r60%", "--algorithm=search"],
    ["--mem-limit=r60%", "--algorithm=path", "--small-node-limit=0"],
    ["--mem-limit=r60%", "--algorithm=standard", "--small-node-limit=0"],
    ["--mem-limit=min", "--ignore-schedule", "--scheduler=bfs"],
    ["--mem-limit=min", "--ignore-schedule", "--scheduler=search"],
]


def find_modules(folders):
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            text = path.name.endswith((".after_optimizations.txt", ".hlo")) and path.read_text()
            if text and "S(1)" in text and text.startswith("HloModule"):
                yield path


def run(tool, path, options):
    done = subprocess.run([tool, path, "--target=tpu", "--device=tpu-v5e", *options, "--json=-", "--quiet"],
                          capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{path.name} {' '.join(options)}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    tool, folders = sys.argv[1], map(pathlib.Path, sys.argv[2:])
    num_modules = num_changed = num_worse = 0
    for path in find_modules(folders):
        num_modules += 1
        for options in RUNS:
            result = run(tool, path, options)
            num_changed += result["moved"] + result["rematerialized"] > 0
            assert any(space["name"] == "VMEM" for space in result["spaces"]), path
            for space in result["spaces"]:
                before, after = (space[side]["peak_bytes"] for side in ("before", "after"))
                if after <= before:
                    continue
                num_worse += 1
                print(f"{path.parent.name}/{path.name} {' '.join(options)}: {space['name']} S({space['space']}) holds "
                      f"{after:,} bytes instead of {before:,}")
    if num_modules == 0:
        print("no modules")
        return 77
    print(f"{num_modules} modules, {num_changed} of {num_modules * len(RUNS)} runs changed something, "
          f"{num_worse} memories hold more")
    return 1 if num_worse else 0


if __name__ == "__main__":
    sys.exit(main())
