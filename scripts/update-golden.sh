#!/bin/sh
# Rewrites what the golden tests and those of bad input expect; read the diff before you commit it.
# usage: scripts/update-golden.sh REMAT-HLO [NAME...]
#
# A NAME is FOLDER or FOLDER/TEST as in tests/golden; without, all of both folders are rewritten.
set -eu

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
tests=$(dirname "$0")/../tests
tool=$1
shift
python3 "$tests/golden/run.py" "$tool" "$@" --update
[ $# -gt 0 ] || python3 "$tests/golden/run.py" "$tool" --bad --update
