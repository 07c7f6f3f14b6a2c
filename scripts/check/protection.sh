#!/bin/sh
# Compiles a training step with JAX, rematerialized with each form of --protect, and prints what XLA
# left of the recomputations: a table of instructions and temporary bytes.
#
#     scripts/check/protection.sh [TOOL] [VENV]
#
# TOOL is the built remat-hlo (build/release/remat-hlo), VENV the folder of a virtual environment,
# which is made when it is missing (build/venv-jax). Ends with 77 when JAX cannot be installed: no
# network, no venv module, no wheel for this machine's Python.
set -eu
. "$(dirname "$0")/../common.sh"
need_tool_and_jax "$@"
JAX_PLATFORMS=cpu exec "$venv/bin/python" "$project/tests/corpus/check_protection.py" "$tool"
