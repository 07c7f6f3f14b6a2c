#!/usr/bin/env python3
"""Compiles programs for a TPU that is not there, keeps the texts with XLA:TPU's estimates of time, fits the prices of
the device's profile to them, and judges profiles by programs that the fit has not seen. Run by scripts/samples/fit-estimates.

usage: fit_estimates.py compile FOLDER TARGET KIND NAME...   compiles programs; one process has one target
       fit_estimates.py judge TOOL DEVICE FOLDER             a table of errors on the texts in a folder
       fit_estimates.py adopt PROFILE FITTED TEXT            takes the prices of FITTED into the profile"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "accelerators"))
ESTIMATE = re.compile(r'"estimated_cycles":"(\d+)"')
GPU_ESTIMATE = re.compile(r'"reification_cost":\[\{[^\]]*\}\]')
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = ")
NO_ESTIMATE = 1 << 62


# ---- compilation ----

def programs_of(kind, names):
    """Programs by name: pieces of one seed, those of tests/accelerators with sizes of a seed, or held-out ones."""
    import estimate_programs
    import judged_programs  # adds to the held-out ones  # noqa: F401
    import programs
    if kind == "held_out":
        return {name: programs.Program(*estimate_programs.HELD_OUT[name]())
                for name in names or estimate_programs.HELD_OUT}
    if kind == "ladders":
        return {name: programs.Program(*make()) for name, make in estimate_programs.LADDERS.items()}
    if kind in ("pieces", "steps"):
        return {name: programs.Program(*made) for seed in names
                for name, made in getattr(estimate_programs, kind)(int(seed)).items()}
    return {name: programs.PROGRAMS[name](programs.Sizes(f"{kind} {name}")) for name in names}


def compile_programs(folder, target_name, kind, names):
    """What is there already is left alone. A program that does not compile is named, and left out."""
    from compile_one import lower
    from targets import TARGETS
    target, folder = TARGETS[target_name], pathlib.Path(folder)
    os.environ.update(target.environment)
    if target.platform == "cuda":  # notes of what XLA's models of time say
        os.environ["XLA_FLAGS"] += " --xla_gpu_collect_cost_model_stats=true"
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in programs_of(kind, names).items():
        path = folder / f"{name}.txt"
        if path.exists():
            continue
        try:
            text = lower(program, name, target).compile().as_text()
        except Exception as error:  # XLA's, of which the text is all that there is
            print(f"{name}: not compiled: {str(error)[:300]}", flush=True)
            continue
        path.write_text(text)
        estimate = GPU_ESTIMATE if target.platform == "cuda" else ESTIMATE
        print(f"{name}: {len(estimate.findall(text))} estimates", flush=True)


# ---- judgement ----

def estimates_of(text):
    """Cycles by instruction."""
    found = {}
    for line in text.splitlines():
        name, cycles = INSTRUCTION.match(line), ESTIMATE.search(line)
        if name and cycles and 0 < int(cycles[1]) < NO_ESTIMATE:
            found[name[1]] = int(cycles[1])
    return found


def hidden(text):
    """The text without its estimates."""
    return GPU_ESTIMATE.sub('"reification_cost":[]', ESTIMATE.sub(f'"estimated_cycles":"{(1 << 63) - 1}"', text))


def modelled(tool, device, text):
    """Seconds of one run of each instruction."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "judged.hlo"
        path.write_text(text)
        made = subprocess.run([tool, "cost", path, f"--device={device}", "--json=-", "--quiet"], check=True,
                              capture_output=True, text=True)
    return {row["name"]: row["seconds"] / row["runs"] for row in json.loads(made.stdout)["by_instruction"]}


def pairs_of(tool, device, text, clock):
    """Seconds of ours and of XLA's for each instruction with an estimate, in every computation, once. XLA:GPU has
    several models; which of them is asked is the tool's choice, so its times with and without estimates are compared."""
    ours = modelled(tool, device, hidden(text))
    if clock:
        return [(ours.get(name, 0.0), cycles / clock) for name, cycles in estimates_of(text).items()]
    theirs = modelled(tool, device, text)
    return [(ours[name], seconds) for name, seconds in theirs.items() if name in ours and ours[name] != seconds]


def judge(tool, device, folder, clock):
    """Prints a row for each text. Errors are the library's, as `remat-hlo calibrate` says them."""
    from remat_hlo._calibrate import compare_seconds
    print(f"{'program':24} {'instructions':>12} {'rank correlation':>16} {'median error':>12} {'sum':>6}")
    for path in sorted(pathlib.Path(folder).glob("*.txt")):
        pairs = pairs_of(tool, device, path.read_text(), clock)
        if not pairs:
            continue
        found = compare_seconds(*zip(*pairs))
        rank = "none" if found.rank_correlation is None else f"{found.rank_correlation:.3f}"
        print(f"{path.stem:24} {len(pairs):12} {rank:>16} {found.median:12.1%} {found.sum_ratio:6.3f}")


# ---- the shipped profiles ----

def adopt(profile, fitted, origin):
    """Writes the prices into the profile, whose other lines stay as they are, and says where they come from."""
    path = pathlib.Path(profile)
    text, made = path.read_text(), json.loads(pathlib.Path(fitted).read_text())
    text = re.sub(r',\n  "cycles": \{.*?\n  \}', "", text, flags=re.DOTALL)
    text = re.sub(r"; cycles: [^\"]*", "", text)
    text = re.sub(r'("source": "[^"]*)"', lambda found: f'{found[1]}; cycles: {origin}"', text)
    prices = ",\n".join(f'    "{name}": {price:.6g}' for name, price in made["cycles"].items())
    path.write_text(text.rstrip().removesuffix("}").rstrip() + f',\n  "cycles": {{\n{prices}\n  }}\n}}\n')


def main():
    command, *rest = sys.argv[1:]
    if command == "compile":
        folder, target, kind, *names = rest
        compile_programs(folder, target, kind, names)
    elif command == "judge":
        tool, device, folder = rest
        profile = pathlib.Path(device) if device.endswith(".json") else (
            ROOT / "share" / "remat-hlo" / "profiles" / f"{device}.json")
        judge(tool, device, folder, json.loads(profile.read_text()).get("clock"))
    elif command == "adopt":
        adopt(*rest)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
