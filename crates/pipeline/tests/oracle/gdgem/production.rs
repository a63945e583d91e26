//! The production pipeline, with the shipped configurations, against the model with all rules ours.

use std::path::Path;

use evforge_config::Config;
use evforge_core::counter::Law;
use evforge_core::detector;
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::{PacketOrigin, PacketSlab};

use crate::gdgem::captures::{Capture, reference_captures, vmm3a_physical};
use crate::gdgem::model::counters::Counters;
use crate::gdgem::model::rules::Rules;
use crate::gdgem::model::run;

/// The shipped configurations for daily use pair clusters; the model joins them, as the reference of 2018 did.
const JOINED: [&str; 3] = [
    "gdgem.matching={max_difference='200ns'}",
    "gdgem.clustering.x.time_gap_of=plane",
    "gdgem.clustering.y.time_gap_of=plane",
];

/// Forms the events of a capture with the production pipeline.
pub(crate) fn form(capture: &Capture, overrides: &[&str]) -> (Vec<Event>, DetectorLedger) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(capture.configuration);
    let joined = if capture.configuration.starts_with("reference-2018") { &[] } else { &JOINED[..] };
    let overrides: Vec<String> = joined.iter().chain(overrides).map(|text| (*text).to_owned()).collect();
    let config = Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut detector = config.build_detector().expect("a checked configuration");
    let mut slab = PacketSlab::new(capture.payloads.len(), capture.payloads.iter().map(Vec::len).sum());
    for payload in &capture.payloads {
        assert!(slab.push(payload, payload.len(), PacketOrigin::default()));
    }
    let mut batch = EventBatch::new(1000);
    let mut events = Vec::new();
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    detector::form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
    detector::form_rest(detector.as_mut(), &mut batch, &mut keep);
    (events, detector.ledger())
}

/// Forms the events of a capture with the model.
pub(crate) fn model_events(capture: &Capture) -> (Vec<Event>, Counters) {
    let outcome = run(&capture.payloads, &capture.settings, &Rules::ours());
    let event = |event: &crate::gdgem::model::analysis::Event| Event {
        time_ns: event.time_ns,
        pixel_id: u32::try_from(event.pixel).expect("a pixel id"),
    };
    (outcome.events.iter().map(event).collect(), outcome.counters)
}

fn all_captures(test: &str) -> Option<Vec<Capture>> {
    let mut captures = reference_captures(test)?;
    captures.push(vmm3a_physical(test)?);
    Some(captures)
}

/// Events and counters of production and model are the same.
pub(crate) fn compare(capture: &Capture) {
    let (expected, counters) = model_events(capture);
    let (events, ledger) = form(capture, &[]);
    let place = format!("{} with {}", capture.name, capture.configuration);
    let first = events.iter().zip(&expected).position(|(ours, theirs)| ours != theirs);
    assert_eq!(first, None, "{place}: the first event that differs");
    assert_eq!(events.len(), expected.len(), "{place}");
    let value = |name: &str| ledger.counters.value(name).unwrap_or_else(|| panic!("no counter {name}"));
    for (name, expected) in [
        ("readouts", counters.readouts),
        ("markers", counters.markers),
        ("no_marker", counters.no_marker),
        ("latency_violation", counters.latency_violation),
        ("undefined_offset", counters.undefined_offset),
        ("unmapped_channel", counters.unmapped),
        ("below_threshold", counters.below_threshold),
        ("before_clock_zero", counters.before_zero),
        ("hits", counters.hits),
        ("late", counters.late),
        ("unconfirmed_jump", counters.refuted),
        ("cluster_too_small", counters.cluster_too_small),
        ("only_x", counters.x_only),
        ("only_y", counters.y_only),
        ("outside_geometry", counters.outside_geometry),
        ("hits_in_events", counters.in_events),
        ("held", 0),
    ] {
        assert_eq!(value(name), expected, "{place}: {name}");
    }
    assert_eq!(ledger.counters.imbalance(Law::Readouts), 0, "{place}");
    assert_eq!(ledger.unaccounted(), 0, "{place}");
}

#[test]
fn production_equals_the_model_event_for_event() {
    let Some(captures) = all_captures("production_equals_the_model_event_for_event") else { return };
    captures.iter().for_each(compare);
}

#[test]
fn filters_equal_those_of_the_model() {
    let Some(mut capture) = vmm3a_physical("filters_equal_those_of_the_model") else { return };
    capture.settings.lower_uncertainty_limit = Some(6);
    capture.settings.upper_uncertainty_limit = Some(8);
    capture.settings.minimum_hits = Some(4);
    let (expected, counters) = model_events(&capture);
    let (events, ledger) = form(
        &capture,
        &[
            "gdgem.position.lower_uncertainty_limit=6",
            "gdgem.position.upper_uncertainty_limit=8",
            "gdgem.position.minimum_hits=4",
        ],
    );
    assert_eq!(events, expected);
    let value = |name: &str| ledger.counters.value(name).unwrap();
    assert_eq!(value("too_few_hits") + value("too_uncertain"), counters.filtered);
    assert!(value("too_few_hits") > 0 && value("too_uncertain") > 0 && !events.is_empty());

    let mut capture = vmm3a_physical("filters_equal_those_of_the_model").unwrap();
    capture.settings.weighted_centre = false;
    let (events, _) = form(&capture, &["gdgem.position.weighting=plain"]);
    assert_eq!(events, model_events(&capture).0);
}

/// The comparison above can fail: each of these small changes of a setting is noticed.
#[test]
fn a_mutated_setting_is_noticed() {
    let Some(captures) = all_captures("a_mutated_setting_is_noticed") else { return };
    let mutants = |mutation: &str| {
        captures.iter().filter(|capture| form(capture, &[mutation]).0 != model_events(capture).0).count()
    };
    assert_eq!(mutants("gdgem.clustering.x.max_time_gap=200ns"), 0, "no mutation");
    assert!(mutants("gdgem.clustering.x.max_time_gap=201ns") > 0, "time gap");
    assert!(mutants("gdgem.clustering.y.max_strip_gap=3") > 0, "strip gap");
    assert!(mutants("gdgem.matching.max_difference=201ns") > 0, "end difference");
    assert!(mutants("gdgem.mapping[0].strip_offset=1") > 0, "one strip offset");
}

/// Done when 2 of the first issue, and the event count that was reviewed against the model.
#[test]
fn the_vmm3a_capture_as_the_detector_was() {
    let Some(capture) = vmm3a_physical("the_vmm3a_capture_as_the_detector_was") else { return };
    let (events, ledger) = form(&capture, &[]);
    let value = |name: &str| ledger.counters.value(name).unwrap();
    assert_eq!(
        [value("readouts"), value("markers"), value("hits"), value("no_marker")],
        [149_180, 20, 121_171, 28_009]
    );
    let packets = ledger.packets();
    assert_eq!((packets.sent, packets.received, packets.lost), (Some(102), 100, 2));
    let gaps: Vec<_> =
        ledger.sources.iter().map(|s| (s.name.as_str(), s.gaps[0].first, s.gaps[0].count)).collect();
    assert_eq!(gaps, [("FEC 1", 11_888_191, 1), ("FEC 2", 11_867_958, 1)]);
    assert_eq!(events.len(), 6853);
    assert!(events.is_sorted());
}
