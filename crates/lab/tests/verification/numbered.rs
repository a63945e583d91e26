//! Numbered packets from the traffic to the account: without a network what was provoked is what is reported, and over
//! loopback what was sent is what was received.

use evforge_core::counter::{CounterSnapshot, Law};
use evforge_core::ledger::PacketLedger;
use evforge_core::packet::{Packet, PacketOrigin, PacketSlab};
use evforge_core::quantity::{Frequency, Rate};
use evforge_lab::link::numbered::*;
use evforge_lab::link::{LinkReceiving, Pulses, Schedule};
use evforge_net::live_receiver::{LiveReceiver, ReceiveMethod, ReceivePlan};
use evforge_net::session::SessionLimits;
use evforge_net::socket::ReceiverOptions;
use evforge_wire::numbered::NumberedLayout;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn traffic(flows: u16, packets: u64, schedule: Option<Schedule>, faults: &[&str]) -> Traffic {
    let settings = TrafficSettings {
        layout: NumberedLayout::Evforge,
        flows,
        sizes: "3x64B,1472B".parse().expect("sizes"),
        schedule,
        largest_packets: Some(packets),
        largest_bytes: None,
        faults: faults.iter().map(|fault| fault.parse().expect("a fault")).collect(),
    };
    Traffic::new(settings).expect("possible settings")
}

/// Takes all packets of a traffic, each flow from an address of its own, a microsecond after they were sent.
fn account(mut traffic: Traffic) -> Account {
    let flows = traffic.settings().flows;
    let mut slabs: Vec<_> = (0..flows).map(|_| PacketSlab::new(1000, 1 << 20)).collect();
    while traffic.next_due().is_some() {
        assert!(traffic.make(1_000_000, &mut slabs), "the slabs are large enough");
    }
    traffic.finish(&mut slabs);
    let mut account = Account::default();
    for (slab, flow) in slabs.iter().zip(0_u16..) {
        for packet in slab.batch().iter() {
            account.take(&from(packet, flow, 1_001_000));
        }
    }
    account
}

fn from(packet: Packet<'_>, flow: u16, arrival_ns: u64) -> Packet<'_> {
    let origin = PacketOrigin { source: source(flow), arrival_ns, ..PacketOrigin::default() };
    Packet { origin, ..packet }
}

fn source(flow: u16) -> SocketAddr {
    ([10, 0, 0, 1], 5000 + flow).into()
}

#[test]
fn what_was_provoked_is_what_is_reported() {
    let faults = ["lose:packet=10", "twice:packet=20", "late:packet=30,by=3", "lose:packet=99"];
    let account = account(traffic(2, 200, None, &faults));
    assert_eq!(account.flows().len(), 2);
    for flow in account.flows() {
        let counts = flow.sequence();
        // Packet 99 was the last one: its loss is not in the numbers.
        assert_eq!((counts.sent, counts.received, counts.lost), (99, 99, 1));
        assert_eq!((counts.reordered, counts.duplicated, counts.restarts), (1, 1, 0));
    }
    assert_eq!(account.lost(), 2);
    assert_eq!(account.latency().count(), 198);
    assert_eq!(account.latency().largest(), Duration::from_micros(1));
    assert_eq!(CounterSnapshot::of(account.counters()).imbalance(Law::Packets), 0);
}

#[test]
fn packets_of_no_use_are_counted_under_their_reasons() {
    let mut account = Account::default();
    let mut take = |bytes: &[u8]| {
        let packet = Packet { bytes, original_length: bytes.len() as u32, origin: PacketOrigin::default() };
        account.take(&packet);
    };
    let good = evforge_wire::numbered::NumberedHeader { flow: 0, number: 0, sent_ns: 5 }.bytes();
    take(&good);
    take(&good[..20]);
    take(&[0; 40]);
    let mut later = good;
    later[4] = 9;
    take(&later);
    for flow in 1..=MOST_FLOWS as u16 {
        take(&evforge_wire::numbered::NumberedHeader { flow, number: 0, sent_ns: 5 }.bytes());
    }
    let counters = account.counters();
    assert_eq!(
        (counters.packets_too_short, counters.packets_wrong_magic, counters.packets_wrong_version),
        (1, 1, 1)
    );
    assert_eq!((counters.packets_counted, counters.packets_of_too_many_flows), (MOST_FLOWS as u64, 1));
    // They have arrived at time 0.
    assert_eq!((counters.packets_from_the_future, account.latency().count()), (MOST_FLOWS as u64, 0));
    assert_eq!(CounterSnapshot::of(counters).imbalance(Law::Packets), 0);
}

/// Sends over loopback, then receives what waits in the socket.
fn over_loopback(traffic: Traffic, buffer: usize, settings: &SendSettings) -> ReceiveReport {
    let mut settings = settings.clone();
    let options = ReceiverOptions {
        receive_buffer: buffer,
        coalesce: false,
        ..ReceiverOptions::new(([127, 0, 0, 1], 0).into())
    };
    let plan = ReceivePlan {
        method: ReceiveMethod::Socket,
        socket: options,
        xdp: None,
        ports: Vec::new(),
        sockets_per_port: 1,
    };
    let receiver = LiveReceiver::open(&plan).expect("a port of loopback");
    settings.destination = receiver[0].local_address();
    let sent = send(traffic, &settings, &AtomicBool::new(false)).expect("packets over loopback");
    let limits = SessionLimits { ends_after: Some(Duration::ZERO), ..SessionLimits::default() };
    let ending = LinkReceiving { limits, ..LinkReceiving::default() };
    let received = receive(receiver, NumberedLayout::Evforge, &ending, &AtomicBool::new(false), &mut |_| {})
        .expect("packets");
    let again: SentReport = serde_json::from_str(&sent.json()).expect("a sender's report");
    assert_eq!((again.packets, &again.flows), (sent.packets, &sent.flows));
    ReceiveReport::new(received, vec![sent])
}

fn anywhere() -> SendSettings {
    SendSettings::new(([127, 0, 0, 1], 9).into())
}

fn counts(packets: PacketLedger) -> (u64, u64, u64) {
    (packets.sent.unwrap_or(0), packets.received, packets.lost)
}

#[test]
fn flows_arrive_whole_and_the_report_knows_of_tail_losses() {
    let report = over_loopback(traffic(3, 300, None, &["lose:packet=99"]), 8_000_000, &anywhere());
    assert!(report.is_exact() && report.mismatches.is_empty(), "{:?}", report.mismatches);
    assert_eq!(counts(report.packets()), (300, 297, 3));
    assert_eq!(report.received.state.losses.socket.count, 0);
    for flow in &report.flows {
        assert_eq!((counts(flow.packets), flow.packets.imbalance()), ((100, 99, 1), 0));
    }
    let sent = &report.sent[0];
    assert_eq!((sent.packets, sent.datagrams, sent.refused, sent.flows.len()), (300, 297, 0, 3));
    assert_eq!(sent.losses.interface.as_deref(), Some("lo"));
    assert!(!sent.segmented, "loopback hands pieces on as a whole");
}

#[test]
fn what_the_sender_says_is_not_mixed_up_with_another_run() {
    let report = over_loopback(traffic(1, 10, None, &[]), 100_000, &anywhere());
    let mut other = report.sent[0].clone();
    other.flows[0].source.set_port(1);
    let mixed = ReceiveReport::new(report.received, vec![other]);
    assert!(!mixed.is_exact());
    assert_eq!(mixed.mismatches.len(), 1);
    assert_eq!(counts(mixed.packets()), (20, 10, 10), "its flow counts as one of which nothing came");
}

#[test]
fn pulses_are_sent_as_pulses() {
    let pulses = Pulses { frequency: Frequency { millihertz: 100_000 }, peak_factor: 10.0 };
    let schedule = Schedule::new(Rate::Packets(10_000), Some(pulses)).expect("a schedule");
    let report = over_loopback(traffic(1, 500, Some(schedule), &[]), 8_000_000, &anywhere());
    assert_eq!(counts(report.packets()), (500, 500, 0));
    let sent = &report.sent[0];
    let pulses = sent.pulses.expect("pulses");
    assert_eq!((pulses.count, pulses.frequency_hz, pulses.peak_factor), (5, 100.0, 10.0));
    // The last packet is due one distance before the end of the fifth pulse.
    assert_eq!(sent.scheduled_s, Some(0.04099));
    // Never early.
    assert!(sent.elapsed_s >= 0.04099, "{}", sent.elapsed_s);
    assert!(pulses.peak_packets_per_second <= 10.2 * 10_000.0, "{pulses:?}");
}

#[test]
fn a_sender_ends_when_its_time_is_over() {
    let schedule = Schedule::new(Rate::Packets(1), None).expect("a schedule");
    let settings = SendSettings { duration: Some(Duration::from_millis(20)), ..anywhere() };
    let report = over_loopback(traffic(1, 1_000_000, Some(schedule), &[]), 100_000, &settings);
    assert_eq!(counts(report.packets()), (1, 1, 0));
}

#[test]
fn impossible_ports_and_cores_are_explained() {
    let settings = SendSettings { source: Some(([127, 0, 0, 1], 65_535).into()), ..anywhere() };
    let error = send(traffic(2, 1, None, &[]), &settings, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains("beyond 65535"), "{error}");
    let settings = SendSettings { core: Some(100_000), ..anywhere() };
    let error = send(traffic(1, 1, None, &[]), &settings, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains("core 100000"), "{error}");
}
