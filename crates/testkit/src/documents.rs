//! Documents, and what they say that a program prints.

use std::path::{Path, PathBuf};

/// All documents in Markdown below `folder`.
///
/// # Panics
/// If a folder cannot be read.
pub fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of documents") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// True if the printed line is the documented one, in which `…` stands for anything.
pub fn is_as_documented(printed: &str, documented: &str) -> bool {
    let mut parts = documented.split('…');
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    let mut ends_in_anything = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        ends_in_anything = part.is_empty();
    }
    rest.is_empty() || ends_in_anything
}
