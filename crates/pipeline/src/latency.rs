//! How long it takes from a packet's arrival to its events, and from there to each sink.
//!
//! Events do not carry the stamps of the packets that they came from. It is found out afterwards, for some events of each
//! batch: an event that was put into the batch while a slab was taken came from that slab or an earlier one. From which
//! one, its time tells: the first slab after which the detector had seen that time. So what a detector keeps back to put
//! hits in order is part of the latency. Where sources are behind one another, the first one to reach the time counts:
//! latencies are rather too long than too short.
//!
//! Arrival is the stamp of the first packet of the slab. By default this program takes it when the kernel hands over the
//! packet; with the kernel's own stamps the time in the socket's buffer is part of the latency, too.

use evforge_core::event::EventBatch;
use evforge_core::packet::{ArrivalClock, PacketSlab};
use evforge_net::clock::wall_clock_ns;
use evforge_net::lateness::Lateness;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;

/// Events of a batch that are looked at.
const SAMPLES: usize = 16;
/// Slabs that are remembered: more than come in while a detector keeps events back.
const SLABS: usize = 8192;

/// How the delays of many events were spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencySummary {
    /// Events that were looked at.
    pub events: u64,
    /// Half of them had at most this.
    pub half: Duration,
    /// 99 %.
    pub p99: Duration,
    /// 99.9 %.
    pub p999: Duration,
    /// The longest.
    pub largest: Duration,
}

impl LatencySummary {
    /// None if there was no event.
    pub(crate) fn of(delays: &Lateness) -> Option<Self> {
        (delays.count() > 0).then(|| Self {
            events: delays.count(),
            half: delays.below(0.5),
            p99: delays.below(0.99),
            p999: delays.below(0.999),
            largest: delays.largest(),
        })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({
            "events": self.events,
            "p50_s": self.half.as_secs_f64(),
            "p99_s": self.p99.as_secs_f64(),
            "p99.9_s": self.p999.as_secs_f64(),
            "largest_s": self.largest.as_secs_f64(),
        })
    }
}

impl std::fmt::Display for LatencySummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "half within {:.2?}, 99 % within {:.2?}, 99.9 % within {:.2?}, all within {:.2?}",
            self.half, self.p99, self.p999, self.largest
        )
    }
}

/// What the detector had seen after a slab.
#[derive(Clone, Copy, Debug)]
struct Seen {
    newest_ns: u64,
    arrival_ns: u64,
}

/// Measures from arrival to event. Measuring does not allocate.
#[derive(Debug)]
pub(crate) struct LatencyMeter {
    /// The latest slabs, in the order in which they came; times do not go back in it.
    seen: VecDeque<Seen>,
    /// Of the batch that is being filled: where the events of each slab end, and when it arrived.
    filled: Vec<(usize, u64)>,
    /// Arrival of the slab that is being taken, or the last one.
    arrival_ns: Option<u64>,
    delays: Lateness,
}

impl Default for LatencyMeter {
    fn default() -> Self {
        Self {
            seen: VecDeque::with_capacity(SLABS),
            filled: Vec::with_capacity(SLABS),
            arrival_ns: None,
            delays: Lateness::default(),
        }
    }
}

impl LatencyMeter {
    /// A slab is about to be taken.
    pub(crate) fn begin(&mut self, slab: &PacketSlab) {
        let first = slab.batch().get(0).map(|packet| packet.origin);
        let stamp = first.filter(|origin| origin.arrival_clock != ArrivalClock::None);
        self.arrival_ns = stamp.map(|origin| origin.arrival_ns).or(self.arrival_ns);
    }

    /// A slab has been taken: this many events are in the batch now, and this is the newest time the detector has seen.
    pub(crate) fn end(&mut self, events: usize, newest_ns: Option<u64>) {
        let Some(arrival_ns) = self.arrival_ns else { return };
        if self.filled.last().is_none_or(|(end, _)| *end < events) && self.filled.len() < SLABS {
            self.filled.push((events, arrival_ns));
        }
        let Some(newest_ns) = newest_ns else { return };
        match self.seen.back() {
            Some(last) if newest_ns == last.newest_ns => return,
            // The clocks of the detector have restarted: what came before cannot be told from what comes now.
            Some(last) if newest_ns < last.newest_ns => self.seen.clear(),
            _ => {}
        }
        if self.seen.len() == SLABS {
            self.seen.pop_front();
        }
        self.seen.push_back(Seen { newest_ns, arrival_ns });
    }

    /// The batch is about to be handed to the sinks. Gives the earliest arrival of its events, as far as it was looked at.
    pub(crate) fn deliver(&mut self, events: &EventBatch) -> Option<u64> {
        let step = events.len().div_ceil(SAMPLES).max(1);
        let now = wall_clock_ns();
        let mut earliest: Option<u64> = None;
        for (index, &time_ns) in events.times_ns().iter().enumerate().step_by(step) {
            let Some(arrival_ns) = self.arrival_of(index, time_ns) else { continue };
            self.delays.add(now.saturating_sub(arrival_ns));
            earliest = Some(earliest.map_or(arrival_ns, |earliest| earliest.min(arrival_ns)));
        }
        self.filled.clear();
        earliest
    }

    /// When the readouts of an event came in: it is the one at `index` of the batch.
    fn arrival_of(&self, index: usize, time_ns: u64) -> Option<u64> {
        let slab = self.filled.partition_point(|(end, _)| *end <= index);
        let formed = self.filled.get(slab).map(|(_, arrival)| *arrival).or(self.arrival_ns)?;
        let first = self.seen.partition_point(|seen| seen.newest_ns < time_ns);
        // Not later than the slab that it was formed from: a time that no slab has reached yet is of this very one.
        Some(self.seen.get(first).map_or(formed, |seen| seen.arrival_ns.min(formed)))
    }

    /// How the delays were spread; none if no event was measured.
    pub(crate) fn summary(&self) -> Option<LatencySummary> {
        LatencySummary::of(&self.delays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::event::Event;
    use evforge_core::packet::PacketOrigin;

    const SECOND: u64 = 1_000_000_000;

    /// A slab that arrived this many seconds ago.
    fn slab(seconds_ago: u64) -> PacketSlab {
        let mut slab = PacketSlab::new(1, 1);
        let origin = PacketOrigin {
            arrival_ns: wall_clock_ns() - seconds_ago * SECOND,
            arrival_clock: ArrivalClock::Process,
            ..PacketOrigin::default()
        };
        assert!(slab.push(&[0], 1, origin));
        slab
    }

    fn batch(times: &[u64]) -> EventBatch {
        let mut batch = EventBatch::new(100);
        assert!(times.iter().all(|&time_ns| batch.push(Event { time_ns, pixel_id: 1 })));
        batch
    }

    /// Seconds of the delays that have been measured, at least this many.
    fn delays(meter: &LatencyMeter) -> (u64, u64, u64) {
        let summary = meter.summary().unwrap();
        (summary.events, summary.half.as_secs(), summary.largest.as_secs())
    }

    #[test]
    fn events_as_they_come_have_the_arrival_of_their_slab() {
        let mut meter = LatencyMeter::default();
        meter.begin(&slab(3600));
        meter.end(2, None);
        meter.begin(&slab(60));
        meter.end(2, None);
        meter.begin(&slab(7));
        // The third event is formed while the last slab is being taken.
        let earliest = meter.deliver(&batch(&[5, 9, 4])).unwrap();
        assert!(wall_clock_ns() - earliest >= 3600 * SECOND);
        let (events, _, largest) = delays(&meter);
        assert_eq!((events, largest), (3, 3600));
        assert_eq!(meter.delays.below(0.33).as_secs(), 7);
    }

    #[test]
    fn events_kept_back_have_the_arrival_of_their_time() {
        let mut meter = LatencyMeter::default();
        for (ago, newest) in [(1000, 100), (100, 200), (10, 300)] {
            meter.begin(&slab(ago));
            meter.end(0, Some(newest));
        }
        // Published after the third slab: 150 had come in with the second one.
        meter.deliver(&batch(&[150, 150, 150, 90, 300]));
        assert_eq!(delays(&meter), (5, 100, 1000));
        assert_eq!(meter.delays.below(0.1).as_secs(), 10);
    }

    #[test]
    fn a_clock_that_begins_anew_forgets_the_past() {
        let mut meter = LatencyMeter::default();
        meter.begin(&slab(1000));
        meter.end(0, Some(500));
        meter.begin(&slab(10));
        meter.end(0, Some(100));
        meter.deliver(&batch(&[50]));
        assert_eq!(delays(&meter), (1, 10, 10));
    }

    #[test]
    fn without_stamps_nothing_is_measured() {
        let mut meter = LatencyMeter::default();
        meter.begin(&PacketSlab::new(1, 1));
        meter.end(1, Some(5));
        assert_eq!(meter.deliver(&batch(&[5])), None);
        assert_eq!(meter.summary(), None);
    }
}
