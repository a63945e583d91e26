//! From frames to packets in a slab, with their lengths and checksums checked.

use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};

use super::options::ChecksumPolicy;
use crate::checksum::{Verdict, verify};
use crate::clock::wall_clock_ns;
use crate::frame::{Link, datagram};
use crate::socket::ReceiverCounters;

/// What happens to frames.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Most bytes of a frame that the interface can receive.
    largest_frame: usize,
    checksums: ChecksumPolicy,
    /// Packets delivered.
    pub(super) delivered: ReceiverCounters,
    pub(super) frames: u64,
    pub(super) malformed: u64,
    pub(super) merged: u64,
    pub(super) wrong_checksum: u64,
    pub(super) not_verifiable: u64,
    /// When the frames at hand were taken, once that has been asked for.
    arrival_ns: Option<u64>,
}

impl Delivery {
    pub(super) fn new(largest_frame: usize, checksums: ChecksumPolicy) -> Self {
        Self {
            largest_frame,
            checksums,
            delivered: ReceiverCounters::default(),
            frames: 0,
            malformed: 0,
            merged: 0,
            wrong_checksum: 0,
            not_verifiable: 0,
            arrival_ns: None,
        }
    }

    /// The frames from now on arrive at another time.
    pub(super) fn new_batch(&mut self) {
        self.arrival_ns = None;
    }

    /// The interface can receive frames of this many bytes from now on.
    pub(super) fn set_largest_frame(&mut self, bytes: usize) {
        self.largest_frame = bytes;
    }

    /// Packets whose frames arrived and were thrown away here.
    pub(super) fn discarded(&self) -> u64 {
        let wrong = if self.checksums == ChecksumPolicy::Drop { self.wrong_checksum } else { 0 };
        self.malformed + self.merged + wrong
    }

    /// Copies the payload into the slab, or discards and counts the frame. False, and nothing has happened, if the
    /// slab has no room for it.
    pub(super) fn deliver(&mut self, frame: &[u8], slab: &mut PacketSlab) -> bool {
        if frame.len() > self.largest_frame {
            self.frames += 1;
            self.merged += 1;
            return true;
        }
        if !slab.has_room_for(frame.len()) {
            return false;
        }
        self.frames += 1;
        // The program has looked at the headers that it needs, not at lengths.
        let Ok(datagram) = datagram(Link::Ethernet, frame, 0) else {
            self.malformed += 1;
            return true;
        };
        if self.checksums != ChecksumPolicy::Off {
            match verify(&datagram) {
                Verdict::Right => {}
                Verdict::NotVerifiable => self.not_verifiable += 1,
                Verdict::Wrong => {
                    self.wrong_checksum += 1;
                    if self.checksums == ChecksumPolicy::Drop {
                        return true;
                    }
                }
            }
        }
        let origin = PacketOrigin {
            source: datagram.source,
            destination_port: datagram.destination_port,
            arrival_ns: *self.arrival_ns.get_or_insert_with(wall_clock_ns),
            arrival_clock: ArrivalClock::Process,
        };
        // There is room for the whole frame.
        slab.push(datagram.payload, datagram.original_length, origin);
        self.delivered.packets += 1;
        self.delivered.bytes += datagram.payload.len() as u64;
        self.delivered.cut += u64::from(datagram.payload.len() < datagram.original_length);
        true
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    use super::*;

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 3], 64);
        builder.udp(7, 6006).write(&mut frame, payload).unwrap();
        frame
    }

    #[test]
    fn wrong_checksums_are_dropped_counted_or_not_looked_at() {
        let mut wrong = frame(b"neutron");
        *wrong.last_mut().unwrap() ^= 1;
        for (policy, packets, counted) in
            [(ChecksumPolicy::Off, 1, 0), (ChecksumPolicy::Count, 1, 1), (ChecksumPolicy::Drop, 0, 1)]
        {
            let (mut delivery, mut slab) = (Delivery::new(1522, policy), PacketSlab::new(4, 0));
            assert!(delivery.deliver(&wrong, &mut slab));
            assert_eq!((slab.len() as u64, delivery.wrong_checksum), (packets, counted));
            assert_eq!((delivery.delivered.packets, delivery.discarded()), (packets, 1 - packets));
        }
    }

    #[test]
    fn a_full_slab_leaves_the_frame_for_later_and_merged_packets_are_discarded() {
        let (mut delivery, mut slab) = (Delivery::new(100, ChecksumPolicy::Drop), PacketSlab::new(1, 0));
        assert!(delivery.deliver(&frame(b"one"), &mut slab));
        assert!(!delivery.deliver(&frame(b"two"), &mut slab));
        assert!(delivery.deliver(&frame(&[0; 100]), &mut slab));
        assert_eq!((delivery.frames, delivery.delivered.packets, delivery.merged), (2, 1, 1));
        let packet = slab.batch().get(0).unwrap();
        assert_eq!((packet.bytes, packet.origin.destination_port), (&b"one"[..], 6006));
        assert_eq!(packet.origin.source, ([10, 0, 0, 1], 7).into());
    }

    proptest! {
        #[test]
        fn any_bytes_are_delivered_or_counted(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let (mut delivery, mut slab) = (Delivery::new(1522, ChecksumPolicy::Drop), PacketSlab::new(4, 0));
            prop_assert!(delivery.deliver(&bytes, &mut slab));
            prop_assert_eq!(delivery.frames, delivery.delivered.packets + delivery.discarded());
        }
    }
}
