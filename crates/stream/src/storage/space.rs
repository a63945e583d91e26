//! Room on the disk, made sure of before HDF5 needs it.
//!
//! HDF5 must never see a full disk. A write that fails leaves the library with chunks and metadata of which some are in
//! the file and some are not; if room comes back and writing goes on, it reports success, and values in the file are wrong
//! (HDF5 1.10: a flush that failed, then 16 384 wrong values). So all that an append can need is reserved first, with an
//! upper bound, and where that is not possible nothing is given to HDF5.
//!
//! Reserved are blocks behind the end of the file (`fallocate` with `FALLOC_FL_KEEP_SIZE`): nobody sees them but `du`,
//! and they go back to the file system when the file is closed. File systems that cannot do that, and those that write
//! changed blocks to new places, are asked how much is free, and a margin is left.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use rustix::fs::{FallocateFlags, Mode, OFlags, StatVfs, fallocate, fstatvfs, open, statvfs};
use rustix::io::Errno;

/// What stays free on a file system besides what is reserved: for its own books, and for those of copy-on-write.
const MARGIN: u64 = 4 << 20;

/// There is not enough room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes that would have to become free.
    pub missing: u64,
    /// Bytes that are free on that file system.
    pub free: u64,
}

/// Makes sure of room on a disk. A test can replace it.
pub trait DiskSpace: Send + Sync + Debug {
    /// Makes sure that the bytes `range` of an open file can be written, whatever else is written to its file system.
    ///
    /// # Errors
    /// If there is not enough room; nothing that had not been reserved before stays reserved then.
    fn reserve(&self, file: &File, range: Range<u64>) -> Result<(), Shortage>;

    /// Whether a new file of this many bytes can be made in `folder` at this moment.
    ///
    /// # Errors
    /// If it cannot.
    fn has_room(&self, folder: &Path, bytes: u64) -> Result<(), Shortage>;

    /// Waits until the disk has what was written to a file, so that the loss of power does not take it.
    ///
    /// # Errors
    /// If the operating system says that it could not be written.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Gives back what is reserved behind the end of a file.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn give_back(&self, file: &File) -> io::Result<()> {
        // A cut to the length that it has anyway: the blocks behind it go.
        file.set_len(file.metadata()?.len())
    }
}

/// The room that the operating system says there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSystemSpace;

impl DiskSpace for FileSystemSpace {
    fn reserve(&self, file: &File, range: Range<u64>) -> Result<(), Shortage> {
        let bytes = range.end.saturating_sub(range.start);
        let free = |file: &File| fstatvfs(file).map_or(u64::MAX, |about| free(&about));
        if bytes == 0 {
            return Ok(());
        }
        let reserved = loop {
            match fallocate(file, FallocateFlags::KEEP_SIZE, range.start, bytes) {
                Err(Errno::INTR) => {}
                reserved => break reserved,
            }
        };
        match reserved {
            Ok(()) => enough(free(file), 0),
            Err(Errno::NOSPC | Errno::DQUOT) => {
                // Some file systems keep what they had found until then.
                let _ = self.give_back(file);
                let free = free(file);
                // A quota can be used up while the disk is not.
                let missing = (bytes + MARGIN).checked_sub(free).filter(|&missing| missing > 0);
                Err(Shortage { missing: missing.unwrap_or(bytes), free })
            }
            // This file system cannot reserve, or the file cannot grow as far for another reason: the write will say.
            Err(_) => enough(free(file), bytes),
        }
    }

    fn has_room(&self, folder: &Path, bytes: u64) -> Result<(), Shortage> {
        // Where it cannot be asked, making the file says why.
        statvfs(folder).map_or(Ok(()), |about| enough(free(&about), bytes))
    }
}

/// Writes `bytes` bytes into a file without a name next to the one at `path`, which is gone again at once. What has been
/// possible a moment ago is more than what a file system says: a file is begun with hundreds of small writes, and HDF5 hides
/// that some of them have failed.
///
/// # Errors
/// If they could not be written.
pub fn try_out(path: &Path, bytes: u64) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    // File systems without such files are believed.
    let Ok(file) = open(folder_of(path), flags, Mode::RUSR | Mode::WUSR) else { return Ok(()) };
    let mut file = File::from(file);
    let block = [0x55; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(block.len()).min(block.len());
        file.write_all(&block[..length])?;
        left -= length as u64;
    }
    Ok(())
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Bytes that are free for anybody.
fn free(about: &StatVfs) -> u64 {
    about.f_bavail.saturating_mul(about.f_frsize)
}

/// Whether `bytes` and the margin fit into what is free.
fn enough(free: u64, bytes: u64) -> Result<(), Shortage> {
    match bytes.saturating_add(MARGIN).checked_sub(free) {
        None | Some(0) => Ok(()),
        Some(missing) => Err(Shortage { missing, free }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_is_reserved_changes_no_length_and_goes_back() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(5_000).unwrap();
        FileSystemSpace.reserve(&file, 0..3 << 20).unwrap();
        let about = file.metadata().unwrap();
        assert_eq!(about.len(), 5_000);
        let reserved = about.blocks() * 512;
        assert!(reserved >= 3 << 20, "{reserved} bytes are reserved");
        FileSystemSpace.give_back(&file).unwrap();
        let about = file.metadata().unwrap();
        let left = about.blocks() * 512;
        assert!(about.len() == 5_000 && left <= 64 << 10, "{left} bytes are left");
    }

    #[test]
    fn more_than_there_is_is_refused_with_what_is_missing() {
        // In memory: ext4 takes all that is free before it refuses, and every other test would be without.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        // No file system of a test has as much; some refuse such a length for a file before they look.
        let much = 1 << 43;
        let refused = FileSystemSpace.reserve(&file, 0..much).unwrap_err();
        assert!(refused.missing + refused.free == much + MARGIN && refused.missing > much / 2, "{refused:?}");
        assert!(file.metadata().unwrap().blocks() * 512 < 64 << 10);
        let refused = FileSystemSpace.has_room(folder.path(), 1 << 62).unwrap_err();
        assert_eq!(refused.missing + refused.free, (1 << 62) + MARGIN);
        FileSystemSpace.has_room(folder.path(), 1).unwrap();
    }
}
