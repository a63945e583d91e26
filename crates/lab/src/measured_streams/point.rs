//! A point, and what it measured.

use crate::measured_link::{CoreShares, MeasuredPoint};
use evforge_core::quantity::Rate;
use std::collections::BTreeMap;
use std::time::Duration;

/// Lost packets that no counter explains.
const UNLOCATED: &str = "unlocated";

/// Which threads receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamThreads {
    /// A thread for each stream, on these cores in turn.
    Each(Vec<usize>),
    /// One thread receives all streams, and a worker of each stream checks and counts: the paper's management thread and workers.
    Workers {
        /// Core of the thread that receives.
        receiver: usize,
        /// Cores of the workers, in turn.
        workers: Vec<usize>,
    },
}

impl StreamThreads {
    /// In a sentence.
    pub fn sentence(&self) -> String {
        let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Each(cores) => format!("one for each stream, on cores {} in turn", list(cores)),
            Self::Workers { receiver, workers } => {
                format!("one for all on core {receiver}, workers on cores {} in turn", list(workers))
            }
        }
    }
}

/// What is sent and received at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPoint {
    /// Streams at once.
    pub streams: u16,
    /// Bytes of data of each packet, behind the header of the stream (16 bytes).
    pub data_bytes: u64,
    /// Of each stream; none: as fast as the sender can.
    pub rate: Option<Rate>,
    /// How long to send.
    pub time: Duration,
    /// Receive buffer of each stream to ask the kernel for, in bytes.
    pub buffer: u64,
    /// Memory of the queue to each worker, in bytes.
    pub queue: u64,
    /// Time that is spent on each packet, as an application would.
    pub work: Duration,
    /// Every 16-bit word is counted; else identifiers are checked only.
    pub counts_words: bool,
    /// Which threads receive.
    pub threads: StreamThreads,
}

/// What was measured at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredStreams {
    /// Each stream. What is received per second is what was also checked and counted.
    pub streams: Vec<MeasuredPoint>,
    /// What the cores of this host did while packets were sent.
    pub cores: BTreeMap<usize, CoreShares>,
    /// The same of the sender's core, wherever that is.
    pub sender_core: Option<CoreShares>,
}

impl MeasuredStreams {
    /// Locates what the streams' reports could not, as far as a counter of the host explains it: `most` packets of all streams together, which
    /// are used up in turn.
    pub(super) fn locate(&mut self, location: &str, mut most: u64) {
        for stream in &mut self.streams {
            let unlocated = stream.locations.get(UNLOCATED).copied().unwrap_or(0);
            let explained = unlocated.min(most);
            if explained == 0 {
                continue;
            }
            most -= explained;
            *stream.locations.entry(location.to_owned()).or_default() += explained;
            stream.locations.insert(UNLOCATED.to_owned(), unlocated - explained);
            stream.locations.retain(|_, packets| *packets > 0);
        }
    }

    /// Sum of a count over the streams.
    pub fn sum(&self, count: fn(&MeasuredPoint) -> u64) -> u64 {
        self.streams.iter().map(count).fold(0, u64::saturating_add)
    }

    /// Lost over sent, of all streams; none if nothing was sent.
    pub fn loss(&self) -> Option<f64> {
        let sent = self.sum(|stream| stream.sent);
        (sent > 0).then(|| self.sum(|stream| stream.lost) as f64 / sent as f64)
    }

    /// Where packets of all streams were lost.
    pub fn locations(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for (location, packets) in self.streams.iter().flat_map(|stream| &stream.locations) {
            *all.entry(location.clone()).or_default() += packets;
        }
        all
    }

    /// True if every packet of every stream came, and was dealt with as fast as it was sent.
    pub fn is_sustained(&self) -> bool {
        !self.streams.is_empty() && self.streams.iter().all(MeasuredPoint::is_sustained)
    }

    /// The share that was lost; where nothing was lost, that by which the slowest stream fell behind the sender, as all of that would be lost if
    /// it went on: it waits in a queue or a buffer. Streams that are [sustained](Self::is_sustained) have none. None if nothing was sent.
    pub fn shortfall(&self) -> Option<f64> {
        let lost = self.loss()?;
        if lost > 0.0 || self.is_sustained() {
            return Some(lost);
        }
        let of_one = self.of_one();
        Some((1.0 - of_one.received_per_second / of_one.sent_per_second.max(1e-9)).clamp(0.0, 1.0))
    }

    /// The streams as one point, for a search: counts of all, packets per second of one. The share that was received is that of the stream
    /// that kept up least, so that the point is sustained only if each of them is.
    pub fn of_one(&self) -> MeasuredPoint {
        let count = self.streams.len().max(1) as f64;
        let sent_per_second =
            self.streams.iter().map(|stream| stream.sent_per_second).fold(0.0, |sum, rate| sum + rate)
                / count;
        let share = |stream: &MeasuredPoint| match stream.sent_per_second > 0.0 {
            true => stream.received_per_second / stream.sent_per_second,
            false => 0.0,
        };
        let least = self.streams.iter().map(share).min_by(f64::total_cmp).unwrap_or(0.0);
        MeasuredPoint {
            sent: self.sum(|stream| stream.sent),
            received: self.sum(|stream| stream.received),
            lost: self.sum(|stream| stream.lost),
            reordered: self.sum(|stream| stream.reordered),
            duplicated: self.sum(|stream| stream.duplicated),
            sent_per_second,
            received_per_second: sent_per_second * least,
            error_ratio: self.loss(),
            locations: self.locations(),
            ..MeasuredPoint::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(sent: u64, lost: u64, sent_per_second: f64, received_per_second: f64) -> MeasuredPoint {
        let locations = BTreeMap::from([("own queue".to_owned(), lost)]);
        MeasuredPoint {
            sent,
            received: sent - lost,
            lost,
            sent_per_second,
            received_per_second,
            locations,
            ..MeasuredPoint::default()
        }
    }

    #[test]
    fn what_a_counter_of_the_host_explains_is_located_once() {
        let unlocated = |lost| {
            let locations = BTreeMap::from([(UNLOCATED.to_owned(), lost)]);
            MeasuredPoint { locations, ..stream(100, lost, 100.0, 100.0) }
        };
        let streams = vec![unlocated(10), stream(100, 5, 100.0, 100.0), unlocated(10)];
        let mut measured = MeasuredStreams { streams, ..MeasuredStreams::default() };
        measured.locate("kernel backlog", 13);
        let expected = [("kernel backlog", 13), ("own queue", 5), (UNLOCATED, 7)];
        assert_eq!(measured.locations(), expected.map(|(name, count)| (name.to_owned(), count)).into());
        let of_first = &measured.streams[0].locations;
        assert_eq!((of_first.len(), of_first["kernel backlog"]), (1, 10));
        measured.locate("kernel backlog", 0);
        assert_eq!(measured.locations()[UNLOCATED], 7);
    }

    #[test]
    fn streams_are_as_good_as_the_one_that_keeps_up_least() {
        let both = |second: MeasuredPoint| {
            let streams = vec![stream(100, 0, 100.0, 100.0), second];
            MeasuredStreams { streams, ..MeasuredStreams::default() }
        };
        let good = both(stream(100, 0, 100.0, 100.0));
        assert!(good.is_sustained() && good.of_one().is_sustained());
        assert_eq!((good.loss(), good.of_one().sent_per_second), (Some(0.0), 100.0));
        let slow = both(stream(100, 0, 100.0, 50.0));
        assert!(!slow.is_sustained() && !slow.of_one().is_sustained());
        assert_eq!(slow.of_one().received_per_second, 50.0);
        assert_eq!((good.shortfall(), slow.loss(), slow.shortfall()), (Some(0.0), Some(0.0), Some(0.5)));
        let lossy = both(stream(100, 50, 100.0, 100.0));
        assert!(!lossy.is_sustained() && !lossy.of_one().is_sustained());
        assert_eq!((lossy.loss(), lossy.locations()["own queue"]), (Some(0.25), 50));
        assert_eq!(lossy.shortfall(), Some(0.25));
        let nothing = MeasuredStreams::default();
        assert!(!nothing.is_sustained() && nothing.loss().is_none());
    }
}
