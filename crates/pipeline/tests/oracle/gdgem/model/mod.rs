//! The oracle: a slow and plain model of Gd-GEM event formation.
//!
//! The model exists to be compared with, so it shares nothing with the code it checks: it decodes the bytes
//! itself, keeps every hit in memory and prefers the shortest correct formulation over the fastest. With
//! [`Rules::reference`] it reproduces the ESS Event Formation Unit of 13 August 2018 exactly, including its
//! quirks; each rule switched on replaces one of those quirks by our own behaviour, up to [`Rules::ours`].
//!
//! The facts about the reference are those of "EFU formats of 2018", sections 4.1 to 4.6 and 6; every item
//! names the section that it models. All times are whole [`Ticks`], so nothing is ever rounded before it is
//! reported.
//!
//! The stages, in the order in which data pass through them:
//!
//! 1. [`decode`]: bytes of one packet to time markers and readouts;
//! 2. [`timing`] (with [`clock`]): readouts to hits with trigger time, chip time, plane and strip;
//! 3. either [`trigger_buffers`] (reference) or [`clock_line`] and one sort (ours): hits in order of time;
//! 4. [`cluster`]: neighbouring hits of one plane to clusters;
//! 5. [`matching`]: clusters of both planes to candidates;
//! 6. [`analysis`]: candidates to events with a time and a pixel.

pub(crate) mod analysis;
pub(crate) mod clock;
pub(crate) mod clock_line;
pub(crate) mod cluster;
pub(crate) mod counters;
pub(crate) mod decode;
pub(crate) mod hit;
pub(crate) mod matching;
mod presets;
pub(crate) mod rules;
pub(crate) mod settings;
mod timing;
pub(crate) mod trigger_buffers;

use std::collections::BTreeMap;

use analysis::Event;
use clock_line::ClockLine;
use cluster::{Cluster, clusters};
use counters::Counters;
use hit::{Hit, PlaneHit};
use matching::{Candidate, Matcher, match_completely};
use rules::Rules;
use settings::{PerPlane, Plane, Settings};
use timing::Timing;
use trigger_buffers::TriggerBuffers;

/// What the model makes of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The events in the order of their emission.
    pub(crate) events: Vec<Event>,
    /// What happened to every readout and every hit.
    pub(crate) counters: Counters,
}

/// Forms the events of one run: `payloads` are the UDP payloads in the order of their arrival.
pub(crate) fn run(payloads: &[Vec<u8>], settings: &Settings, rules: &Rules) -> Outcome {
    let mut counters = Counters::default();
    let packets = hits_of_packets(payloads, settings, rules, &mut counters);
    let candidates = if rules.absolute_sorting {
        candidates_by_absolute_time(&packets, settings, rules, &mut counters)
    } else {
        candidates_by_trigger(&packets, settings, rules, &mut counters)
    };
    let mut events: Vec<Event> = candidates
        .iter()
        .filter_map(|candidate| analysis::analyse(candidate, settings, rules, &mut counters))
        .collect();
    if rules.events_in_order {
        events.sort_by_key(|event| (event.epoch, event.time, event.pixel));
    }
    Outcome { events, counters }
}

/// The hits of every accepted packet, in the order of their readouts (sections 4.1 to 4.5).
fn hits_of_packets(
    payloads: &[Vec<u8>],
    settings: &Settings,
    rules: &Rules,
    counters: &mut Counters,
) -> Vec<Vec<Hit>> {
    let mut timing = Timing::new(settings, rules);
    let mut packets = Vec::new();
    for (number, payload) in payloads.iter().enumerate() {
        match decode::decode(payload, settings) {
            Some(packet) => packets.push(timing.hits(number, &packet, counters)),
            None => counters.rejected_packets += 1,
        }
    }
    packets
}

/// The candidates as the reference forms them: trigger buffers per plane, matching after each packet (section
/// 4.6).
///
/// Without the rule `flush_at_end` whatever the buffers and the matcher hold at the end of the input is lost.
fn candidates_by_trigger(
    packets: &[Vec<Hit>],
    settings: &Settings,
    rules: &Rules,
    counters: &mut Counters,
) -> Vec<Candidate> {
    let mut buffers =
        PerPlane { x: TriggerBuffers::new(Plane::X, settings), y: TriggerBuffers::new(Plane::Y, settings) };
    let mut waiting: PerPlane<Vec<Cluster>> = PerPlane::default();
    let mut matcher = Matcher::new(settings.matcher_maximum_delta_time);
    for packet in packets {
        for hit in packet {
            let finished = buffers.of(hit.plane).store(hit, counters);
            waiting.of(hit.plane).extend(finished);
        }
        if !rules.complete_matching && !waiting.x.is_empty() && !waiting.y.is_empty() {
            matcher.append(&mut waiting);
            matcher.form_candidates(false);
        }
    }
    if rules.flush_at_end {
        waiting.x.extend(buffers.x.flush(counters));
        waiting.y.extend(buffers.y.flush(counters));
    }
    finish_matching(matcher, waiting, settings, rules)
}

/// The candidates from all hits of the run in order of their absolute time, without any trigger buffers.
fn candidates_by_absolute_time(
    packets: &[Vec<Hit>],
    settings: &Settings,
    rules: &Rules,
    counters: &mut Counters,
) -> Vec<Candidate> {
    let hits = if rules.source_clocks {
        hits_on_clock_lines(packets, settings, counters)
    } else {
        packets.iter().flatten().cloned().collect()
    };
    let mut planes: PerPlane<Vec<PlaneHit>> = PerPlane::default();
    for hit in &hits {
        planes.of(hit.plane).push(hit.at(hit.time()));
    }
    planes.x.sort_by_key(|hit| (hit.epoch, hit.time));
    planes.y.sort_by_key(|hit| (hit.epoch, hit.time));
    let waiting = PerPlane {
        x: clusters(Plane::X, &planes.x, &settings.clusterers.x, counters),
        y: clusters(Plane::Y, &planes.y, &settings.clusterers.y, counters),
    };
    finish_matching(Matcher::new(settings.matcher_maximum_delta_time), waiting, settings, rules)
}

/// The hits that the clock line of their source accepts, with their epochs.
fn hits_on_clock_lines(packets: &[Vec<Hit>], settings: &Settings, counters: &mut Counters) -> Vec<Hit> {
    let mut lines: BTreeMap<u16, ClockLine> = BTreeMap::new();
    let new_line = || ClockLine::new(settings.line_window, settings.line_leap, settings.line_restart);
    for hit in packets.iter().flatten() {
        lines.entry(hit.source).or_insert_with(new_line).judge(hit, counters);
    }
    lines.into_values().flat_map(|line| line.finish(counters)).collect()
}

/// The matching at the end of the input: everything at once, or what the reference has left.
fn finish_matching(
    mut matcher: Matcher,
    mut waiting: PerPlane<Vec<Cluster>>,
    settings: &Settings,
    rules: &Rules,
) -> Vec<Candidate> {
    if rules.complete_matching {
        return match_completely(waiting, settings.matcher_maximum_delta_time);
    }
    if rules.flush_at_end {
        matcher.append(&mut waiting);
        matcher.form_candidates(true);
    }
    matcher.into_candidates()
}
