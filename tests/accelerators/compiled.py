"""A program, compiled for a target as it is or with us, with its files: FOLDER/TARGET/PROGRAM/CASE has the texts that the
tool may see in `seen`, and in `truth` what it is compared with and never shown."""

import dataclasses
import json
import pathlib
import re
import shutil
import time

import apart
import before_route
from apart import find
from buffer_assignment import BufferAssignment
from targets import TARGETS

MOST_SECONDS = 300            # of one compilation
SEEN = re.compile(r"before_optimizations\.txt$|after_optimizations\.txt$|_(before|after)_buffer_assignment\.txt$|"
                  r"before_config_assignment\.txt$|oom_intermediate_module\.txt$")
TRUTH = re.compile(r"-(buffer-assignment|buffer-assignment-values|live-range|memory-usage-report)\.txt$")


@dataclasses.dataclass(frozen=True)
class Case:
    program: str
    target: str
    route: str = "plain"
    budget: str = ""
    is_whole: bool = False  # code is generated, too, which XLA:TPU may fail at

    @property
    def stem(self):
        return "-".join(filter(None, (self.route, self.budget.strip("%"), "whole" * self.is_whole)))

    def __str__(self):
        return f"{self.program}, {self.target}, {self.route} {self.budget}".strip()


# ---- one compilation ----

def ends_early(case, platform, is_whole):
    """Whether a compilation is stopped when buffers are assigned. At the hook for GPU it is not: a whole one goes on
    with the untouched module where that takes less."""
    return not is_whole and (platform == "tpu" or case.route != "hook")


def compile_case(case, arguments, folder, given=""):
    """What became of it: the outcome that the process wrote, {"early": True} if it was stopped since its
    buffers are assigned, or an error. `given` is the file of the module to compile, with the route `before`."""
    target = TARGETS[case.target]
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("dump", "hook"):
        (folder / name).mkdir(parents=True)
    order = {**dataclasses.asdict(case), "seed": arguments.seed, "algorithm": "auto", "folder": str(folder),
             "given": str(given)}
    is_early = ends_early(case, target.platform, arguments.whole or case.is_whole)
    end = apart.run_apart(
        "compile_one.py", order, target, folder, MOST_SECONDS,
        lambda: is_early and apart.is_assigned(folder / "dump", case.program, target.platform))
    if end == apart.ENOUGH:
        return {"early": True}
    if end == apart.LATE:
        return {"error": f"not compiled within {MOST_SECONDS} s"}
    outcome = apart.read_outcome(folder)
    return {"error": f"the process {end}: {apart.last_words(folder, 1500)}"} if outcome is None else outcome


def sort_files(folder, program):
    """Takes the dump apart: what the tool may see, and what it must not. Only the program's module is kept; XLA
    has others, of which it is made or which it makes of parts."""
    for name in ("seen", "truth"):
        (folder / name).mkdir()
    for path in sorted((folder / "dump").iterdir()):
        if f".jit_{program}." not in path.name:
            continue
        for name, expression in (("truth", TRUTH), ("seen", SEEN)):
            if expression.search(path.name):
                path.rename(folder / name / path.name)
                break
    shutil.rmtree(folder / "dump")
    for path in (folder / "hook").glob("*.hlo"):
        if f".jit_{program}." in path.name or path.name.startswith("before_optimizations"):
            path.rename(folder / "seen" / path.name)
    shutil.rmtree(folder / "hook")


@dataclasses.dataclass
class Compiled:
    case: Case
    folder: pathlib.Path
    outcome: dict
    seconds: float
    report: dict = None  # of the route `before`
    warnings: tuple = ()

    @property
    def is_out_of_memory(self):
        return "RESOURCE_EXHAUSTED" in self.outcome.get("error", "")

    @property
    def fault(self):
        error = self.outcome.get("error")
        return "" if error is None or self.is_out_of_memory else f"XLA does not compile it: {error}"

    @property
    def is_to_be_refused(self):
        import programs
        return self.case.program in programs.REFUSED

    @property
    def is_beyond_xla(self):
        """XLA does not compile the program as it is. Without a device it knows no way to compute some products."""
        return self.case.route == "plain" and self.outcome.get("error", "").find("INTERNAL") >= 0

    @property
    def is_tpu(self):
        return TARGETS[self.case.target].platform == "tpu"

    def assignment(self):
        path = find(self.folder / "truth", "*-buffer-assignment.txt")
        return BufferAssignment(path.read_text()) if path else None

    def truth(self):
        """memory_analysis, or as much of it as the buffer assignment has; None if it has come to neither."""
        if "temp_size_in_bytes" in self.outcome:
            return self.outcome
        assignment = self.assignment()
        return assignment and assignment.truth(self.is_tpu)

    def total_bytes(self):
        return apart.total_of(self.truth())


def folder_of(case, arguments):
    return arguments.folder / case.target / case.program / case.stem


def make_before(case, plain, arguments):
    """The best of the program as it is and as it was rewritten under several budgets."""
    folder, begin = folder_of(case, arguments), time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    best, report, warnings = before_route.search(
        case, plain, TARGETS[case.target], folder,
        lambda path, number: make(case, arguments, folder / str(number), path))
    report = report and report.to_dict()
    (folder / "reports.json").write_text(json.dumps([report], indent=1))
    return dataclasses.replace(best, case=case, report=report, seconds=time.monotonic() - begin,
                               warnings=tuple(message for _, message in warnings))


def make(case, arguments, folder=None, given=""):
    folder = folder or folder_of(case, arguments)
    begin = time.monotonic()
    outcome = compile_case(case, arguments, folder, given)
    sort_files(folder, case.program)
    made = Compiled(case, folder, outcome, time.monotonic() - begin)
    (folder / "truth" / "truth.json").write_text(json.dumps(
        {**outcome, **(made.truth() or {}), "seed": arguments.seed}, indent=1) + "\n")
    return made
