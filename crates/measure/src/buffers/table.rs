//! The table of a series.

use crate::table::{Cell, Column, Table};
use evforge_lab::measured_link::{CoreShares, FirstSecondPoint, MeasuredPoint, SweptPoint};

/// A row for each point and direction.
pub(super) fn points(points: &[SweptPoint]) -> Table {
    let share = |name: &str, title: &str| Column::measured(name, title, "%").decimals(0);
    let columns = vec![
        Column::key("mtu", "MTU", "B").decimals(0),
        Column::key("method", "Method", ""),
        Column::key("buffer", "Buffer asked for", ""),
        Column::exact("bytes", "Buffer", "kB").decimals(0),
        Column::key("direction", "Direction", ""),
        Column::measured("speed", "Received", "Mb/s").decimals(0),
        Column::measured("first", "Received in the first second", "Mb/s").decimals(0),
        Column::measured("later", "Received later", "Mb/s").decimals(0),
        share("sender_system", "Sender's core: system"),
        share("sender_softirq", "Sender's core: softirq and irq"),
        share("receiver_system", "Receiver's core: system"),
        share("receiver_softirq", "Receiver's core: softirq and irq"),
        share("receiver_kernel", "Receiver's core: in the kernel"),
        Column::measured("interrupts", "Interrupts of the host", "1/s").decimals(0),
        Column::measured("error_ratio", "Packet error ratio", ""),
        Column::measured("lost_first", "Lost in the first second", "").decimals(0),
        Column::measured("lost_later", "Lost later", "").decimals(0),
        Column::measured("retransmitted", "TCP segments sent again", "").decimals(0),
        Column::measured("granted", "Receive buffer granted", "kB").decimals(0),
    ];
    let mut table = Table::new(
        "points",
        "Speed, processor time, interrupts and loss by MTU, buffer and direction",
        columns,
    );
    for point in points {
        for (direction, rounds) in point.directions() {
            table.rows.push(row(point, direction, &rounds));
        }
    }
    table
}

fn row(point: &SweptPoint, direction: &str, rounds: &[&MeasuredPoint]) -> Vec<Cell> {
    let over_rounds = |figure: &dyn Fn(&MeasuredPoint) -> Option<f64>| {
        Cell::measured(&rounds.iter().copied().filter_map(figure).collect::<Vec<f64>>())
    };
    let first = |figure: fn(&FirstSecondPoint) -> f64| {
        over_rounds(&|round: &MeasuredPoint| round.first_second.as_ref().map(figure))
    };
    // Of a connection nothing is lost for good.
    let lost = |count: fn(&FirstSecondPoint) -> u64| {
        let counts: Vec<u64> =
            rounds.iter().filter_map(|round| round.first_second.as_ref().map(count)).collect();
        match point.point.method.can_lose() && !counts.is_empty() {
            true => Cell::Number(counts.iter().sum::<u64>() as f64),
            false => Cell::Missing,
        }
    };
    let share = |core: fn(&MeasuredPoint) -> Option<CoreShares>, of: fn(&CoreShares) -> f64| {
        over_rounds(&|round| core(round).map(|shares| 100.0 * of(&shares)))
    };
    let count = |of: fn(&MeasuredPoint) -> u64| rounds.iter().copied().map(of).sum::<u64>();
    let retransmitted: Vec<u64> = rounds.iter().filter_map(|round| round.retransmitted).collect();
    vec![
        point.point.mtu.map_or(Cell::Missing, |mtu| Cell::Number(mtu.into())),
        Cell::text(point.point.method.name()),
        Cell::text(&point.buffer),
        Cell::Number(point.point.buffer as f64 / 1e3),
        Cell::text(direction),
        over_rounds(&|round| Some(round.bits_per_second / 1e6)),
        first(|first| first.bits_per_second / 1e6),
        first(|first| first.later_bits_per_second / 1e6),
        share(|round| round.sender_core, |shares| shares.system),
        share(|round| round.sender_core, |shares| shares.interrupts),
        share(|round| round.receiver_core, |shares| shares.system),
        share(|round| round.receiver_core, |shares| shares.interrupts),
        share(|round| round.receiver_core, |shares| shares.system + shares.interrupts),
        over_rounds(&|round| round.interrupts_per_second),
        match point.point.method.can_lose() {
            true => Cell::counted_share(count(|round| round.lost), count(|round| round.sent)),
            false => Cell::Missing,
        },
        lost(|first| first.lost),
        lost(|first| first.later_lost),
        match retransmitted.is_empty() {
            true => Cell::Missing,
            false => Cell::Number(retransmitted.iter().sum::<u64>() as f64),
        },
        over_rounds(&|round| round.granted_buffer.map(|bytes| bytes as f64 / 1e3)),
    ]
}
