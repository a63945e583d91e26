//! Fuzz target: streams of packets into a Gd-GEM pipeline. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::gdgem::gdgem(bytes));
