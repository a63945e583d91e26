//! Speed, packet error ratio and processor time against the size of packets, methods side by side: Table 3 and Figure 3 of *Reliable
//! UDP at 10 Gb/s with BSD sockets*.
//!
//! Points are measured by [`evforge_lab::measured_link`]; here they become a [`Measurement`].

mod paper;
mod plots;
mod table;

pub use paper::{PAPER_BYTES, PAPER_ERROR_RATIOS};

use crate::error::MeasureError;
use crate::link::Link;
use crate::losses::lost_by_location;
use crate::measurement::{Measurement, Verdict};
use crate::session::Session;
use evforge_core::quantity::grouped;
use evforge_lab::measured_link::{LinkMethod, MeasuredPoint, Sweep, SweptPoint};
use evforge_lab::two_hosts::TwoHosts;

/// The points of a sweep as a result. `link` is the one whose theoretical speed is shown for comparison.
///
/// # Errors
/// If a size is none of a UDP packet.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    link: &Link,
    sweep: &Sweep,
    points: &[SweptPoint],
) -> Result<Measurement, MeasureError> {
    let list = |values: Vec<String>| values.join(", ");
    let session = session
        .setting("sizes", list(sweep.sizes.iter().map(|size| format!("{size} B")).collect()))
        .setting("methods", list(sweep.methods.iter().map(|method| explained(*method)).collect()))
        .setting(
            "receive buffers",
            list(sweep.buffers.iter().map(|(name, bytes)| format!("{name}: {bytes} B")).collect()),
        )
        .setting("rounds", sweep.rounds.to_string())
        .setting("time for each point", format!("{:?}", sweep.time));
    let mut result = session.end(verdict(points));
    result.findings.extend(against_the_paper(sweep, points));
    let rounds = points.iter().flat_map(SweptPoint::measured);
    result.findings.extend(lost_by_location(rounds.map(|round| &round.locations)));
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    let sent = |point: &SweptPoint| point.rounds.iter().map(|round| round.sent).sum::<u64>();
    let most_sent = points.iter().map(sent).max().unwrap_or(0);
    result.limits.push(format!(
        "The paper sent 400 GB for each size; the share lost here is known to no better than 3/N of the N packets sent ({} \
         at most in one row).",
        grouped(most_sent)
    ));
    result.findings.extend(failures(points));
    let table = table::points(link, points)?;
    result.plots = plots::all(link, sweep, &table, points)?;
    result.tables = vec![table, table::ratios_of(sweep, points)];
    Ok(result)
}

fn explained(method: LinkMethod) -> String {
    format!("{method} ({})", method.explanation())
}

/// Good if every packet is accounted for, and every lost one has a location.
fn verdict(points: &[SweptPoint]) -> Verdict {
    let rounds = || points.iter().flat_map(SweptPoint::measured);
    let is_accounted = |round: &MeasuredPoint| {
        round.sent > 0
            && round.sent + round.duplicated == round.received + round.lost
            && round.locations.values().sum::<u64>() == round.lost
    };
    let (measured, sent) = (rounds().count(), rounds().map(|round| round.sent).sum());
    let unaccounted = rounds().filter(|round| !is_accounted(round)).count();
    let lost: u64 = rounds().map(|round| round.lost).sum();
    if unaccounted > 0 || measured == 0 {
        return Verdict::bad(format!(
            "{unaccounted} of {measured} measurements do not account for every packet: their figures are worth nothing"
        ));
    }
    let failed: usize = points.iter().map(|point| point.failures.len()).sum();
    if failed > 0 {
        return Verdict::bad(format!(
            "{failed} measurements could not be made; {measured} were, and account for every packet"
        ));
    }
    Verdict::good(format!(
        "{} packets sent in {measured} measurements, every one accounted for; {} lost",
        grouped(sent),
        grouped(lost)
    ))
}

/// The speed of each method over that of the paper's, at the same size and with the same buffer.
fn against_the_paper(sweep: &Sweep, points: &[SweptPoint]) -> Vec<String> {
    let others = sweep.methods.iter().filter(|method| **method != LinkMethod::Paper);
    others
        .filter_map(|&method| {
            let ratios: Vec<f64> = table::ratios(points, method).into_iter().map(|(_, _, ratios)| median(ratios)).collect();
            let least = ratios.iter().copied().min_by(f64::total_cmp)?;
            let most = ratios.iter().copied().max_by(f64::total_cmp)?;
            Some(format!(
                "{method}: {least:.2} to {most:.2} times the packets per second that the paper's method receives, by size."
            ))
        })
        .collect()
}

/// Why measurements are missing, each reason once.
fn failures(points: &[SweptPoint]) -> Vec<String> {
    let mut said = Vec::new();
    for point in points {
        for failure in &point.failures {
            let sentence =
                format!("{} at {} B could not be measured: {failure}", point.point.method, point.point.size);
            if !said.contains(&sentence) {
                said.push(sentence);
            }
        }
    }
    said
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_lab::measured_link::CoreShares;
    use std::time::Duration;

    fn sweep() -> Sweep {
        Sweep {
            sizes: vec![64, 8972],
            methods: vec![LinkMethod::Paper, LinkMethod::Batched],
            buffers: vec![("default".into(), 212_992), ("12 MB".into(), 12_000_000)],
            rounds: 2,
            time: Duration::from_secs(1),
            bytes: None,
            rate: None,
            work: Duration::ZERO,
            both_directions: false,
        }
    }

    fn measured(lost: u64, unlocated: u64) -> Measurement {
        let sweep = sweep();
        let shares = CoreShares { user: 0.5, system: 0.2, interrupts: 0.1, stolen: 0.0 };
        let points = sweep
            .run(
                |point| {
                    let factor = if point.method == LinkMethod::Paper { 1.0 } else { 3.0 };
                    Ok(MeasuredPoint {
                        sent: 1000,
                        received: 1000 - lost,
                        lost,
                        received_per_second: factor * 1e5,
                        bits_per_second: factor * 8e5 * point.size as f64,
                        sender_core: Some(shares),
                        receiver_core: Some(shares),
                        locations: [("unlocated".to_owned(), unlocated)]
                            .into_iter()
                            .filter(|(_, n)| *n > 0)
                            .collect(),
                        ..MeasuredPoint::default()
                    })
                },
                |_, _, _, _| {},
            )
            .unwrap();
        let session = Session::without_host("sweep", "Sweep", &["evforge".to_owned()]);
        let link = Link::new(10_000_000_000, 9000).unwrap();
        result(session, &TwoHosts::on_loopback(), &link, &sweep, &points).unwrap()
    }

    #[test]
    fn a_sweep_is_a_sound_result_with_theory_and_the_papers_figures() {
        let result = measured(0, 0);
        result.check().unwrap();
        assert!(result.verdict.is_good, "{:?}", result.verdict);
        assert!(
            result.findings.iter().any(|found| found.starts_with("batched: 3.00 to 3.00 times")),
            "{:?}",
            result.findings
        );
        let points = result.table("points").unwrap();
        assert_eq!(points.rows.len(), 8);
        let theory = points.column("theory").unwrap();
        let speed = points.rows.last().and_then(|row| row[theory].value()).unwrap();
        assert!((speed - 9.927).abs() < 0.001, "Figure 3: {speed} Gb/s at 8972 B");
        let ratio = points.column("error_ratio").unwrap();
        assert!(points.rows[0][ratio].is_upper_bound(), "nothing lost is an upper bound");
    }

    #[test]
    fn a_lost_packet_without_a_location_is_not_good() {
        assert!(measured(10, 10).verdict.is_good);
        let result = measured(10, 4);
        assert!(!result.verdict.is_good);
        assert!(result.verdict.sentence.starts_with("16 of 16"), "{}", result.verdict.sentence);
    }
}
