//! Files whose writer was killed: recognised, and made ordinary files again.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hdf5_metno::{File, OpenMode, Result as Hdf5Result};

use super::error::NexusError;
use super::layout::{CREATOR, DEFINITION, DEFINITION_PATH, KNOWN_VERSIONS, RECORDING, STATE_WRITING};
use super::lock::Lock;
use super::mending::{Groups, committed_data_lies_within, groups_of, mend, room_for_cutting};
use super::place::{is_in_use, superblock_of};
use super::recovered::{Recovered, Wish};
use crate::storage::space::{DiskSpace, FileSystemSpace};
use crate::storage::superblock::Superblock;
use crate::storage::text::{create_text, read_text, room, write_text};

/// Bytes by which a file grows at most while it is repaired, besides chunks that are written anew where an array is cut.
const FOR_REPAIR: u64 = 256 << 10;

/// True if the file at `path` is not whole: left by a writer that was killed or could not finish, or shorter
/// than its header says. [`recover`] repairs it or says why it cannot.
///
/// # Errors
/// If the file cannot be read, is not an HDF5 file of evforge, is damaged, or is being written at this moment.
pub fn needs_recovery(path: &Path) -> Result<bool, NexusError> {
    let superblock = superblock_of(path)?;
    // A file that is not marked may well be read by others.
    if superblock.is_marked_as_open() && is_in_use(path)? {
        return Err(NexusError::InUse(path.to_owned()));
    }
    if length_of(path)? < superblock.end_of_file() {
        return Ok(true);
    }
    let file = open(path, &superblock)?;
    check_ours(path, &file)?;
    Ok(superblock.is_marked_as_open() || state_of(path, &file)? == STATE_WRITING)
}

/// Makes a file that a killed writer left an ordinary file again, cut back to its last commit; leaves whole
/// files untouched.
///
/// # Errors
/// If the file cannot be read or written, is not an HDF5 file of evforge, is damaged, or is being written at
/// this moment, or if there is no room for the repair. The file is then as it was, unless the disk failed in the middle of the repair.
pub fn recover(path: &Path) -> Result<Recovered, NexusError> {
    superblock_of(path)?;
    let _lock = Lock::take_if_possible(path)?;
    recover_held(path)
}

/// The same for a file whose name is held already.
pub(crate) fn recover_held(path: &Path) -> Result<Recovered, NexusError> {
    recover_to(path, &Wish::default(), &FileSystemSpace)
}

/// The same, cut back to what `wish` says.
pub(super) fn recover_to(
    path: &Path,
    wish: &Wish<'_>,
    space: &dyn DiskSpace,
) -> Result<Recovered, NexusError> {
    let needed = needs_recovery(path)?;
    let superblock = superblock_of(path)?;
    if !needed {
        let file = open(path, &superblock)?;
        return summary(&file).map_err(|error| NexusError::hdf5("read the events", path, &error));
    }
    let length = length_of(path)?;
    let mended = prepare(path, &superblock, length)
        .and_then(|()| mend_prepared(path, &superblock, length, wish, space));
    if mended.is_err() {
        // As it was, so that the next attempt sees what this one saw. If that fails, too, the first error is
        // the one that matters.
        let _ = patch(path, &superblock, length);
    }
    mended
}

/// Makes the file openable: no marks, and as long as its header says (the rest is a hole and takes no space).
fn prepare(path: &Path, superblock: &Superblock, length: u64) -> Result<(), NexusError> {
    let closed = superblock.closed(length);
    patch(path, &closed, closed.end_of_file())
}

fn mend_prepared(
    path: &Path,
    superblock: &Superblock,
    length: u64,
    wish: &Wish<'_>,
    space: &dyn DiskSpace,
) -> Result<Recovered, NexusError> {
    let hdf5 = |error: hdf5_metno::Error| NexusError::hdf5("recover the events", path, &error);
    let whole_length = length >= superblock.end_of_file();
    let mend = || -> Result<Recovered, NexusError> {
        let file = File::open(path).map_err(hdf5)?;
        check_ours(path, &file)?;
        if !whole_length && !committed_data_lies_within(&file, length) {
            return Err(cut_short(path, superblock, length));
        }
        let chunks = room_for_cutting(&file);
        file.close().map_err(hdf5)?;
        let handle =
            OpenOptions::new().write(true).open(path).map_err(|cause| NexusError::io("open", path, cause))?;
        // Little is added. But what lies in a hole needs room, too, if it is written.
        let end = superblock.end_of_file().max(length) + FOR_REPAIR + chunks;
        space
            .reserve(&handle, 0..end)
            .map_err(|shortage| NexusError::NoSpace { path: path.to_owned(), shortage })?;
        let file = File::open_rw(path).map_err(hdf5)?;
        let recovered = mend(path, &file, wish).map_err(hdf5)?;
        file.close().map_err(hdf5)?;
        let _ = space.give_back(&handle);
        Ok(recovered)
    };
    // Where a part of the file is missing, that is the reason for whatever else goes wrong.
    mend().map_err(|error| match error {
        error @ NexusError::NoSpace { .. } => error,
        error if whole_length => error,
        _ => cut_short(path, superblock, length),
    })
}

/// Replaces the report in a finished file by `report` (JSON), of any length.
///
/// # Errors
/// If the file is not a finished file of evforge, or cannot be written.
pub fn replace_report(path: &Path, report: &str) -> Result<(), NexusError> {
    superblock_of(path)?;
    let _lock = Lock::take_if_possible(path)?;
    if needs_recovery(path)? {
        return Err(NexusError::Exists { path: path.to_owned(), unfinished: true });
    }
    let replace = || -> Hdf5Result<()> {
        let file = File::open_rw(path)?;
        let recording = file.group(RECORDING)?;
        let dataset = recording.dataset("report")?;
        if report.len() <= room(&dataset)? {
            write_text(&dataset, report)?;
        } else {
            drop(dataset);
            recording.unlink("report")?;
            create_text(&recording, "report", report, 0)?;
        }
        drop(recording);
        file.close()
    };
    replace().map_err(|error| NexusError::hdf5("replace the report", path, &error))
}

/// Opens a file to look at it, whether or not it is marked as open.
fn open(path: &Path, superblock: &Superblock) -> Result<File, NexusError> {
    if superblock.is_closed_to_followers() {
        return Err(NexusError::Damaged {
            path: path.to_owned(),
            finding: "its writer was killed before it could be followed. If that was evforge, there are no \
                      events in it and it can be removed; `h5clear -s` clears the mark of other writers"
                .into(),
        });
    }
    let mode = if superblock.is_marked_as_open() { OpenMode::ReadSWMR } else { OpenMode::Read };
    File::with_options()
        // HDF5 reads what looks damaged again and again while it follows a file, waiting twice as long each
        // time: for a file that nobody writes that would be for ever.
        .with_fapl(|access| access.metadata_read_attempts(1))
        .open_as(path, mode)
        .map_err(|error| NexusError::hdf5("open the content", path, &error))
}

fn length_of(path: &Path) -> Result<u64, NexusError> {
    Ok(fs::metadata(path).map_err(|cause| NexusError::io("read", path, cause))?.len())
}

fn cut_short(path: &Path, superblock: &Superblock, length: u64) -> NexusError {
    NexusError::Damaged {
        path: path.to_owned(),
        finding: format!(
            "it has {length} bytes where its header says {}, and what is missing is more than a commit that was \
             not finished; it was cut, perhaps while it was copied",
            superblock.end_of_file()
        ),
    }
}

fn check_ours(path: &Path, file: &File) -> Result<(), NexusError> {
    let not_ours = |missing: String| Err(NexusError::NotOurs { path: path.to_owned(), missing });
    let definition = file.dataset(DEFINITION_PATH).and_then(|dataset| read_text(&dataset));
    match definition.as_deref() {
        Ok(DEFINITION) => {}
        Ok(other) => {
            return not_ours(format!("{DEFINITION_PATH} is \"{other}\" instead of \"{DEFINITION}\""));
        }
        Err(_) => {
            return not_ours(format!("it has no {DEFINITION_PATH} that says \"{DEFINITION}\" ({CREATOR})"));
        }
    }
    let version =
        file.group(RECORDING).and_then(|recording| read_text(&recording.dataset("layout_version")?));
    match version.as_deref() {
        Ok(version) if KNOWN_VERSIONS.contains(&version) => Ok(()),
        Ok(other) => not_ours(format!(
            "its layout has version \"{other}\", this program knows the versions {}",
            KNOWN_VERSIONS.join(", ")
        )),
        Err(_) => not_ours("it does not say the version of its layout".to_owned()),
    }
}

fn state_of(path: &Path, file: &File) -> Result<String, NexusError> {
    file.group(RECORDING)
        .and_then(|recording| read_text(&recording.dataset("state")?))
        .map_err(|error| NexusError::hdf5("read the state", path, &error))
}

/// Writes the superblock and gives the file its length.
fn patch(path: &Path, superblock: &Superblock, length: u64) -> Result<(), NexusError> {
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(superblock.bytes())?;
        file.sync_data()
    };
    write().map_err(|cause| NexusError::io("repair", path, cause))
}

fn summary(file: &File) -> Hdf5Result<Recovered> {
    let (mut events, mut pulses) = (0, 0);
    for Groups { groups, .. } in groups_of(file)? {
        let mut own = 0;
        for (group, _) in &groups {
            events += group.dataset("event_id")?.size() as u64;
            own = group.dataset("event_index")?.size() as u64;
        }
        pulses += own;
    }
    Ok(Recovered {
        path: PathBuf::from(file.filename()),
        was_whole: true,
        events,
        pulses,
        events_cut: 0,
        pulses_cut: 0,
        end_time: read_text(&file.dataset("/entry/end_time")?)?,
    })
}
