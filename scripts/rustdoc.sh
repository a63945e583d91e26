#!/usr/bin/env bash
# Stands for rustdoc in `cargo test --doc`: after the examples of a library its documentation is made, from the dependencies that are
# built for the tests already (`cargo doc` would compile all of them again). Warnings are errors.
set -uo pipefail

rustdoc "$@" || exit
arguments=()
is_test=false
while [ $# -gt 0 ]; do
    case $1 in
        --test) is_test=true ;;
        --test-run-directory | --test-runtool | --test-args | --color) shift ;;
        --test-run-directory=* | --test-args=*) ;;
        *) arguments+=("$1") ;;
    esac
    shift
done
# Cargo asks for the version, too.
$is_test || exit 0
exec rustdoc "${arguments[@]}" -D warnings --out-dir "${CARGO_TARGET_DIR:-target}/doc"
