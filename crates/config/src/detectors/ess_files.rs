//! Files that sections of the ESS readout name: `mapping_file` and `calibration_file`.

use crate::side_file;
use evforge_core::settings::SettingsError;
use evforge_detect::vmm_files::FileContent;
use std::path::{Path, PathBuf};

/// Where files lie, and where notes about them go.
pub(super) struct SideFiles<'a> {
    pub(super) folder: &'a Path,
    pub(super) notes: &'a mut Vec<String>,
}

impl SideFiles<'_> {
    /// Has `take` read the file that `key` names, if it names one. It must not be there beside entries of the same
    /// kind, which `entries` says: their name, and whether there are any.
    ///
    /// # Errors
    /// Names the key and the file.
    pub(super) fn take(
        &mut self,
        key: &str,
        file: Option<PathBuf>,
        entries: (&str, bool),
        take: impl FnOnce(&str) -> Result<FileContent<()>, String>,
    ) -> Result<(), SettingsError> {
        let Some(file) = file else { return Ok(()) };
        let (name, are_there) = entries;
        if are_there {
            return SettingsError::refuse(key, format!("there are entries of {name} as well: keep one"));
        }
        side_file::read_noting(self.folder, key, &file, self.notes, take)
    }
}
