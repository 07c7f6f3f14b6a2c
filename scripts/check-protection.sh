#!/bin/sh
# Compiles a training step with JAX, rematerialized with each form of --protect, and prints what XLA
# left of the recomputations: a table of instructions and temporary bytes.
#
#     scripts/check-protection.sh [TOOL] [VENV]
#
# TOOL is the built remat-hlo (build/release/remat-hlo), VENV the folder of a virtual environment,
# which is made when it is missing (build/jax-venv). Ends with 77 when JAX cannot be installed: no
# network, no venv module, no wheel for this machine's Python.
set -eu
project=$(cd "$(dirname "$0")/.." && pwd)
tool=${1:-$project/build/release/remat-hlo}
venv=${2:-$project/build/jax-venv}

skip() {
  echo "skipped: $1"
  exit 77
}

[ -x "$tool" ] || { echo "no $tool: build it first, or name the tool" >&2; exit 2; }
if ! "$venv/bin/python" -c 'import jax' 2>/dev/null; then
  python3 -m venv "$venv" >/dev/null 2>&1 || skip "python3 -m venv does not work here"
  "$venv/bin/pip" install -q --timeout 20 --retries 1 jax >/dev/null 2>&1 ||
    skip "JAX cannot be installed from PyPI"
fi
JAX_PLATFORMS=cpu exec "$venv/bin/python" "$project/tests/corpus/check_protection.py" "$tool"
