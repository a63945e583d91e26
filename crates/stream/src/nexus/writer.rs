//! The writer of one event file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use evforge_core::pixel_ids::Pixels;
use evforge_core::pulsed::{Calendar, PulsedBatch};
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;

use super::counters::NexusCounters;
use super::error::{NexusError, saying};
use super::layout::{Beginning, Layout};
use super::open_file::{Committed, OpenFile, PATIENCE};
use super::options::NexusOptions;
use super::records::{Arrays, Extent, Records};
use super::{moment, place, report};
use crate::storage::space::{DiskSpace, FileSystemSpace};
use crate::storage::text::{room, write_text};

/// Events that wait in memory at most before they are committed, whatever the flush interval (8 bytes each).
pub(crate) const WAITING_EVENTS: u64 = 1 << 20;
/// Pulse records that wait in memory at most before they are committed.
pub(crate) const WAITING_PULSES: u64 = 1 << 16;

/// The state of a file that ended as it should.
pub(crate) const STATE_COMPLETE: &str = "complete";

/// Writes one NeXus file that can be followed while it grows and survives a kill; see [`nexus`](super) for the layout and
/// its guarantees. [`NexusOutput`](super::NexusOutput) is what a run uses: it begins a file with the first events, and
/// another one where the disk refuses a write.
///
/// What is taken waits in memory until [`NexusWriter::commit`]. Dropping the writer without [`NexusWriter::finish`] keeps
/// what was taken, if there is room for it, and marks the file as incomplete.
#[derive(Debug)]
pub struct NexusWriter {
    path: PathBuf,
    open: Option<OpenFile>,
    pixels: Pixels,
    calendar: Calendar,
    records: Records,
    counters: NexusCounters,
    clock: Arc<dyn Clock>,
    space: Arc<dyn DiskSpace>,
    flush_interval: Duration,
    last_commit: Duration,
    committed: Committed,
    /// The counters of the last commit.
    committed_counters: NexusCounters,
    /// The commit that waits for the disk.
    under_way: Option<UnderWay>,
    /// True if the commit after which nothing follows has begun.
    last_begun: bool,
    /// True if the last row of the ledger has been observed.
    has_ended: bool,
}

/// A commit that has been written and that the disk has not yet confirmed.
#[derive(Debug)]
struct UnderWay {
    target: Committed,
    counters: NexusCounters,
    extent: Option<Extent>,
}

impl NexusWriter {
    /// Creates the file with all its groups and datasets, ready to be followed.
    ///
    /// # Errors
    /// If an option makes no sense, the file exists and the options do not say what to do about it, there is no room for
    /// it, or it cannot be created.
    pub fn create(
        options: &NexusOptions,
        calendar: Calendar,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NexusError> {
        Self::create_part(options, calendar, clock, Arc::new(FileSystemSpace), None)
    }

    /// The same for the file that continues the one called `continues`.
    pub(crate) fn create_part(
        options: &NexusOptions,
        calendar: Calendar,
        clock: Arc<dyn Clock>,
        space: Arc<dyn DiskSpace>,
        continues: Option<String>,
    ) -> Result<Self, NexusError> {
        options.check()?;
        place::check_room(options, &*space)?;
        let path = place::make_room(&options.path, options.existing)?;
        let beginning = Beginning { now_ns: clock.unix_ns(), calendar, continues };
        let open = OpenFile::create(&path, options, &beginning, &space)?;
        Ok(Self {
            path,
            open: Some(open),
            pixels: options.pixels(),
            calendar,
            records: Records::default(),
            counters: NexusCounters::default(),
            flush_interval: options.flush_interval,
            last_commit: clock.elapsed(),
            clock,
            space,
            committed: Committed::default(),
            committed_counters: NexusCounters::default(),
            under_way: None,
            last_begun: false,
            has_ended: false,
        })
    }

    /// The file that is written: the one asked for, or its number.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What has been taken and written so far.
    pub fn counters(&self) -> NexusCounters {
        self.counters
    }

    /// Events that a kill cannot take any more.
    pub fn committed_events(&self) -> u64 {
        self.committed.events
    }

    /// What was safe after the last commit.
    pub(crate) fn committed(&self) -> (&Committed, NexusCounters) {
        (&self.committed, self.committed_counters)
    }

    /// Takes the events and pulses of a batch; they wait until they are committed.
    ///
    /// # Errors
    /// If writing has failed before.
    pub fn take_events(&mut self, batch: &PulsedBatch) -> Result<(), NexusError> {
        let Some(OpenFile { layout, .. }) = &mut self.open else {
            return Err(self.stopped());
        };
        let Layout { events, late, frames, .. } = layout;
        let to = Arrays { events, late, frames: frames.as_mut() };
        self.records.take(batch, &self.pixels, to, &mut self.counters);
        layout.events.seal();
        layout.late.seal();
        Ok(())
    }

    /// True if as much is waiting as may wait, or it has waited for the flush interval.
    pub fn is_due(&self) -> bool {
        if self.is_committing() {
            return false;
        }
        let events = self.counters.events - self.committed.events;
        let pulses = self.counters.pulses - self.committed.pulses;
        let rows = self.open.as_ref().map_or(0, |open| open.layout.ledger.waiting());
        events >= WAITING_EVENTS
            || pulses >= WAITING_PULSES
            || (self.is_late() && (events > 0 || pulses > 0 || rows > 0))
    }

    /// True if it was not committed for the flush interval.
    pub(crate) fn is_late(&self) -> bool {
        self.clock.elapsed().saturating_sub(self.last_commit) >= self.flush_interval
    }

    /// True if a commit waits for the disk.
    pub(crate) fn is_committing(&self) -> bool {
        self.under_way.is_some()
    }

    /// Brings everything taken to the file now, and waits for the disk if the options say so.
    ///
    /// # Errors
    /// If there is no room for it ([`NexusError::NoSpace`]: nothing has changed, it can be tried again), the file cannot be
    /// written, or is not there any more under its name.
    pub fn commit(&mut self) -> Result<(), NexusError> {
        self.begin_commit(false)?;
        while !self.end_commit(PATIENCE)? {}
        Ok(())
    }

    /// Writes everything taken, and asks the disk to keep it. After the last commit nothing follows.
    ///
    /// # Errors
    /// As [`NexusWriter::commit`]; and [`NexusError::WaitsForDisk`] if the commit before has not ended.
    pub(crate) fn begin_commit(&mut self, is_last: bool) -> Result<(), NexusError> {
        self.check_in_place()?;
        if !self.end_commit(PATIENCE)? {
            return Err(NexusError::WaitsForDisk { path: self.path.clone() });
        }
        let Some(open) = &mut self.open else {
            return Err(self.stopped());
        };
        open.reserve(&self.path, &*self.space, is_last)?;
        self.last_commit = self.clock.elapsed();
        let (events, pulses) = (self.counters.events, self.counters.pulses);
        let mut target = Committed { events, pulses, ..Committed::default() };
        if let Err(error) = open.write(&mut target) {
            return Err(self.fail("write events", hdf5_says(&error)));
        }
        open.ask_for_sync();
        let mut counters = self.counters;
        counters.commits += 1;
        self.under_way = Some(UnderWay { target, counters, extent: self.records.extent });
        Ok(())
    }

    /// Ends the commit that was begun, if there is one, as soon as the disk has confirmed it, but waits no longer than `wait`.
    /// Whether it has ended.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn end_commit(&mut self, wait: Duration) -> Result<bool, NexusError> {
        let (Some(open), true) = (&mut self.open, self.under_way.is_some()) else { return Ok(true) };
        match open.is_synced(wait) {
            Ok(false) => Ok(false),
            Ok(true) => self.say_committed(true).map(|()| true),
            Err(error) => Err(self.fail("bring events to the disk", error.to_string())),
        }
    }

    /// The same where nobody can wait: what the disk does not confirm is safe from a kill, not from the loss of power.
    fn end_commit_somehow(&mut self) -> Result<(), NexusError> {
        if self.end_commit(PATIENCE)? { Ok(()) } else { self.say_committed(false) }
    }

    /// Says in the file that what was written is there.
    fn say_committed(&mut self, is_confirmed: bool) -> Result<(), NexusError> {
        let (Some(open), Some(mut done)) = (&mut self.open, self.under_way.take()) else { return Ok(()) };
        if let Err(error) = open.commit(&self.committed, &done.target, done.extent) {
            return Err(self.fail("write events", hdf5_says(&error)));
        }
        let synced = u64::from(is_confirmed && open.waits_for_disk());
        open.ask_for_sync();
        self.counters.commits += 1;
        self.counters.syncs += synced;
        done.counters.syncs += synced;
        (self.committed, self.committed_counters) = (done.target, done.counters);
        Ok(())
    }

    /// Adds a row to the time series of the ledger and of the outputs, with the wall clock's time.
    ///
    /// # Errors
    /// If the file is not there any more under its name, or writing has failed before.
    pub fn observe(&mut self, state: &RunState) -> Result<(), NexusError> {
        self.check_in_place()?;
        self.observe_row(state, false);
        Ok(())
    }

    /// Ends the file: everything taken, the last row of the ledger, the report and the final state.
    ///
    /// # Errors
    /// As [`NexusWriter::commit`]; without room it can be called again.
    pub fn finish(&mut self, state: &RunState) -> Result<(), NexusError> {
        loop {
            match self.finish_within(state, PATIENCE) {
                Err(NexusError::WaitsForDisk { .. }) => {}
                finished => return finished,
            }
        }
    }

    /// The same, but waits for the disk no longer than `wait`. It can be called again then.
    ///
    /// # Errors
    /// As [`NexusWriter::finish`], and [`NexusError::WaitsForDisk`].
    pub(crate) fn finish_within(&mut self, state: &RunState, wait: Duration) -> Result<(), NexusError> {
        self.end(Some(state))?;
        if !self.end_commit(wait)? {
            return Err(NexusError::WaitsForDisk { path: self.path.clone() });
        }
        self.close(STATE_COMPLETE, Some(state))
    }

    /// Ends the file with everything taken, if there is room for it, and `state`, which says that it is not complete. A disk
    /// that takes long is not waited for.
    pub(crate) fn give_up(&mut self, state: &str) -> Result<(), NexusError> {
        self.end_commit_somehow()?;
        match self.end(None) {
            Ok(()) => {
                self.end_commit_somehow()?;
                self.close(state, None)
            }
            Err(error @ (NexusError::NoSpace { .. } | NexusError::WorkerLost { .. })) => {
                // What was committed has its place, and so has the text.
                self.close(state, None)?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// True as long as the file is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Begins the last commit, unless it was begun before.
    fn end(&mut self, run: Option<&RunState>) -> Result<(), NexusError> {
        self.check_in_place()?;
        if self.last_begun {
            return Ok(());
        }
        if let Some(run) = run.filter(|_| !self.has_ended) {
            self.observe_row(run, true);
            self.has_ended = true;
        }
        self.records.close(&mut self.counters);
        // With the room for all that follows.
        self.begin_commit(true)?;
        self.last_begun = true;
        Ok(())
    }

    /// Writes what stands at the end of a file, for which there is room, and closes it.
    fn close(&mut self, state: &str, run: Option<&RunState>) -> Result<(), NexusError> {
        let Some(open) = self.open.take() else {
            return Err(self.stopped());
        };
        let mut too_long = None;
        let mut write = || -> hdf5_metno::Result<()> {
            if let Some(run) = run {
                let reserved = room(&open.layout.report)?;
                let text = report::compose(&self.counters, self.calendar, &run.ledger, reserved);
                if text.len() <= reserved {
                    write_text(&open.layout.report, &text)?;
                } else {
                    too_long = Some((text.len(), reserved));
                }
            }
            if self.committed.pulses == 0 {
                write_text(&open.layout.end_time, &moment::iso_8601(self.clock.unix_ns()))?;
            }
            open.file.flush()?;
            write_text(&open.layout.state, state)?;
            open.file.flush()
        };
        if let Err(error) = write() {
            open.let_go();
            return Err(self.fail("write the report", hdf5_says(&error)));
        }
        let said = open
            .close(&*self.space)
            .map_err(|error| NexusError::hdf5("finish the writing", &self.path, &error))?;
        if let Some(cause) = said {
            return Err(NexusError::io("bring the end to the disk of", &self.path, cause));
        }
        match too_long {
            None => Ok(()),
            Some((length, reserved)) => {
                Err(NexusError::ReportTooLong { path: self.path.clone(), length, reserved })
            }
        }
    }

    fn observe_row(&mut self, state: &RunState, is_last: bool) {
        if let Some(open) = &mut self.open {
            if open.layout.ledger.observe(self.clock.unix_ns(), state) {
                self.counters.ledger_rows += 1;
            } else {
                self.counters.ledger_rows_left_out += 1;
            }
            open.layout.live.observe(&state.ledger, is_last);
            for (group, data) in open.layout.monitors.iter_mut().zip(&state.ledger.beam_monitors) {
                group.observe(data);
            }
        }
    }

    /// Gives the file up after an error of HDF5 or of the disk and returns what is safe.
    fn fail(&mut self, attempt: &'static str, cause: String) -> NexusError {
        self.under_way = None;
        // The recovery brings it back to its last commit, as one whose writer was killed.
        if let Some(open) = self.open.take() {
            open.let_go();
        }
        NexusError::Write {
            path: self.path.clone(),
            attempt,
            cause,
            safe: self.committed.events,
            lost: self.counters.events - self.committed.events,
        }
    }

    /// Gives the file up if it is not there any more.
    fn check_in_place(&mut self) -> Result<(), NexusError> {
        match &self.open {
            None => Err(self.stopped()),
            Some(open) if open.is_in_place(&self.path) => Ok(()),
            Some(_) => {
                self.open = None;
                Err(NexusError::Gone { path: self.path.clone(), lost: self.counters.events })
            }
        }
    }

    fn stopped(&self) -> NexusError {
        NexusError::Stopped { path: self.path.clone(), safe: self.committed.events }
    }
}

fn hdf5_says(error: &hdf5_metno::Error) -> String {
    format!("HDF5 reports: {}", saying(error))
}

impl Drop for NexusWriter {
    fn drop(&mut self) {
        if self.open.is_some() {
            // Nobody is left to tell; the state in the file says what happened.
            let _ = self.give_up("incomplete: the writer ended before the input");
        }
    }
}
