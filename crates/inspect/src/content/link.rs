//! Packets of link tests: numbered packets and DROP.

use crate::report::{Line, line, sequence_in_words, sequence_json};
use evforge_core::quantity::grouped;
use evforge_core::sequence::SequenceTracker;
use evforge_wire::drop::{DropLayout, DropPacket};
use evforge_wire::numbered::NumberedHeader;
use evforge_wire::recognise::Format;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Flows that are told apart.
const MOST: usize = 64;

/// Flows with their numbers.
#[derive(Debug)]
pub struct LinkContent {
    format: Format,
    flows: BTreeMap<u16, SequenceTracker>,
    not_kept: u64,
}

impl LinkContent {
    pub(super) fn new(format: Format) -> Self {
        Self { format, flows: BTreeMap::new(), not_kept: 0 }
    }

    pub(super) fn take(&mut self, bytes: &[u8], arrival_ns: u64) {
        let found = if self.format == Format::Numbered {
            NumberedHeader::parse(bytes).ok().map(|header| (header.flow, header.number))
        } else {
            let packet = DropPacket::parse(&DropLayout::P1, bytes);
            packet.ok().map(|packet| (packet.header.stream, packet.header.identifier))
        };
        let Some((flow, number)) = found else { return };
        if self.flows.len() >= MOST && !self.flows.contains_key(&flow) {
            self.not_kept += 1;
            return;
        }
        self.flows.entry(flow).or_insert_with(|| SequenceTracker::new(64)).observe_at(number, arrival_ns);
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let flow = |(number, tracker): (&u16, &SequenceTracker)| {
            let packets = grouped(tracker.counts().received);
            line(format!("flow {number}"), format!("{packets} packets; {}", sequence_in_words(tracker)))
        };
        let mut lines: Vec<_> = self.flows.iter().map(flow).collect();
        if self.not_kept > 0 {
            lines
                .push(line("not told apart", format!("{} packets of further flows", grouped(self.not_kept))));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let flow = |(number, tracker): (&u16, &SequenceTracker)| json!({ "flow": number, "sequence": sequence_json(tracker) });
        json!({ "flows": self.flows.iter().map(flow).collect::<Vec<_>>(), "not_told_apart": self.not_kept })
    }
}
