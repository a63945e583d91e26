//! Fuzz target: packets of CAEN digitisers. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::caen::caen(bytes));
