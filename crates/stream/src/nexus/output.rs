//! The output of a run: a NeXus file that is begun with the first events, waits where the disk is full, and goes on in
//! another one where the disk refuses a write.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use evforge_core::counter::CounterSnapshot;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;

use super::error::NexusError;
use super::kept::KeptBatches;
use super::open_file::PATIENCE;
use super::options::NexusOptions;
use super::recovered::Recovered;
use super::reservation::Reservation;
use super::run_files::{RunFiles, last};
use super::writer::NexusWriter;
use super::{event_group, frame_log, live_table, series};
use crate::storage::space::{DiskSpace, FileSystemSpace};

/// How long a commit waits for the disk before it goes on with other things.
const WAIT: Duration = Duration::from_millis(100);

/// Writes the events of a run into a NeXus file; see [`nexus`](super).
///
/// Which date the first event has is known only when it comes, so the file is made then; its name is held from the
/// beginning.
///
/// Dropping it without [`Output::finish`] keeps what was taken and marks the file as incomplete.
#[derive(Debug)]
pub struct NexusOutput {
    files: RunFiles,
    /// What went wrong in a call that succeeded all the same: the next one says it.
    unsaid: Option<OutputError>,
    has_finished: bool,
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
            files: RunFiles::new(options, name, clock, Arc::new(FileSystemSpace)),
            unsaid: None,
            has_finished: false,
        })
    }

    /// With another judge of the room on the disk: for tests.
    #[must_use]
    pub fn with_disk_space(mut self, space: Arc<dyn DiskSpace>) -> Self {
        self.files.space = space;
        self
    }

    /// The file that an earlier, killed run had left under the name, if it was recovered.
    pub fn recovered(&self) -> Option<&Recovered> {
        self.files.names().first().and_then(Reservation::recovered)
    }

    /// The files of the run, in their order: the last one is written, or will be.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.names().iter().map(Reservation::path)
    }

    #[cfg(test)]
    pub(super) fn files(&mut self) -> &mut RunFiles {
        &mut self.files
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
        self.files.resume()?;
        // What is under way is ended first: a commit of everything follows, if there is no room even then.
        self.files.end_commit(Duration::ZERO)?;
        if !self.files.kept.has_room(batch) && !self.files.commit(WAIT)? {
            return Ok(Taken::NotNow);
        }
        if !self.files.kept.has_room(batch) && !self.files.commit(WAIT)? {
            return Ok(Taken::NotNow);
        }
        self.files.begin_for(batch)?;
        let Some(writer) = &mut self.files.writer else { return Ok(Taken::NotNow) };
        writer.take_events(batch).map_err(|error| last(&error))?;
        self.files.kept.keep(batch);
        if writer.is_due() {
            // The batch is taken. That there is no room is said by the next `poll`, which tries again; the rest is said then.
            // Where much comes it is not waited for the disk; the next call looks after it.
            let wait = if writer.is_late() { WAIT } else { Duration::ZERO };
            let failed = self.files.commit(wait).err();
            self.unsaid =
                failed.filter(|_| self.files.writer.as_ref().is_none_or(|writer| !writer.is_open()));
        }
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        if let Some(unsaid) = self.unsaid.take() {
            return Err(unsaid);
        }
        self.files.resume()?;
        if self.files.end_commit(Duration::ZERO)?
            && self.files.writer.as_ref().is_some_and(NexusWriter::is_due)
        {
            self.files.commit(WAIT)?;
        }
        Ok(())
    }

    fn observe(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        let Some(writer) = &mut self.files.writer else { return Ok(()) };
        let observed = writer.observe(state);
        self.files.done(observed)
    }

    fn progress(&self) -> OutputProgress {
        self.files.progress()
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.files.counts())
    }

    fn finish(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        if let Some(unsaid) = self.unsaid.take() {
            return Err(unsaid);
        }
        self.files.resume()?;
        if self.files.writer.is_none() {
            self.files.begin(state.calendar.unwrap_or_default(), None)?;
        }
        let Some(writer) = &mut self.files.writer else { return Ok(()) };
        if writer.is_open() {
            let finished = writer.finish_within(state, PATIENCE);
            self.has_finished = !writer.is_open() && !matches!(finished, Err(NexusError::Write { .. }));
            self.files.done(finished)?;
            self.files.kept.forget();
        }
        match &self.files.losses[..] {
            [] => Ok(()),
            losses => Err(OutputError::Final(losses.join("; "))),
        }
    }

    /// Keeps what was taken: a run that failed has measured, too. The file says that it is incomplete.
    fn abandon(&mut self) -> Option<String> {
        if self.has_finished || self.files.is_gone {
            return None;
        }
        let resumed = self.files.resume();
        let is_unused = self.files.counts().events_taken == 0;
        let mut note = match &mut self.files.writer {
            Some(writer) if writer.is_open() => {
                match writer.give_up("incomplete: the input failed before its end, or the output did") {
                    Ok(()) => None,
                    Err(error @ NexusError::Write { .. }) => Some(self.files.damage(&error).to_string()),
                    Err(error) => Some(error.to_string()),
                }
            }
            Some(_) => None,
            None if is_unused => return None,
            None => resumed.err().map(|error| error.to_string()),
        };
        if let Some(damaged) = &self.files.damaged {
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
        for reason in note.iter().chain(&self.files.losses) {
            said += &format!("; {reason}");
        }
        Some(said)
    }
}

/// What HDF5 keeps of a file besides the chunks of its arrays, in bytes: its cache of metadata grows to 32 MiB, its lists of memory that
/// is free to be used again to 21 MiB (`H5Pset_mdc_config`, `H5set_free_list_limits`, as they are if nobody sets them).
const HDF5: usize = 53 << 20;

impl NexusOptions {
    /// Most memory in bytes that an output for a file with these options holds.
    pub fn memory_bound(&self) -> usize {
        // The arrays of what waits grow by doubling, so half of them may be empty.
        let [events, pulses] =
            [KeptBatches::MOST_EVENTS, KeptBatches::MOST_PULSES].map(|most| 2 * most as usize);
        KeptBatches::memory_bound()
            + event_group::memory_bound(self, events, pulses)
            + frame_log::memory_bound(self, pulses)
            + series::memory_bound(self)
            + live_table::memory_bound()
            + self.report_space
            + HDF5
    }
}
