#!/usr/bin/env bash
# Simulates every detector at several rates, forms its events and scores them against the truth; puts the tables into
# docs/accuracy.md and the figures of its plots into docs/pictures, from which `make pictures` draws them; then the
# instruments of the EFU paper at their rates. Fails if a detector is not as good at its low rate, which is the first, as
# it has to be, or an instrument at its rate.
#
#   scripts/accuracy.sh              all detectors, and the instruments
#   scripts/accuracy.sh sonde nmx    these only
#   scripts/accuracy.sh instruments  the instruments only
set -euo pipefail
cd "$(dirname "$0")/.."

EVFORGE=${EVFORGE:-target/release/evforge}
NEUTRONS=${NEUTRONS:-200000}
DEMANDS=(--max-not-resolvable 5% --max-time-residual 100ns)
GOOD=(--min-efficiency 99.5% --max-ghosts 0.1%)
# Some events are at the wrong end of their track.
OF_TRACKS=(--min-efficiency 99.2% --max-ghosts 0.6%)
# Neutrons that leave little charge are far off along their tube.
OF_TUBES=(--min-efficiency 99% --max-ghosts 0.8%)
wanted=("$@")
failed=()

# accuracy NAME RATES [ARGUMENTS]: configs/NAME.toml at these rates.
accuracy() {
  local name=$1 rates=$2
  shift 2
  if ((${#wanted[@]})) && [[ " ${wanted[*]} " != *" $name "* ]]; then
    return
  fi
  # Rates are words of their own.
  # shellcheck disable=SC2086
  "$EVFORGE" accuracy --config "configs/$name.toml" --rates $rates --neutrons "$NEUTRONS" "${DEMANDS[@]}" \
    --document docs/accuracy.md --overwrite --figures "docs/pictures/accuracy-$name.json" "$@" || failed+=("$name")
}

# How far events are spread about the truth, in pixels, as docs/accuracy.md says for each detector: an event may be as far from its
# neutron as twice the width at half maximum.
accuracy sonde "1kHz 20kHz 200kHz 2MHz 20MHz 50MHz" --max-rms 0.3 "${GOOD[@]}"
accuracy multigrid "1kHz 10kHz 50kHz 200kHz" --max-rms 0.32,0.32,0.52 "${GOOD[@]}"
accuracy multigrid-cncs "1kHz 10kHz 50kHz 200kHz" --max-rms 0.52,0.32,0.32 "${GOOD[@]}"
accuracy trex "10kHz 100kHz 1MHz 5MHz" --max-rms 0.32,0.32,0.52 "${GOOD[@]}"
accuracy multiblade "500Hz 3kHz 10kHz 30kHz 100kHz 300kHz" --max-rms 0.4 "${GOOD[@]}"
accuracy multiblade-50 "3kHz 25kHz 100kHz 300kHz 1MHz 3MHz" --max-rms 0.4 "${GOOD[@]}"
accuracy freia "100kHz 300kHz 1MHz 3MHz 10MHz" --max-rms 0.4 "${GOOD[@]}"
accuracy estia "100kHz 300kHz 1MHz 3MHz 10MHz" --max-rms 0.4 "${GOOD[@]}"
accuracy amor-ess "50kHz 300kHz 1MHz 3MHz" --max-rms 0.4 "${GOOD[@]}"
accuracy loki "10kHz 100kHz 1MHz 10MHz" --max-rms 2.8,0.3,0.3 "${OF_TUBES[@]}"
accuracy bifrost "1kHz 100kHz 1MHz" --max-rms 1.7,0.3,0.3 "${OF_TUBES[@]}"
accuracy tbl3he "1kHz 100kHz 1MHz" --max-rms 0.7,0.3,0.3 "${OF_TUBES[@]}"
accuracy miracles "1kHz 100kHz 1MHz" --max-rms 0.35,0.8,0.3 "${OF_TUBES[@]}"
accuracy cspec "1kHz 100kHz 1MHz 10MHz" --max-rms 0.3,1.8,0.3 "${OF_TUBES[@]}"
accuracy gdgem-srs "1kHz 10kHz 50kHz 200kHz" --max-rms 1.5 "${OF_TRACKS[@]}"
accuracy gdgem-nmx "5kHz 50kHz 200kHz 1MHz" --max-rms 1.5 "${OF_TRACKS[@]}"
accuracy nmx "2kHz 20kHz 100kHz 500kHz" --max-rms 1.5 "${OF_TRACKS[@]}"

# What an instrument has to reach at its rate is in crates/lab/src/accuracy/instruments.rs.
if ((${#wanted[@]} == 0)) || [[ " ${wanted[*]} " == *" instruments "* ]]; then
  "$EVFORGE" accuracy --instruments --neutrons "$NEUTRONS" --document docs/accuracy.md || failed+=(instruments)
fi

if ((${#failed[@]})); then
  echo "not as good as it has to be: ${failed[*]}" >&2
  exit 1
fi
