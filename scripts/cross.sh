#!/usr/bin/env bash
# Whether the crates that do without this kernel compile for other platforms: cross.sh [TARGET...]
#
# `cargo check`, which needs no compiler or linker of the other platform for code in Rust only. What receives packets (net),
# and what is linked with libraries in C (stream, kafka, dump, filewriter), is for Linux: docs/install.md. The status is 3 if the standard
# library of a platform is missing, and nobody can fetch it.
set -euo pipefail
cd "$(dirname "$0")/.."

crates=(core wire messages detect inspect log control picture sim plugin-interface)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(aarch64-unknown-linux-gnu x86_64-apple-darwin aarch64-apple-darwin)
libraries=$(rustc --print sysroot)/lib/rustlib
missing=()
for target in "${targets[@]}"; do
    [ -d "$libraries/$target/lib" ] || missing+=("$target")
done
if [ ${#missing[@]} -gt 0 ]; then
    if ! command -v rustup >/dev/null; then
        echo "cross.sh: the standard library of ${missing[*]} is missing, and rustup, which fetches it, too: https://rustup.rs" >&2
        exit 3
    fi
    rustup --quiet target add "${missing[@]}"
fi
for target in "${targets[@]}"; do
    cargo check --quiet --locked --target "$target" "${crates[@]/#/--package=evforge-}"
    echo "$target: ${crates[*]} compile"
done
