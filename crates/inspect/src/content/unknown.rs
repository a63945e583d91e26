//! Packets of no format that is known: their sizes and first bytes.

use crate::channels::Span;
use crate::report::{Line, line};
use evforge_core::packet::Packet;
use evforge_wire::recognise::network_protocol;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// First bytes that are shown, and packets of which they are.
const BYTES: usize = 24;
const PACKETS: usize = 3;

/// Sizes and first bytes.
#[derive(Debug, Default)]
pub struct UnknownContent {
    sizes: Span,
    first: Vec<String>,
    /// Packets whose first 8 bytes are a number, big-endian, one above that of the packet before.
    counted: u64,
    latest: Option<u64>,
    packets: u64,
    /// Packets of protocols that are on every network, by their names.
    protocols: BTreeMap<&'static str, u64>,
}

impl UnknownContent {
    pub(super) fn take(&mut self, packet: &Packet<'_>) {
        let bytes = packet.bytes;
        if let Some(protocol) = network_protocol(bytes, packet.origin.destination_port) {
            *self.protocols.entry(protocol).or_default() += 1;
        }
        self.packets += 1;
        self.sizes.take(bytes.len() as u64);
        if self.first.len() < PACKETS {
            self.first.push(hex(bytes));
        }
        let number = bytes.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        if let (Some(number), Some(latest)) = (number, self.latest) {
            self.counted += u64::from(number == latest.wrapping_add(1));
        }
        self.latest = number;
    }

    /// The protocols of the packets, if all are of such that are on every network; none otherwise.
    pub(crate) fn protocols(&self) -> Option<String> {
        let is_known = self.packets > 0 && self.protocols.values().sum::<u64>() == self.packets;
        is_known.then(|| self.protocols.keys().copied().collect::<Vec<_>>().join(", "))
    }

    /// Whether the packets count as those of DROP in the layout `raw64be` do.
    fn counts(&self) -> bool {
        // A counter of 64 bits has zeros in front; what has something else there counts in other bits.
        let is_counter = self.latest.is_some_and(|latest| latest >> 48 == 0);
        self.protocols.is_empty() && is_counter && self.packets >= 8 && 10 * self.counted >= 9 * self.packets
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![line("sizes", format!("{} bytes", self.sizes))];
        lines.extend(self.first.iter().map(|bytes| line("first bytes", bytes.clone())));
        if self.counts() {
            let text = "the first 8 bytes count the packets: DROP in the layout raw64be does so";
            lines.push(line("perhaps", text));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        json!({ "protocols": self.protocols, "sizes": self.sizes.ends(), "first_bytes": self.first, "counts_like_raw64be": self.counts() })
    }
}

/// The first bytes in hex.
fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "(no bytes)".to_owned();
    }
    let mut text: Vec<String> = bytes.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > BYTES {
        text.push("…".to_owned());
    }
    text.join(" ")
}
