//! Fuzz target: options, lines, tables and views. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::small_texts::small_texts(bytes));
