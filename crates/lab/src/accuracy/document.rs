//! A document in which tables of accuracy are regenerated.

use crate::LabError;
use evforge_core::whole_file;
use std::path::Path;

/// A document with a place for the table of an instrument.
pub struct Document<'a> {
    path: &'a Path,
    before: String,
    after: String,
}

const END: &str = "<!-- end -->";

impl<'a> Document<'a> {
    /// Reads the document and looks for the place for the table of the instrument `name`.
    ///
    /// # Errors
    /// If it cannot be read or has no such place.
    pub fn open(path: &'a Path, name: &str) -> Result<Self, LabError> {
        let text = whole_file::text(path, whole_file::SETTINGS)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let begin = format!("<!-- accuracy of {name} -->\n");
        let parts = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
        let (before, (_, after)) = parts.ok_or_else(|| {
            format!("{}: no line `{}` with a line `{END}` behind it", path.display(), begin.trim_end())
        })?;
        Ok(Self { path, before: before.to_owned() + &begin, after: END.to_owned() + after })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.path
    }

    /// The document with this table.
    pub fn with(&self, table: &str) -> String {
        format!("{}{table}{}", self.before, self.after)
    }
}
