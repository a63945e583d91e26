//! Everything that may be on a wire, sent over a virtual one and received: what is ours intact and once, the rest by the
//! kernel.

#![allow(dead_code)] // each program uses its part

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::Instant;

use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
use evforge_net::socket::{SenderOptions, UdpReceiver, UdpSender};
use evforge_net::xdp::XdpReceiver;
use evforge_testkit::patience::patience;
use evforge_testkit::veth::{self, SENDER, Wire};

/// The port that is received on.
pub(crate) const PORT: u16 = 6006;
/// One that is another program's.
pub(crate) const OTHER_PORT: u16 = 6007;
/// Times the mixture is sent.
pub(crate) const ROUNDS: u32 = 10;
/// Datagrams of equal length in one piece of the sender's, cut before the wire.
pub(crate) const RUN: usize = 20;
/// Senders' ports: so many that the wire spreads their packets over all its queues.
const SOURCES: u16 = 16;

/// A way in.
pub(crate) trait Inlet {
    /// Receives until `deadline`: how many packets have come.
    fn take(&mut self, slab: &mut PacketSlab, deadline: Instant) -> usize;

    /// Its counters, for a person to read.
    fn counted(&self) -> String;
}

impl Inlet for XdpReceiver {
    fn take(&mut self, slab: &mut PacketSlab, deadline: Instant) -> usize {
        self.receive(slab, deadline).expect("receiving")
    }

    fn counted(&self) -> String {
        format!("{:?}, {:?}", self.xdp_counters(), self.drops())
    }
}

impl Inlet for UdpReceiver {
    fn take(&mut self, slab: &mut PacketSlab, deadline: Instant) -> usize {
        self.receive(slab, deadline).expect("receiving")
    }

    fn counted(&self) -> String {
        format!("{:?}, {:?}", self.counters(), self.drops())
    }
}

/// Payloads that come until `count` are there, each with the times it came.
pub(crate) fn collect(inlet: &mut impl Inlet, count: usize, found: &mut BTreeMap<Vec<u8>, u32>) {
    let deadline = Instant::now() + patience();
    // So small that it is full now and then.
    let mut slab = PacketSlab::new(7, 0);
    let mut numbers = Vec::new();
    while numbers.len() < count {
        slab.clear();
        let packets = inlet.take(&mut slab, deadline);
        assert_eq!(packets, slab.len());
        assert!(
            packets > 0,
            "{} of {count} came, their first bytes: {numbers:?}\n{}\n{}",
            numbers.len(),
            inlet.counted(),
            veth::receiver_statistics()
        );
        for packet in slab.batch().iter() {
            assert!(!packet.is_cut());
            assert_eq!(
                (packet.origin.destination_port, packet.origin.arrival_clock),
                (PORT, ArrivalClock::Process)
            );
            *found.entry(packet.bytes.to_vec()).or_default() += 1;
            numbers.push(packet.bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)));
        }
    }
}

/// A payload that no other packet has.
pub(crate) fn payload(number: u32, length: usize) -> Vec<u8> {
    let pattern = (0..length).map(|index| (index * 7 + number as usize * 3) as u8);
    number.to_be_bytes().into_iter().chain(pattern).take(length.max(4)).collect()
}

/// What was sent to the port, and arrived intact and once.
pub(crate) struct Sent {
    /// Datagrams.
    pub(crate) packets: u64,
    /// Their payload bytes.
    pub(crate) bytes: u64,
    /// Those among them that a program in the driver can recognise: no fragments, no options.
    pub(crate) plain: u64,
}

/// Sends a mixture, with frames of so many VLAN tags in it, and receives it; what the kernel must get, it gets.
pub(crate) fn drive(wire: &Wire, inlet: &mut impl Inlet, mtu: u32, tags: &[u8]) -> Sent {
    let frames = wire.frames();
    let neighbour = UdpSocket::bind(("10.9.0.2", OTHER_PORT)).expect("another port");
    neighbour.set_read_timeout(Some(patience())).expect("a time limit");
    // As a network card does it: frames, not segments, leave.
    wire.at_sender(|| veth::ethtool(SENDER, "tx-udp-segmentation off"));
    let options = SenderOptions { segment: true, ..SenderOptions::new(([10, 9, 0, 2], PORT).into()) };
    let mut sender = wire.at_sender(|| UdpSender::open(&options)).expect("a sender");
    let (mut sent, mut found) = (BTreeMap::new(), BTreeMap::new());
    let mut plain = 0;
    for round in 0..ROUNDS {
        let mut number = round * 100;
        let mut next = |length: usize| {
            number += 1;
            let payload = payload(number, length);
            sent.insert(payload.clone(), 1);
            payload
        };
        let largest = mtu as usize - 28;
        let mut count = 0;
        for (place, length) in [4, 64, 512, 1400, largest].into_iter().enumerate() {
            for source in 0..4 {
                let source = (4 * place as u16 + source) % SOURCES;
                frames.send(&veth::udp(1000 + source, PORT, &next(length)));
                count += 1;
            }
        }
        frames.send(&veth::udp6(1000, PORT, &next(100)));
        frames.send(&veth::udp6(1001, PORT, &next(largest - 20)));
        for &tags in tags {
            frames.send(&veth::tagged(tags, 1002, PORT, &next(200)));
            count += 1;
        }
        let mut run = PacketSlab::new(RUN, 0);
        for _ in 0..RUN {
            assert!(run.push(&next(1000), 1000, PacketOrigin::default()));
        }
        let together = sender.send(&run.batch(), 0, Instant::now() + patience()).expect("sending");
        assert_eq!(together, RUN);
        count += 2 + RUN;
        plain += count as u64;
        frames.send(&veth::with_options(PORT, &next(50)));
        frames.send(&veth::udp(1000, OTHER_PORT, &round.to_be_bytes()));
        for fragment in veth::fragments(round as u16, PORT, &next(900)) {
            frames.send(&fragment);
        }
        collect(inlet, count + 2, &mut found);
        let mut heard = [0; 16];
        let (length, _) = neighbour.recv_from(&mut heard).expect("what is sent to the other port");
        assert_eq!(heard[..length], round.to_be_bytes());
    }
    assert!(found == sent, "not every payload came intact and once: {} of {}", found.len(), sent.len());
    // The other one is full of what was sent.
    let frames = wire.frames();
    frames.send(&veth::echo_request());
    frames.wait_for("the kernel's answer to a ping", veth::is_echo_reply);
    frames.send(&veth::arp_request());
    frames.wait_for("the kernel's answer to ARP", veth::is_arp_reply);
    let bytes = sent.keys().map(|payload| payload.len() as u64).sum();
    Sent { packets: sent.len() as u64, bytes, plain }
}
