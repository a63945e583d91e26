//! Files that a killed writer has left, tried in a process of their own.

use super::arguments::WriteArguments;
use crate::CommandError;
use crate::apart::{self, Apart};
use crate::reading_watch::ReadingWatch;
use evforge_filewriter::job::{Rehearsal, Rehearsed, rehearse};
use evforge_net::crash_note::CrashNote;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Longer than whoever waits for the process: it may be gone.
const LONGEST: Duration = apart::LONGEST.saturating_add(Duration::from_secs(60));

/// Memory that the process may have: far more than taking up a file needs. A damaged file can ask for any amount, which would cost others theirs.
const MOST_MEMORY: u64 = 8 << 30;

/// Rehearses with the arguments of this process, and where the file is: the same storage is meant.
#[derive(Debug)]
pub(super) struct ByThisProgram;

impl Rehearsal for ByThisProgram {
    fn rehearse(&self, job: &Path, stop: &AtomicBool) -> Rehearsed {
        let ended = std::env::current_exe().and_then(|program| {
            let mut command = Command::new(program);
            command.args(std::env::args_os().skip(1)).arg("--rehearse").arg(job);
            apart::run(command, &job.with_extension("writing"), stop)
        });
        match ended {
            Ok(Apart::Ended(_)) => Rehearsed::Survived,
            Ok(Apart::NotBack(why)) => Rehearsed::Damaged(why),
            Ok(Apart::Killed(why)) => Rehearsed::NotDone(why),
            Err(error) => Rehearsed::NotDone(format!("no process could be started for it: {error}")),
        }
    }
}

/// Is the process: takes up the file of a job, and ends without a further call of the library.
pub(super) fn rehearse_and_end(arguments: &WriteArguments, job: &Path) -> Result<(), CommandError> {
    let file = job.with_extension("writing");
    let _note = CrashNote::while_hdf5_reads(&file);
    let limit = Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) };
    setrlimit(Resource::As, limit).map_err(io::Error::from)?;
    let _watch = ReadingWatch::start(&file, LONGEST, &Arc::default())?;
    rehearse(job, &arguments.storage.storage())?;
    signal_hook::low_level::exit(0)
}
