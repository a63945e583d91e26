//! AF_XDP over a virtual wire: what it says, loses, and refuses; that packets arrive is tested in `ways.rs`. Needs root.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};

use crate::mixture::{OTHER_PORT, PORT, collect, payload};
use evforge_net::xdp::{ChecksumPolicy, XdpError, XdpMode, XdpOptions, XdpReceiver};
use evforge_testkit::patience::wait_until;
use evforge_testkit::veth::{self, RECEIVER, with_wire};

/// Small rings, so that tests do not lock much memory.
fn options(mode: XdpMode) -> XdpOptions {
    let address = SocketAddr::new("::".parse().expect("an address"), PORT);
    XdpOptions { modes: vec![mode], ring: 1024, frames: 1024, ..XdpOptions::new(RECEIVER, address) }
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
                wait_until("every frame is lost or in a ring", || {
                    let counters = receiver.xdp_counters().expect("counters");
                    counters.ring_full + counters.dropped == SENT - 64
                });
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
