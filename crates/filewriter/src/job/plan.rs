//! What a job is: kept in a file next to that of the data, so that a writer that was killed goes on.

use super::end::JobEnd;
use super::partitions::KeptPartition;
use super::window::Window;
use crate::file::{FileError, rename_unless_there};
use evforge_core::whole_file;
use evforge_kafka::topic::Begin;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The version of the description of a job.
const VERSION: u32 = 1;

/// The first message of all partitions.
type First = Vec<KeptPartition>;

/// Where reading ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// When the end of the run has passed, and the time for what comes late.
    Stop,
    /// With the last message that is there when reading begins.
    Present,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPlan {
    /// The job.
    pub id: String,
    /// The file, once it is complete.
    pub file: PathBuf,
    /// NeXus structure JSON.
    pub structure: String,
    /// What is in the file first, as whoever began the job says it; they are asked for it again if it has to be made once more.
    pub base: Value,
    /// The run.
    pub window: Window,
    /// Where reading begins.
    pub begin: Begin,
    /// Where it ends.
    pub until: Until,
    /// How long after its end messages of the run may come, seconds.
    pub leeway_after_s: f64,
    /// What else is to be known about the job after a restart: the conversation that it belongs to.
    pub about: Value,
    /// Files of this job that could not be taken up, as they are called now, with the reasons.
    #[serde(default)]
    pub set_aside: Vec<(PathBuf, String)>,
}

/// What is in the file next to that of the data.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    version: u32,
    plan: JobPlan,
    first: First,
    /// How it ended, once everything is in its file: a writer that is killed before the file has its name still says so.
    #[serde(default)]
    end: Option<JobEnd>,
}

impl JobPlan {
    /// Keeps the plan, and where reading begins in each partition.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn keep(&self, path: &Path, first: &[KeptPartition]) -> Result<(), FileError> {
        self.write(path, first, None, |new| replace(new, path))
    }

    /// Keeps how it ended, besides what is kept already.
    ///
    /// # Errors
    /// If nothing is kept, or it cannot be written.
    pub(super) fn keep_end(&self, path: &Path, end: &JobEnd) -> Result<(), FileError> {
        let first = Kept::read(path)?.first;
        self.write(path, &first, Some(end.clone()), |new| replace(new, path))
    }

    /// How the job ended whose file lacks nothing but its name.
    pub(super) fn kept_end(path: &Path) -> Option<JobEnd> {
        Kept::read(path).ok()?.end
    }

    /// The same where nothing is kept yet.
    ///
    /// # Errors
    /// If there is a plan already, or it cannot be written.
    pub(super) fn keep_first(&self, path: &Path, first: &[KeptPartition]) -> Result<(), FileError> {
        self.write(path, first, None, |new| {
            let renamed = rename_unless_there(new, path);
            if renamed.is_err() {
                let _ = fs::remove_file(new);
            }
            renamed
        })
    }

    fn write(
        &self,
        path: &Path,
        first: &[KeptPartition],
        end: Option<JobEnd>,
        rename: impl FnOnce(&Path) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let failed = |cause| FileError::io("write", path, cause);
        let kept = Kept { version: VERSION, plan: self.clone(), first: first.to_vec(), end };
        let text = serde_json::to_string(&kept)
            .map_err(|error| FileError::Content(format!("the description of the job: {error}")))?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let new = path.with_file_name(name);
        let mut file = fs::File::create(&new).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        rename(&new)?;
        let folder = evforge_stream::storage::space::folder_of(path);
        let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// What was kept, without where reading began.
    ///
    /// # Errors
    /// If it is damaged, or cannot be read.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Ok(Self::read_all(path)?.0)
    }

    /// Reads what was kept. The file is the one that it lies next to.
    ///
    /// # Errors
    /// If there is nothing, or it is something else.
    pub(super) fn read_all(path: &Path) -> Result<(Self, First), FileError> {
        let Kept { mut plan, first, .. } = Kept::read(path)?;
        // The folder may have been moved since.
        plan.file = path.with_extension("");
        Ok((plan, first))
    }
}

/// Most bytes of what is kept of a job: its structure is in it as a text, each quotation mark with a sign before it.
const LARGEST: u64 = 2 * whole_file::RESULTS;

impl Kept {
    fn read(path: &Path) -> Result<Self, FileError> {
        let text = whole_file::text(path, LARGEST).map_err(|cause| FileError::io("read", path, cause))?;
        let damaged = |why: String| FileError::Damaged { path: path.to_owned(), why };
        let kept: Self = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if kept.version != VERSION {
            return Err(damaged(format!("it has version {}, this program knows {VERSION}", kept.version)));
        }
        Ok(kept)
    }
}

fn replace(new: &Path, path: &Path) -> Result<(), FileError> {
    fs::rename(new, path).map_err(|cause| FileError::io("write", path, cause))
}
