//! What was read from a file, and what of it has no effect.

use super::json::Table;
use std::collections::BTreeMap;

/// What a file says, with notes: what of it has no effect, or is worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent<T> {
    /// What it says.
    pub content: T,
    /// A sentence each, without the name of the file.
    pub notes: Vec<String>,
}

/// Most names that a note lists.
const LISTED: usize = 6;

/// Some names, and how many there are beyond them.
pub fn some_of<S: AsRef<str>>(names: &[S]) -> String {
    let first: Vec<&str> = names.iter().take(LISTED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(LISTED) {
        0 => first.join("; "),
        more => format!("{} and {more} more", first.join("; ")),
    }
}

/// Keys that nothing reads, each with how often it occurs.
#[derive(Clone, Debug, Default)]
pub struct Unused {
    keys: BTreeMap<String, usize>,
}

impl Unused {
    /// Remarks for people: without a meaning for the events, so that nobody misses them.
    const REMARKS: [&'static str; 5] = ["comment", "date", "info", "description", "label"];

    /// Looks for keys of a table that are not among `known`. `list` is what the path begins with, as in `Config[].`;
    /// empty for the whole file.
    pub fn look(&mut self, table: &Table<'_>, list: &str, known: &[&str]) {
        for key in table.keys().filter(|key| !known.contains(key) && !Self::is_remark(key)) {
            *self.keys.entry(format!("{list}{key}")).or_default() += 1;
        }
    }

    fn is_remark(key: &str) -> bool {
        let key = key.to_ascii_lowercase();
        Self::REMARKS.iter().any(|remark| key.starts_with(remark))
    }

    /// The note about them, if there are any.
    pub fn note(&self) -> Option<String> {
        let name = |(key, &count): (&String, &usize)| match count {
            1 => key.clone(),
            _ => format!("{key} ({count} times)"),
        };
        let names: Vec<String> = self.keys.iter().map(name).collect();
        (!names.is_empty()).then(|| format!("without effect: {}", some_of(&names)))
    }
}
