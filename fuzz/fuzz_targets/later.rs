//! Fuzz target: packets of every format that are sent again, later. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::later::later(bytes));
