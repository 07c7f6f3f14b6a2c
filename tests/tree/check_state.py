"""No object of ours has writable data, but for the signal handler's. Constant tables of pointers lie in
.data.rel.ro, which nm shows like .data, so sections are looked up."""

import re
import subprocess
import sys

ALLOWED = {"temporaries", "mapping", "deferred_to", "deferred"}  # src/cli/interrupt.c
# What compilers and sanitizers add.
FOREIGN = re.compile(r"^(__|_|\.|completed|data_start|stdout|stderr|environ|optarg|opt|asan|ubsan)")


def symbols(nm, file):
    output = subprocess.run([nm, "--format=sysv", "--defined-only", file], capture_output=True,
                            text=True, check=True).stdout
    for line in output.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[0] != "Name":
            yield fields[0], fields[3], fields[6]


def main():
    nm, *files = sys.argv[1:]
    found, seen = [], set()
    for file in files:
        for name, kind, section in symbols(nm, file):
            seen.add(name)
            base = name.split(".")[0]
            writable = re.match(r"\.(data|bss|tdata|tbss)\b", section) or section == "*COM*"
            if not writable or section.startswith(".data.rel.ro") or kind != "OBJECT":
                continue
            if base not in ALLOWED and not FOREIGN.match(name):
                found.append(f"{file}: {name} lies in {section}")
    if "rh_parse" not in seen:
        found.append("nm shows no symbols: nothing was checked")
    print("\n".join(found) or "no state")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
