#!/usr/bin/env python3
"""Whether the library prints XLA's messages as jaxlib does: the modules of the matrix's programs at both
stages, hlo_samples, and the HLO files of the folders that are given. Every text that the library prints must be
jaxlib's byte for byte, and it must print nine tenths of the modules. Run by scripts/check/live, in an
environment that has JAX and the package.
usage: proto_texts.py [--files-only] [FOLDER...]"""

import collections
import os
import pathlib
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 0.1  # of all modules may be refused
STAGES = ("POST_SCHEDULER", "PRE_SCHEDULER")


def programs():
    """(name, message) of each module that XLA gives to the hook."""
    import live_programs
    import matrix_programs
    import remat_hlo.jax as live
    from remat_hlo import _rewriting
    found, inner = [], _rewriting.transform
    _rewriting.transform = lambda options, compilations, platform, serialized: found.append(serialized)
    try:
        for stage in STAGES:
            for name, make in {**live_programs.PROGRAMS, **matrix_programs.PROGRAMS}.items():
                with live.rematerialize("r50%", stage=stage):
                    live_programs.compile_program(make())
                for serialized in found:
                    yield f"{name} {stage}", serialized
                found.clear()
    finally:
        _rewriting.transform = inner


def files(folder):
    from jaxlib import _hlo
    for path in sorted(pathlib.Path(folder).rglob("*.hlo")):
        try:
            yield str(path), _hlo.hlo_module_from_text(path.read_text()).as_serialized_hlo_module_proto()
        except Exception:  # not all files of a folder need to be modules
            continue


class Count:
    def __init__(self):
        self.num_same, self.different, self.refused = 0, [], collections.Counter()

    def add(self, name, serialized):
        from remat_hlo import _library as lib, _module, _text
        try:
            text = _module.print_proto(serialized)
        except lib.InputError as error:
            self.refused[re.sub("^.*cannot be printed: ", "", str(error.diagnostics[0].message))] += 1
            return
        try:
            wanted = _text._print_by_jaxlib(serialized)
        except RuntimeError:  # it does not read the message: its text is accepted where a message is not
            return
        if text == wanted:
            self.num_same += 1
            return
        lines = zip(text.splitlines(), wanted.splitlines())
        self.different.append(f"{name}: " + next(
            (f"'{one}' instead of '{other}'" for one, other in lines if one != other), "another length"))

    def report(self):
        """Returns whether all is well."""
        num_refused = sum(self.refused.values())
        total = self.num_same + len(self.different) + num_refused
        print(f"{total} messages: {self.num_same} texts are those of jaxlib, {len(self.different)} differ, "
              f"{num_refused} are refused")
        for reason, count in self.refused.most_common():
            print(f"  {count} {reason}")
        for difference in self.different[:20]:
            print(f"  {difference[:500]}")
        return not self.different and num_refused <= MOST * total and total > 0


def main():
    from remat_hlo import _text
    arguments = sys.argv[1:]
    sources = [files(ROOT / "hlo_samples"), *map(files, [a for a in arguments if a != "--files-only"])]
    if "--files-only" not in arguments:
        sources.append(programs())
    if not _text.prints_as_jaxlib():
        print("this version of jaxlib prints in another way: its own texts are used")
        return 77
    count = Count()
    for source in sources:
        for name, serialized in source:
            count.add(name, serialized)
    return 0 if count.report() else 1


if __name__ == "__main__":
    sys.exit(main())
