//! How many packets per second arrive at most of one stream and of several, with and without decoding: Figure 6 of the XDP paper.
//!
//! This is a measurement of its own, and no option of [`rate`](crate::rate): that one searches the highest rate without loss, by size and method,
//! and this one offers as much as the sender can and says what arrives. Rows, columns and verdicts have nothing in common, and results
//! of one kind are compared with each other.

use crate::counted::streams;
use crate::error::MeasureError;
use crate::losses::lost_by_location;
use crate::measurement::{Measurement, Verdict};
use crate::plot::{Axis, Line, Look, Plot, Point};
use crate::session::Session;
use crate::table::{Cell, Column, Table};
use evforge_core::quantity::grouped;
use evforge_lab::measured_link::MeasuredPoint;
use evforge_lab::measured_streams::MeasuredStreams;
use evforge_lab::two_hosts::TwoHosts;

/// Figure 6 of the XDP paper: millions of packets of 64 bytes per second and stream, without decoding and with it, up to three streams.
const PAPER_PER_STREAM: [(bool, f64); 2] = [(false, 4.66), (true, 3.88)];
/// The same: millions of packets per second of all streams, from four streams on.
const PAPER_SUM: f64 = 15.0;

/// A number of streams, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedStreams {
    /// Streams at once.
    pub streams: u16,
    /// Words are counted, as a workload like decoding.
    pub decodes: bool,
    /// A round each.
    pub rounds: Vec<MeasuredStreams>,
}

impl DecodedStreams {
    /// Packets per second of all streams, a round each.
    fn sums(&self) -> Vec<f64> {
        let sum =
            |round: &MeasuredStreams| round.streams.iter().map(|stream| stream.received_per_second).sum();
        self.rounds.iter().map(sum).collect()
    }

    /// True if nothing was lost in any round: the receiver may take more than the sender can send.
    fn is_senders_limit(&self) -> bool {
        self.sum(|stream| stream.lost) == 0
    }

    fn mean_sum(&self) -> f64 {
        let sums = self.sums();
        sums.iter().sum::<f64>() / sums.len().max(1) as f64
    }

    fn of_streams(&self) -> impl Iterator<Item = &MeasuredPoint> {
        self.rounds.iter().flat_map(|round| &round.streams)
    }

    fn sum(&self, count: fn(&MeasuredPoint) -> u64) -> u64 {
        self.of_streams().map(count).fold(0, u64::saturating_add)
    }
}

/// The points as a result.
///
/// # Errors
/// If a column is missing from its table, which would be a fault of evforge.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    data_bytes: u64,
    points: &[DecodedStreams],
) -> Result<Measurement, MeasureError> {
    let table = sums(points);
    let mut result = session.setting("data of each packet", format!("{data_bytes} B")).end(verdict(points));
    result.findings.extend([false, true].into_iter().filter_map(|decodes| scaling(points, decodes)));
    result.findings.extend(price_of_decoding(points));
    result.findings.extend(limited_by_the_sender(points));
    let rounds = points.iter().flat_map(|point| &point.rounds);
    let lost: Vec<_> = rounds.map(MeasuredStreams::locations).collect();
    result.findings.extend(lost_by_location(&lost));
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    result.limits.extend(hosts.of_pieces().map(str::to_owned));
    result.limits.extend(
        [
            "All streams are sent by threads on one core: with more streams each is offered less. What was sent is in the table.",
            "A packet has 16 bytes of header besides its data. Words are counted where the paper counted them, too: a real detector's data cost more.",
            "Packets are received by sockets; the paper received by AF_XDP, for some minutes each.",
        ]
        .map(str::to_owned),
    );
    result.plots = vec![
        plot("per-stream", "Packets that arrive of each stream", "per_stream", points, &table)?,
        plot("sum", "Packets that arrive of all streams", "sum", points, &table)?,
    ];
    result.tables = vec![table, each(points)];
    Ok(result)
}

/// Good if packets of every stream arrived in every round.
fn verdict(points: &[DecodedStreams]) -> Verdict {
    let silent = points.iter().filter(|point| {
        point.rounds.is_empty() || point.of_streams().any(|stream| stream.received_per_second <= 0.0)
    });
    let silent: Vec<String> = silent
        .map(|point| format!("{}, decode {}", streams(point.streams.into()), word(point.decodes)))
        .collect();
    let most = points.iter().map(DecodedStreams::mean_sum).fold(0.0, f64::max);
    match silent.is_empty() && !points.is_empty() {
        true => Verdict::good(format!(
            "At most {:.1} kpps of all streams arrived, and some of every stream",
            most / 1e3
        )),
        false => Verdict::bad(format!("A stream of which nothing arrived: {}", silent.join("; "))),
    }
}

fn word(decodes: bool) -> &'static str {
    if decodes { "on" } else { "off" }
}

fn thousands(values: impl IntoIterator<Item = f64>) -> Cell {
    Cell::measured(&values.into_iter().map(|value| value / 1e3).collect::<Vec<_>>())
}

fn sums(points: &[DecodedStreams]) -> Table {
    let columns = vec![
        Column::key("decode", "Decode", ""),
        Column::key("streams", "Streams", "").decimals(0),
        Column::measured("per_stream", "Arrived, per stream", "kpps").decimals(1),
        Column::measured("sum", "Arrived, all streams", "kpps").decimals(1),
        Column::measured("speed", "Data arrived", "Gb/s").decimals(3),
        Column::measured("sent", "Sent, all streams", "kpps").decimals(1),
        Column::measured("loss", "Lost", ""),
        Column::measured("limit", "Limited by", ""),
        Column::exact("paper", "Figure 6: all streams", "kpps").decimals(0),
    ];
    let mut table =
        Table::new("streams", "Packets that arrive at most, by number of streams (Figure 6)", columns);
    for point in points {
        let count = f64::from(point.streams);
        let of_rounds = |of: fn(&MeasuredPoint) -> f64| -> Vec<f64> {
            point.rounds.iter().map(|round| round.streams.iter().map(of).sum()).collect()
        };
        table.rows.push(vec![
            Cell::text(word(point.decodes)),
            Cell::Number(count),
            thousands(point.sums().into_iter().map(|sum| sum / count)),
            thousands(point.sums()),
            Cell::measured(&of_rounds(|stream| stream.bits_per_second / 1e9)),
            thousands(of_rounds(|stream| stream.sent_per_second)),
            Cell::counted_share(point.sum(|stream| stream.lost), point.sum(|stream| stream.sent)),
            Cell::text(if point.is_senders_limit() { "sender" } else { "receiver" }),
            paper(point).map_or(Cell::Missing, Cell::Number),
        ]);
    }
    table
}

/// Thousands of packets per second of all streams in Figure 6; the paper gives no sum with decoding.
fn paper(point: &DecodedStreams) -> Option<f64> {
    let (_, each) = PAPER_PER_STREAM.iter().find(|(decodes, _)| *decodes == point.decodes)?;
    match (point.streams, point.decodes) {
        (..=3, _) => Some(each * 1e3 * f64::from(point.streams)),
        (_, false) => Some(PAPER_SUM * 1e3),
        (_, true) => None,
    }
}

/// A row for each stream.
fn each(points: &[DecodedStreams]) -> Table {
    let columns = vec![
        Column::key("decode", "Decode", ""),
        Column::key("streams", "Streams", "").decimals(0),
        Column::key("stream", "Stream", "").decimals(0),
        Column::measured("rate", "Arrived", "kpps").decimals(1),
        Column::measured("sent", "Sent", "kpps").decimals(1),
        Column::measured("loss", "Lost", ""),
        Column::measured("locations", "Lost where", ""),
    ];
    let mut table = Table::new("each-stream", "Each stream", columns);
    for point in points {
        for number in 0..usize::from(point.streams) {
            let of_stream = || point.rounds.iter().filter_map(|round| round.streams.get(number));
            let sum = |count: fn(&MeasuredPoint) -> u64| of_stream().map(count).fold(0, u64::saturating_add);
            let mut locations = std::collections::BTreeMap::<&str, u64>::new();
            for (location, packets) in of_stream().flat_map(|stream| &stream.locations) {
                *locations.entry(location).or_default() += packets;
            }
            let lost: Vec<String> = locations
                .iter()
                .map(|(location, packets)| format!("{} {location}", grouped(*packets)))
                .collect();
            table.rows.push(vec![
                Cell::text(word(point.decodes)),
                Cell::Number(f64::from(point.streams)),
                Cell::Number(number as f64 + 1.0),
                thousands(of_stream().map(|stream| stream.received_per_second)),
                thousands(of_stream().map(|stream| stream.sent_per_second)),
                Cell::counted_share(sum(|stream| stream.lost), sum(|stream| stream.sent)),
                Cell::text(if lost.is_empty() { "nowhere".to_owned() } else { lost.join(", ") }),
            ]);
        }
    }
    table
}

/// How the sum grows with the number of streams.
fn scaling(points: &[DecodedStreams], decodes: bool) -> Option<String> {
    let of_kind = || points.iter().filter(|point| point.decodes == decodes);
    let one = of_kind().find(|point| point.streams == 1)?;
    let each: Vec<String> = of_kind()
        .map(|point| {
            let sum = point.mean_sum();
            format!(
                "{} {:.1} kpps ({:.2} times one)",
                streams(point.streams.into()),
                sum / 1e3,
                sum / one.mean_sum()
            )
        })
        .collect();
    let (_, paper) = PAPER_PER_STREAM.iter().find(|(of, _)| *of == decodes)?;
    Some(format!(
        "Decode {}: {}. Figure 6: {paper} Mpps of each stream up to three of them{}.",
        word(decodes),
        each.join(", "),
        if decodes { "" } else { ", and 15 Mpps in sum from four on" }
    ))
}

/// What decoding takes of the packets of one stream.
fn price_of_decoding(points: &[DecodedStreams]) -> Option<String> {
    let one = |decodes: bool| points.iter().find(|point| point.streams == 1 && point.decodes == decodes);
    let (without, with) = (one(false)?.mean_sum(), one(true)?.mean_sum());
    Some(format!(
        "Of one stream {:.1} kpps arrive without decoding and {:.1} with it: {:+.1} % (Figure 6: {:+.1} %).",
        without / 1e3,
        with / 1e3,
        100.0 * (with / without - 1.0),
        100.0 * (PAPER_PER_STREAM[1].1 / PAPER_PER_STREAM[0].1 - 1.0)
    ))
}

/// Where nothing was lost, what arrived says how fast the sender is.
fn limited_by_the_sender(points: &[DecodedStreams]) -> Option<String> {
    let limited = points.iter().filter(|point| point.is_senders_limit());
    let limited: Vec<String> = limited
        .map(|point| format!("{} with decode {}", streams(point.streams.into()), word(point.decodes)))
        .collect();
    (!limited.is_empty()).then(|| {
        format!(
            "Nothing was lost of {}: the sender was the limit there, and the receiver may take more.",
            limited.join(", ")
        )
    })
}

fn plot(
    name: &str,
    title: &str,
    column: &str,
    points: &[DecodedStreams],
    table: &Table,
) -> Result<Plot, MeasureError> {
    let mut plot = Plot::new(name, title, Axis::linear("Streams", ""), Axis::linear("Packets", "kpps"))
        .captioned("Dashes: what one stream without decoding would give if the others cost nothing. Bars: 95 % over the rounds.");
    for decodes in [false, true] {
        let chosen = |row: &[Cell]| row.first() == Some(&Cell::text(word(decodes)));
        if table.rows.iter().any(|row| chosen(row)) {
            let line =
                Line::of_columns(&format!("decode {}", word(decodes)), table, ["streams", column], chosen)?;
            plot = plot.with(line);
        }
    }
    let one = points.iter().find(|point| point.streams == 1 && !point.decodes);
    let most = points.iter().map(|point| point.streams).max().unwrap_or(1);
    Ok(match one {
        Some(one) if most > 1 => {
            let of = |streams: u16| {
                let factor = if column == "sum" { f64::from(streams) } else { 1.0 };
                Point::at(f64::from(streams), factor * one.mean_sum() / 1e3)
            };
            plot.with(Line::new("one stream, times their number", Look::Theory, vec![of(1), of(most)]))
        }
        _ => plot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn point(streams: u16, decodes: bool, each: f64) -> DecodedStreams {
        let stream = MeasuredPoint {
            sent: 1000,
            received: 900,
            lost: 100,
            sent_per_second: 2.0 * each,
            received_per_second: each,
            bits_per_second: each * 512.0,
            locations: BTreeMap::from([("socket buffer".to_owned(), 100)]),
            ..MeasuredPoint::default()
        };
        let round = MeasuredStreams { streams: vec![stream; streams.into()], ..MeasuredStreams::default() };
        DecodedStreams { streams, decodes, rounds: vec![round.clone(), round] }
    }

    fn measured(points: &[DecodedStreams]) -> Measurement {
        let session = Session::without_host("streams", "Streams", &["evforge".to_owned()]);
        let result = result(session, &TwoHosts::on_loopback(), 64, points).unwrap();
        result.check().unwrap();
        result
    }

    #[test]
    fn sums_and_shares_are_told_with_and_without_decoding() {
        let points = [
            point(1, false, 1e6),
            point(2, false, 8e5),
            point(4, false, 4e5),
            point(1, true, 8e5),
            point(4, true, 3e5),
        ];
        let result = measured(&points);
        assert!(
            result.verdict.is_good && result.verdict.sentence.contains("1600.0 kpps"),
            "{:?}",
            result.verdict
        );
        let table = result.table("streams").unwrap();
        let of = |row: usize, name: &str| table.rows[row][table.column(name).unwrap()].value();
        assert_eq!(
            (of(1, "per_stream"), of(1, "sum"), of(1, "sent")),
            (Some(800.0), Some(1600.0), Some(3200.0))
        );
        assert_eq!(
            (of(0, "paper"), of(2, "paper"), of(3, "paper"), of(4, "paper")),
            (Some(4660.0), Some(15_000.0), Some(3880.0), None)
        );
        assert_eq!(result.table("each-stream").unwrap().rows.len(), 1 + 2 + 4 + 1 + 4);
        assert!(
            result.findings[0].contains("2 streams 1600.0 kpps (1.60 times one)"),
            "{:?}",
            result.findings
        );
        assert!(
            result.findings.iter().any(|said| said.contains("-20.0 % (Figure 6: -16.7 %)")),
            "{:?}",
            result.findings
        );
        assert!(
            !result.findings.iter().any(|said| said.contains("the sender was the limit")),
            "{:?}",
            result.findings
        );
        let lost = result.findings.last().unwrap();
        assert_eq!(lost, "Lost packets by location: 2 400 socket buffer.");
        let names: Vec<&str> = result.plots[1].lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["decode off", "decode on", "one stream, times their number"]);
        assert_eq!(result.plots[1].lines[2].points[1], Point::at(4.0, 4000.0));
    }

    #[test]
    fn where_nothing_was_lost_the_sender_is_named_as_the_limit() {
        let mut whole = point(1, false, 1e6);
        for stream in whole.rounds.iter_mut().flat_map(|round| &mut round.streams) {
            (stream.received, stream.lost, stream.locations) = (1000, 0, BTreeMap::new());
        }
        let result = measured(&[whole, point(2, false, 1e6)]);
        let said = result.findings.iter().find(|said| said.contains("the sender was the limit"));
        assert!(
            said.is_some_and(|said| said.contains("of 1 stream with decode off:")),
            "{:?}",
            result.findings
        );
        let table = result.table("streams").unwrap();
        let limits: Vec<&Cell> = table.rows.iter().map(|row| &row[table.column("limit").unwrap()]).collect();
        assert_eq!(limits, [&Cell::text("sender"), &Cell::text("receiver")]);
        assert!(result.limits.iter().any(|limit| limit.contains("loopback hands on uncut")));
    }

    #[test]
    fn a_stream_of_which_nothing_came_is_bad() {
        let mut silent = point(2, false, 1e6);
        silent.rounds[1].streams[1].received_per_second = 0.0;
        let result = measured(&[point(1, false, 1e6), silent]);
        assert!(
            !result.verdict.is_good && result.verdict.sentence.contains("2 streams, decode off"),
            "{:?}",
            result.verdict
        );
    }
}
