#!/usr/bin/env bash
# Makes the packages of what is committed in two new folders, and compares them: `make package-twice`.
#
# With no cache between the two: neither cargo's nor that of the compiler for C.
set -euo pipefail
cd "$(dirname "$0")/.."

both=$(mktemp -d "${PACKAGE_TEST_FOLDER:-/var/tmp}/evforge-twice-XXXXXX")
trap 'rm -rf "$both"' EXIT
# One is deeper than the other, and called otherwise.
for folder in "$both/a" "$both/another/deeper"; do
    git clone --quiet --no-hardlinks . "$folder"
    mkdir -p "$folder/target/package-tools"
    cp -r target/package-tools/bin "$folder/target/package-tools/" 2>/dev/null || true
    ZIG_GLOBAL_CACHE_DIR=$folder/target/zig "$folder/scripts/package.sh" >/dev/null
    cat "$folder/target/package/SHA256SUMS"
done
cmp "$both/a/target/package/SHA256SUMS" "$both/another/deeper/target/package/SHA256SUMS"
echo "both are the same"
