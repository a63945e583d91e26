//! The files of a run that a killed service has left: recovered before anything new begins.

use evforge_log::group::FILE;
use evforge_net::record::{FileNames, finish_recording};
use evforge_stream::nexus::{needs_recovery, recover};
use std::path::{Path, PathBuf};

/// Recovers what can be recovered of a run that was not brought to its end, and says what became of each file.
pub(super) fn recover_all(number: u32, files: &[PathBuf]) {
    if files.is_empty() {
        return;
    }
    tracing::warn!(target: FILE, "run {number} was not brought to its end: its files are recovered as far as they can be");
    for file in files {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("pcapng") => finish_recordings(file),
            Some("nxs" | "h5" | "hdf5" | "hdf" | "nx5") => recover_events(file),
            _ if file.exists() => {}
            // Reports and pictures are made at the end of a run.
            _ => tracing::warn!(target: FILE, always = true, "{} is not there", file.display()),
        }
    }
}

fn recover_events(file: &Path) {
    if !file.exists() {
        tracing::warn!(target: FILE, always = true, "{} is not there: the run had no events yet", file.display());
        return;
    }
    match needs_recovery(file).and_then(|is_needed| is_needed.then(|| recover(file)).transpose()) {
        Ok(Some(recovered)) => tracing::info!(target: FILE, notice = true, always = true, "{recovered}"),
        Ok(None) => {}
        Err(error) => tracing::error!(target: FILE, always = true, "{error}"),
    }
}

/// All parts of a recording, with whatever rotation it had.
fn finish_recordings(file: &Path) {
    let names = [FileNames::single(file), FileNames::numbered(file)];
    let left = names.iter().flat_map(|names| names.left_over().unwrap_or_default());
    for partial in left {
        match finish_recording(&partial) {
            Ok(finished) => tracing::info!(target: FILE, notice = true, always = true, "{finished}"),
            Err(error) => tracing::error!(target: FILE, always = true, "{error}"),
        }
    }
}
