//! Where packets and trains went, as the page shows it.

use evforge_core::counter::CounterSnapshot;
use evforge_core::feed::{Feed, FeedState};
use evforge_core::ledger::{DetectorLedger, PacketLedger, SourceLedger};
use evforge_core::run_state::{RunState, discards};
use evforge_net::losses::{LossCounts, join};
use evforge_train::assembly::AssemblyCounters;
use evforge_train::node::NodeProgress;
use std::time::{Duration, Instant};

/// What comes in, from counters that are looked at now and then.
pub(super) struct TrainFeed {
    packets: u64,
    packet_at: Option<Instant>,
    trains: u64,
    train_at: Option<Instant>,
}

impl TrainFeed {
    pub(super) const fn new() -> Self {
        Self { packets: 0, packet_at: None, trains: 0, train_at: None }
    }

    /// What comes in now, and what is wrong with it.
    pub(super) fn now(&mut self, progress: &NodeProgress<'_>) -> (Feed, Option<String>) {
        self.at(&progress.assembly, progress.elapsed, Instant::now())
    }

    fn at(&mut self, assembly: &AssemblyCounters, running: Duration, now: Instant) -> (Feed, Option<String>) {
        if assembly.packets_received > self.packets {
            // Without a train, the time is counted from the first packet on.
            self.train_at = self.train_at.or(Some(now));
            (self.packets, self.packet_at) = (assembly.packets_received, Some(now));
        }
        let trains = assembly.trains_good + assembly.trains_kept;
        if trains > self.trains {
            (self.trains, self.train_at) = (trains, Some(now));
        }
        let ago = |at: Option<Instant>| at.map(|at| now.saturating_duration_since(at));
        // Whether trains come of the packets is another question, which the alarm answers.
        let packet_ago = ago(self.packet_at);
        let is_of_no_use = packet_ago.is_some() && assembly.trains_opened == 0;
        let feed = Feed { running, packet_ago, event_ago: packet_ago, ..Feed::default() };
        let state = match packet_ago {
            None => FeedState::Waiting,
            Some(_) if is_of_no_use => FeedState::Rejecting(main_reason(assembly)),
            Some(_) => FeedState::Live,
        };
        let feed = Feed { state, ..feed }.aged(Duration::ZERO);
        let without = ago(self.train_at).filter(|ago| *ago >= feed.stalled_after);
        let alarm = without.filter(|_| feed.state == FeedState::Live).map(|ago| {
            format!(
                "packets come, and no train has become whole for {} s: Discarded packets and trains say why",
                ago.as_secs()
            )
        });
        (feed, alarm)
    }
}

/// Why most packets are of no use.
fn main_reason(assembly: &AssemblyCounters) -> String {
    let discards = discards(&CounterSnapshot::of(assembly));
    let most = discards.iter().filter(|discard| discard.of == "packets").max_by_key(|discard| discard.count);
    most.map_or_else(String::new, |most| format!("{}: {}", most.reason.replace('_', " "), most.help))
}

/// The state of a node: where packets and trains went.
pub(super) fn run_state(
    progress: &NodeProgress<'_>,
    sources: &[String],
    numbers_are_checked: bool,
    (feed, alarm): (Feed, Option<String>),
) -> RunState {
    let receiving = progress.receiving();
    let of_source = |(name, counters): (&String, &AssemblyCounters)| SourceLedger {
        name: name.clone(),
        packets: packets(counters, numbers_are_checked),
        ..SourceLedger::default()
    };
    let ledger = DetectorLedger {
        sources: sources.iter().zip(progress.threads).map(of_source).collect(),
        counters: CounterSnapshot::of(&progress.assembly),
        ..DetectorLedger::default()
    };
    // What was lost beyond the trains that something came of is in the counters of the socket alone.
    let sequence = ledger.packets().lost;
    let receiver = receiving.losses;
    let losses = join(&LossCounts { sequence, receiver, numbered: true, ..LossCounts::default() });
    let receiving = receiving.alarms.into_iter().chain(alarm).collect();
    RunState { elapsed: progress.elapsed, feed, ledger, losses, receiving, ..RunState::default() }
}

/// The packets of a receiving thread. How many were sent is known as long as no train is missing as a whole, and of none the end.
fn packets(counters: &AssemblyCounters, numbers_are_checked: bool) -> PacketLedger {
    let AssemblyCounters { packets_received: received, packets_missing, packets_late, .. } = *counters;
    // Those that came damaged, or after their train had been closed, are not lost.
    let damaged = counters.packets_too_short
        + counters.packets_empty
        + counters.packets_too_long
        + counters.packets_cut;
    let lost = packets_missing.saturating_sub(packets_late + damaged);
    let duplicated = counters.packets_repeated;
    let is_known = numbers_are_checked
        && counters.train_number_gaps == 0
        && counters.train_number_restarts == 0
        && counters.trains_of_unknown_size == 0
        && counters.trains_without_buffer == 0;
    PacketLedger {
        sent: is_known.then(|| (received + lost).saturating_sub(duplicated)),
        received,
        lost,
        reordered: counters.packets_reordered,
        duplicated,
        ..PacketLedger::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_packets_were_sent_is_known_until_a_whole_train_is_missing() {
        let mut counters = AssemblyCounters {
            packets_received: 10,
            packets_missing: 4,
            packets_late: 1,
            packets_cut: 1,
            packets_repeated: 1,
            ..AssemblyCounters::default()
        };
        let known = packets(&counters, true);
        assert_eq!((known.sent, known.lost, known.imbalance()), (Some(11), 2, 0));
        assert_eq!(packets(&counters, false).sent, None);
        counters.train_number_gaps = 1;
        let gap = packets(&counters, true);
        assert_eq!((gap.sent, gap.lost, gap.imbalance()), (None, 2, 0));
    }

    #[test]
    fn the_feed_says_whether_trains_come_of_the_packets() {
        let (mut feed, start) = (TrainFeed::new(), Instant::now());
        let mut counters = AssemblyCounters::default();
        let mut at = |seconds: u64, counters: &AssemblyCounters| {
            let running = Duration::from_secs(seconds);
            let (feed, alarm) = feed.at(counters, running, start + running);
            (feed.name(), feed.reason(), alarm)
        };
        assert_eq!(at(1, &counters).0, "waiting");
        (counters.packets_received, counters.packets_cut) = (3, 3);
        let (name, reason, _) = at(2, &counters);
        assert_eq!(name, "rejecting");
        assert!(reason.is_some_and(|reason| reason.contains("packets cut")));
        (counters.packets_received, counters.trains_opened) = (4, 1);
        assert_eq!(at(3, &counters), ("live", None, None));
        counters.packets_received = 5;
        let (name, _, alarm) = at(9, &counters);
        assert!(
            name == "live" && alarm.is_some_and(|alarm| alarm.contains("no train has become whole for 7 s"))
        );
        (counters.packets_received, counters.trains_good) = (6, 1);
        assert_eq!(at(10, &counters), ("live", None, None));
        assert_eq!(at(20, &counters).0, "stalled");
    }
}
