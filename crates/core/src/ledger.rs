//! The ledger: what was sent, received and lost, per source and per stream, and where it was lost.

use crate::beam_monitor::BeamMonitorData;
use crate::change::ChangeRecord;
use crate::counter::{CounterSnapshot, Law, Role};
use crate::frame::FrameLedger;
use crate::live_time::LiveTime;
use crate::quantity::grouped;
use crate::sequence::{Gap, Restart, SequenceTracker};
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Packets of one source or of a whole stream. In JSON `sent` and `lost` are null where they are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketLedger {
    /// Packets sent, by the sender's own report or else by the sequence; none where the format has no
    /// sequence.
    pub sent: Option<u64>,
    /// Packets received.
    pub received: u64,
    /// Packets that the sequence says are missing. Where `sent` is not known this says nothing, or is a part of the truth:
    /// people and programs are told [`PacketLedger::loss`].
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

    /// How many packets were lost, as far as it is known.
    pub fn loss(&self) -> Loss {
        match (self.sent, self.lost) {
            (Some(_), lost) => Loss::Exactly(lost),
            (None, 0) => Loss::Unknown,
            (None, lost) => Loss::AtLeast(lost),
        }
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

impl Serialize for PacketLedger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let loss = self.loss();
        let mut fields = serializer.serialize_struct("PacketLedger", 8)?;
        fields.serialize_field("sent", &self.sent)?;
        fields.serialize_field("received", &self.received)?;
        fields.serialize_field("lost", &loss.exactly())?;
        match loss {
            Loss::AtLeast(lost) => fields.serialize_field("lost_at_least", &lost)?,
            _ => fields.skip_field("lost_at_least")?,
        }
        fields.serialize_field("reordered", &self.reordered)?;
        fields.serialize_field("duplicated", &self.duplicated)?;
        fields.serialize_field("unconfirmed", &self.unconfirmed)?;
        fields.serialize_field("restarts", &self.restarts)?;
        fields.end()
    }
}

/// How many packets were lost, as far as it is known: what is not known is never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// So many.
    Exactly(u64),
    /// So many, and perhaps more: some sources do not number their packets.
    AtLeast(u64),
    /// Nobody can know: packets have no numbers.
    Unknown,
}

impl Loss {
    /// The number, where it is known exactly.
    pub fn exactly(self) -> Option<u64> {
        match self {
            Self::Exactly(lost) => Some(lost),
            Self::AtLeast(_) | Self::Unknown => None,
        }
    }

    /// With further packets that are known to be lost, which no sequence has seen.
    #[must_use]
    pub fn and(self, more: u64) -> Self {
        match self {
            Self::Exactly(lost) => Self::Exactly(lost + more),
            Self::AtLeast(lost) => Self::AtLeast(lost + more),
            Self::Unknown if more > 0 => Self::AtLeast(more),
            Self::Unknown => Self::Unknown,
        }
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exactly(lost) => f.write_str(&grouped(*lost)),
            Self::AtLeast(lost) => write!(f, "at least {}", grouped(*lost)),
            Self::Unknown => f.write_str("unknown"),
        }
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
    /// The first restarts of its numbering.
    pub restarts: Vec<Restart>,
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
            restarts: tracker.restarts().to_vec(),
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
    /// What is known of all frames together, where the readout says more of a pulse than its time: periods, vetoes, charge. It is
    /// there before the first packet, with the names of the vetoes; none for all other detectors.
    pub frames: Option<FrameLedger>,
    /// The period of the pulses as the readout reports them, in nanoseconds; none until that is clear.
    pub pulse_period_ns: Option<u64>,
    /// What the input says that the configuration does not, in whole sentences with the key to set: the pulse period,
    /// output queues, the first readouts that nothing is wired to.
    pub notes: Vec<String>,
    /// Parameters that were changed while the run went on, with the times of the data from which the changes hold.
    pub changes: ChangeRecord,
}

impl DetectorLedger {
    /// The packets of all sources together. Where no source is known, all that is known is what was handed over.
    pub fn packets(&self) -> PacketLedger {
        if self.sources.is_empty() {
            return PacketLedger { received: self.handed_over(), ..PacketLedger::default() };
        }
        let mut all = PacketLedger { sent: Some(0), ..PacketLedger::default() };
        for source in &self.sources {
            all.add(&source.packets);
        }
        all
    }

    /// Sources whose packets have no numbers, so that nobody knows what they have lost.
    pub fn unnumbered_sources(&self) -> usize {
        self.sources.iter().filter(|source| source.packets.sent.is_none()).count()
    }

    /// Packets handed to the detector, those of no known source included.
    pub fn handed_over(&self) -> u64 {
        self.counters.sum(|role| role == Role::Enters(Law::Packets)).unwrap_or(0)
    }

    /// Readouts found in them; none if the detector does not count them.
    pub fn readouts(&self) -> Option<u64> {
        self.counters.sum(|role| matches!(role, Role::Enters(Law::Readouts) | Role::Joins(_, Law::Readouts)))
    }

    /// Readouts with a place and a time; none if the detector does not count them.
    pub fn hits(&self) -> Option<u64> {
        self.counters.sum(|role| matches!(role, Role::Enters(Law::Hits) | Role::Joins(_, Law::Hits)))
    }

    /// Events handed out: by the law of events where the detector keeps it, by the counter of what it hands out elsewhere.
    pub fn events(&self) -> u64 {
        let by_law = self.counters.sum(|role| role == Role::Leaves(Law::Events));
        by_law.or_else(|| self.counters.sum(|role| role == Role::HandedOut)).unwrap_or(0)
    }

    /// Everything that waits at this moment, in whichever stage.
    pub fn held(&self) -> u64 {
        self.counters.sum(|role| matches!(role, Role::Held(_))).unwrap_or(0)
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
    fn a_loss_that_is_not_known_is_not_0() {
        let numbered = PacketLedger { sent: Some(4), received: 2, lost: 2, ..PacketLedger::default() };
        let unnumbered = PacketLedger { received: 5, ..PacketLedger::default() };
        assert_eq!(
            (numbered.loss().to_string(), unnumbered.loss().to_string()),
            ("2".into(), "unknown".into())
        );
        let mut both = numbered;
        both.add(&unnumbered);
        assert_eq!((both.loss(), both.loss().to_string()), (Loss::AtLeast(2), "at least 2".into()));
        assert_eq!((unnumbered.loss().and(3), numbered.loss().and(3)), (Loss::AtLeast(3), Loss::Exactly(5)));
        assert_eq!(unnumbered.loss().and(0).exactly(), None);
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
