//! Encoded packets, one test for each peculiarity of section 7.

use super::{NMX, SECOND, config, count, encoded, gdgem, header, neutron, packet, pixel};
use crate::common::form_packets;
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_wire::ess::beam_monitor::MonitorKind;
use evforge_wire::ess::{EssTime, MonitorFields, RECORD, TICKS_PER_SECOND, Vmm3aFields, detector_type};

fn at(seconds: u32, ticks: u32) -> EssTime {
    EssTime { seconds: SECOND + seconds, ticks }
}

/// Events as (pulse, time, pixel), in nanoseconds since [`SECOND`].
fn events(log: &EventLog) -> Vec<(Option<u64>, u64, u32)> {
    let since = |time: u64| time - u64::from(SECOND) * 1_000_000_000;
    let pulses = log.pulses();
    pulses
        .iter()
        .flat_map(|pulse| {
            pulse.events.iter().map(|event| (pulse.time_ns.map(since), since(event.time_ns), event.pixel_id))
        })
        .collect()
}

fn is_healthy(ledger: &DetectorLedger) {
    for problem in ["pulses_late", "pulses_absent", "pulses_repeated", "pulses_backwards", "pulses_irregular"]
    {
        assert_eq!(count(ledger, problem), 0, "{problem}");
    }
    assert_eq!((ledger.unaccounted(), count(ledger, "late")), (0, 0));
}

/// Boards that give the length of records in bits count the UDP header in that of the packet.
#[test]
fn section_7_lengths_in_bits_go_with_a_header_length_of_eight_more() {
    let in_bits = neutron(at(0, 5000), 30, 40).map(|readout| Vmm3aFields { length: 160, ..readout });
    let mut bytes = packet(&header(NMX, 0, at(0, 0), at(0, 0)), &encoded(&in_bits));
    let length = bytes.len() as u16 + 8;
    bytes[6..8].copy_from_slice(&length.to_le_bytes());
    let relaxed = gdgem("type = 'nmx'\naccept = ['record_length_in_bits']");
    let (log, ledger) = form_packets(&relaxed, std::slice::from_ref(&bytes));
    assert_eq!(events(&log), [(Some(0), at(0, 5000).nanoseconds() - at(0, 0).nanoseconds(), pixel(30, 40))]);
    assert_eq!((count(&ledger, "relaxed_header_length"), count(&ledger, "relaxed_record_length")), (1, 2));
    let (log, ledger) = form_packets(&gdgem("type = 'nmx'"), std::slice::from_ref(&bytes));
    assert_eq!((events(&log).len(), count(&ledger, "packets_wrong_length"), ledger.unaccounted()), (0, 1, 0));
    // Any other difference is still a wrong length.
    bytes[6..8].copy_from_slice(&(length + 1).to_le_bytes());
    let (_, ledger) = form_packets(&relaxed, &[bytes]);
    assert_eq!((count(&ledger, "packets_wrong_length"), count(&ledger, "readouts")), (1, 0));
}

/// A clock of about 88.889 MHz: fractions up to 88 886 504.
#[test]
fn section_7_fractions_of_another_clock() {
    let ticks = [1000, 88_052_500, 88_886_504];
    let packets: Vec<_> = (0..)
        .zip(ticks)
        .map(|(sequence, ticks)| {
            let readouts = encoded(&neutron(at(0, ticks), 10, sequence as u8));
            packet(&header(NMX, sequence, at(0, 0), at(0, 0)), &readouts)
        })
        .collect();
    let (_, ledger) = form_packets(&gdgem("type = 'nmx'"), &packets);
    assert_eq!((count(&ledger, "wrong_time_fraction"), count(&ledger, "hits")), (4, 2));
    let clock = "type = 'nmx'\nclock = '88.888889MHz'\nmax_fraction = 88_886_504";
    let (log, ledger) = form_packets(&gdgem(clock), &packets);
    assert_eq!((count(&ledger, "wrong_time_fraction"), count(&ledger, "hits")), (0, 6));
    for ((_, time, _), ticks) in events(&log).into_iter().zip(ticks) {
        let exact = f64::from(ticks) / 88.888_889e6 * 1e9;
        assert!((time as f64 - exact).abs() < 3.0, "{time} for {exact}");
    }
    // Only the limit, with the usual clock: what is beyond the second counts as that.
    let (log, ledger) = form_packets(&gdgem("type = 'nmx'\nmax_fraction = 88_886_504"), &packets);
    assert_eq!((count(&ledger, "hits"), events(&log)[1].1), (6, 1_000_000_000));
}

/// GEO bit 6: clusters that the firmware has made.
#[test]
fn section_7_clustered_records_are_no_hits() {
    let plain = neutron(at(0, 5000), 30, 40);
    let clustered = Vmm3aFields { geo: 0x40, ..neutron(at(0, 5100), 50, 60)[0] };
    // Also on a channel that nothing is wired to, and marked for calibration besides.
    let elsewhere = Vmm3aFields { fen: 7, geo: 0xC0, ..clustered };
    let records = encoded(&[plain[0], clustered, plain[1], elsewhere]);
    let (log, ledger) =
        form_packets(&gdgem("type = 'nmx'"), &[packet(&header(NMX, 0, at(0, 0), at(0, 0)), &records)]);
    assert_eq!(events(&log).len(), 1);
    let counted = ["clustered_readouts", "calibration_readouts", "unmapped_fen", "hits"];
    assert_eq!(counted.map(|name| count(&ledger, name)), [2, 0, 0, 2]);
    assert_eq!(ledger.unaccounted(), 0);
}

/// LET sends the type of LOKI with Multi-Grid records.
#[test]
fn section_7_the_type_is_a_key_apart_from_the_detector() {
    let detector = config(
        "name = 'let'\n[ess]\ntype = 0x30\n[ess_multigrid]\nwiring = 'let'\ncolumns = 12\nrows = 51\n\
         vessels = [{ rings = [0, 1], fens = [0], short = true }]\n",
    );
    let readout = |vmm, channel| Vmm3aFields {
        fibre: 2,
        time: at(0, 5000),
        adc: 300,
        vmm,
        channel,
        ..Vmm3aFields::default()
    };
    // Wire 0 on hybrid 1, channel 33; grid 7 on hybrid 0.
    let records = encoded(&[readout(2, 33), readout(0, 7)]);
    let header = header(detector_type::LOKI, 0, at(0, 0), at(0, 0));
    let (log, ledger) = form_packets(&detector, &[packet(&header, &records)]);
    assert_eq!((events(&log).len(), events(&log)[0].2), (1, 7 * 12 + 1));
    assert_eq!((count(&ledger, "packets_wrong_type"), ledger.unaccounted()), (0, 0));
}

/// The Gd-GEM of [`gdgem`] with beam monitors alongside.
const MONITORS: &str = "[ess_beam_monitors]\ntype = 'cbm'\nmonitor = [\n\
     { name = 'before', fen = 0, channel = 0, kind = 'event_0d' },\n\
     { name = 'behind', fen = 1, channel = 0, kind = 'integrating' },\n]\n";

fn monitor(time: EssTime, fen: u8, kind: MonitorKind, value: u32) -> [u8; RECORD] {
    let kind = kind.to_byte();
    MonitorFields { fibre: 22, fen, kind, time, value, ..MonitorFields::default() }.encode()
}

/// AMOR sends its neutrons and those of its monitors to one port, at 23 Hz.
fn two_types(shared_numbers: bool) -> Vec<Vec<u8>> {
    let period = TICKS_PER_SECOND / 23;
    let mut packets = Vec::new();
    for pulse in 1..=6_u32 {
        let (start, previous) = (at(0, pulse * period), at(0, (pulse - 1) * period));
        let time = |ticks| at(0, pulse * period + ticks);
        let number = |detector: bool| match (shared_numbers, detector) {
            (true, true) => 2 * pulse,
            (true, false) => 2 * pulse + 1,
            (false, true) => pulse,
            (false, false) => 1_000_000 + pulse,
        };
        let neutrons = encoded(&neutron(time(50_000), 30, pulse as u8));
        packets.push(packet(&header(NMX, number(true), start, previous), &neutrons));
        let counts = [
            monitor(time(40_000), 0, MonitorKind::Event0D, 0),
            monitor(time(60_000), 0, MonitorKind::Event0D, 0),
            monitor(time(70_000), 1, MonitorKind::Integrating, MonitorFields::sum(7, 4)),
        ];
        packets.push(packet(&header(detector_type::CBM, number(false), start, previous), &counts));
    }
    packets
}

fn with_monitors(ess: &str) -> evforge_config::Config {
    config(&(gdgem(ess).text.clone() + MONITORS))
}

#[test]
fn section_7_two_types_on_one_port_are_one_run() {
    let detector = with_monitors("type = 'nmx'");
    for shared_numbers in [false, true] {
        let (log, ledger) = form_packets(&detector, &two_types(shared_numbers));
        // A neutron of the monitor, one of the detector, one of the monitor, in each of six pulses.
        let pixels: Vec<u32> = events(&log).iter().map(|event| event.2).collect();
        let of_monitor = 128 * 128 + 1;
        let expected: Vec<u32> = (1..=6).flat_map(|y| [of_monitor, pixel(30, y), of_monitor]).collect();
        assert_eq!(pixels, expected);
        let times: Vec<u64> = events(&log).iter().map(|event| event.1).collect();
        assert!(times.is_sorted() && events(&log).iter().all(|event| event.0.is_some()));
        is_healthy(&ledger);
        let [before, behind] = &ledger.beam_monitors[..] else { panic!("{:?}", ledger.beam_monitors) };
        assert_eq!((before.total(), before.pulses(), before.plan().first_pixel), (12, 7, of_monitor));
        assert_eq!((behind.value(behind.total()), behind.readouts()), (6.0 * 7.0 / 4.0, 6));
        // Whether both count their packets together is found out.
        let names: Vec<&str> = ledger.sources.iter().map(|source| source.name.as_str()).collect();
        let lost: u64 = ledger.sources.iter().map(|source| source.packets.lost).sum();
        let sources = if shared_numbers { 1 } else { 2 };
        assert_eq!((names.len(), lost, ledger.packets().received), (sources, 0, 12), "{names:?}");
        assert_eq!((count(&ledger, "readouts"), count(&ledger, "hits")), (12 + 18, 12 + 12));
        assert_eq!((count(&ledger, "events_filed"), ledger.held()), (18, 0));
    }
}

/// Any other type is still discarded, and harms nobody.
#[test]
fn section_7_a_third_type_is_counted_and_nothing_is_lost_beside_it() {
    let detector = with_monitors("type = 'nmx'");
    let mut packets = two_types(false);
    let alien = packet(&header(detector_type::DREAM, 0, at(0, 0), at(0, 0)), &[[7; RECORD]]);
    for place in [3, 1, 0] {
        packets.insert(place, alien.clone());
    }
    // A monitor's packet with half a record.
    let mut ragged = two_types(false).remove(1);
    ragged.truncate(ragged.len() - 10);
    let length = ragged.len() as u16;
    ragged[6..8].copy_from_slice(&length.to_le_bytes());
    ragged[26..30].copy_from_slice(&1_000_007_u32.to_le_bytes());
    packets.push(ragged);
    let (log, ledger) = form_packets(&detector, &packets);
    assert_eq!((events(&log).len(), count(&ledger, "packets_wrong_type")), (18, 3));
    assert_eq!((count(&ledger, "packets_ragged"), ledger.unaccounted()), (1, 0));
}

#[test]
fn section_7_a_pulse_time_of_zero_is_none_and_events_keep_their_time() {
    let zero = EssTime { seconds: 0, ticks: 0 };
    let packets: Vec<_> = (0..4)
        .map(|second| {
            let readouts = encoded(&neutron(at(second, 5000), 30, second as u8));
            packet(&header(NMX, second, zero, zero), &readouts)
        })
        .collect();
    let (log, ledger) = form_packets(&gdgem("type = 'nmx'"), &packets);
    let after = at(0, 5000).nanoseconds() - at(0, 0).nanoseconds();
    let expected: Vec<_> = (0..4_u8)
        .map(|second| (None, u64::from(second) * 1_000_000_000 + after, pixel(30, second)))
        .collect();
    assert_eq!(events(&log), expected);
    assert_eq!((count(&ledger, "packets_without_pulse"), count(&ledger, "pulses")), (4, 0));
    assert_eq!((count(&ledger, "before_first_pulse"), count(&ledger, "events_filed")), (4, 4));
    is_healthy(&ledger);
}

/// One pulse, as in a recording of test pulses: what comes long after it has none.
#[test]
fn section_7_a_single_pulse_time_is_no_reason_to_discard_events() {
    let packets: Vec<_> = (0..4)
        .map(|second| {
            let readouts = encoded(&neutron(at(second, 5000), 30, second as u8));
            packet(&header(NMX, second, at(0, 0), at(0, 0)), &readouts)
        })
        .collect();
    let (log, ledger) = form_packets(&gdgem("type = 'nmx'"), &packets);
    let pulses: Vec<_> = events(&log).iter().map(|event| event.0).collect();
    assert_eq!(pulses, [Some(0), None, None, None]);
    assert_eq!((count(&ledger, "time_of_flight_too_long"), count(&ledger, "events_filed")), (3, 4));
}

/// Two output queues that tell the same pulses, at 23 Hz; the second begins when the time of many pulses has been closed, and
/// always comes after the first.
#[test]
fn section_7_two_queues_with_equal_pulses_are_healthy() {
    let period = TICKS_PER_SECOND / 23;
    let mut packets = Vec::new();
    for pulse in 1..=600_u32 {
        let pulse_at =
            |number: u32| EssTime::from_total_ticks(at(0, 0).total_ticks() + u64::from(number * period));
        let told = |queue: u8, sequence: u32, pulse: u32| {
            let (start, previous) = (pulse_at(pulse).expect("a time"), pulse_at(pulse - 1).expect("a time"));
            let time =
                EssTime::from_total_ticks(start.total_ticks() + 300_000 * u64::from(queue)).expect("a time");
            let header = evforge_wire::ess::EssHeader {
                output_queue: queue,
                ..header(NMX, sequence, start, previous)
            };
            packet(&header, &encoded(&neutron(time, 20 * (queue - 9), (pulse % 100) as u8)))
        };
        packets.push(told(10, pulse, pulse));
        if pulse > 400 {
            packets.push(told(11, pulse, pulse));
        }
    }
    for listed in ["", "output_queues = [0]\n", "output_queues = [10, 11]\n"] {
        let detector = gdgem(&format!("type = 'nmx'\n{listed}"));
        let (log, ledger) = form_packets(&detector, &packets);
        assert_eq!((events(&log).len(), count(&ledger, "pulses_filed")), (600 + 200, 601), "{listed}");
        is_healthy(&ledger);
        let period_ns = ledger.pulse_period_ns.expect("many pulses");
        assert_eq!(1_000_000_000 / period_ns, 23);
        assert_eq!(ledger.notes.len(), usize::from(listed.contains("[0]")), "{:?}", ledger.notes);
    }
    // The configured period is checked against the one of the data.
    let (_, ledger) = form_packets(&gdgem("type = 'nmx'\npulse_period = '71428571ns'"), &packets);
    assert!(count(&ledger, "pulses_irregular") > 700);
    let [note] = &ledger.notes[..] else { panic!("{:?}", ledger.notes) };
    assert!(note.contains("43.478 ms (23.000 Hz)") && note.contains("ess.pulse_period = \"43478"), "{note}");
}

/// Readouts that nothing is wired to are named.
#[test]
fn unwired_readouts_are_named_with_ring_fen_and_hybrid() {
    let [x, y] = neutron(at(0, 5000), 30, 40);
    let strange = [Vmm3aFields { fibre: 5, fen: 3, vmm: 9, ..x }, Vmm3aFields { fen: 1, vmm: 6, ..y }];
    let records = encoded(&[strange[0], strange[1], strange[0]]);
    let (_, ledger) =
        form_packets(&gdgem("type = 'nmx'"), &[packet(&header(NMX, 0, at(0, 0), at(0, 0)), &records)]);
    let expected =
        "nothing is wired to ring 2, FEN 3, hybrid 4 (2 readouts); ring 0, FEN 1, hybrid 3 (1 readouts)";
    assert_eq!(ledger.notes, [expected]);
}
