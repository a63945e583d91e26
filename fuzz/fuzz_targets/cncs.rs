//! Fuzz target: packets of the Multi-Grid demonstrator at CNCS. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::cncs::cncs(bytes));
