//! Fuzz target: requests to the helper with privileges, and its rules. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::helper::helper(bytes));
