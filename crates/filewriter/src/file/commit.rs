//! Commits: what waits goes to the file, the disk confirms it, and the journal says so.

use super::FileError;
use super::writer_file::{BEYOND, WriterFile};
use evforge_stream::nexus::identity;
use evforge_stream::storage::diversion::divert;
use evforge_stream::storage::growing::WorkerLost;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a commit says.
#[derive(Debug, Deserialize)]
pub(super) struct Record {
    /// Rows of each column.
    pub(super) rows: Vec<u64>,
    /// What each module keeps.
    pub(super) modules: Vec<serde_json::Value>,
    /// What the job keeps.
    pub(super) job: serde_json::Value,
}

impl WriterFile {
    /// Brings all rows that wait to the file and asks the disk to keep them. `job` is what the job keeps: it becomes the record of
    /// the commit. After the last commit nothing follows.
    ///
    /// # Errors
    /// [`FileError::NoSpace`] if there is no room: nothing has changed, it can be tried again. All others end the file as it is.
    pub fn begin_commit(&mut self, job: &impl Serialize, is_last: bool) -> Result<(), FileError> {
        let path = self.path_if_there()?;
        while !self.end_commit(Duration::from_secs(1))? {}
        for open in &mut self.modules {
            open.module.before_commit(&mut self.columns);
        }
        self.columns.prepare(is_last).map_err(worker_lost)?;
        self.reserve(&path)?;
        let record = self.record(job)?;
        // Once: each flush looks through all datasets that are open.
        let flushed = self.columns.write().and_then(|_| self.file.flush());
        flushed.map_err(|error| FileError::hdf5("write", &path, &error))?;
        self.under_way = Some(record);
        self.ask();
        Ok(())
    }

    /// What a commit says, as JSON: a [`Record`].
    fn record(&self, job: &impl Serialize) -> Result<String, FileError> {
        let failed =
            |error: serde_json::Error| FileError::Content(format!("the record of a commit: {error}"));
        let mut text = br#"{"rows":"#.to_vec();
        serde_json::to_writer(&mut text, &self.columns.all_rows()).map_err(failed)?;
        text.extend_from_slice(br#","modules":["#);
        for (number, open) in self.modules.iter().enumerate() {
            if number > 0 {
                text.push(b',');
            }
            open.module.save(&mut text);
        }
        text.extend_from_slice(br#"],"job":"#);
        serde_json::to_writer(&mut text, job).map_err(failed)?;
        text.push(b'}');
        String::from_utf8(text)
            .map_err(|error| FileError::Content(format!("the record of a commit: {error}")))
    }

    /// Writes the chunks that are full, which is no commit: after a kill they are cut away. It gives back most of the memory of what
    /// waits, and costs nothing for columns without a full chunk.
    ///
    /// # Errors
    /// As for [`WriterFile::begin_commit`].
    pub fn write_full_chunks(&mut self) -> Result<(), FileError> {
        let path = self.path_if_there()?;
        self.columns.collect().map_err(worker_lost)?;
        self.reserve(&path)?;
        self.columns.write_full().map_err(|error| FileError::hdf5("write", &path, &error))
    }

    /// The file as it is called at this moment, unless somebody has taken it away.
    fn path_if_there(&self) -> Result<PathBuf, FileError> {
        let path = self.path();
        let is_there = fs::symlink_metadata(&path).is_ok_and(|about| identity(&about) == self.identity);
        if is_there { Ok(path) } else { Err(FileError::Gone(path)) }
    }

    /// Ends the commit that is under way, if the disk confirms it in time. Whether none is under way any more.
    ///
    /// # Errors
    /// If the disk or HDF5 refuses.
    pub fn end_commit(&mut self, wait: Duration) -> Result<bool, FileError> {
        let Some(text) = &self.under_way else { return Ok(true) };
        let path = self.names.writing();
        if let Some(syncer) = &mut self.syncer {
            match syncer.wait(wait) {
                None => return Ok(false),
                Some(Err(cause)) => return Err(FileError::io("keep on the disk", &path, cause)),
                Some(Ok(())) => {}
            }
        }
        // Which flushes its own dataset: everything else was flushed when the commit began.
        self.journal.write(text).map_err(|error| FileError::hdf5("write the commit of", &path, &error))?;
        self.under_way = None;
        self.ask();
        Ok(true)
    }

    /// Lets go of the file after an error, as the disk has it.
    pub fn let_go(self) {
        let _ = divert(&self.file);
    }

    fn ask(&mut self) {
        if let Some(syncer) = &mut self.syncer {
            syncer.ask();
        }
    }

    /// Makes sure of room for everything that waits.
    fn reserve(&mut self, path: &Path) -> Result<(), FileError> {
        let length = self.handle.metadata().map_err(|cause| FileError::io("look at", path, cause))?.len();
        // What HDF5 has given out, and not written yet, counts.
        let end = length.max(self.file.size()) + self.columns.growth() + self.journal.growth() + BEYOND;
        let from = self.reserved.min(length);
        match self.space.reserve(&self.handle, from..end) {
            Ok(()) => {
                self.reserved = end;
                Ok(())
            }
            Err(shortage) => {
                self.reserved = from;
                Err(FileError::NoSpace { path: path.to_owned(), shortage })
            }
        }
    }
}

fn worker_lost(_: WorkerLost) -> FileError {
    FileError::Content("a thread that compresses has ended".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Base, FilePlan, Storage};
    use crate::structure::{self, RunTimes};
    use serde_json::json;

    /// A monitor that counts for days, and as many constants as there may be.
    #[test]
    fn a_commit_has_room_for_what_the_largest_modules_keep() {
        let folder = tempfile::tempdir().unwrap();
        let constant =
            |number: usize| json!({"name": format!("c{number}"), "data_type": "int8", "shape": [1]});
        let constants: Vec<_> = (0..1000).map(constant).collect();
        let structure = json!({"children": [
            {"module": "da00", "config": {"topic": "t", "source": "s", "constants": constants}},
            {"type": "group", "name": "m", "children": [
                {"module": "hs01", "config": {"topic": "t", "source": "s", "shape": [1 << 20]}}]}]});
        let plan = FilePlan {
            path: folder.path().join("run.nxs"),
            base: Base::Nothing,
            structure: structure::parse(&structure.to_string()).unwrap(),
            times: RunTimes { start_ms: 0, stop_ms: None },
            storage: Storage::default(),
        };
        let mut file = WriterFile::create(&plan, 1000, || Ok(())).unwrap();
        let largest = json!({"edges": [false], "bins": {"Whole": vec![i64::MIN; 1 << 20]}});
        file.modules[1].module.restore(largest).unwrap();
        file.begin_commit(&(), false).unwrap();
        while !file.end_commit(Duration::from_secs(1)).unwrap() {}
        assert!(!file.is_committing());
    }
}
