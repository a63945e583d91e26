//! Fuzz target: NeXus structure JSON. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::structure::structure(bytes));
