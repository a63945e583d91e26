//! Fuzz target: streams of packets into a pipeline of sampled channels. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::adc_readout::adc_readout_stream(bytes));
