//! The files of a run that a killed service has left: recovered before anything new begins.

use evforge_log::group::FILE;
use evforge_net::record::{FileNames, finish_recording};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

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

/// How long a file may take: only its ends are read, and the library runs in circles on some damaged files.
const LONGEST: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(20);

/// Has a file recovered by a process of its own: one that makes the HDF5 library crash costs that process, and not the service, which
/// would find it again at every start.
fn recover_apart(file: &Path) -> Result<String, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| not_begun(file, &error))?);
    command.args(["write", "--recover"]).arg(file).stdin(Stdio::null());
    // Settings of the service are none of this command.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"EVFORGE_"))
    {
        command.env_remove(name);
    }
    let begun = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = begun.map_err(|error| not_begun(file, &error))?;
    let end = Instant::now() + LONGEST;
    // What it says has room in a pipe.
    while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(LOOK);
    }
    // One that has ended does not mind.
    let _ = child.kill();
    outcome(file, &child.wait_with_output().map_err(|error| not_begun(file, &error))?)
}

fn not_begun(file: &Path, error: &io::Error) -> String {
    format!("{} is not recovered: no process could be started for it: {error}", file.display())
}

/// What the process has said, or why it has not come to its end.
fn outcome(file: &Path, ended: &Output) -> Result<String, String> {
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if ended.status.success() {
        return Ok(said(&ended.stdout));
    }
    let why = said(&ended.stderr).trim_start_matches("evforge: ").to_owned();
    Err(match ended.status.signal() {
        Some(signal) => format!(
            "{} is not recovered, and left as it is: the process that tried it was ended by signal {signal}. {why}",
            file.display()
        ),
        None => why,
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

    #[test]
    fn a_crash_is_told_apart_from_a_file_that_cannot_be_recovered() {
        let ended = |raw, out: &str, err: &str| Output {
            status: ExitStatus::from_raw(raw),
            stdout: out.into(),
            stderr: err.into(),
        };
        let of = |ended| outcome(Path::new("/data/1.nxs"), &ended);
        assert_eq!(of(ended(0, "1.nxs is recovered\n", "")), Ok("1.nxs is recovered".into()));
        assert_eq!(of(ended(1 << 8, "", "evforge: 1.nxs is empty\n")), Err("1.nxs is empty".into()));
        let crashed = of(ended(11, "", "evforge: crashed while /data/1.nxs was read\n")).unwrap_err();
        assert!(
            crashed.contains("/data/1.nxs is not recovered") && crashed.contains("signal 11"),
            "{crashed}"
        );
    }
}
