//! Receiver and sender over real loopback sockets, on ports that the kernel chooses.

#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
use evforge_net::kernel_counters::KernelCounters;
use evforge_net::pace::Pace;
use evforge_net::socket::{ReceiverOptions, SenderOptions, UdpReceiver, UdpSender};

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(20);

fn local() -> ReceiverOptions {
    ReceiverOptions::new("127.0.0.1:0".parse().expect("an address"))
}

fn to(receiver: &UdpReceiver) -> SenderOptions {
    SenderOptions::new(receiver.local_address())
}

/// A slab with packets of these lengths, whose bytes tell them apart.
fn packets(lengths: &[usize]) -> PacketSlab {
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

fn send_all(sender: &mut UdpSender, slab: &PacketSlab) {
    let sent = sender.send(&slab.batch(), 0, Instant::now() + PATIENCE).expect("sending over loopback");
    assert_eq!(sent, slab.len(), "not all was sent in time");
}

/// What arrives until `count` packets are there: bytes and original length.
fn collect(receiver: &mut UdpReceiver, slab: &mut PacketSlab, count: usize) -> Vec<(Vec<u8>, u32)> {
    let deadline = Instant::now() + PATIENCE;
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

fn content(slab: &PacketSlab) -> Vec<(Vec<u8>, u32)> {
    slab.batch().iter().map(|packet| (packet.bytes.to_vec(), packet.original_length)).collect()
}

/// Empty, tiny, runs of equal ones with shorter ends, jumbo, the largest possible.
fn mixture() -> Vec<usize> {
    let mut lengths = vec![0, 1, 1, 0, 64];
    lengths.extend([1472; 50]);
    lengths.extend([3, 8972, 8972, 100]);
    lengths.extend([512; 130]);
    lengths.extend([65_507, 9216, 2048, 2049, 2048]);
    lengths
}

#[test]
fn contents_are_the_same_with_and_without_coalescing_and_segmentation() {
    for (coalesce, segment, capacity) in
        [(true, true, 4096), (true, false, 4096), (false, true, 4096), (false, false, 4096), (true, true, 5)]
    {
        let options = ReceiverOptions { coalesce, slot: 65_507, ..local() };
        let mut receiver = UdpReceiver::open(&options).unwrap();
        let mut sender = UdpSender::open(&SenderOptions { segment, ..to(&receiver) }).unwrap();
        let mut slab = PacketSlab::new(capacity, 1 << 20);
        let mut count = 0;
        // In portions that fit into the smallest receive buffer a host may have.
        for lengths in mixture().chunks(50) {
            let sent = packets(lengths);
            send_all(&mut sender, &sent);
            let found = collect(&mut receiver, &mut slab, sent.len());
            assert!(found == content(&sent), "different with {coalesce}, {segment}, {capacity}");
            count += sent.len();
        }
        assert_eq!(receiver.drops().unwrap().count, 0);
        let counters = receiver.counters();
        assert_eq!((counters.packets, counters.bytes), (count as u64, sender.report().bytes));
        assert_eq!(counters.cut, 0);
        if receiver.coalesces() && segment {
            assert!(counters.pieces > 0, "nothing was coalesced: {counters:?}");
            assert!(receiver.drops().unwrap().is_lower_bound);
        } else {
            assert_eq!(counters.coalesced, 0);
        }
    }
}

#[test]
fn nothing_is_lost_at_a_moderate_rate() {
    const COUNT: usize = 20_000;
    const LENGTH: usize = 256;
    let mut receiver = UdpReceiver::open(&local()).unwrap();
    let pace = Pace::PacketsPerSecond(40_000.0);
    let mut sender = UdpSender::open(&SenderOptions { pace, ..to(&receiver) }).unwrap();
    let sending = std::thread::spawn(move || {
        send_all(&mut sender, &packets(&[LENGTH; COUNT]));
        sender.report()
    });
    let mut slab = PacketSlab::new(4096, 8 << 20);
    let mut found = Vec::new();
    loop {
        // Loopback delivers inside the send call: what is sent is there.
        let all_sent = sending.is_finished();
        slab.clear();
        let received = receiver.receive(&mut slab, Instant::now() + Duration::from_millis(1)).unwrap();
        found.extend(content(&slab));
        if all_sent && received == 0 {
            break;
        }
    }
    let report = sending.join().unwrap();
    assert_eq!((report.packets, report.bytes), (COUNT as u64, (LENGTH * COUNT) as u64));
    assert!(report.packets_per_second() <= 40_000.0 * 1.001, "{report:?}");
    assert!(report.deviation.is_some_and(|deviation| deviation.mean <= deviation.largest));
    let dropped = receiver.drops().unwrap().count;
    assert_eq!(found.len() as u64 + dropped, COUNT as u64);
    // A buffer that holds them all cannot overflow, however long this thread is held up.
    if receiver.buffer().granted > COUNT * 4 * LENGTH {
        assert_eq!(found, content(&packets(&[LENGTH; COUNT])));
    }
}

#[test]
fn a_datagram_larger_than_its_slot_is_cut_and_says_so() {
    let mut receiver = UdpReceiver::open(&ReceiverOptions { coalesce: false, slot: 100, ..local() }).unwrap();
    let mut sender = UdpSender::open(&to(&receiver)).unwrap();
    let sent = packets(&[100, 101, 9000, 99]);
    send_all(&mut sender, &sent);
    let found = collect(&mut receiver, &mut PacketSlab::new(10, 0), 4);
    for ((bytes, original_length), (sent, sent_length)) in found.iter().zip(&content(&sent)) {
        assert_eq!(bytes, &sent[..sent.len().min(100)]);
        assert_eq!(original_length, sent_length);
    }
    assert_eq!((receiver.counters().cut, receiver.counters().bytes), (2, 399));
}

#[test]
fn the_drop_counter_is_exact_when_nobody_reads() {
    const COUNT: usize = 3000;
    let before = KernelCounters::read().unwrap();
    let options = ReceiverOptions { coalesce: false, receive_buffer: 50_000, ..local() };
    let mut receiver = UdpReceiver::open(&options).unwrap();
    let mut sender = UdpSender::open(&to(&receiver)).unwrap();
    send_all(&mut sender, &packets(&[200; COUNT]));
    let mut slab = PacketSlab::new(COUNT, 64 << 20);
    let mut received = 0;
    // All that is there: loopback delivers inside the send call.
    loop {
        slab.clear();
        match receiver.receive(&mut slab, Instant::now()).unwrap() {
            0 => break,
            count => received += count,
        }
    }
    let drops = receiver.drops().unwrap();
    assert!(!drops.is_lower_bound);
    assert!(drops.count > 0 && received > 0, "{received} received, {drops:?}");
    assert_eq!(sender.report().packets, received as u64 + drops.count);
    // The host's counter contains this socket's drops (and perhaps those of other tests).
    let host = KernelCounters::read().unwrap().since(&before);
    assert!(host.receive_buffer_errors >= drops.count, "{host:?}");
}

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
fn ports_and_addresses_that_cannot_be_had_are_explained() {
    let receiver = UdpReceiver::open(&local()).unwrap();
    let address = receiver.local_address();
    let text = UdpReceiver::open(&ReceiverOptions::new(address)).unwrap_err().to_string();
    assert!(text.contains(&format!("sudo ss -ulpn 'sport = :{}'", address.port())), "{text}");
    let foreign: SocketAddr = "192.0.2.1:0".parse().unwrap();
    let text = UdpReceiver::open(&ReceiverOptions::new(foreign)).unwrap_err().to_string();
    assert!(text.contains("192.0.2.1 is not an address of this host"), "{text}");
    let source = Some(address);
    let text = UdpSender::open(&SenderOptions { source, ..to(&receiver) }).unwrap_err().to_string();
    assert!(text.contains("from") && text.contains("has the port"), "{text}");
    let text = UdpReceiver::open(&ReceiverOptions { batch: 65, ..local() }).unwrap_err().to_string();
    assert_eq!(text, "the receive option batch is 65; it must be from 1 to 64.");
}

#[test]
fn the_granted_buffer_is_read_back() {
    let receiver = UdpReceiver::open(&ReceiverOptions { receive_buffer: 100_000, ..local() }).unwrap();
    assert_eq!(receiver.buffer().granted, 100_000);
    assert!(receiver.warnings().is_empty());
    // More than any host allows without privilege; with it, all of it is granted.
    let most = (1 << 30) - 1;
    let receiver = UdpReceiver::open(&ReceiverOptions { receive_buffer: most, ..local() }).unwrap();
    let warnings = receiver.warnings().join("\n");
    assert_eq!(
        receiver.buffer().is_short(),
        warnings.contains("sudo sysctl -w net.core.rmem_max=1073741823")
    );
}

#[test]
fn an_idle_receiver_gives_up_at_its_deadline_and_an_overfull_slab_at_once() {
    let mut receiver = UdpReceiver::open(&ReceiverOptions { spin: Duration::MAX, ..local() }).unwrap();
    let mut slab = PacketSlab::new(2, 0);
    assert_eq!(receiver.receive(&mut slab, Instant::now() + Duration::from_millis(2)).unwrap(), 0);
    assert_eq!(receiver.counters().waits, 0);
    let options = ReceiverOptions { spin: Duration::ZERO, ..local() };
    let mut receiver = UdpReceiver::open(&options).unwrap();
    while receiver.counters().waits == 0 {
        assert_eq!(receiver.receive(&mut slab, Instant::now() + Duration::from_millis(2)).unwrap(), 0);
    }
    for _ in 0..2 {
        assert!(slab.push(b"x", 1, PacketOrigin::default()));
    }
    assert_eq!(receiver.receive(&mut slab, Instant::now() + PATIENCE).unwrap(), 0);
}

#[test]
fn arrival_stamps_come_from_the_clock_that_was_asked_for() {
    for (kernel_stamps, clock) in [(true, ArrivalClock::Kernel), (false, ArrivalClock::Process)] {
        let mut receiver = UdpReceiver::open(&ReceiverOptions { kernel_stamps, ..local() }).unwrap();
        let mut sender = UdpSender::open(&to(&receiver)).unwrap();
        send_all(&mut sender, &packets(&[8]));
        let mut slab = PacketSlab::new(10, 0);
        assert_eq!(receiver.receive(&mut slab, Instant::now() + PATIENCE).unwrap(), 1);
        let origin = slab.batch().get(0).unwrap().origin;
        assert_eq!((origin.arrival_clock, origin.source), (clock, sender.local_address()));
        // After 2020; the clock of the machine may well be wrong, but not that wrong.
        assert!(origin.arrival_ns > 1_577_836_800_000_000_000, "{origin:?}");
    }
}

#[test]
fn an_ipv6_socket_for_all_addresses_shows_ipv4_senders_as_such() {
    let everywhere = ReceiverOptions::new("[::]:0".parse().unwrap());
    let Ok(mut receiver) = UdpReceiver::open(&everywhere) else {
        println!("skipped: an_ipv6_socket_for_all_addresses_shows_ipv4_senders_as_such: no IPv6 here");
        return;
    };
    let port = receiver.local_address().port();
    let mut slab = PacketSlab::new(10, 0);
    for destination in [SocketAddr::from(([127, 0, 0, 1], port)), format!("[::1]:{port}").parse().unwrap()] {
        let mut sender = UdpSender::open(&SenderOptions::new(destination)).unwrap();
        send_all(&mut sender, &packets(&[8]));
        slab.clear();
        assert_eq!(receiver.receive(&mut slab, Instant::now() + PATIENCE).unwrap(), 1);
        assert_eq!(slab.batch().get(0).unwrap().origin.source, sender.local_address());
    }
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
    let mut slab = packets(&[8, 8]);
    let too_long = vec![0; 65_508];
    let mut large = PacketSlab::new(1, 70_000);
    assert!(large.push(&too_long, too_long.len(), PacketOrigin::default()));
    send_all(&mut sender, &slab);
    slab.clear();
    let text = sender.send(&large.batch(), 0, Instant::now() + PATIENCE).unwrap_err().to_string();
    assert!(text.contains("sending packet 2 (65508 bytes) to UDP 127.0.0.1:"), "{text}");
}
