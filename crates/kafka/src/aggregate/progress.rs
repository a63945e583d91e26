//! How far partitions, and the sources in them, have got: whether a frame can still get a message.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Sources that are told apart in each partition. With more, nobody knows who has gone on.
const MOST_SOURCES: usize = 1024;
/// A source that has sent nothing for this long is not waited for.
const SILENT: Duration = Duration::from_secs(10);
/// A partition of which nothing has come for this long, though its end was not reached, is not waited for: its broker is away.
const STALLED: Duration = Duration::from_secs(5);

/// Where a partition is.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The newest reference time of each source, and when it was last heard of. Names are as long as their senders like: only what
    /// they hash to is kept.
    sources: HashMap<u64, (i64, Duration)>,
    has_more_sources: bool,
    /// Kafka's time of the message that was read last, in milliseconds since 1970.
    written_ms: Option<i64>,
    /// When it was read.
    heard: Duration,
    /// Nothing is there that has not been read.
    is_at_end: bool,
}

/// What a frame has to do with the places of partitions.
#[derive(Clone, Copy, Debug)]
pub(super) struct FramePlace {
    /// The latest reference time that a message of it can have, and by how much messages of a source are out of order.
    pub(super) passed_after_ns: i64,
    /// When its first message was read.
    pub(super) since: Duration,
    /// Kafka's time of its first message.
    pub(super) written_ms: Option<i64>,
}

impl Progress {
    /// Takes note of a message that was read, whatever it says.
    pub(super) fn read(&mut self, written_ms: Option<i64>, now: Duration) {
        self.written_ms = written_ms;
        self.heard = now;
        self.is_at_end = false;
    }

    /// Takes note of a reference time.
    pub(super) fn reached(&mut self, source: &str, reference_ns: i64, now: Duration) {
        let mut hasher = DefaultHasher::new();
        source.hash(&mut hasher);
        let source = hasher.finish();
        if self.sources.len() >= MOST_SOURCES && !self.sources.contains_key(&source) {
            self.sources.retain(|_, (_, heard)| now.saturating_sub(*heard) < SILENT);
            self.has_more_sources = self.sources.len() >= MOST_SOURCES;
            if self.has_more_sources {
                return;
            }
        }
        let (newest, heard) = self.sources.entry(source).or_insert((reference_ns, now));
        (*newest, *heard) = (reference_ns.max(*newest), now);
    }

    /// Takes note of whether all that is there has been read.
    pub(super) fn set_at_end(&mut self, is_at_end: bool) {
        self.is_at_end = is_at_end;
    }

    /// True if all sources of this partition have gone on past the frame.
    pub(super) fn has_passed(&self, frame: &FramePlace, now: Duration) -> bool {
        let mut known = 0;
        !self.has_more_sources
            && self
                .sources
                .values()
                .filter(|(_, heard)| now.saturating_sub(*heard) < SILENT)
                .inspect(|_| known += 1)
                .all(|(newest, _)| *newest > frame.passed_after_ns)
            && known > 0
    }

    /// True if the time of a frame is up here: all that was written within `expiry` of its first message has been read.
    pub(super) fn has_expired(&self, frame: &FramePlace, expiry: Duration, now: Duration) -> bool {
        let expiry_ms = i64::try_from(expiry.as_millis()).unwrap_or(i64::MAX);
        let is_read = self
            .written_ms
            .zip(frame.written_ms)
            .is_some_and(|(read, frame)| read >= frame.saturating_add(expiry_ms));
        let is_stalled = now.saturating_sub(self.heard) >= STALLED;
        is_read || (self.is_at_end || is_stalled) && now.saturating_sub(frame.since) >= expiry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const FRAME: FramePlace = FramePlace { passed_after_ns: 100, since: ms(0), written_ms: Some(1000) };

    #[test]
    fn a_frame_is_passed_when_every_source_that_is_alive_has_gone_on() {
        let mut place = Progress::default();
        assert!(!place.has_passed(&FRAME, ms(0)));
        place.reached("a", 101, ms(0));
        assert!(place.has_passed(&FRAME, ms(0)));
        place.reached("b", 90, ms(100));
        assert!(!place.has_passed(&FRAME, ms(100)));
        place.reached("a", 200, ms(10_050));
        assert!(!place.has_passed(&FRAME, ms(10_050)) && place.has_passed(&FRAME, ms(10_100)));
        for source in 0..2 * MOST_SOURCES {
            place.reached(&source.to_string(), 500, ms(10_100));
        }
        assert!(place.has_more_sources && !place.has_passed(&FRAME, ms(10_100)));
    }

    #[test]
    fn a_partition_that_is_behind_is_waited_for() {
        let (mut place, expiry) = (Progress::default(), ms(500));
        place.read(Some(1400), ms(400));
        assert!(!place.has_expired(&FRAME, expiry, ms(4000)));
        place.set_at_end(true);
        assert!(!place.has_expired(&FRAME, expiry, ms(499)) && place.has_expired(&FRAME, expiry, ms(500)));
        place.read(Some(1499), ms(600));
        assert!(!place.has_expired(&FRAME, expiry, ms(5599)) && place.has_expired(&FRAME, expiry, ms(5600)));
        // What was written later has been read: nobody has to wait, as while all of yesterday is read.
        place.read(Some(1500), ms(1));
        assert!(place.has_expired(&FRAME, expiry, ms(1)));
        place.read(None, ms(1));
        assert!(!place.has_expired(&FRAME, expiry, ms(1)));
    }
}
