#!/usr/bin/env bash
# Runs the benchmarks, or those that are named, and lets them add their figures to docs/benchmarks/figures.csv: `make bench`.
#
#   scripts/bench.sh                all of them
#   scripts/bench.sh ess gdgem      these two
#
# Figures belong to a commit: with changes that are not committed (outside docs/benchmarks) nothing is kept.
set -euo pipefail
cd "$(dirname "$0")/.."

benches=("$@")
if [ ${#benches[@]} -eq 0 ]; then
  benches=(sonde multigrid multiblade gdgem ess ess_records simulated_load messages trace_groups assembly)
fi
if [ -z "$(git status --porcelain --untracked-files=no -- . ':!docs/benchmarks')" ]; then
  EVFORGE_BENCH_RUN="$(date --utc +%F) $(git rev-parse --short HEAD)"
  export EVFORGE_BENCH_RUN
else
  echo "there are changes that are not committed: figures are not kept in docs/benchmarks" >&2
fi

in_lab=()
in_train=()
for bench in "${benches[@]}"; do
  if [ "$bench" = assembly ]; then in_train+=(--bench "$bench"); else in_lab+=(--bench "$bench"); fi
done
if [ ${#in_lab[@]} -gt 0 ]; then "${CARGO:-cargo}" bench --locked -p evforge-lab "${in_lab[@]}"; fi
if [ ${#in_train[@]} -gt 0 ]; then "${CARGO:-cargo}" bench --locked -p evforge-train "${in_train[@]}"; fi
