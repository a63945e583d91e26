//! The files of a run that a killed service has left: recovered before anything new begins.

use crate::apart::{self, Apart};
use evforge_log::group::FILE;
use evforge_net::record::{FileNames, finish_recording};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

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
    match recover_apart(file) {
        Ok(recovered) => tracing::info!(target: FILE, notice = true, always = true, "{recovered}"),
        Err(problem) => tracing::error!(target: FILE, always = true, "{problem}"),
    }
}

/// Has a file recovered by a process of its own: one that makes the HDF5 library crash costs that process, and not the service, which
/// would find it again at every start.
fn recover_apart(file: &Path) -> Result<String, String> {
    let not_begun = |error: io::Error| {
        format!("{} is not recovered: no process could be started for it: {error}", file.display())
    };
    let mut command = Command::new(std::env::current_exe().map_err(not_begun)?);
    command.args(["write", "--recover"]).arg(file);
    // Settings of the service are none of this command.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"EVFORGE_"))
    {
        command.env_remove(name);
    }
    let never = AtomicBool::new(false);
    match apart::run(command, file, &never).map_err(not_begun)? {
        Apart::Ended(ended) if ended.status.success() => Ok(apart::said(&ended.stdout)),
        Apart::Ended(ended) => Err(apart::said(&ended.stderr)),
        Apart::NotBack(why) | Apart::Killed(why) => {
            Err(format!("{} is not recovered, and left as it is: {why}", file.display()))
        }
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
