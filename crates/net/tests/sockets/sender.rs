//! The sender over real loopback sockets.

use std::time::{Duration, Instant};

use crate::loopback::{collect, local, packets, send_all, to};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::pace::Pace;
use evforge_net::socket::{ReceiverOptions, SenderOptions, UdpReceiver, UdpSender};
use evforge_testkit::patience::patience;

#[test]
fn packets_to_a_port_without_a_listener_are_sent_and_counted_as_refused() {
    // An address of its own, so that no other test can have the port.
    let options = ReceiverOptions::new("127.0.0.9:0".parse().unwrap());
    let nobody = UdpReceiver::open(&options).unwrap().local_address();
    let mut sender = UdpSender::open(&SenderOptions::new(nobody)).unwrap();
    send_all(&mut sender, &packets(&[8; 200]));
    let report = sender.report();
    assert_eq!(report.packets, 200);
    assert!(report.refused > 0, "{report:?}");
}

#[test]
fn own_timing_is_kept_and_a_deadline_stops_in_between() {
    let mut receiver = UdpReceiver::open(&local()).unwrap();
    let pace = Pace::OwnTiming { speed: 1e-3 };
    let mut sender = UdpSender::open(&SenderOptions { pace, ..to(&receiver) }).unwrap();
    // One packet every 1000 ns, played a thousand times slower.
    let slab = packets(&[8; 20]);
    let start = Instant::now();
    send_all(&mut sender, &slab);
    assert!(start.elapsed() >= Duration::from_millis(19), "faster than recorded");
    assert_eq!(collect(&mut receiver, &mut PacketSlab::new(64, 0), 20).len(), 20);

    let pace = Pace::PacketsPerSecond(0.01);
    let mut sender = UdpSender::open(&SenderOptions { pace, ..to(&receiver) }).unwrap();
    let stopped = sender.send(&slab.batch(), 5, Instant::now() + Duration::from_millis(5)).unwrap();
    assert_eq!((stopped, sender.report().packets), (6, 1));
}

#[test]
fn a_packet_that_cannot_be_sent_is_named() {
    let receiver = UdpReceiver::open(&local()).unwrap();
    let mut sender = UdpSender::open(&to(&receiver)).unwrap();
    send_all(&mut sender, &packets(&[8, 8]));
    let too_long = vec![0; 65_508];
    let mut large = PacketSlab::new(1, 70_000);
    assert!(large.push(&too_long, too_long.len(), PacketOrigin::default()));
    let text = sender.send(&large.batch(), 0, Instant::now() + patience()).unwrap_err().to_string();
    assert!(text.contains("sending packet 2 (65508 bytes) to UDP 127.0.0.1:"), "{text}");
}

#[test]
fn the_sources_of_a_recording_are_spread_over_the_ports_and_keep_their_order() {
    let mut receiver = UdpReceiver::open(&local()).unwrap();
    let mut sender = UdpSender::open(&SenderOptions { source_ports: 3, ..to(&receiver) }).unwrap();
    let mut slab = PacketSlab::new(300, 0);
    for number in 0..300_u16 {
        let source = ([10, 0, 0, (number % 5) as u8], 77).into();
        let origin = PacketOrigin { source, ..PacketOrigin::default() };
        assert!(slab.push(&number.to_le_bytes(), 2, origin));
    }
    send_all(&mut sender, &slab);
    assert_eq!((sender.report().packets, sender.report().bytes, sender.sources()), (300, 600, 5));
    let mut found = std::collections::BTreeMap::<_, Vec<u16>>::new();
    let mut received = PacketSlab::new(4096, 8 << 20);
    let deadline = Instant::now() + patience();
    while found.values().map(Vec::len).sum::<usize>() < 300 && Instant::now() < deadline {
        received.clear();
        receiver.receive(&mut received, deadline).unwrap();
        for packet in received.batch().iter() {
            let number = u16::from_le_bytes(packet.bytes.try_into().unwrap());
            found.entry(packet.origin.source.port()).or_default().push(number);
        }
    }
    // Five sources on three ports: two, two and one.
    let mut counts: Vec<usize> = found.values().map(Vec::len).collect();
    counts.sort_unstable();
    assert_eq!(counts, [60, 120, 120]);
    assert!(found.values().all(|numbers| numbers.is_sorted()), "{found:?}");

    let text = UdpSender::open(&SenderOptions { source_ports: 0, ..to(&receiver) }).unwrap_err().to_string();
    assert!(text.contains("cannot send from 0 ports: give a number from 1 to"), "{text}");
}
