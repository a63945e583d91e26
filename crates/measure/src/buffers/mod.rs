//! Speed, processor time, interrupts and loss by buffer, MTU and direction, over UDP and TCP, with the first second apart: the questions
//! that the slides *10GE network tests with UDP* (European XFEL) put to each link with netperf.
//!
//! Points are measured by [`evforge_lab::measured_link`]; here they become a [`Measurement`].

mod findings;
mod table;
#[cfg(test)]
mod tests;

use crate::error::MeasureError;
use crate::losses::lost_by_location;
use crate::measurement::{Measurement, Verdict};
use crate::plot::{Axis, Line, Plot};
use crate::session::Session;
use crate::table::{Cell, Table};
use evforge_core::quantity::grouped;
use evforge_lab::measured_link::{BufferSeries, MeasuredPoint, SweptPoint};
use evforge_lab::two_hosts::TwoHosts;

/// The points of a series as a result.
///
/// # Errors
/// If a column is missing from its table, which would be a fault of evforge.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    series: &BufferSeries,
    points: &[SweptPoint],
) -> Result<Measurement, MeasureError> {
    let list = |values: Vec<String>| values.join(", ");
    let method =
        |method: &evforge_lab::measured_link::LinkMethod| format!("{method} ({})", method.explanation());
    let rate = series.rate.map_or("as fast as possible".to_owned(), |rate| format!("{rate} packets/s"));
    let session = session
        .setting("methods", list(series.methods.iter().map(method).collect()))
        .setting("rate of UDP", rate)
        .setting("rounds", series.rounds.to_string())
        .setting("time for each point", format!("{:?}", series.time));
    let table = table::points(points);
    let mut result = session.end(verdict(points));
    result.findings = findings::all(points);
    let rounds = points.iter().flat_map(SweptPoint::measured);
    result.findings.extend(lost_by_location(rounds.map(|round| &round.locations)));
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    result.limits.push(
        "The slides measured network cards and cables of 10 Gbit/s: TCP 9777 to 9899 Mb/s, UDP 9926 and 9927 Mb/s. A virtual link has no such \
         limit, no interrupts of a card, and both ends share the processor."
            .to_owned(),
    );
    for &mtu in &series.mtus {
        result.plots.extend(plots(mtu, series, &table)?);
    }
    result.tables = vec![table];
    Ok(result)
}

/// Good if every packet is accounted for.
fn verdict(points: &[SweptPoint]) -> Verdict {
    let rounds = || points.iter().flat_map(SweptPoint::measured);
    let is_accounted = |round: &MeasuredPoint| {
        round.sent > 0 && round.sent + round.duplicated == round.received + round.lost
    };
    let measured = rounds().count();
    let unaccounted = rounds().filter(|round| !is_accounted(round)).count();
    let failed: usize = points.iter().map(|point| point.failures.len()).sum();
    if unaccounted > 0 || measured == 0 {
        return Verdict::bad(format!(
            "{unaccounted} of {measured} measurements do not account for every packet: their figures are worth nothing"
        ));
    }
    if failed > 0 {
        return Verdict::bad(format!(
            "{failed} measurements could not be made; {measured} were, and account for every packet"
        ));
    }
    let count = |of: fn(&MeasuredPoint) -> u64| rounds().map(of).sum::<u64>();
    Verdict::good(format!(
        "{} packets and pieces sent in {measured} measurements, every one accounted for; {} lost",
        grouped(count(|round| round.sent)),
        grouped(count(|round| round.lost))
    ))
}

/// Speed, and what the receiver's core does in the kernel, by buffer.
fn plots(mtu: u32, series: &BufferSeries, table: &Table) -> Result<Vec<Plot>, MeasureError> {
    let buffers = || {
        let ticks: Vec<f64> = series.buffers.iter().map(|(_, bytes)| *bytes as f64 / 1e3).collect();
        Axis::logarithmic("Buffer", "kB").with_ticks(&ticks)
    };
    let mut speed = Plot::new(
        &format!("speed-{mtu}"),
        &format!("Speed by buffer, MTU {mtu}"),
        buffers(),
        Axis::linear("User data received", "Mb/s"),
    )
    .captioned("Both ways: what came from the sender while as much went back.");
    let mut kernel = Plot::new(
        &format!("kernel-{mtu}"),
        &format!("The receiver's core in the kernel by buffer, MTU {mtu}"),
        buffers(),
        Axis::linear("System and softirq", "%").over(0.0, 100.0),
    );
    for method in &series.methods {
        for direction in ["one way", "both ways: there"] {
            let chosen = |row: &[Cell]| {
                row.first() == Some(&Cell::Number(f64::from(mtu)))
                    && row.get(1) == Some(&Cell::text(method.name()))
                    && row.get(4) == Some(&Cell::text(direction))
            };
            if !table.rows.iter().any(|row| chosen(row)) {
                continue;
            }
            let name = format!("{method}, {}", direction.trim_end_matches(": there"));
            speed = speed.with(Line::of_columns(&name, table, ["bytes", "speed"], chosen)?);
            kernel = kernel.with(Line::of_columns(&name, table, ["bytes", "receiver_kernel"], chosen)?);
        }
    }
    Ok(vec![speed, kernel])
}
