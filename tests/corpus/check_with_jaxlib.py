"""Lets XLA read what remat-hlo writes. Run by scripts/check/with-jaxlib.sh."""

import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("REMAT_HLO_SHARED") or PROJECT.parent / "shared")
ALGORITHMS = ("path", "standard")
BUDGETS = ("70%", "min")
TIMEOUT_SECONDS = 300

# XLA dies on some texts, so each is read by a process of its own.
READ = """
import sys
try:
    from jaxlib import _hlo
except ImportError:
    from jaxlib import xla_client
    _hlo = xla_client._xla
_hlo.hlo_module_from_text(open(sys.argv[1]).read())
"""


def inputs():
    files = sorted((SHARED / "corpus" / "train").glob("*.hlo"))
    if not files:
        print(f"left out: no dumps in {SHARED / 'corpus' / 'train'}; the samples are tested")
    return files + sorted((PROJECT / "hlo_samples").glob("*.hlo"))


def takes_long(path, algorithm, budget):
    slow = path.name.startswith("gpt_j_6b") and algorithm == "standard"
    low = budget == "min" and path.stat().st_size > 1_000_000
    return (slow or low) and os.environ.get("REMAT_HLO_LONG_TESTS") != "1"


def read_by_xla(path):
    return subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True,
                          timeout=TIMEOUT_SECONDS)


def failure(tool, path, algorithm, budget, output):
    """Why XLA does not read the result, None when it does."""
    run = subprocess.run(
        [tool, str(path), f"--mem-limit={budget}", f"--algorithm={algorithm}",
         "--memory-model=xla-remat", "-q", "-o", output],
        capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    if run.returncode not in (0, 1):
        return f"exit code {run.returncode}: {run.stderr.strip()}"
    read = read_by_xla(output)
    if read.returncode == 0:
        return None
    lines = read.stderr.strip().splitlines() or ["no message"]
    return f"XLA: exit code {read.returncode}: {lines[-1][:500]}"


def main():
    tool = os.path.abspath(sys.argv[1])
    num_read = num_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "out.hlo")
        for path in inputs():
            if read_by_xla(path).returncode != 0:  # `x#1`, say, which came with 0.11
                print(f"left out: {path.name}, which this jaxlib does not read")
                continue
            for algorithm in ALGORITHMS:
                for budget in BUDGETS:
                    what = f"{path.name}, {algorithm}, {budget}"
                    if takes_long(path, algorithm, budget):
                        print(f"left out: {what}; REMAT_HLO_LONG_TESTS=1 runs it")
                        continue
                    why = failure(tool, path, algorithm, budget, output)
                    num_read += 1
                    if why:
                        num_failed += 1
                        print(f"{what}: {why}")
    print(f"{num_read} rewritten modules, {num_failed} not read by XLA")
    return 1 if num_failed or not num_read else 0


if __name__ == "__main__":
    sys.exit(main())
