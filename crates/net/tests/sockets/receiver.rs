//! The receiver over real loopback sockets.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::loopback::{collect, content, local, packets, send_all, to};
use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
use evforge_net::kernel_counters::KernelCounters;
use evforge_net::pace::Pace;
use evforge_net::socket::{ReceiverOptions, SenderOptions, UdpReceiver, UdpSender};
use evforge_testkit::patience::patience;

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
    const COUNT: usize = 5000;
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
    assert_eq!(receiver.receive(&mut slab, Instant::now() + patience()).unwrap(), 0);
}

#[test]
fn arrival_stamps_come_from_the_clock_that_was_asked_for() {
    for (kernel_stamps, clock) in [(true, ArrivalClock::Kernel), (false, ArrivalClock::Process)] {
        let mut receiver = UdpReceiver::open(&ReceiverOptions { kernel_stamps, ..local() }).unwrap();
        let mut sender = UdpSender::open(&to(&receiver)).unwrap();
        send_all(&mut sender, &packets(&[8]));
        let mut slab = PacketSlab::new(10, 0);
        assert_eq!(receiver.receive(&mut slab, Instant::now() + patience()).unwrap(), 1);
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
        assert_eq!(receiver.receive(&mut slab, Instant::now() + patience()).unwrap(), 1);
        assert_eq!(slab.batch().get(0).unwrap().origin.source, sender.local_address());
    }
}

/// Over loopback: a group by the interface of the sender's address, beside packets to the host itself.
#[test]
fn broadcasts_are_received_by_who_takes_all_addresses() {
    let everywhere = ReceiverOptions::new("0.0.0.0:0".parse().unwrap());
    let mut receiver = UdpReceiver::open(&everywhere).unwrap();
    let to_all = SocketAddr::from(([127, 255, 255, 255], receiver.local_address().port()));
    let sent = packets(&[6]);
    send_all(&mut UdpSender::open(&SenderOptions::new(to_all)).unwrap(), &sent);
    let mut slab = PacketSlab::new(1, 100);
    assert_eq!(receiver.receive(&mut slab, Instant::now() + patience()).unwrap(), 1);
    assert_eq!(content(&slab), content(&sent));
}

#[test]
fn a_group_is_received_once_it_is_joined_and_others_are_not() {
    let mut receiver = UdpReceiver::open(&ReceiverOptions::new("0.0.0.0:0".parse().unwrap())).unwrap();
    let port = receiver.local_address().port();
    let [joined, other] = [[239, 77, 1, 2], [239, 77, 1, 3]].map(|group| SocketAddr::from((group, port)));
    let send = |destination: SocketAddr, length: usize| {
        let source = Some("127.0.0.1:0".parse().unwrap());
        let options = SenderOptions { source, ..SenderOptions::new(destination) };
        send_all(&mut UdpSender::open(&options).unwrap(), &packets(&[length]));
    };
    send(joined, 10);
    receiver.join(joined.ip(), Some("lo")).unwrap();
    // Another program on this host that has joined the other group does not bring it to us.
    let elsewhere = UdpReceiver::open(&ReceiverOptions::new("0.0.0.0:0".parse().unwrap())).unwrap();
    elsewhere.join(other.ip(), Some("lo")).unwrap();
    send(other, 11);
    send(joined, 12);
    send(SocketAddr::from(([127, 0, 0, 1], port)), 13);
    let mut slab = PacketSlab::new(10, 0);
    let lengths: Vec<usize> =
        collect(&mut receiver, &mut slab, 2).iter().map(|(bytes, _)| bytes.len()).collect();
    assert_eq!(lengths, [12, 13]);
    // Loopback delivers inside the send call: nothing else can come.
    slab.clear();
    assert_eq!(receiver.receive(&mut slab, Instant::now()).unwrap(), 0);
}

#[test]
fn what_is_wrong_with_a_group_is_said() {
    let receiver = UdpReceiver::open(&ReceiverOptions::new("0.0.0.0:0".parse().unwrap())).unwrap();
    for (group, interface, expected) in [
        ("10.0.0.1", None, "it is no multicast address. Those are 224.0.0.0 to 239.255.255.255"),
        ("ff02::7", None, "of different kinds. Receive on [::]:"),
        (
            "239.77.1.2",
            Some("no-such-one"),
            "no interface no-such-one that can. See which it has: ip -brief link",
        ),
    ] {
        let error = receiver.join(group.parse().unwrap(), interface).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Receivers and senders are opened in one thread and run in another.
#[test]
fn receivers_and_senders_can_move_to_their_threads() {
    fn moves<T: Send>() {}
    moves::<UdpReceiver>();
    moves::<UdpSender>();
    moves::<evforge_net::capture::CaptureReader>();
    moves::<evforge_net::capture::PcapngWriter>();
}
