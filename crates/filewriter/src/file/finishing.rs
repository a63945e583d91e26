//! The end of a file that is written: the last commit, the times of the run, the last state.

use super::ending::settle;
use super::writer_file::{CLOSING, WriterFile};
use super::{FileError, Journal};
use crate::structure::RunTimes;
use evforge_stream::storage::text::write_text;
use hdf5_metno::{File, Result as Hdf5Result};
use serde::Serialize;
use std::fs;
use std::time::Duration;

/// How a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With everything that belongs to it.
    Complete,
    /// Its run was aborted.
    Aborted,
}

impl WriterFile {
    /// Ends the file: the last commit, the time of the end, its state, its name, its checksum. What the modules and the job have to say at
    /// the end must have been appended. Returns the name.
    ///
    /// # Errors
    /// [`FileError::NoSpace`] gives the file back: it can be tried again when there is room. Otherwise what HDF5 or the operating
    /// system refuses.
    pub fn finish(
        mut self,
        job: &impl Serialize,
        times: RunTimes,
        ending: Ending,
    ) -> Result<std::path::PathBuf, (Option<Box<Self>>, FileError)> {
        if let Err(error) = self.begin_commit(job, true) {
            return match error {
                FileError::NoSpace { .. } => Err((Some(Box::new(self)), error)),
                error => {
                    self.let_go();
                    Err((None, error))
                }
            };
        }
        loop {
            match self.end_commit(Duration::from_secs(1)) {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => {
                    self.let_go();
                    return Err((None, error));
                }
            }
        }
        self.close(&times, ending).map_err(|error| (None, error))
    }

    fn close(self, times: &RunTimes, ending: Ending) -> Result<std::path::PathBuf, FileError> {
        let path = self.names.writing();
        let failed = |error: hdf5_metno::Error| FileError::hdf5("end", &path, &error);
        for text in &self.times {
            text.set(times).map_err(|error| FileError::Content(error.to_string()))?;
        }
        let said = || -> Hdf5Result<()> {
            write_text(&self.state, CLOSING)?;
            self.file.flush()
        };
        said().map_err(failed)?;
        let Self {
            columns,
            modules,
            completeness,
            times,
            state,
            journal,
            own,
            file,
            handle,
            names,
            space,
            ..
        } = self;
        // All of them: HDF5 writes to the file as long as one of its datasets is open, and what it writes is checked.
        drop((columns, modules, completeness, times, state, journal));
        file.close().map_err(failed)?;
        let finish = || -> Hdf5Result<()> {
            let file = File::open_rw(&path)?;
            let group = file.group(&own)?;
            let state = match ending {
                Ending::Complete => "complete",
                Ending::Aborted => "aborted",
            };
            write_text(&group.dataset("state")?, state)?;
            Journal::remove(&group)?;
            drop(group);
            file.close()
        };
        finish().map_err(failed)?;
        let _ = space.give_back(&handle);
        match ending {
            Ending::Complete => {
                settle(&names)?;
                Ok(names.complete().to_owned())
            }
            Ending::Aborted => {
                let aside = names.aside("aborted")?;
                fs::rename(&path, &aside).map_err(|cause| FileError::io("rename", &path, cause))?;
                Ok(aside)
            }
        }
    }
}
