"""Folders include only what lies below them: text -> ir <- analysis <- schedule <- remat; emit reads all
of these; cli sees the public header and its own folder."""

import pathlib
import re
import sys

MAY_INCLUDE = {
    "ir": {"ir"},
    "text": {"text", "ir"},
    "analysis": {"analysis", "ir"},
    "schedule": {"schedule", "analysis", "ir"},
    # rh_remat() prints what it made and reads it again: what is judged is the text.
    "remat": {"remat", "schedule", "analysis", "ir", "text"},
    "emit": {"emit", "remat", "schedule", "analysis", "ir", "text"},
}
# text is above remat only where rh_remat() joins the stages.
JOINS = {("remat", "text"): {"rh_reparse.c", "rh_reparse.h", "rh_remat.c"}}


def faults(root):
    source = root / "src"
    for path in sorted(source.rglob("*.[ch]")):
        folder = path.relative_to(source).parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "([^"]+)"', line)
            if not match or match[1] == "remat_hlo.h":
                continue
            target = match[1].split("/")[0] if "/" in match[1] else "cli"
            if match[1].endswith(".def") and "/" not in match[1]:
                target = folder
            allowed = MAY_INCLUDE.get(folder, {"cli"})
            if target not in allowed:
                yield f"{path}:{number}: {folder} must not include {target}"
            joins = JOINS.get((folder, target))
            if joins is not None and path.name not in joins:
                yield f"{path}:{number}: {path.name} must not include {target}"


def main():
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "every include goes down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
