//! Fuzz target: packets of today's ESS readout with records of beam monitors. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::ess::ess_beam_monitor(bytes));
