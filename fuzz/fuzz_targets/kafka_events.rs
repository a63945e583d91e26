//! Fuzz target: messages of topics into events for the page. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::kafka_events::kafka_events(bytes));
