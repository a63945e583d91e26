#!/usr/bin/env bash
# Looks for undefined behaviour and data races, with the tools of a nightly toolchain: docs/development/sanitizers.md.
# Usage: scripts/sanitize.sh [miri|asan|tsan] …   (all of them without a name)
#
# MINUTES=3    how long the live runs of asan and tsan go on
# KEEP=1       leaves what was built in target/sanitize-*, some gigabytes
set -uo pipefail
cd "$(dirname "$0")/.." || exit

target=x86_64-unknown-linux-gnu
cargo=${CARGO:-cargo}
python=${EVFORGE_PYTHON:-.venv/bin/python}
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_PROFILE_TEST_OPT_LEVEL=1
failed=()

# What a part needs and is not here.
missing() {
    command -v rustup >/dev/null || { echo "rustup"; return; }
    rustup run nightly rustc --version >/dev/null 2>&1 || { echo "a nightly toolchain: rustup toolchain install nightly"; return; }
    [ "$(uname -m)" = x86_64 ] || { echo "a processor of the kind $target"; return; }
    local component
    for component in "$@"; do
        rustup component list --toolchain nightly 2>/dev/null | grep -q "^$component.*(installed)" ||
            { echo "the component $component: rustup component add --toolchain nightly $component"; return; }
    done
}

step() {
    echo "== $1"
    shift
    "$@" || failed+=("$*")
}

# Everything between pointers that needs no system call. Packages that load libraries, or call HDF5 or the kernel, cannot be interpreted.
miri() {
    # Every random order of threads, and what a processor with reordered stores would do, from some seeds.
    export MIRIFLAGS="-Zmiri-many-seeds=0..4 -Zmiri-disable-isolation"
    local build=(--locked --target-dir target/sanitize-miri)
    step "Miri: the interface of plugins, the author's side" "$cargo" +nightly miri test "${build[@]}" -p evforge-plugin-interface --test interface -- table
    # A library stays loaded until the end of the process, with what is known of it.
    export MIRIFLAGS="$MIRIFLAGS -Zmiri-ignore-leaks"
    step "Miri: the interface of plugins, the host's side" "$cargo" +nightly miri test "${build[@]}" -p evforge-plugin --lib in_process
    step "Miri: rings of AF_XDP, what the kernel attaches to packets" \
        "$cargo" +nightly miri test "${build[@]}" -p evforge-net --lib -- xdp::ring socket::arrivals
    export MIRIFLAGS="-Zmiri-disable-isolation"
    # One case has a message of every schema in it.
    step "Miri: generated code of the messages" env PROPTEST_CASES=4 "$cargo" +nightly miri test "${build[@]}" -p evforge-messages --lib -- round_trip
}

# A live run of everything, built with a sanitizer, that is soaked for some minutes; what it finds is in reports.
live() {
    local name=$1 variable=$2 options=$3 reports=$PWD/target/sanitize-$1/reports found
    shift 3
    rm -rf "$reports" && mkdir -p "$reports"
    export "$variable=$options:log_path=$reports/found"
    step "$name: a live run of everything" "$python" scripts/soak --program "target/sanitize-$name/$target/debug/evforge" \
        --hours "$(awk "BEGIN { print ${MINUTES:-3} / 60 }")" --output "target/sanitize-$name/soak" --growth none \
        --detector freia --detector gdgem-srs --detector multigrid --detector sonde "$@"
    found=$(find "$reports" -type f -size +0 | wc -l)
    if [ "$found" != 0 ]; then
        head -60 "$(find "$reports" -type f -size +0 | head -1)"
        failed+=("$name: $found reports in $reports")
    fi
}

asan() {
    # Plugins have the sanitizer from the program that loads them, so it exports everything.
    export RUSTFLAGS="-Zsanitizer=address -Clink-arg=-Wl,--export-dynamic"
    export RUSTDOCFLAGS=$RUSTFLAGS
    # Libraries in C that are built along are instrumented, too. What librdkafka links to see what there is needs to know it.
    export CFLAGS=-fsanitize=address LDFLAGS=-fsanitize=address
    local build=(--locked --target "$target" --target-dir target/sanitize-asan)
    # Leaks: what HDF5 and a plugin that stays loaded keep until the end of the process is no leak (the list says which).
    local options="detect_stack_use_after_return=1:strict_string_checks=1"
    export ASAN_OPTIONS=$options LSAN_OPTIONS="suppressions=$PWD/scripts/sanitize-leaks.txt:print_suppressions=0"
    step "asan: tests of net, plugins and HDF5 files" "$cargo" +nightly test "${build[@]}" \
        -p evforge-net -p evforge-plugin-interface -p evforge-plugin -p evforge-stream --no-fail-fast -- \
        --skip freed_memory::tests::what_a_thread_has_freed_goes_back --skip crash_note::tests # The sanitizer's own allocator, and handlers.
    step "asan: the program" "$cargo" +nightly build "${build[@]}" -p evforge --bin evforge
    live asan ASAN_OPTIONS "$options"
}

tsan() {
    export RUSTFLAGS="-Zsanitizer=thread"
    local build=(--locked -Zbuild-std --target "$target" --target-dir target/sanitize-tsan)
    local options="suppressions=$PWD/scripts/sanitize-threads.txt:history_size=4:second_deadlock_stack=1"
    step "tsan: the program" "$cargo" +nightly build "${build[@]}" -p evforge --bin evforge
    # librdkafka starts threads by thrd_create, which ThreadSanitizer does not know.
    live tsan TSAN_OPTIONS "$options" --no-kafka
}

[ $# -gt 0 ] || set -- miri asan tsan
for part in "$@"; do
    case $part in
        miri) lacks=$(missing miri rust-src) ;;
        asan) lacks=$(missing) ;;
        tsan) lacks=$(missing rust-src) ;;
        *) echo "sanitize.sh: $part is none of miri, asan, tsan" >&2; exit 2 ;;
    esac
    if [ -n "$lacks" ]; then
        echo "skipped: $part: it needs $lacks"
        continue
    fi
    ("$part"; printf '%s\n' "${failed[@]}" >"target/sanitize-$part.failed")
    [ -n "${KEEP:-}" ] || rm -rf "target/sanitize-$part"
done

status=0
for part in "$@"; do
    while read -r line; do
        [ -z "$line" ] || { echo "failed: $line"; status=1; }
    done < <(cat "target/sanitize-$part.failed" 2>/dev/null)
    rm -f "target/sanitize-$part.failed"
done
[ "$status" != 0 ] || echo "nothing found"
exit "$status"
