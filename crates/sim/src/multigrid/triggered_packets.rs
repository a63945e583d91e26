//! Packets of a readout with triggers: filled until they are full or old.

use super::physics::MultiGridPhysics;
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::Pulse;
use std::net::Ipv4Addr;

/// Where packets come from.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// When packets are sent.
#[derive(Clone, Debug)]
pub struct Filling {
    packet_bytes: usize,
    flush_ps: u64,
    port: u16,
    /// Bytes before the first trigger.
    header: usize,
    /// When the oldest trigger of the packet was read.
    oldest_ps: u64,
}

impl Filling {
    /// Packets with at most as many bytes as the physics say, and as the format allows.
    pub fn new(physics: &MultiGridPhysics, largest: usize, port: u16, header: usize) -> Self {
        let packet_bytes = physics.packet_bytes.min(largest);
        Self { packet_bytes, flush_ps: physics.packet_flush.picoseconds, port, header, oldest_ps: 0 }
    }

    /// Says when a packet so long has to be sent before a trigger of `more` bytes that is read at `read_ps` gets into
    /// the next one; none if it fits into this one.
    pub fn due_ps(&mut self, length: usize, more: usize, read_ps: u64) -> Option<u64> {
        let is_empty = length <= self.header;
        let old_ps = self.oldest_ps + self.flush_ps;
        let due_ps = if is_empty {
            None
        } else if read_ps >= old_ps {
            Some(old_ps)
        } else {
            (length + more > self.packet_bytes).then_some(read_ps)
        };
        if is_empty || due_ps.is_some() {
            self.oldest_ps = read_ps;
        }
        due_ps
    }

    /// When the last packet of a pulse is sent: as soon as it is old, and at the end of the pulse at the latest.
    pub fn last_due_ps(&self, pulse: &Pulse) -> u64 {
        let end_ps = (pulse.end_ns - pulse.start_ns) * 1000;
        (self.oldest_ps + self.flush_ps).min(end_ps.max(self.oldest_ps))
    }

    /// A packet that is sent at `sent_ps`.
    pub fn packet(&self, bytes: &[u8], pulse: &Pulse, sent_ps: u64) -> SimulatedPacket {
        let sender = Sender { source: 0, number: None, header: self.header };
        SimulatedPacket::new(bytes.to_vec(), ADDRESS, self.port, pulse.start_ns + sent_ps / 1000).of(sender)
    }
}
