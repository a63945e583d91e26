//! Sending by AF_XDP over a virtual wire: packets arrive intact and once, and those that the interface drops are counted.
//! Needs root.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use crate::mixture::{Inlet, PORT, collect, payload};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::pace::Pace;
use evforge_net::socket::{ReceiverOptions, SendError, SenderOptions, UdpReceiver, UdpSender};
use evforge_net::xdp::{XdpMode, XdpOptions, XdpReceiver};
use evforge_testkit::patience::{patience, wait_until};
use evforge_testkit::veth::{self, RECEIVER, SENDER, Wire, with_wire};

fn destination() -> SocketAddr {
    ([10, 9, 0, 2], PORT).into()
}

fn open(wire: &Wire, options: &SenderOptions) -> Result<UdpSender, SendError> {
    wire.at_sender(|| UdpSender::open_by_xdp(options, SENDER))
}

/// Packets of many lengths and several sources, each unlike every other one.
fn packets(count: u32, longest: usize) -> (PacketSlab, BTreeMap<Vec<u8>, u32>) {
    let lengths = [4, 18, 100, 512, 1471, 1472, 4054, 4055, 8150, 8972].map(|length| longest.min(length));
    let mut slab = PacketSlab::new(count as usize, 64 << 20);
    let mut sent = BTreeMap::new();
    for number in 0..count {
        let bytes = payload(number, lengths[number as usize % lengths.len()]);
        let source = ([10, 0, 0, 1], 1000 + number as u16 % 5).into();
        assert!(slab.push(&bytes, bytes.len(), PacketOrigin { source, ..PacketOrigin::default() }));
        sent.insert(bytes, 1);
    }
    (slab, sent)
}

fn send_all(sender: &mut UdpSender, slab: &PacketSlab) {
    let sent = sender.send(&slab.batch(), 0, Instant::now() + patience()).expect("sending");
    assert_eq!(sent, slab.len());
}

/// Sends to a receiver, and checks that all arrives.
fn deliver(wire: &Wire, inlet: &mut (impl Inlet + Send), mtu: u32) {
    let (slab, sent) = packets(1000, mtu as usize - 28);
    let pace = Pace::PacketsPerSecond(20_000.0);
    let options = SenderOptions { pace, source_ports: 3, ..SenderOptions::new(destination()) };
    let mut sender = open(wire, &options).expect("AF_XDP on a virtual wire");
    let mut found = BTreeMap::new();
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| collect(inlet, sent.len(), &mut found));
        send_all(&mut sender, &slab);
        receiving.join().expect("all arrives");
    });
    assert!(found == sent, "not every payload came intact and once");
    let report = sender.report();
    assert_eq!((report.packets, report.dropped, report.refused), (1000, 0, 0));
    assert_eq!(report.bytes, sent.keys().map(|payload| payload.len() as u64).sum::<u64>());
    assert_eq!(sender.sources(), 5);
    assert!(report.share_achieved().is_some());
}

#[test]
fn each_packet_arrives_intact_and_once() {
    if !veth::is_possible("each_packet_arrives_intact_and_once") {
        return;
    }
    for mtu in [1500, 9000] {
        for queues in [1, 2] {
            with_wire(queues, mtu, |wire| {
                let options = ReceiverOptions { coalesce: false, ..ReceiverOptions::new(destination()) };
                deliver(wire, &mut UdpReceiver::open(&options).expect("a socket"), mtu);
            });
            with_wire(queues, mtu, |wire| {
                let modes = vec![XdpMode::Driver];
                let options = XdpOptions {
                    modes,
                    ring: 4096,
                    frames: 4096,
                    ..XdpOptions::new(RECEIVER, destination())
                };
                let mut receiver = XdpReceiver::open(&options).expect("AF_XDP on a virtual wire");
                deliver(wire, &mut receiver, mtu);
                let counters = receiver.xdp_counters().expect("counters");
                // Our own checksums are whole.
                assert_eq!((counters.wrong_checksum, counters.not_verifiable), (0, 0), "{counters:?}");
            });
        }
    }
}

#[test]
fn packets_that_the_interface_drops_are_counted() {
    if !veth::is_possible("packets_that_the_interface_drops_are_counted") {
        return;
    }
    with_wire(1, 1500, |wire| {
        let (slab, sent) = packets(3000, 1000);
        let options = ReceiverOptions { coalesce: false, ..ReceiverOptions::new(destination()) };
        let mut receiver = UdpReceiver::open(&options).expect("a socket");
        let mut sender = open(wire, &SenderOptions::new(destination())).expect("AF_XDP on a virtual wire");
        send_all(&mut sender, &slab);
        // Nothing that is sent now can arrive.
        veth::ip(&format!("link set {RECEIVER} down"));
        let (late, _) = packets(100, 1000);
        let failure = sender.send(&late.batch(), 0, Instant::now() + patience()).err();
        veth::ip(&format!("link set {RECEIVER} up"));
        let report = sender.report();
        let mut slab = PacketSlab::new(4096, 64 << 20);
        let mut received = 0;
        let mut lost = 0;
        wait_until("every packet is received, lost or dropped", || {
            slab.clear();
            received += receiver.receive(&mut slab, Instant::now()).expect("receiving") as u64;
            lost = receiver.drops().expect("a count").count;
            received + lost + report.dropped >= report.packets
        });
        assert_eq!(received + lost + report.dropped, report.packets);
        assert!(report.packets >= sent.len() as u64);
        assert!(failure.is_some() || report.dropped == 100, "{report:?}");
    });
}

#[test]
fn the_neighbour_is_asked_for_and_what_leads_nowhere_is_said() {
    if !veth::is_possible("the_neighbour_is_asked_for_and_what_leads_nowhere_is_said") {
        return;
    }
    with_wire(1, 1500, |wire| {
        wire.at_sender(|| veth::ip(&format!("neighbour delete 10.9.0.2 dev {SENDER}")));
        let options = ReceiverOptions { coalesce: false, ..ReceiverOptions::new(destination()) };
        let mut receiver = UdpReceiver::open(&options).expect("a socket");
        let mut sender = open(wire, &SenderOptions::new(destination())).expect("a neighbour that answers");
        let (slab, sent) = packets(10, 1000);
        send_all(&mut sender, &slab);
        let mut found = BTreeMap::new();
        collect(&mut receiver, 10, &mut found);
        assert!(found == sent);

        let mut too_long = PacketSlab::new(1, 0);
        assert!(too_long.push(&[0; 1473], 1473, PacketOrigin::default()));
        let text = sender.send(&too_long.batch(), 0, Instant::now()).expect_err("too long").to_string();
        assert!(text.contains("(1473 bytes)") && text.contains("Message too long"), "{text}");

        let refused = |address: &str, interface: &str| {
            let options = SenderOptions::new(address.parse().expect("an address"));
            let outcome = wire.at_sender(|| UdpSender::open_by_xdp(&options, interface));
            outcome.expect_err("not possible").to_string()
        };
        let text = refused("10.9.0.2:1", SENDER);
        assert!(text.contains("every queue has an AF_XDP socket already"), "{text}");
        drop(sender);
        for (address, interface, expected) in [
            ("10.9.0.77:1", SENDER, "10.9.0.77 does not answer (ARP)"),
            ("10.9.0.2:1", "lo", "packets to there leave by wire-s"),
            ("10.9.0.2:1", "no-such-if", "ip -brief link"),
            ("[fd09::2]:1", SENDER, "for IPv4 only: send by a socket"),
        ] {
            let text = refused(address, interface);
            assert!(text.contains(expected) && text.contains("by AF_XDP through"), "{text}");
        }
    });
}
