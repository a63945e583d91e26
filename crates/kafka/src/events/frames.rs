//! The frames of topics: what pu00 say of the pulses whose events come behind them, in the same partition.

use crate::frames::{FRAME_STATE, Vetoes, frame_of};
use crate::topic::Record;
use evforge_core::frame::{Frame, FrameLedger, FrameState};
use evforge_messages::Pu00;
use std::collections::HashMap;

/// A frame that goes on.
#[derive(Clone, Copy, Debug)]
struct Open {
    time_ns: u64,
    frame: Frame,
    events: u64,
}

/// All frames.
#[derive(Debug, Default)]
pub(super) struct TopicFrames {
    /// The last pu00 of each partition of each topic.
    open: HashMap<(usize, i32), Open>,
    /// What those before have been; none before the first pu00.
    ledger: Option<FrameLedger>,
}

impl TopicFrames {
    /// Takes note of a pu00 of a topic: its time and what it says; none if its time cannot be one.
    pub(super) fn begin(
        &mut self,
        (topic, record): (usize, &Record),
        pulse: &Pu00<'_>,
        vetoes: &Vetoes,
    ) -> Option<(u64, Frame)> {
        let time_ns = u64::try_from(pulse.reference_time).ok()?;
        let frame = Frame { state: state_of(record), ..frame_of(pulse, vetoes) };
        let open = Open { time_ns, frame, events: 0 };
        let ledger = self.ledger.get_or_insert_with(|| FrameLedger::new([]));
        if let Some(before) = self.open.insert((topic, record.partition), open) {
            ledger.add(before.time_ns, &before.frame, before.events);
        }
        Some((time_ns, frame))
    }

    /// The frame of events of this pulse, if the pu00 before them in their partition is of the same.
    pub(super) fn of(&mut self, place: (usize, i32), time_ns: u64, events: u64) -> Option<Frame> {
        let open = self.open.get_mut(&place).filter(|open| open.time_ns == time_ns)?;
        open.events += events;
        Some(open.frame)
    }

    /// What is known of all of them; none if there was no pu00.
    pub(super) fn ledger(&self, vetoes: &Vetoes) -> Option<FrameLedger> {
        let mut all = self.ledger.clone()?;
        let mut open: Vec<&Open> = self.open.values().collect();
        open.sort_by_key(|open| open.time_ns);
        open.into_iter().for_each(|open| all.add(open.time_ns, &open.frame, open.events));
        let named = FrameLedger::new(vetoes.named()).vetoes;
        let counted = std::mem::replace(&mut all.vetoes, named);
        for veto in counted {
            match all.vetoes.binary_search_by_key(&veto.bit, |known| known.bit) {
                Ok(place) => all.vetoes[place].frames = veto.frames,
                Err(place) => all.vetoes.insert(place, veto),
            }
        }
        Some(all)
    }
}

fn state_of(record: &Record) -> FrameState {
    let value =
        record.headers.iter().find(|(name, _)| name == FRAME_STATE).and_then(|(_, value)| value.as_ref());
    let name = value.and_then(|value| std::str::from_utf8(value).ok());
    name.and_then(FrameState::of_name).unwrap_or_default()
}
