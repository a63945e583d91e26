//! Reading a file of views.

use super::wanted::{FileWanted, ViewWanted};
use evforge_core::whole_file;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Bytes that a file has at most.
const MOST_BYTES: u64 = 64 << 10;
/// Views that a file has at most.
const MOST_VIEWS: usize = 32;
/// Characters of a name.
const LONGEST_NAME: usize = 40;
/// Characters of a hint.
const LONGEST_HINT: usize = 300;

/// A file of views that can be read: whether its pictures are there is another question.
#[derive(Clone, Debug)]
pub struct ViewFile {
    name: String,
    text: String,
    detectors: Vec<String>,
    views: Vec<ViewWanted>,
}

/// What is wrong with a file of views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewFileError {
    /// The file.
    pub file: String,
    /// Where in it, from 1; none if it cannot be read at all.
    pub line: Option<usize>,
    /// Which key, what was found and what was expected.
    pub problem: String,
}

impl fmt::Display for ViewFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for ViewFileError {}

impl ViewFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is larger than 64 KiB, is not TOML, or has a key or a value that no view has.
    pub fn read(path: &Path) -> Result<Self, ViewFileError> {
        let name = path.display().to_string();
        let refuse = |problem: String| ViewFileError { file: name.clone(), line: None, problem };
        let wrong = |error: std::io::Error| refuse(format!("the views cannot be read: {error}"));
        let text = whole_file::text(path, MOST_BYTES).map_err(wrong)?;
        Self::parse(&name, &text)
    }

    /// Sections of the detectors that it is shipped for; none: for all. It is of no account in a file of somebody's own.
    pub(super) fn detectors(&self) -> &[String] {
        &self.detectors
    }

    /// Reads a text; `name` is for the messages.
    ///
    /// # Errors
    /// As [`ViewFile::read`].
    pub fn parse(name: &str, text: &str) -> Result<Self, ViewFileError> {
        if text.len() as u64 > MOST_BYTES {
            let problem = format!("found more than {MOST_BYTES} bytes, expected no more than these");
            return Err(ViewFileError { file: name.into(), line: None, problem });
        }
        let file: FileWanted = toml::from_str(text).map_err(|error| ViewFileError {
            file: name.into(),
            line: error.span().map(|span| line_of(text, span.start)),
            problem: {
                let key = error.span().and_then(|span| key_at(text, span.start));
                let key = key.map(|key| format!("{key}: ")).unwrap_or_default();
                format!("{key}{}", error.message().trim_end().replace('\n', ": "))
            },
        })?;
        let found =
            Self { name: name.into(), text: text.into(), detectors: file.detectors, views: file.view };
        let refuse = |number, key, problem| Err(found.error(number, key, problem));
        if !(1..=MOST_VIEWS).contains(&found.views.len()) {
            let problem = format!("found {} tables [[view]], expected 1 to {MOST_VIEWS}", found.views.len());
            return refuse(found.views.len().saturating_sub(1), "", problem);
        }
        let mut names = HashSet::new();
        for (number, view) in found.views.iter().enumerate() {
            for (key, value, longest) in
                [("name", &view.name, LONGEST_NAME), ("hint", &view.hint, LONGEST_HINT)]
            {
                let letters = value.chars().count();
                if !(1..=longest).contains(&letters) || value.chars().any(char::is_control) {
                    let problem =
                        format!("found {letters} characters, expected 1 to {longest} that can be read");
                    return refuse(number, key, problem);
                }
            }
            if !names.insert(&view.name) {
                let problem = format!("found {:?} twice, expected names that differ", view.name);
                return refuse(number, "name", problem);
            }
        }
        Ok(found)
    }

    pub(super) fn views(&self) -> &[ViewWanted] {
        &self.views
    }

    /// An error of a key of the view `number`; of the view if the key is empty.
    pub(super) fn error(&self, number: usize, key: &str, problem: String) -> ViewFileError {
        let of_view = self.views.get(number).map(|view| format!("view {:?}: ", view.name));
        let colon = if key.is_empty() { "" } else { ": " };
        ViewFileError {
            file: self.name.clone(),
            line: Some(self.line(number, key)),
            problem: format!("{}{key}{colon}{problem}", of_view.unwrap_or_default()),
        }
    }

    /// Where a key of a view stands; where the view begins if it is not there.
    fn line(&self, number: usize, key: &str) -> usize {
        let Ok(root) = DeTable::parse(&self.text) else { return 1 };
        let Some(DeValue::Array(views)) = root.get_ref().get("view").map(|views| views.get_ref()) else {
            return 1;
        };
        let Some(view) = views.get(number) else { return 1 };
        let found = match view.get_ref() {
            DeValue::Table(table) => table.get(key).map(|value| value.span().start),
            _ => None,
        };
        line_of(&self.text, found.unwrap_or(view.span().start))
    }
}

/// The key of a view in whose value a byte lies.
fn key_at(text: &str, byte: usize) -> Option<String> {
    let root = DeTable::parse(text).ok()?;
    let DeValue::Array(views) = root.get_ref().get("view")?.get_ref() else { return None };
    let mut keys = views.iter().filter_map(|view| view.get_ref().as_table()).flat_map(|table| table.iter());
    keys.find(|(_, value)| value.span().contains(&byte)).map(|(key, _)| key.get_ref().to_string())
}

fn line_of(text: &str, byte: usize) -> usize {
    1 + text[..text.floor_char_boundary(byte)].matches('\n').count()
}
