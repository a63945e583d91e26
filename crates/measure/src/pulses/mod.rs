//! Up to which peak rate pulses are received whole, against what the receive buffer holds.
//!
//! Peaks are searched by [`evforge_lab::measured_pulses`], which has the relation as well; here they become a [`Measurement`].

mod filling;
mod plots;
mod table;

use crate::error::MeasureError;
use crate::losses::lost_by_location;
use crate::measurement::{Measurement, Verdict};
use crate::session::Session;
use evforge_core::quantity::grouped;
use evforge_lab::measured_link::MeasuredPoint;
use evforge_lab::measured_pulses::{PulsePlan, SearchedPulses};
use evforge_lab::two_hosts::TwoHosts;
use filling::fillings;

/// Where a receiver serves more than this share of the peak, an error of that counts more than the buffer.
const MOST_SERVED: f64 = 0.8;

/// The points as a result.
///
/// # Errors
/// If a column is missing from its table, which would be a fault of evforge.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    plan: &PulsePlan,
    points: &[SearchedPulses],
) -> Result<Measurement, MeasureError> {
    let session = session
        .setting("pulses in a second", format!("{} Hz", plan.frequency.millihertz as f64 / 1e3))
        .setting("pulses of each measurement", plan.pulses.to_string())
        .setting("rounds", plan.rounds.to_string());
    let mut result = session.end(verdict(points));
    result.findings.extend(filled(points));
    result.findings.extend(whole_below(points));
    result.findings.extend(not_searched(points));
    let measured = points.iter().flat_map(SearchedPulses::measured);
    result.findings.extend(lost_by_location(measured.map(|point| &point.locations)));
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    result.limits.extend([
        "Neither end has real-time priority: whenever another program takes the receiver's core, that counts as work, and packets \
         that a delayed sender sends together have a higher peak than was asked for."
            .to_owned(),
        format!(
            "A peak is loss-free if no packet of {} pulses was lost: a mean rate that is a little above what is served shows only \
             after more of them.",
            plan.pulses
        ),
    ]);
    let table = table::points(points);
    result.plots = plots::all(plan, &table)?;
    result.tables.push(table);
    Ok(result)
}

/// Good if every point has its peak, and every packet of the search is accounted for.
fn verdict(points: &[SearchedPulses]) -> Verdict {
    let measured = || points.iter().flat_map(SearchedPulses::measured);
    let is_accounted = |point: &&MeasuredPoint| {
        point.sent > 0
            && point.sent + point.duplicated == point.received + point.lost
            && point.locations.values().sum::<u64>() == point.lost
    };
    let unaccounted = measured().filter(|point| !is_accounted(point)).count();
    if unaccounted > 0 {
        return Verdict::bad(format!(
            "{unaccounted} of {} measurements do not account for every packet: their figures are worth nothing",
            measured().count()
        ));
    }
    let without: Vec<String> = points
        .iter()
        .filter(|point| point.relation().is_none() || point.peaks().len() < point.rounds.len())
        .map(table::name)
        .collect();
    if !without.is_empty() {
        return Verdict::bad(format!("No peak was found for {}", without.join("; ")));
    }
    match points.iter().filter(|point| !point.rounds.is_empty()).count() {
        0 => Verdict::bad(
            "The mean rate limits all of these pulses, and not the buffer: give smaller buffers or larger peak factors",
        ),
        searched => Verdict::good(format!(
            "Pulses are received whole up to the peaks found, one for each receiver and buffer that was searched ({searched}); {} \
             packets, every one accounted for",
            grouped(measured().map(|point| point.sent).sum())
        )),
    }
}

/// How much of the buffers the peaks filled.
fn filled(points: &[SearchedPulses]) -> Option<String> {
    let is_of_use = |point: &&SearchedPulses| {
        let lowest = point.peaks().into_iter().min_by(f64::total_cmp);
        point.receiver.served.zip(lowest).is_some_and(|(served, lowest)| served < MOST_SERVED * lowest)
    };
    let mut shares: Vec<f64> = points.iter().filter(is_of_use).flat_map(fillings).collect();
    shares.sort_by(f64::total_cmp);
    let (least, most) = (shares.first()?, shares.last()?);
    Some(format!(
        "Of twice the buffer, {least:.2} to {most:.2} was filled at the peaks found, {:.2} in the middle (peaks: {}, where what is served \
         is less than {:.0} % of the peak; elsewhere an error of it counts more than the buffer).",
        shares[shares.len() / 2],
        shares.len(),
        100.0 * MOST_SERVED
    ))
}

/// Whether pulses a little below the peaks come whole.
fn whole_below(points: &[SearchedPulses]) -> Option<String> {
    let below = || points.iter().flat_map(|point| &point.rounds).filter_map(|round| round.below.as_ref());
    let whole = below().filter(|point| point.is_whole()).count();
    (below().count() > 0).then(|| {
        format!(
            "At 90 % of the peaks found, all pulses of {whole} of {} measurements were received whole.",
            below().count()
        )
    })
}

/// Points of which no peak was searched, by their reason.
fn not_searched(points: &[SearchedPulses]) -> Vec<String> {
    let names = |chosen: &dyn Fn(&SearchedPulses) -> bool| {
        let names: Vec<String> = points.iter().filter(|point| chosen(point)).map(table::name).collect();
        (!names.is_empty()).then(|| names.join("; "))
    };
    let is_of_mean = |point: &SearchedPulses| point.relation().is_some_and(|relation| !relation.is_of_buffer);
    let of_mean = names(&is_of_mean).map(|names| {
        format!("Not searched, as the mean rate and not the buffer limits the peak by the relation: {names}.")
    });
    let unknown = names(&|point| point.receiver.served.is_none())
        .map(|names| format!("Not searched, as the sender is too slow to overload the receiver: {names}."));
    of_mean.into_iter().chain(unknown).collect()
}

#[cfg(test)]
mod tests;
