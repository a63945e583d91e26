//! Fuzz target: streams of packets into the detectors of all shipped configurations. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::shipped::shipped_detectors(bytes));
