//! Reports of DROP streams for people.

use evforge_lab::link::LinkAccount;
use evforge_lab::link::drop::{ReceiveReport, SentReport, StreamReport};
use evforge_lab::link::loss::{next_packet_bound, rare_counts};
use evforge_pipeline::report::{grouped, scaled};
use std::fmt::Write as _;

/// What was sent.
pub(super) fn sent(report: &SentReport) -> String {
    let mut text = String::new();
    for stream in &report.streams {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "sent {} packets ({} payload bytes) to {} in {:.3} s: {} packets/s, {}bit/s{}",
            grouped(stream.packets),
            grouped(stream.payload_bytes),
            stream.destination,
            stream.seconds,
            scaled(stream.packets_per_second),
            scaled(stream.bits_per_second),
            stream.asked_rate.as_ref().map(|rate| format!(" (asked: {rate})")).unwrap_or_default(),
        );
        if let (Some(mean), Some(largest)) = (stream.mean_lateness_ns, stream.largest_lateness_ns) {
            let (mean, largest) = (mean as f64 / 1e3, largest as f64 / 1e3);
            let _ = writeln!(text, "  behind the schedule: {mean:.1} us on average, {largest:.1} us at most");
        }
        if stream.datagrams != stream.packets {
            let _ = writeln!(
                text,
                "  provoked faults made {} datagrams of them: {}",
                grouped(stream.datagrams),
                stream.faults.join(" ")
            );
        }
        if stream.dropped > 0 {
            let _ = write!(text, "  {}", crate::replay::dropped(stream.dropped));
        }
        if stream.refused > 0 {
            let _ = writeln!(
                text,
                "  {} packets were refused by the other side: nobody listens there",
                grouped(stream.refused)
            );
        }
    }
    text
}

/// What was received, and the verdict.
pub(super) fn received(report: &ReceiveReport) -> String {
    let mut text = String::new();
    for stream in &report.streams {
        add_stream(&mut text, stream);
    }
    let counts_words = report.streams.iter().all(|stream| stream.received.account.histogram().is_some());
    text.push_str(match (report.passed(), counts_words) {
        (true, true) => {
            "passed: every packet came once and in order, and no check speaks against its words\n"
        }
        (true, false) => "passed: every packet came once and in order; nothing is known of its words\n",
        (false, _) => "FAILED: see above\n",
    });
    text
}

fn add_stream(text: &mut String, stream: &StreamReport) {
    let received = &stream.received;
    let account = &received.account;
    let counters = account.counters();
    let packets = stream.packets();
    let _ = writeln!(
        text,
        "stream        {} ({}){}\n\
         received      {} packets, {} payload bytes in {:.3} s: {} packets/s, {}bit/s",
        received.address,
        account.layout(),
        if received.by_worker { ", by a worker of its own" } else { "" },
        grouped(counters.packets_received),
        grouped(counters.payload_bytes),
        account.arrivals().seconds(),
        scaled(received.packets_per_second()),
        scaled(received.bits_per_second()),
    );
    for (count, reason) in [
        (counters.packets_dropped, "dropped: the queue to the worker was full (--queue)"),
        (counters.packets_cut, "longer than the memory for one"),
        (counters.packets_too_short, "shorter than the header"),
        (counters.packets_wrong_magic, "of another protocol"),
        (counters.packets_wrong_version, "of another version"),
        (counters.packets_cut_payload, "shorter than declared"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "of no use     {} packets {reason}", grouped(count));
        }
    }
    add_identifiers(text, stream);
    let _ = writeln!(
        text,
        "packets       lost {}, reordered {}, duplicated {}{}",
        grouped(packets.lost),
        grouped(packets.reordered),
        grouped(packets.duplicated),
        rare_counts(&packets),
    );
    for line in stream.losses.lines() {
        let _ = writeln!(text, "  {:<11} {} {}", line.title, grouped(line.packets), line.location);
    }
    if let (Some(next), Some(bound)) = (next_packet_bound(&packets), packets.loss_upper_bound()) {
        let _ = writeln!(
            text,
            "loss ratio    at most {next:.3e} if the next packet got lost, {bound:.3e} with 95 % confidence"
        );
    }
    for check in &stream.verification.checks {
        let _ = writeln!(text, "{:14}{:8}{}", check.name, check.outcome.name(), check.reason);
    }
    for mismatch in &stream.mismatches {
        let _ = writeln!(text, "mismatch      {mismatch}");
    }
}

/// The jumps as the paper reports them.
fn add_identifiers(text: &mut String, stream: &StreamReport) {
    let jumps = stream.received.account.jumps();
    if jumps.jumps() == 0 {
        text.push_str("identifiers   no jump\n");
        return;
    }
    let _ = writeln!(
        text,
        "identifiers   {} jumps: {} forward (reported lost {}), {} zero and {} negative (reported additional {})",
        grouped(jumps.jumps()),
        grouped(jumps.forward_jumps),
        jumps.lost,
        grouped(jumps.zero_jumps),
        grouped(jumps.negative_jumps),
        jumps.additional,
    );
    if jumps.reorderings > 0 {
        let _ = writeln!(
            text,
            "  packets that came late: {} (in {} times forward, negative, forward); left are lost {} and additional {}",
            grouped(jumps.reordered),
            grouped(jumps.reorderings),
            jumps.lost_unexplained(),
            jumps.additional_unexplained(),
        );
    }
}
