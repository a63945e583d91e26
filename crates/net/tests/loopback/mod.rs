//! What the socket tests share: a receiver and a sender on one host, on ports that the kernel chooses.

#![allow(dead_code)] // each program uses its part

use std::time::Instant;

use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
use evforge_net::socket::{ReceiverOptions, SenderOptions, UdpReceiver, UdpSender};
use evforge_testkit::patience::patience;

pub(crate) fn local() -> ReceiverOptions {
    ReceiverOptions::new("127.0.0.1:0".parse().expect("an address"))
}

pub(crate) fn to(receiver: &UdpReceiver) -> SenderOptions {
    SenderOptions::new(receiver.local_address())
}

/// A slab with packets of these lengths, whose bytes tell them apart.
pub(crate) fn packets(lengths: &[usize]) -> PacketSlab {
    let mut slab = PacketSlab::new(lengths.len(), lengths.iter().sum());
    for (number, &length) in lengths.iter().enumerate() {
        let bytes: Vec<u8> = (0..length).map(|index| (index * 7 + number) as u8).collect();
        let origin = PacketOrigin {
            arrival_ns: number as u64 * 1000,
            arrival_clock: ArrivalClock::Capture,
            ..PacketOrigin::default()
        };
        assert!(slab.push(&bytes, length, origin));
    }
    slab
}

pub(crate) fn send_all(sender: &mut UdpSender, slab: &PacketSlab) {
    let sent = sender.send(&slab.batch(), 0, Instant::now() + patience()).expect("sending over loopback");
    assert_eq!(sent, slab.len(), "not all was sent in time");
}

/// What arrives until `count` packets are there: bytes and original length.
pub(crate) fn collect(
    receiver: &mut UdpReceiver,
    slab: &mut PacketSlab,
    count: usize,
) -> Vec<(Vec<u8>, u32)> {
    let deadline = Instant::now() + patience();
    let mut found = Vec::new();
    while found.len() < count {
        slab.clear();
        let received = receiver.receive(slab, deadline).expect("receiving over loopback");
        assert_eq!(received, slab.len());
        assert!(received > 0, "{} of {count} packets came in time", found.len());
        for packet in slab.batch().iter() {
            assert_eq!(packet.origin.destination_port, receiver.local_address().port());
            found.push((packet.bytes.to_vec(), packet.original_length));
        }
    }
    found
}

pub(crate) fn content(slab: &PacketSlab) -> Vec<(Vec<u8>, u32)> {
    slab.batch().iter().map(|packet| (packet.bytes.to_vec(), packet.original_length)).collect()
}
