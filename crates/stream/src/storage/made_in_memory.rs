//! A file that HDF5 makes in memory, and that is put on the disk as a whole.
//!
//! A file is begun with hundreds of small writes. If one of them fails, HDF5 1.10 may say nothing, and if it is one within
//! `H5Fstart_swmr_write`, the library closes objects that are no longer there and ends the process. In memory none fails; what
//! comes to the disk is written by ourselves, piece by piece, and an error has a name.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use hdf5_metno::File;
use hdf5_metno::file::{FileAccessBuilder, LibraryVersion};
use rustix::fs::{MemfdFlags, memfd_create};

use super::diversion::divert_to;

/// Bytes that are written to the disk at a time.
const PIECE: usize = 1 << 20;

/// A file that has its place on the disk, where it is empty until [`move_to_disk`](Self::move_to_disk), and is made in memory.
#[derive(Debug)]
pub struct MadeInMemory {
    file: File,
    memory: fs::File,
    disk: fs::File,
}

impl MadeInMemory {
    /// A file at `path`, where there must be none, in the format of HDF5 1.10 by either bound: the oldest that can be followed, and read
    /// by all since. It is locked, where the file system has locks. `more` sets what else its access needs.
    ///
    /// # Errors
    /// In words and with what HDF5 or the system says.
    pub fn create(
        path: &Path,
        more: impl Fn(&mut FileAccessBuilder) -> &mut FileAccessBuilder,
    ) -> Result<Self, NotMade> {
        let file = File::with_options()
            .with_fapl(|access| more(access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110)))
            .create_excl(path)?;
        let memory = memfd_create("event file that is made", MemfdFlags::CLOEXEC).map_err(io::Error::from)?;
        let mut memory = fs::File::from(memory);
        let mut disk = fs::OpenOptions::new().read(true).write(true).open(path)?;
        // HDF5 has begun it, perhaps; from here on it writes nowhere else.
        io::copy(&mut disk, &mut memory)?;
        divert_to(&file, &memory)?;
        let _ = disk.try_lock();
        Ok(Self { file, memory, disk })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The place on the disk, to reserve room there.
    pub fn disk(&self) -> &fs::File {
        &self.disk
    }

    /// Writes everything to the disk; from then on HDF5 goes on with it there. Everything must have been flushed. The lock is given up.
    ///
    /// # Errors
    /// If it cannot be written; then the disk has a part of it, and nobody writes there any more.
    pub fn move_to_disk(mut self) -> io::Result<(File, fs::File)> {
        let mut piece = vec![0; PIECE];
        self.memory.seek(SeekFrom::Start(0))?;
        self.disk.seek(SeekFrom::Start(0))?;
        loop {
            match self.memory.read(&mut piece)? {
                0 => break,
                length => self.disk.write_all(&piece[..length])?,
            }
        }
        divert_to(&self.file, &self.disk)?;
        let _ = self.disk.unlock();
        Ok((self.file, self.disk))
    }
}

/// Why a file could not be made.
#[derive(Debug, thiserror::Error)]
pub enum NotMade {
    /// HDF5 refuses.
    #[error("{0}")]
    Hdf5(#[from] hdf5_metno::Error),
    /// The system refuses.
    #[error("{0}")]
    System(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::dataset::scalar;
    use hdf5_metno::OpenMode;

    #[test]
    fn what_is_made_in_memory_goes_on_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.nxs");
        let made = MadeInMemory::create(&path, |access| access).unwrap();
        let group = made.file().create_group("entry").unwrap();
        let value = scalar(&group, "value", 7_u64).unwrap();
        made.file().flush().unwrap();
        made.file().start_swmr().unwrap();
        let (file, _disk) = made.move_to_disk().unwrap();
        let read = || {
            let file = File::open_as(&path, OpenMode::ReadSWMR).unwrap();
            file.dataset("entry/value").unwrap().read_scalar::<u64>().unwrap()
        };
        assert_eq!(read(), 7);
        value.write_scalar(&8_u64).unwrap();
        value.flush().unwrap();
        assert_eq!(read(), 8);
        drop((value, group, file));
        assert_eq!(
            File::open(&path).unwrap().dataset("entry/value").unwrap().read_scalar::<u64>().unwrap(),
            8
        );
    }

    #[test]
    fn a_disk_that_takes_nothing_is_an_error_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let mut made = MadeInMemory::create(&folder.path().join("made.nxs"), |access| access).unwrap();
        made.file().flush().unwrap();
        made.disk = fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        assert_eq!(made.move_to_disk().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
