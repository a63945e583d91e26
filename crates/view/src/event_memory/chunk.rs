//! A piece of a stream of events.

use crate::beam::Charge;
use evforge_core::event::PixelId;
use evforge_core::frame::{Frame, FrameState};
use std::ops::Range;

/// The time of flight of an event that has none: it is before its pulse, or has no pulse.
pub(crate) const NO_FLIGHT: i32 = -1;

/// Events that came one after the other within a short time, in columns.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// How many events of the stream came before it.
    pub(crate) first_event: u64,
    /// When its first event or pulse was taken, in milliseconds since the Unix epoch.
    pub(crate) opened_ms: u64,
    /// Pulses that began in it, with and without events.
    pub(crate) pulses: u64,
    /// Proton charge that was told in it.
    pub(crate) charge: Charge,
    pub(crate) pixels: Vec<PixelId>,
    /// Nanoseconds since the pulse; negative where that is not known.
    pub(crate) flights_ns: Vec<i32>,
    /// A bit for each veto that applies; empty without vetoes.
    pub(crate) marks: Vec<u8>,
    /// What the readout tells of the frames in it; empty without frames.
    pub(super) frames: Vec<FrameRun>,
}

impl Chunk {
    /// Events in it.
    pub(crate) fn len(&self) -> usize {
        self.pixels.len()
    }

    /// True if there is nothing to tell: neither events nor pulses nor charge, nor anything of frames.
    pub(crate) fn is_empty(&self) -> bool {
        self.pixels.is_empty() && self.pulses == 0 && self.charge == 0 && self.frames.is_empty()
    }

    /// The marks of event `at`.
    #[inline]
    pub(crate) fn marks_of(&self, at: usize) -> u8 {
        self.marks.get(at).copied().unwrap_or(0)
    }

    /// Bytes that it holds, with its place in the memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + 4 * size_of::<usize>()
            + self.pixels.capacity() * size_of::<PixelId>()
            + self.flights_ns.capacity() * size_of::<i32>()
            + self.marks.capacity()
            + self.frames.capacity() * size_of::<FrameRun>()
    }

    /// Frames from here on; those of the same kind as the newest ones join them.
    pub(super) fn add_frames(&mut self, run: FrameRun) {
        match self.frames.last_mut().filter(|last| last.kind == run.kind) {
            Some(last) => {
                last.pulses = last.pulses.wrapping_add(run.pulses);
                last.charge = last.charge.wrapping_add(run.charge);
            }
            None => self.frames.push(run),
        }
    }

    /// Frames and their events.
    pub(crate) fn by_frames(&self) -> impl Iterator<Item = (&FrameRun, Range<usize>)> + '_ {
        let ends = self.frames.iter().skip(1).map(|run| run.first_event).chain([self.len()]);
        self.frames.iter().zip(ends).map(|(run, end)| (run, run.first_event..end))
    }
}

/// What tells frames apart for whoever looks at some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameKind {
    /// Counted from 0; none if nobody has said it.
    pub(crate) period: Option<u32>,
    /// True if a veto is present that counts.
    pub(crate) is_vetoed: bool,
    /// Whether it is known to be complete.
    pub(crate) is_complete: bool,
}

impl FrameKind {
    pub(super) fn of(frame: &Frame) -> Self {
        Self {
            period: frame.period,
            is_vetoed: frame.is_vetoed,
            is_complete: frame.state == FrameState::Complete,
        }
    }
}

/// Frames of the same kind, one after the other: they end where the next ones begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameRun {
    /// The first of their events in the chunk.
    pub(super) first_event: usize,
    /// None of pulses of which nothing but the time is told.
    pub(crate) kind: Option<FrameKind>,
    /// Pulses that began, and their charge, modulo 2^64 and 2^128: less than nothing where a frame turned out to be of another kind.
    pub(crate) pulses: u64,
    pub(crate) charge: Charge,
}
