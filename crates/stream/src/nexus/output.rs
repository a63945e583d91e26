//! The output of a run: a NeXus file that is begun with the first events, waits where the disk is full, and goes on in
//! another one where the disk refuses a write.

use std::path::Path;
use std::sync::Arc;

use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::{Calendar, PulseOrigin as Origin, PulsedBatch};
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;

use super::counters::NexusCounters;
use super::error::{NexusError, is_lack_of_space};
use super::kept::KeptBatches;
use super::options::{ExistingFile, NexusOptions, PulseOrigin};
use super::parts::{DamagedFile, MOST_PARTS, left_out};
use super::recovery::Recovered;
use super::reservation::Reservation;
use super::space::{DiskSpace, FileSystemSpace};
use super::writer::NexusWriter;
use super::{event_group, series};

/// Writes the events of a run into a NeXus file; see [`nexus`](super).
///
/// Which date the first event has is known only when it comes, so the file is made then; its name is held from the
/// beginning.
///
/// Dropping it without [`Output::finish`] keeps what was taken and marks the file as incomplete.
#[derive(Debug)]
pub struct NexusOutput {
    options: NexusOptions,
    clock: Arc<dyn Clock>,
    space: Arc<dyn DiskSpace>,
    /// The file that is written; none before the first events, and after damage.
    writer: Option<NexusWriter>,
    /// What has been taken since its last commit.
    kept: KeptBatches,
    /// The file before, if it is to be brought back to its last commit.
    damaged: Option<DamagedFile>,
    /// What the last commits of the files before have counted.
    before: NexusCounters,
    /// Losses that nobody can make good, in words.
    losses: Vec<String>,
    /// What went wrong in a call that succeeded all the same: the next one says it.
    unsaid: Option<OutputError>,
    /// True once the file that was written is not there any more.
    is_gone: bool,
    has_finished: bool,
    /// The names of all files of the run, the current one last. They are held from before a file is there until after it
    /// is closed.
    names: Vec<Reservation>,
}

impl NexusOutput {
    /// An output for the file that `options` describe. A file that an earlier, killed run has left there is recovered first
    /// ([`NexusOutput::recovered`]).
    ///
    /// # Errors
    /// If an option makes no sense, there is a file that must not be replaced, another run is going to write it, or no file
    /// can be made there.
    pub fn new(options: NexusOptions, clock: Arc<dyn Clock>) -> Result<Self, NexusError> {
        options.check()?;
        let name = match Reservation::take(&options.path, options.existing) {
            Err(NexusError::Exists { path, .. }) => return Err(NexusError::NameTaken(path)),
            name => name?,
        };
        Ok(Self {
            options,
            clock,
            space: Arc::new(FileSystemSpace),
            writer: None,
            kept: KeptBatches::default(),
            damaged: None,
            before: NexusCounters::default(),
            losses: Vec::new(),
            unsaid: None,
            is_gone: false,
            has_finished: false,
            names: vec![name],
        })
    }

    /// With another judge of the room on the disk: for tests.
    #[must_use]
    pub fn with_disk_space(mut self, space: Arc<dyn DiskSpace>) -> Self {
        self.space = space;
        self
    }

    /// The file that an earlier, killed run had left under the name, if it was recovered.
    pub fn recovered(&self) -> Option<&Recovered> {
        self.names.first().and_then(Reservation::recovered)
    }

    /// The files of the run, in their order: the last one is written, or will be.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.names.iter().map(Reservation::path)
    }

    /// What has been counted, in all files together.
    fn counts(&self) -> NexusCounters {
        let mut counters = self.before;
        match &self.writer {
            Some(writer) => counters.accumulate(&writer.counters()),
            None => counters.events_taken += self.kept.events(),
        }
        counters
    }

    /// Brings back a damaged file and begins the next one, or begins the first if something is waiting for it.
    fn resume(&mut self) -> Result<(), OutputError> {
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
            self.begin(first.calendar(), origin(&first))?;
            self.take_again()?;
        }
        Ok(())
    }

    /// Makes the current file.
    fn begin(&mut self, calendar: Calendar, pulses: Option<PulseOrigin>) -> Result<(), OutputError> {
        let mut options = self.options.clone();
        let mut names = self.names.iter().rev().map(|name| name.path().to_owned());
        options.path = names.next().unwrap_or_default();
        if options.existing == ExistingFile::Number {
            // The number is settled.
            options.existing = ExistingFile::Refuse;
        }
        options.pulse_origin = pulses.unwrap_or(options.pulse_origin);
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

    /// Brings everything taken to the file.
    fn commit(&mut self) -> Result<(), OutputError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let committed = writer.commit();
        self.done(committed)?;
        self.kept.forget();
        Ok(())
    }

    /// What an attempt of the writer means for the run.
    fn done(&mut self, attempt: Result<(), NexusError>) -> Result<(), OutputError> {
        match attempt {
            Ok(()) => Ok(()),
            Err(error @ NexusError::NoSpace { .. }) => Err(waiting(&error)),
            Err(error @ NexusError::Write { .. }) => Err(self.damage(&error)),
            Err(error) => {
                self.is_gone |= matches!(error, NexusError::Gone { .. });
                Err(last(&error))
            }
        }
    }

    /// The disk has refused a write: another file goes on from the last commit.
    fn damage(&mut self, error: &NexusError) -> OutputError {
        let NexusError::Write { path, attempt, cause, .. } = error else { return last(error) };
        let Some(writer) = self.writer.take() else { return last(error) };
        let cause = format!("cannot {attempt}: HDF5 says: {cause}");
        let (committed, counters) = writer.committed();
        let committed = committed.clone();
        let rows = writer.counters().ledger_rows - counters.ledger_rows;
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

    /// What was left, for people.
    fn left(&self, committed: u64) -> String {
        let paths: Vec<String> = self.paths().map(|path| path.display().to_string()).collect();
        format!("{committed} events in {}", paths.join(" and "))
    }
}

impl Output for NexusOutput {
    fn name(&self) -> String {
        format!(
            "NeXus file {}",
            self.paths().next().map(Path::display).map_or(String::new(), |p| p.to_string())
        )
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        if let Some(unsaid) = self.unsaid.take() {
            return Err(unsaid);
        }
        self.resume()?;
        if !self.kept.has_room(batch) {
            self.commit()?;
        }
        if self.writer.is_none() {
            self.begin(batch.calendar(), origin(batch))?;
        }
        let Some(writer) = &mut self.writer else { return Ok(Taken::NotNow) };
        writer.take_events(batch).map_err(|error| last(&error))?;
        self.kept.keep(batch);
        if writer.is_due() {
            // The batch is taken. That there is no room is said by the next `poll`, which tries again; the rest is said then.
            let failed = self.commit().err();
            self.unsaid = failed.filter(|_| self.writer.as_ref().is_none_or(|writer| !writer.is_open()));
        }
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        if let Some(unsaid) = self.unsaid.take() {
            return Err(unsaid);
        }
        self.resume()?;
        match &self.writer {
            Some(writer) if writer.is_due() => self.commit(),
            _ => Ok(()),
        }
    }

    fn observe(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let observed = writer.observe(state);
        self.done(observed)
    }

    fn progress(&self) -> OutputProgress {
        let counters = self.counts();
        let left_out = left_out(&counters);
        let committed = match &self.writer {
            // What was in the file is not there any more.
            _ if self.is_gone => 0,
            Some(writer) => self.before.events + writer.committed_events(),
            None => self.before.events,
        };
        OutputProgress { committed, pending: counters.events_taken - left_out - committed, left_out }
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counts())
    }

    fn finish(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        if let Some(unsaid) = self.unsaid.take() {
            return Err(unsaid);
        }
        self.resume()?;
        if self.writer.is_none() {
            self.begin(state.calendar.unwrap_or_default(), None)?;
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if writer.is_open() {
            let finished = writer.finish(state);
            self.has_finished = !writer.is_open() && !matches!(finished, Err(NexusError::Write { .. }));
            self.done(finished)?;
            self.kept.forget();
        }
        match &self.losses[..] {
            [] => Ok(()),
            losses => Err(OutputError::Final(losses.join("; "))),
        }
    }

    /// Keeps what was taken: a run that failed has measured, too. The file says that it is incomplete.
    fn abandon(&mut self) -> Option<String> {
        if self.has_finished || self.is_gone {
            return None;
        }
        let resumed = self.resume();
        let mut note = match &mut self.writer {
            Some(writer) if writer.is_open() => {
                match writer.give_up("incomplete: the input failed before its end, or the output did") {
                    Ok(()) => None,
                    Err(error @ NexusError::Write { .. }) => Some(self.damage(&error).to_string()),
                    Err(error) => Some(error.to_string()),
                }
            }
            Some(_) => None,
            None if self.before.events_taken == 0 && self.kept.events() == 0 => return None,
            None => resumed.err().map(|error| error.to_string()),
        };
        if let Some(damaged) = &self.damaged {
            note = Some(format!(
                "{}{} has to be repaired by `evforge write --recover {}`",
                note.map_or(String::new(), |note| format!("{note}; ")),
                damaged.path().display(),
                damaged.path().display()
            ));
        }
        let OutputProgress { committed, pending, .. } = self.progress();
        let mut said = format!("{}, marked as incomplete", self.left(committed));
        if pending > 0 {
            said += &format!("; {pending} later ones are lost");
        }
        for reason in note.iter().chain(&self.losses) {
            said += &format!("; {reason}");
        }
        Some(said)
    }

    fn memory_bound(&self) -> usize {
        // Arrays of what waits grow by doubling, and both bounds are powers of two.
        let (events, pulses) = (KeptBatches::MOST_EVENTS as usize, KeptBatches::MOST_PULSES as usize);
        KeptBatches::memory_bound()
            + event_group::memory_bound(&self.options, events, pulses)
            + series::memory_bound(&self.options)
            + self.options.report_space
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
    OutputError::Retry(error.to_string())
}

/// The cause will not pass.
fn last(error: &NexusError) -> OutputError {
    OutputError::Final(error.to_string())
}
