//! The plots.

use super::rounds::TrainRounds;
use crate::error::MeasureError;
use crate::figure::{Field, Figure, Matrix, Stacks};
use crate::plot::{Axis, Line, Look, Plot, Point};
use crate::table::{Cell, Table};
use evforge_core::quantity::grouped;
use evforge_lab::measured_trains::Flow;

/// All of them.
pub(super) fn all(rounds: &TrainRounds, tables: &[Table]) -> Result<Vec<Plot>, MeasureError> {
    let mut plots = vec![
        matrix("missing", "Packets missing, by sender and receiver", rounds, |flow| (flow.missing(), flow.packets)),
        matrix("warm-up", "Packets missing in the warm-up", rounds, |flow| {
            (flow.warm_up_missing, flow.warm_up_packets)
        }),
        matrix("later", "Packets missing after the warm-up", rounds, |flow| {
            (flow.later_missing(), flow.later_packets())
        }),
        rate(rounds, tables)?,
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

/// What came to each receiver, and what was sent to it.
fn rate(rounds: &TrainRounds, tables: &[Table]) -> Result<Plot, MeasureError> {
    let (senders, receivers) = rounds.counts();
    let ticks: Vec<f64> = (0..receivers).map(|number| number as f64).collect();
    let rates: Vec<f64> = rounds
        .runs()
        .map(|run| run.senders.iter().map(|sender| sender.bits_per_second / 1e6).sum::<f64>())
        .collect();
    let sent = rates.iter().sum::<f64>() / (rates.len() * receivers).max(1) as f64;
    let ends = [-0.5, receivers as f64 - 0.5];
    let theory = Line::new("sent to each", Look::Theory, ends.map(|x| Point::at(x, sent)).to_vec());
    let line = Line::of_columns("came", table(tables, "receivers")?, ["receiver", "rate"], |_| true)?;
    let across = Axis::linear("Receiver", "").over(-0.5, ends[1]).with_ticks(&ticks);
    Ok(Plot::new("rate", "UDP payload that came to each receiver", across, Axis::linear("Rate", "Mbit/s"))
        .captioned(&format!("Of {senders} senders, pauses included: the mean of all runs, with 95 %."))
        .with(line)
        .with(theory))
}

/// Where the time of each receiving thread went.
fn reader(rounds: &TrainRounds) -> Option<Plot> {
    let (_, receivers) = rounds.counts();
    let shares = (0..receivers).map(|number| rounds.shares(Some(number)));
    let heights = shares.map(|shares| Some(shares?.map(|share| 100.0 * share).to_vec()));
    let stacks = Stacks {
        bars: (0..receivers).map(|number| number.to_string()).collect(),
        parts: ["receiving", "assembling", "housekeeping"].map(str::to_owned).to_vec(),
        heights: heights.collect::<Option<_>>()?,
    };
    let up = Axis::linear("Time", "%").over(0.0, 100.0);
    Some(
        Plot::new("reader", "Where the time of the receiving threads goes", Axis::linear("Receiver", ""), up)
            .captioned("Receiving: waits in the kernel for packets and fetches them, pauses between trains and the time before the first one included. Assembling: puts them into their trains.")
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
    let across = Axis::linear("Round", "").over(0.5, table.rows.len() as f64 - 0.5);
    let across = if ticks.len() <= 20 { across.with_ticks(&ticks) } else { across };
    Ok(Plot::new(
        "profile",
        "Processor time of the receiving threads, with their profile and without",
        across,
        Axis::linear("Processor time", "ns/packet"),
    )
    .captioned("Both were run one after the other in each round, in turns of who is first.")
    .with(line("with profile", "on"))
    .with(line("without", "off")))
}
