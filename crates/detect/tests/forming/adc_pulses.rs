//! Pulses that arrive on a channel of the sampled channels of 2018: every event to its pulse, whatever the packets and
//! batches, and every fault accounted for.

use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::pulse::PulseChannel;
use evforge_core::quantity::Frequency;
use evforge_detect::adc_readout::{AdcReadout, AdcReadoutSettings};
use evforge_detect::settings::SortingSettings;
use evforge_testkit::properties::cases;
use evforge_wire::adc_readout::{AdcEncoder, Header, RawTime};
use proptest::prelude::*;

/// Ticks of the converter in a second, and in a period of 14 Hz.
const SECOND: u64 = 44_026_250;
const PERIOD: u64 = SECOND / 14;
const CHANNEL: u16 = 3;
const THRESHOLD: u16 = 1000;

fn settings(max_time_of_flight: u64) -> AdcReadoutSettings {
    let frequency = Frequency { millihertz: 14_000 };
    let channel = PulseChannel { channel: CHANNEL, threshold: THRESHOLD, frequency, max_time_of_flight };
    AdcReadoutSettings {
        pulse_channel: Some(channel),
        sorting: SortingSettings { max_held_hits: 8192, ..SortingSettings::PULSED },
        ..AdcReadoutSettings::default()
    }
}

/// A run: the channel, the tick of its peak or edge, and whether it is high enough for a pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    channel: u16,
    tick: u64,
    high: bool,
}

fn pulse(tick: u64) -> Run {
    Run { channel: CHANNEL, tick, high: true }
}

fn event(tick: u64) -> Run {
    Run { channel: (tick % 3) as u16, tick, high: true }
}

/// Packets of so many runs each, one after the other; none: a heartbeat.
fn packets(runs: &[Run], sizes: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    let mut sizes = sizes.into_iter();
    let (mut rest, mut packets) = (runs, Vec::new());
    while !rest.is_empty() {
        let count = sizes.next().unwrap_or(7).clamp(1, rest.len());
        let (now, later) = rest.split_at(count);
        rest = later;
        let mut encoder = AdcEncoder::default();
        encoder.begin(&Header { global_count: packets.len() as u16, ..Header::default() });
        for run in now {
            // The edge, and the peak, is the third sample.
            let first = run.tick - 2;
            let time = RawTime { seconds: (first / SECOND) as u32, fraction: (first % SECOND) as u32 };
            let top = if run.high { THRESHOLD } else { THRESHOLD - 1 };
            assert!(encoder.push_module(run.channel, 1, time, &[100, 101, top, 99]));
        }
        encoder.finish(0);
        packets.push(encoder.packet().to_vec());
    }
    packets
}

/// Pulses, or none, with the times and pixels of their events.
type OfPulses = Vec<(Option<u64>, Vec<(u64, u32)>)>;

/// What comes out of packets that are handed over `at_a_time`, with batches for so many events. The ledger's laws hold in
/// every snapshot.
fn formed(
    settings: &AdcReadoutSettings,
    packets: &[Vec<u8>],
    at_a_time: usize,
    capacity: usize,
    publish: bool,
) -> (OfPulses, AdcReadout) {
    let mut detector = AdcReadout::new(settings).expect("sound settings");
    let mut batch = EventBatch::new(capacity);
    let mut out = OfPulses::new();
    let mut deliver = |batch: &mut EventBatch| {
        for (pulse, range) in batch.by_pulse() {
            if out.last().is_none_or(|(last, _)| *last != pulse) {
                out.push((pulse, Vec::new()));
            }
            let events = batch.times_ns()[range.clone()].iter().zip(&batch.pixel_ids()[range]);
            if let Some((_, of_pulse)) = out.last_mut() {
                of_pulse.extend(events.map(|(&time, &pixel)| (time, pixel)));
            }
        }
        batch.clear();
    };
    for part in packets.chunks(at_a_time.max(1)) {
        let mut slab = PacketSlab::new(part.len(), part.iter().map(Vec::len).sum());
        for packet in part {
            assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        }
        form(&mut detector, &slab.batch(), &mut batch, &mut deliver);
        assert_eq!(detector.ledger().unaccounted(), 0);
        while publish && detector.publish_closed(&mut batch) {
            deliver(&mut batch);
        }
        assert_eq!(detector.ledger().unaccounted(), 0);
    }
    form_rest(&mut detector, &mut batch, &mut deliver);
    assert_eq!(detector.ledger().unaccounted(), 0);
    (out, detector)
}

/// What the ledger says to people.
fn notes(detector: &AdcReadout) -> String {
    detector.ledger().notes.join(" ")
}

fn value(detector: &AdcReadout, name: &str) -> u64 {
    detector.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

fn nanoseconds(tick: u64) -> u64 {
    let rounded = ((tick % SECOND) as f64 / SECOND as f64 * 1e9).round() as u64;
    tick / SECOND * 1_000_000_000 + rounded
}

/// The events of each pulse as they should be, by the plain definition.
fn wanted(runs: &[Run], max_time_of_flight: u64) -> OfPulses {
    let mut pulses: Vec<u64> = Vec::new();
    let mut found: Vec<u64> =
        runs.iter().filter(|run| run.channel == CHANNEL && run.high).map(|run| run.tick).collect();
    found.sort_unstable();
    for tick in found {
        if pulses.last().is_none_or(|last| tick - last >= PERIOD.div_ceil(2)) {
            pulses.push(tick);
        }
    }
    let mut events: Vec<(u64, u32)> = runs
        .iter()
        .filter(|run| run.channel != CHANNEL)
        .map(|run| (run.tick, u32::from(run.channel) + 1))
        .collect();
    events.sort_unstable();
    let mut marks: Vec<(u64, bool, u32)> = pulses.iter().map(|&tick| (tick, false, 0)).collect();
    marks.extend(events.iter().map(|&(tick, pixel)| (tick, true, pixel)));
    marks.sort_unstable();
    let (mut out, mut current) = (OfPulses::new(), None);
    for (tick, is_event, pixel) in marks {
        if !is_event {
            current = Some(tick);
            out.push((Some(nanoseconds(tick)), Vec::new()));
            continue;
        }
        let pulse = current.filter(|start| tick - start <= max_time_of_flight).map(nanoseconds);
        if out.last().is_none_or(|(last, _)| *last != pulse) {
            out.push((pulse, Vec::new()));
        }
        if let Some((_, of_pulse)) = out.last_mut() {
            of_pulse.push((nanoseconds(tick), pixel));
        }
    }
    out
}

const START: u64 = 1000 * SECOND;
/// 1 s, the longest time of flight unless somebody says otherwise.
const ONE_SECOND: u64 = 1_000_000_000_000;

/// Ten periods with an event every twentieth of a period, from half a period before the first pulse on.
fn ten_periods() -> Vec<Run> {
    let mut runs: Vec<Run> = (0..10).map(|number| pulse(START + number * PERIOD)).collect();
    runs.extend((0..210).map(|number| event(START - PERIOD / 2 + 11 + number * PERIOD / 20)));
    runs.sort_by_key(|run| run.tick);
    runs
}

#[test]
fn every_event_is_filed_under_its_pulse_and_those_before_the_first_under_none() {
    let runs = ten_periods();
    let (out, detector) = formed(&settings(ONE_SECOND), &packets(&runs, [7; 100]), 1, 1000, false);
    assert_eq!(out, wanted(&runs, SECOND));
    assert!(detector.tells_pulses() && !detector.tells_date());
    let before = value(&detector, "before_first_pulse");
    assert_eq!((out[0].0, out[0].1.len() as u64), (None, before));
    assert!((8..=11).contains(&before), "{before}");
    let counts =
        ["readouts", "hits", "pulse_runs", "pulses_filed", "pulses_missing", "pulses_doubled", "pulses_late"]
            .map(|name| value(&detector, name));
    assert_eq!(counts, [220, 210, 10, 10, 0, 0, 0]);
    assert_eq!((value(&detector, "events_filed"), value(&detector, "events")), (210, 210));
}

#[test]
fn a_pulse_in_a_packet_behind_its_events_is_waited_for_as_long_as_the_window() {
    // 10 ms are 440 262 ticks.
    let window = SECOND / 100;
    let mut runs = ten_periods();
    let place = runs.iter().position(|run| *run == pulse(START + 4 * PERIOD)).expect("the pulse");
    let late = runs.remove(place);
    let send_after = |delay: u64| {
        let mut runs = runs.clone();
        let place = runs.iter().position(|run| run.tick > late.tick + delay).expect("a run behind it");
        runs.insert(place, late);
        let (out, detector) = formed(&settings(ONE_SECOND), &packets(&runs, [1; 300]), 1, 1000, true);
        (out == wanted(&runs, SECOND), value(&detector, "pulses_late"), value(&detector, "pulses_missing"))
    };
    // A run comes every 3.6 ms.
    assert_eq!(send_after(window / 2), (true, 0, 0));
    assert_eq!(
        send_after(3 * window),
        (false, 1, 1),
        "its events are under the pulse before, and it is said"
    );
}

#[test]
fn a_missing_pulse_a_doubled_one_and_a_dead_channel_are_accounted_for() {
    // A period and a half, of 22.714 ns.
    let picoseconds = 107_142_856_500;
    let (of_settings, max) = (settings(picoseconds), picoseconds * 35_221 / 800_000_000);
    let runs = ten_periods();
    let without = |missing: &[u64]| -> Vec<Run> {
        let is_missing = |run: &Run| missing.iter().any(|number| *run == pulse(START + number * PERIOD));
        runs.iter().copied().filter(|run| !is_missing(run)).collect()
    };
    let count = |runs: &[Run], names: [&str; 4]| {
        let (out, detector) = formed(&of_settings, &packets(runs, [5; 300]), 1, 1000, true);
        assert_eq!(out.iter().map(|(_, events)| events.len()).sum::<usize>(), 210, "no event is lost");
        let without_pulses = notes(&detector).starts_with("There is no pulse on channel 3");
        assert_eq!(without_pulses, value(&detector, "pulse_runs") == 0, "{}", notes(&detector));
        (out, names.map(|name| value(&detector, name)))
    };
    let names = ["pulses_filed", "pulses_missing", "pulses_doubled", "time_of_flight_too_long"];
    // The events of the missing pulse are under the one before, up to max_time_of_flight.
    let (out, [filed, missing, doubled, too_long]) = count(&without(&[3, 4, 7]), names);
    assert_eq!((filed, missing, doubled), (7, 3, 0));
    assert!(
        (39..=41).contains(&too_long),
        "a period and a half, and half a period, of 20 events each: {too_long}"
    );
    assert_eq!(out, wanted(&without(&[3, 4, 7]), max));
    // Doubled: at the same tick, and a little later.
    let mut doubled = runs.clone();
    doubled.extend([pulse(START + 2 * PERIOD), pulse(START + 5 * PERIOD + 40)]);
    doubled.sort_by_key(|run| run.tick);
    let (out, counts) = count(&doubled, names);
    assert_eq!(counts, [10, 0, 2, 0]);
    assert_eq!(out, wanted(&runs, max), "as without the second ones");
    // Dead from the beginning, and too low to be pulses.
    let all: Vec<u64> = (0..10).collect();
    let (out, counts) =
        count(&without(&all), ["pulses_filed", "before_first_pulse", "pulse_below_threshold", "pulse_runs"]);
    assert_eq!((out.len(), counts), (1, [0, 210, 0, 0]));
    let low: Vec<Run> = runs.iter().map(|run| Run { high: run.channel != CHANNEL, ..*run }).collect();
    let (out, counts) =
        count(&low, ["pulses_filed", "before_first_pulse", "pulse_below_threshold", "pulse_runs"]);
    assert_eq!((out.len(), counts), (1, [0, 210, 10, 0]));
}

#[test]
fn a_heartbeat_releases_what_waits() {
    let mut detector = AdcReadout::new(&settings(ONE_SECOND)).expect("sound settings");
    let runs = [pulse(START), event(START + 100), event(START + 200)];
    let mut sent = packets(&runs, [3]);
    let mut encoder = AdcEncoder::default();
    for (number, seconds) in [(1, 1000), (2, 1001)] {
        encoder.idle(
            &Header { global_count: number, ..Header::default() },
            RawTime { seconds, fraction: 40_000_000 },
        );
        sent.push(encoder.packet().to_vec());
    }
    let mut batch = EventBatch::new(10);
    let mut out = Vec::new();
    for packet in &sent {
        let mut slab = PacketSlab::new(1, packet.len());
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        form(&mut detector, &slab.batch(), &mut batch, |_| unreachable!("there is room"));
        assert!(!detector.publish_closed(&mut batch));
        out.push(batch.len());
        assert_eq!(detector.ledger().unaccounted(), 0);
    }
    // A step ahead counts with the next sign of time.
    assert_eq!(out, [0, 0, 2]);
}

#[test]
fn a_channel_for_pulses_must_be_there() {
    let refused = |settings: AdcReadoutSettings| AdcReadout::new(&settings).map(|_| ()).unwrap_err();
    let few = refused(AdcReadoutSettings { channels: 3, ..settings(ONE_SECOND) });
    assert_eq!(few.key, "channels");
    assert!(few.problem.contains("must be above 3"), "{}", few.problem);
    let mut narrow = settings(ONE_SECOND);
    narrow.sorting.window = 0;
    assert_eq!(refused(narrow).key, "sorting.window");
}

#[test]
fn memory_stays_within_its_bound_with_hostile_pulses() {
    // More pulses than can wait, in one instant of data time.
    let runs: Vec<Run> = (0..20_000).map(|number| pulse(START + number)).collect();
    let (out, detector) = formed(&settings(ONE_SECOND), &packets(&runs, [300; 100]), 3, 1, true);
    assert_eq!((out.len(), value(&detector, "pulse_runs")), (1, 20_000));
    let (doubled, late, refused) = (
        value(&detector, "pulses_doubled"),
        value(&detector, "pulses_late"),
        value(&detector, "pulses_refused"),
    );
    assert_eq!(1 + doubled + late + refused + value(&detector, "pulses_unconfirmed"), 20_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(32)))]

    /// Runs out of order by less than the window, cut into packets, handed over and taken out in any portions.
    #[test]
    fn pulses_and_events_do_not_depend_on_packets_and_batches(
        offsets in proptest::collection::vec((0..8_u64, 0..PERIOD, 0..300_000_u64), 1..120),
        present in proptest::collection::vec(any::<bool>(), 9),
        sizes in proptest::collection::vec(1..12_usize, 0..60),
        at_a_time in 1..9_usize, capacity in 1..30_usize, publish: bool,
    ) {
        let pulses = (0..9_u64).filter(|&number| present[number as usize]).map(|number| (pulse(START + number * PERIOD), 0));
        let events = offsets.iter().map(|&(number, after, delay)| (event(START + number * PERIOD + after), delay));
        // In the order in which they are sent: late by up to 6.8 ms.
        let mut sent: Vec<(Run, u64)> = pulses.chain(events).collect();
        sent.sort_by_key(|(run, delay)| (run.tick + delay, run.channel));
        let runs: Vec<Run> = sent.into_iter().map(|(run, _)| run).collect();
        let of = settings(100_000_000_000);
        let (whole, _) = formed(&of, &packets(&runs, [runs.len().min(200)]), 100, 10_000, false);
        let (cut, detector) = formed(&of, &packets(&runs, sizes), at_a_time, capacity, publish);
        prop_assert_eq!(&cut, &whole);
        prop_assert_eq!(&cut, &wanted(&runs, SECOND / 10));
        prop_assert_eq!(value(&detector, "late") + value(&detector, "pulses_late"), 0);
    }
}
