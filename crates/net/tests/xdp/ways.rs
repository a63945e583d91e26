//! Every way in over a virtual wire, with everything that may be on a wire: payloads arrive intact and once, and what is
//! not ours still reaches the kernel ("Done when" 1 of the work on receiving). Needs root.
//!
//! | way | queues | MTU |
//! |---|---|---|
//! | socket, socket with UDP_GRO, AF_XDP generic, AF_XDP in the driver | 1, 2 | 1500, 9000 |
//!
//! Each is mixed with IPv6, VLAN tags (AF_XDP: the kernel needs interfaces for them), IP options, fragments, ICMP, ARP and another port.

use std::net::SocketAddr;

use crate::mixture::{PORT, ROUNDS, Sent, drive};
use evforge_net::socket::{ReceiverOptions, UdpReceiver};
use evforge_net::xdp::{XdpMode, XdpOptions, XdpReceiver};
use evforge_testkit::veth::{self, RECEIVER, SENDER, Wire, with_wire};

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Socket { coalesce: bool },
    Xdp(XdpMode),
}

const WAYS: [Way; 4] = [
    Way::Socket { coalesce: false },
    Way::Socket { coalesce: true },
    Way::Xdp(XdpMode::Generic),
    Way::Xdp(XdpMode::Driver),
];

fn address() -> SocketAddr {
    SocketAddr::new("::".parse().expect("an address"), PORT)
}

/// Small rings, so that tests do not lock much memory.
fn by_xdp(mode: XdpMode) -> XdpOptions {
    XdpOptions { modes: vec![mode], ring: 1024, frames: 1024, ..XdpOptions::new(RECEIVER, address()) }
}

#[test]
fn each_payload_arrives_intact_and_once_and_other_traffic_reaches_the_kernel() {
    if !veth::is_possible("each_payload_arrives_intact_and_once_and_other_traffic_reaches_the_kernel") {
        return;
    }
    for way in WAYS {
        for queues in [1, 2] {
            for mtu in [1500, 9000] {
                println!("{way:?}, {queues} queues, MTU {mtu}");
                with_wire(queues, mtu, |wire| match way {
                    Way::Socket { coalesce } => by_socket(wire, coalesce, queues, mtu),
                    Way::Xdp(mode) => by_af_xdp(wire, mode, queues, mtu),
                });
            }
        }
    }
}

fn by_socket(wire: &Wire, coalesce: bool, queues: u32, mtu: u32) {
    // The queues of a virtual wire count, and frames are coalesced, only then.
    veth::ethtool(RECEIVER, "gro on rx-udp-gro-forwarding on");
    let options = ReceiverOptions { coalesce, ..ReceiverOptions::new(address()) };
    let mut receiver = UdpReceiver::open(&options).expect("a socket");
    assert_eq!(receiver.coalesces(), coalesce);
    // Frames with tags are for interfaces of their VLAN, not for a socket here.
    let sent = drive(wire, &mut receiver, mtu, &[]);
    let counters = *receiver.counters();
    assert_eq!((counters.packets, counters.bytes), (sent.packets, sent.bytes), "{counters:?}");
    assert_eq!((counters.cut, receiver.drops().expect("a count").count), (0, 0), "{counters:?}");
    if coalesce {
        assert!(counters.coalesced >= 2 * u64::from(ROUNDS), "nothing came together: {counters:?}");
    } else {
        assert_eq!(counters.coalesced, 0);
    }
    check_queues(queues);
}

fn by_af_xdp(wire: &Wire, mode: XdpMode, queues: u32, mtu: u32) {
    if mode == XdpMode::Generic {
        // The wire's queues are emptied each by itself, and counted. (Which one a frame came by is not known any more to
        // a program in the generic way: to it, all are in the first.)
        wire.at_sender(|| veth::ethtool(SENDER, "tso off"));
        veth::ethtool(RECEIVER, "gro on");
    }
    let mut receiver = XdpReceiver::open(&by_xdp(mode)).expect("AF_XDP on a virtual wire");
    assert_eq!((receiver.mode(), receiver.is_zero_copy()), (Some(mode), false));
    assert!(receiver.warnings().is_empty(), "{:?}", receiver.warnings());
    let sent = drive(wire, &mut receiver, mtu, &[1, 2]);
    check_counters(&receiver, &sent, mtu);
    assert_eq!(receiver.xdp_counters().expect("counters").no_socket, 0);
    check_queues(queues);
    drop(receiver);
    assert!(!veth::ip(&format!("link show {RECEIVER}")).contains("xdp"), "still attached");
}

/// Every queue of the wire has brought packets, as the driver counts them.
fn check_queues(queues: u32) {
    let output = std::process::Command::new("ethtool").args(["-S", RECEIVER]).output();
    let text = String::from_utf8(output.expect("the command ethtool").stdout).expect("text");
    for queue in 0..queues {
        let name = format!("rx_queue_{queue}_xdp_packets:");
        let count = text.lines().find_map(|line| line.trim().strip_prefix(&name)?.trim().parse::<u64>().ok());
        assert!(count.is_some_and(|count| count > u64::from(ROUNDS)), "queue {queue}: {text}");
    }
}

/// Every frame is counted as what it was.
fn check_counters(receiver: &XdpReceiver, sent: &Sent, mtu: u32) {
    let counters = receiver.xdp_counters().expect("counters");
    let rounds = u64::from(ROUNDS);
    let parts = counters.steered
        + counters.no_socket
        + counters.other_port
        + counters.fragments
        + counters.extended
        + counters.not_udp;
    assert_eq!(counters.seen, parts, "{counters:?}");
    assert_eq!(counters.steered + counters.no_socket, sent.plain, "{counters:?}");
    assert_eq!(counters.frames, counters.steered, "{counters:?}");
    assert_eq!(counters.kernel_socket, counters.no_socket + 2 * rounds, "{counters:?}");
    assert_eq!(counters.fragments, 2 * rounds, "{counters:?}");
    // The kernels of both ends talk, too.
    assert!(
        counters.extended >= rounds && counters.other_port >= rounds && counters.not_udp >= 2,
        "{counters:?}"
    );
    assert_eq!((counters.dropped, counters.ring_full, receiver.discarded()), (0, 0, 0), "{counters:?}");
    let delivered = receiver.counters();
    assert_eq!((delivered.packets, delivered.bytes, delivered.cut), (sent.packets, sent.bytes, 0));
    if mtu > 4000 {
        assert!(counters.gathered > 0, "{counters:?}");
    }
}

#[test]
fn packets_in_a_queue_without_socket_arrive_beside() {
    if !veth::is_possible("packets_in_a_queue_without_socket_arrive_beside") {
        return;
    }
    with_wire(2, 1500, |wire| {
        let options = XdpOptions { queues: Some(vec![0]), ..by_xdp(XdpMode::Driver) };
        let mut receiver = XdpReceiver::open(&options).expect("AF_XDP on a virtual wire");
        assert!(receiver.warnings()[0].contains("has 2 queues, of which 1"), "{:?}", receiver.warnings());
        // The kernel has no interface for tagged frames.
        let sent = drive(wire, &mut receiver, 1500, &[]);
        check_counters(&receiver, &sent, 1500);
        let counters = receiver.xdp_counters().expect("counters");
        assert!(counters.no_socket > 0 && counters.steered > 0, "{counters:?}");
    });
}
