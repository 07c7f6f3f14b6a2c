#!/usr/bin/env python3
"""Whether the tool tells modules from before XLA's copy-insertion from those after it. The truth is the
place of a dump among those between all passes of XLA:CPU.

    stage_check.py FOLDER [--only=REGEX]    REMAT_HLO_LIBRARY names the library

Programs are compiled with several flags, into folders of their own below FOLDER. Each dump is looked at
as a file, whose name and folder count, and as text alone, also without its schedule, backend_config and
metadata. Of the text alone, what is demanded is:

- that a module from after the pass is never certain to be from before it, and that it is taken for one
  only if its peak is the same for both answers: what is recomputed would else read overwritten memory;
- that a module from before the pass is never certain to be from after it."""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
NO_FUSION = "--xla_disable_hlo_passes=fusion,fusion-wrapper,cpu-multi-output-fusion,dot-library-rewriter"
VARIANTS = {
    "default": "",
    "unfused": NO_FUSION,
    "list": "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
}
# Programs of tests/bits/programs.py that are compiled, too.
OTHERS = re.compile("^(sandwich_|carry_|branch|switch_|outputs_|heat$|bodies$|ring_buffer$|updates_)")


# ---- in a process of its own, which has the flags ----

def compile_all(only):
    import jax
    import programs
    from stage_programs import PROGRAMS

    chosen = dict(PROGRAMS)
    for name, other in programs.PROGRAMS.items():
        if OTHERS.search(name) and other.function:
            chosen[name] = other.function, other.arguments(0), other.donate
    for name, (function, arguments, donate) in chosen.items():
        if not only.search(name):
            continue

        def renamed(*arguments, function=function):
            return function(*arguments)
        renamed.__name__ = name
        jax.jit(renamed, donate_argnums=donate, keep_unused=True).lower(*arguments).compile()


# ---- dumps ----

BETWEEN = re.compile(r"^(module_\d+\..*)\.(\d{4,})\.([^.]+)\.after_(.+)\.before_(.+)\.txt$")


def truths(folder):
    """(path, whether copies are inserted) of each dump; of those within the pass nothing is known."""
    found, first = [], {}
    for path in sorted(folder.glob("*.txt")):
        match = BETWEEN.match(path.name)
        if match:
            found.append((path, match[1], int(match[2])))
            if match[4] == "copy-insertion":
                first.setdefault(match[1], int(match[2]))
        elif path.name.endswith(".before_optimizations.txt"):
            yield path, False
        elif path.name.endswith("_after_optimizations.txt"):
            yield path, True
    for path, module, number in found:
        if module in first:
            yield path, number >= first[module]


STRING = rb'"(?:[^"\\]|\\.)*"'
BRACES = rb'\{(?:[^{}"]|' + STRING + rb'|\{(?:[^{}"]|' + STRING + rb'|\{[^{}]*\})*\})*\}'
STRIPPED = (re.compile(rb", is_scheduled=true"),
            re.compile(rb", backend_config=(?:" + BRACES + rb"|" + STRING + rb")"),
            re.compile(rb", metadata=" + BRACES))


def texts(path):
    """The text, and what is left of it, with what was taken away."""
    text = path.read_bytes()
    yield "", text
    for left_out, name in zip(STRIPPED, ("is_scheduled", "backend_config", "metadata")):
        fewer = left_out.sub(b"", text)
        if fewer != text:
            yield f" without {name}", fewer
            text = fewer
    # The last is without all of them.


class Checker:
    def __init__(self, is_verbose):
        from remat_hlo import _library, _module
        self.lib, self.module, self.is_verbose = _library, _module, is_verbose
        self.counts, self.faults, self.seen = collections.Counter(), [], set()

    def look(self, text, path=None):
        """(whether inserted, whether this is certain, why)"""
        module = self.module.parse(text, path=path, target="cpu")
        info = self.lib.load().rh_get_info(module._handle.pointer).contents
        return info.copies == self.lib.COPIES["inserted"], info.copies_are_sure, \
            info.copies_reason.decode()

    def peak(self, text, copies):
        module = self.module.parse(text, target="cpu", copies=copies)
        return module.schedule(module.scheduler).memory().peak_bytes

    def differs(self, text):
        return self.peak(text, "inserted") != self.peak(text, "pending")

    def check_text(self, where, text, truth):
        inserted, certain, why = self.look(text)
        if inserted == truth:
            self.counts["right by text, certain" if certain else "right by text, not certain"] += 1
        elif certain:
            self.faults.append(f"{where}: certain and wrong: {why}")
        elif not self.differs(text):
            side = "after" if truth else "before"
            self.counts[f"wrong by text, not certain, same peak, from {side} the pass"] += 1
            if self.is_verbose:
                print(f"{where}: {why}")
        elif truth:
            self.faults.append(f"{where}: taken for pending: {why}")
        else:
            self.counts["wrong by text, with a warning"] += 1

    def check_file(self, path, truth, tool):
        """The folder counts for the tool only."""
        import json
        run = subprocess.run([tool, "report", "--quiet", "--json=-", path], capture_output=True, check=True)
        found = json.loads(run.stdout)
        if (found["copies"] == "inserted") == truth:
            self.counts["right as a file"] += 1
        else:
            self.faults.append(f"{path.name} is wrong as a file: {found['copies_reason']}")

    def check_folder(self, folder, tool):
        for path, truth in truths(folder):
            if (path.read_bytes(), truth) in self.seen:
                continue
            self.seen.add((path.read_bytes(), truth))
            if tool:
                self.check_file(path, truth, tool)
            for what, text in texts(path):
                if (text, truth) not in self.seen or not what:
                    self.check_text(path.name + what, text, truth)
                self.seen.add((text, truth))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose names match")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="of " + ", ".join(VARIANTS))
    parser.add_argument("--tool", help="look at each dump as a file, too, with this remat-hlo")
    parser.add_argument("--verbose", action="store_true", help="name texts taken for the wrong side")
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path[:0] = [str(HERE.parent), str(ROOT / "src/python")]
    if options.compile:
        return compile_all(re.compile(options.only))
    os.environ.setdefault("REMAT_HLO_PROFILE_DIR", str(ROOT / "share/remat-hlo/profiles"))
    checker = Checker(options.verbose)
    for variant in options.variants.split(","):
        folder = options.folder / variant
        shutil.rmtree(folder, ignore_errors=True)
        flags = (f"--xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.* "
                 f"--xla_force_host_platform_device_count=8 {VARIANTS[variant]}")
        subprocess.run([sys.executable, __file__, folder, "--compile", f"--only={options.only}"],
                       env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}, check=True)
        checker.check_folder(folder, options.tool)
    for what, count in sorted(checker.counts.items()):
        print(f"{count:6} {what}")
    print(f"{len(checker.faults):6} faults")
    for fault in checker.faults:
        print(f"  {fault}")
    sys.exit(bool(checker.faults) or not checker.counts)


if __name__ == "__main__":
    main()
