//! Frames of files and messages, counted as a detector counts its own.

use evforge_core::event::EventBatch;
use evforge_core::frame::{Frame, FrameLedger, FrameVeto};

/// What is known of the frames that have come; nothing before the first.
#[derive(Debug, Default)]
pub(super) struct FrameTally {
    ended: Option<FrameLedger>,
    /// The frame that may go on: its start, what is known of it, and its events.
    open: Option<(u64, Frame, u64)>,
}

impl FrameTally {
    /// Frames are to come, with these vetoes.
    pub(super) fn expect(&mut self, vetoes: Vec<FrameVeto>) {
        let vetoes = vetoes.into_iter().map(|veto| (veto.bit, veto.name, veto.counts));
        self.ended = Some(FrameLedger::new(vetoes));
    }

    /// Takes note of the frames of a batch. One that goes on is counted once, as it is known in the end.
    pub(super) fn take(&mut self, batch: &EventBatch) {
        if batch.frames().is_empty() {
            return;
        }
        let ended = self.ended.get_or_insert_with(|| FrameLedger::new([]));
        for (start, frame, events) in batch.by_frame() {
            let (Some(start), Some(frame)) = (start, frame) else { continue };
            let events = events.len() as u64;
            match &mut self.open {
                Some((of, known, count)) if *of == start => {
                    *known = frame;
                    *count += events;
                }
                open => {
                    if let Some((start, frame, events)) = open.replace((start, frame, events)) {
                        ended.add(start, &frame, events);
                    }
                }
            }
        }
    }

    /// All of them, with the one that may go on; none if nobody tells frames.
    pub(super) fn ledger(&self) -> Option<FrameLedger> {
        let mut all = self.ended.clone()?;
        if let Some((start, frame, events)) = self.open {
            all.add(start, &frame, events);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::event::Event;
    use evforge_core::frame::{FrameState, ProtonCharge};

    #[test]
    fn a_frame_is_counted_once_as_it_is_known_in_the_end() {
        let mut tally = FrameTally::default();
        let mut batch = EventBatch::new(10);
        assert!(batch.begin_pulse(10));
        tally.take(&batch);
        assert_eq!(tally.ledger(), None, "nobody tells frames");
        tally.expect(vec![FrameVeto { bit: 1, name: "SMP".into(), counts: true, frames: 9 }]);
        assert_eq!(tally.ledger().unwrap().vetoes[0].frames, 0);
        let first = Frame { state: FrameState::Complete, ..Frame::default() };
        let charge = Some(ProtonCharge { uah: 2.0 });
        let later = Frame { period: Some(1), vetoes: 2, is_vetoed: true, charge, ..first };
        for frame in [first, later] {
            batch.clear();
            assert!(batch.begin_frame(20, frame) && batch.push(Event { time_ns: 21, pixel_id: 1 }));
            tally.take(&batch);
        }
        batch.clear();
        assert!(batch.begin_frame(30, first));
        tally.take(&batch);
        let ledger = tally.ledger().unwrap();
        assert_eq!((ledger.all.raw, ledger.all.good, ledger.all.raw_events), (2, 1, 2));
        assert_eq!((ledger.all.raw_charge.uah, ledger.all.good_charge.uah), (2.0, 0.0));
        assert_eq!((ledger.vetoes[0].frames, ledger.newest), (1, Some((30, first))));
    }
}
