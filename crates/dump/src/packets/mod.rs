//! Rows back into packets, by the encoders of [`evforge_wire`].
//!
//! The packets are not those that were dumped: a dump knows nothing of their boundaries and numbers. They
//! carry the same readouts in the same order, with the times that the dump gives them, and are numbered
//! without gaps.

mod caen;
mod mesytec;
mod source;
mod srs;

pub use caen::{CaenFormat, CaenPackets};
pub use mesytec::MesytecPackets;
pub use source::{PacketFormats, RowPackets, open};
pub use srs::{SrsFormat, SrsPackets};

use crate::counters::DumpCounters;
use crate::layout::Row;

/// Makes packets of the rows of one table.
pub trait RowEncoder: Send {
    /// The rows.
    type Row: Row;

    /// Takes a row. Packets that are complete go into `queue`.
    fn push(&mut self, row: &Self::Row, queue: &mut PacketQueue, counters: &mut DumpCounters);

    /// Completes the packet that has been begun; more rows may follow.
    fn finish(&mut self, queue: &mut PacketQueue, counters: &mut DumpCounters);
}

/// Packets in one piece of memory, taken from the front.
#[derive(Debug, Default)]
pub struct PacketQueue {
    bytes: Vec<u8>,
    /// Where each packet ends.
    ends: Vec<usize>,
    taken: usize,
}

impl PacketQueue {
    /// Appends a packet.
    pub fn push(&mut self, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.ends.push(self.bytes.len());
    }

    /// The packet that is next, if there is one.
    pub fn front(&self) -> Option<&[u8]> {
        let end = *self.ends.get(self.taken)?;
        let start = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// Takes the next packet out.
    pub fn pop(&mut self) {
        self.taken += 1;
        if self.taken >= self.ends.len() {
            self.bytes.clear();
            self.ends.clear();
            self.taken = 0;
        }
    }
}
