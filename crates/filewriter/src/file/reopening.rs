//! A file whose writer was killed: made one that HDF5 opens again, and cut back to its last commit.

use super::commit::Record;
use super::completeness::Completeness;
use super::journal::Journal;
use super::plan::FilePlan;
use super::writer_file::{
    Parts, WRITING, WriterFile, bytes_at_most, open_handle, open_modules, own_path, workers,
};
use super::{Columns, FileError, Names, ending, is_there};
use crate::structure;
use evforge_stream::nexus::Lock;
use evforge_stream::storage::superblock::{SUPERBLOCK_LENGTH, Superblock};
use evforge_stream::storage::text::{read_text, write_text};
use hdf5_metno::file::LibraryVersion;
use hdf5_metno::{File, OpenMode};
use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that was taken up again.
#[derive(Debug)]
pub enum Reopened {
    /// It goes on from its last commit, with what the job kept.
    GoesOn(Box<WriterFile>, serde_json::Value),
    /// It was complete, and only lacked its name: it has it now.
    WasComplete,
    /// There was nothing in it yet, or it is torn: it is out of the way, and a new one can be made.
    BeginAgain {
        /// The file that was set aside, and why, if there was anything in it.
        aside: Option<(PathBuf, String)>,
    },
}

impl WriterFile {
    /// Takes up a file again that a writer has left: cut back to its last commit.
    ///
    /// # Errors
    /// If another process writes it, there is no room, or it cannot be put aside where it is torn.
    pub fn reopen(plan: &FilePlan) -> Result<Reopened, FileError> {
        let names = Names::of(&plan.path);
        let path = names.writing();
        let lock = Lock::take(&plan.path)?;
        if !is_there(&path) {
            if is_there(names.complete()) {
                ending::settle(&names)?;
                return Ok(Reopened::WasComplete);
            }
            return Ok(Reopened::BeginAgain { aside: None });
        }
        match Self::reopen_held(plan, &names, lock) {
            Ok(reopened) => Ok(reopened),
            Err(error @ (FileError::NoSpace { .. } | FileError::InUse(_))) => Err(error),
            Err(error) => set_aside(&names, error.to_string()),
        }
    }

    /// Takes up a file for nothing but to see that the HDF5 library comes back from it; what else is wrong with it will be found again.
    ///
    /// For a process of its own, which is to end at once after it: the file is as after a kill then.
    pub fn rehearse(plan: &FilePlan) {
        let names = Names::of(&plan.path);
        if let Ok(lock) = Lock::take(&plan.path)
            && is_there(&names.writing())
        {
            std::mem::forget(Self::reopen_held(plan, &names, lock));
        }
    }

    /// Sets a file aside which a process of its own could not take up, for the reason it gives.
    ///
    /// # Errors
    /// If another process writes it, or it cannot be renamed.
    pub fn give_up(path: &Path, why: String) -> Result<Reopened, FileError> {
        let names = Names::of(path);
        let _lock = Lock::take(path)?;
        set_aside(&names, why)
    }

    fn reopen_held(plan: &FilePlan, names: &Names, lock: Lock) -> Result<Reopened, FileError> {
        let path = names.writing();
        let begin_again = || -> Result<Reopened, FileError> {
            fs::remove_file(&path).map_err(|cause| FileError::io("remove", &path, cause))?;
            Ok(Reopened::BeginAgain { aside: None })
        };
        if ending::is_settled(&path)? {
            ending::settle(names)?;
            return Ok(Reopened::WasComplete);
        }
        if clear_marks(&path).is_err() && !has_structure(&path) {
            return begin_again();
        }
        let handle = open_handle(&path)?;
        let length = handle.metadata().map_err(|cause| FileError::io("look at", &path, cause))?.len();
        // Chunks at which columns are cut are written at a new place.
        let end = length + bytes_at_most(plan, 0);
        plan.storage
            .space
            .reserve(&handle, 0..end)
            .map_err(|shortage| FileError::NoSpace { path: path.clone(), shortage })?;
        let hdf5 = |error: hdf5_metno::Error| FileError::hdf5("take up", &path, &error);
        let file = File::with_options()
            .with_fapl(|access| {
                access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110).metadata_read_attempts(1)
            })
            .open_as(&path, OpenMode::ReadWrite)
            .map_err(hdf5)?;
        let own_path = own_path(&file).map_err(hdf5)?;
        let Ok(own) = file.group(&own_path) else {
            drop(file);
            return begin_again();
        };
        if !Journal::is_in(&own) {
            drop((own, file));
            ending::settle(names)?;
            return Ok(Reopened::WasComplete);
        }
        let (journal, text) = Journal::open(&own).map_err(hdf5)?;
        let Some(text) = text else {
            drop((journal, own, file));
            return begin_again();
        };
        let record: Record = serde_json::from_str(&text).map_err(|error| FileError::Damaged {
            path: path.clone(),
            why: format!("its last commit: {error}"),
        })?;
        let created = structure::reopen(&file, &plan.structure)
            .map_err(|error| FileError::Content(error.to_string()))?;
        let mut columns =
            Columns::of_existing(workers(&plan.storage, &path)?, plan.storage.deflate, record.rows);
        let mut modules = open_modules(created.places, &mut columns)?;
        for (open, state) in modules.iter_mut().zip(record.modules) {
            open.module.restore(state).map_err(|why| FileError::Damaged {
                path: path.clone(),
                why: format!("{}: {why}", open.path),
            })?;
        }
        let completeness = Completeness::open(&own, &mut columns).map_err(hdf5)?;
        let state = own.dataset("state").map_err(hdf5)?;
        write_text(&state, WRITING).map_err(hdf5)?;
        columns.rest(&file);
        file.flush().map_err(hdf5)?;
        file.start_swmr().map_err(hdf5)?;
        let parts =
            Parts { columns, modules, completeness, times: created.times, state, journal, own: own_path };
        let opened = Self::of(parts, file, handle, names.clone(), lock, &plan.storage, end)?;
        Ok(Reopened::GoesOn(Box::new(opened), record.job))
    }
}

/// Renames a file that cannot be taken up.
fn set_aside(names: &Names, why: String) -> Result<Reopened, FileError> {
    let (path, aside) = (names.writing(), names.aside("damaged")?);
    fs::rename(&path, &aside).map_err(|cause| FileError::io("set aside", &path, cause))?;
    Ok(Reopened::BeginAgain { aside: Some((aside, why)) })
}

/// True if the file has what its writer says first: without it nothing was ever in it.
fn has_structure(path: &Path) -> bool {
    let look = || -> hdf5_metno::Result<String> {
        let file = File::open(path)?;
        let own = file.group(&own_path(&file)?)?;
        read_text(&own.dataset("state")?)
    };
    look().is_ok()
}

/// Clears the marks of a writer in a file's header, and takes in what lies behind the end that it knows.
///
/// # Errors
/// If it is no HDF5 file of ours, or cannot be read or written.
fn clear_marks(path: &Path) -> Result<(), FileError> {
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
