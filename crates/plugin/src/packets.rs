//! Packets as a library sees them.

use evforge_core::packet::{ArrivalClock, Packet, PacketBatch};
use evforge_plugin_interface::layout::{self, arrival_clock};
use std::net::IpAddr;

/// Packets that one call gets at most: enough that a call costs nothing per packet, few enough that their
/// descriptions stay in the cache.
pub(crate) const PACKETS_PER_CALL: usize = 1024;

/// The descriptions of the packets of a call.
#[derive(Debug)]
pub(crate) struct PacketColumn {
    packets: Vec<layout::Packet>,
    /// Index of the first of them in their batch.
    first: usize,
}

// SAFETY: the descriptions point to packets that are borrowed while they are described and used; what is left of them
// afterwards is never looked at.
unsafe impl Send for PacketColumn {}

impl PacketColumn {
    pub(crate) fn new() -> Self {
        Self { packets: Vec::with_capacity(PACKETS_PER_CALL), first: 0 }
    }

    /// Forgets what is described: another batch comes.
    pub(crate) fn forget(&mut self) {
        self.packets.clear();
    }

    /// The packets of `batch` from index `from` on, as many as a call gets. They are described once: what is left of
    /// them comes in the next call.
    pub(crate) fn describe(&mut self, batch: &PacketBatch<'_>, from: usize) -> &[layout::Packet] {
        let behind = from.checked_sub(self.first).filter(|&behind| behind < self.packets.len());
        let behind = behind.unwrap_or_else(|| {
            let indices = from..batch.len().min(from.saturating_add(PACKETS_PER_CALL));
            self.packets.clear();
            self.packets
                .extend(indices.filter_map(|index| batch.get(index)).map(|packet| described(&packet)));
            self.first = from;
            0
        });
        &self.packets[behind..]
    }

    pub(crate) fn memory_bound() -> usize {
        PACKETS_PER_CALL * size_of::<layout::Packet>()
    }
}

fn described(packet: &Packet<'_>) -> layout::Packet {
    let origin = &packet.origin;
    let source_address = match origin.source.ip() {
        address if address.is_unspecified() => [0; 16],
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    layout::Packet {
        bytes: packet.bytes.as_ptr(),
        // A slab has less than 4 GiB.
        length: packet.bytes.len() as u32,
        original_length: packet.original_length,
        arrival_ns: origin.arrival_ns,
        source_address,
        source_port: origin.source.port(),
        destination_port: origin.destination_port,
        arrival_clock: match origin.arrival_clock {
            ArrivalClock::None => arrival_clock::NONE,
            ArrivalClock::Capture => arrival_clock::CAPTURE,
            ArrivalClock::Kernel => arrival_clock::KERNEL,
            ArrivalClock::Process => arrival_clock::PROCESS,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::packet::{PacketOrigin, PacketSlab};

    #[test]
    fn a_call_gets_the_packets_that_are_left_with_all_that_is_known_of_them() {
        let mut slab = PacketSlab::new(2000, 0);
        let source = "10.0.0.2:6006".parse().unwrap();
        let origin = PacketOrigin {
            source,
            destination_port: 9000,
            arrival_ns: 5,
            arrival_clock: ArrivalClock::Kernel,
        };
        for _ in 0..1100 {
            assert!(slab.push(b"abc", 4, origin));
        }
        assert!(slab.push(b"", 0, PacketOrigin::default()));
        let mut column = PacketColumn::new();
        let batch = slab.batch();
        assert_eq!(column.describe(&batch, 0).len(), 1024);
        assert_eq!(column.describe(&batch, 1000).len(), 24, "what is left of them");
        let rest = column.describe(&batch, 1024);
        assert_eq!(rest.len(), 77);
        let packet = rest[0];
        assert_eq!((packet.length, packet.original_length, packet.arrival_ns), (3, 4, 5));
        assert_eq!(packet.bytes, batch.get(1024).unwrap().bytes.as_ptr());
        assert_eq!(packet.source_address, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2]);
        assert_eq!((packet.source_port, packet.destination_port), (6006, 9000));
        assert_eq!(packet.arrival_clock, arrival_clock::KERNEL);
        let last = rest[76];
        assert_eq!((last.length, last.source_address, last.source_port), (0, [0; 16], 0));
        assert!(!last.bytes.is_null() && column.describe(&batch, 1101).is_empty());
        assert_eq!(column.describe(&batch, 0).len(), 1024);
        column.forget();
        assert_eq!(column.describe(&batch, 1000).len(), 101);
    }
}
