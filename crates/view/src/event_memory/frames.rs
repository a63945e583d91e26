//! Kinds of frames in the memory.

use crate::beam::Charge;
use evforge_core::frame::{Frame, FrameState};

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
