//! The numbers of the messages of a source, and its silences, whatever modules read it.

use super::message_ids::{Arrival, Gap, MessageIds};
use serde::{Deserialize, Serialize};

/// A source without messages for so long is said to be silent, if others of its topic had pulses meanwhile.
const SILENCE_NS: i64 = 2_000_000_000;
/// Fewest pulses of others in a silence.
const SILENCE_PULSES: u64 = 20;
/// Silences that are remembered one by one.
const SILENCES: usize = 32;

/// A silence of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// The times of the messages before and behind, nanoseconds since 1970.
    pub from_ns: i64,
    /// See `from_ns`; the end of the run if none came any more.
    pub to_ns: i64,
    /// Pulses that other sources of the topic had meanwhile.
    pub pulses: u64,
}

/// Pulses of a topic, of all sources together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicPulses {
    newest_ns: i64,
    count: u64,
}

impl TopicPulses {
    /// Takes note of the time of a pulse.
    pub fn take(&mut self, time_ns: i64) {
        if time_ns > self.newest_ns {
            self.newest_ns = time_ns;
            self.count += 1;
        }
    }

    /// How many different ones there were, as far as they came in order.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The newest.
    pub fn newest_ns(&self) -> i64 {
        self.newest_ns
    }
}

/// A source that numbers its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedSource {
    /// Its numbers.
    pub ids: MessageIds,
    /// Its silences, the oldest first.
    pub silences: Vec<Silence>,
    last_ns: Option<i64>,
    /// Pulses of the topic at its last message.
    pulses: u64,
}

impl NumberedSource {
    /// Takes note of a message. `others` are the pulses of its topic, this one included.
    pub fn take(&mut self, id: i64, checksum: u32, time_ns: i64, others: &TopicPulses) -> Arrival {
        if self.ids.take(id, checksum, time_ns) == Arrival::Duplicate {
            return Arrival::Duplicate;
        }
        // The message itself is one of them, or repeats one.
        let pulses = others.count().saturating_sub(self.pulses + 1);
        if let Some(last) = self.last_ns
            && time_ns.saturating_sub(last) >= SILENCE_NS
            && pulses >= SILENCE_PULSES
            && self.silences.len() < SILENCES
        {
            self.silences.push(Silence { from_ns: last, to_ns: time_ns, pulses });
        }
        self.last_ns = Some(self.last_ns.map_or(time_ns, |last| last.max(time_ns)));
        self.pulses = others.count();
        Arrival::New
    }

    /// Pulses that others had after its last message; all of them if it never came.
    pub fn missed_at_end(&self, others: &TopicPulses) -> u64 {
        others.count().saturating_sub(self.pulses)
    }

    /// The silence at the end, if there is one.
    pub fn silence_at_end(&self, others: &TopicPulses) -> Option<Silence> {
        let pulses = self.missed_at_end(others);
        let from_ns = self.last_ns?;
        let to_ns = others.newest_ns();
        let is_one = to_ns.saturating_sub(from_ns) >= SILENCE_NS && pulses >= SILENCE_PULSES;
        is_one.then_some(Silence { from_ns, to_ns, pulses })
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

    #[test]
    fn a_source_that_dies_is_known_by_the_pulses_of_the_others() {
        let mut pulses = TopicPulses::default();
        let (mut well, mut dying) = (NumberedSource::default(), NumberedSource::default());
        for pulse in 0..140_i64 {
            let time = SECOND + pulse * SECOND / 14;
            pulses.take(time);
            well.take(pulse + 1, 0, time, &pulses);
            if pulse < 70 {
                pulses.take(time);
                dying.take(pulse + 1, 1, time, &pulses);
            }
        }
        assert_eq!(pulses.count(), 140);
        assert_eq!((well.missed_at_end(&pulses), dying.missed_at_end(&pulses)), (0, 70));
        assert_eq!(well.silence_at_end(&pulses), None);
        assert_eq!(dying.silence_at_end(&pulses).unwrap().pulses, 70);
    }

    #[test]
    fn a_source_that_comes_back_was_silent() {
        let mut pulses = TopicPulses::default();
        let mut source = NumberedSource::default();
        for pulse in 0..140_i64 {
            let time = SECOND + pulse * SECOND / 14;
            pulses.take(time);
            if !(30..80).contains(&pulse) {
                source.take(pulse + 1, 0, time, &pulses);
            }
        }
        assert_eq!(source.silences.len(), 1);
        assert_eq!(source.silences[0].pulses, 50);
        assert_eq!(source.ids.missing, 50);
    }
}
