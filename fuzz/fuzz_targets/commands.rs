//! Fuzz target: text commands of the EFU. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::commands::commands(bytes));
