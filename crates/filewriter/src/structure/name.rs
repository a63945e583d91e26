//! Names of groups, datasets, attributes and links.

use std::collections::HashSet;

use super::error::StructureError;
use super::path::{Path, quoted};

/// Bytes of a name at most.
const LONGEST: usize = 1024;

/// Checks a name; `path` is where it is said.
///
/// # Errors
/// If HDF5 could not have it, or a path could not contain it.
pub(super) fn check(name: &str, path: &Path<'_>) -> Result<(), StructureError> {
    let expected = "a name that is not empty, . or .., without / and zero bytes";
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(path.refuse(quoted(name), expected));
    }
    if name.len() > LONGEST {
        return Err(
            path.refuse(format!("{} bytes", name.len()), format!("a name of at most {LONGEST} bytes"))
        );
    }
    Ok(())
}

/// The names in a group.
#[derive(Debug, Default)]
pub(super) struct Taken(HashSet<String>);

impl Taken {
    /// Takes a name; `path` is what is to have it.
    ///
    /// # Errors
    /// If the group has it already.
    pub(super) fn take(&mut self, name: &str, path: &Path<'_>) -> Result<(), StructureError> {
        if self.0.insert(name.to_owned()) {
            return Ok(());
        }
        Err(path.refuse(format!("a second {} in its group", quoted(name)), "one child of each name"))
    }

    /// True if the group has it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}
