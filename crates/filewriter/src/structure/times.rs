//! The times of the run as text.

use evforge_stream::storage::text::{create_text, write_text};
use hdf5_metno::{Dataset, Group};
use jiff::Timestamp;

use super::content::RunTime;
use super::error::CreateError;

/// Bytes of a time at most, more than any has.
pub(super) const ROOM: usize = 32;

/// The times of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// The first time that belongs to it, milliseconds since 1970.
    pub start_ms: u64,
    /// The last one. The text is empty as long as nobody knows.
    pub stop_ms: Option<u64>,
}

impl RunTimes {
    fn text(&self, which: RunTime) -> Result<String, CreateError> {
        match which {
            RunTime::Start => date(self.start_ms),
            RunTime::End => self.stop_ms.map_or_else(|| Ok(String::new()), date),
        }
    }
}

/// A time in the file. Its text can be replaced while others follow the file.
#[derive(Debug)]
pub struct TimeText {
    /// Which one it is.
    pub which: RunTime,
    dataset: Dataset,
}

impl TimeText {
    pub(super) fn create(
        group: &Group,
        path: &str,
        which: RunTime,
        times: &RunTimes,
    ) -> Result<Self, CreateError> {
        let dataset =
            create_text(group, which.name(), &times.text(which)?, ROOM).map_err(CreateError::at(path))?;
        Ok(Self { which, dataset })
    }

    pub(super) fn open(group: &Group, path: &str, which: RunTime) -> Result<Self, CreateError> {
        let dataset = group.dataset(which.name()).map_err(CreateError::at(path))?;
        Ok(Self { which, dataset })
    }

    /// Sets it to its time in `times`, as ISO 8601 in UTC with milliseconds.
    ///
    /// # Errors
    /// If the time has no date, or HDF5 refuses.
    pub fn set(&self, times: &RunTimes) -> Result<(), CreateError> {
        let text = times.text(self.which)?;
        write_text(&self.dataset, &text).map_err(|error| CreateError::at(&self.dataset.name())(error))
    }
}

fn date(ms: u64) -> Result<String, CreateError> {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()).ok_or(CreateError::Time(ms))
}
