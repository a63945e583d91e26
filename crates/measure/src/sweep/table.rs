//! The tables of a sweep.

use crate::error::MeasureError;
use crate::link::Link;
use crate::table::{Cell, Column, Table};
use evforge_lab::measured_link::{CoreShares, LinkMethod, MeasuredPoint, Sweep, SweptPoint};

/// A row for each point.
pub(super) fn points(link: &Link, points: &[SweptPoint]) -> Result<Table, MeasureError> {
    let share = |name: &str, title: &str| Column::measured(name, title, "%").decimals(0);
    let columns = vec![
        Column::key("method", "Method", ""),
        Column::key("buffer", "Receive buffer", ""),
        Column::key("size", "User data", "B").decimals(0),
        Column::key("direction", "Direction", ""),
        Column::measured("speed", "Received", "Gb/s").decimals(3),
        Column::exact("theory", "Link at most", "Gb/s").decimals(3),
        Column::measured("sent_rate", "Sent", "kpps").decimals(1),
        Column::measured("rate", "Received", "kpps").decimals(1),
        Column::measured("error_ratio", "Packet error ratio", ""),
        Column::measured("reordered", "Reordered", "").decimals(0),
        Column::measured("duplicated", "Duplicated", "").decimals(0),
        Column::measured("retransmitted", "TCP segments sent again", "").decimals(0),
        Column::measured("receiver_ns", "Receiving thread", "ns/packet").decimals(0),
        share("sender_programs", "Sender's core: user and system"),
        share("sender_interrupts", "Sender's core: softirq and irq"),
        share("receiver_programs", "Receiver's core: user and system"),
        share("receiver_interrupts", "Receiver's core: softirq and irq"),
        Column::measured("interrupts", "Interrupts of the host", "1/s").decimals(0),
    ];
    let mut table = Table::new("points", "Speed, packet error ratio and processor time by size", columns);
    let all = points.iter().flat_map(|point| {
        point.directions().into_iter().map(move |(direction, rounds)| (point, direction, rounds))
    });
    for (point, direction, rounds) in all {
        let size = u32::try_from(point.point.size).unwrap_or(u32::MAX);
        let theory = link.packet(size)?.user_bits_per_second() / 1e9;
        let over_rounds = |figure: &dyn Fn(&MeasuredPoint) -> Option<f64>| {
            Cell::measured(&rounds.iter().copied().filter_map(figure).collect::<Vec<f64>>())
        };
        let total = |count: fn(&MeasuredPoint) -> u64| {
            Cell::Number(rounds.iter().copied().map(count).sum::<u64>() as f64)
        };
        let retransmitted: Vec<u64> = rounds.iter().filter_map(|round| round.retransmitted).collect();
        let share = |core: fn(&MeasuredPoint) -> Option<CoreShares>, of: fn(&CoreShares) -> f64| {
            over_rounds(&|round| core(round).map(|shares| 100.0 * of(&shares)))
        };
        let count = |of: fn(&MeasuredPoint) -> u64| rounds.iter().copied().map(of).sum::<u64>();
        let (sent, lost) = (count(|round| round.sent), count(|round| round.lost));
        let programs = |shares: &CoreShares| shares.user + shares.system;
        let interrupts = |shares: &CoreShares| shares.interrupts;
        table.rows.push(vec![
            Cell::text(point.point.method.name()),
            Cell::text(&point.buffer),
            Cell::Number(f64::from(size)),
            Cell::text(direction),
            over_rounds(&|round| Some(round.bits_per_second / 1e9)),
            Cell::Number(theory),
            over_rounds(&|round| Some(round.sent_per_second / 1e3)),
            over_rounds(&|round| Some(round.received_per_second / 1e3)),
            Cell::counted_share(lost, sent),
            total(|round| round.reordered),
            total(|round| round.duplicated),
            match retransmitted.is_empty() {
                true => Cell::Missing,
                false => Cell::Number(retransmitted.iter().sum::<u64>() as f64),
            },
            over_rounds(&|round| round.receiver_ns),
            share(|round| round.sender_core, programs),
            share(|round| round.sender_core, interrupts),
            share(|round| round.receiver_core, programs),
            share(|round| round.receiver_core, interrupts),
            over_rounds(&|round| round.interrupts_per_second),
        ]);
    }
    Ok(table)
}

/// Packets received per second over those of the paper's method.
pub(super) fn ratios_of(sweep: &Sweep, points: &[SweptPoint]) -> Table {
    let columns = vec![
        Column::key("method", "Method", ""),
        Column::key("buffer", "Receive buffer", ""),
        Column::key("size", "User data", "B").decimals(0),
        Column::measured("ratio", "Received, over the paper's method", "").decimals(2),
    ];
    let mut table = Table::new("ratios", "Methods against the paper's, in the same round", columns);
    for &method in sweep.methods.iter().filter(|method| **method != LinkMethod::Paper) {
        for (size, buffer, ratios) in ratios(points, method) {
            table.rows.push(vec![
                Cell::text(method.name()),
                Cell::text(buffer),
                Cell::Number(size as f64),
                Cell::measured(&ratios),
            ]);
        }
    }
    table
}

/// For each size and buffer: packets received per second over those of the paper's method in the same round.
pub(super) fn ratios(points: &[SweptPoint], method: LinkMethod) -> Vec<(usize, String, Vec<f64>)> {
    let of_method = points.iter().filter(|point| point.point.method == method);
    of_method
        .filter_map(|point| {
            let same = |other: &&SweptPoint| {
                other.point.method == LinkMethod::Paper
                    && other.point.size == point.point.size
                    && other.buffer == point.buffer
            };
            let paper = points.iter().find(same)?;
            let rounds = point.rounds.iter().zip(&paper.rounds);
            let ratios: Vec<f64> = rounds
                .filter(|(_, paper)| paper.received_per_second > 0.0)
                .map(|(round, paper)| round.received_per_second / paper.received_per_second)
                .collect();
            (!ratios.is_empty()).then(|| (point.point.size, point.buffer.clone(), ratios))
        })
        .collect()
}
