//! Rows back into packets, by the encoders of [`evforge_wire`].
//!
//! The packets are not those that were dumped: a dump knows nothing of their boundaries and numbers. They
//! carry the same readouts in the same order, with the times that the dump gives them, and are numbered
//! without gaps.

mod caen;
mod mesytec;
mod queue;
mod source;
mod srs;

pub use caen::{CaenFormat, CaenPackets};
pub use mesytec::MesytecPackets;
pub use queue::PacketQueue;
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
