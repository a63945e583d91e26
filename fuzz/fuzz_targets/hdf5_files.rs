//! Damaged HDF5 files, read by a child process. Not a target of libFuzzer, but its options and last lines are. See `fuzz/README.md`.

// What the instrumentation calls is in there.
use libfuzzer_sys as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::process::exit(evforge_fuzz_harness::hdf5_files::main()?)
}
