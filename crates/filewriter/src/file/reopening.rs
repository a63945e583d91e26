//! A file whose writer was killed, made one that HDF5 opens again.

use super::FileError;
use evforge_stream::storage::superblock::{SUPERBLOCK_LENGTH, Superblock};
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Clears the marks of a writer in a file's header, and takes in what lies behind the end that it knows.
///
/// # Errors
/// If it is no HDF5 file of ours, or cannot be read or written.
pub(super) fn clear_marks(path: &Path) -> Result<(), FileError> {
    let failed = |cause| FileError::io("open", path, cause);
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    let mut start = Vec::with_capacity(SUPERBLOCK_LENGTH);
    (&mut file).take(SUPERBLOCK_LENGTH as u64).read_to_end(&mut start).map_err(failed)?;
    let superblock = Superblock::parse(&start)
        .map_err(|error| FileError::Damaged { path: path.to_owned(), why: format!("{error:?}") })?;
    if superblock.is_closed_to_followers() {
        return Err(FileError::Damaged {
            path: path.to_owned(),
            why: "its writer ended before its structure was complete".to_owned(),
        });
    }
    let length = file.metadata().map_err(failed)?.len();
    let closed = superblock.closed(length);
    let write = |file: &mut std::fs::File| -> std::io::Result<()> {
        file.set_len(closed.end_of_file())?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(closed.bytes())?;
        file.sync_data()
    };
    write(&mut file).map_err(|cause| FileError::io("repair", path, cause))
}
