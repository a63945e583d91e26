//! Files that a configuration names: calibrations and wirings.

use evforge_core::settings::SettingsError;
use evforge_detect::vmm_files::FileContent;
use std::path::Path;

/// Such files are not larger than this.
const LARGEST_SIDE_FILE: u64 = 16 << 20;

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
    text(&path)
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

fn text(path: &Path) -> Result<String, String> {
    let wrong = |error: std::io::Error| format!("cannot be read: {error}");
    let metadata = std::fs::metadata(path).map_err(wrong)?;
    if !metadata.is_file() {
        return Err("is not a file".into());
    }
    if metadata.len() > LARGEST_SIDE_FILE {
        return Err(format!("has {} bytes, expected at most {LARGEST_SIDE_FILE}", metadata.len()));
    }
    std::fs::read_to_string(path).map_err(wrong)
}
