//! An event file that is open for writing, and the order in which things get into it.

use std::fs;
use std::path::Path;

use hdf5_metno::File;
use hdf5_metno::file::LibraryVersion;

use super::error::NexusError;
use super::layout::Layout;
use super::options::NexusOptions;
use super::reservation::identity;
use super::text::write_text;
use super::{moment, place};

/// The open file. The fields are dropped in this order: HDF5 wants its datasets closed before the file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) layout: Layout,
    pub(crate) file: File,
    /// Device and number, by which another file of the same name is told from it.
    identity: (u64, u64),
    /// Held to say that somebody is writing; see [`place`].
    _lock: Option<fs::File>,
}

/// What is safe in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Committed {
    pub(crate) events: u64,
    pub(crate) pulses: u64,
}

/// First pulse and last pulse or event, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl OpenFile {
    /// Creates the file at `path`, where there is none, with all its groups and datasets, ready to be
    /// followed.
    pub(crate) fn create(path: &Path, options: &NexusOptions) -> Result<Self, NexusError> {
        let file = File::with_options()
            // The format of HDF5 1.10, by either bound: the oldest that can be followed, and read by all since.
            .with_fapl(|access| access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110))
            .create_excl(path)
            .map_err(|error| NexusError::hdf5("begin the writing", path, &error))?;
        let layout = Layout::create(&file, options).and_then(|layout| {
            file.flush()?;
            file.start_swmr()?;
            Ok(layout)
        });
        match layout {
            Ok(layout) => {
                let about =
                    fs::symlink_metadata(path).map_err(|cause| NexusError::io("look at", path, cause))?;
                Ok(Self { layout, file, identity: identity(&about), _lock: place::hold(path)? })
            }
            Err(error) => {
                drop(file);
                // Nothing in it yet, and it was not there before: better gone than half a file.
                let _ = fs::remove_file(path);
                Err(NexusError::hdf5("create the layout", path, &error))
            }
        }
    }

    /// True if the file is still there under its name.
    pub(crate) fn is_in_place(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|about| identity(&about) == self.identity)
    }

    /// Brings what is waiting to the file, in the order in which a reader may need it: events before the
    /// records that point at them, and the word that all is there last.
    pub(crate) fn commit(
        &mut self,
        from: Committed,
        to: Committed,
        extent: Option<Extent>,
    ) -> hdf5_metno::Result<()> {
        let layout = &mut self.layout;
        layout.events.flush()?;
        layout.ledger.flush()?;
        for monitor in &mut layout.monitors {
            monitor.flush()?;
        }
        if let Some(extent) = extent.filter(|_| to.events > from.events || to.pulses > from.pulses) {
            layout.events.write_totals()?;
            write_text(&layout.start_time, &moment::iso_8601(extent.start))?;
            write_text(&layout.end_time, &moment::iso_8601(extent.end))?;
            layout.duration.write_scalar(&((extent.end - extent.start) as f64 * 1e-9))?;
            layout.duration.flush()?;
            let committed: Vec<u64> = layout.events.event_counts().chain([to.pulses]).collect();
            layout.committed.write_raw(&committed)?;
            layout.committed.flush()?;
        }
        self.file.flush()
    }

    /// Closes the file, which clears the mark of a writer.
    pub(crate) fn close(self) -> hdf5_metno::Result<()> {
        let OpenFile { layout, file, .. } = self;
        drop(layout);
        file.close()
    }
}
