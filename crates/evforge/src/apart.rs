//! Work on a file in a process of its own: the HDF5 library can crash on a damaged one, or run in circles, and costs that process then.

use evforge_net::crash_note::is_crash;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long such a process may take: only the ends of a file are read, but disks can be slow.
pub(crate) const LONGEST: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(20);

/// What became of the process.
#[derive(Debug)]
pub(crate) enum Apart {
    /// It has come to its end.
    Ended(Output),
    /// The library does not come back from the file, for this reason.
    NotBack(String),
    /// Somebody has ended it, for this reason.
    Killed(String),
}

/// Runs a command that reads `file`, for no longer than [`LONGEST`], or than until `stop` is set.
///
/// # Errors
/// If no process can be started.
pub(crate) fn run(command: Command, file: &Path, stop: &AtomicBool) -> io::Result<Apart> {
    run_for(LONGEST, command, file, stop)
}

fn run_for(longest: Duration, mut command: Command, file: &Path, stop: &AtomicBool) -> io::Result<Apart> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let end = Instant::now() + longest;
    // What it says has room in a pipe.
    while Instant::now() < end && !stop.load(Ordering::Relaxed) && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(LOOK);
    }
    let is_over = !matches!(child.try_wait(), Ok(None));
    // One that has ended does not mind.
    let _ = child.kill();
    let ended = child.wait_with_output()?;
    if !is_over {
        return Ok(if stop.load(Ordering::Relaxed) {
            Apart::Killed("the end was asked for".to_owned())
        } else {
            Apart::NotBack(format!(
                "the HDF5 library had not come back from it after {} s",
                longest.as_secs()
            ))
        });
    }
    Ok(of(ended, file))
}

fn of(ended: Output, file: &Path) -> Apart {
    match ended.status.signal() {
        None => Apart::Ended(ended),
        Some(signal) => {
            let said = said(&ended.stderr);
            let why =
                format!("the process that read {} was ended by signal {signal}. {said}", file.display());
            let why = why.trim_end().to_owned();
            if is_crash(signal) { Apart::NotBack(why) } else { Apart::Killed(why) }
        }
    }
}

/// What a process has said, without the name that all of evforge's begin with.
pub(crate) fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().trim_start_matches("evforge: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell_for(longest: Duration, script: &str, stop: bool) -> Apart {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_for(longest, command, Path::new("/data/1.nxs"), &AtomicBool::new(stop)).expect("a shell")
    }

    fn shell(script: &str, stop: bool) -> Apart {
        shell_for(LONGEST, script, stop)
    }

    #[test]
    fn a_crash_is_told_apart_from_an_end_and_from_a_kill() {
        match shell("echo well; echo evforge: hm >&2; exit 1", false) {
            Apart::Ended(output) => {
                assert_eq!(
                    (output.status.code(), said(&output.stdout), said(&output.stderr)),
                    (Some(1), "well".into(), "hm".into())
                );
            }
            other => panic!("{other:?}"),
        }
        match shell("echo evforge: crashed >&2; kill -SEGV $$", false) {
            Apart::NotBack(why) => {
                assert!(why.contains("/data/1.nxs") && why.ends_with("signal 11. crashed"), "{why}")
            }
            other => panic!("{other:?}"),
        }
        for (script, stop) in [("kill -KILL $$", false), ("exec sleep 600", true)] {
            assert!(matches!(shell(script, stop), Apart::Killed(_)), "{script}");
        }
    }

    #[test]
    fn who_does_not_come_back_is_ended() {
        match shell_for(Duration::from_secs(1), "exec sleep 600", false) {
            Apart::NotBack(why) => assert!(why.ends_with("after 1 s"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}
