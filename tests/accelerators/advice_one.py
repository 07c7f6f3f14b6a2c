#!/usr/bin/env python3
"""Compiles one program for one target, changed as advice says, in a process of its own (scripts/check/advice).

usage: advice_one.py ORDER, a JSON object: program, target (cpu, or a name of targets.py), seed, remedies, folder.
FOLDER/dump gets XLA's dump; outcome.json what memory_analysis says, or the error."""

import json
import pathlib
import sys

import advice_patcher
from apart import error_of, sizes_of, write_outcome
from compile_one import compile_lowered, lower
from targets import CPU, TARGETS

# Of what a program has many, so many times: no TPU's VMEM holds most of it.
SCALES = {"cpu": 8, "cuda": 8, "tpu": 64}


def main():
    order = json.loads(sys.argv[1])
    folder, target = pathlib.Path(order["folder"]), {**TARGETS, "cpu": CPU}[order["target"]]
    try:
        known = advice_patcher.load(order["remedies"])
        sizes = sys.modules["programs"].Sizes(f"{order['seed']} {order['program']}")
        sizes.scale = SCALES[target.platform]
        try:
            program = known[order["program"]](sizes)  # which may trace the program for its parameters
            program.donated = advice_patcher.donated(program, order["remedies"])
            lowered = lower(program, order["program"], target)
        except (TypeError, ValueError) as error:
            if not any(remedy["kind"].startswith("chunk") for remedy in order["remedies"]):
                raise
            raise advice_patcher.CannotApply(f"what the function computes is not of rows: {error}") from error
        outcome = sizes_of(compile_lowered(lowered, target, folder))
    except (advice_patcher.CannotApply, ModuleNotFoundError) as error:
        outcome = {"cannot": f"{error}"}
    except Exception as error:  # its text is the outcome
        outcome = error_of(error)
    write_outcome(folder, outcome)


if __name__ == "__main__":
    main()
