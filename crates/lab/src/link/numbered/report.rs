//! What came, joined with what was sent.

use super::account::Flow;
use super::received::ReceivedNumbers;
use super::sent::{SentFlow, SentReport};
use crate::link::loss::{error_ratio, next_packet_bound, with_report};
use evforge_core::counter::{CounterSnapshot, Law};
use evforge_core::ledger::PacketLedger;
use evforge_core::run_state::REPORT_SCHEMA;
use evforge_core::sequence::SequenceCounts;
use evforge_net::losses::{self, LossBreakdown, LossCounts, LossLocation, add_to_json};
use serde_json::{Map, Value, json};
use std::net::SocketAddr;

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// Where it came from.
    pub source: SocketAddr,
    /// The UDP port that it went to.
    pub destination_port: u16,
    /// Its number in the headers.
    pub flow: u16,
    /// Its packets.
    pub packets: PacketLedger,
    /// Payload bytes received.
    pub bytes: u64,
    /// True if the sender's report says how many were sent; else packets lost after the last one are not in `packets`.
    pub is_reported: bool,
}

/// What came, and what was sent.
#[derive(Clone, Debug)]
pub struct ReceiveReport {
    /// What came.
    pub received: ReceivedNumbers,
    /// The senders' reports.
    pub sent: Vec<SentReport>,
    /// The flows: those received, then those of which nothing came.
    pub flows: Vec<FlowReport>,
    /// What is wrong with the senders' reports, in sentences.
    pub mismatches: Vec<String>,
}

impl ReceiveReport {
    /// Joins what was received with the reports of all senders. A flow belongs to a sender if its source is the same; where
    /// addresses were translated on the way, ports and number are enough if they belong to one flow only.
    pub fn new(received: ReceivedNumbers, sent: Vec<SentReport>) -> Self {
        let of_report = |report: &SentReport| {
            report.flows.iter().map(|flow| (report.destination.port(), *flow)).collect()
        };
        let all: Vec<(u16, SentFlow)> = sent.iter().flat_map::<Vec<_>, _>(of_report).collect();
        let mut is_found = vec![false; all.len()];
        let mut mismatches = Vec::new();
        let mut flows = Vec::new();
        for flow in joined(received.accounts.iter().flat_map(|account| account.flows())) {
            let alike = |(port, sent): &(u16, SentFlow)| {
                sent.flow == flow.flow
                    && sent.source.port() == flow.source.port()
                    && *port == flow.destination_port
            };
            let exact = all.iter().position(|sent| alike(sent) && sent.1.source == flow.source);
            let only = || {
                let mut found = all.iter().enumerate().filter(|(_, sent)| alike(sent));
                found.next().filter(|_| found.next().is_none()).map(|(index, _)| index)
            };
            let index = exact.or_else(only).filter(|&index| !std::mem::replace(&mut is_found[index], true));
            if index.is_none() && !sent.is_empty() {
                mismatches.push(format!(
                    "flow {} from {} to port {} is in no sender's report: is it of this run?",
                    flow.flow, flow.source, flow.destination_port
                ));
            }
            flows.push(FlowReport {
                source: flow.source,
                destination_port: flow.destination_port,
                flow: flow.flow,
                packets: with_report(flow.sequence, index.map(|index| all[index].1.packets)),
                bytes: flow.bytes,
                is_reported: index.is_some(),
            });
        }
        let missing =
            all.iter().zip(&is_found).filter(|((_, sent), is_found)| !**is_found && sent.packets > 0);
        for ((destination_port, sent), _) in missing {
            flows.push(FlowReport {
                source: sent.source,
                destination_port: *destination_port,
                flow: sent.flow,
                packets: with_report(SequenceCounts::default(), Some(sent.packets)),
                bytes: 0,
                is_reported: true,
            });
        }
        mismatches.extend(received.state.alarms.iter().cloned());
        Self { received, sent, flows, mismatches }
    }

    /// The packets of all flows.
    pub fn packets(&self) -> PacketLedger {
        let mut all = PacketLedger { sent: Some(0), ..PacketLedger::default() };
        self.flows.iter().for_each(|flow| all.add(&flow.packets));
        all
    }

    /// True if the senders say of every flow how many packets there were.
    pub fn is_exact(&self) -> bool {
        !self.flows.is_empty() && self.flows.iter().all(|flow| flow.is_reported)
    }

    /// Processor time of the receiving threads for each packet, in nanoseconds; none before the first packet.
    pub fn processor_ns(&self) -> Option<f64> {
        let packets = self.received.counters().packets_received;
        (packets > 0).then(|| self.received.processor().used.as_nanos() as f64 / packets as f64)
    }

    /// Where packets were lost. The counters of a sender's host are the host's, with other traffic: they explain no more than
    /// is missing.
    pub fn losses(&self) -> LossBreakdown {
        let mut losses = losses::join(&LossCounts {
            sequence: self.packets().lost,
            receiver: self.received.state.losses,
            host: self.received.host,
            numbered: true,
            ..LossCounts::default()
        });
        losses.explain(LossLocation::Sender, self.lost_at_senders());
        losses
    }

    /// What the senders' hosts say they lost of all they sent meanwhile.
    pub fn lost_at_senders(&self) -> u64 {
        self.sent.iter().fold(0, |sum, report| sum.saturating_add(report.losses.sum()))
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let received = &self.received;
        let snapshot = CounterSnapshot::of(&received.counters());
        let latency = received.latency();
        let processor = received.processor();
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
        let (packets, losses) = (self.packets(), self.losses());
        let mut packets_with_losses = json!(packets);
        add_to_json(&losses, &mut packets_with_losses);
        let flows: Vec<Value> = self
            .flows
            .iter()
            .map(|flow| {
                json!({
                    "flow": flow.flow,
                    "source": flow.source.to_string(),
                    "destination_port": flow.destination_port,
                    "packets": flow.packets,
                    "bytes": flow.bytes,
                    "is_reported": flow.is_reported,
                })
            })
            .collect();
        json!({
            "evforge": env!("CARGO_PKG_VERSION"),
            "schema": REPORT_SCHEMA,
            "address": received.addresses.first().map(ToString::to_string),
            "addresses": received.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "received_by": received.way,
            "buffer_bytes": received.buffer_bytes,
            "seconds": received.arrivals().seconds(),
            "packets_per_second": received.packets_per_second(),
            "bits_per_second": received.bits_per_second(),
            "packets": packets_with_losses,
            "first_second": received.first_second().json(received.arrivals().seconds()),
            "is_exact": self.is_exact(),
            "packet_error_ratio": error_ratio(&packets),
            "loss_bound_next_packet": next_packet_bound(&packets),
            "loss_upper_bound": packets.loss_upper_bound(),
            "places": former_places(&losses),
            "flows": flows,
            "latency": latencies,
            "processor": {
                "ns_per_packet": self.processor_ns(),
                "seconds": processor.used.as_secs_f64(),
                "of_seconds": processor.of.as_secs_f64(),
                "threads": received.threads.iter().map(|thread| json!({
                    "packets": thread.packets,
                    "seconds": thread.processor.used.as_secs_f64(),
                    "of_seconds": thread.processor.of.as_secs_f64(),
                })).collect::<Vec<_>>(),
                "work_ns": u64::try_from(received.work.as_nanos()).unwrap_or(u64::MAX),
            },
            "counters": counters(&snapshot.clone().and(&received.state.counters)),
            "xdp": received.state.xdp.as_ref().map(|xdp| counters(&CounterSnapshot::of(xdp))),
            "kernel": counters(&CounterSnapshot::of(&received.host.kernel)),
            "interface": received.host.interfaces.as_ref().map(|interfaces| counters(&CounterSnapshot::of(interfaces))),
            "unaccounted": u64::try_from(snapshot.imbalance(Law::Packets).unsigned_abs()).unwrap_or(u64::MAX),
            "mismatches": self.mismatches,
            "sent": self.sent,
        })
    }
}

/// What came of a flow.
struct ReceivedFlow {
    source: SocketAddr,
    destination_port: u16,
    flow: u16,
    bytes: u64,
    sequence: SequenceCounts,
}

/// A flow may have come to two sockets of one port: the kernel spreads flows again while one is added.
fn joined<'a>(flows: impl Iterator<Item = &'a Flow>) -> Vec<ReceivedFlow> {
    let mut all: Vec<ReceivedFlow> = Vec::new();
    for flow in flows {
        let is_same = |known: &&mut ReceivedFlow| {
            known.source == flow.source
                && known.destination_port == flow.destination_port
                && known.flow == flow.flow
        };
        match all.iter_mut().find(is_same) {
            Some(known) => {
                known.bytes += flow.bytes;
                known.sequence.add(&flow.sequence());
            }
            None => all.push(ReceivedFlow {
                source: flow.source,
                destination_port: flow.destination_port,
                flow: flow.flow,
                bytes: flow.bytes,
                sequence: flow.sequence(),
            }),
        }
    }
    all
}

/// The losses as reports had them before `packets` had them: for those who still read that, until the next release.
fn former_places(losses: &LossBreakdown) -> Value {
    let places = losses.locations.iter();
    let all: Map<String, Value> = places
        .map(|loss| {
            (loss.location.name().to_owned(), json!({"packets": loss.packets, "inferred": loss.inferred}))
        })
        .collect();
    json!({"places": all, "unlocated": losses.unlocated, "after_the_last": losses.after_the_last})
}

fn counters(snapshot: &CounterSnapshot) -> Map<String, Value> {
    snapshot.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect()
}
