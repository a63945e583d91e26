//! What a complete file gets: its name, its checksum, what it says of its making.

use super::{FileError, Names, is_there};
use evforge_stream::nexus::iso_8601;
use evforge_stream::storage::making;
use evforge_stream::storage::text::set_attribute;
use hdf5_metno::{File, Result as Hdf5Result};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Gives a file that is complete its name, takes the right to write from everybody, and writes its checksum. Does what of
/// that has not been done yet.
///
/// # Errors
/// If the operating system refuses.
pub(super) fn settle(names: &Names) -> Result<(), FileError> {
    let (writing, complete) = (names.writing(), names.complete());
    if is_there(&writing) {
        let failed = |cause| FileError::io("complete", &writing, cause);
        let file = fs::File::open(&writing).map_err(failed)?;
        file.set_permissions(Permissions::from_mode(0o444)).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        write_checksum(names, &writing)?;
        rename_unless_there(&writing, complete)?;
    } else if !is_there(&names.checksum()) {
        write_checksum(names, complete)?;
    }
    let folder = evforge_stream::storage::space::folder_of(complete);
    // Where a folder cannot be synchronised, the file system keeps its names in another way.
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// True if a file lacks nothing but its name: nobody may write to it, which is so from the moment at which it is complete.
pub(super) fn is_settled(writing: &Path) -> Result<bool, FileError> {
    let about = fs::metadata(writing).map_err(|cause| FileError::io("look at", writing, cause))?;
    Ok(about.permissions().readonly())
}

/// Renames, but never over another file.
pub(crate) fn rename_unless_there(from: &Path, to: &Path) -> Result<(), FileError> {
    making::rename_unless_there(from, to).map_err(|cause| match cause.kind() {
        ErrorKind::AlreadyExists => FileError::Exists(to.to_owned()),
        _ => FileError::io("rename", from, cause),
    })
}

fn write_checksum(names: &Names, content: &Path) -> Result<(), FileError> {
    let target = names.checksum();
    let sum = checksum(content).map_err(|cause| FileError::io("read", content, cause))?;
    let name = names.complete().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&target)?;
        writeln!(file, "{sum}  {name}")?;
        file.sync_all()
    };
    write().map_err(|cause| FileError::io("write", &target, cause))
}

/// SHA-256 of a file, in hexadecimal digits.
fn checksum(path: &Path) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut block = vec![0_u8; 1 << 20];
    loop {
        let length = file.read(&mut block)?;
        if length == 0 {
            break;
        }
        hasher.update(&block[..length]);
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// What every file says of its making.
pub(super) fn root_attributes(file: &File, name: &Path) -> Hdf5Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let (major, minor, release) = hdf5_metno::library_version();
    let all = [
        ("NX_class", "NXroot".to_owned()),
        ("file_name", name.to_string_lossy().into_owned()),
        ("file_time", iso_8601(now)),
        ("creator", format!("evforge {}", env!("CARGO_PKG_VERSION"))),
        ("HDF5_Version", format!("{major}.{minor}.{release}")),
    ];
    for (key, text) in all {
        if file.attr(key).is_err() {
            set_attribute(file, key, &text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Base, Ending, FilePlan, Reopened, Storage, WriterFile};
    use crate::structure::{self, RunTimes};

    /// An ordinary user may not open it for writing. (Root may in this test, so it is asked by its mode.)
    #[test]
    fn a_file_that_lacks_nothing_but_its_name_gets_it_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let plan = FilePlan {
            path: folder.path().join("run.nxs"),
            base: Base::Nothing,
            structure: structure::parse(
                r#"{"children": [{"type": "group", "name": "entry", "children": []}]}"#,
            )
            .unwrap(),
            times: RunTimes { start_ms: 0, stop_ms: None },
            storage: Storage::default(),
        };
        let file = WriterFile::create(&plan, 1000, || Ok(())).unwrap();
        file.finish(&(), plan.times, Ending::Complete).map_err(|(_, error)| error).unwrap();
        let names = Names::of(&plan.path);
        let before = fs::read(names.complete()).unwrap();
        fs::rename(names.complete(), names.writing()).unwrap();
        fs::remove_file(names.checksum()).unwrap();
        assert!(is_settled(&names.writing()).unwrap());
        assert!(matches!(WriterFile::reopen(&plan).unwrap(), Reopened::WasComplete));
        assert!(names.checksum().exists() && fs::read(names.complete()).unwrap() == before);
        assert!(!is_there(&names.writing()) && !is_settled(&names.checksum()).unwrap());
    }
}
