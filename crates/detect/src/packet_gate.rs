//! What happens to every packet of every detector before and after its content is looked at.
//!
//! ```text
//! number ──► SequenceTracker ──► admit ──► the detector's own parser ──► settle
//! ```
//!
//! The number is read before the packet is checked, so that a damaged packet is not taken for a lost one.

use evforge_core::packet::Packet;
use evforge_core::sequence::Arrival;

evforge_core::counters! {
    /// Packets of a pipeline, whatever its detector.
    pub struct PacketCounters: "packets" {
        packets_received: Enters(Packets), Packets, "Packets handed to the pipeline.";
        packets_formed_from: Leaves(Packets), Packets, "Packets whose content was used: readouts, markers or a heartbeat.";
        packets_cut: Discarded(Packets), Packets, "Packets that are shorter here than they were on the wire (snap length, receive slot).";
        packets_oversized: Discarded(Packets), Packets, "Packets larger than the format allows, or than a frame of 9000 bytes can carry.";
        packets_duplicated: Discarded(Packets), Packets, "Packets whose number had been received before.";
        packets_without_number: Information, Packets, "Packets that carry no number of a configured source although their format has one, so that no sequence follows them.";
        bytes_received: Information, Bytes, "Bytes of all packets received.";
        bytes_discarded: Information, Bytes, "Bytes of all packets discarded.";
    }
}

/// The counter that a discarded packet goes to.
pub type Discard<C> = fn(&mut C) -> &mut u64;

/// Counts packets and turns away those that are unusable whatever they contain.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub struct PacketGate {
    largest_packet: usize,
    counters: PacketCounters,
}

impl PacketGate {
    /// For a format whose packets have at most `largest_packet` bytes.
    pub fn new(largest_packet: usize) -> Self {
        Self { largest_packet, counters: PacketCounters::default() }
    }

    /// Takes a packet of a format that has numbers, with what its number says; none if it has no number or no
    /// source that is configured. False, and counted, if it must not be used.
    #[inline]
    pub fn admit(&mut self, packet: &Packet<'_>, arrival: Option<Arrival>) -> bool {
        self.counters.packets_without_number += u64::from(arrival.is_none());
        self.look(packet, arrival == Some(Arrival::Duplicated))
    }

    /// Takes a packet of a format that has no numbers. False, and counted, if it must not be used.
    #[inline]
    pub fn admit_unnumbered(&mut self, packet: &Packet<'_>) -> bool {
        self.look(packet, false)
    }

    #[inline]
    fn look(&mut self, packet: &Packet<'_>, duplicated: bool) -> bool {
        let bytes = packet.bytes.len();
        self.counters.packets_received += 1;
        self.counters.bytes_received += bytes as u64;
        let problem = if packet.is_cut() {
            &mut self.counters.packets_cut
        } else if bytes > self.largest_packet {
            &mut self.counters.packets_oversized
        } else if duplicated {
            &mut self.counters.packets_duplicated
        } else {
            return true;
        };
        *problem += 1;
        self.counters.bytes_discarded += bytes as u64;
        false
    }

    /// What happened to a packet that was admitted: used, or discarded for a reason of the detector's own.
    #[inline]
    pub fn settle<C>(&mut self, packet: &Packet<'_>, outcome: Result<(), Discard<C>>, own: &mut C) {
        match outcome {
            Ok(()) => self.counters.packets_formed_from += 1,
            Err(counter) => {
                *counter(own) += 1;
                self.counters.bytes_discarded += packet.bytes.len() as u64;
            }
        }
    }

    /// A packet that was settled as used turns out to be of no use.
    #[cold]
    pub fn take_back<C>(&mut self, packet: &Packet<'_>, counter: Discard<C>, own: &mut C) {
        self.counters.packets_formed_from -= 1;
        self.settle(packet, Err(counter), own);
    }

    /// A packet that was admitted is discarded for a reason that has been counted elsewhere.
    pub fn discard(&mut self, packet: &Packet<'_>) {
        self.counters.bytes_discarded += packet.bytes.len() as u64;
    }

    /// The counts so far.
    pub fn counters(&self) -> &PacketCounters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::counter::{CounterSet, Law};
    use evforge_core::packet::PacketOrigin;

    evforge_core::counters! {
        struct Own: "own" {
            packets_odd: Discarded(Packets), Packets, "Odd.";
        }
    }

    fn packet(bytes: &[u8], original_length: u32) -> Packet<'_> {
        Packet { bytes, original_length, origin: PacketOrigin::default() }
    }

    #[test]
    fn every_packet_is_counted_once() {
        let mut gate = PacketGate::new(4);
        let mut own = Own::default();
        let good = packet(b"abc", 3);
        assert!(gate.admit(&good, Some(Arrival::InOrder)));
        gate.settle(&good, Ok(()), &mut own);
        assert!(gate.admit(&good, None));
        gate.settle(&good, Err(|own: &mut Own| &mut own.packets_odd), &mut own);
        assert!(!gate.admit(&good, Some(Arrival::Duplicated)));
        assert!(!gate.admit(&packet(b"abc", 9), Some(Arrival::Duplicated)));
        assert!(!gate.admit_unnumbered(&packet(b"abcde", 5)));
        let counts = *gate.counters();
        assert_eq!((counts.packets_received, counts.packets_formed_from), (5, 1));
        assert_eq!((counts.packets_duplicated, counts.packets_cut, counts.packets_oversized), (1, 1, 1));
        assert_eq!((counts.packets_without_number, own.packets_odd, counts.bytes_discarded), (1, 1, 14));
        let joined = evforge_core::counter::CounterSnapshot::of(&counts).and(&own);
        assert_eq!((joined.imbalance(Law::Packets), PacketCounters::STAGE), (0, "packets"));
    }
}
