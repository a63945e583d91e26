//! From the reference to our rules, one rule after the other: what each of them changes.

use std::collections::BTreeMap;

use crate::gdgem::captures::{Capture, reference_captures, vmm3a_physical};
use crate::gdgem::model::analysis::Event;
use crate::gdgem::model::rules::Rules;
use crate::gdgem::model::settings::Settings;
use crate::gdgem::model::{Outcome, run};

/// Effect of one step: name, events removed, events added, events after it.
type Row = (&'static str, usize, usize, usize);

/// Plays a capture with every step and compares each with the step before it.
fn table(capture: &Capture) -> Vec<Row> {
    let payloads = &capture.payloads;
    let mut before = run(payloads, &capture.settings, &Rules::reference()).events;
    let mut rows = Vec::new();
    for (name, rules) in Rules::steps() {
        let after = run(payloads, &capture.settings, &rules).events;
        let (removed, added) = difference(&before, &after);
        println!("{:20} {name:26} -{removed:<6} +{added:<6} = {}", capture.name, after.len());
        rows.push((name, removed, added, after.len()));
        before = after;
    }
    rows
}

/// Number of events only in `before` and only in `after`, judged by time in ns and pixel.
fn difference(before: &[Event], after: &[Event]) -> (usize, usize) {
    let mut balance: BTreeMap<(u64, u64), isize> = BTreeMap::new();
    for event in before {
        *balance.entry((event.time_ns, event.pixel)).or_default() -= 1;
    }
    for event in after {
        *balance.entry((event.time_ns, event.pixel)).or_default() += 1;
    }
    let removed = balance.values().filter(|&&count| count < 0).map(|count| count.unsigned_abs()).sum();
    let added = balance.values().filter(|&&count| count > 0).map(|count| count.unsigned_abs()).sum();
    (removed, added)
}

/// Plays a capture with our rules and checks that every readout and every hit is accounted for.
fn ours(capture: &Capture) -> Outcome {
    let outcome = run(&capture.payloads, &capture.settings, &Rules::ours());
    let counters = &outcome.counters;
    println!("{}: {} events, {counters:?}", capture.name, outcome.events.len());
    assert_eq!(counters.readouts, counters.readouts_accounted_for(), "{}", capture.name);
    assert_eq!(counters.hits, counters.hits_accounted_for(), "{}", capture.name);
    let hits_in_events: usize = outcome.events.iter().map(|event| event.hits_x + event.hits_y).sum();
    assert_eq!(counters.in_events, hits_in_events as u64, "{}", capture.name);
    outcome
}

#[test]
fn every_step_changes_what_it_is_known_to_change() {
    let Some(captures) = reference_captures("every_step_changes_what_it_is_known_to_change") else { return };
    let tables: Vec<Vec<Row>> = captures.iter().map(table).collect();
    assert_eq!(
        tables[0],
        [
            ("markers_per_fec", 0, 0, 2),
            ("marker_required", 0, 0, 2),
            ("full_time", 0, 0, 2),
            ("flush_at_end", 0, 9, 11),
            ("complete_matching", 0, 0, 11),
            ("absolute_sorting", 2, 2, 11),
            ("source_clocks", 0, 0, 11),
            ("zero_charge_plain_centre", 1, 1, 11),
            ("events_in_order", 0, 0, 11),
        ]
    );
    assert_eq!(
        tables[1],
        [
            ("markers_per_fec", 0, 0, 992),
            ("marker_required", 0, 0, 992),
            ("full_time", 989, 989, 992),
            ("flush_at_end", 0, 1, 993),
            ("complete_matching", 0, 2, 995),
            ("absolute_sorting", 559, 569, 1005),
            ("source_clocks", 0, 0, 1005),
            ("zero_charge_plain_centre", 0, 0, 1005),
            ("events_in_order", 0, 0, 1005),
        ]
    );
    assert_eq!(
        tables[2],
        [
            ("markers_per_fec", 12, 32, 588),
            ("marker_required", 0, 0, 588),
            ("full_time", 588, 590, 590),
            ("flush_at_end", 0, 5, 595),
            ("complete_matching", 272, 550, 873),
            ("absolute_sorting", 534, 666, 1005),
            ("source_clocks", 0, 0, 1005),
            ("zero_charge_plain_centre", 0, 0, 1005),
            ("events_in_order", 0, 0, 1005),
        ]
    );
    assert_eq!(
        tables[3],
        [
            ("markers_per_fec", 96, 70, 1948),
            ("marker_required", 0, 0, 1948),
            ("full_time", 1948, 1962, 1962),
            ("flush_at_end", 0, 15, 1977),
            ("complete_matching", 844, 2631, 3764),
            ("absolute_sorting", 1796, 1965, 3933),
            ("source_clocks", 0, 0, 3933),
            ("zero_charge_plain_centre", 0, 0, 3933),
            ("events_in_order", 0, 0, 3933),
        ]
    );
}

#[test]
fn the_balance_closes_under_our_rules() {
    let Some(captures) = reference_captures("the_balance_closes_under_our_rules") else { return };
    let numbers: Vec<usize> = captures.iter().map(|capture| ours(capture).events.len()).collect();
    assert_eq!(numbers, [11, 1005, 1005, 3933]);
}

/// The arithmetic of 2018 reads the trigger offset -1 as 31 and so puts 62 readouts 6.3 ms ahead. With the
/// window of the physical detector the first of them would make what follows late; its own settings have a
/// window that covers it, and the physical clocks lose no hit at all.
#[test]
fn no_hit_of_the_vmm3a_capture_is_late_or_refuted() {
    let test = "no_hit_of_the_vmm3a_capture_is_late_or_refuted";
    let Some(mut captures) = reference_captures(test) else { return };
    let Some(physical) = vmm3a_physical(test) else { return };
    for capture in [&captures[3], &physical] {
        let counters = ours(capture).counters;
        assert_eq!((counters.refuted, counters.late), (0, 0), "{}", capture.configuration);
    }
    captures[3].settings.line_window = physical.settings.line_window * 2;
    captures[3].settings.line_leap = physical.settings.line_leap * 2;
    assert!(ours(&captures[3]).counters.late > 0);
}

/// Both formats carry the same hits, so our rules must find the same events in both. Their times differ only
/// by whole wraps of the VMM2 trigger stamp (13.4 s), and their order because the files differ in theirs.
#[test]
fn both_encodings_of_the_same_hits_give_the_same_events() {
    let Some(captures) = reference_captures("both_encodings_of_the_same_hits_give_the_same_events") else {
        return;
    };
    let events = |capture: &Capture| {
        let wrap = capture.settings.arithmetic.trigger_resolution << 32;
        let seen = |event: &Event| (event.time.rem_euclid(wrap), event.pixel, event.hits_x, event.hits_y);
        let mut events: Vec<_> = ours(capture).events.iter().map(seen).collect();
        events.sort_unstable();
        events
    };
    assert_eq!(events(&captures[1]), events(&captures[2]));
}

#[test]
fn the_vmm3a_capture_as_the_detector_was() {
    let Some(capture) = vmm3a_physical("the_vmm3a_capture_as_the_detector_was") else { return };
    let outcome = ours(&capture);
    let counters = &outcome.counters;
    assert_eq!((counters.readouts, counters.markers), (149_180, 20));
    assert_eq!((counters.no_marker, counters.hits), (28_009, 121_171));
    assert_eq!((outcome.events.len(), counters.in_events), (6853, 114_611));
}

/// Each filter at a value that nothing can pass, and the order of the two uncertainties.
#[test]
fn filters_drop_events_and_count_their_hits() {
    let Some(mut capture) = vmm3a_physical("filters_drop_events_and_count_their_hits") else { return };
    let everything = ours(&capture).counters.in_events;
    let unfiltered = capture.settings.clone();
    let mut filtered = |change: fn(&mut Settings)| {
        capture.settings = unfiltered.clone();
        change(&mut capture.settings);
        let outcome = ours(&capture);
        (outcome.events.len(), outcome.counters.filtered)
    };
    assert_eq!(filtered(|settings| settings.lower_uncertainty_limit = Some(1)), (0, everything));
    assert_eq!(filtered(|settings| settings.upper_uncertainty_limit = Some(1)), (0, everything));
    assert_eq!(filtered(|settings| settings.minimum_hits = Some(1000)), (0, everything));
    let lower = filtered(|settings| settings.lower_uncertainty_limit = Some(6)).0;
    let upper = filtered(|settings| settings.upper_uncertainty_limit = Some(6)).0;
    assert!(0 < upper && upper < lower && lower < 6853, "{upper} {lower}");
}
