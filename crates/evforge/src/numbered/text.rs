//! Reports of numbered packets for people.

use evforge_core::ledger::PacketLedger;
use evforge_lab::link::loss::{error_ratio, next_packet_bound, rare_counts};
use evforge_lab::link::numbered::{ReceiveReport, SentReport};
use evforge_pipeline::report::{grouped, scaled};
use std::fmt::Write as _;

/// Flows that are named one by one.
const MOST_NAMED: usize = 16;

/// What was sent.
pub(super) fn sent(report: &SentReport) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "sent          {} packets of {} ({} bytes) in {} flows to {} in {:.3} s: {} packets/s, {}bit/s",
        grouped(report.packets),
        report.sizes,
        grouped(report.bytes),
        report.flows.len(),
        report.destination,
        report.elapsed_s,
        scaled(report.packets_per_second),
        scaled(report.bits_per_second),
    );
    if let (Some(asked), Some(share)) = (&report.asked, report.share_achieved()) {
        let _ = writeln!(text, "asked         {asked}: {:.2} % of it achieved", 100.0 * share);
    }
    if let Some(pulses) = &report.pulses {
        let _ = writeln!(
            text,
            "pulses        {} of {} Hz; in them {} packets/s, {}bit/s: {:.1} times the mean rate (asked: {})",
            grouped(pulses.count),
            pulses.frequency_hz,
            scaled(pulses.peak_packets_per_second),
            scaled(pulses.peak_bits_per_second),
            pulses.peak_factor_achieved,
            pulses.peak_factor,
        );
    }
    if let Some(lateness) = &report.lateness {
        let [mean, p99, largest] = [lateness.mean_ns, lateness.p99_ns, lateness.largest_ns].map(time);
        let _ = writeln!(
            text,
            "lateness      {mean} on average, {p99} at most for 99 % of the packets, {largest} at most"
        );
    }
    let _ = writeln!(
        text,
        "segments      {}",
        if report.by_xdp {
            "off: frames by AF_XDP"
        } else if report.segmented {
            "runs of packets in one piece (UDP_SEGMENT), made single packets by the card"
        } else {
            "off: every packet is given to the kernel by itself"
        }
    );
    if report.datagrams != report.packets {
        let _ = writeln!(
            text,
            "faults        made {} datagrams of them: {}",
            grouped(report.datagrams),
            report.faults.join(" ")
        );
    }
    let losses = &report.losses;
    let interface = losses.interface.as_deref().unwrap_or("unknown");
    let _ = writeln!(
        text,
        "lost here     {} by the queue of the interface (SndbufErrors of this host), {} dropped and {} in error by {interface}",
        grouped(losses.send_buffer_errors),
        grouped(losses.interface_dropped),
        grouped(losses.interface_errors),
    );
    if report.refused > 0 {
        let _ = writeln!(
            text,
            "refused       {} times: nobody listens there (these packets are not lost on the way)",
            grouped(report.refused)
        );
    }
    text
}

/// What was received.
pub(super) fn received(report: &ReceiveReport) -> String {
    let mut text = String::new();
    let received = &report.received;
    let counters = received.counters();
    let addresses: Vec<String> = received.addresses.iter().map(ToString::to_string).collect();
    let _ = writeln!(
        text,
        "receiver      {} at UDP {}\n\
         received      {} packets ({} bytes) in {:.3} s: {} packets/s, {}bit/s",
        received.way,
        addresses.join(", "),
        grouped(counters.packets_received),
        grouped(counters.bytes_received),
        received.arrivals().seconds(),
        scaled(received.packets_per_second()),
        scaled(received.bits_per_second()),
    );
    for (count, reason) in [
        (counters.packets_too_short, "shorter than their header"),
        (counters.packets_wrong_magic, "of another protocol"),
        (counters.packets_wrong_version, "of another version"),
        (counters.packets_of_too_many_flows, "of too many flows"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "of no use     {} packets {reason}", grouped(count));
        }
    }
    let packets = report.packets();
    if counters.packets_counted > 0 || report.is_exact() {
        add_packets(&mut text, report, &packets);
        add_latency(&mut text, report);
    } else {
        text.push_str("packets       none: is the sender's --to this host and port?\n");
    }
    if let Some(nanoseconds) = report.processor_ns() {
        let processor = received.processor();
        let share = processor.used.as_secs_f64() / processor.of.as_secs_f64().max(1e-9);
        let work = match received.work.as_nanos() {
            0 => String::new(),
            work => format!(", of which {work} ns are --work"),
        };
        let _ = writeln!(
            text,
            "processor     {nanoseconds:.0} ns of the receiving thread per packet{work}; it ran {:.0} % of the time (spinning \
             included)",
            100.0 * share
        );
        if received.threads.len() > 1 {
            let each: Vec<String> = received.threads.iter().map(|thread| grouped(thread.packets)).collect();
            let _ = writeln!(text, "  threads     took {} packets", each.join(", "));
        }
    }
    for mismatch in &report.mismatches {
        let _ = writeln!(text, "mismatch      {mismatch}");
    }
    text
}

fn add_packets(text: &mut String, report: &ReceiveReport, packets: &PacketLedger) {
    let _ = writeln!(
        text,
        "packets       sent {}{}, {}",
        grouped(packets.sent.unwrap_or(0)),
        if report.is_exact() {
            ""
        } else {
            " at least (what came after the last packet is only in a sender's report: --sent)"
        },
        counts(packets),
    );
    if report.flows.len() > 1 {
        for flow in report.flows.iter().take(MOST_NAMED) {
            let sent = grouped(flow.packets.sent.unwrap_or(0));
            let _ = writeln!(
                text,
                "  flow {:<6} from {} to port {}: sent {sent}, {}",
                flow.flow,
                flow.source,
                flow.destination_port,
                counts(&flow.packets)
            );
        }
        if let Some(more) = report.flows.len().checked_sub(MOST_NAMED).filter(|&more| more > 0) {
            let _ = writeln!(text, "  and {more} flows more, which are in the JSON report");
        }
    }
    for line in report.losses().lines() {
        let _ = writeln!(text, "  {:<11} {} {}", line.title, grouped(line.packets), line.location);
    }
    if let (Some(ratio), Some(next), Some(bound)) =
        (error_ratio(packets), next_packet_bound(packets), packets.loss_upper_bound())
    {
        let _ = writeln!(
            text,
            "error ratio   {ratio:.3e}; at most {next:.3e} if the next packet got lost, {bound:.3e} with 95 % confidence"
        );
    }
}

fn counts(packets: &PacketLedger) -> String {
    format!(
        "received {}, lost {}, reordered {}, duplicated {}{}",
        grouped(packets.received),
        grouped(packets.lost),
        grouped(packets.reordered),
        grouped(packets.duplicated),
        rare_counts(packets),
    )
}

fn add_latency(text: &mut String, report: &ReceiveReport) {
    let latency = report.received.latency();
    let future = report.received.counters().packets_from_the_future;
    if latency.count() > 0 {
        let [p50, p99, p999] = [0.5, 0.99, 0.999]
            .map(|share| time(u64::try_from(latency.below(share).as_nanos()).unwrap_or(u64::MAX)));
        let _ = writeln!(
            text,
            "latency       half of the packets {p50} at most, 99 % {p99}, 99.9 % {p999}, all {} (true only if sender and \
             receiver have the same clock)",
            time(u64::try_from(latency.largest().as_nanos()).unwrap_or(u64::MAX)),
        );
    }
    if future > 0 {
        let _ = writeln!(
            text,
            "latency       {} packets arrived before they were sent: the clocks of both hosts differ",
            grouped(future)
        );
    }
}

/// Nanoseconds in a unit that suits.
fn time(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.1} s", value / 1e9),
    }
}
