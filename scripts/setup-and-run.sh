#!/bin/sh
# Installs what is missing, builds, and runs the main job on a sample: a training step of a small
# transformer, as XLA dumped it, made to fit 60 % of its memory. Arguments go to remat-hlo instead:
#
#     scripts/setup-and-run.sh [FILE OPTION...]
set -eu
. "$(dirname "$0")/common.sh"

install_build_tools dot:graphviz
say "building"
build release -DBUILD_TESTING=OFF
tool=$project/build/release/remat-hlo

if [ $# -gt 0 ]; then
  exec "$tool" "$@"
fi

out=$project/out
mkdir -p "$out"
cd "$project"
say "remat-hlo hlo_samples/gpt_unrolled.after_optimizations.hlo --mem-limit=60%"
"$tool" hlo_samples/gpt_unrolled.after_optimizations.hlo --mem-limit=60% \
  -o out/gpt_unrolled.remat.hlo --json=out/gpt_unrolled.json \
  --dump-dot=out --dump-memlog=out/gpt_unrolled.memlog

say "pictures"
for graph in out/*.dot; do
  dot -Tsvg "$graph" -o "${graph%.dot}.svg"
done
say "verify"
"$tool" verify hlo_samples/gpt_unrolled.after_optimizations.hlo out/gpt_unrolled.remat.hlo

say "the results are in out/"
ls -l out
