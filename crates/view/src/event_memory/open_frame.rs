//! From batches to frames in the memory: which events of a chunk belong to frames of which kind, with their pulses and their charge.

use super::chunk::Chunk;
use super::chunk::{FrameKind, FrameRun};
use crate::beam::{Charge, charge_of};
use evforge_core::frame::Frame;
use evforge_core::pulsed::{Pulse, PulsedBatch};

/// The frame that may go on.
#[derive(Debug, Default)]
pub(super) struct OpenFrame(Option<(Pulse, Option<Frame>)>);

impl OpenFrame {
    /// Adds the frames of a batch whose events are in `chunk` from `base` on. The charge that came with them; none if none was told.
    ///
    /// What becomes known of a pulse while it goes on holds for its events from there on, and for the pulse and its charge.
    pub(super) fn add(&mut self, batch: &PulsedBatch, chunk: &mut Chunk, base: usize) -> Option<Charge> {
        let mut told: Option<Charge> = None;
        for (number, (pulse, range)) in batch.by_pulse().enumerate() {
            let frame = batch.frame(number).copied();
            let first_event = base + range.start;
            let kind = frame.as_ref().map(FrameKind::of);
            let charge = frame.and_then(|frame| frame.charge).map(charge_of);
            let run = FrameRun { first_event, kind, pulses: 0, charge: 0 };
            let before = self.0.filter(|(open, _)| open.is_same(pulse)).map(|(_, frame)| frame);
            if before == Some(frame) {
                chunk.add_frames(run);
                continue;
            }
            let mut gained = charge;
            if let Some(before) = before {
                // The same pulse, of another kind: it moves there with its charge.
                let was = before.and_then(|frame| frame.charge).map(charge_of);
                let (pulses, of_before) = (1_u64.wrapping_neg(), was.unwrap_or(0).wrapping_neg());
                let kind = before.as_ref().map(FrameKind::of);
                chunk.add_frames(FrameRun { kind, pulses, charge: of_before, ..run });
                gained = match (charge, was) {
                    (None, None) => None,
                    (now, was) => Some(now.unwrap_or(0).wrapping_sub(was.unwrap_or(0))),
                };
            }
            chunk.add_frames(FrameRun { pulses: 1, charge: charge.unwrap_or(0), ..run });
            if let Some(gained) = gained {
                told = Some(told.unwrap_or(0).wrapping_add(gained));
            }
            self.0 = Some((*pulse, frame));
        }
        told
    }
}
