//! Fuzz target: conversations with the page's server. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::http::http(bytes));
