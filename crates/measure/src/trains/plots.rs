//! The plots.

use super::rounds::TrainRounds;
use crate::error::MeasureError;
use crate::figure::{Field, Figure, MOST_PARTS, Matrix, Stacks};
use crate::plot::{Axis, Line, Look, Plot, Point};
use crate::table::{Cell, Table};
use evforge_core::quantity::grouped;
use evforge_lab::measured_trains::Flow;

/// All of them.
pub(super) fn all(rounds: &TrainRounds, tables: &[Table]) -> Result<Vec<Plot>, MeasureError> {
    let mut plots = vec![
        matrix("missing", "Packets missing, by sender and receiver", rounds, |flow| {
            (flow.missing(), flow.packets)
        }),
        matrix("warm-up", "Packets missing in the warm-up", rounds, |flow| {
            (flow.warm_up_missing, flow.warm_up_packets)
        }),
        matrix("later", "Packets missing after the warm-up", rounds, |flow| {
            (flow.later_missing(), flow.later_packets())
        }),
        rate(rounds),
    ];
    plots.extend(reader(rounds));
    plots.push(profile(tables)?);
    Ok(plots)
}

fn matrix(name: &str, title: &str, rounds: &TrainRounds, of: fn(&Flow) -> (u64, u64)) -> Plot {
    let (senders, receivers) = rounds.counts();
    let names = |count: usize| (0..count).map(|number| number.to_string()).collect();
    let field = |flow: &Flow| {
        let (part, whole) = of(flow);
        Field {
            share: Cell::counted_share(part, whole),
            note: format!("{} of {}", grouped(part), grouped(whole)),
        }
    };
    let fields = rounds.flows().iter().map(field).collect();
    Plot::new(name, title, Axis::linear("Receiver", ""), Axis::linear("Sender", ""))
        .captioned("Share of the packets over all runs, with its count; of none seen the bound with 95 % confidence. A row that is coloured points to a sender, a column to a receiver.")
        .of(Figure::Matrix(Matrix { rows: names(senders), columns: names(receivers), fields }))
}

fn table<'a>(tables: &'a [Table], name: &str) -> Result<&'a Table, MeasureError> {
    let missing = || MeasureError::Wrong(format!("there is no table `{name}`"));
    tables.iter().find(|table| table.name == name).ok_or_else(missing)
}

/// What came to each receiver, of each sender.
fn rate(rounds: &TrainRounds) -> Plot {
    let (senders, receivers) = rounds.counts();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let is_each = senders <= MOST_PARTS;
    let bar = |receiver: usize| -> Vec<f64> {
        let is_here = |flow: &Flow| usize::from(flow.receiver) == receiver;
        let of =
            |sender: usize| mean(rounds.rate_of(|flow| is_here(flow) && usize::from(flow.sender) == sender));
        if is_each { (0..senders).map(of).collect() } else { vec![mean(rounds.rate_of(is_here))] }
    };
    let parts = match is_each {
        true => (0..senders).map(|sender| format!("sender {sender}")).collect(),
        false => vec![format!("{senders} senders")],
    };
    let stacks = Stacks {
        bars: (0..receivers).map(|number| number.to_string()).collect(),
        parts,
        heights: (0..receivers).map(bar).collect(),
    };
    let axes = (Axis::linear("Receiver", ""), Axis::linear("Rate", "Mbit/s"));
    Plot::new("rate", "UDP payload that came to each receiver, by sender", axes.0, axes.1)
        .captioned("Pauses between trains included: the mean of all runs.")
        .of(Figure::Stacks(stacks))
}

/// What each receiving thread works for a packet.
fn reader(rounds: &TrainRounds) -> Option<Plot> {
    let (_, receivers) = rounds.counts();
    let heights = (0..receivers).map(|number| {
        let time = rounds.time(Some(number))?;
        [time.fetching, time.assembling, time.housekeeping]
            .map(|part| time.us_per_packet(part))
            .into_iter()
            .collect()
    });
    let stacks = Stacks {
        bars: (0..receivers).map(|number| number.to_string()).collect(),
        parts: ["fetching from the kernel", "putting into trains", "the rest"].map(str::to_owned).to_vec(),
        heights: heights.collect::<Option<_>>()?,
    };
    let up = Axis::linear("Time for each packet", "us");
    Some(
        Plot::new("reader", "What the receiving threads do for a packet", Axis::linear("Receiver", ""), up)
            .captioned("By the profile of the thread, without the time that it waits; memory that is touched for the first time is in it. Fetching: what its processor time leaves of the other parts.")
            .of(Figure::Stacks(stacks)),
    )
}

/// Processor time with the profile and without.
fn profile(tables: &[Table]) -> Result<Plot, MeasureError> {
    let table = table(tables, "profile")?;
    let line = |name: &str, column: &str| {
        let place = table.column(column);
        let points = table.rows.iter().filter_map(|row| {
            let Some(Cell::Text(round)) = row.first() else { return None };
            // The last row is of all rounds.
            Some(Point::at(round.parse().ok()?, row.get(place?)?.value()?))
        });
        Line::new(name, Look::Measured, points.collect())
    };
    let ticks: Vec<f64> = (1..table.rows.len().max(2)).map(|round| round as f64).collect();
    let lines = [line("with profile", "on"), line("without", "off")];
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.y).fold(1.0, f64::max);
    let across = Axis::linear("Round", "").over(0.5, table.rows.len() as f64 - 0.5);
    let across = if ticks.len() <= 20 { across.with_ticks(&ticks) } else { across };
    Ok(Plot::new(
        "profile",
        "Processor time of the receiving threads, with their profile and without",
        across,
        Axis::linear("Processor time", "ns/packet").over(0.0, 1.15 * highest),
    )
    .captioned("Both were run one after the other in each round, in turns of who is first."))
    .map(|plot| lines.into_iter().fold(plot, Plot::with))
}
