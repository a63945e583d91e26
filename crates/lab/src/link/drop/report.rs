//! The report on received streams.

use super::account::StreamAccount;
use super::histogram::WordHistogram;
use super::pattern::WordPattern;
use super::sent::{SentReport, SentStream};
use super::verification::{Area, Expectation, Verification};
use crate::link::loss::{next_packet_bound, with_report};
use crate::link::receive::{LinkAccount, ReceivedLink};
use evforge_core::counter::{CounterSnapshot, Law};
use evforge_core::ledger::PacketLedger;
use evforge_net::live_receiver::ReceiveLosses;
use evforge_net::losses::{self, LossBreakdown, LossCounts, LossLocation};
use evforge_wire::drop::Order;
use serde_json::{Map, Value, json};

/// A counter of losses that holds those of all streams of a receiver.
struct SharedCounter {
    place: LossLocation,
    count: fn(&ReceiveLosses) -> u64,
}

impl SharedCounter {
    /// In the order in which they are used up.
    const ALL: [Self; 4] = [
        Self { place: LossLocation::XdpRing, count: |losses| losses.xdp_ring },
        Self { place: LossLocation::XdpMemory, count: |losses| losses.xdp_memory },
        Self { place: LossLocation::FrameChecks, count: |losses| losses.frame_checks },
        // That of the sockets beside AF_XDP.
        Self { place: LossLocation::SocketBuffer, count: |losses| losses.socket.count },
    ];
}

/// One stream: what came, and the verdict on it.
#[derive(Clone, Debug)]
pub struct StreamReport {
    /// What came.
    pub received: ReceivedLink<StreamAccount>,
    /// The sender's report on it, if there is one.
    pub sent: Option<SentStream>,
    /// The verdict on its words.
    pub verification: Verification,
    /// What was not as the receiver was told to expect, in sentences.
    pub mismatches: Vec<String>,
    /// Where its packets were lost.
    pub losses: LossBreakdown,
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
        received: Vec<ReceivedLink<StreamAccount>>,
        order: Order,
        generators: u32,
        sent: Option<&SentReport>,
    ) -> Self {
        let asked = WordPattern::new(order);
        // The sender's host counts for all streams together, and so does AF_XDP: what one stream has used is not there for
        // the next.
        let mut shared = received.iter().map(|stream| stream.losses.shared).fold([0; 4], |most, losses| {
            let of = SharedCounter::ALL.map(|counter| (counter.count)(&losses));
            std::array::from_fn(|index| most[index].max(of[index]))
        });
        let mut lost_at_sender = sent.map_or(0, |sent| sent.losses.sum());
        let streams = received
            .into_iter()
            .map(|received| {
                let stream = sent.and_then(|sent| sent.stream(received.address.port())).cloned();
                let mut report = StreamReport::new(received, stream, &asked, generators, sent.is_some());
                let dropped = report.sent.as_ref().map_or(0, |sent| sent.dropped);
                report.losses = report.own_losses();
                for (counter, left) in SharedCounter::ALL.iter().zip(&mut shared) {
                    *left -= report.losses.explain(counter.place, *left);
                }
                let at_sender = lost_at_sender.max(dropped);
                let explained = report.losses.explain(LossLocation::Sender, at_sender);
                lost_at_sender = lost_at_sender.saturating_sub(explained);
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
        received: ReceivedLink<StreamAccount>,
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
        let verification = match account.histogram() {
            Some(histogram) => Verification::new(histogram, account.good_packets(), &expected),
            None => Verification::without_words(account.good_packets(), &expected),
        };
        mismatches.extend(received.state.alarms.iter().cloned());
        Self { received, sent, verification, mismatches, losses: LossBreakdown::default() }
    }

    /// True if no check failed, no jump was reported, no packet was of no use, and there were packets.
    pub fn passed(&self) -> bool {
        let account = &self.received.account;
        let counters = account.counters();
        self.verification.passed()
            && self.mismatches.is_empty()
            && account.jumps().jumps() == 0
            && account.good_packets() > 0
            && account.good_packets() == counters.packets_received
    }

    /// Packets sent and lost: as the sender's report says, if there is one, else as the identifiers do (which do
    /// not know what was sent after the last packet).
    pub fn packets(&self) -> PacketLedger {
        with_report(self.received.account.sequence(), self.sent.as_ref().map(|sent| sent.packets))
    }

    /// Where its packets were lost, as far as its own socket and the queue to its worker know.
    fn own_losses(&self) -> LossBreakdown {
        losses::join(&LossCounts {
            sequence: self.packets().lost,
            own_queue: self.received.account.counters().packets_dropped,
            receiver: ReceiveLosses { socket: self.received.losses.socket, ..ReceiveLosses::default() },
            numbered: true,
            ..LossCounts::default()
        })
    }

    fn json(&self) -> Value {
        let ReceivedLink { address, way, account, losses, buffer, by_worker, worked, state, .. } =
            &self.received;
        let (words, verification) = (account.histogram(), &self.verification);
        let (jumps, packets) = (account.jumps(), self.packets());
        let mut packets_with_losses = json!(packets);
        losses::add_to_json(&self.losses, &mut packets_with_losses);
        let snapshot = CounterSnapshot::of(account.counters());
        let counters: Map<String, Value> =
            snapshot.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect();
        let checks: Map<String, Value> = verification
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
            "by_worker": by_worker,
            "worker": worked.map(|worked| json!({"seconds": worked.as_secs_f64()})),
            "passed": self.passed(),
            "layout": account.layout().to_string(),
            "counters": counters,
            "unaccounted": snapshot.imbalance(Law::Packets).unsigned_abs() as u64,
            "seconds": account.arrivals().seconds(),
            "packets_per_second": self.received.packets_per_second(),
            "bits_per_second": self.received.bits_per_second(),
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
            "packets": packets_with_losses,
            "places": self.former_places(),
            "loss_bound_next_packet": next_packet_bound(&packets),
            "loss_upper_bound": packets.loss_upper_bound(),
            "socket": {
                "dropped": losses.socket.count,
                "is_lower_bound": losses.socket.is_lower_bound,
                "buffer_requested": buffer.map(|buffer| buffer.requested),
                "buffer_granted": buffer.map(|buffer| buffer.granted),
            },
            "words": {
                "counted": words.is_some(),
                "sum": words.map(WordHistogram::sum),
                "odd_bytes": words.map(WordHistogram::odd_bytes),
                "smallest": words.map(|_| verification.smallest),
                "largest": words.map(|_| verification.largest),
                "area_count": words.map(|_| verification.area_count),
                "areas": verification.areas.iter().map(area).collect::<Vec<_>>(),
                "odd_areas": verification.odd_areas.iter().map(area).collect::<Vec<_>>(),
                "checks": checks,
            },
            "mismatches": self.mismatches,
            "before_start": state.xdp.map_or(0, |counters| counters.before_start),
            "sent": self.sent,
        })
    }

    /// The losses as reports had them before `packets` had them: for those who still read that, until the next release.
    fn former_places(&self) -> Value {
        let socket = self.received.losses.socket;
        let sender = self.losses.at(LossLocation::Sender);
        // By AF_XDP, what the sockets beside it dropped was counted as its own.
        let queue = self.losses.at(LossLocation::OwnQueue);
        let by_xdp = self.losses.placed() - sender - socket.count - queue;
        json!({
            "socket buffer": {"packets": socket.count, "inferred": socket.is_lower_bound && socket.count > 0},
            "AF_XDP": {"packets": by_xdp, "inferred": true},
            "sender": {"packets": sender, "inferred": true},
            "unlocated": self.losses.unlocated,
        })
    }
}

fn area(area: &Area) -> Value {
    json!({"first": area.first, "last": area.last, "count": area.count})
}

fn saturated(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{ProcessorUse, SentLosses, StreamLosses};
    use evforge_net::host_counters::HostCounters;
    use evforge_net::session::ReceiveState;
    use evforge_net::socket::SocketDrops;
    use evforge_wire::drop::DropLayout;
    use std::time::Duration;

    /// A stream of which nothing has come.
    fn received(port: u16, losses: StreamLosses) -> ReceivedLink<StreamAccount> {
        ReceivedLink {
            thread: 0,
            address: ([127, 0, 0, 1], port).into(),
            way: "by hand".into(),
            account: StreamAccount::new(DropLayout::P1, Order::Counting),
            losses,
            buffer: None,
            by_worker: false,
            worked: None,
            state: ReceiveState::default(),
            host: HostCounters::default(),
            work: Duration::ZERO,
            processor: ProcessorUse::default(),
        }
    }

    /// The streams to ports 1 and 2, of 10 packets each; the sender's host has lost so many packets of both.
    fn sent(lost: u64) -> SentReport {
        let stream = |port: u16| -> SentStream {
            serde_json::from_value(json!({
                "destination": format!("127.0.0.1:{port}"), "source": "127.0.0.1:5", "layout": "P1",
                "order": "counting", "pattern": "counting", "first_identifier": 0, "generators": [],
                "packets": 10, "payload_bytes": 0, "datagrams": 10, "datagram_bytes": 0, "faults": [],
                "asked_rate": null, "seconds": 1.0, "packets_per_second": 10.0, "bits_per_second": 0.0,
                "refused": 0, "mean_lateness_ns": null, "largest_lateness_ns": null,
            }))
            .expect("a stream")
        };
        let losses = SentLosses { send_buffer_errors: lost, ..SentLosses::default() };
        SentReport { streams: vec![stream(1), stream(2)], losses }
    }

    /// The losses of both streams.
    fn packets(losses: [StreamLosses; 2], lost_at_sender: u64) -> [(Value, Value); 2] {
        let [one, two] = losses;
        let received = vec![received(1, one), received(2, two)];
        let report = ReceiveReport::new(received, Order::Counting, 1, Some(&sent(lost_at_sender)));
        let json = report.json();
        [0, 1].map(|index| {
            let stream = &json["streams"][index];
            let mut packets = stream["packets"].clone();
            for other in [
                "sent",
                "received",
                "lost",
                "reordered",
                "duplicated",
                "unconfirmed",
                "restarts",
                "places",
                "inferred_places",
            ] {
                packets.as_object_mut().expect("counts").remove(other);
            }
            (packets, stream["places"].clone())
        })
    }

    #[test]
    fn a_stream_has_what_its_socket_dropped_and_a_part_of_what_all_share() {
        let socket = |count| StreamLosses {
            socket: SocketDrops { count, is_lower_bound: false },
            ..Default::default()
        };
        let [(one, former), (two, _)] = packets([socket(4), socket(12)], 7);
        let expected =
            json!({ "locations": {"socket buffer": 4}, "inferred_locations": {"sender": 6}, "unlocated": 0 });
        assert_eq!(one, expected);
        // One packet is left of what the sender's host lost, and nothing that it could explain.
        let expected = json!({
            "locations": {"socket buffer": 12}, "inferred_locations": {}, "unlocated": 0, "lost_after_the_last": 2,
        });
        assert_eq!(two, expected);
        let expected = json!({
            "socket buffer": {"packets": 4, "inferred": false}, "AF_XDP": {"packets": 0, "inferred": true},
            "sender": {"packets": 6, "inferred": true}, "unlocated": 0,
        });
        assert_eq!(former, expected);
    }

    #[test]
    fn losses_that_all_streams_share_are_shared_out_once() {
        let beside = SocketDrops { count: 2, is_lower_bound: false };
        let shared = ReceiveLosses { socket: beside, xdp_ring: 6, xdp_memory: 5, frame_checks: 1 };
        let all = StreamLosses { shared, ..StreamLosses::default() };
        let [(one, former), (two, _)] = packets([all, all], 3);
        let expected = json!({
            "locations": {}, "inferred_locations": {"AF_XDP ring": 6, "AF_XDP memory": 4}, "unlocated": 0,
        });
        assert_eq!(one, expected);
        let expected = json!({
            "locations": {}, "unlocated": 3,
            "inferred_locations": {"AF_XDP memory": 1, "frame checks": 1, "socket buffer": 2, "sender": 3},
        });
        assert_eq!(two, expected);
        assert_eq!(former["AF_XDP"]["packets"], 10);
    }
}
