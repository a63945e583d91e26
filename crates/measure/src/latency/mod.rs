//! How long it takes from the arrival of a packet to its events, from there to each output, and to the picture in a browser, against load.
//!
//! Points are measured by [`evforge_lab::measured_latency`]; here they become a [`Measurement`].
//!
//! | you look for | it is in |
//! |---|---|
//! | a detector, a destination and a load | [`LatencySeries`] |
//! | the result: verdict, findings, limits | [`result`] |

mod findings;
mod plots;
mod series;
mod table;

pub use series::{LatencySeries, SearchedRate, Stage};

use crate::error::MeasureError;
use crate::measurement::{Measurement, Verdict};
use crate::session::Session;
use evforge_lab::measured_formation::Destination;
use evforge_lab::two_hosts::TwoHosts;

/// The latencies as a result. `searched` are the rates that loads are shares of; none if rates were given.
///
/// # Errors
/// If a column is missing from its table, which would be a fault of evforge.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    searched: &[SearchedRate],
    series: &[LatencySeries],
) -> Result<Measurement, MeasureError> {
    let table = table::latencies(series);
    let mut result = session.end(verdict(searched, series));
    result.findings.extend(findings::kept_back(series));
    result.findings.extend(findings::short(series));
    result.findings.extend(findings::lossy(series));
    result.findings.extend(findings::locations(series));
    result.findings.extend(findings::skipped(series));
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    result.limits.extend(limits(hosts, series));
    result.plots = plots::all(&table)?;
    result.tables.push(table);
    if !searched.is_empty() {
        result.tables.push(table::searched(searched));
    }
    Ok(result)
}

/// Up to here packets are sent as fast as they were simulated.
const SIMULATED: f64 = 1.05;

/// Latencies under loss are none of the verdict: what is lost has no latency.
fn verdict(searched: &[SearchedRate], series: &[LatencySeries]) -> Verdict {
    let without: Vec<String> = searched
        .iter()
        .filter(|search| search.found.rate.is_none())
        .map(|search| format!("{} into {}", search.name, search.into))
        .collect();
    if !without.is_empty() {
        return Verdict::bad(format!(
            "No loss-free rate was found for {}, so there is no load",
            without.join(", ")
        ));
    }
    let mut lossy: Vec<String> = Vec::new();
    for one in series {
        let same = || series.iter().filter(|other| other.name == one.name && other.into == one.into);
        let name = format!("{} into {}", one.name, one.into);
        if same().all(|other| !other.is_loss_free()) && !lossy.contains(&name) {
            lossy.push(name);
        }
    }
    let loss_free = series.iter().filter(|one| one.is_loss_free());
    let known: Vec<f64> = loss_free.clone().filter_map(LatencySeries::last_p99).collect();
    let longest = known.iter().copied().max_by(f64::total_cmp);
    let which = match loss_free.clone().count() {
        all if all == known.len() => "each of them".to_owned(),
        _ => format!("the {} of them that were long enough", known.len()),
    };
    match longest.filter(|_| lossy.is_empty()) {
        Some(longest) => Verdict::good(format!(
            "{} of {} points were measured without loss; at {which} 99 % of the events were where they go to within {:.1} ms of the \
             arrival of their packets, or less",
            loss_free.count(),
            series.len(),
            1e3 * longest
        )),
        None if series.is_empty() => Verdict::bad("Nothing was measured"),
        None if lossy.is_empty() => Verdict::good(format!(
            "{} of {} points were measured without loss, too short to know the 99 % of the events",
            loss_free.count(),
            series.len()
        )),
        None => Verdict::bad(format!("There is no point without loss for {}", lossy.join(", "))),
    }
}

fn limits(hosts: &TwoHosts, series: &[LatencySeries]) -> Vec<String> {
    let mut limits = vec![
        "Until an event is handed on and until an output has it is what the run says itself: sixteen events of each batch are looked at, and \
         for an output all events of a batch count as its earliest one. Arrival is the kernel's stamp."
            .to_owned(),
        "The events that a detector holds when the last packet has come are handed on half a second later, at the end of the run: they are \
         the largest latencies, and can be those of 99.9 %."
            .to_owned(),
    ];
    let fastest = series.iter().filter_map(|one| one.speed).max_by(f64::total_cmp);
    if let Some(fastest) = fastest.filter(|fastest| *fastest > SIMULATED) {
        limits.push(format!(
            "Packets were sent up to {fastest:.1} times faster than they were simulated: what a detector keeps back in its own time, to put \
             hits in order or until a pulse is over, is shorter by this factor than with a real source of that rate. With --neutrons at the \
             rate of the source the factor is near 1."
        ));
    }
    if series.iter().any(|one| !one.values(Stage::Browser, |spread| Some(spread.p50)).is_empty()) {
        limits.push(
            "Until the picture is in a browser is measured by a client on this host: neither a network nor the drawing is part of it. Which \
             packet an event is of is worked out from the share of the events up to it: that is wrong by as much as packets of one pulse \
             differ in their numbers of events. Arrivals are known to a millisecond."
                .to_owned(),
        );
    }
    if series.iter().any(|one| one.into == Destination::Kafka) {
        limits.push(
            "Until a broker has acknowledged events is what the output to Kafka counts itself, by message; a consumer has them later. The \
             broker shares the processor with the run."
                .to_owned(),
        );
    }
    if !hosts.has_namespaces() && series.iter().any(|one| one.into == Destination::View) {
        limits.push(
            "Until the picture is in a browser is not measured over loopback, whose counter has the browser's own packets in it: between \
             namespaces it is."
                .to_owned(),
        );
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::series::tests::series;
    use super::*;
    use crate::table::Cell;
    use evforge_lab::measured_link::LossFree;

    fn measured(searched: &[SearchedRate], all: &[LatencySeries]) -> Measurement {
        let session = Session::without_host("latency", "Latency", &["evforge".to_owned()]);
        let result = result(session, &TwoHosts::on_loopback(), searched, all).unwrap();
        result.check().unwrap();
        result
    }

    #[test]
    fn each_stage_is_a_row_with_medians_and_the_detectors_part_is_told_apart_from_the_outputs() {
        let all =
            [series(Destination::Nothing, 0.010, None, 0), series(Destination::Nexus, 0.010, Some(0.025), 0)];
        let result = measured(&[], &all);
        assert!(result.verdict.is_good, "{:?}", result.verdict);
        assert!(
            result.verdict.sentence.contains("2 of 2 points") && result.verdict.sentence.contains("50.0 ms")
        );
        let table = result.table("latencies").unwrap();
        let of = |row: usize, name: &str| table.rows[row][table.column(name).unwrap()].clone();
        assert_eq!(table.rows.len(), 3, "{table:?}");
        assert_eq!((of(2, "until"), of(2, "p50").value()), (Cell::text("taken by the output"), Some(25.0)));
        assert!(of(0, "p50").interval().is_some());
        let said = result.findings.iter().find(|said| said.contains("into nexus")).expect("a finding");
        assert!(said.contains("within 10.0 ms") && said.contains("within 25.0 ms"), "{said}");
        assert!(
            result
                .findings
                .iter()
                .any(|said| said.contains("Measure longer (--for): freia into nothing at 50 %"))
        );
    }

    #[test]
    fn the_end_of_a_run_is_not_taken_for_the_latency_of_a_load() {
        let mut one = series(Destination::Nothing, 0.010, None, 0);
        let result = measured(&[], std::slice::from_ref(&one));
        assert!(
            result.verdict.is_good && result.verdict.sentence.contains("too short"),
            "{:?}",
            result.verdict
        );
        assert!(result.findings.iter().any(|said| said.contains("Measure longer")), "{:?}", result.findings);
        one.rounds
            .iter_mut()
            .filter_map(|round| round.to_event.as_mut())
            .for_each(|spread| spread.events = 5000);
        let result = measured(&[], &[one]);
        assert!(result.verdict.sentence.contains("20.0 ms"), "{:?}", result.verdict);
        assert!(!result.findings.iter().any(|said| said.contains("Measure longer")), "{:?}", result.findings);
    }

    #[test]
    fn a_point_that_lost_packets_is_marked_and_its_latency_is_none_of_the_verdict() {
        let mut slow = series(Destination::Nexus, 1.0, Some(2.0), 5);
        slow.load = "100 %".to_owned();
        let all = [series(Destination::Nexus, 0.010, Some(0.025), 0), slow];
        let result = measured(&[], &all);
        assert!(
            result.verdict.is_good && result.verdict.sentence.contains("1 of 2 points"),
            "{:?}",
            result.verdict
        );
        assert!(result.verdict.sentence.contains("50.0 ms"), "{:?}", result.verdict);
        let table = result.table("latencies").unwrap();
        let state = table.column("state").unwrap();
        assert_eq!(
            (&table.rows[0][state], &table.rows[2][state]),
            (&Cell::text("loss-free"), &Cell::text("LOST PACKETS"))
        );
        assert!(result.findings.iter().any(|said| said.contains("nexus at 100 %")), "{:?}", result.findings);
        assert!(result.plots.iter().all(|plot| plot.lines.iter().all(|line| line.points.len() == 1)));
        assert!(!measured(&[], &all[1..]).verdict.is_good);
    }

    #[test]
    fn without_a_loss_free_rate_there_is_no_load() {
        let found = LossFree { rate: None, is_senders_limit: false, tried: Vec::new() };
        let result = measured(&[SearchedRate { name: "freia".into(), into: Destination::View, found }], &[]);
        assert!(
            !result.verdict.is_good && result.verdict.sentence.contains("freia into view"),
            "{:?}",
            result.verdict
        );
    }
}
