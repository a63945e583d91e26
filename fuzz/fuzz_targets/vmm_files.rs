//! Fuzz target: wirings and calibrations of VMM chips in JSON. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::vmm_files::vmm_files(bytes));
