//! Files whose writer was killed or had to give up: made ordinary files again, cut back to their last commit.

use std::fs::{self, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use evforge_stream::storage::making::rename_unless_there;
use evforge_stream::storage::space::{DiskSpace, FileSystemSpace, folder_of};
use evforge_stream::storage::superblock::{SUPERBLOCK_LENGTH, Superblock, SuperblockError};
use evforge_stream::storage::text::read_text;
use hdf5_metno::{Dataset, File};

use super::error::FileError;
use super::metadata::{COMMITTED, OWN, SOURCE};
use super::name::{UNFINISHED, finished};
use super::table::{IMAGES, of_images, of_index, of_trains, path_for};

/// Bytes by which a file grows at most while it is repaired.
const FOR_REPAIR: u64 = 1 << 20;

/// What a repair has made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The file, with its final name.
    pub path: PathBuf,
    /// Trains in it.
    pub trains: u64,
    /// Images in it.
    pub images: u64,
    /// Images after the last commit that were cut away.
    pub images_cut: u64,
}

/// Repairs all unfinished files of a run's folder (names that end with `.h5.writing`), in the order of their names.
///
/// # Errors
/// The first thing that went wrong; files before it are repaired.
pub fn repair_run(folder: &Path) -> Result<Vec<Repaired>, FileError> {
    let failed = |cause| FileError::io("read", folder, cause);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if finished(&path).is_some() {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| repair(path)).collect()
}

/// Makes an unfinished file an ordinary one with its final name, cut back to its last commit.
///
/// # Errors
/// If the file is no unfinished file of this writer, is being written at this moment, is damaged, or cannot be written. It is as it
/// was then, unless the disk failed in the middle of the repair.
pub fn repair(path: &Path) -> Result<Repaired, FileError> {
    let damaged = |finding: String| FileError::Damaged { path: path.to_owned(), finding };
    let final_path = finished(path).ok_or_else(|| {
        damaged(format!("its name does not end with .h5{UNFINISHED}, as unfinished files' do"))
    })?;
    if fs::symlink_metadata(&final_path).is_ok() {
        return Err(FileError::Exists { path: final_path });
    }
    let superblock = superblock_of(path)?;
    let length = length_of(path)?;
    let closed = superblock.closed(length);
    let mended = patch(path, &closed, closed.end_of_file()).and_then(|()| mend(path, length));
    let (trains, images, images_cut) = match mended {
        Ok(mended) => mended,
        Err(error) => {
            // As it was, so that the next attempt sees what this one saw. If that fails, too, the first error matters.
            let _ = patch(path, &superblock, length);
            // Where a part of the file is missing, that is the reason for whatever else goes wrong.
            return Err(match error {
                FileError::Hdf5 { .. } | FileError::Damaged { .. } if length < superblock.end_of_file() => {
                    damaged(format!(
                        "it has {length} bytes where its header says {}: it was cut, perhaps while it was copied ({error})",
                        superblock.end_of_file()
                    ))
                }
                error => error,
            });
        }
    };
    rename_unless_there(path, &final_path).map_err(|cause| FileError::io("name", &final_path, cause))?;
    let _ = fs::File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    Ok(Repaired { path: final_path, trains, images, images_cut })
}

/// Cuts all arrays back to the last commit. Trains and images there are then, and images that were cut away.
fn mend(path: &Path, length: u64) -> Result<(u64, u64, u64), FileError> {
    let refused = |error: hdf5_metno::Error| FileError::hdf5("repair", path, &error);
    let io = |cause| FileError::io("repair", path, cause);
    let damaged = |finding: String| FileError::Damaged { path: path.to_owned(), finding };
    let handle = OpenOptions::new().write(true).open(path).map_err(io)?;
    let end = handle.metadata().map_err(io)?.len() + FOR_REPAIR;
    FileSystemSpace
        .reserve(&handle, 0..end)
        .map_err(|shortage| FileError::NoSpace { path: path.to_owned(), shortage })?;
    let file = File::open_rw(path).map_err(refused)?;
    let own =
        file.group(OWN).map_err(|_| damaged(format!("it has no group {OWN}: another program wrote it")))?;
    let source = own.dataset(SOURCE).and_then(|source| read_text(&source)).map_err(refused)?;
    let committed: Vec<u64> =
        own.dataset(COMMITTED).and_then(|committed| committed.read_raw()).map_err(refused)?;
    let [trains, images] = committed[..] else {
        return Err(damaged(format!("{OWN}/{COMMITTED} has {} values instead of 2", committed.len())));
    };
    let of_trains = of_trains().into_iter().chain(of_index()).map(|column| (column.path, trains));
    let of_images = of_images().into_iter().map(|column| (column.path, images));
    let mut arrays = Vec::new();
    for (array, rows) in of_trains.chain(of_images).chain([(IMAGES, images)]) {
        let array = file.dataset(&path_for(array, &source)).map_err(refused)?;
        let has = array.shape().first().map_or(0, |&rows| rows as u64);
        if has < rows || !lies_within(&array, rows, length) {
            let name = array.name();
            return Err(damaged(format!(
                "{name} should have {rows} rows, and the file of {length} bytes has fewer"
            )));
        }
        arrays.push((array, rows, has));
    }
    let images_cut = arrays.last().map_or(0, |(_, rows, has)| has - rows);
    // All that is needed was found: what cannot be repaired has failed before anything is changed.
    for (array, rows, has) in arrays {
        if has > rows {
            let mut shape = array.shape();
            shape[0] = usize::try_from(rows).unwrap_or(usize::MAX);
            array.resize(shape).map_err(refused)?;
        }
    }
    drop(own);
    file.close().map_err(refused)?;
    let _ = FileSystemSpace.give_back(&handle);
    handle.sync_all().map_err(io)?;
    Ok((trains, images, images_cut))
}

/// True if the chunk with the last of these rows lies within the first `length` bytes: chunks are written one behind the other. What
/// lies beyond was promised and never written, and must not be taken for data.
fn lies_within(array: &Dataset, rows: u64, length: u64) -> bool {
    let Some(last) = rows.checked_sub(1) else { return true };
    let chunk_rows = array.chunk().and_then(|chunk| chunk.first().copied()).unwrap_or(1).max(1);
    let index = usize::try_from(last).unwrap_or(usize::MAX) / chunk_rows;
    array.chunk_info(index).is_some_and(|info| {
        info.offset.first() == Some(&((index * chunk_rows) as u64))
            && info.addr.saturating_add(info.size) <= length
    })
}

/// The first bytes of a file that nobody is writing.
fn superblock_of(path: &Path) -> Result<Superblock, FileError> {
    let io = |cause| FileError::io("read", path, cause);
    let file = fs::File::open(path).map_err(io)?;
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(FileError::InUse(path.to_owned()));
    }
    let mut start = Vec::with_capacity(SUPERBLOCK_LENGTH);
    file.take(SUPERBLOCK_LENGTH as u64).read_to_end(&mut start).map_err(io)?;
    let finding = match Superblock::parse(&start) {
        Ok(superblock) if superblock.is_closed_to_followers() => {
            "another program has it open, or was killed while it had".to_owned()
        }
        Ok(superblock) => return Ok(superblock),
        Err(SuperblockError::NotHdf5) => "it is no HDF5 file".to_owned(),
        Err(SuperblockError::OtherKind(finding) | SuperblockError::Damaged(finding)) => finding,
    };
    Err(FileError::Damaged { path: path.to_owned(), finding })
}

fn length_of(path: &Path) -> Result<u64, FileError> {
    Ok(fs::metadata(path).map_err(|cause| FileError::io("read", path, cause))?.len())
}

/// Gives the file these first bytes and this length; what is beyond its end is a hole then and takes no space.
fn patch(path: &Path, superblock: &Superblock, length: u64) -> Result<(), FileError> {
    let patch = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(superblock.bytes())
    };
    patch().map_err(|cause| FileError::io("repair", path, cause))
}
