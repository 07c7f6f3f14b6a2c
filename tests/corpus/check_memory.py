"""Compiles JAX programs (jax_programs.py) and compares what `remat-hlo report` makes of the dumps of the
compiled modules, and of compiled.as_text() on the standard input, with what XLA allocates: the bytes of temporaries, parameters, outputs and what these
share. Run by scripts/check/memory.sh.

Prints what differs, and a closing line; ends with 1 when anything does."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jax
import jax_programs

PARTS = {"temp_bytes": "temp", "parameter_bytes": "argument", "output_bytes": "output",
         "aliased_bytes": "alias"}  # by our key in the report: XLA's
DUMP = "*.jit_{}.cpu_after_optimizations.txt"


def reported(tool, path, text=None):
    run = subprocess.run([tool, "report", path, "--json=-", "-q"], input=text, capture_output=True,
                         text=True, check=True)
    return json.loads(run.stdout)


def compile_all(folder):
    """XLA's figures and the text by program. It reads its flags when it is first used."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = (f"--xla_dump_to={folder} --xla_dump_hlo_as_text "
                               f"--xla_force_host_platform_device_count={jax_programs.NUM_DEVICES}")
    jax_programs.add_sharded()
    print(f"jax {jax.__version__}, XLA:CPU", flush=True)
    figures = {}
    for name, (function, shapes, donated) in jax_programs.PROGRAMS.items():
        compiled = jax.jit(function, donate_argnums=donated).lower(*shapes).compile()
        figures[name] = compiled.memory_analysis(), compiled.as_text()
    return figures


def compare(tool, folder, name, figures):
    """What differs, in a list of words."""
    paths = sorted(pathlib.Path(folder).glob(DUMP.format(name)))
    if len(paths) != 1:
        return [f"{len(paths)} dumps"]
    analysis, text = figures
    theirs = {part: getattr(analysis, f"{of_xla}_size_in_bytes") for part, of_xla in PARTS.items()}
    return [f"{source}: {part} {ours[part]:,} (XLA {theirs[part]:,})"
            for source, ours in (("dump", reported(tool, paths[0])), ("as_text", reported(tool, "-", text)))
            for part in PARTS if ours[part] != theirs[part]]


def main():
    tool = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        figures = compile_all(folder)
        wrong = 0
        for name, figure in figures.items():
            differences = compare(tool, folder, name, figure)
            wrong += bool(differences)
            if differences:
                print(f"{name}: {', '.join(differences)}")
    print(f"{len(figures)} programs, {len(figures) - wrong} with XLA's own figures to the byte")
    sys.exit(wrong > 0)


main()
