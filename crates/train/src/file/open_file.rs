//! A file that is open for writing, and the order in which things get into it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use evforge_stream::storage::diversion::divert;
use evforge_stream::storage::made_in_memory::{MadeInMemory, NotMade};
use evforge_stream::storage::making::{Making, rename_unless_there};
use evforge_stream::storage::space::{DiskSpace, FileSystemSpace, Shortage, folder_of};
use evforge_stream::storage::syncer::Syncer;
use evforge_stream::storage::workers::Workers;
use evforge_wire::train::Train;
use hdf5_metno::{Dataset, File};

use super::columns::Columns;
use super::error::{FileError, says};
use super::images::Images;
use super::metadata::{self, Moment};
use super::name::unfinished;
use super::options::{NOT_WHOLE, TrainFileOptions};
use super::table::Row;

/// Bytes that a new file takes at most, and those that are left for its end.
const BEGINNING: u64 = 256 << 10;
const BEYOND: u64 = 64 << 10;
/// What is reserved at once, where there is so much.
const AHEAD: u64 = 256 << 20;
/// Large objects begin at pages of the machine: an image is then written in whole pages.
const ALIGNMENT: (u64, u64) = (64 << 10, 4 << 10);

/// The open file. The fields are dropped in this order: HDF5 wants its datasets closed before the file.
#[derive(Debug)]
pub(super) struct OpenFile {
    images: Images,
    columns: Columns,
    committed_rows: Dataset,
    updated: Dataset,
    file: File,
    /// The same file, to reserve room for it.
    handle: fs::File,
    /// Asks the disk to keep what was written, so that little is left to do at the end.
    syncer: Syncer,
    /// Its name now, and when it is closed.
    path: PathBuf,
    final_path: PathBuf,
    /// Room is there up to this byte.
    reserved: u64,
    trains: u64,
    committed: u64,
    last_commit: Instant,
    /// Held to say that somebody is writing: none on file systems without locks.
    _lock: Option<fs::File>,
}

impl OpenFile {
    /// Creates the file that will be called `final_path`, with all its groups and datasets, ready to be followed.
    pub(super) fn create(
        final_path: &Path,
        options: &TrainFileOptions,
        (source, sequence): (&str, u32),
        specific_bytes: usize,
    ) -> Result<Self, FileError> {
        let path = unfinished(final_path);
        if let Some(there) = [final_path, &path].into_iter().find(|path| fs::symlink_metadata(path).is_ok()) {
            return Err(FileError::Exists { path: there.to_owned() });
        }
        let making = Making::begin(final_path).map_err(|cause| match cause.kind() {
            ErrorKind::ResourceBusy => FileError::InUse(final_path.to_owned()),
            _ => FileError::io("make", final_path, cause),
        })?;
        let refused = |error: hdf5_metno::Error| FileError::hdf5("begin", &path, &error);
        let io = |cause| FileError::io("begin", &path, cause);
        let (threshold, alignment) = ALIGNMENT;
        let made = MadeInMemory::create(making.path(), |access| access.alignment(threshold, alignment));
        let made = made.map_err(|error| match error {
            NotMade::Hdf5(error) => refused(error),
            NotMade::System(cause) => io(cause),
        })?;
        // Nothing that is worth keeping is in it before all is: the end of `making` removes it.
        FileSystemSpace
            .reserve(made.disk(), 0..BEGINNING)
            .map_err(|shortage| FileError::NoSpace { path: final_path.to_owned(), shortage })?;
        let (committed_rows, updated) =
            metadata::create(made.file(), options, source, sequence).map_err(refused)?;
        let group = metadata::image_group(made.file(), source).map_err(refused)?;
        let images = Images::create(&group, options.detector, options.deflate).map_err(refused)?;
        let columns = Columns::create(made.file(), source, specific_bytes).map_err(refused)?;
        made.file().flush().map_err(refused)?;
        made.file().start_swmr().map_err(refused)?;
        let (file, handle) =
            made.move_to_disk().map_err(|cause| FileError::io("make room for", final_path, cause))?;
        let begun = || {
            let lock = fs::File::open(making.path())?;
            let lock = lock.try_lock_shared().is_ok().then_some(lock);
            let synced = handle.try_clone()?;
            Ok((lock, Syncer::start(synced, folder_of(&path).to_owned(), Arc::new(FileSystemSpace))?))
        };
        let (lock, syncer) = begun().map_err(io).inspect_err(|_| {
            let _ = divert(&file);
        })?;
        making.name_it(&path).map_err(|cause| FileError::io("begin", &path, cause))?;
        Ok(Self {
            images,
            columns,
            committed_rows,
            updated,
            file,
            handle,
            syncer,
            path,
            final_path: final_path.to_owned(),
            reserved: BEGINNING,
            trains: 0,
            committed: 0,
            last_commit: Instant::now(),
            _lock: lock,
        })
    }

    /// Trains that were taken.
    pub(super) fn trains(&self) -> u64 {
        self.trains
    }

    /// Trains that were taken and wait for the next commit.
    pub(super) fn waiting(&self) -> u64 {
        self.trains - self.committed
    }

    /// Images that were taken.
    pub(super) fn images(&self) -> u64 {
        self.images.written()
    }

    /// True if something has waited for so long.
    pub(super) fn is_due(&self, interval: Duration) -> bool {
        self.waiting() > 0 && self.last_commit.elapsed() >= interval
    }

    /// Makes sure that a train of so many images can be written, and everything that waits.
    ///
    /// # Errors
    /// If there is no room. Nothing has changed.
    pub(super) fn reserve(&mut self, images: u64) -> Result<(), FileError> {
        let length =
            self.handle.metadata().map_err(|cause| FileError::io("look at", &self.path, cause))?.len();
        // What HDF5 has given out, and not written yet, counts. Images lie at multiples of a page.
        let padding = images * ALIGNMENT.1;
        let growth = self.images.growth(images) + self.columns.growth(images) + padding + BEYOND;
        let end = length.max(self.file.size()) + growth;
        if end <= self.reserved {
            return Ok(());
        }
        let mut shortage = Shortage { missing: growth, free: 0 };
        for end in [end + AHEAD, end] {
            // What lies within the file was reserved before it was written.
            match FileSystemSpace.reserve(&self.handle, self.reserved.min(length)..end) {
                Ok(()) => {
                    self.reserved = end;
                    return Ok(());
                }
                // What was reserved behind the end may have been given back by that.
                Err(found) => (self.reserved, shortage) = (length, found),
            }
        }
        Err(FileError::NoSpace { path: self.path.clone(), shortage })
    }

    /// Takes a train, for which there is room: these of its images (and whether they are whole) go to the file now, and all else with the
    /// next commit. Those that are not whole are marked in their status.
    ///
    /// # Errors
    /// If HDF5 refuses; the file is then to be given up.
    pub(super) fn take(
        &mut self,
        train: &Train<'_>,
        arrival_ns: u64,
        kept: &[(usize, bool)],
        workers: &mut Workers,
    ) -> Result<(), FileError> {
        let images: Vec<&[u8]> = kept.iter().filter_map(|&(at, _)| train.image(at)).collect();
        let row = Row {
            train,
            arrival_ns,
            trains: self.trains,
            images: self.images.written(),
            count: images.len() as u64,
        };
        self.images.append(&images, workers).map_err(|error| self.write_error("write images to", &error))?;
        for (mut image, is_whole) in
            kept.iter().filter_map(|&(at, is_whole)| Some((train.descriptor(at)?, is_whole)))
        {
            if !is_whole {
                image.status |= NOT_WHOLE;
            }
            self.columns.append_image(&row, &image);
        }
        self.columns.append(&row);
        self.trains += 1;
        Ok(())
    }

    /// Brings everything taken to the file, where a kill cannot take it any more. The trains that are safe since.
    ///
    /// # Errors
    /// If the file cannot be written; it is then to be given up.
    pub(super) fn commit(&mut self, workers: &mut Workers) -> Result<u64, FileError> {
        let waiting = self.waiting();
        self.last_commit = Instant::now();
        if waiting == 0 {
            return Ok(0);
        }
        let mut write = || -> hdf5_metno::Result<()> {
            // What the index points at is there before it is.
            self.columns.write_data(workers)?;
            self.file.flush()?;
            self.columns.write_index(workers)?;
            self.file.flush()?;
            self.committed_rows.write_raw(&[self.trains, self.images.written()])?;
            self.committed_rows.flush()
        };
        write().map_err(|error| self.write_error("write trains to", &error))?;
        self.committed = self.trains;
        match self.syncer.wait(Duration::ZERO) {
            Some(Ok(())) => self.syncer.ask(),
            Some(Err(cause)) => return Err(self.lost("bring trains to the disk in", cause.to_string())),
            // It is still busy with what was asked before.
            None => {}
        }
        Ok(waiting)
    }

    /// Closes the file after its last commit, waits for the disk, and gives it its final name.
    ///
    /// # Errors
    /// If it cannot be closed, or the disk does not take it.
    pub(super) fn close(self) -> Result<(), FileError> {
        let Self { images, columns, committed_rows, updated, file, handle, path, final_path, .. } = self;
        let refused = |error: hdf5_metno::Error| FileError::hdf5("close", &path, &error);
        let written = metadata::now().and_then(|now: Moment| updated.write_raw(&[now]));
        drop((images, columns, committed_rows, updated));
        if let Err(error) = written {
            let _ = divert(&file);
            return Err(refused(error));
        }
        file.close().map_err(refused)?;
        // Nothing is lost if that fails: the blocks belong to a file that somebody will copy or remove.
        let _ = FileSystemSpace.give_back(&handle);
        handle.sync_all().map_err(|cause| FileError::io("bring to the disk", &path, cause))?;
        rename_unless_there(&path, &final_path).map_err(|cause| FileError::io("name", &final_path, cause))?;
        // Where a folder cannot be synchronised, the file system keeps its names in another way.
        let _ = fs::File::open(folder_of(&final_path)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Lets go of the file after an error, as it is on the disk: as a killed writer would have left it.
    pub(super) fn let_go(self) {
        // Without that HDF5 writes what it can; the repair cuts it away.
        let _ = divert(&self.file);
    }

    fn write_error(&self, attempt: &'static str, error: &hdf5_metno::Error) -> FileError {
        self.lost(attempt, says(error))
    }

    fn lost(&self, attempt: &'static str, cause: String) -> FileError {
        let (safe, lost) = (self.committed, self.waiting());
        FileError::Write { path: self.path.clone(), attempt, cause, safe, lost }
    }
}
