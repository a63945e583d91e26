//! Messages of events that wait until their pulses have their turn: several sources, or partitions, fill one group, and one of them is
//! slower.
//!
//! A *lane* is what a stream has in a partition: its messages come in the order in which they were sent. Pulses of all lanes of a group
//! are written in the order of their time. A pulse waits until every lane has come as far, but no longer than [`HOLD`], and no longer
//! than there is [room](MOST_BYTES). What comes later than that is late: the module writes it into its group of late events.
//!
//! A pulse from the future, by the clock of this host, waits until the others have come as far, or have ended: once it is written, all
//! others are late.
//!
//! What waits is not in the file, and belongs to no commit: after a restart it is read once more.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::partitions::Partitions;

/// How long a message waits for slower lanes at most.
pub(super) const HOLD: Duration = Duration::from_secs(5);
/// Pulses that are more than this after the present are from a wrong clock.
const AHEAD_NS: i64 = 10_000_000_000;
/// Bytes of messages that wait, of all groups of a job together.
pub(super) const MOST_BYTES: usize = 32 << 20;
/// Bytes at most of what a commit says of the messages that wait.
pub(super) const MOST_SAID: usize = 32 << 10;
/// What is said of a lane besides its messages.
const SAID_OF_LANE: usize = 64;

/// A message that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) offset: i64,
    pub(super) bytes: Vec<u8>,
    /// The starts of its pulses, nanoseconds since 1970; none of a message that belongs to the next one of its lane.
    pub(super) pulses: Vec<i64>,
    /// How many of them are written.
    pub(super) written: usize,
}

/// The messages of a stream in a partition.
#[derive(Debug)]
struct Lane {
    stream: usize,
    partition: usize,
    waiting: VecDeque<(Waiting, Instant)>,
    /// The newest pulse that has come.
    newest_ns: i64,
    /// When something came last.
    last: Instant,
}

/// Messages of a lane that wait at a commit: stream, partition, pulses of the first one that are written, and the number of each message
/// less that of the one before.
pub(super) type KeptLane = (usize, usize, usize, Vec<i64>);

/// What has its turn: some pulses of a message of a stream, and whether they are the last ones of it.
pub(super) type Write<'a> = dyn FnMut(usize, &[u8], Range<usize>, bool) + 'a;

/// The messages of one group.
#[derive(Debug)]
pub(super) struct PulseOrder {
    /// The topic of its streams, and how many they are.
    topic: usize,
    streams: usize,
    /// By stream and partition.
    lanes: Vec<Lane>,
    /// When the first message came.
    begun: Option<Instant>,
    bytes: usize,
    said: usize,
}

impl PulseOrder {
    pub(super) fn new(topic: usize, streams: usize) -> Self {
        Self { topic, streams, lanes: Vec::new(), begun: None, bytes: 0, said: 0 }
    }

    /// True if a message is written as it comes: there is nothing that it could wait for.
    pub(super) fn is_alone(&self, partitions: &Partitions) -> bool {
        self.bytes == 0 && self.streams == 1 && self.lanes.len() <= 1 && partitions.is_only_one(self.topic)
    }

    /// Messages that wait.
    pub(super) fn messages(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting.len()).sum()
    }

    /// Bytes of messages that wait, and bytes of what is said of them.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.bytes, self.said)
    }

    /// Has a message wait.
    pub(super) fn take(&mut self, stream: usize, partition: usize, message: Waiting, now: Instant) {
        self.begun.get_or_insert(now);
        let key = (stream, partition);
        let place = self.lanes.partition_point(|lane| (lane.stream, lane.partition) < key);
        if self.lanes.get(place).is_none_or(|lane| (lane.stream, lane.partition) != key) {
            let waiting = VecDeque::new();
            self.lanes.insert(place, Lane { stream, partition, waiting, newest_ns: i64::MIN, last: now });
        }
        let Some(lane) = self.lanes.get_mut(place) else { return };
        lane.last = now;
        lane.newest_ns = message.pulses.iter().copied().fold(lane.newest_ns, i64::max);
        self.bytes += message.bytes.len();
        self.said += said(lane.waiting.back().map(|(before, _)| before), &message);
        lane.waiting.push_back((message, now));
    }

    /// Writes what has its turn now, which is so many nanoseconds after 1970. With `holds_all` nothing has before its time is over.
    pub(super) fn release(
        &mut self,
        (now, present_ns): (Instant, i64),
        partitions: &Partitions,
        holds_all: bool,
        write: &mut Write<'_>,
    ) {
        if self.bytes == 0 {
            return;
        }
        let has_begun = now.duration_since(self.begun.unwrap_or(now)) >= HOLD;
        let waits_for_more = self.waits_for_more(partitions, has_begun);
        // How far all lanes have come, those that say something, and those of which there is more to be read.
        let (mut all, mut active, mut unread) = (i64::MAX, i64::MAX, i64::MAX);
        for lane in self.lanes.iter().filter(|lane| !partitions.is_over(lane.partition)) {
            all = all.min(lane.newest_ns);
            if now.duration_since(lane.last) < HOLD {
                active = active.min(lane.newest_ns);
            }
            if partitions.is_unread(lane.partition) {
                unread = unread.min(lane.newest_ns);
            }
        }
        if waits_for_more || holds_all {
            all = i64::MIN;
        }
        let mut in_time = active.max(present_ns.saturating_add(AHEAD_NS)).min(unread);
        if waits_for_more || (holds_all && !has_begun) {
            in_time = i64::MIN;
        }
        self.write_while(write, |ns, since| {
            ns <= all || (now.duration_since(since) >= HOLD && ns <= in_time)
        });
    }

    /// True if a lane that has said nothing so far may still come: any at the beginning, then those of partitions with messages that have
    /// not been read.
    fn waits_for_more(&self, partitions: &Partitions, has_begun: bool) -> bool {
        let lanes = |partition: usize| self.lanes.iter().filter(|lane| lane.partition == partition).count();
        partitions.of_topic(self.topic).filter(|partition| !partitions.is_over(*partition)).any(|partition| {
            match has_begun {
                true => lanes(partition) == 0 && partitions.is_unread(partition),
                false => lanes(partition) < self.streams,
            }
        })
    }

    /// Writes everything.
    pub(super) fn release_all(&mut self, write: &mut Write<'_>) {
        self.write_while(write, |_, _| true);
    }

    /// Writes the earliest message, so that there is room.
    pub(super) fn release_first(&mut self, write: &mut Write<'_>) {
        let before = self.bytes;
        while self.bytes == before && self.write_next(write, &|_, _| true) {}
    }

    fn write_while(&mut self, write: &mut Write<'_>, has_turn: impl Fn(i64, Instant) -> bool) {
        while self.write_next(write, &has_turn) {}
    }

    /// Writes the next pulses of the lane with the earliest one, up to that of another lane. False if they do not have their turn.
    fn write_next(&mut self, write: &mut Write<'_>, has_turn: &impl Fn(i64, Instant) -> bool) -> bool {
        // The earliest pulse, and the next one of another lane. Of equal ones that of the lane before.
        let (mut first, mut second) = ((i64::MAX, usize::MAX), (i64::MAX, usize::MAX));
        for (place, lane) in self.lanes.iter().enumerate() {
            let Some((head, _)) = lane.waiting.front() else { continue };
            let next = (head.pulses.get(head.written).copied().unwrap_or(i64::MIN), place);
            if next < first {
                (first, second) = (next, first);
            } else {
                second = second.min(next);
            }
        }
        let place = first.1;
        let Some(lane) = self.lanes.get_mut(place) else { return false };
        let Some((head, since)) = lane.waiting.front_mut() else { return false };
        let from = head.written;
        while let Some(&ns) = head.pulses.get(head.written)
            && (ns, place) <= second
            && has_turn(ns, *since)
        {
            head.written += 1;
        }
        let is_last = head.written == head.pulses.len();
        if head.written == from && !is_last {
            return false;
        }
        write(lane.stream, &head.bytes, from..head.written, is_last);
        if is_last && let Some((done, _)) = lane.waiting.pop_front() {
            self.bytes -= done.bytes.len();
            self.said -= said(None, &done);
            if let Some((next, _)) = lane.waiting.front() {
                self.said = self.said + said(None, next) - said(Some(&done), next);
            }
        }
        true
    }

    /// True if something of a partition waits.
    pub(super) fn holds(&self, partition: usize) -> bool {
        self.lanes.iter().any(|lane| lane.partition == partition && !lane.waiting.is_empty())
    }

    /// Partitions that are waited for, and have messages that have not been read.
    pub(super) fn awaited<'a>(&'a self, partitions: &'a Partitions) -> impl Iterator<Item = usize> + 'a {
        let earliest = self.lanes.iter().map(|lane| lane.newest_ns).min();
        let is_ahead = move |place: usize| {
            self.lanes.iter().any(|lane| lane.partition == place && Some(lane.newest_ns) > earliest)
        };
        let places = partitions.of_topic(self.topic).filter(|_| self.bytes > 0);
        places.filter(move |place| partitions.is_unread(*place) && !is_ahead(*place))
    }

    /// What is kept of the lanes with messages that wait.
    pub(super) fn keep(&self) -> impl Iterator<Item = KeptLane> + '_ {
        self.lanes.iter().filter(|lane| !lane.waiting.is_empty()).map(|lane| {
            let written = lane.waiting.front().map_or(0, |(head, _)| head.written);
            let mut before = 0;
            let steps = lane.waiting.iter().map(|(message, _)| {
                let step = message.offset - before;
                before = message.offset;
                step
            });
            (lane.stream, lane.partition, written, steps.collect())
        })
    }
}

/// Bytes at most that a commit takes for a message.
fn said(before: Option<&Waiting>, message: &Waiting) -> usize {
    match before {
        None => SAID_OF_LANE,
        Some(before) => 2 + (message.offset - before.offset).max(1).ilog10() as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::super::partitions::KeptPartition;
    use super::super::routes::Routes;
    use super::*;
    use proptest::prelude::*;

    const MS: i64 = 1_000_000;

    fn partitions(count: i32) -> Partitions {
        let mut routes = Routes::default();
        routes.add("t", "a", &[], 0);
        let first = |number| KeptPartition { topic: "t".into(), number, next: 0, id: None };
        Partitions::of(&(0..count).map(first).collect::<Vec<_>>(), &routes)
    }

    fn message(offset: i64, pulses: &[i64]) -> Waiting {
        Waiting { offset, bytes: vec![0; 10], pulses: pulses.to_vec(), written: 0 }
    }

    /// What was written: stream, pulse, and whether it was the last one of its message.
    type Written = Vec<(usize, i64, bool)>;

    /// A message of a lane that is sent: when it arrives, in milliseconds, and its pulses, in the order of the lane.
    #[derive(Clone, Debug)]
    struct Sent {
        at_ms: i64,
        stream: usize,
        partition: usize,
        pulses: Vec<i64>,
    }

    /// An order under test, which is let go and made again with what was kept.
    struct Bench {
        order: PulseOrder,
        partitions: Partitions,
        begun: Instant,
        streams: usize,
        written: Written,
        /// All messages, by partition and number.
        log: Vec<((usize, i64), Sent)>,
    }

    impl Bench {
        fn new(streams: usize, count: i32) -> Self {
            let (order, partitions) = (PulseOrder::new(0, streams), partitions(count));
            Self { order, partitions, begun: Instant::now(), streams, written: Vec::new(), log: Vec::new() }
        }

        fn take(&mut self, sent: &Sent) {
            let offset = self.log.len() as i64;
            self.log.push(((sent.partition, offset), sent.clone()));
            let now = self.begun + Duration::from_millis(sent.at_ms.unsigned_abs());
            self.order.take(sent.stream, sent.partition, self.encode(offset, 0), now);
            let now = (now, sent.at_ms * MS);
            self.release(|order, partitions, write| order.release(now, partitions, false, write));
        }

        /// A message whose bytes say which one it is.
        fn encode(&self, offset: i64, written: usize) -> Waiting {
            let (_, sent) = &self.log[offset as usize];
            let bytes = offset.to_le_bytes().to_vec();
            Waiting { offset, bytes, pulses: sent.pulses.clone(), written }
        }

        fn release(&mut self, how: impl FnOnce(&mut PulseOrder, &Partitions, &mut Write<'_>)) {
            let Self { order, partitions, written, log, .. } = self;
            how(order, partitions, &mut |stream, bytes, pulses, is_last| {
                let offset = i64::from_le_bytes(bytes.try_into().unwrap()) as usize;
                let all = &log[offset].1.pulses;
                let end = pulses.end;
                for pulse in pulses {
                    written.push((stream, all[pulse], is_last && pulse + 1 == end));
                }
            });
        }

        /// A restart: what is kept is read once more.
        fn restart(&mut self) {
            let kept: Vec<KeptLane> = self.order.keep().collect();
            let said = serde_json::to_string(&kept).unwrap();
            assert!(said.len() <= self.order.size().1 + 2, "{said} has more than {:?}", self.order.size());
            self.order = PulseOrder::new(0, self.streams);
            for (stream, partition, mut written, steps) in
                serde_json::from_str::<Vec<KeptLane>>(&said).unwrap()
            {
                let mut offset = 0;
                for step in steps {
                    offset += step;
                    let message = self.encode(offset, std::mem::take(&mut written));
                    self.order.take(stream, partition, message, self.begun);
                }
            }
        }

        fn end(mut self) -> Written {
            self.release(|order, _, write| order.release_all(write));
            assert_eq!(self.order.size(), (0, 0));
            self.written
        }
    }

    /// Lanes whose pulses rise, each behind by a time of its own, in the order of arrival.
    fn sent(delays_ms: std::ops::Range<i64>) -> impl Strategy<Value = (usize, i32, Vec<Sent>)> {
        let messages = prop::collection::vec(prop::collection::vec(1..200_i64, 0..4), 1..12);
        (1..3_usize, 1..4_i32)
            .prop_flat_map(move |(streams, partitions)| {
                let lane = (delays_ms.clone(), messages.clone());
                let lanes = prop::collection::vec(lane, streams * partitions as usize);
                (Just(streams), Just(partitions), lanes)
            })
            .prop_map(|(streams, partitions, lanes)| {
                let mut all = Vec::new();
                for (lane, (delay, messages)) in lanes.into_iter().enumerate() {
                    let (stream, partition) = (lane % streams, lane / streams);
                    let mut ms = 0;
                    for steps in messages {
                        let pulse = |step| {
                            ms += step;
                            ms * MS
                        };
                        let pulses = steps.into_iter().map(pulse).collect();
                        all.push(Sent { at_ms: ms + delay, stream, partition, pulses });
                    }
                }
                // Stable: those of a lane stay in their order.
                all.sort_by_key(|sent| sent.at_ms);
                (streams, partitions, all)
            })
    }

    fn pulses_of(sent: &[Sent]) -> Vec<(usize, i64)> {
        let pulses = sent.iter().flat_map(|sent| sent.pulses.iter().map(|pulse| (sent.stream, *pulse)));
        let mut pulses: Vec<_> = pulses.collect();
        pulses.sort_unstable();
        pulses
    }

    proptest! {
        /// Lanes that are not slower than they may be: the first message of each comes within the first five seconds.
        #[test]
        fn pulses_are_in_order_whatever_comes_first((streams, partitions, sent) in sent(0..4_300)) {
            let mut bench = Bench::new(streams, partitions);
            sent.iter().for_each(|sent| bench.take(sent));
            let written = bench.end();
            prop_assert!(written.is_sorted_by_key(|(_, pulse, _)| *pulse), "{written:?}");
        }

        /// However slow they are, and with restarts: nothing is missing, nothing is there twice, a lane keeps its order.
        #[test]
        fn every_pulse_is_written_once(
            (streams, partitions, sent) in sent(0..20_000),
            restarts in prop::collection::vec(any::<bool>(), 1..20),
        ) {
            let mut bench = Bench::new(streams, partitions);
            for (sent, restarts) in sent.iter().zip(restarts.iter().cycle()) {
                bench.take(sent);
                if *restarts {
                    bench.restart();
                }
            }
            let written = bench.end();
            let last = written.iter().filter(|(.., is_last)| *is_last).count();
            prop_assert_eq!(last, sent.iter().filter(|sent| !sent.pulses.is_empty()).count());
            let mut found: Vec<_> = written.iter().map(|(stream, pulse, _)| (*stream, *pulse)).collect();
            found.sort_unstable();
            prop_assert_eq!(found, pulses_of(&sent));
        }
    }

    #[test]
    fn a_silent_lane_is_waited_for_no_longer_than_the_others_may_wait() {
        let mut bench = Bench::new(2, 1);
        let sent =
            |at_ms: i64, stream, pulse: i64| Sent { at_ms, stream, partition: 0, pulses: vec![pulse * MS] };
        bench.take(&sent(0, 0, 10));
        assert_eq!(bench.written, [], "the other stream may have an earlier pulse");
        bench.take(&sent(100, 1, 5));
        assert_eq!(bench.written, [(1, 5 * MS, true)]);
        bench.take(&sent(4_000, 0, 20));
        bench.take(&sent(4_900, 0, 30));
        assert_eq!(bench.written.len(), 1);
        // The first one has waited for so long, and so has the second stream been silent.
        bench.take(&sent(5_200, 0, 40));
        assert_eq!(bench.written[1..], [(0, 10 * MS, true)]);
        // A stream whose clock is far ahead does not take the others with it.
        bench.take(&sent(5_300, 1, 1_000_000));
        bench.take(&sent(11_000, 0, 50));
        assert_eq!(
            bench.written[2..],
            [(0, 20 * MS, true), (0, 30 * MS, true), (0, 40 * MS, true), (0, 50 * MS, true)]
        );
    }

    #[test]
    fn a_stream_whose_clock_is_behind_holds_nobody_up_for_longer() {
        let mut bench = Bench::new(2, 1);
        let sent =
            |at_ms: i64, stream, pulse: i64| Sent { at_ms, stream, partition: 0, pulses: vec![pulse * MS] };
        for number in 0..30 {
            bench.take(&sent(number * 1000, 0, number * 1000));
            bench.take(&sent(number * 1000 + 1, 1, -1_000_000 + number));
        }
        let written = bench.written.iter().filter(|(stream, ..)| *stream == 0).count();
        // The last ones wait for five seconds.
        assert_eq!(written, 25, "{:?}", bench.written);
    }

    #[test]
    fn one_lane_alone_waits_for_nothing_and_a_full_order_lets_its_earliest_go() {
        let order = PulseOrder::new(0, 1);
        assert!(order.is_alone(&partitions(1)) && !order.is_alone(&partitions(2)));
        assert!(!PulseOrder::new(0, 2).is_alone(&partitions(1)));
        let mut order = PulseOrder::new(0, 2);
        order.take(0, 0, message(0, &[30 * MS, 50 * MS]), Instant::now());
        order.take(1, 0, message(1, &[40 * MS]), Instant::now());
        let mut written = Vec::new();
        order.release_first(&mut |stream, _, pulses, is_last| written.push((stream, pulses, is_last)));
        assert_eq!(written, [(0, 0..1, false), (1, 0..1, true)]);
        assert_eq!((order.messages(), order.size().0), (1, 10));
    }
}
