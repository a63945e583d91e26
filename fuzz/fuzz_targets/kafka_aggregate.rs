//! Fuzz target: messages of boards into frames. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::kafka_aggregate::kafka_aggregate(bytes));
