//! Events of a file as they come: of one that is written at this moment, of one that is complete, and of one that its writer has
//! left. For whoever shows them.
//!
//! A file that is written is read up to what is certain: pulses behind which there is another one, with all their events. What
//! the newest pulse has is taken when the next one is there, or when the file is closed. Memory is bounded whatever the file
//! claims: blocks of pulses and of events for each group, however long its arrays are.
//!
//! What cannot be read is said and counted by its reason; the groups that can be read go on.

mod content;
mod counters;
mod group;
mod logs;
mod pixels;

pub use content::{DetectorIds, FileContent, GroupContent, MonitorIds};
pub use counters::FollowCounters;
pub use logs::FileLog;
pub use pixels::{PixelRule, Placed, place_pixels};

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use evforge_core::batch_filler::BatchFiller;
use evforge_core::feed::STALLED_AFTER;
use hdf5_metno::file::OpenMode;

use super::error::NexusError;
use super::groups;
use super::layout::{DEFINITION, DEFINITION_PATH, RECORDING, STATE_WRITING};
use super::place::{self, is_held_by_others};
use crate::storage::superblock::{SUPERBLOCK_LENGTH, Superblock};
use crate::storage::text::read_text;
use content::OWN_WRITER;
use group::FollowedGroup;
use logs::FollowedLog;

/// How often HDF5 reads a piece of metadata whose checksum is wrong, because its writer may be writing it at this moment. It waits a
/// nanosecond, and twice as long each time: a quarter of a second in all. By itself it tries a hundred times, which takes longer than
/// anybody lives where the file is damaged.
const ATTEMPTS: u32 = 28;

/// Groups of events that are read at once.
const MOST_GROUPS: usize = 4096;

/// How a file is at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Somebody writes it.
    Growing,
    /// It was closed, and is whole as far as it says.
    Complete,
    /// No more comes, and it is not whole: why.
    Incomplete(String),
}

/// Reads the events of a file while it grows.
#[derive(Debug)]
pub struct EventFollower {
    path: PathBuf,
    /// The same file, whatever it is called by now.
    handle: std::fs::File,
    file: hdf5_metno::File,
    groups: Vec<FollowedGroup>,
    content: FileContent,
    logs: Vec<FollowedLog>,
    /// Logs that are not read because there are too many, at least.
    logs_left_out: usize,
    state: FileState,
    /// True if its writer holds a lock as long as it lives.
    has_lock: bool,
    counters: FollowCounters,
    faults: Vec<String>,
}

impl EventFollower {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or has no events that can be.
    pub fn open(path: &Path) -> Result<Self, NexusError> {
        let handle = std::fs::File::open(path).map_err(|cause| NexusError::io("open", path, cause))?;
        let failed =
            |attempt: &'static str, cause: String| NexusError::Hdf5 { attempt, path: path.to_owned(), cause };
        let superblock = superblock_of(&handle);
        if superblock.is_some_and(|superblock| superblock.is_closed_to_followers()) {
            let cause = "its writer has it open so that nobody can follow it (no SWMR), or was killed: wait until it is closed, \
                         or clear the mark with `h5clear -s`";
            return Err(failed("open the HDF5 content", cause.to_owned()));
        }
        let is_open = superblock.is_some_and(|superblock| superblock.is_marked_as_open());
        let mode = if is_open { OpenMode::ReadSWMR } else { OpenMode::Read };
        let file = hdf5_metno::File::with_options()
            .with_fapl(|access| access.metadata_read_attempts(ATTEMPTS))
            .open_as(path, mode)
            .map_err(|error| match place::superblock_of(path) {
                Err(no_hdf5 @ NexusError::NotHdf5(_)) => no_hdf5,
                _ => failed("open the HDF5 content", error.to_string()),
            })?;
        let found = groups::find(&file, &[groups::EVENT_DATA, groups::DETECTOR, groups::MONITOR]);
        let mut faults = Vec::new();
        let (mut opened, mut of_groups) = (Vec::new(), Vec::new());
        let of_events = found.iter().filter(|found| found.class == groups::EVENT_DATA);
        let number = of_events.clone().count();
        for found in of_events.take(MOST_GROUPS) {
            match FollowedGroup::open(&file, found, number) {
                Ok(group) => {
                    of_groups.push(GroupContent::of(found));
                    opened.push(group);
                }
                Err(error) => faults.push(format!("{}: not read: {error}", found.group.name())),
            }
        }
        if number > MOST_GROUPS {
            faults.push(format!("it has {number} groups of events, of which {MOST_GROUPS} are read"));
        }
        if opened.is_empty() {
            let cause = match faults.as_slice() {
                [] => "it has no group of class NXevent_data".to_owned(),
                faults => faults.join("; "),
            };
            return Err(failed("read the events", cause));
        }
        let content = FileContent::read(&file, &found, of_groups, &mut faults);
        let is_ours = file.dataset(DEFINITION_PATH).and_then(|set| read_text(&set));
        let has_lock = is_ours.is_ok_and(|found| found == DEFINITION) && file.group(OWN_WRITER).is_err();
        // By themselves: however many there are, they take no place of events.
        let (logs, logs_left_out) = logs::open(&groups::find(&file, &[groups::LOG]));
        let counters = FollowCounters { groups_not_read: faults.len() as u64, ..FollowCounters::default() };
        let mut follower = Self {
            path: path.to_owned(),
            handle,
            file,
            groups: opened,
            content,
            logs,
            logs_left_out,
            state: FileState::Growing,
            has_lock,
            counters,
            faults,
        };
        follower.look()?;
        follower.content.frame_vetoes = follower.groups.iter().find_map(FollowedGroup::frame_vetoes);
        let first = follower.groups.iter_mut().max_by_key(|group| group.pulses());
        follower.content.period_ns = first.and_then(FollowedGroup::period_ns);
        Ok(follower)
    }

    /// What it says of itself.
    pub fn content(&self) -> &FileContent {
        &self.content
    }

    /// The largest and the smallest pixel id among events at the beginning and at the end of each group of a detector; none without
    /// events.
    pub fn some_ids(&mut self) -> Option<(i64, i64)> {
        let of_detectors = self
            .groups
            .iter()
            .zip(&self.content.groups)
            .filter(|(group, of)| !of.is_of_monitor && group.fault.is_none());
        of_detectors
            .filter_map(|(group, _)| group.some_ids())
            .reduce(|(low, high), (other_low, other_high)| (low.min(other_low), high.max(other_high)))
    }

    /// How the ids of each group become pixels, in the order of [`FileContent::groups`]. Until it is said, they are pixels.
    pub fn set_pixels(&mut self, rules: Vec<PixelRule>) {
        for (group, rule) in self.groups.iter_mut().zip(rules) {
            group.pixels = rule;
        }
    }

    /// Looks what has come, and whether somebody still writes.
    ///
    /// # Errors
    /// If the file cannot be read any more.
    pub fn look(&mut self) -> Result<&FileState, NexusError> {
        if self.state != FileState::Growing {
            return Ok(&self.state);
        }
        // First: what it has when nobody writes any more is all.
        let is_open = superblock_of(&self.handle).is_some_and(|superblock| superblock.is_marked_as_open());
        let is_left = is_open && self.has_lock && is_quiet(&self.handle) && !is_held_by_others(&self.handle);
        let is_final = !is_open || is_left;
        for group in self.groups.iter_mut().filter(|group| group.fault.is_none()) {
            if let Err(error) = group.refresh(is_final) {
                group.fault = Some(error.to_string());
            }
        }
        // A log that cannot be read any more stays as it was.
        for log in &mut self.logs {
            let _ = log.look();
        }
        if is_left {
            self.state = FileState::Incomplete(format!(
                "its writer is gone and has not closed it: `evforge write --recover {}` makes it whole up to its last commit",
                self.path.display()
            ));
        } else if is_final {
            self.state = self.said_state();
        }
        Ok(&self.state)
    }

    /// How a file that is closed says that it is.
    fn said_state(&self) -> FileState {
        let state = self.file.dataset(&format!("{RECORDING}/state"));
        let said = state.and_then(|set| set.refresh().and_then(|()| read_text(&set)));
        match said {
            Ok(said) if said == STATE_WRITING => {
                FileState::Incomplete("it says that it is being written, and nobody writes it".to_owned())
            }
            Ok(said) if said.starts_with("incomplete") || said.starts_with("damaged") => {
                FileState::Incomplete(format!("it says of itself: {said}"))
            }
            // Of others nobody can know.
            Ok(_) | Err(_) => FileState::Complete,
        }
    }

    /// Fills in events of whole pulses, in the order of time, about `most` of them: false if there are no more at present.
    pub fn read(&mut self, most: u64, filler: &mut BatchFiller<'_>) -> bool {
        let begin = self.counters.events_read + self.counters.pulses_read;
        while self.counters.events_read + self.counters.pulses_read < begin + most {
            let mut oldest: Option<(i64, usize)> = None;
            for (place, group) in self.groups.iter_mut().enumerate() {
                let time = group.next_time(&mut self.counters);
                oldest = oldest.into_iter().chain(time.map(|time| (time, place))).min();
            }
            let Some(group) = oldest.and_then(|(_, place)| self.groups.get_mut(place)) else { return false };
            group.take(filler, &mut self.counters);
        }
        true
    }

    /// The newest value of each log, with what has come since this was last asked; and at least how many logs there are beyond the 256
    /// that are read.
    pub fn logs(&mut self) -> (Vec<FileLog>, usize) {
        (self.logs.iter_mut().filter_map(FollowedLog::take).collect(), self.logs_left_out)
    }

    /// What was counted.
    pub fn counters(&self) -> FollowCounters {
        FollowCounters {
            events_waiting: self.groups.iter().map(FollowedGroup::waiting).sum(),
            ..self.counters
        }
    }

    /// What cannot be read, in sentences.
    pub fn faults(&self) -> Vec<String> {
        let of_group = |group: &FollowedGroup| {
            group
                .fault
                .as_ref()
                .map(|fault| format!("{}: read up to {}: {fault}", group.path(), group.place()))
        };
        let damaged = self.counters.pulses_of_bad_index;
        let index = (damaged > 0).then(|| {
            format!("event_index of {damaged} pulses points to no events: their events are not shown")
        });
        let of_frames = |group: &FollowedGroup| {
            let fault = group.frames_fault.as_ref()?;
            Some(format!("{}: its frames (framelog) are not shown: {fault}", group.path()))
        };
        let of_groups = self.groups.iter().filter_map(of_group);
        let of_frames = self.groups.iter().filter_map(of_frames);
        self.faults.iter().cloned().chain(of_groups).chain(of_frames).chain(index).collect()
    }
}

/// True if nothing was written for a while: a writer of ours writes its ledger every second, whether events come or not.
fn is_quiet(file: &std::fs::File) -> bool {
    let written = file.metadata().and_then(|about| about.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|quiet| quiet >= STALLED_AFTER))
}

/// The header of a file that can have one which says whether it is written; none of others.
fn superblock_of(file: &std::fs::File) -> Option<Superblock> {
    let mut start = [0; SUPERBLOCK_LENGTH];
    file.read_exact_at(&mut start, 0).ok()?;
    Superblock::parse(&start).ok()
}
