#!/usr/bin/env bash
# Stands for rustc when the tests are built (RUSTC_WORKSPACE_WRAPPER), so that each file is read once: with the lints of clippy, and
# without optimisation of tests themselves, which would take longer than it saves. The libraries that they test are optimised.
set -euo pipefail

further=()
for argument in "$@"; do
    [ "$argument" != --test ] || further=(-C opt-level=0)
done
exec "$EVFORGE_CLIPPY" "$@" "${further[@]}"
