//! The production pipeline, with the shipped configurations, against the model with all rules ours.

use evforge_config::Config;
use evforge_core::counter::Law;
use evforge_core::detector;
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use std::collections::BTreeMap;
use std::path::Path;

use crate::multiblade::captures::{CAPTURES, payloads};
use crate::multiblade::model::{Outcome, Readout, Rules, decode, form};

pub(crate) const REFERENCE: &str = "reference-2018/multiblade.toml";
const PROTOTYPE: &str = "multiblade.toml";

fn config(configuration: &str, overrides: &[&str]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(configuration);
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Forms the events of packets, handed over in slabs of `slab` packets with batches of `batch` events.
pub(crate) fn produce_in(
    config: &Config,
    payloads: &[Vec<u8>],
    slab: usize,
    batch: usize,
) -> (Vec<(u64, u32)>, DetectorLedger) {
    let mut detector = config.build_detector().expect("a checked configuration");
    let mut batch = EventBatch::new(batch);
    let mut events: Vec<Event> = Vec::new();
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    for payloads in payloads.chunks(slab) {
        let mut slab = PacketSlab::new(payloads.len(), payloads.iter().map(Vec::len).sum());
        for payload in payloads {
            assert!(slab.push(payload, payload.len(), PacketOrigin::default()));
        }
        detector::form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
    }
    detector::form_rest(detector.as_mut(), &mut batch, &mut keep);
    (events.iter().map(|event| (event.time_ns, event.pixel_id)).collect(), detector.ledger())
}

pub(crate) fn produce(
    configuration: &str,
    overrides: &[&str],
    payloads: &[Vec<u8>],
) -> (Vec<(u64, u32)>, DetectorLedger) {
    produce_in(&config(configuration, overrides), payloads, 100, 1000)
}

/// The model's events in the order in which production hands them out, with times in nanoseconds where asked.
pub(crate) fn expected(outcomes: &[Outcome], rules: &Rules) -> Vec<(u64, u32)> {
    let mut events = crate::multiblade::model::events(outcomes);
    if rules.in_order_of_time {
        events.iter_mut().for_each(|event| event.0 *= 16);
        events.sort_unstable();
    }
    events
}

/// Hits that the model discarded, by reason.
fn discarded(outcomes: &[Outcome]) -> BTreeMap<&'static str, u64> {
    let mut discarded = BTreeMap::new();
    for outcome in outcomes {
        if let Outcome::Discarded(reason, hits) = outcome {
            *discarded.entry(*reason).or_default() += *hits as u64;
        }
    }
    discarded
}

pub(crate) fn compare(
    place: &str,
    configuration: &str,
    overrides: &[&str],
    readouts: &[Vec<u8>],
    rules: &Rules,
) {
    let outcomes = form(&decode(readouts), rules);
    let expected = expected(&outcomes, rules);
    let (events, ledger) = produce(configuration, overrides, readouts);
    let first = events.iter().zip(&expected).position(|(ours, theirs)| ours != theirs);
    assert_eq!(first, None, "{place}: the first event that differs");
    assert_eq!(events.len(), expected.len(), "{place}");
    let value = |name: &str| ledger.counters.value(name).unwrap_or_else(|| panic!("no counter {name}"));
    let discarded = discarded(&outcomes);
    for reason in
        ["only_wires", "only_strips", "not_adjacent", "ambiguous", "cluster_too_wide", "amplitude_mismatch"]
    {
        assert_eq!(value(reason), discarded.get(reason).copied().unwrap_or(0), "{place}: {reason}");
    }
    assert_eq!((value("late"), value("unconfirmed_jump"), value("held")), (0, 0, 0), "{place}");
    assert_eq!(value("no_amplitude"), discarded.get("no_amplitude").copied().unwrap_or(0), "{place}");
    assert_eq!(ledger.counters.imbalance(Law::Readouts), 0, "{place}");
    assert_eq!(ledger.unaccounted(), 0, "{place}");
    assert_eq!(value("events"), events.len() as u64, "{place}");
}

#[test]
fn production_equals_the_model_event_for_event() {
    let test = "production_equals_the_model_event_for_event";
    for (name, _) in CAPTURES {
        let Some(payloads) = payloads(test, name) else { return };
        compare(name, REFERENCE, &[], &payloads, &Rules::ours());
        compare(name, PROTOTYPE, &[], &payloads, &Rules::production());
    }
}

/// Every choice that the shipped configurations do not make.
#[test]
fn other_settings_equal_the_model_as_well() {
    let Some(payloads) = payloads("other_settings_equal_the_model_as_well", "recorded_2018") else { return };
    let ours = Rules::ours();
    for (overrides, rules) in [
        (vec!["detector.window.rule=gap"], Rules { gap: true, ..ours }),
        (vec!["detector.position=maximum"], Rules { maximum: true, ..ours }),
        (vec!["detector.rounding=nearest"], Rules { nearest: true, ..ours }),
        (vec!["detector.window.max_amplitude_ratio=1.5"], Rules { max_ratio: Some(1.5), ..ours }),
        (
            vec!["detector.window.max_amplitude_ratio=3.0", "detector.window.separate=true"],
            Rules { max_ratio: Some(3.0), separate: true, ..ours },
        ),
        (vec!["detector.window.max_strips=1"], Rules { max_size: [64, 1], ..ours }),
    ] {
        compare(overrides[0], REFERENCE, &overrides, &payloads, &rules);
    }
    let gap = Rules { gap: true, ..Rules::production() };
    compare("gap in order of time", PROTOTYPE, &["detector.window.rule=gap"], &payloads, &gap);
    let strict = [
        "detector.window.max_wires=2",
        "detector.window.max_strips=4",
        "detector.window.max_amplitude_ratio=4.0",
        "detector.window.separate=true",
    ];
    let rules = Rules { max_size: [2, 4], max_ratio: Some(4.0), separate: true, ..Rules::production() };
    compare("two neutrons in order of time", PROTOTYPE, &strict, &payloads, &rules);
}

/// The prototype as the reference was set: the two-plane clusters of the recording, and no event of strips alone.
#[test]
fn the_recording_has_4181_events_and_none_of_one_plane() {
    let test = "the_recording_has_4181_events_and_none_of_one_plane";
    let Some(payloads) = payloads(test, "recorded_2018") else { return };
    let (events, ledger) = produce(REFERENCE, &[], &payloads);
    assert_eq!((events.len(), ledger.unaccounted()), (4181, 0));
    let quirks = form(&decode(&payloads), &Rules::reference());
    let of_both_planes: Vec<(u64, u32)> = quirks
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Event { time, pixel, planes: 2, .. } => Some((*time, *pixel)),
            _ => None,
        })
        .collect();
    assert_eq!(events, of_both_planes);
}

/// The comparison above can fail: each of these small changes of a setting is noticed.
#[test]
fn a_mutated_setting_is_noticed() {
    let Some(payloads) = payloads("a_mutated_setting_is_noticed", "recorded_2018") else { return };
    let ours = expected(&form(&decode(&payloads), &Rules::ours()), &Rules::ours());
    for (mutation, noticed) in [
        ("detector.window.ticks=185", false),
        ("detector.window.ticks=186", true),
        ("detector.window.rule=gap", true),
        ("detector.threshold=20", true),
        ("detector.rounding=nearest", true),
        ("detector.window.max_wires=3", true),
        ("detector.mapping[0].first_channel=31", true),
        ("detector.times=nanoseconds", true),
    ] {
        let overrides: &[&str] = if mutation.ends_with("=31") {
            // Wires 0 to 30 on channels 1 to 31.
            &["detector.mapping[0].first_channel=1", "detector.mapping[0].channels=31"]
        } else {
            &[mutation]
        };
        assert_eq!(produce(REFERENCE, overrides, &payloads).0 != ours, noticed, "{mutation}");
    }
}

/// Packets of one digitizer each, in the order of its readouts.
fn by_digitizer(readouts: &[Readout]) -> BTreeMap<u8, Vec<Vec<u8>>> {
    let mut bytes: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    for Readout { digitizer, channel, adc, time } in readouts {
        let record = bytes.entry(*digitizer).or_default();
        record.extend([*digitizer, *channel]);
        record.extend(adc.to_le_bytes());
        record.extend(time.to_le_bytes());
    }
    bytes
        .into_iter()
        .map(|(digitizer, bytes)| (digitizer, bytes.chunks(400).map(<[u8]>::to_vec).collect()))
        .collect()
}

/// Design, section 3: not slabs, not batches, and in order of time not even how the digitisers interleave.
#[test]
fn events_do_not_depend_on_how_packets_are_handed_over() {
    let test = "events_do_not_depend_on_how_packets_are_handed_over";
    for (name, _) in CAPTURES {
        let Some(payloads) = payloads(test, name) else { return };
        for configuration in [REFERENCE, PROTOTYPE] {
            let config = config(configuration, &[]);
            let expected = produce_in(&config, &payloads, 100, 1000).0;
            for (slab, batch) in [(1, 1000), (7, 1), (10_000, 33)] {
                assert!(produce_in(&config, &payloads, slab, batch).0 == expected, "{name} {slab} {batch}");
            }
        }
        let config = config(PROTOTYPE, &[]);
        let digitizers = by_digitizer(&decode(&payloads));
        let one_after_the_other: Vec<_> = digitizers.values().flatten().cloned().collect();
        let mut in_turn = Vec::new();
        let longest = digitizers.values().map(Vec::len).max().unwrap_or(0);
        for packet in 0..longest {
            in_turn.extend(digitizers.values().filter_map(|packets| packets.get(packet)).cloned());
        }
        let expected = produce_in(&config, &payloads, 100, 1000).0;
        assert!(expected.is_sorted() && !expected.is_empty());
        assert!(produce_in(&config, &one_after_the_other, 13, 100).0 == expected, "{name}, one by one");
        assert!(produce_in(&config, &in_turn, 13, 100).0 == expected, "{name}, in turn");
    }
}
