//! The ledger: what was sent, received and lost, per source and per stream, and where it was lost.

use crate::beam_monitor::BeamMonitorData;
use crate::counter::{CounterSnapshot, Role};
use crate::live_time::LiveTime;
use crate::sequence::{Gap, SequenceTracker};
use serde::Serialize;

/// Packets of one source or of a whole stream, as reports have them in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketLedger {
    /// Packets sent, by the sender's own report or else by the sequence; none where the format has no
    /// sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Packets received.
    pub received: u64,
    /// Packets that the sequence says are missing.
    pub lost: u64,
    /// Packets that arrived after a later one.
    pub reordered: u64,
    /// Packets that arrived a second time.
    pub duplicated: u64,
    /// Packets with a number that is far from all others, and which no next number has followed (so far): most likely it was
    /// damaged. They were sent and received, and are counted as both.
    pub unconfirmed: u64,
    /// How often the numbering started over.
    pub restarts: u64,
}

impl PacketLedger {
    /// Adds the packets of another source. `sent` stays known only if it is known for both.
    pub fn add(&mut self, other: &PacketLedger) {
        self.sent = match (self.sent, other.sent) {
            (Some(mine), Some(theirs)) => Some(mine + theirs),
            _ => None,
        };
        self.received += other.received;
        self.lost += other.lost;
        self.reordered += other.reordered;
        self.duplicated += other.duplicated;
        self.unconfirmed += other.unconfirmed;
        self.restarts += other.restarts;
    }

    /// What the law `sent + duplicated = received + lost` leaves over; 0 where `sent` is not known.
    pub fn imbalance(&self) -> i128 {
        self.sent.map_or(0, |sent| {
            i128::from(sent) + i128::from(self.duplicated) - i128::from(self.received) - i128::from(self.lost)
        })
    }

    /// The share of packets lost, or its upper bound with 95 % confidence (3/N) if none was lost.
    /// None before the first packet and where the format has no sequence.
    pub fn loss_upper_bound(&self) -> Option<f64> {
        let sent = self.sent.filter(|&sent| sent > 0)?;
        let bound = if self.lost == 0 { 3.0 } else { poisson_upper_limit(self.lost as f64) };
        Some((bound / sent as f64).min(1.0))
    }
}

/// Upper limit (95 %, one-sided) of the mean of a Poisson variable that was seen to be `seen` > 0: the
/// Wilson-Hilferty approximation, raised by 0.5 % so that it stays on the safe side of the exact limit.
fn poisson_upper_limit(seen: f64) -> f64 {
    let n = seen + 1.0;
    1.005 * n * (1.0 - 1.0 / (9.0 * n) + 1.645 / (3.0 * n.sqrt())).powi(3)
}

/// Packets of one source, with the numbers that are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLedger {
    /// The source as people call it: "FEC 1".
    pub name: String,
    /// Its packets.
    pub packets: PacketLedger,
    /// The first gaps in its numbers that are still open.
    pub gaps: Vec<Gap>,
    /// How many more gaps there are.
    pub gaps_forgotten: u64,
    /// Its packets over time: which share of them arrived. Empty where they have no number.
    pub live_time: LiveTime,
}

impl SourceLedger {
    /// The ledger of a source whose packets are numbered.
    pub fn of_sequence(name: String, tracker: &SequenceTracker) -> Self {
        let counts = tracker.counts();
        Self {
            name,
            packets: PacketLedger {
                sent: Some(counts.sent),
                received: counts.received,
                lost: counts.lost,
                reordered: counts.reordered,
                duplicated: counts.duplicated,
                unconfirmed: counts.unconfirmed,
                restarts: counts.restarts,
            },
            gaps: tracker.gaps().to_vec(),
            gaps_forgotten: tracker.gaps_forgotten(),
            live_time: tracker.live_time().clone(),
        }
    }
}

impl SourceLedger {
    /// The ledger of a source whose packets carry no number: nothing can be said of what it has lost.
    pub fn unnumbered(name: String, received: u64) -> Self {
        Self { name, packets: PacketLedger { received, ..PacketLedger::default() }, ..Self::default() }
    }
}

/// A channel that the configuration masks, and what it would have sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedChannel {
    /// The channel as people call it: "digitizer 143, channel 47".
    pub channel: String,
    /// Why it is masked, in the words of the configuration.
    pub reason: String,
    /// Its readouts, which were left out.
    pub readouts: u64,
}

/// Everything a detector pipeline can say about its input at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DetectorLedger {
    /// The sources that sent, in order of their number.
    pub sources: Vec<SourceLedger>,
    /// The counters, bound by the laws of [`counter`](crate::counter).
    pub counters: CounterSnapshot,
    /// The channels that the configuration masks, in order of their number.
    pub masked: Vec<MaskedChannel>,
    /// The beam monitors of the stream and what they have counted since the start; empty for all other
    /// detectors. They are here and not in a method of the detector because they travel the same way to the
    /// same places as the counters do: files, reports and pictures. Names, pixels and bins are fixed once the
    /// detector is built: its first ledger, before any packet, says what files need to know of them.
    pub beam_monitors: Vec<BeamMonitorData>,
    /// The period of the pulses as the readout reports them, in nanoseconds; none until that is clear.
    pub pulse_period_ns: Option<u64>,
    /// What the input says that the configuration does not, in whole sentences with the key to set: the pulse period,
    /// output queues, the first readouts that nothing is wired to.
    pub notes: Vec<String>,
}

impl DetectorLedger {
    /// The packets of all sources together.
    pub fn packets(&self) -> PacketLedger {
        let mut all = PacketLedger { sent: Some(0), ..PacketLedger::default() };
        for source in &self.sources {
            all.add(&source.packets);
        }
        if self.sources.is_empty() {
            all.sent = None;
        }
        all
    }

    /// Events handed out: those that were filed under a pulse where the readout reports pulses, all formed elsewhere.
    pub fn events(&self) -> u64 {
        self.counters.value("events_filed").or(self.counters.value("events")).unwrap_or(0)
    }

    /// Everything that waits at this moment, in whichever stage.
    pub fn held(&self) -> u64 {
        let held = self.counters.iter().filter(|(info, _)| matches!(info.role, Role::Held(_)));
        held.map(|(_, value)| value).sum()
    }

    /// What the laws leave over, in packets, readouts, hits and beam monitors together: 0 unless something
    /// vanished.
    pub fn unaccounted(&self) -> u64 {
        let sequences: u128 = self.sources.iter().map(|s| s.packets.imbalance().unsigned_abs()).sum();
        let monitors = self.beam_monitors.iter().map(BeamMonitorData::unaccounted);
        monitors
            .fold(self.counters.unaccounted(), u64::saturating_add)
            .saturating_add(u64::try_from(sequences).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loss_is_bounded_by_three_over_n() {
        let packets = PacketLedger { sent: Some(300), received: 300, ..PacketLedger::default() };
        assert_eq!(packets.loss_upper_bound(), Some(0.01));
        assert_eq!(PacketLedger::default().loss_upper_bound(), None);
    }

    /// 95 % upper limits of a Poisson mean for 1, 2, 5 and 10 observed losses: 4.74, 6.30, 10.51, 16.96.
    #[test]
    fn the_bound_with_losses_is_on_the_safe_side_of_the_exact_one() {
        for (lost, exact) in [(1, 4.744), (2, 6.296), (5, 10.513), (10, 16.962)] {
            let packets = PacketLedger { sent: Some(1_000_000), lost, ..PacketLedger::default() };
            let bound = packets.loss_upper_bound().unwrap() * 1e6;
            assert!(bound >= exact && bound < exact * 1.03, "{lost} lost: {bound} against {exact}");
        }
    }

    #[test]
    fn sources_add_up() {
        let mut tracker = SequenceTracker::new(32);
        for number in [1, 2, 4] {
            tracker.observe(number);
        }
        let source = SourceLedger::of_sequence("FEC 1".into(), &tracker);
        let ledger = DetectorLedger { sources: vec![source.clone(), source], ..Default::default() };
        let packets = ledger.packets();
        assert_eq!((packets.sent, packets.received, packets.lost), (Some(8), 6, 2));
        assert_eq!((packets.imbalance(), ledger.unaccounted()), (0, 0));
        assert_eq!(ledger.sources[0].gaps, [Gap { first: 3, count: 1, noticed_ns: 0 }]);
    }
}
