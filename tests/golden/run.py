#!/usr/bin/env python3
"""Runs golden tests: NAME.cmd holds arguments in one line, beside it stands what is expected.

  NAME.cmd    arguments, quoted as a shell quotes them
  NAME.out    stdout; none = empty
  NAME.err    stderr; none = empty
  NAME.exit   exit code; none = 0
  NAME.files/ the files that are written, directories and all; none = none
  NAME.keys   what some keys hold in what --json=FILE wrote, instead of all that it wrote: a line
              `KEY = VALUE` each; `a.b` is b in a, of each element where a is a list, of at most
              eight. To begin with, a line may be just KEY: --update adds the value

A test runs in a directory of its own that links to everything in its folder that is input, and to
the module samples as hlo_samples/. Only what a clock shows is normalised.

In the folder of faults (--bad) NAME.hlo alone is a test too: `check NAME.hlo` ends with 3. One
process checks all of these, as it says of each what it says of one; where it does not, each has its
own.
"""

import argparse
import difflib
import json
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
SUFFIXES = (".out", ".err", ".exit", ".keys")
EXPECTATIONS = {".cmd", ".files", *SUFFIXES}
TIMEOUT_SECONDS = 300
MAX_ELEMENTS = 8


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


def show_command(arguments):
    return shlex.join(map(str, arguments))


# ---- keys of JSON ----


def find_value(value, key):
    for part in key.split("."):
        if isinstance(value, list):
            value = [find_value(element, part) for element in value[:MAX_ELEMENTS]]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return "(there is none)"
    return value


def pick_keys(text, keys):
    """What the keys hold, a line each; numbers have the six digits that compilers agree on."""
    try:
        summary = json.loads(text, parse_float=lambda number: float(f"{float(number):.6g}"))
    except ValueError:
        return None
    lines = (f"{key} = {json.dumps(find_value(summary, key))}\n" for key in keys)
    return "".join(lines).encode()


# ---- runs ----


class Workdir:
    """Links to the inputs of a folder; serves many tests, but is new after one that wrote in it."""

    def __init__(self, folder):
        self.links = {
            path.name: path for path in folder.iterdir() if path.suffix not in EXPECTATIONS
        }
        self.links["hlo_samples"] = ROOT / "hlo_samples"
        self.directory = None

    def get(self):
        if not self.directory:
            self.directory = tempfile.TemporaryDirectory(prefix="golden.")
            for name, path in self.links.items():
                os.symlink(path, os.path.join(self.directory.name, name))
        return pathlib.Path(self.directory.name)

    def take_files(self):
        """The files that were written; they are gone then."""
        with os.scandir(self.get()) as entries:
            is_link = {entry.name: entry.is_symlink() for entry in entries}
        if is_link == dict.fromkeys(self.links, True):
            return {}
        files = list_files(self.get())
        self.close()
        return files

    def close(self):
        if self.directory:
            self.directory.cleanup()
        self.directory = None


def run_tool(tool, arguments, workdir):
    env = {key: value for key, value in os.environ.items() if not key.endswith("_FLAGS")}
    env["COLUMNS"] = "80"
    return subprocess.run(
        [*WRAPPER, tool, *arguments],
        cwd=workdir.get(),
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
    )


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

    def run(self, tool, workdir):
        """What the command did: name of the expectation -> bytes."""
        done = run_tool(tool, self.arguments(), workdir)
        got = {".out": normalize(done.stdout), ".err": normalize(done.stderr)}
        if done.returncode != self.default_exit:
            got[".exit"] = b"%d\n" % done.returncode
        got.update((".files/" + path, text) for path, text in workdir.take_files().items())
        self.replace_json(got)
        return {path: text for path, text in got.items() if text or path.startswith(".files/")}

    def replace_json(self, got):
        """Of the JSON that was written only the keys are kept that are expected."""
        if not self.beside(".keys").exists():
            return
        lines = self.beside(".keys").read_text().splitlines()
        (name,) = (arg[len("--json=") :] for arg in self.arguments() if arg.startswith("--json="))
        place = ".out" if name == "-" else ".files/" + name
        picked = pick_keys(got.get(place, b""), [line.split(" = ")[0] for line in lines])
        if picked is not None:
            del got[place]
            got[".keys"] = picked

    def expected(self):
        want = {}
        for suffix in SUFFIXES:
            if self.beside(suffix).exists():
                want[suffix] = self.beside(suffix).read_bytes()
        files = self.beside(".files")
        if files.exists():
            want.update((".files/" + path, text) for path, text in list_files(files).items())
        return want

    def update(self, got):
        if ".keys" not in got and self.beside(".keys").exists():
            sys.exit(f"{self.beside('.keys')}: no JSON was written to take the keys from")
        for suffix in SUFFIXES:
            self.beside(suffix).unlink(missing_ok=True)
        shutil.rmtree(self.beside(".files"), ignore_errors=True)
        for suffix, text in got.items():
            path = self.beside(suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)


def is_simple_fault(case):
    """A file alone whose message says error: then 3 is the exit code of the process, too."""
    want = case.expected()
    return not case.cmd.exists() and want.keys() == {".err"} and b": error: " in want[".err"]


def check_together(cases, tool, workdir):
    """Whether one process says of all these files what is expected of each."""
    arguments = [argument for case in cases for argument in case.arguments()[1:]]
    done = run_tool(tool, ["check", *arguments], workdir)
    want = b"".join(case.expected()[".err"] for case in cases)
    return (done.returncode, done.stdout, done.stderr) == (3, b"", want)


# ---- what is said of them ----


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


class Runner:
    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.tool = str(pathlib.Path(args.tool).resolve())
        self.num_failed = 0

    def run_case(self, case, workdir):
        got = case.run(self.tool, workdir)
        want = case.expected()
        name = case.base.relative_to(self.folder)
        if got == want:
            return
        if self.args.update:
            case.update(got)
            print(f"updated {name}")
            return
        self.num_failed += 1
        show_difference(case, want, got)
        again = ["python3", pathlib.Path(__file__).resolve(), self.tool]
        again += ["--bad", name] if self.args.bad else [name]
        print(f"FAILED {name}; it alone: {show_command(again)}\n")

    def run_cases(self, cases):
        """Those of one folder."""
        workdir = Workdir(cases[0].base.parent)
        together = [] if self.args.update else [case for case in cases if is_simple_fault(case)]
        is_done = len(together) > 1 and check_together(together, self.tool, workdir)
        alone = [case for case in cases if not is_done or case not in together]
        num_failed = self.num_failed
        for case in alone:
            self.run_case(case, workdir)
        if len(together) > 1 and not is_done and num_failed == self.num_failed:
            self.num_failed += 1
            files = [case.base.name + ".hlo" for case in together]
            print(f"FAILED in {cases[0].base.parent}: alone each of these passes, not together")
            print(show_command([self.tool, "check", *files]))
        workdir.close()


def find_bases(folder, is_bad):
    suffixes = [".cmd", ".hlo"] if is_bad else [".cmd"]
    return sorted(
        {path.parent / path.stem for path in folder.rglob("*") if path.suffix in suffixes}
    )


def choose_bases(parser, args, folder):
    bases = find_bases(folder, args.bad)
    chosen = []
    for name in args.tests:
        found = [base for base in bases if folder / name in (base, base.parent)]
        if not found:
            parser.error(f"there is no test {name}")
        chosen += found
    return chosen if args.tests else bases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the remat-hlo to run")
    parser.add_argument("tests", nargs="*", help="FOLDER or FOLDER/NAME; none = all")
    parser.add_argument("--bad", action="store_true", help="those in tests/bad, each a NAME")
    parser.add_argument("--no-dot", action="store_true", help="leave out what draws graphs")
    parser.add_argument("--update", action="store_true", help="rewrite what is expected")
    args = parser.parse_intermixed_args()

    folder = ROOT / "tests" / ("bad" if args.bad else "golden")
    runner = Runner(args, folder)
    cases = [Case(base) for base in choose_bases(parser, args, folder)]
    if args.no_dot:
        cases = [case for case in cases if "--dump-dot" not in " ".join(case.arguments())]
    for parent in dict.fromkeys(case.base.parent for case in cases):
        runner.run_cases([case for case in cases if case.base.parent == parent])
    if not args.update:
        print(f"{len(cases)} cases, {runner.num_failed} failed")
    return 1 if runner.num_failed else 0


if __name__ == "__main__":
    sys.exit(main())
