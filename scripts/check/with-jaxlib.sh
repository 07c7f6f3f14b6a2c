#!/bin/sh
# Rematerializes the real dumps and lets XLA read the results: the training steps of
# ../shared/corpus/train when they are there, the samples of the tree, both algorithms. Then has it
# run random modules with values narrowed, which must not change a bit.
#
#     scripts/check/with-jaxlib.sh [TOOL] [VENV]
#
# TOOL is the built remat-hlo (build/release/remat-hlo), VENV the folder of a virtual environment,
# which is made when it is missing (build/venv-jax). Ends with 77 when JAX cannot be installed:
# no network, no venv module, no wheel for this machine's Python.
set -eu
. "$(dirname "$0")/../common.sh"
need_tool_and_jax "$@"
"$venv/bin/python" "$project/tests/corpus/check_with_jaxlib.py" "$tool"
exec "$venv/bin/python" "$project/tests/corpus/run_with_jaxlib.py" "$tool"
