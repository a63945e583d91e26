//! The writer of event files.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::sink::{EventSink, SinkError};

use super::counters::NexusCounters;
use super::error::{NexusError, saying};
use super::event_group::EventGroups;
use super::grouping::{Place, PulseGrouping};
use super::open_file::{Committed, Extent, OpenFile};
use super::options::{EpochAnchor, NexusOptions};
use super::text::{room, write_text};
use super::{moment, place, report};

/// Events that wait in memory at most before they are committed, whatever the flush interval (8 bytes each).
const WAITING_EVENTS: u64 = 1 << 20;
/// Pulse records that wait in memory at most before they are committed.
const WAITING_PULSES: u64 = 1 << 16;

/// The state of a file that ended as it should.
pub(crate) const STATE_COMPLETE: &str = "complete";
/// The state of a file while it is written, and of one whose writer was killed.
pub(crate) const STATE_WRITING: &str = "writing";

/// Writes events into a NeXus file that can be followed while it grows and survives a kill; see
/// [`nexus`](super) for the layout and its guarantees.
///
/// Dropping the writer without [`EventSink::finish`] keeps what was taken and marks the file as incomplete.
#[derive(Debug)]
pub struct NexusWriter {
    path: PathBuf,
    open: Option<OpenFile>,
    geometry: LogicalGeometry,
    grouping: PulseGrouping,
    counters: NexusCounters,
    anchor: EpochAnchor,
    flush_interval: Duration,
    last_commit: Instant,
    committed: Committed,
    timeline: Timeline,
}

/// The pulse record that is open and the times of all, in nanoseconds since the Unix epoch.
#[derive(Debug, Default)]
struct Timeline {
    /// First and last of all pulses and events; none before the first pulse record.
    extent: Option<Extent>,
    /// Start of the record that is open.
    record_start: u64,
}

impl Timeline {
    /// A pulse record begins.
    fn begin_record(&mut self, events: &mut EventGroups, start: u64) {
        events.begin_record(start);
        self.record_start = start;
        let extent = self.extent.get_or_insert(Extent { start, end: start });
        *extent = Extent { start: extent.start.min(start), end: extent.end.max(start) };
    }

    /// An event so many nanoseconds after the start of the record that is open.
    #[inline]
    fn take_event(&mut self, offset: i32) {
        if let Some(extent) = &mut self.extent {
            extent.end = extent.end.max(self.record_start + offset as u64);
        }
    }
}

impl NexusWriter {
    /// Creates the file with all its groups and datasets, ready to be followed.
    ///
    /// # Errors
    /// If an option makes no sense, the file exists and the options do not say what to do about it, or the
    /// file cannot be created.
    pub fn create(options: &NexusOptions) -> Result<Self, NexusError> {
        options.check()?;
        let path = place::make_room(&options.path, options.existing)?;
        let open = OpenFile::create(&path, options)?;
        let longest_gap = u64::try_from(options.longest_gap.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self {
            path,
            open: Some(open),
            geometry: options.geometry,
            grouping: PulseGrouping::new(options.pulses, longest_gap, options.anchor.nanoseconds),
            counters: NexusCounters::default(),
            anchor: options.anchor.clone(),
            flush_interval: options.flush_interval,
            last_commit: Instant::now(),
            committed: Committed::default(),
            timeline: Timeline::default(),
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

    /// Takes a batch of events; what [`EventSink::take`] does, with an error of a known type.
    ///
    /// # Errors
    /// If the file cannot be written. All later calls then fail, too.
    pub fn take_events(&mut self, batch: &EventBatch) -> Result<(), NexusError> {
        let Some(OpenFile { layout, .. }) = &mut self.open else {
            return Err(self.stopped());
        };
        let counters = &mut self.counters;
        counters.events_taken += batch.len() as u64;
        let events = &mut layout.events;
        let (times, pixels, marks) = (batch.times_ns(), batch.pixel_ids(), batch.marks());
        for (pulse, range) in batch.by_pulse() {
            match pulse {
                Some(pulse) => self.grouping.begin_told(pulse, counters, |start| {
                    self.timeline.begin_record(events, start);
                }),
                None => self.grouping.end_told(counters),
            }
            // Without vetoes there are no marks, and none is needed.
            let marks =
                marks.get(range.clone()).unwrap_or_default().iter().copied().chain(std::iter::repeat(0));
            let columns = times[range.clone()].iter().zip(&pixels[range]).zip(marks);
            for ((&time, &pixel), mark) in columns {
                let Some(group) = events.of_pixel(pixel) else {
                    counters.events_outside_monitors += 1;
                    continue;
                };
                let place = self.grouping.place(time, counters, |start| {
                    self.timeline.begin_record(events, start);
                });
                let Place::Offset(offset) = place else { continue };
                if !self.geometry.is_valid(pixel) {
                    counters.events_without_pixel += 1;
                }
                events.push(group, pixel, offset, mark);
                counters.events += 1;
                self.timeline.take_event(offset);
            }
        }
        let full = counters.events - self.committed.events >= WAITING_EVENTS
            || counters.pulses - self.committed.pulses >= WAITING_PULSES;
        if full || self.last_commit.elapsed() >= self.flush_interval { self.commit() } else { Ok(()) }
    }

    /// Brings everything taken to the file now.
    ///
    /// # Errors
    /// If the file cannot be written, or is not there any more under its name.
    pub fn commit(&mut self) -> Result<(), NexusError> {
        let Some(open) = &mut self.open else {
            return Err(self.stopped());
        };
        if !open.is_in_place(&self.path) {
            return Err(self.gone());
        }
        self.last_commit = Instant::now();
        let target = Committed { events: self.counters.events, pulses: self.counters.pulses };
        match open.commit(self.committed, target, self.timeline.extent) {
            Ok(()) => {
                self.committed = target;
                self.counters.commits += 1;
                Ok(())
            }
            Err(error) => Err(self.fail("write events", &error)),
        }
    }

    /// Ends the file: everything taken, the report and the final state.
    fn end(&mut self, state: &str, ledger: Option<&DetectorLedger>) -> Result<(), NexusError> {
        if let Some(ledger) = ledger {
            self.observe_ledger(ledger);
        }
        self.grouping.end_told(&mut self.counters);
        self.commit()?;
        let Some(mut open) = self.open.take() else {
            return Err(self.stopped());
        };
        let mut too_long = None;
        let mut write = || -> hdf5_metno::Result<()> {
            if let Some(ledger) = ledger {
                open.layout.live.write(ledger)?;
                let reserved = room(&open.layout.report)?;
                let text = report::compose(&self.counters, &self.anchor, ledger, reserved);
                if text.len() <= reserved {
                    write_text(&open.layout.report, &text)?;
                } else {
                    too_long = Some((text.len(), reserved));
                }
            }
            if self.timeline.extent.is_none() {
                write_text(&open.layout.end_time, &moment::iso_8601(moment::now()))?;
            }
            open.file.flush()?;
            write_text(&open.layout.state, state)?;
            open.file.flush()
        };
        if let Err(error) = write() {
            self.open = Some(open);
            return Err(self.fail("write the report", &error));
        }
        open.close().map_err(|error| NexusError::hdf5("finish the writing", &self.path, &error))?;
        match too_long {
            None => Ok(()),
            Some((length, reserved)) => {
                Err(NexusError::ReportTooLong { path: self.path.clone(), length, reserved })
            }
        }
    }

    fn observe_ledger(&mut self, ledger: &DetectorLedger) {
        if let Some(open) = &mut self.open {
            open.layout.ledger.observe(moment::now(), ledger);
            for (group, data) in open.layout.monitors.iter_mut().zip(&ledger.beam_monitors) {
                group.observe(data);
            }
            self.counters.ledger_rows += 1;
        }
    }

    /// Gives the file up after an error of HDF5 and says what is safe.
    fn fail(&mut self, attempt: &'static str, error: &hdf5_metno::Error) -> NexusError {
        // Closing fails, too, if the disk is full; either way the file is brought back to its last commit by
        // the recovery, because its state still says that it is being written.
        self.open = None;
        NexusError::Write {
            path: self.path.clone(),
            attempt,
            cause: saying(error),
            safe: self.committed.events,
            lost: self.counters.events - self.committed.events,
        }
    }

    /// Gives the file up because it is not there any more.
    fn gone(&mut self) -> NexusError {
        self.open = None;
        NexusError::Gone { path: self.path.clone(), lost: self.counters.events }
    }

    fn stopped(&self) -> NexusError {
        NexusError::Stopped { path: self.path.clone(), safe: self.committed.events }
    }
}

impl EventSink for NexusWriter {
    fn name(&self) -> String {
        format!("events in {}", self.path.display())
    }

    fn take(&mut self, events: &EventBatch) -> Result<(), SinkError> {
        Ok(self.take_events(events)?)
    }

    /// Adds a row to the time series of the ledger, with the wall clock's time.
    fn observe(&mut self, ledger: &DetectorLedger) -> Result<(), SinkError> {
        match &self.open {
            None => return Err(self.stopped().into()),
            Some(open) if !open.is_in_place(&self.path) => return Err(self.gone().into()),
            Some(_) => {}
        }
        self.observe_ledger(ledger);
        if self.last_commit.elapsed() >= self.flush_interval {
            self.commit()?;
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &DetectorLedger) -> Result<(), SinkError> {
        Ok(self.end(STATE_COMPLETE, Some(ledger))?)
    }

    /// Keeps what was taken: a run that failed has measured, too. The file says that it is incomplete.
    fn abandon(&mut self) -> Option<String> {
        self.open.as_ref()?;
        let kept = self.end("incomplete: the input failed before its end", None);
        let path = self.path.display();
        Some(match kept {
            Ok(()) => format!("{} events in {path}, marked as incomplete", self.committed.events),
            Err(error) => error.to_string(),
        })
    }
}

impl Drop for NexusWriter {
    fn drop(&mut self) {
        if self.open.is_some() {
            // Nobody is left to tell; the state in the file says what happened.
            let _ = self.end("incomplete: the writer ended before the input", None);
        }
    }
}
