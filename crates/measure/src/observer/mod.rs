//! What looking at a run costs it: processor time and packets, each way to look against nobody looking, in pairs of the same round.
//!
//! Runs are measured by [`evforge_lab::measured_observer`]; here they become a [`Measurement`].
//!
//! | you look for | it is in |
//! |---|---|
//! | a way to look, with its rounds and its pairs | [`Observed`] |
//! | the result: verdict, findings, limits | [`result`] |

mod observed;
mod table;

pub use observed::{Difference, Observed};

use crate::error::MeasureError;
use crate::losses::lost_by_location;
use crate::measurement::{Measurement, Verdict};
use crate::plot::{Axis, Line, Plot};
use crate::session::Session;
use evforge_lab::measured_observer::Observer;
use evforge_lab::two_hosts::TwoHosts;

/// The rounds as a result; the first way to look is that nobody looks.
///
/// # Errors
/// If a column is missing from its table, which would be a fault of evforge.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    observed: &[Observed],
) -> Result<Measurement, MeasureError> {
    let Some(nothing) = observed.iter().find(|one| one.observer == Observer::Nothing) else {
        return Err(MeasureError::Wrong("nobody has measured the run that nobody looks at".to_owned()));
    };
    let thread = nothing.busiest_thread().unwrap_or_default();
    let table = table::observers(observed, nothing, &thread);
    let mut result = session
        .setting("thread that receives and forms", if thread.is_empty() { "none seen" } else { &thread })
        .end(verdict(observed));
    result.findings.extend(observed.iter().filter_map(|one| sentence(one, nothing, &thread)));
    result.findings.extend(lost(observed));
    result.findings.extend(lost_by_location(
        observed.iter().flat_map(|one| &one.rounds).map(|round| &round.packets.locations),
    ));
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    result.limits.push(
        "Processor time is that of the run's own threads, as the kernel counts it, to 10 ms of a run. What browsers, scrapers and other readers \
         use themselves is not in it, but they share the cores with the run here: on hosts of their own they cost it less."
            .to_owned(),
    );
    result.limits.push(
        "The ratios are those of one rate and one detector: pictures with more pixels cost more, and at a higher rate everything that is done once a \
         second costs less of a packet.".to_owned(),
    );
    let keys: Vec<String> = observed
        .iter()
        .filter(|one| one.observer != Observer::Nothing)
        .enumerate()
        .map(|(number, one)| format!("{}: {}", number + 1, one.observer))
        .collect();
    let mut plot = Plot::new(
        "ratios",
        "Processor time over that of a run that nobody looks at",
        Axis { from: Some(0.0), ..Axis::linear("Way to look", "") },
        Axis { from: None, ..Axis::linear("Ratio", "") },
    )
    .captioned(&format!(
        "{}. Bars: the ratio is in them with 95 % confidence; one that has 1 in it shows no difference. Lines between them mean nothing.",
        keys.join(", ")
    ));
    for (name, column) in [("all threads", "ratio"), ("thread that receives and forms", "thread_ratio")] {
        plot = plot.with(Line::of_columns(name, &table, ["number", column], |_| true)?);
    }
    result.plots.push(plot);
    result.tables.push(table);
    Ok(result)
}

/// Whoever looks must not cost a packet.
fn verdict(observed: &[Observed]) -> Verdict {
    let lossy: Vec<String> = observed
        .iter()
        .filter(|one| one.lost() > 0)
        .map(|one| format!("{} ({} packets)", one.observer, one.lost()))
        .collect();
    let rounds = observed.iter().map(|one| one.rounds.len()).min().unwrap_or(0);
    if rounds == 0 {
        return Verdict::bad("Nothing was measured");
    }
    match lossy.is_empty() {
        true => Verdict::good(format!(
            "No packet was lost in {rounds} rounds of {} ways to look at a run",
            observed.len()
        )),
        false => Verdict::bad(format!("Packets were lost with {}", lossy.join(", "))),
    }
}

/// What a way to look costs.
fn sentence(one: &Observed, nothing: &Observed, thread: &str) -> Option<String> {
    if one.observer == Observer::Nothing {
        return None;
    }
    let all = one.ratio(nothing);
    let of_thread = one.thread_ratio(nothing, thread);
    let value = all.value()?;
    let (low, high) = all.interval().unwrap_or((value, value));
    let difference = Difference::of(&all);
    let cost = match difference {
        Difference::NoInterval => format!(
            "{:+.1} % of the processor time in one pair: nobody can say whether that is noise",
            100.0 * (value - 1.0)
        ),
        Difference::None => format!(
            "no difference of the processor time ({:+.1} to {:+.1} % with 95 % confidence)",
            100.0 * (low - 1.0),
            100.0 * (high - 1.0)
        ),
        Difference::More | Difference::Less => format!(
            "{:+.1} % of the processor time ({:+.1} to {:+.1} % with 95 % confidence)",
            100.0 * (value - 1.0),
            100.0 * (low - 1.0),
            100.0 * (high - 1.0)
        ),
    };
    let part = match (of_thread.value(), Difference::of(&of_thread)) {
        (Some(value), Difference::More | Difference::Less) => {
            format!("; {:+.1} % of that of the thread that receives and forms", 100.0 * (value - 1.0))
        }
        (Some(_), Difference::None) => "; no difference of the thread that receives and forms".to_owned(),
        _ => String::new(),
    };
    Some(format!("{} ({}): {cost}{part}.", one.observer, one.observer.explanation()))
}

/// Packets lost, of whom.
fn lost(observed: &[Observed]) -> Option<String> {
    let all: u64 = observed.iter().map(Observed::lost).sum();
    let each: Vec<String> = observed
        .iter()
        .filter(|one| one.lost() > 0)
        .map(|one| format!("{} {}", one.lost(), one.observer))
        .collect();
    (all > 0).then(|| {
        format!(
            "Packets lost, over all rounds: {}. Ratios are of pairs in which both lost nothing.",
            each.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::observed::tests::observed;
    use super::*;
    use crate::table::Cell;

    fn measured(all: &[Observed]) -> Measurement {
        let session = Session::without_host("observer", "Observer", &["evforge".to_owned()]);
        let result = result(session, &TwoHosts::on_loopback(), all).unwrap();
        result.check().unwrap();
        result
    }

    #[test]
    fn a_cost_is_a_ratio_of_pairs_and_is_none_while_one_is_in_its_interval() {
        // The machine became slower meanwhile: pairs are not misled by it.
        let all = [
            observed(Observer::Nothing, &[100, 200, 400], 0),
            observed(Observer::View, &[110, 221, 439], 0),
            observed(Observer::Monitor, &[90, 230, 380], 0),
        ];
        let result = measured(&all);
        assert!(result.verdict.is_good, "{:?}", result.verdict);
        let table = result.table("observers").unwrap();
        let of = |row: usize, name: &str| table.rows[row][table.column(name).unwrap()].clone();
        assert!(of(1, "ratio").value().is_some_and(|ratio| (1.09..1.11).contains(&ratio)));
        assert_eq!((of(0, "difference"), of(1, "difference")), (Cell::Missing, Cell::text("more")));
        assert_eq!(of(2, "difference"), Cell::text("no difference"));
        assert!(
            result.findings[0].starts_with("view (") && result.findings[0].contains("+10."),
            "{:?}",
            result.findings
        );
        assert!(result.findings[1].contains("no difference"), "{:?}", result.findings);
        assert_eq!(result.plots[0].lines[0].points.len(), 2);
    }

    #[test]
    fn whoever_costs_packets_is_named_and_its_pairs_are_left_out() {
        let all =
            [observed(Observer::Nothing, &[100, 100], 0), observed(Observer::PolledCounters, &[500, 500], 3)];
        let result = measured(&all);
        assert!(!result.verdict.is_good && result.verdict.sentence.contains("polled-counters (6 packets)"));
        let table = result.table("observers").unwrap();
        assert_eq!(table.rows[1][table.column("ratio").unwrap()], Cell::Missing);
        assert!(
            result.findings.iter().any(|said| said.contains("6 polled-counters")),
            "{:?}",
            result.findings
        );
    }

    #[test]
    fn without_the_run_that_nobody_looks_at_there_is_no_result() {
        let session = Session::without_host("observer", "Observer", &["evforge".to_owned()]);
        let view = observed(Observer::View, &[100], 0);
        assert!(result(session, &TwoHosts::on_loopback(), &[view]).is_err());
    }
}
