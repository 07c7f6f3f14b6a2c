"""Prints what each stage makes of the programs of live_programs.py: the temporaries that XLA:CPU assigns
under a budget of r50%, in MiB. Run by scripts/check/live --stages."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax  # noqa: E402
from live_programs import PROGRAMS, compile_program, run  # noqa: E402

import remat_hlo.jax as live  # noqa: E402
from remat_hlo import _hooks  # noqa: E402
from remat_hlo._before import STAGE  # noqa: E402

STAGES = (*(("POST_SCHEDULER", "PRE_SCHEDULER") if _hooks.has_hooks() else ()), STAGE)
ALGORITHMS = "path", "search"

print(f"JAX {jax.__version__}")
print("| program | as it is | " + " | ".join(
    f"{stage}, {algorithm}" for stage in STAGES for algorithm in ALGORITHMS) + " |")
print("|---|" + "---|" * (1 + len(STAGES) * len(ALGORITHMS)))
for name, make in PROGRAMS.items():
    program = make()
    plain = compile_program(program)
    expected = run(plain, program)
    cells = [f"{plain.memory_analysis().temp_size_in_bytes / 2**20:.1f}"]
    for stage in STAGES:
        for algorithm in ALGORITHMS:
            with live.rematerialize("r50%", stage=stage, algorithm=algorithm, verbose=False):
                compiled = compile_program(program)
            assert run(compiled, program) == expected, (name, stage, algorithm)
            cells.append(f"{compiled.memory_analysis().temp_size_in_bytes / 2**20:.1f}")
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
