//! The highest rate without loss, by size and method: Figures 7 and 8 of the XDP paper by halving, and what a slow application can take.

use crate::error::MeasureError;
use crate::measurement::{Measurement, Verdict};
use crate::plot::{Axis, Line, Plot};
use crate::session::Session;
use crate::table::{Cell, Column, Table};
use evforge_lab::measured_link::{LinkMethod, LossFree};
use evforge_lab::two_hosts::TwoHosts;
use std::time::Duration;

/// One size and method.
#[derive(Clone, Debug, PartialEq)]
pub struct RatePoint {
    /// How.
    pub method: LinkMethod,
    /// Bytes of UDP payload.
    pub size: usize,
    /// What was found, a round each.
    pub rounds: Vec<LossFree>,
    /// What was measured at twice the rate that was found, of the rounds in which the sender can send so fast; if it was asked for.
    pub overloaded: Vec<Overload>,
}

/// A receiver under more load than it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// Packets per second that it takes without loss.
    pub loss_free: f64,
    /// Packets per second sent.
    pub sent: f64,
    /// Packets per second received.
    pub received: f64,
}

/// Of the loss-free rate at least this share must still arrive when twice as much is sent.
const UNDER_OVERLOAD: f64 = 0.8;

impl RatePoint {
    /// Loss-free packets per second, of the rounds that found any.
    pub fn rates(&self) -> Vec<f64> {
        self.rounds.iter().filter_map(|found| found.rate).collect()
    }

    /// Packets per second that the receiver can take, by the processor time of its thread for each packet while it is overloaded, of the
    /// rounds in which it was: what must be found.
    pub fn known_limits(&self) -> Vec<f64> {
        let overloaded = self.rounds.iter().filter(|found| !found.is_senders_limit);
        let of = |found: &LossFree| {
            let (_, first) = found.tried.first()?;
            first.receiver_ns.filter(|ns| *ns > 0.0).map(|ns| 1e9 / ns)
        };
        overloaded.filter_map(of).collect()
    }
}

/// The points as a result.
///
/// # Errors
/// If a column is missing from its table, which would be a fault of evforge.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    work: Duration,
    points: &[RatePoint],
) -> Result<Measurement, MeasureError> {
    let table = table(points);
    let session = session.setting("work of the receiver for each packet", format!("{work:?}"));
    let mut result = session.end(verdict(points));
    if !work.is_zero() {
        result.findings.extend(against_known_limits(points));
    }
    result.findings.extend(under_overload(points));
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    let mut plot = Plot::new(
        "loss-free",
        "Highest rate without loss",
        Axis::logarithmic("User data", "B"),
        Axis::logarithmic("Packets sent and received", "kpps"),
    )
    .captioned("Every packet received, and as fast as it was sent; what was found is measured again.");
    for method in LinkMethod::ALL.into_iter().filter(|method| method.can_lose()) {
        let chosen = |row: &[Cell]| row.first() == Some(&Cell::text(method.name()));
        if table.rows.iter().any(|row| chosen(row)) {
            plot = plot.with(Line::of_columns(method.name(), &table, ["size", "rate"], chosen)?);
        }
    }
    result.plots.push(plot);
    result.tables.push(table);
    Ok(result)
}

fn verdict(points: &[RatePoint]) -> Verdict {
    let without: Vec<String> = points
        .iter()
        .filter(|point| point.rates().is_empty())
        .map(|point| format!("{} at {} B", point.method, point.size))
        .collect();
    if without.is_empty() && !points.is_empty() {
        return Verdict::good("A loss-free rate was found for every size and method");
    }
    Verdict::bad(format!("No loss-free rate was found for {}", without.join(", ")))
}

fn table(points: &[RatePoint]) -> Table {
    let columns = vec![
        Column::key("method", "Method", ""),
        Column::key("size", "User data", "B").decimals(0),
        Column::measured("rate", "Highest without loss", "kpps").decimals(1),
        Column::measured("speed", "User data", "Gb/s").decimals(3),
        Column::measured("limit", "Limited by", ""),
        Column::measured("known", "Receiver at most, by its processor time", "kpps").decimals(1),
        Column::measured("over_paper", "Over the paper's method", "").decimals(2),
        Column::measured("overload_sent", "Overload: sent", "kpps").decimals(1),
        Column::measured("overload_share", "Overload: received, over the rate without loss", "%").decimals(0),
    ];
    let mut table = Table::new("rates", "Highest rates without loss", columns);
    for point in points {
        let rates = point.rates();
        let paper = points.iter().find(|other| other.method == LinkMethod::Paper && other.size == point.size);
        let over_paper: Vec<f64> = match paper.filter(|_| point.method != LinkMethod::Paper) {
            Some(paper) => {
                let rounds = point.rounds.iter().zip(&paper.rounds);
                rounds.filter_map(|(found, paper)| Some(found.rate? / paper.rate?)).collect()
            }
            None => Vec::new(),
        };
        let thousands =
            |values: &[f64]| Cell::measured(&values.iter().map(|value| value / 1e3).collect::<Vec<_>>());
        let bits: Vec<f64> = rates.iter().map(|rate| rate * 8.0 * point.size as f64 / 1e9).collect();
        let overload = |figure: fn(&Overload) -> f64| {
            Cell::measured(&point.overloaded.iter().map(figure).collect::<Vec<f64>>())
        };
        let is_senders = point.rounds.iter().all(|found| found.is_senders_limit);
        table.rows.push(vec![
            Cell::text(point.method.name()),
            Cell::Number(point.size as f64),
            thousands(&rates),
            Cell::measured(&bits),
            Cell::text(if is_senders { "sender" } else { "receiver" }),
            thousands(&point.known_limits()),
            Cell::measured(&over_paper),
            overload(|overload| overload.sent / 1e3),
            overload(|overload| 100.0 * overload.received / overload.loss_free),
        ]);
    }
    table
}

/// How much of the loss-free rate is left when twice as much is sent.
fn under_overload(points: &[RatePoint]) -> Option<String> {
    let shares =
        || points.iter().flat_map(|point| &point.overloaded).map(|load| load.received / load.loss_free);
    let least = shares().min_by(f64::total_cmp)?;
    let below = shares().filter(|share| *share < UNDER_OVERLOAD).count();
    Some(format!(
        "Under twice the load that is received without loss, {:.0} % of it or more still arrived; {below} of {} measurements were below {:.0} %.",
        100.0 * least,
        shares().count(),
        100.0 * UNDER_OVERLOAD
    ))
}

/// How near to the limits that processor times tell.
fn against_known_limits(points: &[RatePoint]) -> Vec<String> {
    let of = |point: &RatePoint| {
        let mean =
            |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let (found, known) = (mean(point.rates())?, mean(point.known_limits())?);
        Some(format!(
            "{} at {} B: found {:.1} kpps, {:+.1} % of the {:.1} kpps that its processor time for each packet tells.",
            point.method,
            point.size,
            found / 1e3,
            100.0 * (found / known - 1.0),
            known / 1e3
        ))
    };
    points.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_lab::measured_link::MeasuredPoint;

    fn found(rate: Option<f64>, is_senders_limit: bool) -> LossFree {
        let first = MeasuredPoint { receiver_ns: Some(10_000.0), ..MeasuredPoint::default() };
        LossFree { rate, is_senders_limit, tried: vec![(None, first)] }
    }

    fn measured(points: &[RatePoint]) -> Measurement {
        let session = Session::without_host("rate", "Rate", &["evforge".to_owned()]);
        let result = result(session, &TwoHosts::on_loopback(), Duration::from_micros(10), points).unwrap();
        result.check().unwrap();
        result
    }

    #[test]
    fn what_is_found_is_held_against_the_receivers_processor_time_and_the_papers_method() {
        let points = [
            RatePoint {
                method: LinkMethod::Paper,
                size: 64,
                rounds: vec![found(Some(49e3), false); 2],
                overloaded: Vec::new(),
            },
            RatePoint {
                method: LinkMethod::Batched,
                size: 64,
                rounds: vec![found(Some(98e3), false); 2],
                overloaded: Vec::new(),
            },
        ];
        let result = measured(&points);
        assert!(result.verdict.is_good);
        assert!(
            result.findings[1].contains("found 98.0 kpps, -2.0 % of the 100.0 kpps"),
            "{:?}",
            result.findings
        );
        let table = result.table("rates").unwrap();
        assert_eq!(table.rows[1][table.column("over_paper").unwrap()].value(), Some(2.0));
    }

    #[test]
    fn a_method_without_a_loss_free_rate_is_named() {
        let point = RatePoint {
            method: LinkMethod::Xdp,
            size: 64,
            rounds: vec![found(None, false)],
            overloaded: Vec::new(),
        };
        let result = measured(&[point]);
        assert!(!result.verdict.is_good);
        assert!(result.verdict.sentence.contains("xdp at 64 B"), "{}", result.verdict.sentence);
    }

    #[test]
    fn what_arrives_under_overload_is_a_share_of_the_loss_free_rate() {
        let overloaded = vec![Overload { loss_free: 50e3, sent: 100e3, received: 35e3 }];
        let rounds = vec![found(Some(50e3), false)];
        let result = measured(&[RatePoint { method: LinkMethod::Batched, size: 64, rounds, overloaded }]);
        let table = result.table("rates").unwrap();
        let share = table.rows[0][table.column("overload_share").unwrap()].value();
        assert_eq!(share.map(f64::round), Some(70.0));
        let said = result.findings.iter().find(|found| found.contains("twice the load"));
        assert!(said.is_some_and(|said| said.contains("1 of 1 measurements were below 80 %")), "{said:?}");
    }
}
