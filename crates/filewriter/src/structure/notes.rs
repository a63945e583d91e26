//! What was found in a structure and is not used.

use super::path::Path;

/// Notes at most. More of them are only counted.
const MOST: usize = 1000;

/// Notes for people: a path and a sentence each.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<String>,
    left_out: usize,
}

impl Notes {
    pub(super) fn add(&mut self, path: &Path<'_>, sentence: &str) {
        if self.notes.len() < MOST {
            self.notes.push(format!("{path}: {sentence}"));
        } else {
            self.left_out += 1;
        }
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        if self.left_out > 0 {
            self.notes.push(format!("and {} more notes", self.left_out));
        }
        self.notes
    }
}
