//! From the reference's rules to ours, one by one in a fixed order: what each step removes and adds is counted
//! and belongs to the rule. Nothing is left unexplained.

use std::collections::BTreeMap;

use crate::multiblade::captures::{CAPTURES, payloads};
use crate::multiblade::model::{Outcome, Readout, Rules, decode, events, form};

/// The steps: what they are called, and how they change the rules.
type Step = (&'static str, fn(&mut Rules));

const STEPS: [Step; 9] = [
    ("clusters on one plane are no events", |rules| rules.one_plane_is_enough = false),
    ("two hits of one channel do not hide a hole", |rules| rules.duplicates_hide_holes = false),
    ("a plane without amplitude has no position", |rules| rules.no_amplitude_is_minus_one = false),
    ("what is open at the end is formed", |rules| rules.flush_at_end = true),
    ("positions are rounded to the nearest pixel", |rules| rules.nearest = true),
    ("hits in order of time", |rules| rules.in_order_of_time = true),
    ("two neutrons in a window are told apart", |rules| {
        (rules.separate, rules.max_ratio) = (true, Some(4.0));
    }),
    ("at most two wires", |rules| rules.max_size[0] = 2),
    ("at most four strips", |rules| rules.max_size[1] = 4),
];

/// How many events of `before` are not in `after`: (time, pixel) with their multiplicities.
fn missing(before: &[(u64, u32)], after: &[(u64, u32)]) -> usize {
    let mut counts: BTreeMap<(u64, u32), i64> = BTreeMap::new();
    before.iter().for_each(|event| *counts.entry(*event).or_default() += 1);
    after.iter().for_each(|event| *counts.entry(*event).or_default() -= 1);
    counts.values().filter(|count| **count > 0).sum::<i64>() as usize
}

/// (removed, added) of each step, and the events at the end.
fn walk(readouts: &[Readout]) -> (Vec<(usize, usize)>, usize) {
    let mut rules = Rules::reference();
    let mut before = events(&form(readouts, &rules));
    let mut changes = Vec::new();
    for (_, step) in STEPS {
        step(&mut rules);
        let after = events(&form(readouts, &rules));
        changes.push((missing(&before, &after), missing(&after, &before)));
        before = after;
    }
    (changes, before.len())
}

#[test]
fn every_difference_to_the_reference_belongs_to_a_rule() {
    let test = "every_difference_to_the_reference_belongs_to_a_rule";
    let mut walks = Vec::new();
    for (name, _) in CAPTURES {
        let Some(payloads) = payloads(test, name) else { return };
        walks.push(walk(&decode(&payloads)));
    }
    let steps = STEPS.map(|(name, _)| name);
    let table: Vec<_> =
        (0..STEPS.len()).map(|step| (steps[step], walks[0].0[step], walks[1].0[step])).collect();
    assert_eq!(table, EXPECTED);
    assert_eq!([walks[0].1, walks[1].1], [3392, 32_282]);
}

/// Name of a step, and the events that it removes and adds on both captures.
type Change = (&'static str, (usize, usize), (usize, usize));

/// Step, (removed, added) on the recorded and on the generated capture. Rounding moves events to a neighbouring
/// pixel. The times of the recording start over every 20 ms and its records do not say when, so that the order
/// of time puts hits of different readings together: events that were apart meet. The bound on the ratio of the
/// amplitudes comes with telling neutrons apart: it removes events, and what was not adjacent before is added.
const EXPECTED: [Change; 9] = [
    ("clusters on one plane are no events", (45_423, 0), (0, 0)),
    ("two hits of one channel do not hide a hole", (0, 0), (0, 0)),
    ("a plane without amplitude has no position", (0, 0), (0, 0)),
    ("what is open at the end is formed", (0, 0), (0, 5)),
    ("positions are rounded to the nearest pixel", (1239, 1239), (29_978, 29_978)),
    ("hits in order of time", (3455, 2213), (0, 0)),
    ("two neutrons in a window are told apart", (1056, 1622), (12_068, 0)),
    ("at most two wires", (82, 0), (15_614, 0)),
    ("at most four strips", (31, 0), (0, 0)),
];

/// The 45 423 events that the first step removes are all of strips alone, on the last wire of another cassette.
#[test]
fn what_the_first_step_removes_are_strips_without_wires() {
    let Some(payloads) = payloads("what_the_first_step_removes_are_strips_without_wires", "recorded_2018")
    else {
        return;
    };
    let outcomes = form(&decode(&payloads), &Rules::reference());
    let of_planes = |wanted: usize| {
        let event =
            move |outcome: &&Outcome| matches!(outcome, Outcome::Event { planes, .. } if *planes == wanted);
        outcomes.iter().filter(event).collect::<Vec<_>>()
    };
    assert_eq!((of_planes(1).len(), of_planes(2).len()), (45_423, 4181));
    for outcome in of_planes(1) {
        let Outcome::Event { pixel, wire, .. } = outcome else { continue };
        assert!(*wire == -1.0 && (pixel - 1) / 32 % 32 == 31, "{outcome:?}");
    }
}

/// The second rule has no event of its own in these captures; here is one that it removes.
#[test]
fn a_hole_behind_two_hits_of_one_channel_is_an_event_of_the_reference_only() {
    let hit = |channel, time| Readout { digitizer: 137, channel, adc: 100, time };
    let readouts = [hit(3, 10), hit(3, 11), hit(5, 12), hit(40, 12)];
    let quirk = Rules { flush_at_end: true, ..Rules::reference() };
    assert_eq!(events(&form(&readouts, &quirk)).len(), 1);
    assert_eq!(form(&readouts, &Rules::ours()), [Outcome::Discarded("not_adjacent", 4)]);
}
