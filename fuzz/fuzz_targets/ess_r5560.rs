//! Fuzz target: packets of the ESS readout with records of CAEN R5560. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::ess::ess_r5560(bytes));
