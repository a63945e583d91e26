//! Files that a killed writer has left are tried in a process of their own, before this one takes them up.
//!
//! The HDF5 library can crash on a damaged file, or run in circles, and would do so again at each start of the writer.

use crate::file::{FileError, FilePlan, Names, Reopened, WriterFile, is_there};
use std::fmt::Debug;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Has a process of its own take up a file first.
pub trait Rehearsal: Debug + Send + Sync {
    /// Starts a process that calls [`rehearse`](super::rehearse) with this description of a job, and waits for it; no longer than until `stop` is set.
    fn rehearse(&self, job: &Path, stop: &AtomicBool) -> Rehearsed;
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rehearsed {
    /// The library comes back from the file, whatever it says of it.
    Survived,
    /// It does not, for this reason.
    Damaged(String),
    /// Nobody knows, for this reason: it can be tried again.
    NotDone(String),
}

/// Takes up a file, after a rehearsal if there is to be one.
pub(super) fn take_up(
    plan: &FilePlan,
    rehearsal: Option<&dyn Rehearsal>,
    stop: &AtomicBool,
) -> Result<Reopened, FileError> {
    let names = Names::of(&plan.path);
    if let Some(rehearsal) = rehearsal
        && is_there(&names.writing())
    {
        match rehearsal.rehearse(&names.job(), stop) {
            Rehearsed::Survived => {}
            Rehearsed::Damaged(why) => return WriterFile::give_up(&plan.path, why),
            Rehearsed::NotDone(why) => return Err(FileError::NotRehearsed { path: names.writing(), why }),
        }
    }
    WriterFile::reopen(plan)
}
