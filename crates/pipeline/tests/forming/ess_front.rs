//! What holds for every detector of the ESS readout before its own records are looked at (ESS readout formats,
//! section 1), shown with a beam monitor, whose every readout is an event.

use evforge_config::Config;
use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_wire::ess::beam_monitor::MonitorKind;
use evforge_wire::ess::{EssHeader, EssTime, MonitorFields, RECORD, TICKS_PER_SECOND, detector_type};
use proptest::prelude::*;
use std::path::Path;

const PERIOD: u32 = TICKS_PER_SECOND / 14;

fn detector(ess: &str) -> Box<dyn Detector> {
    let text = format!(
        "name = 'm'\n[ess]\ntype = 'cbm'\nmax_time_of_flight = '2s'\n{ess}\n[ess_beam_monitors]\n\
         monitor = [{{ name = 'm', fen = 0, channel = 0, kind = 'event_0d' }}]\n"
    );
    let config = Config::parse(Path::new("m.toml"), &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    config.build_detector().expect("a configuration that was read")
}

/// The time so many ticks after pulse number `pulse`.
fn time(pulse: u32, ticks: u32) -> EssTime {
    EssTime { seconds: 1_700_000_000 + pulse / 14, ticks: pulse % 14 * PERIOD + ticks }
}

fn header(pulse: u32, sequence: u32) -> EssHeader {
    EssHeader {
        version: 1,
        detector_type: detector_type::CBM,
        output_queue: 0,
        time_source: 0,
        pulse: time(pulse, 0),
        previous_pulse: time(pulse.saturating_sub(1), 0),
        sequence,
    }
}

fn record(time: EssTime) -> MonitorFields {
    MonitorFields { fibre: 22, kind: MonitorKind::Event0D.to_byte(), time, ..MonitorFields::default() }
}

/// A packet with these records.
fn packet(header: &EssHeader, records: &[MonitorFields]) -> Vec<u8> {
    let records: Vec<[u8; RECORD]> = records.iter().map(MonitorFields::encode).collect();
    let mut packet = Vec::new();
    header.write_packet(records.as_flattened(), &mut packet);
    packet
}

/// A packet with a neutron 1000 ticks after its pulse.
fn neutron(pulse: u32, sequence: u32) -> Vec<u8> {
    packet(&header(pulse, sequence), &[record(time(pulse, 1000))])
}

fn slab(packets: &[Vec<u8>]) -> PacketSlab {
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum::<usize>().max(1));
    for packet in packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    slab
}

/// All events and pulses.
fn formed(detector: &mut dyn Detector, packets: &[Vec<u8>]) -> EventLog {
    let (mut events, mut log) = (EventBatch::new(16), EventLog::default());
    let mut deliver = |events: &mut EventBatch| {
        log.take(events);
        events.clear();
    };
    form(detector, &slab(packets).batch(), &mut events, &mut deliver);
    form_rest(detector, &mut events, &mut deliver);
    assert_eq!((detector.ledger().unaccounted(), detector.ledger().held()), (0, 0));
    log
}

fn value(detector: &dyn Detector, name: &str) -> u64 {
    detector.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

/// Pulses, each with the number of its events.
fn counts(log: &EventLog) -> Vec<(u64, usize)> {
    log.pulses().iter().map(|pulse| (pulse.time_ns.unwrap_or(0), pulse.events.len())).collect()
}

#[test]
fn section_1_every_fault_of_a_header_is_counted_and_costs_only_its_packet() {
    let good = |sequence| neutron(2, sequence);
    let changed = |sequence, place: usize, value: u8| {
        let mut packet = good(sequence);
        packet[place] = value;
        packet
    };
    let with = |change: &dyn Fn(&mut EssHeader)| {
        let mut header = header(2, 100);
        change(&mut header);
        packet(&header, &[record(time(2, 1000))])
    };
    let too_many_ticks = EssTime { ticks: TICKS_PER_SECOND, ..time(2, 0) };
    let faults: Vec<(&str, Vec<u8>)> = vec![
        ("packets_empty", Vec::new()),
        ("packets_wrong_size", good(9)[..4].to_vec()),
        ("packets_wrong_size", good(9)[..31].to_vec()),
        ("packets_wrong_padding", changed(9, 0, 1)),
        ("packets_wrong_version", changed(9, 1, 2)),
        ("packets_wrong_cookie", changed(9, 3, b'T')),
        ("packets_wrong_length", changed(9, 6, 51)),
        ("packets_wrong_type", with(&|header| header.detector_type = detector_type::NMX)),
        ("packets_wrong_output_queue", with(&|header| header.output_queue = 12)),
        ("packets_time_source", with(&|header| header.time_source = 0x02)),
        ("packets_time_source", with(&|header| header.time_source = 0x08)),
        ("packets_time_source", with(&|header| header.time_source = 0x20)),
        ("packets_time_source", with(&|header| header.time_source = 0x80)),
        ("packets_wrong_time_fraction", with(&|header| header.pulse = too_many_ticks)),
        ("packets_pulse_too_far", with(&|header| header.previous_pulse = EssTime::default())),
        ("packets_ragged", packet(&header(2, 100), &[record(time(2, 0))])[..51].to_vec()),
    ];
    for (name, mut fault) in faults {
        if name == "packets_ragged" {
            // The header tells its true length.
            fault[6..8].copy_from_slice(&51_u16.to_le_bytes());
        }
        let mut detector = detector("");
        let log = formed(detector.as_mut(), &[good(0), fault, good(1), neutron(3, 2)]);
        assert_eq!((value(detector.as_ref(), name), log.len()), (1, 3), "{name}");
        assert_eq!(value(detector.as_ref(), "packets_formed_from"), 3, "{name}");
    }
}

#[test]
fn section_1_a_bad_record_costs_only_itself() {
    let good = record(time(2, 1000));
    for (name, bad) in [
        ("impossible_fibre", MonitorFields { fibre: 24, ..good }),
        ("impossible_fen", MonitorFields { fen: 24, ..good }),
        ("wrong_length", MonitorFields { length: 19, ..good }),
        ("wrong_time_fraction", MonitorFields { time: EssTime { ticks: u32::MAX, ..good.time }, ..good }),
        ("unknown_kind", MonitorFields { kind: 9, ..good }),
    ] {
        let mut detector = detector("");
        let log = formed(detector.as_mut(), &[packet(&header(2, 0), &[good, bad, good])]);
        assert_eq!((value(detector.as_ref(), name), log.len()), (1, 2), "{name}");
    }
}

#[test]
fn section_1_a_sequence_number_that_wraps_is_no_gap() {
    let mut detector = detector("");
    let numbers = [u32::MAX - 1, u32::MAX, 0, 1, 3];
    let packets: Vec<_> = numbers.iter().zip(1..).map(|(&number, pulse)| neutron(pulse, number)).collect();
    formed(detector.as_mut(), &packets);
    let source = &detector.ledger().sources[0];
    assert_eq!(
        (source.name.as_str(), source.packets.received, source.packets.lost),
        ("output queue 0", 5, 1)
    );
}

#[test]
fn section_1_what_is_accepted_is_counted_rule_by_rule() {
    let accept = "accept = ['output_queue', 'timing', 'even_fibre_sync', 'record_length_in_bits', 'pulse_distance']\n\
                  odd_output_queue = 255";
    let mut detector = detector(accept);
    let mut odd = header(2, 0);
    (odd.output_queue, odd.time_source) = (255, 0x22);
    let in_bits = MonitorFields { length: 160, ..record(time(2, 1000)) };
    let mut far = header(3, 1);
    (far.output_queue, far.previous_pulse) = (255, EssTime::default());
    let mut unknown = header(3, 2);
    unknown.output_queue = 254;
    let packets = [
        packet(&odd, &[in_bits]),
        packet(&far, &[record(time(3, 5))]),
        packet(&unknown, &[record(time(3, 5))]),
    ];
    assert_eq!(formed(detector.as_mut(), &packets).len(), 2);
    for (name, count) in [
        ("relaxed_output_queue", 2),
        ("relaxed_timing", 1),
        ("relaxed_even_fibre_sync", 1),
        ("relaxed_odd_fibre_sync", 0),
        ("relaxed_pulse_distance", 1),
        ("relaxed_record_length", 1),
        ("even_fibre_sync_lost", 1),
        ("packets_wrong_output_queue", 1),
    ] {
        assert_eq!(value(detector.as_ref(), name), count, "{name}");
    }
    assert_eq!(detector.ledger().sources[0].name, "output queue 255");
}

#[test]
fn section_1_a_pulse_time_that_leaps_harms_nobody() {
    let mut detector = detector("");
    let wild = 14 * 86_400;
    let packets = [neutron(1, 0), packet(&header(wild, 1), &[]), neutron(2, 2), neutron(3, 3), neutron(4, 4)];
    let log = formed(detector.as_mut(), &packets);
    let pulse = |number| time(number, 0).nanoseconds();
    let expected = [(pulse(0), 0), (pulse(1), 1), (pulse(2), 1), (pulse(3), 1), (pulse(4), 1)];
    assert_eq!(counts(&log), expected);
    // The wild pulse and the one it names as its previous one.
    assert_eq!(value(detector.as_ref(), "pulses_unconfirmed"), 2);
    assert_eq!(value(detector.as_ref(), "late"), 0);
}

#[test]
fn section_1_a_heartbeat_closes_what_was_read_out_before() {
    let mut detector = detector("");
    let mut events = EventBatch::new(16);
    // Longer than time stays open for queues that may send as well.
    let heartbeats = (2..=10).map(|pulse| packet(&header(pulse, pulse - 1), &[]));
    let packets: Vec<_> = std::iter::once(neutron(1, 0)).chain(heartbeats).collect();
    let progress = detector.ingest(&slab(&packets[..1]).batch(), 0, &mut events);
    assert_eq!((progress.taken, detector.publish_closed(&mut events), events.len()), (1, false, 0));
    detector.ingest(&slab(&packets[1..]).batch(), 0, &mut events);
    assert!(!detector.publish_closed(&mut events));
    assert_eq!((events.len(), value(detector.as_ref(), "heartbeats")), (1, 9));
}

#[test]
fn section_3_an_event_of_the_previous_pulse_is_filed_under_that_pulse() {
    let mut detector = detector("");
    // 2 ms before pulse 3, told by a packet of pulse 3; pulse 4 has nothing.
    let early = time(2, PERIOD - TICKS_PER_SECOND / 500);
    let packets = [
        neutron(2, 0),
        packet(&header(3, 1), &[record(early), record(time(3, 1000))]),
        packet(&header(4, 2), &[]),
        neutron(5, 3),
    ];
    let log = formed(detector.as_mut(), &packets);
    let pulse = |number| time(number, 0).nanoseconds();
    let expected = [(pulse(1), 0), (pulse(2), 2), (pulse(3), 1), (pulse(4), 0), (pulse(5), 1)];
    assert_eq!(counts(&log), expected);
    assert_eq!(value(detector.as_ref(), "readouts_before_pulse"), 1);
}

proptest! {
    /// Two queues that are listed: however their packets interleave, the events and their pulses are the same.
    #[test]
    fn it_does_not_matter_how_the_queues_interleave(
        times in prop::collection::vec((0..2_u8, 0..40_u32, 0..PERIOD, any::<bool>()), 1..60),
        order in prop::collection::vec(any::<bool>(), 120),
    ) {
        let mut times = times;
        times.sort_by_key(|&(_, pulse, ticks, _)| (pulse, ticks));
        let mut queues: [Vec<Vec<u8>>; 2] = Default::default();
        for (queue, pulse, ticks, is_heartbeat) in times {
            let packets = &mut queues[usize::from(queue)];
            let mut header = header(pulse, packets.len() as u32);
            header.output_queue = queue;
            let records = if is_heartbeat { vec![] } else { vec![record(time(pulse, ticks))] };
            packets.push(packet(&header, &records));
        }
        let interleaved = |mut order: Vec<bool>| {
            let mut waiting = queues.clone().map(|packets| packets.into_iter().peekable());
            let mut packets = Vec::new();
            while waiting.iter_mut().any(|queue| queue.peek().is_some()) {
                let first = usize::from(order.pop().unwrap_or(false));
                let other = 1 - first;
                let next = waiting[first].next();
                packets.push(next.or_else(|| waiting[other].next()).expect("one of them has more"));
            }
            packets
        };
        // Nobody is left behind: the sources may be as far apart as they like.
        let listed = "output_queues = [0, 1]\nsorting = { source_lag = '100s', forward_jump = '100s', restart = '100s' }";
        let one = formed(detector(listed).as_mut(), &interleaved(vec![]));
        let other = formed(detector(listed).as_mut(), &interleaved(order));
        prop_assert_eq!(one, other);
    }
}
