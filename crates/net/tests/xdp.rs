//! AF_XDP over a virtual wire: every way in, with everything that may be on a wire. Needs root.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use evforge_core::packet::{ArrivalClock, PacketSlab};
use evforge_net::xdp::{ChecksumPolicy, XdpError, XdpMode, XdpOptions, XdpReceiver};
use evforge_testkit::veth::{self, RECEIVER, Wire, with_wire};

const PORT: u16 = 6006;
const OTHER_PORT: u16 = 6007;
/// No test waits longer than this for packets.
const PATIENCE: Duration = Duration::from_secs(10);

/// Small rings, so that tests do not lock much memory.
fn options(mode: XdpMode) -> XdpOptions {
    let address = SocketAddr::new("::".parse().expect("an address"), PORT);
    XdpOptions { modes: vec![mode], ring: 1024, frames: 1024, ..XdpOptions::new(RECEIVER, address) }
}

/// Payloads that come until `count` are there, each with the times it came.
fn collect(receiver: &mut XdpReceiver, count: usize, found: &mut BTreeMap<Vec<u8>, u32>) {
    let deadline = Instant::now() + PATIENCE;
    // So small that it is full now and then.
    let mut slab = PacketSlab::new(7, 0);
    let mut received = 0;
    while received < count {
        slab.clear();
        let packets = receiver.receive(&mut slab, deadline).expect("receiving");
        assert_eq!(packets, slab.len());
        assert!(packets > 0, "{received} of {count} came: {:?}", receiver.xdp_counters());
        for packet in slab.batch().iter() {
            assert!(!packet.is_cut());
            assert_eq!(
                (packet.origin.destination_port, packet.origin.arrival_clock),
                (PORT, ArrivalClock::Process)
            );
            *found.entry(packet.bytes.to_vec()).or_default() += 1;
        }
        received += packets;
    }
}

/// A payload that no other packet has.
fn payload(number: u32, length: usize) -> Vec<u8> {
    let pattern = (0..length).map(|index| (index * 7 + number as usize * 3) as u8);
    number.to_be_bytes().into_iter().chain(pattern).take(length.max(4)).collect()
}

/// Sends a mixture, with frames of so many VLAN tags in it, and receives it; what the kernel must get, it gets.
fn drive(wire: &Wire, receiver: &mut XdpReceiver, mtu: u32, tags: &[u8]) {
    const ROUNDS: u32 = 30;
    let frames = wire.frames();
    let neighbour = UdpSocket::bind(("10.9.0.2", OTHER_PORT)).expect("another port");
    neighbour.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let mut sent = BTreeMap::new();
    let mut found = BTreeMap::new();
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
        for length in [4, 64, 512, 1400, largest] {
            for source in 0..4 {
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
        frames.send(&veth::with_options(PORT, &next(50)));
        frames.send(&veth::udp(1000, OTHER_PORT, &round.to_be_bytes()));
        for fragment in veth::fragments(round as u16, PORT, &next(900)) {
            frames.send(&fragment);
        }
        count += 4;
        collect(receiver, count, &mut found);
        let mut heard = [0; 16];
        let (length, _) = neighbour.recv_from(&mut heard).expect("what is sent to the other port");
        assert_eq!(heard[..length], round.to_be_bytes());
    }
    assert!(found == sent, "not every payload came intact and once: {} of {}", found.len(), sent.len());
    frames.send(&veth::echo_request());
    assert!(frames.sees(veth::is_echo_reply), "the kernel does not answer pings any more");
    frames.send(&veth::arp_request());
    assert!(frames.sees(veth::is_arp_reply), "the kernel does not answer ARP any more");

    let counters = receiver.xdp_counters().expect("counters");
    let rounds = u64::from(ROUNDS);
    let parts = counters.steered
        + counters.no_socket
        + counters.other_port
        + counters.fragments
        + counters.extended
        + counters.not_udp;
    assert_eq!(counters.seen, parts, "{counters:?}");
    assert_eq!(counters.steered + counters.no_socket, (22 + tags.len() as u64) * rounds, "{counters:?}");
    assert_eq!(counters.frames, counters.steered, "{counters:?}");
    assert_eq!(counters.beside, counters.no_socket + 2 * rounds, "{counters:?}");
    assert_eq!(counters.fragments, 2 * rounds, "{counters:?}");
    // The kernels of both ends talk, too.
    assert!(
        counters.extended >= rounds && counters.other_port >= rounds && counters.not_udp >= 2,
        "{counters:?}"
    );
    assert_eq!((counters.dropped, counters.ring_full, receiver.discarded()), (0, 0, 0), "{counters:?}");
    let delivered = receiver.counters();
    assert_eq!((delivered.packets, delivered.cut), (sent.len() as u64, 0));
    assert_eq!(delivered.bytes, sent.keys().map(|payload| payload.len() as u64).sum::<u64>());
    if mtu > 4000 {
        assert!(counters.gathered > 0, "{counters:?}");
    }
}

#[test]
fn each_payload_arrives_intact_and_once_and_other_traffic_reaches_the_kernel() {
    if !veth::is_possible("each_payload_arrives_intact_and_once_and_other_traffic_reaches_the_kernel") {
        return;
    }
    for mode in [XdpMode::Driver, XdpMode::Generic] {
        for queues in [1, 2] {
            for mtu in [1500, 9000] {
                with_wire(queues, mtu, |wire| {
                    let mut receiver = XdpReceiver::open(&options(mode)).expect("AF_XDP on a virtual wire");
                    assert_eq!((receiver.mode(), receiver.is_zero_copy()), (mode, false));
                    assert!(receiver.warnings().is_empty(), "{:?}", receiver.warnings());
                    drive(wire, &mut receiver, mtu, &[1, 2]);
                    drop(receiver);
                    assert!(!veth::ip(&format!("link show {RECEIVER}")).contains("xdp"), "still attached");
                });
            }
        }
    }
}

#[test]
fn packets_in_a_queue_without_socket_arrive_beside() {
    if !veth::is_possible("packets_in_a_queue_without_socket_arrive_beside") {
        return;
    }
    with_wire(2, 1500, |wire| {
        let options = XdpOptions { queues: Some(vec![0]), ..options(XdpMode::Driver) };
        let mut receiver = XdpReceiver::open(&options).expect("AF_XDP on a virtual wire");
        assert!(receiver.warnings()[0].contains("has 2 queues, of which 1"), "{:?}", receiver.warnings());
        // The kernel has no interface for tagged frames.
        drive(wire, &mut receiver, 1500, &[]);
        let counters = receiver.xdp_counters().expect("counters");
        assert!(counters.no_socket > 0 && counters.steered > 0, "{counters:?}");
    });
}

#[test]
fn the_way_that_was_found_is_told_with_the_reasons_against_better_ones() {
    if !veth::is_possible("the_way_that_was_found_is_told_with_the_reasons_against_better_ones") {
        return;
    }
    with_wire(1, 1500, |_| {
        let options = XdpOptions { modes: XdpMode::ALL.to_vec(), ..options(XdpMode::Generic) };
        let receiver = XdpReceiver::open(&options).expect("AF_XDP on a virtual wire");
        // Virtual wires know no zero copy.
        let text = receiver.description();
        assert!(
            text.starts_with(
                "AF_XDP on wire-r (driver veth), 1 queue, driver, copied; not possible: driver, zero"
            ),
            "{text}"
        );
        assert!(text.contains("the driver cannot do that"), "{text}");
        // A second receiver: the port is taken; with another port, the interface.
        let text = XdpReceiver::open(&options).expect_err("the port is taken").to_string();
        assert!(text.contains("has the port"), "{text}");
        let other = XdpOptions { address: ([0, 0, 0, 0], OTHER_PORT).into(), ..options };
        let text = XdpReceiver::open(&other).expect_err("the interface is taken").to_string();
        assert!(text.contains("sudo bpftool net"), "{text}");
    });
}

/// Of the work on receiving, "Done when" 2: receive ring and fill ring, each alone.
#[test]
fn frames_lost_in_the_rings_are_placed_and_none_is_missing() {
    if !veth::is_possible("frames_lost_in_the_rings_are_placed_and_none_is_missing") {
        return;
    }
    const SENT: u64 = 1000;
    for mode in [XdpMode::Driver, XdpMode::Generic] {
        for (ring, frames) in [(64, 2048), (2048, 64)] {
            with_wire(1, 1500, |wire| {
                let options = XdpOptions { ring, frames, ..options(mode) };
                let mut receiver = XdpReceiver::open(&options).expect("AF_XDP on a virtual wire");
                let sender = wire.frames();
                for number in 0..SENT {
                    sender.send(&veth::udp(1000, PORT, &payload(number as u32, 100)));
                }
                collect(&mut receiver, 64, &mut BTreeMap::new());
                let counters = receiver.xdp_counters().expect("counters");
                assert_eq!((counters.steered, counters.frames), (SENT, 64), "{counters:?}");
                let lost = if ring < frames { counters.ring_full } else { counters.dropped };
                assert_eq!(lost, SENT - 64, "{counters:?}");
                assert_eq!(counters.ring_full + counters.dropped, lost, "{counters:?}");
                // What came too late is not lost for ever: there is room again.
                sender.send(&veth::udp(1000, PORT, b"once more"));
                collect(&mut receiver, 1, &mut BTreeMap::new());
            });
        }
    }
}

#[test]
fn checksums_are_verified_and_those_that_a_card_would_fill_in_are_known() {
    if !veth::is_possible("checksums_are_verified_and_those_that_a_card_would_fill_in_are_known") {
        return;
    }
    with_wire(1, 1500, |wire| {
        let mut receiver = XdpReceiver::open(&options(XdpMode::Driver)).expect("AF_XDP on a virtual wire");
        let frames = wire.frames();
        let mut wrong = veth::udp(1000, PORT, b"wrong");
        *wrong.last_mut().expect("not empty") ^= 1;
        let mut unused = veth::udp(1000, PORT, b"unused");
        unused[40..42].fill(0);
        frames.send(&wrong);
        frames.send(&unused);
        // The kernel of the sender leaves the checksum to the network card.
        let socket = wire.at_sender(|| UdpSocket::bind(("10.9.0.1", 0)).expect("a port"));
        socket.send_to(b"partial", ("10.9.0.2", PORT)).expect("sending");
        let mut found = BTreeMap::new();
        collect(&mut receiver, 2, &mut found);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [b"partial".to_vec(), b"unused".to_vec()]);
        let counters = receiver.xdp_counters().expect("counters");
        assert_eq!((counters.wrong_checksum, counters.not_verifiable, receiver.discarded()), (1, 1, 1));
    });
    with_wire(1, 1500, |wire| {
        let options = XdpOptions { checksums: ChecksumPolicy::Count, ..options(XdpMode::Driver) };
        let mut receiver = XdpReceiver::open(&options).expect("AF_XDP on a virtual wire");
        let mut wrong = veth::udp(1000, PORT, b"wrong");
        *wrong.last_mut().expect("not empty") ^= 1;
        wire.frames().send(&wrong);
        collect(&mut receiver, 1, &mut BTreeMap::new());
        assert_eq!((receiver.xdp_counters().expect("counters").wrong_checksum, receiver.discarded()), (1, 0));
    });
}

#[test]
fn only_what_is_sent_to_the_address_is_taken() {
    if !veth::is_possible("only_what_is_sent_to_the_address_is_taken") {
        return;
    }
    with_wire(1, 1500, |wire| {
        let address = ([10, 9, 0, 2], PORT).into();
        let options = XdpOptions { address, ..options(XdpMode::Driver) };
        let mut receiver = XdpReceiver::open(&options).expect("AF_XDP on a virtual wire");
        let frames = wire.frames();
        frames.send(&veth::udp6(1000, PORT, b"IPv6"));
        let mut to_another = veth::udp(1000, PORT, b"another");
        to_another[33] = 77;
        frames.send(&to_another);
        frames.send(&veth::udp(1000, PORT, b"ours"));
        let mut found = BTreeMap::new();
        collect(&mut receiver, 1, &mut found);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [b"ours".to_vec()]);
        let counters = receiver.xdp_counters().expect("counters");
        assert_eq!(counters.steered, 1, "{counters:?}");
        assert!(counters.other_port >= 2, "{counters:?}");
    });
}

#[test]
fn what_is_refused_says_why() {
    let unknown = XdpOptions::new("no-such-if", ([127, 0, 0, 1], 0).into());
    assert!(matches!(XdpReceiver::open(&unknown), Err(XdpError::Interface { .. })));
}

/// Opened in one thread, run in another.
#[test]
fn receivers_can_move_to_their_threads() {
    fn moves<T: Send>() {}
    moves::<XdpReceiver>();
}
