//! Fuzz target: datagrams of the ISIS streaming readout. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::isis::isis(bytes));
