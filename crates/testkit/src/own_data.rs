//! The captures of this repository (`data/`), with their truth and their pinned events and counters.

use crate::pcapng::{Datagram, datagrams};
use std::path::{Path, PathBuf};

/// The folder.
pub fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data")
}

/// The names of all captures, in order.
///
/// # Panics
/// If the folder cannot be read.
pub fn capture_names() -> Vec<String> {
    let folder = std::fs::read_dir(data_folder()).expect("the folder data of the repository");
    let mut names: Vec<String> = folder
        .filter_map(|entry| {
            let name = entry.expect("an entry of the folder data").file_name();
            name.to_str()?.strip_suffix(".pcapng").map(str::to_owned)
        })
        .collect();
    names.sort_unstable();
    names
}

/// The file with a capture.
pub fn capture_path(name: &str) -> PathBuf {
    data_folder().join(format!("{name}.pcapng"))
}

/// The shipped configuration that a capture belongs to: those with faults have that of the capture without.
pub fn configuration_path(name: &str) -> PathBuf {
    let configuration = name.strip_suffix("-faults").unwrap_or(name);
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{configuration}.toml"))
}

/// The datagrams of a capture, read without production code.
///
/// # Panics
/// If the file is not there.
pub fn capture(name: &str) -> Vec<Datagram> {
    let path = capture_path(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    datagrams(&bytes)
}

/// The UDP payloads of a capture.
///
/// # Panics
/// If the file is not there.
pub fn payloads(name: &str) -> Vec<Vec<u8>> {
    capture(name).into_iter().map(|datagram| datagram.payload).collect()
}

/// Where the truth, the events or the counters of a capture are: `kind` is the name of the folder.
pub fn table_path(kind: &str, name: &str) -> PathBuf {
    data_folder().join(kind).join(format!("{name}.csv"))
}

/// The pinned (time, pixel) of all events of a capture, in order.
///
/// # Panics
/// If the file is not there, or not as described.
pub fn pinned_events(name: &str) -> Vec<(u64, u32)> {
    let path = table_path("events", name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let event = |line: &str| {
        let mut fields = line.split(',');
        let mut next = || fields.next().expect("a time and a pixel");
        (next().parse().expect("a time"), next().parse().expect("a pixel"))
    };
    text.lines().skip(1).map(event).collect()
}
