//! Files that a configuration names: calibrations and wirings.

use crate::detectors::SideFile;
use crate::document::ReadFile;
use evforge_core::settings::SettingsError;
use evforge_detect::vmm_files::FileContent;
use std::path::Path;

/// Reads with `read_file` a file that lies in the `folder` of the configuration, and has `take` take its text. Notes name the file.
///
/// # Errors
/// Names the key, the file and what was found.
pub(crate) fn read(
    folder: &Path,
    file: &SideFile,
    read_file: ReadFile,
    take: impl FnOnce(&str) -> Result<FileContent<()>, String>,
) -> Result<Vec<String>, SettingsError> {
    if file.has_entries {
        let problem = format!("there are entries of {} as well: keep one", file.entries);
        return SettingsError::refuse(file.key, problem);
    }
    let path = folder.join(&file.path);
    let found = read_file(&path)
        .map_err(|error| format!("cannot be read: {error}"))
        .and_then(|text| take(&text))
        .or_else(|problem| SettingsError::refuse(file.key, format!("{}: {problem}", path.display())))?;
    Ok(found.notes.iter().map(|note| format!("{}: {note}", file.path.display())).collect())
}
