#!/usr/bin/env bash
# Models of what threads share, with loom: docs/development/sanitizers.md.
# Usage: scripts/models.sh [crate] …
#
# LOOM_MAX_PREEMPTIONS=N   forced changes between threads in a run (3 unless given; an empty value means any number)
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- control log net outputs train
packages=()
for crate in "$@"; do packages+=(-p "evforge-$crate"); done
# Of others that are told of the flag, none is part of a model.
export RUSTFLAGS="--cfg loom" CARGO_INCREMENTAL=0 LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS-3}
[ -n "$LOOM_MAX_PREEMPTIONS" ] || unset LOOM_MAX_PREEMPTIONS
log=target/models.log
mkdir -p target
"${CARGO:-cargo}" test --locked --target-dir target/models --lib "${packages[@]}" -- models --nocapture 2>&1 | tee "$log"
# A filter that finds nothing is no success.
found=$(awk '/^test result: ok/ { count += $4 } END { print count + 0 }' "$log")
echo "$found models hold"
[ "$found" -ge "$#" ]
