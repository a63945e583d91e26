//! Packets: the payloads of UDP datagrams, many of them in one piece of memory.
//!
//! A detector never learns whether its packets came from a socket, from AF_XDP or from a file: it sees a
//! [`PacketBatch`], which is a view of bytes owned by somebody else. [`PacketSlab`] is the owner used
//! where packets travel between threads; a receive path with memory of its own (the frame area of
//! AF_XDP) builds the same view over it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Which clock an arrival stamp was read from. All of them count nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub enum ArrivalClock {
    /// No stamp: the input has none (`.pkts` files).
    #[default]
    None,
    /// The stamp is in the capture file, in whatever resolution it has.
    Capture,
    /// The kernel stamped the packet when it entered the socket.
    Kernel,
    /// This process read the wall clock after the packet had been handed over.
    Process,
}

/// Where a packet came from, where it went and when: everything but its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct PacketOrigin {
    /// Address and port of the sender; `0.0.0.0:0` where the input does not say (`.pkts` files).
    #[get_size(ignore)]
    pub source: SocketAddr,
    /// UDP port that the packet was sent to; 0 where the input does not say.
    pub destination_port: u16,
    /// Arrival in nanoseconds since the Unix epoch; 0 with [`ArrivalClock::None`].
    pub arrival_ns: u64,
    /// The clock that `arrival_ns` was read from.
    pub arrival_clock: ArrivalClock,
}

impl Default for PacketOrigin {
    fn default() -> Self {
        Self {
            source: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            destination_port: 0,
            arrival_ns: 0,
            arrival_clock: ArrivalClock::None,
        }
    }
}

/// Place of one packet inside the memory of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct PacketRecord {
    /// First byte of the payload, counted from the start of the batch's memory.
    pub start: u32,
    /// Bytes of the payload that are here.
    pub length: u32,
    /// Bytes the payload had on the wire; larger than `length` where the packet was cut.
    pub original_length: u32,
    /// Source, destination and arrival.
    pub origin: PacketOrigin,
}

/// One packet, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The payload of the UDP datagram (possibly cut, see [`Packet::is_cut`]).
    pub bytes: &'a [u8],
    /// Bytes the payload had on the wire.
    pub original_length: u32,
    /// Source, destination and arrival.
    pub origin: PacketOrigin,
}

impl Packet<'_> {
    /// True if the packet had more bytes on the wire than are here (a capture with a snap length, a
    /// receive slot smaller than the datagram).
    pub fn is_cut(&self) -> bool {
        (self.original_length as usize) > self.bytes.len()
    }
}

/// A borrowed run of packets in one piece of memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketBatch<'a> {
    memory: &'a [u8],
    records: &'a [PacketRecord],
}

impl<'a> PacketBatch<'a> {
    /// A view of `records` over `memory`. A record that does not lie inside `memory` yields an empty cut
    /// packet (never a panic), so that a faulty receive path is counted like any other bad packet.
    pub fn new(memory: &'a [u8], records: &'a [PacketRecord]) -> Self {
        Self { memory, records }
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True without packets.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The packet at `index`, or none past the end.
    pub fn get(&self, index: usize) -> Option<Packet<'a>> {
        self.records.get(index).map(|record| self.packet(record))
    }

    /// The packets in order.
    pub fn iter(&self) -> impl Iterator<Item = Packet<'a>> + use<'a> {
        let batch = *self;
        self.records.iter().map(move |record| batch.packet(record))
    }

    fn packet(&self, record: &PacketRecord) -> Packet<'a> {
        let start = record.start as usize;
        let bytes = start
            .checked_add(record.length as usize)
            .and_then(|end| self.memory.get(start..end))
            .unwrap_or_default();
        Packet { bytes, original_length: record.original_length, origin: record.origin }
    }
}

/// Owned memory for packets, filled from the front and reused after [`PacketSlab::clear`].
///
/// Its capacity is fixed at creation; filling and clearing never allocate. Packets are copied in by
/// [`PacketSlab::push`], or written in place by a receive path through [`PacketSlab::space`].
#[derive(Debug, get_size2::GetSize)]
pub struct PacketSlab {
    /// As long as the capacity from the beginning; the system provides it page by page at first use.
    memory: Vec<u8>,
    used: usize,
    records: Vec<PacketRecord>,
    packet_capacity: usize,
}

/// Largest payload of a UDP datagram over IPv4 in bytes (65535 less the headers of IP and UDP).
pub const LARGEST_PAYLOAD: usize = 65_507;

impl PacketSlab {
    /// A slab for at most `packets` packets with at most `bytes` bytes together. `bytes` is raised to
    /// [`LARGEST_PAYLOAD`], so that any datagram fits into an empty slab, and `packets` to 1.
    pub fn new(packets: usize, bytes: usize) -> Self {
        let byte_capacity = bytes.clamp(LARGEST_PAYLOAD, u32::MAX as usize);
        let packet_capacity = packets.max(1);
        Self {
            memory: vec![0; byte_capacity],
            used: 0,
            records: Vec::with_capacity(packet_capacity),
            packet_capacity,
        }
    }

    /// Copies one packet in. Returns false, and leaves the slab as it was, if it does not fit.
    /// `original_length` is the payload's length on the wire; pass `bytes.len()` for a whole packet.
    pub fn push(&mut self, bytes: &[u8], original_length: usize, origin: PacketOrigin) -> bool {
        let mut space = self.space();
        if space.packets() == 0 {
            return false;
        }
        let Some(place) = space.memory().get_mut(..bytes.len()) else {
            return false;
        };
        place.copy_from_slice(bytes);
        space.add(0, bytes.len(), original_length, origin)
    }

    /// The part of the slab that is still free, for a receive path that writes packets in place.
    pub fn space(&mut self) -> SlabSpace<'_> {
        let base = self.used;
        SlabSpace {
            memory: &mut self.memory[base..],
            base,
            used: &mut self.used,
            records: &mut self.records,
            packet_capacity: self.packet_capacity,
        }
    }

    /// True if another packet of `bytes` bytes fits.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        self.records.len() < self.packet_capacity && self.used + bytes <= self.memory.len()
    }

    /// Forgets all packets and keeps the memory.
    pub fn clear(&mut self) {
        self.used = 0;
        self.records.clear();
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True without packets.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The packets as a detector sees them.
    pub fn batch(&self) -> PacketBatch<'_> {
        PacketBatch::new(&self.memory[..self.used], &self.records)
    }
}

/// The free part of a [`PacketSlab`]: write payloads into [`SlabSpace::memory`], then
/// [`add`](SlabSpace::add) them in the order in which they are to appear.
#[derive(Debug)]
pub struct SlabSpace<'a> {
    memory: &'a mut [u8],
    base: usize,
    used: &'a mut usize,
    records: &'a mut Vec<PacketRecord>,
    packet_capacity: usize,
}

impl SlabSpace<'_> {
    /// The free memory. What has been added stays in it and must be left alone until this space is dropped.
    pub fn memory(&mut self) -> &mut [u8] {
        self.memory
    }

    /// How many more packets can be added.
    pub fn packets(&self) -> usize {
        self.packet_capacity - self.records.len()
    }

    /// Makes a packet of `length` bytes of the free memory from byte `start` on. Packets may leave gaps, which
    /// are lost until the slab is cleared. Returns false, and changes nothing, if the bytes do not lie in the
    /// free memory or the slab is full. `original_length` is the payload's length on the wire.
    pub fn add(&mut self, start: usize, length: usize, original_length: usize, origin: PacketOrigin) -> bool {
        let end = start.saturating_add(length);
        if self.packets() == 0 || end > self.memory.len() {
            return false;
        }
        // Place and length fit in u32: the slab's capacity was clamped to it. Longer original lengths are
        // saturated on purpose.
        self.records.push(PacketRecord {
            start: (self.base + start) as u32,
            length: length as u32,
            original_length: u32::try_from(original_length).unwrap_or(u32::MAX),
            origin,
        });
        *self.used = (*self.used).max(self.base + end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slab_gives_back_what_was_pushed_and_refuses_what_does_not_fit() {
        let mut slab = PacketSlab::new(2, 0);
        assert!(slab.push(b"one", 3, PacketOrigin::default()));
        assert!(slab.push(b"", 12, PacketOrigin::default()));
        assert!(!slab.push(b"three", 5, PacketOrigin::default()));
        let packets: Vec<_> = slab.batch().iter().collect();
        assert_eq!(packets[0].bytes, b"one");
        assert!(!packets[0].is_cut());
        assert!(packets[1].is_cut());
        assert!(slab.batch().get(2).is_none());
        slab.clear();
        assert!(slab.push(&[0; LARGEST_PAYLOAD], LARGEST_PAYLOAD, PacketOrigin::default()));
        assert!(!slab.push(&[0], 1, PacketOrigin::default()));
    }

    #[test]
    fn packets_can_be_written_in_place_behind_those_that_are_there() {
        let mut slab = PacketSlab::new(3, 0);
        assert!(slab.push(b"one", 3, PacketOrigin::default()));
        let mut space = slab.space();
        assert_eq!((space.packets(), space.memory().len()), (2, LARGEST_PAYLOAD - 3));
        space.memory()[10..13].copy_from_slice(b"two");
        assert!(space.add(10, 3, 3, PacketOrigin::default()));
        assert!(!space.add(LARGEST_PAYLOAD - 3, 1, 1, PacketOrigin::default()));
        assert!(!space.add(usize::MAX, 2, 2, PacketOrigin::default()));
        assert!(space.add(4, 0, 9, PacketOrigin::default()));
        assert!(!space.add(0, 0, 0, PacketOrigin::default()));
        assert_eq!((slab.len(), slab.used), (3, 16));
        assert_eq!(slab.batch().get(1).unwrap().bytes, b"two");
        assert!(slab.batch().get(2).unwrap().is_cut());
    }

    #[test]
    fn a_record_outside_its_memory_is_an_empty_cut_packet() {
        let record = PacketRecord {
            start: u32::MAX,
            length: u32::MAX,
            original_length: 5,
            origin: Default::default(),
        };
        let records = [record];
        let packet = PacketBatch::new(b"abc", &records).get(0).unwrap();
        assert!(packet.bytes.is_empty() && packet.is_cut());
    }
}
