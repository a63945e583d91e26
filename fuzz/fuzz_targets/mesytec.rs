//! Fuzz target: datagrams of the SIS3153 with VMMR words. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::mesytec::mesytec(bytes));
