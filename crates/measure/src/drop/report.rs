//! The report on received streams.

use super::pattern::WordPattern;
use super::receive::ReceivedStream;
use super::sent::{SentReport, SentStream};
use super::verification::{Area, Expectation, Verification};
use crate::loss::{StreamPlaces, next_packet_bound, packets_json, with_report};
use evforge_core::counter::{CounterSnapshot, Law};
use evforge_core::ledger::PacketLedger;
use evforge_wire::drop::Order;
use serde_json::{Map, Value, json};

/// One stream: what came, and the verdict on it.
#[derive(Clone, Debug)]
pub struct StreamReport {
    /// What came.
    pub received: ReceivedStream,
    /// The sender's report on it, if there is one.
    pub sent: Option<SentStream>,
    /// The verdict on its words.
    pub verification: Verification,
    /// What was not as the receiver was told to expect, in sentences.
    pub mismatches: Vec<String>,
    /// Where its packets were lost.
    pub places: StreamPlaces,
}

/// All streams.
#[derive(Clone, Debug)]
pub struct ReceiveReport {
    /// One entry for each stream, in the order of the settings.
    pub streams: Vec<StreamReport>,
}

impl ReceiveReport {
    /// Verifies what came. Where the sender's report has the stream, its pattern and the number of its data generators
    /// count; else `order` and `generators` do.
    pub fn new(
        received: Vec<ReceivedStream>,
        order: Order,
        generators: u32,
        sent: Option<&SentReport>,
    ) -> Self {
        let asked = WordPattern::new(order);
        // The sender's host counts for all streams together: what one has used is not there for the next.
        // And so does AF_XDP.
        let mut lost_by_xdp = received.iter().map(|stream| stream.lost_by_xdp).max().unwrap_or(0);
        let mut lost_at_sender = sent.map_or(0, |sent| sent.losses.sum());
        let streams = received
            .into_iter()
            .map(|received| {
                let stream = sent.and_then(|sent| sent.stream(received.address.port())).cloned();
                let mut report = StreamReport::new(received, stream, &asked, generators, sent.is_some());
                let dropped = report.sent.as_ref().map_or(0, |sent| sent.dropped);
                let lost = report.packets().lost;
                let (drops, at_sender) = (report.received.drops, lost_at_sender.max(dropped));
                report.places = StreamPlaces::new(lost, drops, lost_by_xdp, at_sender);
                lost_by_xdp = lost_by_xdp.saturating_sub(report.places.rings);
                lost_at_sender = lost_at_sender.saturating_sub(report.places.sender);
                report
            })
            .collect();
        Self { streams }
    }

    /// True if every stream has passed.
    pub fn passed(&self) -> bool {
        self.streams.iter().all(StreamReport::passed)
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let streams: Vec<Value> = self.streams.iter().map(StreamReport::json).collect();
        json!({"passed": self.passed(), "streams": streams})
    }
}

impl StreamReport {
    fn new(
        received: ReceivedStream,
        sent: Option<SentStream>,
        asked: &WordPattern,
        generators: u32,
        has_report: bool,
    ) -> Self {
        let mut mismatches = Vec::new();
        if has_report && sent.is_none() {
            mismatches.push(format!(
                "the sender's report has no stream to port {}: is it of this run?",
                received.address.port()
            ));
        }
        let of_sender = sent.as_ref().map(|sent| sent.pattern.parse::<Order>());
        let pattern = match of_sender {
            Some(Ok(order)) => WordPattern::new(order),
            Some(Err(error)) => {
                mismatches.push(format!("the pattern in the sender's report: {error}"));
                asked.clone()
            }
            None => asked.clone(),
        };
        if let Some(sent) = &sent {
            let layout = received.account.layout().to_string();
            if sent.layout != layout {
                mismatches.push(format!("the sender used layout {}, the receiver {layout}", sent.layout));
            }
        }
        let expected = Expectation {
            pattern: &pattern,
            generators: sent
                .as_ref()
                .map_or(generators, |sent| u32::try_from(sent.generators.len()).unwrap_or(u32::MAX)),
            sent_bytes: sent.as_ref().map(|sent| sent.payload_bytes),
            sent_packets: sent.as_ref().map(|sent| sent.packets),
        };
        let account = &received.account;
        let verification =
            Verification::new(account.histogram(), account.counters().packets_counted, &expected);
        mismatches.extend(received.alarms.iter().cloned());
        Self { received, sent, verification, mismatches, places: StreamPlaces::default() }
    }

    /// True if no check failed, no jump was reported, no packet was of no use, and there were packets.
    pub fn passed(&self) -> bool {
        let account = &self.received.account;
        let counters = account.counters();
        self.verification.passed()
            && self.mismatches.is_empty()
            && account.jumps().jumps() == 0
            && counters.packets_counted > 0
            && counters.packets_counted == counters.packets_received
    }

    /// Packets sent and lost: as the sender's report says, if there is one, else as the identifiers do (which do
    /// not know what was sent after the last packet).
    pub fn packets(&self) -> PacketLedger {
        with_report(self.received.account.sequence(), self.sent.as_ref().map(|sent| sent.packets))
    }

    /// UDP datagrams per second between the first packet and the last; 0 before the second.
    pub fn packets_per_second(&self) -> f64 {
        self.per_second(self.received.account.counters().packets_received)
    }

    /// Bits of UDP payload per second; 0 before the second packet.
    pub fn bits_per_second(&self) -> f64 {
        self.per_second(self.received.account.counters().bytes_received) * 8.0
    }

    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.received.account.seconds();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }

    fn json(&self) -> Value {
        let ReceivedStream { address, way, account, drops, buffer, .. } = &self.received;
        let (jumps, packets) = (account.jumps(), self.packets());
        let snapshot = CounterSnapshot::of(account.counters());
        let counters: Map<String, Value> =
            snapshot.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect();
        let checks: Map<String, Value> = self
            .verification
            .checks
            .iter()
            .map(|check| {
                (check.name.to_owned(), json!({"outcome": check.outcome.name(), "reason": check.reason}))
            })
            .collect();
        json!({
            "address": address.to_string(),
            "port": address.port(),
            "received_by": way,
            "passed": self.passed(),
            "layout": account.layout().to_string(),
            "counters": counters,
            "unaccounted": snapshot.imbalance(Law::Packets).unsigned_abs() as u64,
            "seconds": account.seconds(),
            "packets_per_second": self.packets_per_second(),
            "bits_per_second": self.bits_per_second(),
            "jumps": {
                "forward": jumps.forward_jumps,
                "zero": jumps.zero_jumps,
                "negative": jumps.negative_jumps,
                "lost": saturated(jumps.lost),
                "additional": saturated(jumps.additional),
                "reorderings": jumps.reorderings,
                "reordered": jumps.reordered,
                "lost_unexplained": saturated(jumps.lost_unexplained()),
                "additional_unexplained": saturated(jumps.additional_unexplained()),
            },
            "packets": packets_json(&packets),
            "places": {
                "socket buffer": {"packets": self.places.socket, "inferred": self.places.socket_is_inferred},
                "AF_XDP": {"packets": self.places.rings, "inferred": true},
                "sender": {"packets": self.places.sender, "inferred": true},
                "unlocated": self.places.unlocated,
            },
            "loss_bound_next_packet": next_packet_bound(&packets),
            "loss_upper_bound": packets.loss_upper_bound(),
            "socket": {
                "dropped": drops.count,
                "is_lower_bound": drops.is_lower_bound,
                "buffer_requested": buffer.map(|buffer| buffer.requested),
                "buffer_granted": buffer.map(|buffer| buffer.granted),
            },
            "words": {
                "sum": account.histogram().sum(),
                "odd_bytes": account.histogram().odd_bytes(),
                "smallest": self.verification.smallest,
                "largest": self.verification.largest,
                "area_count": self.verification.area_count,
                "areas": self.verification.areas.iter().map(area).collect::<Vec<_>>(),
                "odd_areas": self.verification.odd_areas.iter().map(area).collect::<Vec<_>>(),
                "checks": checks,
            },
            "mismatches": self.mismatches,
            "before_start": self.received.before_start,
            "sent": self.sent,
        })
    }
}

fn area(area: &Area) -> Value {
    json!({"first": area.first, "last": area.last, "count": area.count})
}

fn saturated(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
