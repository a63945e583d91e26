//! The report on numbered packets as JSON.

use evforge_core::counter::{CounterSnapshot, Law};
use evforge_lab::loss::{error_ratio, next_packet_bound, packets_json};
use evforge_lab::numbered::ReceiveReport;
use evforge_net::losses::LossBreakdown;
use evforge_net::losses::add_to_json;
use serde_json::{Map, Value, json};

/// What was received.
pub(super) fn received(report: &ReceiveReport) -> Value {
    let received = &report.received;
    let snapshot = CounterSnapshot::of(received.account.counters());
    let latency = received.account.latency();
    let latencies = (latency.count() > 0).then(|| {
        json!({
            "packets": latency.count(),
            "mean_s": latency.mean().as_secs_f64(),
            "p50_s": latency.below(0.5).as_secs_f64(),
            "p99_s": latency.below(0.99).as_secs_f64(),
            "p999_s": latency.below(0.999).as_secs_f64(),
            "largest_s": latency.largest().as_secs_f64(),
        })
    });
    let (packets, losses) = (report.packets(), report.losses());
    let mut packets_with_losses = packets_json(&packets);
    add_to_json(&losses, &mut packets_with_losses);
    let flows: Vec<Value> = report
        .flows
        .iter()
        .map(|flow| {
            json!({
                "flow": flow.flow,
                "source": flow.source.to_string(),
                "packets": packets_json(&flow.packets),
                "bytes": flow.bytes,
                "is_reported": flow.is_reported,
            })
        })
        .collect();
    json!({
        "evforge": env!("CARGO_PKG_VERSION"),
        "address": received.address.to_string(),
        "received_by": received.way,
        "seconds": received.account.seconds(),
        "packets_per_second": report.packets_per_second(),
        "bits_per_second": report.bits_per_second(),
        "packets": packets_with_losses,
        "is_exact": report.is_exact(),
        "packet_error_ratio": error_ratio(&packets),
        "loss_bound_next_packet": next_packet_bound(&packets),
        "loss_upper_bound": packets.loss_upper_bound(),
        "places": former_places(&losses),
        "flows": flows,
        "latency": latencies,
        "processor": {
            "ns_per_packet": report.processor_ns(),
            "seconds": received.processor.as_secs_f64(),
            "of_seconds": received.busy.as_secs_f64(),
            "work_ns": u64::try_from(received.work.as_nanos()).unwrap_or(u64::MAX),
        },
        "counters": counters(&snapshot.clone().and(&received.receiver)),
        "xdp": received.xdp.as_ref().map(|xdp| counters(&CounterSnapshot::of(xdp))),
        "kernel": counters(&CounterSnapshot::of(&received.host.kernel)),
        "interface": received.host.interfaces.as_ref().map(|interfaces| counters(&CounterSnapshot::of(interfaces))),
        "unaccounted": u64::try_from(snapshot.imbalance(Law::Packets).unsigned_abs()).unwrap_or(u64::MAX),
        "mismatches": report.mismatches,
        "sent": report.sent,
    })
}

/// The losses as reports had them before `packets` had them: for those who still read that, until the next release.
fn former_places(losses: &LossBreakdown) -> Value {
    let places = losses.places.iter();
    let all: Map<String, Value> = places
        .map(|loss| {
            (loss.place.name().to_owned(), json!({"packets": loss.packets, "inferred": loss.inferred}))
        })
        .collect();
    json!({"places": all, "unlocated": losses.unlocated, "after_the_last": losses.after_the_last})
}

fn counters(snapshot: &CounterSnapshot) -> Map<String, Value> {
    snapshot.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect()
}
