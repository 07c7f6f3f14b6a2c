#!/bin/sh
# Compiles JAX programs of many kinds with XLA:CPU and compares its figures (temporaries, parameters,
# outputs, what these share) with those of `remat-hlo report`, which must be the same to the byte.
#
#     scripts/check/memory.sh [TOOL] [VENV]
#
# TOOL is the built remat-hlo (build/release/remat-hlo), VENV the folder of a virtual environment,
# which is made when it is missing (build/venv-jax). Ends with 77 when JAX cannot be installed: no
# network, no venv module, no wheel for this machine's Python.
set -eu
. "$(dirname "$0")/../common.sh"
need_tool_and_jax "$@"
exec "$venv/bin/python" "$project/tests/corpus/check_memory.py" "$tool"
