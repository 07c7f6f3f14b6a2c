"""Each header compiles alone; the public one also as C++ would read it, as far as C tells. Those of the
folder emit/proto need what a build with protobuf-c generates, and are left out without it.
usage: check_headers.py ROOT COMPILER GENERATED"""

import pathlib
import subprocess
import sys

root, compiler, generated = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
headers = sorted((root / "src").rglob("*.h")) + sorted((root / "include").glob("*.h"))
if not (generated / "hlo.pb-c.h").exists():
    headers = [header for header in headers if header.parent.name != "proto"]
found = []
for header in headers:
    if "cli" in header.parts:
        include = ["-I", str(root / "src" / "cli")]
    else:
        include = ["-I", str(root / "src"), "-isystem", str(generated)]
    run = subprocess.run([compiler, "-std=c17", "-D_XOPEN_SOURCE=700", "-Wall", "-Werror",
                          "-Wno-unused-function", "-fsyntax-only", "-I", str(root / "include"),
                          *include, "-x", "c", "-include", str(header), "/dev/null"],
                         capture_output=True, text=True)
    if run.returncode:
        found.append(f"{header} does not compile alone:\n{run.stderr}")
print("\n".join(found) or f"{len(headers)} headers compile alone")
sys.exit(1 if found else 0)
