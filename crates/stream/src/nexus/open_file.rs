//! An event file that is open for writing, and the order in which things get into it.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use evforge_core::frame::FrameTotals;
use hdf5_metno::File;

use super::error::NexusError;
use super::frame_log::FrameLog;
use super::layout::{Beginning, Layout, length_at_the_beginning};
use super::lock::identity;
use super::options::{Compression, DiskSync, NexusOptions};
use super::records::Extent;
use super::{moment, place};
use crate::storage::diversion::divert;
use crate::storage::growing::WorkerLost;
use crate::storage::made_in_memory::{MadeInMemory, NotMade};
use crate::storage::making::Making;
use crate::storage::space::{DiskSpace, folder_of};
use crate::storage::syncer::Syncer;
use crate::storage::text::write_text;
use crate::storage::workers::Workers;

/// What is reserved beyond what the bound says that an append can need.
const BEYOND: u64 = 64 << 10;

/// How long the disk is waited for where nothing can be done while it works.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// The open file. The fields are dropped in this order: HDF5 wants its datasets closed before the file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) layout: Layout,
    pub(crate) file: File,
    /// The same file, to reserve room for it.
    handle: fs::File,
    /// None if nobody waits for the disk.
    syncer: Option<Syncer>,
    /// Room is reserved up to here.
    reserved: u64,
    /// Device and number, by which another file of the same name is told from it.
    identity: (u64, u64),
    /// Held to say that somebody is writing; see [`place`].
    _lock: Option<fs::File>,
}

/// What is safe in the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    pub(crate) events: u64,
    pub(crate) pulses: u64,
    /// Those that are not in the group of late events.
    pub(crate) pulses_in_order: u64,
    /// Events of each group and the pulse records, then the same of late events, as the file says it.
    pub(crate) counts: Vec<u64>,
    /// Of all frames; none where the readout tells none.
    pub(crate) frames: Option<FrameTotals>,
}

impl OpenFile {
    /// Creates the file at `path`, where there is none, with all its groups and datasets, ready to be
    /// followed.
    pub(crate) fn create(
        path: &Path,
        options: &NexusOptions,
        beginning: &Beginning,
        space: &Arc<dyn DiskSpace>,
    ) -> Result<Self, NexusError> {
        let workers = start_workers(path, options)?;
        let making = Making::begin(path).map_err(|cause| match cause.kind() {
            ErrorKind::ResourceBusy => NexusError::InUse(path.to_owned()),
            _ => NexusError::io("make", path, cause),
        })?;
        let hdf5 = |what, error: &_| NexusError::hdf5(what, path, error);
        let made = MadeInMemory::create(making.path(), |access| access).map_err(|error| match error {
            NotMade::Hdf5(error) => hdf5("begin the writing", &error),
            NotMade::System(cause) => NexusError::io("make", path, cause),
        })?;
        // Nothing that is worth keeping is in it before all is: the end of `making` removes it.
        let gone = |error| unless_gone(making.path(), path, error);
        let room = length_at_the_beginning(options) + BEYOND;
        space
            .reserve(made.disk(), 0..room)
            .map_err(|shortage| gone(NexusError::NoSpace { path: path.to_owned(), shortage }))?;
        let layout = Layout::create(made.file(), options, beginning, workers)
            .and_then(|layout| {
                made.file().flush()?;
                made.file().start_swmr()?;
                Ok(layout)
            })
            .map_err(|error| hdf5("create the layout", &error))?;
        let (file, handle) =
            made.move_to_disk().map_err(|cause| gone(NexusError::io("make room for", path, cause)))?;
        let about = handle.metadata().map_err(|cause| NexusError::io("look at", path, cause))?;
        let identity = identity(&about);
        let made = place::hold(making.path())
            .map_err(gone)
            .and_then(|lock| Ok((lock, start_syncer(path, options, &handle, space)?)))
            .and_then(|held| name_it(making, path).map(|()| held));
        match made {
            Ok((lock, syncer)) => {
                Ok(Self { layout, file, handle, syncer, reserved: room, identity, _lock: lock })
            }
            Err(error) => {
                let _ = divert(&file);
                Err(error)
            }
        }
    }

    /// True if the file is still there under its name.
    pub(crate) fn is_in_place(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|about| identity(&about) == self.identity)
    }

    /// Makes sure that everything that waits can be brought to the file. After the last time nothing follows.
    pub(crate) fn reserve(
        &mut self,
        path: &Path,
        space: &dyn DiskSpace,
        is_last: bool,
    ) -> Result<(), NexusError> {
        let Layout { events, late, .. } = &mut self.layout;
        events
            .prepare(is_last)
            .and_then(|()| late.prepare(is_last))
            .map_err(|WorkerLost| NexusError::WorkerLost { path: path.to_owned() })?;
        let length = self.handle.metadata().map_err(|cause| NexusError::io("look at", path, cause))?.len();
        // What HDF5 has given out, and not written yet, counts.
        let end = length.max(self.file.size()) + self.layout.growth() + BEYOND;
        // What lies within the file was reserved before it was written.
        let from = self.reserved.min(length);
        match space.reserve(&self.handle, from..end) {
            Ok(()) => {
                self.reserved = end;
                Ok(())
            }
            Err(shortage) => {
                self.reserved = from;
                Err(NexusError::NoSpace { path: path.to_owned(), shortage })
            }
        }
    }

    /// Brings what is waiting to the file, in the order in which a reader may need it: events before the
    /// records that point at them. There is room for it.
    pub(crate) fn write(&mut self, to: &mut Committed) -> hdf5_metno::Result<()> {
        let layout = &mut self.layout;
        if let Some(frames) = &mut layout.frames {
            // Whoever sees a pulse record finds its row.
            frames.flush()?;
        }
        layout.events.flush()?;
        layout.late.flush()?;
        layout.ledger.flush()?;
        layout.live.flush()?;
        for monitor in &mut layout.monitors {
            monitor.flush()?;
        }
        let late_pulses = layout.late.pulse_count();
        to.pulses_in_order = to.pulses - late_pulses;
        let of_late = layout.late.event_counts().chain([late_pulses]);
        to.counts = layout.events.event_counts().chain([to.pulses_in_order]).chain(of_late).collect();
        to.frames = layout.frames.as_ref().map(FrameLog::totals);
        self.file.flush()
    }

    /// Asks the disk to keep what was written, if that is wanted.
    pub(crate) fn ask_for_sync(&mut self) {
        if let Some(syncer) = &mut self.syncer {
            syncer.ask();
        }
    }

    /// True if commits wait for the disk.
    pub(crate) fn waits_for_disk(&self) -> bool {
        self.syncer.is_some()
    }

    /// Whether the disk has all that it was asked to keep.
    ///
    /// # Errors
    /// If it could not be written.
    pub(crate) fn is_synced(&mut self, wait: Duration) -> io::Result<bool> {
        match &mut self.syncer {
            None => Ok(true),
            Some(syncer) => syncer.wait(wait).transpose().map(|answer| answer.is_some()),
        }
    }

    /// Says that what was written is there.
    pub(crate) fn commit(
        &mut self,
        from: &Committed,
        to: &Committed,
        extent: Option<Extent>,
    ) -> hdf5_metno::Result<()> {
        let layout = &mut self.layout;
        if let Some(extent) = extent.filter(|_| to.events > from.events || to.pulses > from.pulses) {
            layout.events.write_totals(&to.counts)?;
            layout.late.write_totals(to.counts.get(to.counts.len() / 2..).unwrap_or_default())?;
            // Without a date the file has the time at which it was made.
            if layout.has_date {
                write_text(&layout.start_time, &moment::iso_8601(extent.start))?;
                write_text(&layout.end_time, &moment::iso_8601(extent.end))?;
            }
            layout.duration.write_scalar(&((extent.end - extent.start) as f64 * 1e-9))?;
            layout.duration.flush()?;
            if let Some(total_pulses) = &layout.total_pulses {
                total_pulses.write_scalar(&to.pulses_in_order)?;
                total_pulses.flush()?;
            }
            layout.committed.write_raw(&to.counts)?;
            layout.committed.flush()?;
        }
        if let (Some(frames), Some(totals)) = (&layout.frames, &to.frames)
            && to.frames != from.frames
        {
            frames.write_totals(totals)?;
        }
        self.file.flush()
    }

    /// Lets go of the file after an error of HDF5, as it is on the disk.
    pub(crate) fn let_go(self) {
        // Without that HDF5 writes what it can; the repair cuts it away.
        let _ = divert(&self.file);
    }

    /// Closes the file, which clears the mark of a writer, and gives back what was reserved for it. None if it is closed, and
    /// the disk has confirmed that or takes longer than it is waited for; otherwise what the disk says.
    pub(crate) fn close(self, space: &dyn DiskSpace) -> hdf5_metno::Result<Option<io::Error>> {
        let OpenFile { layout, file, handle, mut syncer, .. } = self;
        drop(layout);
        file.close()?;
        // Nothing is lost if that fails: the blocks belong to a file that somebody will copy or remove.
        let _ = space.give_back(&handle);
        let Some(syncer) = &mut syncer else { return Ok(None) };
        syncer.ask();
        Ok(syncer.wait(PATIENCE).and_then(Result::err))
    }
}

/// The threads that compress, if the options ask for them.
fn start_workers(path: &Path, options: &NexusOptions) -> Result<Workers, NexusError> {
    let (count, level) = match options.compression {
        Compression::Deflate(level) => (options.compression_threads, level),
        Compression::None | Compression::Lzf => (0, 0),
    };
    Workers::start(count, level)
        .map_err(|cause| NexusError::io("start the threads that compress", path, cause))
}

/// The thread that waits for the disk, if the options ask for it.
fn start_syncer(
    path: &Path,
    options: &NexusOptions,
    handle: &fs::File,
    space: &Arc<dyn DiskSpace>,
) -> Result<Option<Syncer>, NexusError> {
    if options.sync == DiskSync::None {
        return Ok(None);
    }
    let folder = folder_of(path).to_owned();
    let start = handle.try_clone().and_then(|file| Syncer::start(file, folder, Arc::clone(space)));
    start
        .map(Some)
        .map_err(|cause| NexusError::io("start the thread that waits for the disk for", path, cause))
}

/// Gives a file that was made its name.
fn name_it(making: Making, path: &Path) -> Result<(), NexusError> {
    making.name_it(path).map_err(|cause| match cause.kind() {
        ErrorKind::AlreadyExists => NexusError::Exists { path: path.to_owned(), unfinished: false },
        ErrorKind::NotFound => NexusError::Gone { path: path.to_owned(), lost: 0 },
        _ => NexusError::io("begin", path, cause),
    })
}

/// What is wrong with the file that was made a moment ago for `path`: if it is not there, somebody has taken it away.
fn unless_gone(making: &Path, path: &Path, error: NexusError) -> NexusError {
    match fs::symlink_metadata(making) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            NexusError::Gone { path: path.to_owned(), lost: 0 }
        }
        _ => error,
    }
}
