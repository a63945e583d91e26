//! What was measured, and the laws that it keeps.

/// Trains of one sender to one receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Number of the sender, from 0.
    pub sender: u16,
    /// Number of the receiver, from 0.
    pub receiver: u16,
    /// Trains that were made for this receiver.
    pub trains: u64,
    /// Those that came whole and good.
    pub trains_good: u64,
    /// Those that came whole and were of no use.
    pub trains_rejected: u64,
    /// Those of which packets are missing, and some came. Of the others none came.
    pub trains_incomplete: u64,
    /// Packets of all its trains.
    pub packets: u64,
    /// Those that the sender has given to the kernel: all, but for losses that were provoked.
    pub packets_given: u64,
    /// Those that are in their trains at the receiver.
    pub packets_in_trains: u64,
    /// Those that came when their train had been given up.
    pub packets_late: u64,
    /// Those that came, and were of no use.
    pub packets_rejected: u64,
    /// Those that came a second time.
    pub packets_repeated: u64,
    /// Packets that it begins with, which are told apart from the others.
    pub warm_up_packets: u64,
    /// Those of them that are missing.
    pub warm_up_missing: u64,
    /// Bits of UDP payload per second that came, over the time that its sender has sent.
    pub bits_per_second: f64,
}

impl Flow {
    /// Packets that are not in their trains at the receiver.
    pub const fn missing(&self) -> u64 {
        self.packets.saturating_sub(self.packets_in_trains)
    }

    /// Those of them behind the packets that it begins with.
    pub const fn later_missing(&self) -> u64 {
        self.missing().saturating_sub(self.warm_up_missing)
    }

    /// Packets behind those that it begins with.
    pub const fn later_packets(&self) -> u64 {
        self.packets.saturating_sub(self.warm_up_packets)
    }

    /// Packets that came.
    pub const fn arrived(&self) -> u64 {
        self.packets_in_trains + self.packets_late + self.packets_rejected + self.packets_repeated
    }

    /// Packets that were sent and did not come.
    pub const fn lost(&self) -> u64 {
        self.packets_given.saturating_sub(self.arrived())
    }

    /// Packets that were not sent, on purpose.
    pub const fn not_sent(&self) -> u64 {
        self.packets.saturating_sub(self.packets_given)
    }

    /// Trains of which nothing came.
    pub const fn trains_unseen(&self) -> u64 {
        self.trains.saturating_sub(self.trains_good + self.trains_rejected + self.trains_incomplete)
    }

    /// Adds the counts of the same pair from another time. Its rate stays.
    pub const fn accumulate(&mut self, other: &Self) {
        self.trains += other.trains;
        self.trains_good += other.trains_good;
        self.trains_rejected += other.trains_rejected;
        self.trains_incomplete += other.trains_incomplete;
        self.packets += other.packets;
        self.packets_given += other.packets_given;
        self.packets_in_trains += other.packets_in_trains;
        self.packets_late += other.packets_late;
        self.packets_rejected += other.packets_rejected;
        self.packets_repeated += other.packets_repeated;
        self.warm_up_packets += other.warm_up_packets;
        self.warm_up_missing += other.warm_up_missing;
    }

    /// What does not add up; none if everything does.
    pub fn imbalance(&self) -> Option<String> {
        let pair = format!("sender {} to receiver {}", self.sender, self.receiver);
        let closed = self.trains_good + self.trains_rejected + self.trains_incomplete;
        let laws = [
            ("trains", self.trains, "closed", closed),
            ("packets", self.packets, "sent", self.packets_given),
            ("packets", self.packets, "in trains", self.packets_in_trains),
            ("packets sent", self.packets_given, "that came", self.arrived()),
            ("packets missing", self.missing(), "in the warm-up", self.warm_up_missing),
            ("packets in the warm-up", self.warm_up_packets, "missing", self.warm_up_missing),
        ];
        let broken = laws.into_iter().find(|(_, most, _, count)| count > most);
        broken.map(|(whole, most, part, count)| format!("{pair}: {most} {whole}, {count} {part}"))
    }
}

/// A sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrainSender {
    /// Trains that it has made.
    pub trains: u64,
    /// Packets of them.
    pub packets: u64,
    /// Packets given to the kernel.
    pub packets_given: u64,
    /// From its start to the end of its last call, pauses included.
    pub seconds: f64,
    /// Bits of UDP payload per second, over that time.
    pub bits_per_second: f64,
    /// How late a packet was given to the kernel on average, in nanoseconds.
    pub mean_lateness_ns: f64,
    /// The same of the latest one.
    pub largest_lateness_ns: f64,
    /// Packets that its host says it took and did not send, of all its programs.
    pub host_losses: u64,
}

/// Where the time of a receiving thread went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeOfReader {
    /// Waiting for packets in the kernel, and fetching them.
    pub receiving: f64,
    /// Putting packets into their trains.
    pub assembling: f64,
    /// Taking memory back, looking for time-outs.
    pub housekeeping: f64,
}

/// A receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrainReceiver {
    /// Datagrams that it got, whoever sent them.
    pub packets: u64,
    /// Those of senders that are none of this measurement.
    pub foreign: u64,
    /// Trains that were whole and good.
    pub trains_good: u64,
    /// Packets of trains for which no memory was free.
    pub without_buffer: u64,
    /// Packets that the receive buffer of its socket had no room for.
    pub socket_losses: u64,
    /// Processor time of the receiving thread, in seconds.
    pub processor: f64,
    /// Where its time went; none without a profile.
    pub time: Option<TimeOfReader>,
    /// Times that packets were fetched.
    pub batches: u64,
}

/// What was measured once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredTrains {
    /// Each pair, sender by sender.
    pub flows: Vec<Flow>,
    /// Each sender.
    pub senders: Vec<TrainSender>,
    /// Each receiver.
    pub receivers: Vec<TrainReceiver>,
    /// Packets that found the queue of a core full (backlog), of the whole host.
    pub backlog_losses: u64,
}

impl MeasuredTrains {
    /// Sum of a count over the pairs.
    pub fn sum(&self, count: impl Fn(&Flow) -> u64) -> u64 {
        self.flows.iter().map(count).fold(0, u64::saturating_add)
    }

    /// Processor time of the receiving threads for each packet, in nanoseconds; none if no packet came.
    pub fn ns_per_packet(&self) -> Option<f64> {
        let packets: u64 = self.receivers.iter().map(|receiver| receiver.packets).sum();
        let seconds: f64 = self.receivers.iter().map(|receiver| receiver.processor).sum();
        (packets > 0).then(|| 1e9 * seconds / packets as f64)
    }

    /// What does not add up: within pairs, and between pairs and what senders and receivers say of themselves. None if everything does.
    pub fn imbalance(&self) -> Option<String> {
        if let Some(found) = self.flows.iter().find_map(Flow::imbalance) {
            return Some(found);
        }
        let differs = |who: String, what: &str, of_pairs: u64, own: u64| {
            (of_pairs != own).then(|| format!("{who}: {own} {what}, and its pairs have {of_pairs}"))
        };
        for (number, sender) in (0..).zip(&self.senders) {
            let sum = |count: fn(&Flow) -> u64| -> u64 {
                self.flows.iter().filter(|flow| flow.sender == number).map(count).sum()
            };
            let who = || format!("sender {number}");
            let found = differs(who(), "trains", sum(|flow| flow.trains), sender.trains)
                .or_else(|| differs(who(), "packets", sum(|flow| flow.packets), sender.packets))
                .or_else(|| {
                    differs(who(), "packets sent", sum(|flow| flow.packets_given), sender.packets_given)
                });
            if found.is_some() {
                return found;
            }
        }
        for (number, receiver) in (0..).zip(&self.receivers) {
            let sum = |count: fn(&Flow) -> u64| -> u64 {
                self.flows.iter().filter(|flow| flow.receiver == number).map(count).sum()
            };
            let who = || format!("receiver {number}");
            let arrived = sum(Flow::arrived) + receiver.foreign;
            let found = differs(who(), "packets", arrived, receiver.packets).or_else(|| {
                differs(who(), "good trains", sum(|flow| flow.trains_good), receiver.trains_good)
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender and a receiver, 2 trains of 100 packets, of which 3 are missing.
    fn measured() -> MeasuredTrains {
        let flow = Flow {
            trains: 2,
            trains_good: 1,
            trains_incomplete: 1,
            packets: 200,
            packets_given: 199,
            packets_in_trains: 197,
            packets_late: 1,
            warm_up_packets: 100,
            warm_up_missing: 2,
            ..Flow::default()
        };
        let sender = TrainSender { trains: 2, packets: 200, packets_given: 199, ..TrainSender::default() };
        let receiver =
            TrainReceiver { packets: 198, trains_good: 1, processor: 1e-3, ..TrainReceiver::default() };
        MeasuredTrains {
            flows: vec![flow],
            senders: vec![sender],
            receivers: vec![receiver],
            backlog_losses: 0,
        }
    }

    #[test]
    fn every_packet_is_in_one_place() {
        let measured = measured();
        assert_eq!(measured.imbalance(), None);
        let flow = measured.flows[0];
        assert_eq!((flow.missing(), flow.not_sent(), flow.lost(), flow.packets_late), (3, 1, 1, 1));
        assert_eq!((flow.later_missing(), flow.later_packets(), flow.trains_unseen()), (1, 100, 0));
        assert!(measured.ns_per_packet().is_some_and(|ns| (ns - 1e6 / 198.0).abs() < 1e-6));
    }

    #[test]
    fn what_does_not_add_up_is_named() {
        type Change = fn(&mut MeasuredTrains);
        let changes: [(Change, &str); 6] = [
            (|it| it.flows[0].packets_in_trains = 201, "200 packets, 201 in trains"),
            (|it| it.flows[0].packets_late = 5, "199 packets sent, 202 that came"),
            (|it| it.flows[0].warm_up_missing = 4, "3 packets missing, 4 in the warm-up"),
            (|it| it.senders[0].packets = 201, "sender 0: 201 packets, and its pairs have 200"),
            (|it| it.receivers[0].packets = 199, "receiver 0: 199 packets, and its pairs have 198"),
            (|it| it.receivers[0].trains_good = 2, "receiver 0: 2 good trains"),
        ];
        for (change, expected) in changes {
            let mut wrong = measured();
            change(&mut wrong);
            let said = wrong.imbalance().expect(expected);
            assert!(said.contains(expected), "{said}");
        }
    }
}
