//! Fuzz target: structures and messages of the file writer. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::writer_modules::writer_modules(bytes));
