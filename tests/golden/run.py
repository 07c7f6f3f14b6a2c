#!/usr/bin/env python3
"""Runs golden tests: NAME.cmd holds arguments in one line, beside it stands what is expected.

  NAME.cmd    arguments, quoted as a shell quotes them
  NAME.out    stdout; none = empty
  NAME.err    stderr; none = empty
  NAME.exit   exit code; none = 0
  NAME.files/ the files that are written, directories and all; none = none

A test runs in a directory of its own that links to everything in its folder that is input, and to
the module samples as hlo_samples/. Only what a clock shows is normalised.

In a folder of faults (--bad) NAME.hlo alone is a test too: `check NAME.hlo` ends with 3.
"""

import argparse
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRAPPER = shlex.split(os.environ.get("REMAT_HLO_WRAPPER", ""))  # valgrind, say
EXPECTATIONS = {".cmd", ".out", ".err", ".exit", ".files"}
TIMEOUT_SECONDS = 300


def normalize(text):
    text = re.sub(rb"(?m)^  took .*$", b"  took TIME", text)
    text = re.sub(rb'("(?:elapsed|cpu)_seconds":\s*)[^,\n}]*', rb"\g<1>0", text)
    return re.sub(
        rb'("phases":\s*\{)([^}]*)\}',
        lambda match: match[1] + re.sub(rb"(:\s*)[^,\n]*", rb"\g<1>0", match[2]) + b"}",
        text,
    )


def list_files(folder):
    return {
        path.relative_to(folder).as_posix(): normalize(path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def prepare(folder, workdir):
    """Links the inputs of a folder into the directory that a test runs in."""
    for path in folder.iterdir():
        if path.suffix not in EXPECTATIONS:
            (workdir / path.name).symlink_to(path)
    (workdir / "hlo_samples").symlink_to(ROOT / "hlo_samples")


class Case:
    def __init__(self, base):
        self.base = base
        self.cmd = self.beside(".cmd")
        self.default_exit = 0 if self.cmd.exists() else 3

    def beside(self, suffix):
        return self.base.parent / (self.base.name + suffix)

    def arguments(self):
        if self.cmd.exists():
            return shlex.split(self.cmd.read_text())
        return ["check", self.base.name + ".hlo"]

    def run(self, tool):
        """What the command did: name of the expectation -> bytes."""
        env = {key: value for key, value in os.environ.items() if not key.endswith("_FLAGS")}
        env.pop("COLUMNS", None)
        with tempfile.TemporaryDirectory(prefix="golden.") as name:
            workdir = pathlib.Path(name)
            prepare(self.base.parent, workdir)
            done = subprocess.run(
                [*WRAPPER, tool, *self.arguments()],
                cwd=workdir,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
            )
            got = {".out": normalize(done.stdout), ".err": normalize(done.stderr)}
            if done.returncode != self.default_exit:
                got[".exit"] = b"%d\n" % done.returncode
            got.update((".files/" + path, text) for path, text in list_files(workdir).items())
        return {path: text for path, text in got.items() if text or path.startswith(".files/")}

    def expected(self):
        want = {}
        for suffix in (".out", ".err", ".exit"):
            if self.beside(suffix).exists():
                want[suffix] = self.beside(suffix).read_bytes()
        files = self.beside(".files")
        if files.exists():
            want.update((".files/" + path, text) for path, text in list_files(files).items())
        return want

    def update(self, got):
        for suffix in (".out", ".err", ".exit"):
            self.beside(suffix).unlink(missing_ok=True)
        shutil.rmtree(self.beside(".files"), ignore_errors=True)
        for suffix, text in got.items():
            path = self.beside(suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)


def show_difference(case, want, got):
    for suffix in sorted(want.keys() | got.keys()):
        old, new = want.get(suffix), got.get(suffix)
        if old == new:
            continue
        name = str(case.beside(suffix))
        if old is None or new is None:
            print(f"{name}: {'not expected' if old is None else 'missing'}")
        lines = [
            (text or b"").decode("utf-8", "backslashreplace").splitlines(True)
            for text in (old, new)
        ]
        sys.stdout.writelines(
            line if line.endswith("\n") else line + "\n\\ no newline at the end\n"
            for line in difflib.unified_diff(*lines, name, "what it is now")
        )


def find_cases(folder, is_bad):
    suffixes = [".cmd", ".hlo"] if is_bad else [".cmd"]
    return sorted(
        {path.parent / path.stem for path in folder.rglob("*") if path.suffix in suffixes}
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the remat-hlo to run")
    parser.add_argument("tests", nargs="*", help="FOLDER/NAME, as below --folder; none = all")
    parser.add_argument(
        "--folder", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent
    )
    parser.add_argument("--bad", action="store_true", help="NAME.hlo alone is a test")
    parser.add_argument("--update", action="store_true", help="rewrite what is expected")
    args = parser.parse_args()

    tool = str(pathlib.Path(args.tool).resolve())
    folder = args.folder.resolve()
    cases = find_cases(folder, args.bad)
    bases = [folder / name for name in args.tests] or cases
    unknown = [str(base.relative_to(folder)) for base in bases if base not in cases]
    if unknown:
        parser.error("there is no test " + ", ".join(unknown))
    num_failed = 0
    for base in bases:
        case = Case(base)
        got = case.run(tool)
        want = case.expected()
        if got == want:
            continue
        if args.update:
            case.update(got)
            print(f"updated {base.relative_to(folder)}")
        else:
            num_failed += 1
            show_difference(case, want, got)
    return 1 if num_failed else 0


if __name__ == "__main__":
    sys.exit(main())
