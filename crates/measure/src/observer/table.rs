//! The table of observers.

use super::observed::{Difference, Observed};
use crate::table::{Cell, Column, Table};
use evforge_lab::measured_observer::{ObservedPoint, Observer};

/// A row for each way to look at a run.
pub(super) fn observers(observed: &[Observed], nothing: &Observed, thread: &str) -> Table {
    let columns = vec![
        Column::key("observer", "Looked at by", ""),
        Column::exact("number", "In the plot", "").decimals(0),
        Column::measured("rate", "Packets", "kpps").decimals(2),
        Column::measured("time", "All threads", "ns/packet").decimals(0),
        Column::measured("thread_time", "Thread that receives and forms", "ns/packet").decimals(0),
        Column::measured("cores", "Cores used", "").decimals(3),
        Column::measured("ratio", "All threads, over nothing", "").decimals(3),
        Column::measured("difference", "Difference", ""),
        Column::measured("thread_ratio", "Thread, over nothing", "").decimals(3),
        Column::measured("thread_difference", "Difference of the thread", ""),
        Column::measured("sent", "Packets sent", "").decimals(0),
        Column::measured("received", "Packets received", "").decimals(0),
        Column::measured("lost", "Packets lost", "").decimals(0),
        Column::measured("looks", "Looked", "times").decimals(0),
        Column::measured("skipped", "Updates skipped", "").decimals(0),
        Column::measured("pictures", "Pictures, of the browser with fewest", "1/s").decimals(2),
        Column::measured("bytes", "Pictures, of the browser with most", "MB/s").decimals(2),
    ];
    let mut table = Table::new(
        "observers",
        "Processor time of a run, by who looks at it; ratios are of pairs in the same round",
        columns,
    );
    let mut number = 0.0;
    for one in observed {
        let total =
            |count: fn(&ObservedPoint) -> u64| Cell::Number(one.rounds.iter().map(count).sum::<u64>() as f64);
        let over_rounds =
            |figure: &dyn Fn(&ObservedPoint) -> Option<f64>| Cell::measured(&one.values(figure));
        let rate = |point: &ObservedPoint| point.packets.sent_per_second;
        let cores = |point: &ObservedPoint| Some(point.ns_per_packet()? * rate(point) / 1e9);
        let is_nothing = one.observer == Observer::Nothing;
        let (ratio, thread_ratio) = match is_nothing {
            true => (Cell::Missing, Cell::Missing),
            false => (one.ratio(nothing), one.thread_ratio(nothing, thread)),
        };
        let word = |ratio: &Cell| match ratio {
            Cell::Missing => Cell::Missing,
            ratio => Cell::text(Difference::of(ratio).name()),
        };
        number += if is_nothing { 0.0 } else { 1.0 };
        table.rows.push(vec![
            Cell::text(one.observer.to_string()),
            if is_nothing { Cell::Missing } else { Cell::Number(number) },
            over_rounds(&|point| Some(rate(point) / 1e3)),
            over_rounds(&ObservedPoint::ns_per_packet),
            over_rounds(&|point| point.thread_ns_per_packet(thread)),
            over_rounds(&cores),
            ratio.clone(),
            word(&ratio),
            thread_ratio.clone(),
            word(&thread_ratio),
            total(|point| point.packets.sent),
            total(|point| point.packets.received),
            total(|point| point.packets.lost),
            total(|point| point.looks),
            total(|point| point.skipped),
            over_rounds(&|point| point.pictures_per_second),
            over_rounds(&|point| Some(point.bytes_per_second? / 1e6)),
        ]);
    }
    table
}
