//! What the tests of this crate share. Each test program uses a part of it.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulse::PulseTrain;
use evforge_stream::nexus::NexusOptions;
use hdf5_metno::types::FixedUnicode;
use hdf5_metno::{File, Group, H5Type};

/// A detector of 8 x 6 pixels, 10 pulses per second, and flushes only when asked for.
pub(crate) fn flat_options(path: &Path) -> NexusOptions {
    let mut options = NexusOptions::new(path, "demo", LogicalGeometry::flat(8, 6).unwrap());
    options.pulses = PulseTrain::european_xfel();
    options.flush_interval = Duration::from_secs(3600);
    options
}

pub(crate) fn batch(events: &[(u64, u32)]) -> EventBatch {
    let mut batch = EventBatch::new(events.len());
    for &(time_ns, pixel_id) in events {
        assert!(batch.push(Event { time_ns, pixel_id }));
    }
    batch
}

pub(crate) fn read<T: H5Type>(group: &Group, name: &str) -> Vec<T> {
    group.dataset(name).unwrap().read_raw().unwrap()
}

/// Text of a dataset, up to 128 kB.
pub(crate) fn text(file: &File, path: &str) -> String {
    let read = || file.dataset(path).unwrap().read_scalar::<FixedUnicode<131072>>().unwrap().to_string();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(8 << 20);
        thread.spawn_scoped(scope, read).unwrap().join().unwrap()
    })
}

/// The command that runs the read-back script, or none with `test` reported as skipped.
///
/// The Python with the packages of `tests/python/requirements.txt` is taken from `EVFORGE_PYTHON`, or else from `.venv`
/// at the root of the workspace.
pub(crate) fn python(test: &str) -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = match std::env::var_os("EVFORGE_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => root.join(".venv/bin/python"),
    };
    let mut probe = Command::new(&interpreter);
    probe.args(["-c", "import h5py, scipp, scippnexus"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        let missing = format!(
            "{} cannot import h5py and scippnexus: python3 -m venv .venv && .venv/bin/pip install -r \
             tests/python/requirements.txt",
            interpreter.display()
        );
        evforge_testkit::skip(test, &missing);
        return None;
    }
    let mut command = Command::new(interpreter);
    command.arg(root.join("tests/python/test_nexus_readback.py"));
    Some(command)
}

/// Lets the tests of a file run one at a time. A process that one test starts has all files of the others open until it
/// begins its own program, and with them the locks that HDF5 holds on them.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
