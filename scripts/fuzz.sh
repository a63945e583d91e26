#!/usr/bin/env bash
# Builds the fuzz targets and runs them: see fuzz/README.md and `make fuzz`. What is set in the environment:
#
#   MINUTES=30          how long all of them together are run (fuzz-run.py shares it out)
#   TARGETS="isis drop" only these
#   JOBS=2              so many at once
#   SANITIZER=address   with AddressSanitizer, which needs a nightly toolchain; without one it is said, and left out
#   PLAIN=1             as fast as possible, for many runs of single packets: short inputs, no value profile
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

triple=x86_64-unknown-linux-gnu
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
cargo=${CARGO:-cargo}
target_dir=${CARGO_TARGET_DIR:-target}
sanitizer=${SANITIZER:-}
toolchain=()

case $sanitizer in
"") ;;
address)
    if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
        toolchain=(+nightly)
        flags="$flags -Zsanitizer=address"
        target_dir=$target_dir/address
    else
        echo "skipped: AddressSanitizer: there is no nightly toolchain (rustup toolchain install nightly); run without it" >&2
        sanitizer=
    fi
    ;;
*)
    echo "SANITIZER=$sanitizer: expected address, or nothing" >&2
    exit 2
    ;;
esac

# --target keeps the flags away from build scripts.
RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target_dir" "$cargo" "${toolchain[@]}" build --locked --release --target "$triple"

exec python3 ../scripts/fuzz-run.py --programs "$target_dir/$triple/release" --minutes "${MINUTES:-30}" --jobs "${JOBS:-1}" \
    ${sanitizer:+--sanitizer "$sanitizer"} ${PLAIN:+--plain} ${TARGETS:-}
