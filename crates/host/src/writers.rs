//! Who can write a file.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Why somebody else than this user and root could have written a file, or can put another one in its place; none if nobody can. A file
/// that is not there is as safe as its folder, and a folder that is not there as the one above it.
pub(crate) fn who_else_writes(path: &Path) -> io::Result<Option<String>> {
    let absolute = std::path::absolute(path)?;
    if let Some(file) = there(&absolute)? {
        if !file.is_file() {
            return Ok(Some("it is no plain file".to_owned()));
        }
        if let Some(why) = by_others(&absolute, &file, false) {
            return Ok(Some(why));
        }
    }
    let mut above = absolute.ancestors().skip(1);
    let Some(folder) = above.find(|folder| folder.exists()) else { return Ok(None) };
    // Where links on the way to it are, and where they lead.
    for way in [folder.to_owned(), folder.canonicalize()?] {
        for (depth, folder) in way.ancestors().enumerate() {
            if let Some(why) = by_others(folder, &fs::metadata(folder)?, depth > 0) {
                return Ok(Some(why));
            }
        }
    }
    Ok(None)
}

fn there(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// In a sticky folder, as /tmp, only the owner of a file or folder can put another in its place.
fn by_others(path: &Path, of: &Metadata, is_sticky_enough: bool) -> Option<String> {
    let owners = [0, rustix::process::geteuid().as_raw()];
    if !owners.contains(&of.uid()) {
        return Some(format!("{} belongs to user {}", path.display(), of.uid()));
    }
    let is_sticky = is_sticky_enough && of.mode() & 0o1000 != 0;
    (of.mode() & 0o022 != 0 && !is_sticky).then(|| format!("others can write {}", path.display()))
}
