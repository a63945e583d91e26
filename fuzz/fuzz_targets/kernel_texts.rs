//! Fuzz target: texts of the kernel about the host. See `fuzz/README.md`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evforge_fuzz_harness::kernel_texts::kernel_texts(bytes));
