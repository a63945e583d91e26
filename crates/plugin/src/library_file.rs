//! What is looked at in the file of a library before the loader has it, which runs code of the library at once.

use evforge_plugin_interface::layout::ENTRY_POINT;
use object::read::{Object as _, ObjectSymbol as _, ReadCache};
use object::{File as ObjectFile, ObjectKind};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Others may write.
const BY_OTHERS: u32 = 0o002;
/// The group may write.
const BY_GROUP: u32 = 0o020;
/// In a folder of this kind nobody replaces files of others.
const STICKY: u32 = 0o1000;

/// Checks that nobody but root and the user of this process can have written the file, and that it is a library with our entry point.
///
/// # Errors
/// What was found, and the command that mends it.
pub(crate) fn check_file(path: &Path) -> Result<(), String> {
    let about = path.metadata().map_err(|error| error.to_string())?;
    // The loader would wait at a pipe for ever.
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    is_ours(&about, (user, group)).map_err(|problem| format!("{problem} {}", path.display()))?;
    if let Some(folder) = path.parent() {
        let about = folder.metadata().map_err(|error| error.to_string())?;
        if about.mode() & STICKY == 0 {
            is_ours(&about, (user, group))
                .map_err(|problem| format!("of its folder: {problem} {}", folder.display()))?;
        }
    }
    has_entry_point(path)
}

/// Checks who can change a file or folder. The error ends with a command that lacks its name.
fn is_ours(about: &Metadata, (user, group): (u32, u32)) -> Result<(), String> {
    if about.uid() != 0 && about.uid() != user {
        let owner = about.uid();
        return Err(format!(
            "it belongs to user {owner}, expected root or user {user}, who would run its code: chown {user}"
        ));
    }
    if about.mode() & BY_OTHERS != 0 {
        return Err("everybody can write it, and would run code here: chmod o-w".to_owned());
    }
    if about.mode() & BY_GROUP != 0 && about.gid() != group && about.gid() != 0 {
        let gid = about.gid();
        return Err(format!("group {gid} can write it, and would run code here: chmod g-w"));
    }
    Ok(())
}

/// Looks for the entry point in the table of what the file exports.
fn has_entry_point(path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let cache = ReadCache::new(file);
    let library = ObjectFile::parse(&cache).map_err(|error| format!("it is no shared library ({error})"))?;
    if library.kind() != ObjectKind::Dynamic {
        return Err(format!("it is no shared library, but of kind {:?}", library.kind()));
    }
    let name = ENTRY_POINT.strip_suffix(b"\0").unwrap_or(ENTRY_POINT);
    match library.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(name)) {
        true => Ok(()),
        false => {
            Err("it does not export the function evforge_detector, so it is no detector for evforge; see \
                      include/evforge/detector.h"
                .to_owned())
        }
    }
}
