//! Fuzz target: streams of packets into the pipelines of today's ESS readout. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::ess_stream::ess_stream(bytes));
