//! What latencies tell, in sentences.

use super::series::{LatencySeries, Stage};
use crate::losses::lost_by_location;

/// Of each configuration and destination, at its lowest and its highest load without loss: what part passes before the event is handed on.
pub(super) fn kept_back(series: &[LatencySeries]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut done: Vec<(&str, &str)> = Vec::new();
    for one in series {
        let of = (one.name.as_str(), one.into.name());
        if done.contains(&of) {
            continue;
        }
        done.push(of);
        let mut same = series
            .iter()
            .filter(|other| (other.name.as_str(), other.into.name()) == of && other.is_loss_free());
        let first = same.next();
        findings.extend(first.into_iter().chain(same.next_back()).filter_map(sentence));
    }
    findings
}

fn sentence(series: &LatencySeries) -> Option<String> {
    let event = 1e3 * series.half(Stage::Event)?;
    let title = series.title();
    let whole = Stage::ALL[1..].iter().rev().find_map(|stage| Some((stage, 1e3 * series.half(*stage)?)));
    let Some((stage, whole)) = whole.filter(|(_, whole)| *whole > 0.0) else {
        return Some(format!(
            "{title}: half of the events are handed on within {event:.1} ms of the arrival of their packets. That is the time in the socket's \
             buffer, what the detector keeps back to put hits in order, and the batch that events wait in, at most 100 ms."
        ));
    };
    if matches!(stage, Stage::Output) {
        return Some(format!(
            "{title}: half of the events are handed on within {event:.1} ms of the arrival of their packets, and taken by the output within \
             {whole:.1} ms. For an output all events of a batch count as its earliest one: the rest is its own time, and the time in which a \
             batch fills."
        ));
    }
    let what = match stage {
        Stage::Broker => "the output and the broker",
        Stage::Browser => "the output and the interval between pictures",
        Stage::Event | Stage::Output => "the output",
    };
    Some(format!(
        "{title}: before events are handed on, {event:.1} ms of {whole:.1} ms pass ({:.0} %; half of the events, until {}); the rest is {what}.",
        100.0 * event / whole,
        stage.name()
    ))
}

/// Points at which the end of the run is in the 99 %.
pub(super) fn short(series: &[LatencySeries]) -> Option<String> {
    let each: Vec<String> = series.iter().filter(|one| one.is_short()).map(LatencySeries::title).collect();
    (!each.is_empty()).then(|| {
        format!(
            "The last batch of a run is handed on when nothing has come for half a second, and it is more than 1 % of the events that were \
             looked at: the 99 % until events are handed on are those of the end of the run, not of the load. Measure longer (--for): {}.",
            each.join(", ")
        )
    })
}

/// Points with loss, which have no latency without loss.
pub(super) fn lossy(series: &[LatencySeries]) -> Option<String> {
    let some = series.iter().filter(|one| one.loss_free_rounds() < one.rounds.len());
    let each: Vec<String> = some
        .map(|one| {
            let rounds = one.rounds.len();
            format!("{} ({} of {rounds} rounds)", one.title(), rounds - one.loss_free_rounds())
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!("Packets or events were lost, and these rounds are not in the figures of points that have others: {}.", each.join(", "))
    })
}

/// Where packets were lost.
pub(super) fn locations(series: &[LatencySeries]) -> Option<String> {
    lost_by_location(
        series.iter().flat_map(|one| &one.rounds).map(|round| &round.formation.packets.locations),
    )
}

/// Whether a browser was too slow for what was measured.
pub(super) fn skipped(series: &[LatencySeries]) -> Option<String> {
    let shown = || series.iter().flat_map(|one| &one.rounds).filter_map(|round| round.shown.as_ref());
    let skipped: u64 = shown().map(|shown| shown.skipped).sum();
    let updates: usize = shown().map(|shown| shown.updates.len()).sum();
    (updates > 0).then(|| format!("The page showed {updates} updates and skipped {skipped}."))
}
