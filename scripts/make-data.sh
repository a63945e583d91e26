#!/usr/bin/env bash
# Makes the captures in data/ again, by the commands in data/README.md, then the events and counters that belong to
# them. On an unchanged tree nothing changes. Called by `make data`, which has built evforge.
set -euo pipefail
cd "$(dirname "$0")/.."

evforge=${EVFORGE:-$PWD/target/release/evforge}
made=0
rm -f data/*.pcapng data/truth/*.csv data/events/*.csv data/counters/*.csv
while read -r line; do
    read -r -a words <<<"$line"
    "$evforge" "${words[@]:1}"
    made=$((made + 1))
done < <(grep '^evforge simulate ' data/README.md)
[ "$made" -gt 0 ] || { echo "data/README.md has no command 'evforge simulate'" >&2; exit 1; }
EVFORGE_UPDATE=1 cargo test --locked -p evforge-pipeline --test forming -- --exact own_data::events_and_counters_are_those_written_down
