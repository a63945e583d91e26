//! Fuzz target: names of files and paths with something of a run in them. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::templates::templates(bytes));
