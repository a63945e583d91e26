//! Fuzz target: packets of SRS front-end cards. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::srs_vmm::srs_vmm(bytes));
