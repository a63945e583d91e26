//! The tables of latencies.

use super::series::{LatencySeries, SearchedRate, Stage};
use crate::table::{Cell, Column, Table};
use evforge_lab::measured_latency::{LatencyPoint, LatencySpread};

/// What is in the column `state` of a row whose rounds all lost nothing.
pub(super) const LOSS_FREE: &str = "loss-free";
/// What is in it if every round lost packets.
const LOST: &str = "LOST PACKETS";

/// A row for each detector, destination, load and stage that was measured.
pub(super) fn latencies(series: &[LatencySeries]) -> Table {
    let time = |name: &str, title: &str| Column::measured(name, title, "ms").decimals(2);
    let columns = vec![
        Column::key("configuration", "Configuration", ""),
        Column::key("into", "Events go to", ""),
        Column::key("load", "Load", ""),
        Column::key("until", "From arrival until", ""),
        Column::measured("rate", "Packets", "kpps").decimals(2),
        Column::measured("speed", "Times faster than simulated", "").decimals(2),
        time("p50", "50 %"),
        time("p99", "99 %"),
        time("p999", "99.9 %"),
        time("largest", "Largest"),
        Column::measured("events", "Events (broker: messages) looked at", "").decimals(0),
        Column::measured("lost", "Packets lost", "").decimals(0),
        Column::measured("state", "Rounds", ""),
    ];
    let mut table =
        Table::new("latencies", "From the arrival of a packet, against load: medians over rounds", columns);
    for one in series {
        let lost: u64 = one.rounds.iter().map(|round| round.formation.packets.lost).sum();
        for stage in Stage::ALL {
            let events = one.values(stage, |spread| Some(spread.events as f64));
            if events.is_empty() {
                continue;
            }
            let of = |figure: fn(&LatencySpread) -> Option<f64>| {
                Cell::median(&one.values(stage, |spread| figure(spread).map(|seconds| 1e3 * seconds)))
            };
            let rate = |point: &LatencyPoint| point.formation.packets.sent_per_second / 1e3;
            table.rows.push(vec![
                Cell::text(&one.name),
                Cell::text(one.into.name()),
                Cell::text(&one.load),
                Cell::text(stage.name()),
                Cell::median(&one.counted().map(rate).collect::<Vec<f64>>()),
                one.speed.map_or(Cell::Missing, Cell::Number),
                of(|spread| Some(spread.p50)),
                of(|spread| Some(spread.p99)),
                of(|spread| spread.p999),
                of(|spread| spread.largest),
                Cell::Number(events.iter().sum()),
                Cell::Number(lost as f64),
                Cell::text(state(one)),
            ]);
        }
    }
    table
}

fn state(series: &LatencySeries) -> String {
    match series.loss_free_rounds() {
        0 => LOST.to_owned(),
        all if all == series.rounds.len() => LOSS_FREE.to_owned(),
        some => format!("{some} of {} loss-free", series.rounds.len()),
    }
}

/// True if a row has figures of rounds without loss.
pub(super) fn is_loss_free(table: &Table, row: &[Cell]) -> bool {
    let state = table.column("state").and_then(|place| row.get(place));
    state.is_some_and(|state| *state != Cell::text(LOST))
}

/// The rates that loads are shares of.
pub(super) fn searched(searched: &[SearchedRate]) -> Table {
    let columns = vec![
        Column::key("configuration", "Configuration", ""),
        Column::key("into", "Events go to", ""),
        Column::measured("rate", "Highest rate without loss", "kpps").decimals(2),
        Column::measured("limit", "Limited by", ""),
        Column::measured("tried", "Measurements", "").decimals(0),
    ];
    let title = "Highest rates without loss; loads are shares of the lowest of a configuration";
    let mut table = Table::new("rates", title, columns);
    for one in searched {
        table.rows.push(vec![
            Cell::text(&one.name),
            Cell::text(one.into.name()),
            one.found.rate.map_or(Cell::Missing, |rate| Cell::Number(rate / 1e3)),
            Cell::text(if one.found.is_senders_limit { "sender" } else { "run" }),
            Cell::Number(one.found.tried.len() as f64),
        ]);
    }
    table
}
