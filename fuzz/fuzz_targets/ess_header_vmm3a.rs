//! Fuzz target: packets of today's ESS readout with VMM3a records. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::ess::ess_header_vmm3a(bytes));
