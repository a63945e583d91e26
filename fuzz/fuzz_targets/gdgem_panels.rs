//! Fuzz target: streams of packets into a Gd-GEM with panels of one plane, of three planes and of pads. See
//! `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::gdgem::gdgem_panels(bytes));
