//! Made-up frames: three periods in turn, each fifth frame vetoed, each seventh not complete, 2 µAh each.

use evforge_core::frame::{Frame, FrameLedger, FrameState, ProtonCharge};

/// The frames so far.
pub(crate) struct MadeUpFrames {
    ended: FrameLedger,
    /// Start, frame and events of the one that goes on.
    open: Option<(u64, Frame, u64)>,
}

impl MadeUpFrames {
    pub(crate) fn new() -> Self {
        let vetoes = [
            (0, "overflow".to_owned(), false),
            (1, "SMP".to_owned(), true),
            (4, "ISIS slow".to_owned(), true),
        ];
        Self { ended: FrameLedger::new(vetoes), open: None }
    }

    /// The frame of this pulse, which goes on until another one begins.
    pub(crate) fn of(&mut self, number: u64, start_ns: u64) -> Frame {
        if let Some((_, frame, _)) = self.open.filter(|(start, ..)| *start == start_ns) {
            return frame;
        }
        self.end();
        let is_vetoed = number.is_multiple_of(5);
        let frame = Frame {
            period: Some((number % 3) as u32),
            vetoes: u32::from(is_vetoed) << 1 | u32::from(number.is_multiple_of(11)),
            is_vetoed,
            charge: Some(ProtonCharge { uah: 2.0 }),
            state: if number.is_multiple_of(7) { FrameState::Incomplete } else { FrameState::Complete },
        };
        self.open = Some((start_ns, frame, 0));
        frame
    }

    pub(crate) fn add_events(&mut self, events: u64) {
        if let Some((_, _, count)) = &mut self.open {
            *count += events;
        }
    }

    fn end(&mut self) {
        if let Some((start, frame, events)) = self.open.take() {
            self.ended.add(start, &frame, events);
        }
    }

    /// All of them, with the one that goes on.
    pub(crate) fn ledger(&self) -> FrameLedger {
        let mut all = self.ended.clone();
        if let Some((start, frame, events)) = self.open {
            all.add(start, &frame, events);
        }
        all
    }
}
