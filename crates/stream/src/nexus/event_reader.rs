//! Events of a file, pulse by pulse: of files that evforge has written, and of others with groups of class NXevent_data.
//!
//! Times may be whole numbers or not, in any unit of time that NeXus files use; ids may have any width that fits a pixel. A file that
//! is damaged ends with an error that says where.

use std::path::{Path, PathBuf};

use evforge_core::frame::{Frame, FrameVeto};
use hdf5_metno::File;

use super::error::NexusError;
use super::event_arrays::{EventArrays, whole_numbers};
use super::frame_arrays::FrameArrays;
use super::groups::{self, EVENT_DATA};

/// Pulses that are read at once.
const PULSES: usize = 4096;
/// Events of a pulse that come in one piece.
const EVENTS: usize = 1 << 20;

/// Events of one pulse, or a piece of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadPulse {
    /// The detector or monitor that they are of.
    pub source: String,
    /// The pulse, in nanoseconds since 1970.
    pub time_ns: i64,
    /// What the readout says of it, where the file has frames.
    pub frame: Option<Frame>,
    /// Nanoseconds since the pulse.
    pub times: Vec<i32>,
    /// Pixels.
    pub pixels: Vec<i32>,
}

/// Reads the events of a file, all groups together in the order of their pulses.
#[derive(Debug)]
pub struct EventReader {
    path: PathBuf,
    groups: Vec<EventsOfGroup>,
}

/// One group of events.
#[derive(Debug)]
struct EventsOfGroup {
    source: String,
    arrays: EventArrays,
    /// What is said of its pulses, where there is something for each of them.
    frames: Option<FrameArrays>,
    pulses: usize,
    events: usize,
    /// Times and first events of the pulses that were read, the first of them, and the pulse that is next.
    block: Vec<(i64, i64)>,
    block_frames: Vec<Frame>,
    block_begin: usize,
    next_pulse: usize,
    /// Events of that pulse that were handed out.
    taken: usize,
}

impl EventReader {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or has no events.
    pub fn open(path: &Path) -> Result<Self, NexusError> {
        std::fs::File::open(path).map_err(|cause| NexusError::io("open", path, cause))?;
        let failed =
            |attempt: &'static str, cause: String| NexusError::Hdf5 { attempt, path: path.to_owned(), cause };
        let file = File::open(path).map_err(|error| failed("open the HDF5 content", error.to_string()))?;
        let groups = groups::find(&file, &[EVENT_DATA])
            .into_iter()
            .map(|found| EventsOfGroup::open(&file, EventArrays::open(&found.group)?, found.owner()))
            .collect::<hdf5_metno::Result<Vec<_>>>()
            .map_err(|error| failed("read the groups of events (NXevent_data)", error.to_string()))?;
        if groups.is_empty() {
            return Err(failed("read the events", "it has no group of class NXevent_data".to_owned()));
        }
        Ok(Self { path: path.to_owned(), groups })
    }

    /// The detectors and monitors with events, with how many pulses and events each has.
    pub fn sources(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.groups.iter().map(|group| (group.source.as_str(), group.pulses, group.events))
    }

    /// The vetoes that frames can have, as far as they have names, where the file has frames.
    pub fn frame_vetoes(&self) -> Option<Vec<FrameVeto>> {
        self.groups.iter().find_map(|group| Some(group.frames.as_ref()?.names()))
    }

    /// The next pulse; one with many events in several pieces of the same time. False at the end.
    ///
    /// # Errors
    /// If the file is damaged, with where.
    pub fn read(&mut self, pulse: &mut ReadPulse) -> Result<bool, NexusError> {
        let mut oldest: Option<(i64, usize)> = None;
        for place in 0..self.groups.len() {
            let time = self.in_group(place, EventsOfGroup::time)?;
            oldest = oldest.into_iter().chain(time.map(|time| (time, place))).min();
        }
        let Some((time, place)) = oldest else { return Ok(false) };
        pulse.time_ns = time;
        self.in_group(place, |group| group.take(pulse))?;
        Ok(true)
    }

    fn in_group<T>(
        &mut self,
        place: usize,
        action: impl FnOnce(&mut EventsOfGroup) -> hdf5_metno::Result<T>,
    ) -> Result<T, NexusError> {
        let group = self.groups.get_mut(place);
        let result = group.map_or_else(
            || Err("there is no such group".into()),
            |group| {
                action(group).map_err(|error| {
                    hdf5_metno::Error::from(format!("{}, pulse {}: {error}", group.source, group.next_pulse))
                })
            },
        );
        result.map_err(|error| NexusError::Hdf5 {
            attempt: "read the events",
            path: self.path.clone(),
            cause: error.to_string(),
        })
    }
}

impl EventsOfGroup {
    fn open(file: &File, arrays: EventArrays, source: String) -> hdf5_metno::Result<Self> {
        let [ids, offsets, zeros, indices] = arrays.lengths();
        if ids != offsets || zeros != indices {
            return Err(format!(
                "{}: event_id has {ids} values and event_time_offset {offsets}, event_time_zero {zeros} and event_index \
                 {indices}: they must be as many",
                arrays.path
            )
            .into());
        }
        let frames = FrameArrays::of_entry(file, &arrays.path).filter(|frames| frames.len() == zeros);
        Ok(Self {
            source,
            arrays,
            frames,
            pulses: zeros,
            events: ids,
            block: Vec::new(),
            block_frames: Vec::new(),
            block_begin: 0,
            next_pulse: 0,
            taken: 0,
        })
    }

    /// The time of the next pulse; none at the end.
    fn time(&mut self) -> hdf5_metno::Result<Option<i64>> {
        if self.next_pulse >= self.pulses {
            return Ok(None);
        }
        Ok(Some(self.pulse(self.next_pulse)?.0))
    }

    /// Time and first event of a pulse.
    fn pulse(&mut self, number: usize) -> hdf5_metno::Result<(i64, i64)> {
        let is_read = (self.block_begin..self.block_begin + self.block.len()).contains(&number);
        if !is_read {
            let range = number..(number + PULSES).min(self.pulses);
            self.block = self.arrays.pulses(range.clone())?;
            let frames = self.frames.as_ref().map(|frames| frames.read(range)).transpose()?;
            self.block_frames = frames.unwrap_or_default();
            self.block_begin = number;
        }
        let found = self.block.get(number - self.block_begin).copied();
        found.ok_or_else(|| "event_time_zero ends early".into())
    }

    /// What is said of a pulse of the block that was read.
    fn block_frame(&self, number: usize) -> Option<Frame> {
        self.block_frames.get(number.checked_sub(self.block_begin)?).copied()
    }

    /// Hands out the next piece of the next pulse.
    fn take(&mut self, into: &mut ReadPulse) -> hdf5_metno::Result<()> {
        let first = self.pulse(self.next_pulse)?.1;
        // Before the block is another one.
        let frame = self.block_frame(self.next_pulse);
        let end = match self.next_pulse + 1 {
            next if next < self.pulses => self.pulse(next)?.1,
            _ => i64::try_from(self.events).unwrap_or(i64::MAX),
        };
        let (Ok(first), Ok(end)) = (usize::try_from(first), usize::try_from(end)) else {
            return Err(format!("event_index is negative: {first}, {end}").into());
        };
        if first > end || end > self.events {
            return Err(format!(
                "event_index says that its events are {first} to {end}, and there are {}",
                self.events
            )
            .into());
        }
        let begin = first + self.taken;
        let piece = begin..(begin + EVENTS).min(end);
        into.source.clone_from(&self.source);
        into.frame = frame;
        into.times = narrow(
            whole_numbers(&self.arrays.event_time_offset, piece.clone(), self.arrays.offset_unit)?,
            "event_time_offset",
        )?;
        into.pixels = narrow(whole_numbers(&self.arrays.event_id, piece.clone(), 1.0)?, "event_id")?;
        if piece.end == end {
            self.next_pulse += 1;
            self.taken = 0;
        } else {
            self.taken += piece.len();
        }
        Ok(())
    }
}

/// Whole numbers as messages have them.
fn narrow(values: Vec<i64>, name: &str) -> hdf5_metno::Result<Vec<i32>> {
    let narrow = |value| {
        i32::try_from(value)
            .map_err(|_| hdf5_metno::Error::from(format!("{name} has the value {value}, beyond 32 bits")))
    };
    values.into_iter().map(narrow).collect()
}
