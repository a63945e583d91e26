#!/usr/bin/env bash
# Measures everything anew into docs/measurements, on this host between two network namespaces (root), and makes the index.
# The host should be idle: half an hour. Names as arguments: only these.
#
#   scripts/measurements.sh                   all of them but soak, which takes an hour
#   scripts/measurements.sh sweep placement   these
#   scripts/measurements.sh index             the index only
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${EVFORGE:-./target/release/evforge}")
folder=docs/measurements

measure() { # name, then the command of `evforge measure` with its options
  local name=$1
  shift
  echo "== $name: evforge measure $*" >&2
  # A bad verdict is a result, too.
  "$program" measure "$@" --overwrite --output "$folder/$name" || echo "$name: status $?" >&2
}

# Recorded packets of the four detectors of the EFU paper, from the folder of reference data; they are not part of this repository.
captures() {
  local shared work
  shared=$(realpath "${EVFORGE_SHARED:-../shared}")
  work=$(mktemp --directory)
  # The result has the command in it: no path of this host.
  ln -s "$shared/captures" "$PWD/configs" "$PWD/docs" "$work/"
  (
    cd "$work"
    measure captures formation --rounds 3 --into nothing,nexus \
      --input captures/gdgem/vmm3a_srs.pcapng --config configs/gdgem-srs.toml \
      --input captures/multigrid/recorded_ws1to4.pkts --config configs/multigrid.toml \
      --input captures/multiblade/recorded_2018.pkts --config configs/multiblade.toml \
      --input captures/sonde/generated_255.pkts --config configs/sonde-module.toml
  )
  rm -r "$work"
}

one() {
  case $1 in
    link) measure link link --without-host ;;
    sweep) measure sweep sweep --for 200ms --rounds 3 ;;
    rate) measure rate rate --size 64,1472,8972 --for 300ms --rounds 3 ;;
    overload) measure overload rate --size 64,1472 --work 5us --for 500ms --rounds 3 --overload ;;
    sizes) measure sizes rate --size 256,257,512,513,1024,1025,2048,2049 --method coalesced,xdp --for 300ms --rounds 3 ;;
    streams) measure streams streams --rounds 3 ;;
    placement) measure placement placement ;;
    pulses) measure pulses pulses ;;
    formation) measure formation formation --rounds 3 --readouts 5000000 ;;
    captures) captures ;;
    latency) measure latency latency --rounds 3 ;;
    observer) measure observer observer ;;
    soak) measure soak soak --streams 4 --rate 50Mbit/s --burst 2ms --for 1h ;;
    index) ;;
    *)
      echo "$1: no measurement of this script" >&2
      exit 2
      ;;
  esac
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  names=(link sweep rate overload sizes streams placement pulses formation captures latency observer)
fi
for name in "${names[@]}"; do one "$name"; done
scripts/measurements-index.py
