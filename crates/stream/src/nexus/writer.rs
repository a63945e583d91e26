//! The writer of one event file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulsed::{Calendar, PulsedBatch};
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;

use super::counters::NexusCounters;
use super::error::{NexusError, saying};
use super::layout::Beginning;
use super::open_file::{Committed, OpenFile};
use super::options::NexusOptions;
use super::records::Records;
use super::space::{DiskSpace, FileSystemSpace};
use super::text::{room, write_text};
use super::{moment, place, report};

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
    geometry: LogicalGeometry,
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
    /// True if the last row of the ledger has been observed.
    has_ended: bool,
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
        let open = OpenFile::create(&path, options, &beginning, &*space)?;
        Ok(Self {
            path,
            open: Some(open),
            geometry: options.geometry,
            calendar,
            records: Records::default(),
            counters: NexusCounters::default(),
            flush_interval: options.flush_interval,
            last_commit: clock.elapsed(),
            clock,
            space,
            committed: Committed::default(),
            committed_counters: NexusCounters::default(),
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
        self.records.take(batch, self.geometry, &mut layout.events, &mut self.counters);
        layout.events.seal();
        Ok(())
    }

    /// True if as much is waiting as may wait, or it has waited for the flush interval.
    pub fn is_due(&self) -> bool {
        let events = self.counters.events - self.committed.events;
        let pulses = self.counters.pulses - self.committed.pulses;
        let rows = self.open.as_ref().map_or(0, |open| open.layout.ledger.waiting());
        let is_late = self.clock.elapsed().saturating_sub(self.last_commit) >= self.flush_interval;
        events >= WAITING_EVENTS
            || pulses >= WAITING_PULSES
            || (is_late && (events > 0 || pulses > 0 || rows > 0))
    }

    /// Brings everything taken to the file now.
    ///
    /// # Errors
    /// If there is no room for it ([`NexusError::NoSpace`]: nothing has changed, it can be tried again), the file cannot be
    /// written, or is not there any more under its name.
    pub fn commit(&mut self) -> Result<(), NexusError> {
        self.commit_as(false)
    }

    /// The same; after the last commit nothing follows.
    fn commit_as(&mut self, is_last: bool) -> Result<(), NexusError> {
        self.check_in_place()?;
        let Some(open) = &mut self.open else {
            return Err(self.stopped());
        };
        open.reserve(&self.path, &*self.space, is_last)?;
        self.last_commit = self.clock.elapsed();
        let Self { counters, committed, records, .. } = self;
        let mut target = Committed { events: counters.events, pulses: counters.pulses, counts: Vec::new() };
        match open.commit(committed, &mut target, records.extent) {
            Ok(()) => {
                counters.commits += 1;
                self.committed = target;
                self.committed_counters = self.counters;
                Ok(())
            }
            Err(error) => Err(self.fail("write events", &error)),
        }
    }

    /// Adds a row to the time series of the ledger and of the outputs, with the wall clock's time.
    ///
    /// # Errors
    /// If the file is not there any more under its name, or writing has failed before.
    pub fn observe(&mut self, state: &RunState) -> Result<(), NexusError> {
        self.check_in_place()?;
        self.observe_row(state);
        Ok(())
    }

    /// Ends the file: everything taken, the last row of the ledger, the report and the final state.
    ///
    /// # Errors
    /// As [`NexusWriter::commit`]; without room it can be called again.
    pub fn finish(&mut self, state: &RunState) -> Result<(), NexusError> {
        self.end(STATE_COMPLETE, Some(state))
    }

    /// Ends the file with everything taken, if there is room for it, and `state`, which says that it is not complete.
    pub(crate) fn give_up(&mut self, state: &str) -> Result<(), NexusError> {
        match self.end(state, None) {
            Err(error @ (NexusError::NoSpace { .. } | NexusError::WorkerLost { .. })) => {
                // What was committed has its place, and so has the text.
                self.close(state, None)?;
                Err(error)
            }
            ended => ended,
        }
    }

    /// True as long as the file is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn end(&mut self, state: &str, run: Option<&RunState>) -> Result<(), NexusError> {
        self.check_in_place()?;
        if let Some(run) = run.filter(|_| !self.has_ended) {
            self.observe_row(run);
            if let Some(open) = &mut self.open {
                open.layout.live.observe(&run.ledger);
            }
            self.has_ended = true;
        }
        self.records.close(&mut self.counters);
        // With the room for all that follows.
        self.commit_as(true)?;
        self.close(state, run)
    }

    /// Writes what stands at the end of a file, for which there is room, and closes it.
    fn close(&mut self, state: &str, run: Option<&RunState>) -> Result<(), NexusError> {
        let Some(mut open) = self.open.take() else {
            return Err(self.stopped());
        };
        let mut too_long = None;
        let mut write = || -> hdf5_metno::Result<()> {
            if let Some(run) = run {
                open.layout.live.flush()?;
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
            return Err(self.fail("write the report", &error));
        }
        open.close(&*self.space)
            .map_err(|error| NexusError::hdf5("finish the writing", &self.path, &error))?;
        match too_long {
            None => Ok(()),
            Some((length, reserved)) => {
                Err(NexusError::ReportTooLong { path: self.path.clone(), length, reserved })
            }
        }
    }

    fn observe_row(&mut self, state: &RunState) {
        if let Some(open) = &mut self.open {
            if open.layout.ledger.observe(self.clock.unix_ns(), state) {
                self.counters.ledger_rows += 1;
            } else {
                self.counters.ledger_rows_left_out += 1;
            }
            for (group, data) in open.layout.monitors.iter_mut().zip(&state.ledger.beam_monitors) {
                group.observe(data);
            }
        }
    }

    /// Gives the file up after an error of HDF5 and returns what is safe.
    fn fail(&mut self, attempt: &'static str, error: &hdf5_metno::Error) -> NexusError {
        // The recovery brings it back to its last commit, as one whose writer was killed.
        if let Some(open) = self.open.take() {
            open.let_go();
        }
        NexusError::Write {
            path: self.path.clone(),
            attempt,
            cause: saying(error),
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

impl Drop for NexusWriter {
    fn drop(&mut self) {
        if self.open.is_some() {
            // Nobody is left to tell; the state in the file says what happened.
            let _ = self.give_up("incomplete: the writer ended before the input");
        }
    }
}
