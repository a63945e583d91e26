//! Fuzz target: streams of packets into Multi-Grid pipelines. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::multigrid::multigrid(bytes));
