//! Results of searches that a model has made up.

use super::*;
use crate::table::Cell;
use evforge_core::quantity::Frequency;
use evforge_lab::measured_link::LossFree;
use evforge_lab::measured_pulses::{FoundPeak, PulsePoint, PulseReceiver};
use std::time::Duration;

fn plan() -> PulsePlan {
    PulsePlan {
        sizes: vec![64, 1472],
        works: vec![Duration::from_micros(20)],
        buffers: vec![100_000, 400_000],
        frequency: Frequency { millihertz: 14_000 },
        peak_factors: vec![10.0],
        pulses: 14,
        rounds: 1,
    }
}

fn measured(sent: u64, lost: u64) -> MeasuredPoint {
    MeasuredPoint {
        sent,
        lost,
        received: sent - lost,
        locations: (lost > 0).then(|| ("socket buffer".to_owned(), lost)).into_iter().collect(),
        ..MeasuredPoint::default()
    }
}

/// A round that found this share of what the relation says.
fn round(at_most: f64, share: f64) -> FoundPeak {
    let peak = at_most * share;
    FoundPeak {
        found: LossFree {
            rate: Some(peak),
            is_senders_limit: false,
            tried: vec![(None, measured(200, 20)), (Some(peak as u64), measured(100, 0))],
        },
        below: Some(measured(90, 0)),
    }
}

/// Receivers that serve 48 000 packets per second, and keep 90 % of what the relation says.
fn searched() -> Vec<SearchedPulses> {
    let truesize = |size| if size == 64 { 896.0 } else { 2304.0 };
    let of = |point: PulsePoint| {
        let receiver = PulseReceiver { served: Some(48_000.0), truesize: truesize(point.size) };
        let mut one = SearchedPulses { point, receiver, rounds: Vec::new() };
        let relation = one.relation().expect("what is served is known");
        if relation.is_of_buffer {
            one.rounds.push(round(relation.at_most, 0.9));
        }
        one
    };
    plan().points().into_iter().map(of).collect()
}

fn result_of(points: &[SearchedPulses]) -> Measurement {
    let session = Session::without_host("pulses", "Pulses", &["evforge".to_owned()]);
    let result = result(session, &TwoHosts::on_loopback(), &plan(), points).expect("a result");
    result.check().expect("a sound result");
    result
}

fn said<'a>(result: &'a Measurement, words: &str) -> Option<&'a String> {
    result.findings.iter().find(|finding| finding.contains(words))
}

#[test]
fn peaks_are_held_against_the_relation_and_lie_below_its_line() {
    let result = result_of(&searched());
    assert!(result.verdict.is_good, "{:?}", result.verdict);
    let table = result.table("peaks").expect("peaks");
    let of = |row: usize, name: &str| table.rows[row][table.column(name).expect(name)].clone();
    assert_eq!(table.rows.len(), 4);
    for row in 0..4 {
        assert!(of(row, "over_relation").value().is_some_and(|share| (share - 0.9).abs() < 1e-9), "{row}");
        assert_eq!((of(row, "limit"), of(row, "whole_below")), (Cell::text("buffer"), Cell::text("1 of 1")));
    }
    // (0.9 (48 + 12.15) - 48) / 12.15, in thousand packets per second: twice 100 kB hold 12.15 of 2304 bytes in 1/140 s.
    assert!(
        of(2, "filled").value().is_some_and(|share| (share - 0.505).abs() < 0.01),
        "{:?}",
        of(2, "filled")
    );
    let plot = &result.plots[0];
    assert_eq!(plot.lines.len(), 1 + 2, "the relation, and a line for each size");
    let measured = plot.lines.iter().skip(1).flat_map(|line| &line.points);
    assert_eq!(measured.filter(|point| point.y < point.x).count(), 4);
    crate::drawing::svg(plot).expect("it can be drawn");
    assert!(said(&result, "4 of 4 measurements were received whole").is_some(), "{:?}", result.findings);
    assert!(said(&result, "80 socket buffer").is_some(), "{:?}", result.findings);
}

#[test]
fn shares_of_the_buffer_are_told_where_the_buffer_counts() {
    // At 64 B with 400 kB the peak is three times what is served, at 1472 B with 100 kB hardly more than that.
    let result = result_of(&searched());
    assert!(said(&result, "peaks: 3,").is_some(), "{:?}", result.findings);
}

#[test]
fn a_point_without_a_peak_is_named_and_no_good_result() {
    let mut points = searched();
    points[1].rounds[0].found.rate = None;
    points[1].rounds[0].below = None;
    let result = result_of(&points);
    assert!(!result.verdict.is_good);
    let sentence = &result.verdict.sentence;
    assert!(sentence.contains("64 B, work 20µs, peak factor 10, buffer 400000 B"), "{sentence}");
}

#[test]
fn a_lost_packet_without_a_location_makes_the_figures_worth_nothing() {
    let mut points = searched();
    points[0].rounds[0].found.tried[0].1.locations.clear();
    let result = result_of(&points);
    assert!(!result.verdict.is_good);
    assert!(result.verdict.sentence.starts_with("1 of 12 measurements"), "{:?}", result.verdict);
}

#[test]
fn what_the_mean_rate_limits_is_not_searched_and_what_the_sender_limits_fills_no_buffer() {
    let mut points = searched();
    points[0].point.buffer = 80_000_000;
    points[0].rounds.clear();
    points[1].rounds[0].found.is_senders_limit = true;
    let result = result_of(&points);
    assert!(result.verdict.is_good, "{:?}", result.verdict);
    assert!(said(&result, "the mean rate and not the buffer").is_some(), "{:?}", result.findings);
    let table = result.table("peaks").expect("peaks");
    let [limit, filled] = ["limit", "filled"].map(|name| table.column(name).expect(name));
    assert_eq!(table.rows[0][limit], Cell::text("mean rate"));
    assert_eq!((&table.rows[1][limit], &table.rows[1][filled]), (&Cell::text("sender"), &Cell::Missing));
}

#[test]
fn a_receiver_that_could_not_be_overloaded_has_no_relation_and_nothing_searched_is_no_result() {
    let mut points = searched();
    (points[3].receiver.served, points[3].rounds) = (None, Vec::new());
    let result = result_of(&points);
    assert!(!result.verdict.is_good, "{:?}", result.verdict);
    assert!(said(&result, "too slow to overload").is_some(), "{:?}", result.findings);
    for point in &mut points {
        (point.receiver.served, point.point.buffer) = (Some(48_000.0), 80_000_000);
        point.rounds.clear();
    }
    let nothing = result_of(&points);
    assert!(!nothing.verdict.is_good && nothing.plots.is_empty(), "{:?}", nothing.verdict);
}
