#!/bin/sh
# Rematerializes the real dumps and lets XLA read the results: the training steps of
# ../shared/corpus/train when they are there, the samples of the tree, both algorithms. Then has it
# run random modules with values narrowed, which must not change a bit.
#
#     scripts/check-with-jaxlib.sh [TOOL] [VENV]
#
# TOOL is the built remat-hlo (build/release/remat-hlo), VENV the folder of a virtual environment,
# which is made when it is missing (build/jaxlib-venv). Ends with 77 when jaxlib cannot be installed:
# no network, no venv module, no wheel for this machine's Python.
set -eu
project=$(cd "$(dirname "$0")/.." && pwd)
tool=${1:-$project/build/release/remat-hlo}
venv=${2:-$project/build/jaxlib-venv}

skip() {
  echo "skipped: $1"
  exit 77
}

[ -x "$tool" ] || { echo "no $tool: build it first, or name the tool" >&2; exit 2; }
if ! "$venv/bin/python" -c 'from jaxlib import _hlo' 2>/dev/null &&
   ! "$venv/bin/python" -c 'from jaxlib import xla_client' 2>/dev/null; then
  python3 -m venv "$venv" >/dev/null 2>&1 || skip "python3 -m venv does not work here"
  "$venv/bin/pip" install -q --timeout 20 --retries 1 jax jaxlib >/dev/null 2>&1 ||
    skip "jaxlib cannot be installed from PyPI"
fi
"$venv/bin/python" "$project/tests/corpus/check_with_jaxlib.py" "$tool"
exec "$venv/bin/python" "$project/tests/corpus/run_with_jaxlib.py" "$tool"
