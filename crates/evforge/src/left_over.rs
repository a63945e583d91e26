//! What earlier runs have left that did not end: said when another one begins, and never touched.

use evforge_log::group::FILE;
use evforge_net::record::FileNames;
use evforge_net::staged_file::left_over;
use evforge_pipeline::report::grouped;
use std::path::{Path, PathBuf};

/// Files that are named; of further ones there is the number.
const NAMED: usize = 20;

/// Reports on standard error which recordings of these names have not ended, with the command that finishes them.
pub(crate) fn tell_recordings(names: &FileNames) {
    // A folder that cannot be read is reported by whoever is to write there.
    let left = names.left_over().unwrap_or_default();
    if left.is_empty() {
        return;
    }
    for path in left.iter().take(NAMED) {
        tracing::warn!(target: FILE, always = true, "{} is of a recording that has not ended", about(path));
    }
    tell_further(&left);
    let files: Vec<String> = left.iter().take(NAMED).map(|path| quoted(path)).collect();
    tracing::warn!(
        target: FILE,
        lead = "",
        "This keeps every whole packet and gives the files their names:\n  evforge record --finish {}",
        files.join(" ")
    );
}

/// Reports on standard error which partial files of a text file are there.
pub(crate) fn tell_lines(what: &str, target: &Path) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let left = left_over(folder, |other| other.file_name() == target.file_name()).unwrap_or_default();
    for path in left.iter().take(NAMED) {
        tracing::warn!(target: FILE, always = true, "{} has {what} of a run that has not ended: rename or remove it", about(path));
    }
    tell_further(&left);
}

fn tell_further(left: &[PathBuf]) {
    if let Some(further @ 1..) = left.len().checked_sub(NAMED) {
        tracing::warn!(target: FILE, "and {further} further ones");
    }
}

fn about(path: &Path) -> String {
    let bytes = path.metadata().map_or(0, |about| about.len());
    format!("{} ({} bytes)", path.display(), grouped(bytes))
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-+:@%=,".contains(&byte);
    if path.bytes().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted(Path::new("/data/run-1.pcapng.partial-1")), "/data/run-1.pcapng.partial-1");
        assert_eq!(quoted(Path::new("my run")), "'my run'");
        assert_eq!(quoted(Path::new("it's")), r"'it'\''s'");
    }
}
