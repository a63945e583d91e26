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
  shared=$(realpath "${EVFORGE_SHARED:-../shared}")/captures
  work=$(mktemp --directory)
  # The result has the command in it: no path of this host.
  cp "$shared"/gdgem/vmm3a_srs.pcapng "$shared"/multigrid/recorded_ws1to4.pkts "$shared"/multiblade/recorded_2018.pkts \
    "$shared"/sonde/generated_255.pkts "$work/"
  ln -s "$PWD/configs" "$PWD/docs" "$work/"
  (
    cd "$work"
    measure captures formation --rounds 2 --into nothing \
      --input vmm3a_srs.pcapng --config configs/gdgem-srs.toml \
      --input recorded_ws1to4.pkts --config configs/multigrid.toml \
      --input recorded_2018.pkts --config configs/multiblade.toml \
      --input generated_255.pkts --config configs/sonde-module.toml
  )
  rm -r "$work"
}

one() {
  case $1 in
    link) measure link link --without-host ;;
    sweep) measure sweep sweep --method paper,coalesced,xdp,tcp --for 200ms --rounds 3 ;;
    rate) measure rate rate --size 64,1472,8972 --method paper,batched,coalesced,xdp --for 200ms --rounds 3 ;;
    overload) measure overload rate --size 1472 --method batched,coalesced,xdp --work 5us --for 500ms --rounds 3 --overload ;;
    sizes) measure sizes rate --size 256,257,512,513,1024,1025,2048,2049 --method coalesced,xdp --for 300ms --rounds 3 ;;
    streams) measure streams streams --streams 1,2,4 --for 500ms --rounds 3 ;;
    placement) measure placement placement --streams 1 --rate unpaced --rounds 5 --for 300ms ;;
    pulses) measure pulses pulses --buffer 200kB,400kB --work 20us ;;
    formation) measure formation formation --rounds 2 --into nothing ;;
    captures) captures ;;
    latency) measure latency latency --into nothing,nexus,view --load 10,30,50 --rounds 3 --for 2s ;;
    observer) measure observer observer --by host-counters,polled-counters,view,metrics,browsers-8 --rounds 8 --for 1s ;;
    slow-sweep) measure slow-sweep sweep --size 64,1472 --method batched,coalesced,xdp --buffer 12MB --work 20us --for 500ms --rounds 3 ;;
    slow-rate) measure slow-rate rate --size 64 --method batched,xdp --work 20us --for 1s --rounds 2 ;;
    known-limit) measure known-limit placement --streams 1 --work 20us --interrupt sender --rule worker-alone --for 2s --rounds 2 ;;
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
  names=(link sweep rate overload slow-sweep slow-rate streams placement known-limit pulses formation captures latency observer)
fi
for name in "${names[@]}"; do one "$name"; done
scripts/measurements-index.py
