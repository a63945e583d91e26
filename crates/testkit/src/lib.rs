//! What the tests of several crates share. Never part of a shipped program.
//!
//! Tests against recorded data read it from a folder that is not part of this repository: `EVFORGE_SHARED`,
//! or else `../shared` next to the checkout. Where something that a test needs is missing, the test says so by
//! name and passes as *skipped*; with `EVFORGE_REQUIRE=all` it fails instead. The captures of the repository itself
//! ([`own_data`]) are always there, so that no test of them is ever skipped.

#![deny(unsafe_code)]

pub mod bench_history;
pub mod documents;
#[allow(unsafe_code)] // calls of the system
pub mod held_thread;
pub mod http_document;
pub mod kafka_broker;
pub mod outside;
pub mod own_data;
pub mod patience;
pub mod pcapng;
pub mod properties;
pub mod random;
#[allow(unsafe_code)] // sockets and namespaces of the system
pub mod veth;

use std::path::{Path, PathBuf};

/// The folder of reference data.
pub fn shared_folder() -> PathBuf {
    match std::env::var_os("EVFORGE_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    }
}

/// True where a missing prerequisite is a failure (`EVFORGE_REQUIRE=all`).
pub fn everything_is_required() -> bool {
    std::env::var_os("EVFORGE_REQUIRE").is_some_and(|value| value == "all")
}

/// Reports `test` as skipped because of `missing`, or fails it where everything is required.
pub fn skip(test: &str, missing: &str) {
    assert!(!everything_is_required(), "{test}: {missing} (and EVFORGE_REQUIRE=all forbids to skip)");
    skip_even_if_required(test, missing);
}

/// Reports `test` as skipped because of something that nobody can be required to have, such as one version of a compiler.
pub fn skip_even_if_required(test: &str, missing: &str) {
    eprintln!("skipped: {test}: {missing}");
    // The harness shows nothing of a test that passes; whoever runs all of them wants the list.
    if let Some(list) = std::env::var_os("EVFORGE_SKIPPED") {
        let list = std::fs::OpenOptions::new().append(true).create(true).open(&list);
        let line = format!("{} {}: {}\n", test_program(), with_module(test), missing.replace('\n', " "));
        let written = list.and_then(|mut list| std::io::Write::write_all(&mut list, line.as_bytes()));
        assert!(written.is_ok(), "{test} cannot be listed as skipped: {written:?}");
    }
}

/// The test with its module: two modules of a program may have tests of the same name. The harness calls the thread of a
/// test by its whole name.
fn with_module(test: &str) -> String {
    let thread = std::thread::current();
    let whole = thread.name().filter(|name| name.rsplit("::").next() == Some(test));
    whole.unwrap_or(test).to_owned()
}

/// The name of the program with the tests, without what cargo adds to it.
fn test_program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("unknown");
    stem.rsplit_once('-').map_or(stem, |(name, _)| name).to_owned()
}

/// The reference file at `path` below the shared folder, or none with `test` reported as skipped.
pub fn shared_file(test: &str, path: &str) -> Option<Vec<u8>> {
    let file = shared_folder().join(path);
    match std::fs::read(&file) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            skip(test, &format!("reference data {} cannot be read: {error}", file.display()));
            None
        }
    }
}

/// The payloads of a `.pkts` file: repeated little-endian u32 length and bytes.
///
/// # Panics
/// If the file is cut: reference data is expected to be whole.
pub fn pkts_payloads(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = bytes;
    let mut payloads = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (payload, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        payloads.push(payload.to_vec());
        rest = after;
    }
    assert!(rest.is_empty(), "a .pkts file ends in the middle of a length");
    payloads
}
