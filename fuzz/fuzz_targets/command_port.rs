//! Fuzz target: conversations with the command port. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::command_port::command_port(bytes));
