"""What the public header promises: its example is the one that is tested, each function says which threads
may call it, callers' structs begin with their size, and it can be included by C99 and by C++."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# rh_…_free and the like have a comment that is one line; a comment may stand over several functions.
FUNCTION = re.compile(r"^RH_API [^;]*?\b(rh_\w+)\(", re.M)
# Never change: the header says so.
FROZEN = {"rh_text", "rh_sums", "rh_cost_shares", "rh_live_range"}
# Sized by a field of the struct that leads to them.
STRIDED = {"rh_known_cost"}


def example_of(header):
    lines = []
    for line in header.splitlines():
        if line.startswith(" *     "):
            lines.append(line[7:])
        elif line == " *" and lines:
            lines.append("")
        elif lines:
            break
    return "\n".join(lines).rstrip("\n") + "\n"


def comment_over(header, position):
    """The comment that a declaration stands under, over others that it shares it with."""
    before = re.sub(r"(RH_API [^;]*;\s*)*$", "", header[:position])
    return before[before.rfind("/*"):] if before.rstrip().endswith("*/") else ""


def check_threads(header):
    functions = list(FUNCTION.finditer(header))
    for match in functions:
        if "Threads: " not in " ".join(comment_over(header, match.start()).replace("*", " ").split()):
            yield f"{match[1]}: the comment does not say which threads may call it"
    if len(functions) < 50:
        yield f"only {len(functions)} functions were found"


def check_structs(header):
    for match in re.finditer(r"^typedef struct (rh_\w+) \{\n(.*?)^\} \1;", header, re.M | re.S):
        name = match[1]
        is_sized = match[2].startswith("  size_t struct_size;")
        init = f"{name.upper()}_INIT"
        if is_sized and not re.search(rf"#define {init}\b\s*\\?\n?.*\n?\s*.*sizeof\({name}\)", header):
            yield f"{name}: there is no {init} that sets struct_size"
        over = comment_over(header, match.start())
        is_ours = "Made by the library" in " ".join(over.replace("*", " ").split())
        is_below = name.startswith("rh_cost_")  # their section says so
        if not (is_sized or is_ours or is_below or name in FROZEN | STRIDED):
            yield f"{name}: neither does it begin with its size, nor is it made by the library"


def compile_faults(root, compiler, options, language):
    """Every macro of the header is used once, as a program would."""
    header = (root / "include/remat_hlo.h").read_text()
    lines = ['#include "remat_hlo.h"', "int main(void) {", "  int used = RH_VERSION_NUMBER > 0;"]
    for macro in sorted(set(re.findall(r"#define (RH_\w+_INIT)\b", header))):
        name = macro[: -len("_INIT")].lower()
        lines.append(f"  {{ {name} it = {macro}; used += it.struct_size == sizeof it; }}")
    lines += ['  used += RH_VERSION_STRING[0] == \'0\';', "  return used == 0;", "}", ""]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / f"program.{language}"
        source.write_text("\n".join(lines))
        command = [compiler, *options, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
                   "-I", str(root / "include"), str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        return [] if done.returncode == 0 else [" ".join(command), done.stderr]


def main():
    what, root = sys.argv[1], pathlib.Path(sys.argv[2])
    header = (root / "include/remat_hlo.h").read_text()
    if what == "text":
        faults = [*check_threads(header), *check_structs(header)]
        if example_of(header) != (root / "tests/api/example.c").read_text():
            faults.append("tests/api/example.c is not the example of the header")
    elif what == "c":
        faults = [fault for standard in ("c99", "c11", "c17")
                  for fault in compile_faults(root, sys.argv[3], [f"-std={standard}"], "c")]
    else:
        compilers = [found for found in map(shutil.which, ("g++", "clang++")) if found]
        if not compilers:
            print("skipped: there is no C++ compiler")
            return 77
        faults = [fault for compiler in compilers for standard in ("c++11", "c++17")
                  for fault in compile_faults(root, compiler, [f"-std={standard}"], "cc")]
    print("\n".join(faults) or "fine")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
