#!/usr/bin/env python3
"""What `remat-hlo advise` predicts, beside what XLA makes of the program that was changed like this, on the processor
and on TPUs and GPUs that are not there. Run by scripts/check/advice.

Each program of advice_programs.py, advice_networks.py, advice_steps.py, advice_applications.py and advice_loops.py, and
some of programs.py, is compiled, its dump is given to the tool, each change that the tool proposes is applied to the program's
source by a patcher that knows nothing of it (advice_patcher.py), and the program is compiled again. Temporaries, and for
donations the sum of all, must be within 5 % of the prediction for checkpoints and donations, and 15 % for pieces and
nested scans. Of a TPU the tool is given the text before values are put into VMEM, so that XLA may take less by as much as
VMEM holds. Then the tool is asked for some bytes in between: what it calls enough has to be enough. Programs with nothing
to gain must get no advice.

usage: check_advice.py --tool=FILE --folder=FOLDER [--targets=cpu,v5e,h100] [--only=EXPRESSION] [--seed=N] [--all]
           [--keep] [--seconds=N]
--all judges every remedy, not only the first of each kind; --keep takes what an earlier run with this seed compiled."""

import argparse
import hashlib
import json
import pathlib
import random
import re
import secrets
import shutil
import subprocess
import sys
import time

import advice_applications
import advice_loops
import advice_networks
import advice_programs
import advice_steps
import apart
from apart import find
from buffer_assignment import BufferAssignment
from targets import CPU, TARGETS

TOLERANCE = {"checkpoint-scan": 0.05, "checkpoint-scope": 0.05, "donate": 0.05, "nested-scan": 0.15, "chunk": 0.15,
             "chunk-loss": 0.15, "in-turn": 0.15}
USUAL = ("gpt_unrolled", "llama_scanned", "gru", "lstm", "unet", "mixture_of_experts", "rollout", "vit",
         "resnet")  # of programs.py
DUMPS = {"cpu": "*.jit_{}.*cpu_after_optimizations.txt", "cuda": "*.jit_{}.*gpu_after_optimizations.txt",
         "tpu": "*.jit_{}.*after_optimizations_before_buffer_assignment.txt"}
MOST_SECONDS = 600
# XLA:CPU computes bf16 in f32 and keeps what it need not round, so that what checkpoints hand on has another type.
NARROW = ("gpt_unrolled", "vit", "resnet", "mixture_of_experts")
STEMS = ("kind", "function", "scope", "argument", "source_file", "source_line", "policy", "every", "segment",
         "num_chunks", "num_instances", "code")
STEP = ("first_line", "last_line", "is_step")


class Compiled:
    """A program that was changed by remedies. `total` and `temp` are bytes, `why` says why there are none."""

    def __init__(self, options, name, target, remedies):
        self.target, self.name, self.why = target, name, ""
        stem = [{key: remedy[key] for key in (*STEMS, *STEP) if remedy[key] or key not in STEP} for remedy in remedies]
        order = {"program": name, "target": target.name, "seed": options.seed, "remedies": stem}
        digest = hashlib.sha256(json.dumps(order).encode()).hexdigest()[:12]
        self.folder = options.folder / target.name / name / (digest if remedies else "plain")
        if not (options.keep and self.folder.exists()):
            self._compile({**order, "folder": str(self.folder)})
        self._read()

    def _compile(self, order):
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "dump").mkdir(parents=True)
        is_early = self.target.platform != "cpu"
        apart.run_apart(
            "advice_one.py", order, self.target, self.folder, MOST_SECONDS,
            lambda: is_early and apart.is_assigned(self.folder / "dump", self.name, self.target.platform))

    def _read(self):
        dump = self.folder / "dump"
        path = find(dump, DUMPS[self.target.platform].format(self.name))
        self.text = path
        sizes = apart.read_outcome(self.folder) or {}
        self.why = sizes.get("cannot", "") or sizes.get("error", "")
        if "temp_size_in_bytes" not in sizes and not self.why:
            assigned = find(dump, f"*.jit_{self.name}.*-buffer-assignment.txt")
            if assigned is None:
                self.why = apart.last_words(self.folder, 400) or "nothing was compiled"
            else:
                sizes = BufferAssignment(assigned.read_text()).truth(self.target.platform == "tpu")
        self.is_fault = bool(self.why) and "cannot" not in sizes
        self.temp = sizes.get("temp_size_in_bytes")
        self.total = None if self.temp is None else apart.total_of(sizes)


class Judge:
    """One target."""

    def __init__(self, options, target):
        self.options, self.target, self.faults, self.num_held, self.num_applied = options, target, [], 0, 0
        self.errors = []

    def advise(self, compiled, *more):
        command = [self.options.tool, "advise", compiled.text, "--json=-", "-q", *more]
        if self.target.profile:
            command.append(f"--device={self.target.profile}")
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode not in (0, 1):
            sys.exit(f"{compiled.text}: {run.stderr}")
        return json.loads(run.stdout)

    def say(self, name, what, found, mark):
        print(f"{self.target.name:5} {name:20} {what:46} {found} {mark}".rstrip(), flush=True)
        if mark in ("WRONG", "FAULT"):
            self.faults.append(f"{self.target.name} {name}: {what}")

    def compile(self, name, what, remedies):
        made = Compiled(self.options, name, self.target, remedies)
        if made.why:
            self.say(name, what, "cannot be applied: " + made.why.replace("\n", " ")[-300:],
                     "FAULT" if made.is_fault else "")
            return None
        return made

    def prediction(self, name, remedy):
        """Whether a prediction holds; None if nothing could be judged."""
        what = f"{remedy['kind']} {remedy['policy'] or remedy['function'] or remedy['argument'] or remedy['scope'] or ''}"
        what = what[:40] + (f" /{remedy['every']}" if remedy["every"] > 1 else "")
        made = self.compile(name, what, [remedy])
        if not made:
            return
        is_sum = remedy["kind"] == "donate"
        said, true = (remedy["counted_bytes"], made.total) if is_sum else (remedy["temp_bytes"], made.temp)
        error = (said - true) / max(true, 1)
        # The patcher cuts a whole function into pieces, of which the advice may mean a part: it may come out lower. So
        # may a program on a TPU, which puts into its VMEM what fits.
        may_be_lower = float("inf") if remedy["kind"] in ("chunk", "chunk-loss") else self.target.vmem_bytes / max(true, 1)
        is_right = -TOLERANCE[remedy["kind"]] <= error <= TOLERANCE[remedy["kind"]] + may_be_lower
        self.num_applied += 1
        self.num_held += is_right
        self.errors.append(abs(error))
        self.say(name, what, f"{said / 2**20:9,.1f} MiB said, {true / 2**20:9,.1f} found, {100 * error:+6.1f} %",
                 "ok" if is_right else "WRONG")

    def enough(self, name, plain, advice):
        """Whether what is called enough for some bytes is: a share, drawn, of what can be saved."""
        lowest = min((one["counted_bytes"] for one in advice["remedies"] if one["confidence"] != "low"), default=None)
        if lowest is None:
            return
        share = random.Random(f"{self.options.seed} {name} {self.target.name}").uniform(0.1, 0.8)
        limit = int(lowest + share * (advice["counted_bytes"] - lowest))
        asked = self.advise(plain, f"--mem-limit={limit}")
        what = f"enough for {limit / 2**20:,.1f} MiB"
        if not asked["is_met"] or any(one["kind"] not in TOLERANCE for one in asked["plan"]):
            self.say(name, what, "; ".join(one["title"] for one in asked["plan"]), "not applied")
            return
        made = self.compile(name, what, asked["plan"])
        if made:
            self.num_applied += 1
            self.num_held += made.total <= limit
            kinds = " and ".join(one["kind"] for one in asked["plan"])
            self.say(name, what, f"{asked['plan'][-1]['counted_bytes'] / 2**20:9,.1f} MiB said, "
                     f"{made.total / 2**20:9,.1f} found ({kinds})", "ok" if made.total <= limit else "WRONG")

    def first(self, name, remedies):
        """Whether what comes first is what someone who knows would say first."""
        expected = advice_steps.FIRST.get(name)
        if expected and remedies:
            is_right = remedies[0]["kind"] in expected
            self.num_applied += 1
            self.num_held += is_right
            self.say(name, "first of all", remedies[0]["title"], "ok" if is_right else "WRONG")

    def program(self, name, is_nothing):
        plain = self.compile(name, "as it is", [])
        if not plain:
            return
        advice = self.advise(plain)
        if abs(advice["temp_bytes"] - plain.temp) > max(plain.temp // 100, 1 << 16) + self.target.vmem_bytes:
            self.say(name, "as it is", f"{advice['temp_bytes'] / 2**20:9,.1f} MiB said, {plain.temp / 2**20:9,.1f} found", "")
        remedies = [one for one in advice["remedies"] if one["confidence"] != "low"]
        if is_nothing:
            self.num_applied += 1
            self.num_held += not remedies
            self.say(name, "nothing to gain", "; ".join(one["title"] for one in remedies), "WRONG" if remedies else "ok")
            return
        if not remedies:
            is_little = advice["temp_bytes"] < advice["counted_bytes"] / 10
            self.say(name, "something to gain", "no advice" + (", XLA fuses what takes memory" if is_little else ""),
                     "" if is_little else "WRONG")
        self.first(name, remedies)
        for remedy in chosen(remedies, self.options.all):
            self.prediction(name, remedy)
        self.enough(name, plain, advice)


def chosen(remedies, is_all):
    """What is judged: all that can be applied, or the first of each kind."""
    known = [one for one in remedies if one["kind"] in TOLERANCE]
    if is_all:
        return known
    return [one for i, one in enumerate(known) if one["kind"] not in [earlier["kind"] for earlier in known[:i]]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--targets", default="cpu,v5e,h100")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 30))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    gaining = [*advice_programs.PROGRAMS, *USUAL, *advice_networks.PROGRAMS, *advice_steps.PROGRAMS,
               *advice_applications.PROGRAMS, *advice_loops.PROGRAMS]
    names = {**dict.fromkeys(gaining, False), **dict.fromkeys(advice_programs.NOTHING, True),
             **dict.fromkeys(advice_loops.NOTHING, True)}
    begin, judges, left_out = time.monotonic(), [], 0
    for target in options.targets.split(","):
        judges.append(Judge(options, {**TARGETS, "cpu": CPU}[target]))
        for name, is_nothing in names.items():
            if not re.search(options.only, name) or (target == "cpu" and name in NARROW):
                continue
            if time.monotonic() - begin > options.seconds:
                left_out += 1
            else:
                judges[-1].program(name, is_nothing)
    for judge in judges:
        middle = sorted(judge.errors)[len(judge.errors) // 2] if judge.errors else 0
        print(f"{judge.target.name}: {judge.num_held} of {judge.num_applied} hold, middle error {100 * middle:.1f} %")
    if left_out:
        print(f"{left_out} programs were left out for time")
    faults = [fault for judge in judges for fault in judge.faults]
    return 1 if faults or not any(judge.num_applied for judge in judges) else 0


if __name__ == "__main__":
    sys.exit(main())
