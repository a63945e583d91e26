//! Fuzz target: packets of any format, whose format is to be found. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::recognise::recognise(bytes));
