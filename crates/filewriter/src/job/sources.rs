//! Sources that number their messages: what is missing, and when they were silent.

use super::pulse_line::PulseLine;
use evforge_kafka::message_ids::{Arrival, Gap, MessageIds};
use serde::{Deserialize, Serialize};

/// A source without messages for so long is said to be silent, if others of its topic had pulses meanwhile.
const SILENCE_NS: i64 = 2_000_000_000;
/// Fewest pulses of others in a silence.
const SILENCE_PULSES: u64 = 20;
/// Silences that are remembered one by one.
const SILENCES: usize = 32;

/// A silence of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The times of the messages before and behind, nanoseconds since 1970.
    pub from_ns: i64,
    /// See `from_ns`; that of the last pulse of the others if none came any more.
    pub to_ns: i64,
    /// Pulses that another source of the topic had meanwhile: the one with the most.
    pub pulses: u64,
}

/// A source that numbers its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedSource {
    /// Its numbers.
    pub ids: MessageIds,
    /// Its pulses.
    pub pulses: PulseLine,
    /// Times without messages that were longer than usual: before and behind.
    pauses: Vec<(i64, i64)>,
}

impl NumberedSource {
    /// Takes note of a message.
    pub fn take(&mut self, partition: usize, id: i64, checksum: u32, time_ns: i64) -> Arrival {
        if self.ids.take(partition, id, checksum, time_ns) == Arrival::Duplicate {
            return Arrival::Duplicate;
        }
        if let Some(last) = self.pulses.last_ns()
            && time_ns.saturating_sub(last) >= SILENCE_NS
            && self.pauses.len() < SILENCES
        {
            self.pauses.push((last, time_ns));
        }
        self.pulses.take(time_ns);
        Arrival::New
    }

    /// Pulses that another source had behind the last message of this one: all of them if none came.
    pub fn missed_at_end<'a>(&self, others: impl Iterator<Item = &'a Self>) -> u64 {
        let from = self.pulses.last_ns().unwrap_or(i64::MIN);
        others.map(|other| other.pulses.between(from, i64::MAX)).max().unwrap_or(0)
    }

    /// When it was silent while others were not, the end of the run included.
    pub fn silences<'a>(&self, others: impl Iterator<Item = &'a Self> + Clone) -> Vec<Silence> {
        let Some(last) = self.pulses.last_ns() else { return Vec::new() };
        let end = others.clone().filter_map(|other| other.pulses.last_ns()).max();
        let at_end = end.filter(|end| end.saturating_sub(last) >= SILENCE_NS);
        // Its last pulse belongs to what is missing.
        let at_end = at_end.map(|end| (last, end.saturating_add(1)));
        let silence = |(from_ns, to_ns): (i64, i64)| {
            let pulses = others.clone().map(|other| other.pulses.between(from_ns, to_ns)).max().unwrap_or(0);
            (pulses >= SILENCE_PULSES).then_some(Silence { from_ns, to_ns, pulses })
        };
        self.pauses.iter().copied().chain(at_end).filter_map(silence).collect()
    }

    /// What is missing where.
    pub fn gaps(&self) -> &[Gap] {
        &self.ids.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn source(pulses: impl Iterator<Item = i64>) -> NumberedSource {
        let mut source = NumberedSource::default();
        pulses.for_each(|pulse| {
            source.take(0, pulse + 1, 0, SECOND + pulse * SECOND / 14);
        });
        source
    }

    /// In whatever order their messages are read: each is taken alone here.
    #[test]
    fn a_source_that_dies_is_known_by_the_pulses_of_the_others() {
        let (well, dying) = (source(0..140), source(0..70));
        assert_eq!(well.missed_at_end([&dying].into_iter()), 0);
        assert_eq!(dying.missed_at_end([&well].into_iter()), 70);
        assert_eq!(well.silences([&dying].into_iter()), []);
        let silences = dying.silences([&well].into_iter());
        assert_eq!((silences.len(), silences[0].pulses), (1, 70));
        let never = NumberedSource::default();
        assert_eq!(
            (never.missed_at_end([&well].into_iter()), never.silences([&well].into_iter()).len()),
            (140, 0)
        );
    }

    #[test]
    fn a_source_that_comes_back_was_silent() {
        let well = source(0..140);
        let away = source((0..30).chain(80..140));
        let silences = away.silences([&well].into_iter());
        assert_eq!((silences.len(), silences[0].pulses), (1, 50));
        assert_eq!(away.ids.missing, 50);
        // Nobody else was there: it may well have had nothing to say.
        assert_eq!(away.silences(std::iter::empty()), []);
    }
}
