//! Hours to days of DROP streams: the long run of the XDP paper, with its three proofs by name.
//!
//! Segments and jumps are run by [`evforge_lab::soak`]; here they become a [`Measurement`].

use crate::error::MeasureError;
use crate::losses::lost_by_location;
use crate::measurement::{Measurement, Verdict};
use crate::plot::{Axis, Line, Look, Plot, Point};
use crate::session::Session;
use crate::table::{Cell, Column, Table};
use evforge_core::ledger::PacketLedger;
use evforge_core::quantity::grouped;
use evforge_lab::link::drop::Outcome;
use evforge_lab::link::loss::next_packet_bound;
use evforge_lab::soak::{Checkpoint, ProvokedJump, SoakTotal};
use evforge_lab::two_hosts::TwoHosts;

/// A soak as a result. `is_complete` is false if it was ended before its time.
///
/// # Errors
/// If a plot cannot be made.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    checkpoint: &Checkpoint,
    is_complete: bool,
) -> Result<Measurement, MeasureError> {
    let total = SoakTotal::of(checkpoint);
    let settings = &checkpoint.settings;
    let mut session = session
        .setting("streams", settings.streams.to_string())
        .setting("rate of each stream", settings.rate.clone())
        .setting("largest payload", format!("{} B", settings.packet_bytes))
        .setting("time", format!("{} s", settings.seconds))
        .setting("time of a segment", format!("{} s", settings.segment_seconds))
        .setting("receive buffer of each stream", format!("{} B", settings.buffer));
    if !settings.faults.is_empty() {
        session = session.setting("faults on purpose", settings.faults.join(", "));
    }
    let mut result = session.end(verdict(checkpoint, &total, is_complete));
    result.findings.extend(findings(checkpoint, &total));
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    result.limits.push(
        "Between segments both programs end and start again: for some four seconds nothing is sent, and nothing is shown."
            .to_owned(),
    );
    result.tables = vec![proofs(checkpoint, &total), segments(checkpoint), streams(&total)];
    result.plots = plots(checkpoint);
    Ok(result)
}

/// Good if all was sent, everything came, every check has passed, and both jumps were reported.
fn verdict(checkpoint: &Checkpoint, total: &SoakTotal, is_complete: bool) -> Verdict {
    let hours = total.seconds / 3600.0;
    let sentence = format!("{} packets, {hours:.4} hours, {} lost", grouped(total.sent), grouped(total.lost));
    if total.sent == 0 {
        return Verdict::bad("ended before the first segment: nothing is shown");
    }
    // Stated only where nothing was lost.
    let packets =
        PacketLedger { sent: Some(total.sent), received: total.received, ..PacketLedger::default() };
    let bounds = format!(
        "the loss ratio is below 1/N = {:.3e} if the next packet got lost, and below 3/N = {:.3e} with 95 % confidence",
        next_packet_bound(&packets).unwrap_or(1.0),
        packets.loss_upper_bound().unwrap_or(1.0)
    );
    // What is complete has nothing unknown left.
    let is_failed = |outcome| outcome == Outcome::Failed || is_complete && outcome == Outcome::Unknown;
    let failed: Vec<String> =
        rows(checkpoint, total).into_iter().filter(|row| is_failed(row.1)).map(|row| row.0).collect();
    match (failed.is_empty() && total.lost == 0, is_complete) {
        (false, _) if failed.is_empty() => Verdict::bad(sentence),
        (false, _) => Verdict::bad(format!("{sentence}; FAILED: {}", failed.join(", "))),
        (true, true) => Verdict::good(format!("{sentence}: {bounds}")),
        (true, false) => Verdict::bad(format!(
            "{sentence}: {bounds}. Ended before its time: {:.0} of {:.0} s",
            checkpoint.done_seconds(),
            checkpoint.settings.seconds
        )),
    }
}

/// What is proved, by name: whether it was, and how.
fn rows(checkpoint: &Checkpoint, total: &SoakTotal) -> Vec<(String, Outcome, String)> {
    let mut rows = vec![jump("jump at the start", checkpoint.jump_at_start.as_ref())];
    for (number, stream) in total.streams.iter().enumerate() {
        for check in &stream.verification.checks {
            let name = if check.name == "areas" { "two areas" } else { check.name };
            let name = if name == "sum" { "sum = bytes/2" } else { name };
            rows.push((format!("{name}, stream {}", number + 1), check.outcome, check.reason.clone()));
        }
        let is_good = stream.jumps == 0 && stream.problems.is_empty();
        let mut reason = format!("{} jumps", stream.jumps);
        if let Some(problem) = stream.problems.first() {
            reason = format!("{reason}; {} problems, the first one: {problem}", stream.problems.len());
        }
        let outcome = if is_good { Outcome::Passed } else { Outcome::Failed };
        rows.push((format!("identifiers and segments, stream {}", number + 1), outcome, reason));
    }
    rows.push(jump("jump at the end", checkpoint.jump_at_end.as_ref()));
    rows
}

fn jump(name: &str, seen: Option<&ProvokedJump>) -> (String, Outcome, String) {
    let (outcome, reason) = match seen {
        Some(jump) if jump.is_exact() => (Outcome::Passed, jump.sentence()),
        Some(jump) => (Outcome::Failed, jump.sentence()),
        None => (Outcome::Unknown, "it was not provoked: the run has not come to it".to_owned()),
    };
    (name.to_owned(), outcome, reason)
}

fn findings(checkpoint: &Checkpoint, total: &SoakTotal) -> Vec<String> {
    let mut findings = Vec::new();
    if checkpoint.interrupted > 0 {
        findings.push(format!(
            "{} segments were interrupted. What was sent and received in them is not known, and in no figure; the run went on with \
             the segments that had ended before.",
            checkpoint.interrupted
        ));
    }
    let bytes: u64 = total.streams.iter().map(|stream| stream.bytes).fold(0, u64::saturating_add);
    findings.push(format!(
        "{} segments, {} packets sent, {} received, {} payload bytes in {} streams.",
        checkpoint.segments.len(),
        grouped(total.sent),
        grouped(total.received),
        grouped(bytes),
        total.streams.len()
    ));
    let streams = checkpoint.segments.iter().flat_map(|segment| &segment.streams);
    findings.extend(lost_by_location(streams.map(|stream| &stream.locations)));
    findings
}

fn proofs(checkpoint: &Checkpoint, total: &SoakTotal) -> Table {
    let columns = vec![
        Column::key("proof", "Proof", ""),
        Column::exact("outcome", "Outcome", ""),
        Column::measured("found", "Found", ""),
    ];
    let rows = rows(checkpoint, total)
        .into_iter()
        .map(|(name, outcome, reason)| vec![Cell::text(name), Cell::text(outcome.name()), Cell::text(reason)])
        .collect();
    Table { rows, ..Table::new("proofs", "What is proved, and how", columns) }
}

fn segments(checkpoint: &Checkpoint) -> Table {
    let columns = vec![
        Column::key("segment", "Segment", "").decimals(0),
        Column::measured("seconds", "Sent for", "s").decimals(1),
        Column::measured("sent", "Packets sent", "").decimals(0),
        Column::measured("received", "Received", "").decimals(0),
        Column::measured("lost", "Lost", "").decimals(0),
        Column::measured("loss", "Loss ratio", ""),
        Column::measured("rate", "Received, all streams", "Mb/s").decimals(2),
    ];
    let row = |(number, segment): (usize, &evforge_lab::soak::Segment)| {
        let (sent, lost) = (segment.sum(|stream| stream.sent), segment.sum(|stream| stream.lost));
        vec![
            Cell::Number((number + 1) as f64),
            Cell::Number(segment.seconds),
            Cell::Number(sent as f64),
            Cell::Number(segment.sum(|stream| stream.received) as f64),
            Cell::Number(lost as f64),
            Cell::counted_share(lost, sent),
            Cell::Number(rate(segment) / 1e6),
        ]
    };
    let rows = checkpoint.segments.iter().enumerate().map(row).collect();
    Table { rows, ..Table::new("segments", "Segments", columns) }
}

fn rate(segment: &evforge_lab::soak::Segment) -> f64 {
    segment.streams.iter().map(|stream| stream.bits_per_second).sum()
}

fn streams(total: &SoakTotal) -> Table {
    let columns = vec![
        Column::key("stream", "Stream", "").decimals(0),
        Column::measured("sent", "Packets sent", "").decimals(0),
        Column::measured("received", "Received", "").decimals(0),
        Column::measured("lost", "Lost", "").decimals(0),
        Column::measured("bytes", "Payload sent", "B").decimals(0),
        Column::measured("words", "Words counted", "").decimals(0),
        Column::measured("rarest", "Rarest word", "times").decimals(0),
        Column::measured("most_frequent", "Most frequent word", "times").decimals(0),
        Column::measured("areas", "Areas", "").decimals(0),
    ];
    let row = |(number, stream): (usize, &evforge_lab::soak::StreamTotal)| {
        let verified = &stream.verification;
        let counts = [
            stream.sent,
            stream.received,
            stream.lost,
            stream.bytes,
            stream.words,
            verified.smallest,
            verified.largest,
            verified.area_count as u64,
        ];
        let numbers = counts.into_iter().map(|count| Cell::Number(count as f64));
        std::iter::once(Cell::Number((number + 1) as f64)).chain(numbers).collect()
    };
    let rows = total.streams.iter().enumerate().map(row).collect();
    Table { rows, ..Table::new("streams", "Streams, all segments together", columns) }
}

/// Rate and loss over the time that was sent.
fn plots(checkpoint: &Checkpoint) -> Vec<Plot> {
    let mut hours = 0.0;
    let (mut rates, mut losses) = (Vec::new(), Vec::new());
    for segment in &checkpoint.segments {
        hours += segment.seconds / 3600.0;
        rates.push(Point::at(hours, rate(segment) / 1e6));
        losses.push(Point::at(hours, segment.sum(|stream| stream.lost) as f64));
    }
    let across = || Axis::linear("Time sent, at the end of each segment", "h");
    let plot = |name, title, axis, points| {
        Plot::new(name, title, across(), axis).with(Line::new("all streams", Look::Measured, points))
    };
    vec![
        plot("rate", "Rate over time", Axis::linear("Received", "Mb/s"), rates),
        plot("lost", "Loss over time", Axis::linear("Packets lost in a segment", ""), losses)
            .captioned("A point for each segment."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_lab::soak::{JumpSeen, Segment, SegmentStream, SoakSettings, WordArea};

    fn checkpoint(change: impl FnOnce(&mut Checkpoint)) -> Checkpoint {
        let settings = SoakSettings {
            streams: 1,
            rate: "10Mbit/s".to_owned(),
            burst_seconds: 0.0,
            packet_bytes: 2000,
            seconds: 4.0,
            segment_seconds: 4.0,
            buffer: 1_000_000,
            faults: Vec::new(),
            is_loopback: true,
            mtu: 9000,
        };
        let stream = SegmentStream {
            sent: 660,
            received: 660,
            bytes: 1_310_720,
            words: 655_360,
            bits_per_second: 1e7,
            area_count: 1,
            areas: vec![WordArea { first: 0, last: u16::MAX, count: 10 }],
            ..SegmentStream::default()
        };
        let jump = JumpSeen { sent: 9, received: 9, left_out: 7, forward: 1, others: 0, reported: 7 };
        let jump = Some(ProvokedJump { streams: vec![jump] });
        let segments = vec![Segment { asked_seconds: 4.0, seconds: 4.0, streams: vec![stream] }];
        let mut checkpoint = Checkpoint::new(settings);
        (checkpoint.segments, checkpoint.jump_at_start, checkpoint.jump_at_end) =
            (segments, jump.clone(), jump);
        change(&mut checkpoint);
        checkpoint
    }

    fn measured(change: impl FnOnce(&mut Checkpoint)) -> Measurement {
        let session = Session::without_host("soak", "Soak", &["evforge".to_owned()]);
        let result = result(session, &TwoHosts::on_loopback(), &checkpoint(change), true).unwrap();
        result.check().unwrap();
        result
    }

    #[test]
    fn a_run_without_loss_has_both_bounds_and_every_proof_by_name() {
        let result = measured(|_| {});
        let said = "660 packets, 0.0011 hours, 0 lost: the loss ratio is below 1/N = 1.515e-3 if the next packet got lost, and \
                    below 3/N = 4.545e-3 with 95 % confidence";
        assert_eq!((result.verdict.is_good, result.verdict.sentence.as_str()), (true, said));
        let proofs = result.table("proofs").unwrap();
        let names: Vec<_> = proofs.rows.iter().map(|row| &row[0]).collect();
        for name in [
            "jump at the start",
            "two areas, stream 1",
            "spread, stream 1",
            "sum = bytes/2, stream 1",
            "jump at the end",
        ] {
            assert!(names.contains(&&Cell::text(name)), "{names:?}");
        }
        assert!(proofs.rows.iter().all(|row| row[1] == Cell::text("passed")), "{proofs:?}");
    }

    #[test]
    fn whatever_is_wrong_is_named_and_not_good() {
        for (named, change) in [
            (
                "jump at the start",
                (|c| c.jump_at_start.as_mut().unwrap().streams[0].reported = 6) as fn(&mut Checkpoint),
            ),
            ("jump at the end", |c| c.jump_at_end.as_mut().unwrap().streams[0].forward = 0),
            ("sum = bytes/2", |c| c.segments[0].streams[0].bytes += 2),
            ("packets, stream 1", |c| c.segments[0].streams[0].received -= 1),
            ("identifiers", |c| c.segments[0].streams[0].jumps = 1),
            ("1 lost", |c| c.segments[0].streams[0].lost = 1),
        ] {
            let verdict = measured(change).verdict;
            assert!(!verdict.is_good && verdict.sentence.contains(named), "{named}: {verdict:?}");
        }
        let early = result(
            Session::without_host("soak", "Soak", &[]),
            &TwoHosts::on_loopback(),
            &checkpoint(|c| c.jump_at_end = None),
            false,
        );
        let verdict = early.unwrap().verdict;
        assert!(!verdict.is_good && verdict.sentence.contains("Ended before its time"), "{verdict:?}");
    }
}
