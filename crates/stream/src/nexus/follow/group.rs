//! One group of events that is followed.

use evforge_core::batch_filler::BatchFiller;
use evforge_core::event::Event;
use evforge_core::frame::{Frame, FrameVeto};

use hdf5_metno::File;

use super::counters::FollowCounters;
use super::pixels::PixelRule;
use crate::nexus::event_arrays::EventArrays;
use crate::nexus::frame_arrays::FrameArrays;
use crate::nexus::groups::Found;

/// Pulses that are read at once.
const PULSES: usize = 4096;
/// Events that all groups together read at once, and one of them at least and at most.
const EVENTS: usize = 1 << 20;
const FEWEST: usize = 1 << 8;
const MOST: usize = 1 << 16;
/// Events that are looked at to know which ids there are.
const SOME: usize = 1 << 20;
/// A file that claims more bytes than this for each one that it stores has been made up: zeros deflate to a thousandth.
const MOST_UNPACKED: u64 = 1 << 20;

/// A group of events.
#[derive(Debug)]
pub(super) struct FollowedGroup {
    arrays: EventArrays,
    /// What is said of its pulses, if the file has frames.
    frames: Option<FrameArrays>,
    /// Why they are not read on: the events are.
    pub(super) frames_fault: Option<String>,
    pub(super) pixels: PixelRule,
    /// Why it is not read on.
    pub(super) fault: Option<String>,
    /// Pulses and events that are there.
    pulses: usize,
    events: usize,
    /// True if no more comes.
    is_final: bool,
    /// Times and first events of pulses, and the first of them.
    block: Vec<(i64, i64)>,
    block_frames: Vec<Frame>,
    block_begin: usize,
    next_pulse: usize,
    /// Pixels and times of events, and the first of them.
    piece: (Vec<i64>, Vec<i64>),
    piece_begin: usize,
    piece_length: usize,
    /// Events that are done with.
    done: usize,
}

impl FollowedGroup {
    /// One of `groups`.
    pub(super) fn open(file: &File, found: &Found, groups: usize) -> hdf5_metno::Result<Self> {
        Ok(Self {
            arrays: EventArrays::open(&found.group)?,
            frames: FrameArrays::of_entry(file, &found.group.name()),
            frames_fault: None,
            pixels: PixelRule::default(),
            fault: None,
            pulses: 0,
            events: 0,
            is_final: false,
            block: Vec::new(),
            block_frames: Vec::new(),
            block_begin: 0,
            next_pulse: 0,
            piece: Default::default(),
            piece_begin: 0,
            piece_length: (EVENTS / groups.max(1)).clamp(FEWEST, MOST),
            done: 0,
        })
    }

    pub(super) fn path(&self) -> &str {
        &self.arrays.path
    }

    /// Where reading is, in words.
    pub(super) fn place(&self) -> String {
        format!("pulse {} of {}", self.next_pulse, self.pulses)
    }

    pub(super) fn pulses(&self) -> usize {
        self.pulses
    }

    /// Events that have not been read.
    pub(super) fn waiting(&self) -> u64 {
        self.events.saturating_sub(self.done) as u64
    }

    /// Learns what there is; if it `is_final`, nothing follows.
    pub(super) fn refresh(&mut self, is_final: bool) -> hdf5_metno::Result<()> {
        self.arrays.refresh()?;
        let [ids, offsets, zeros, indices] = self.arrays.lengths();
        (self.pulses, self.events) = (zeros.min(indices), ids.min(offsets));
        self.is_final = is_final;
        if let Some(frames) = &self.frames {
            let refreshed = frames.refresh();
            let rows = frames.len();
            if let Err(error) = refreshed {
                self.give_up_frames(&error);
            }
            // They are written before the pulses. A log that has no row for each of them is one of something else.
            if rows < self.pulses || (is_final && rows != self.pulses) {
                self.frames = None;
            }
        }
        if !is_final {
            return Ok(());
        }
        if ids != offsets || zeros != indices {
            return Err(format!(
                "event_id has {ids} values and event_time_offset {offsets}, event_time_zero {zeros} and event_index {indices}: they \
                 must be as many"
            )
            .into());
        }
        let stored = self.arrays.event_id.storage_size();
        if ids as u64 / MOST_UNPACKED > stored {
            return Err(format!("event_id claims {ids} values, and {stored} bytes are stored of it").into());
        }
        Ok(())
    }

    /// The time of the next pulse that can be taken; none if there is none (at present).
    pub(super) fn next_time(&mut self, counters: &mut FollowCounters) -> Option<i64> {
        if self.fault.is_some() {
            return None;
        }
        match self.find_next(counters) {
            Ok(time) => time,
            Err(error) => {
                self.fault = Some(error.to_string());
                None
            }
        }
    }

    fn find_next(&mut self, counters: &mut FollowCounters) -> hdf5_metno::Result<Option<i64>> {
        loop {
            // The newest pulse of a file that grows may get further events.
            let is_certain = self.next_pulse + usize::from(!self.is_final) < self.pulses;
            if !is_certain {
                return Ok(None);
            }
            let time = self.pulse(self.next_pulse)?.0;
            let (first, end) = self.range()?;
            if first <= end && end <= self.events {
                return Ok(Some(time));
            }
            if first <= end && !self.is_final {
                // Written, and not to be seen yet.
                return Ok(None);
            }
            counters.pulses_of_bad_index += 1;
            counters.pulses_read += 1;
            self.next_pulse += 1;
        }
    }

    /// The events of the next pulse. Numbers below 0 or beyond all events point to none.
    fn range(&mut self) -> hdf5_metno::Result<(usize, usize)> {
        let place = |first: i64| usize::try_from(first).unwrap_or(usize::MAX);
        let first = place(self.pulse(self.next_pulse)?.1);
        let end = match self.next_pulse + 1 {
            next if next < self.pulses => place(self.pulse(next)?.1),
            _ => self.events,
        };
        Ok((first, end))
    }

    /// Time and first event of a pulse. Before one is taken that was the newest, the one behind it is looked at, with which another
    /// block begins: what is said of it by then is read, not what was said before.
    fn pulse(&mut self, number: usize) -> hdf5_metno::Result<(i64, i64)> {
        if !(self.block_begin..self.block_begin + self.block.len()).contains(&number) {
            let range = number..(number + PULSES).min(self.pulses);
            self.block = self.arrays.pulses(range.clone())?;
            let frames = self.frames.as_ref().map(|frames| frames.read(range)).transpose();
            self.block_frames = match frames {
                Ok(frames) => frames.unwrap_or_default(),
                Err(error) => {
                    self.give_up_frames(&error);
                    Vec::new()
                }
            };
            self.block_begin = number;
        }
        let found = self.block.get(number - self.block_begin).copied();
        found.ok_or_else(|| "event_time_zero ends early".into())
    }

    /// What is said of a pulse of the block that was read.
    fn frame(&self, number: usize) -> Option<Frame> {
        self.frames.as_ref()?;
        self.block_frames.get(number.checked_sub(self.block_begin)?).copied()
    }

    /// Frames cannot be read: pulses and events go on without them.
    fn give_up_frames(&mut self, error: &hdf5_metno::Error) {
        self.frames = None;
        self.frames_fault = Some(error.to_string());
    }

    /// The vetoes that frames can have, as far as they have names, where the file has frames.
    pub(super) fn frame_vetoes(&self) -> Option<Vec<FrameVeto>> {
        Some(self.frames.as_ref()?.names())
    }

    /// Takes the pulse that [`FollowedGroup::next_time`] has told of.
    pub(super) fn take(&mut self, filler: &mut BatchFiller<'_>, counters: &mut FollowCounters) {
        if let Err(error) = self.take_next(filler, counters) {
            self.fault = Some(error.to_string());
        }
    }

    fn take_next(
        &mut self,
        filler: &mut BatchFiller<'_>,
        counters: &mut FollowCounters,
    ) -> hdf5_metno::Result<()> {
        let pulse_ns = self.pulse(self.next_pulse)?.0;
        // Before the block is another one.
        let frame = self.frame(self.next_pulse);
        let (first, end) = self.range()?;
        if self.next_pulse == 0 {
            counters.events_without_pulse += first as u64;
        }
        if let Ok(start) = u64::try_from(pulse_ns) {
            match frame {
                Some(frame) => filler.begin_frame(start, frame),
                None => filler.begin_pulse(start),
            }
        }
        let mut next = first;
        while next < end {
            let piece_end = self.piece_begin + self.piece.0.len();
            if !(self.piece_begin..piece_end).contains(&next) {
                self.piece = self.arrays.events(next..(next + self.piece_length).min(self.events))?;
                self.piece_begin = next;
            }
            let from = next - self.piece_begin;
            let to = (end - self.piece_begin).min(self.piece.0.len());
            if from >= to {
                return Err("event_id ends early".into());
            }
            for (&id, &offset) in self.piece.0[from..to].iter().zip(&self.piece.1[from..to]) {
                counters.events_read += 1;
                let time = u64::try_from(pulse_ns.saturating_add(offset)).ok().filter(|_| pulse_ns >= 0);
                match time {
                    Some(time_ns) => {
                        counters.events_shown += 1;
                        filler.push(Event { time_ns, pixel_id: self.pixels.pixel(id) });
                    }
                    None => counters.events_outside_epoch += 1,
                }
            }
            next = self.piece_begin + to;
        }
        counters.pulses_read += 1;
        self.next_pulse += 1;
        self.done = end;
        Ok(())
    }

    /// The smallest and largest id among some events.
    pub(super) fn some_ids(&self) -> Option<(i64, i64)> {
        let end = self.events;
        let ranges = [0..end.min(SOME), end.saturating_sub(SOME)..end];
        let ids =
            ranges.into_iter().filter_map(|range| self.arrays.events(range).ok()).flat_map(|(ids, _)| ids);
        ids.fold(None, |known: Option<(i64, i64)>, id| {
            let (low, high) = known.unwrap_or((id, id));
            Some((low.min(id), high.max(id)))
        })
    }

    /// The time between pulses, by the first ones: the middle of all differences.
    pub(super) fn period_ns(&mut self) -> Option<u64> {
        let pulses = self.arrays.pulses(0..self.pulses.min(PULSES)).ok()?;
        let differences = pulses.windows(2).filter_map(|pair| pair[1].0.checked_sub(pair[0].0));
        let mut differences: Vec<u64> =
            differences.filter_map(|ns| u64::try_from(ns).ok()).filter(|&ns| ns > 0).collect();
        differences.sort_unstable();
        differences.get(differences.len() / 2).copied()
    }
}
