//! Files that a configuration names: calibrations and wirings.

use evforge_core::settings::SettingsError;
use evforge_core::whole_file;
use evforge_detect::vmm_files::FileContent;
use std::path::Path;

/// Reads the file that `key` names, relative to the `folder` of the configuration, and parses it.
///
/// # Errors
/// Names the key, the file and what `parse` found.
pub(crate) fn read<T>(
    folder: &Path,
    key: &str,
    name: &Path,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, SettingsError> {
    let path = folder.join(name);
    whole_file::text(&path, whole_file::SETTINGS)
        .map_err(|error| format!("cannot be read: {error}"))
        .and_then(|text| parse(&text))
        .or_else(|problem| SettingsError::refuse(key, format!("{}: {problem}", path.display())))
}

/// As [`read`], of a file whose notes go to `notes`, with its name.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_noting<T>(
    folder: &Path,
    key: &str,
    name: &Path,
    notes: &mut Vec<String>,
    parse: impl FnOnce(&str) -> Result<FileContent<T>, String>,
) -> Result<T, SettingsError> {
    let found = read(folder, key, name, parse)?;
    notes.extend(found.notes.iter().map(|note| format!("{}: {note}", name.display())));
    Ok(found.content)
}
