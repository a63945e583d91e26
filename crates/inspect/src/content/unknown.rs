//! Packets of no format that is known: their sizes and first bytes.

use crate::channels::Span;
use crate::report::{Line, line};
use serde_json::{Value, json};

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
}

impl UnknownContent {
    pub(super) fn take(&mut self, bytes: &[u8]) {
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

    /// Whether the packets count as those of DROP in the layout `raw64be` do.
    fn counts(&self) -> bool {
        self.packets >= 8 && 2 * self.counted >= self.packets
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
        json!({ "sizes": self.sizes.ends(), "first_bytes": self.first, "counts_like_raw64be": self.counts() })
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
