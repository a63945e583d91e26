//! The files of a run, one after the other, and what is safe in them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use evforge_core::counter::CounterSet;
use evforge_core::output::{OutputError, OutputProgress};
use evforge_core::pulsed::{Calendar, PulseOrigin as Origin, PulsedBatch};
use evforge_core::time::Clock;

use super::counters::NexusCounters;
use super::error::{NexusError, is_lack_of_space};
use super::kept::KeptBatches;
use super::options::{ExistingFile, NexusOptions, PulseOrigin};
use super::parts::{DamagedFile, MOST_PARTS};
use super::reservation::Reservation;
use super::writer::NexusWriter;
use crate::storage::space::DiskSpace;

/// The files of a run: one, unless the disk refuses a write.
#[derive(Debug)]
pub(super) struct RunFiles {
    pub(super) options: NexusOptions,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) space: Arc<dyn DiskSpace>,
    /// The file that is written; none before the first events, and after damage.
    pub(super) writer: Option<NexusWriter>,
    /// What has been taken since its last commit.
    pub(super) kept: KeptBatches,
    /// The file before, if it is to be brought back to its last commit.
    pub(super) damaged: Option<DamagedFile>,
    /// What the last commits of the files before have counted.
    before: NexusCounters,
    /// Losses that nobody can make good, in words.
    pub(super) losses: Vec<String>,
    /// True once the file that was written is not there any more.
    pub(super) is_gone: bool,
    /// The names of all files of the run, the current one last. They are held from before a file is there until after it
    /// is closed.
    names: Vec<Reservation>,
}

impl RunFiles {
    pub(super) fn new(
        options: NexusOptions,
        name: Reservation,
        clock: Arc<dyn Clock>,
        space: Arc<dyn DiskSpace>,
    ) -> Self {
        Self {
            options,
            clock,
            space,
            writer: None,
            kept: KeptBatches::default(),
            damaged: None,
            before: NexusCounters::default(),
            losses: Vec::new(),
            is_gone: false,
            names: vec![name],
        }
    }

    /// The names, the current one last.
    pub(super) fn names(&self) -> &[Reservation] {
        &self.names
    }

    /// What has been counted, in all files together.
    pub(super) fn counts(&self) -> NexusCounters {
        let mut counters = self.before;
        match &self.writer {
            Some(writer) => counters.accumulate(&writer.counters()),
            None => counters.events_taken += self.kept.events(),
        }
        counters
    }

    /// How far they are.
    pub(super) fn progress(&self) -> OutputProgress {
        let counters = self.counts();
        let left_out = counters.events_outside_epoch
            + counters.events_outside_pulse
            + counters.events_outside_monitors
            + counters.events_lost;
        let committed = match &self.writer {
            // What was in the file is not there any more.
            _ if self.is_gone => 0,
            Some(writer) => self.before.events + writer.committed_events(),
            None => self.before.events,
        };
        OutputProgress {
            committed,
            pending: counters.events_taken - left_out - committed,
            left_out,
            failed: 0,
        }
    }

    /// Begins the current file for a batch, if it is not there yet.
    pub(super) fn begin_for(&mut self, batch: &PulsedBatch) -> Result<(), OutputError> {
        if self.writer.is_some() { Ok(()) } else { self.begin(batch.calendar(), Some(batch)) }
    }

    /// Brings back a damaged file and begins the next one, or begins the first if something is waiting for it.
    pub(super) fn resume(&mut self) -> Result<(), OutputError> {
        if let Some(damaged) = &self.damaged {
            let kept = match damaged.bring_back(&*self.space) {
                Ok(events) => events,
                Err(error) if is_lack_of_space(&error) => return Err(waiting(&error)),
                Err(error) => {
                    self.losses.push(error.to_string());
                    0
                }
            };
            let lost = damaged.events().saturating_sub(kept);
            if lost > 0 {
                self.losses.push(format!(
                    "{lost} of the {} events that were safe in {} are not there any more",
                    damaged.events(),
                    damaged.path().display()
                ));
            }
            self.before.events -= lost;
            self.before.events_lost += lost;
            self.names.extend(self.damaged.take().map(DamagedFile::into_next));
        }
        if self.writer.is_none()
            && let Some(first) = self.kept.batches().first().cloned()
        {
            self.begin(first.calendar(), Some(&first))?;
            self.take_again()?;
        }
        Ok(())
    }

    /// Makes the current file, which has what the `first` batch shows that the readout tells.
    pub(super) fn begin(
        &mut self,
        calendar: Calendar,
        first: Option<&PulsedBatch>,
    ) -> Result<(), OutputError> {
        let mut options = self.options.clone();
        let mut names = self.names.iter().rev().map(|name| name.path().to_owned());
        options.path = names.next().unwrap_or_default();
        if options.existing == ExistingFile::Number {
            // The number is settled.
            options.existing = ExistingFile::Refuse;
        }
        options.pulse_origin = first.and_then(origin).unwrap_or(options.pulse_origin);
        if first.is_some_and(|batch| !batch.frames().is_empty()) {
            options.frames.get_or_insert_default();
        }
        let continues = names.next().as_deref().map(file_name);
        let (clock, space) = (Arc::clone(&self.clock), Arc::clone(&self.space));
        let path = options.path.clone();
        match NexusWriter::create_part(&options, calendar, clock, space, continues) {
            Ok(writer) => {
                self.writer = Some(writer);
                Ok(())
            }
            Err(error @ NexusError::NoSpace { .. }) => Err(waiting(&error)),
            // The disk was filled at the same moment.
            Err(error) if is_lack_of_space(&error) => {
                Err(waiting(&NexusError::WaitsForRoom { path, cause: error.to_string() }))
            }
            Err(error) => Err(last(&error)),
        }
    }

    /// Gives the current file what is kept from the one before.
    fn take_again(&mut self) -> Result<(), OutputError> {
        if let Some(writer) = &mut self.writer {
            for batch in self.kept.batches() {
                writer.take_events(batch).map_err(|error| last(&error))?;
            }
        }
        Ok(())
    }

    /// Begins to bring everything taken to the file, unless that is under way, and ends it if the disk confirms it within
    /// `wait`. Whether it has ended.
    pub(super) fn commit(&mut self, wait: Duration) -> Result<bool, OutputError> {
        let Some(writer) = &mut self.writer else { return Ok(true) };
        if !writer.is_committing() {
            let begun = writer.begin_commit(false);
            self.done(begun)?;
            self.kept.mark();
        }
        self.end_commit(wait)
    }

    /// Ends a commit that is under way, if the disk confirms it within `wait`. Whether none is under way any more.
    pub(super) fn end_commit(&mut self, wait: Duration) -> Result<bool, OutputError> {
        let Some(writer) = self.writer.as_mut().filter(|writer| writer.is_committing()) else {
            return Ok(true);
        };
        let ended = writer.end_commit(wait);
        let has_ended = self.done(ended)?;
        if has_ended {
            self.kept.forget_marked();
        }
        Ok(has_ended)
    }

    /// What an attempt of the writer means for the run.
    pub(super) fn done<T>(&mut self, attempt: Result<T, NexusError>) -> Result<T, OutputError> {
        match attempt {
            Ok(done) => Ok(done),
            Err(error @ NexusError::NoSpace { .. }) => Err(waiting(&error)),
            Err(error @ NexusError::WaitsForDisk { .. }) => Err(OutputError::Retry(error.to_string())),
            Err(error @ NexusError::Write { .. }) => Err(self.damage(&error)),
            Err(error) => {
                self.is_gone |= matches!(error, NexusError::Gone { .. });
                Err(last(&error))
            }
        }
    }

    /// The disk has refused a write: another file goes on from the last commit.
    pub(super) fn damage(&mut self, error: &NexusError) -> OutputError {
        let NexusError::Write { path, attempt, cause, .. } = error else { return last(error) };
        let Some(writer) = self.writer.take() else { return last(error) };
        let cause = format!("cannot {attempt}: {cause}");
        let (committed, counters) = writer.committed();
        let committed = committed.clone();
        let taken = writer.counters();
        if (taken.events_taken, taken.pulses) == (counters.events_taken, counters.pulses) {
            // The last commit had all of them: what could not be written came after it.
            self.kept.forget();
        } else {
            self.kept.unmark();
        }
        let rows = taken.ledger_rows - counters.ledger_rows;
        self.before.files_damaged += 1;
        self.before.ledger_rows_left_out += rows;
        self.before.accumulate(&counters);
        if committed.events == 0 && committed.pulses == 0 {
            self.before.ledger_rows -= counters.ledger_rows;
            self.before.ledger_rows_left_out += counters.ledger_rows;
            // Nothing in it is worth keeping, and it is certainly ours.
            drop(writer);
            let _ = std::fs::remove_file(path);
            if !is_lack_of_space(error) {
                return OutputError::Final(format!("{}: {cause}. Nothing could be written", path.display()));
            }
            return OutputError::Retry(format!(
                "{}: {cause}. It is begun again when there is room; nothing is lost so far",
                path.display()
            ));
        }
        drop(writer);
        if self.names.len() >= MOST_PARTS {
            return last(error);
        }
        let first = self.names.first().map_or(path.as_path(), Reservation::path);
        match DamagedFile::new(path, first, committed, &cause, self.options.existing) {
            Ok(damaged) => {
                let said = OutputError::Retry(format!(
                    "{} is damaged: {cause}. Its {} events up to the last commit are safe, and it goes on in {} from there \
                     when there is room",
                    path.display(),
                    damaged.events(),
                    damaged.next_path().display()
                ));
                self.damaged = Some(damaged);
                said
            }
            Err(name) => OutputError::Final(format!("{error}. It cannot go on in another file: {name}")),
        }
    }
}

/// The readout, if the batch shows that it tells the pulses.
fn origin(batch: &PulsedBatch) -> Option<PulseOrigin> {
    let is_told = batch.pulses().iter().any(|pulse| pulse.origin == Origin::Readout);
    is_told.then_some(PulseOrigin::Readout)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The cause may pass.
fn waiting(error: &NexusError) -> OutputError {
    OutputError::Retry(format!("{error}; it continues when there is room"))
}

/// The cause will not pass.
pub(super) fn last(error: &NexusError) -> OutputError {
    OutputError::Final(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nexus::NexusOutput;
    use evforge_core::event::{Event, EventBatch};
    use evforge_core::geometry::LogicalGeometry;
    use evforge_core::output::Output;
    use evforge_core::pulse::PulseTrain;
    use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
    use evforge_core::run_state::RunState;
    use evforge_core::time::ManualClock;

    /// A batch with two events, as a run makes it.
    fn batch() -> Arc<PulsedBatch> {
        let settings = PulseStageSettings::new(PulseTrain::european_xfel(), CalendarRule::Readout);
        let mut stage = PulseStage::new(settings);
        let mut events = EventBatch::new(2);
        (0..2).for_each(|pixel| assert!(events.push(Event { time_ns: 5, pixel_id: pixel + 1 })));
        let mut batches = Vec::new();
        stage.hand_on(&events, None, &mut |batch| batches.push(Arc::new(batch)));
        batches.remove(0)
    }

    /// The last commit of a file has everything; the report that follows it cannot be written. Nothing of it is put into another file,
    /// or told as missed.
    #[test]
    fn what_the_last_commit_had_is_not_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.nxs");
        let options = NexusOptions::new(&path, "demo", LogicalGeometry::flat(8, 6).unwrap());
        let mut output = NexusOutput::new(options, Arc::new(ManualClock::default())).unwrap();
        output.take(&batch()).unwrap();
        let files = output.files();
        let writer = files.writer.as_mut().unwrap();
        // As at the end of a file.
        writer.commit().unwrap();
        let cause = "Input/output error".to_owned();
        let error =
            NexusError::Write { path: path.clone(), attempt: "write the report", cause, safe: 2, lost: 0 };
        assert!(matches!(files.damage(&error), OutputError::Retry(_)));
        let all = OutputProgress { committed: 2, ..OutputProgress::default() };
        assert_eq!(output.progress(), all);
        output.finish(&Arc::new(RunState::default())).unwrap();
        assert_eq!(output.progress(), all);
        assert_eq!(output.counters().value("events_taken"), Some(2));
        assert_eq!(output.paths().count(), 2);
    }
}
