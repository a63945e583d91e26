//! The sources of a detector and how far their time has come: a clock for each, and what they say together.
//!
//! ```text
//! begin_packet(source) ──► clock(source).judge(hit) … ──► follow() ──► the watermark: nothing comes before it
//! ```
//!
//! The counters of all that are declared here, once for every detector that puts hits into order.

use crate::hit::Timed;
use crate::settings::SortingSettings;
use crate::source_clock::{AcceptedHits, ClockCounts, SourceClock};
use crate::watermark::{DataTime, Watermark};

evforge_core::counters! {
    /// What the clocks of the sources have found.
    pub struct SourceClockCounters: "source clocks" {
        late: Discarded(Hits), Hits, "Hits that came after their time had been closed.";
        unconfirmed_jump: Discarded(Hits), Hits, "Hits with a jump in time that the next packet did not confirm.";
        held_in_quarantine: Held(Hits), Hits, "Hits with a jump in time that wait for the next packet to confirm it.";
        forward_jumps: Information, Times, "Confirmed steps ahead of a source's clock by more than sorting.forward_jump.";
        clock_restarts: Information, Times, "Restarts of a source's clock.";
        forced_closings: Information, Times, "Times that waiting hits were closed early for want of room: an alarm.";
    }
}

/// When a source is in time, and when it is waited for. In ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRules {
    /// How much older than the newest hit of its own source a hit may be.
    pub window: u64,
    /// Steps ahead by more than this must be confirmed by the next packet.
    pub forward_jump: u64,
    /// Steps back by more than this restart the source's clock, if they are confirmed.
    pub restart: u64,
    /// How far a source may be behind the leading one before it no longer holds the others back.
    pub source_lag: u64,
    /// The largest number of hits and signs of time in a packet.
    pub packet_hits: usize,
}

impl ClockRules {
    /// Those of the settings. `ticks` converts their durations.
    pub fn new(sorting: &SortingSettings, ticks: impl Fn(u64) -> u64, packet_hits: usize) -> Self {
        Self {
            window: ticks(sorting.window),
            forward_jump: ticks(sorting.forward_jump),
            restart: ticks(sorting.restart),
            source_lag: ticks(sorting.source_lag),
            packet_hits,
        }
    }
}

/// The clocks of all sources. See the [module documentation](self).
#[derive(Debug)]
pub struct SourceClocks<T> {
    clocks: Vec<SourceClock<T>>,
    joint: Watermark,
    source_lag: u64,
    /// The number of the packet that each source has begun last, and that of the packet under way.
    begun: Vec<u64>,
    packet: u64,
    /// The sources that have begun the packet under way.
    under_way: Vec<usize>,
    forced: u64,
}

/// The clocks of the sources that a packet has hits of: each begins the packet when it is first asked for.
#[derive(Debug)]
pub struct ClocksOfPacket<'a, T>(&'a mut SourceClocks<T>);

impl<T: Timed> ClocksOfPacket<'_, T> {
    /// The clock of `source`.
    #[inline(always)]
    pub fn clock(&mut self, source: usize) -> Option<&mut SourceClock<T>> {
        let Self(all) = self;
        if *all.begun.get(source)? != all.packet {
            all.begin(source);
        }
        all.clocks.get_mut(source)
    }
}

impl<T: Timed> SourceClocks<T> {
    /// Clocks for `sources` sources, numbered from 0.
    pub fn new(sources: usize, rules: &ClockRules) -> Self {
        let &ClockRules { window, forward_jump, restart, source_lag, packet_hits } = rules;
        let clock = || SourceClock::new(window, forward_jump, restart, packet_hits);
        Self {
            clocks: (0..sources).map(|_| clock()).collect(),
            joint: Watermark::new(source_lag, sources, |_| true),
            source_lag,
            begun: vec![0; sources],
            packet: 0,
            under_way: Vec::with_capacity(sources),
            forced: 0,
        }
    }

    /// Sources that need not send at all: of those, only the ones that `is_expected` says are waited for from the
    /// beginning, the others from their first packet on. (All are, unless told otherwise.)
    #[must_use]
    pub fn expecting(mut self, is_expected: impl Fn(usize) -> bool) -> Self {
        self.joint = Watermark::new(self.source_lag, self.clocks.len(), is_expected);
        self
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound(sources: usize, packet_hits: usize) -> usize {
        let of_each = size_of::<SourceClock<T>>()
            + SourceClock::<T>::memory_bound(packet_hits)
            + size_of::<u64>()
            + size_of::<usize>();
        sources * of_each + Watermark::memory_bound(sources)
    }

    /// The clock of `source`, which begins a packet.
    #[inline]
    pub fn begin_packet(&mut self, source: usize) -> Option<&mut SourceClock<T>> {
        self.packet += 1;
        if source >= self.clocks.len() {
            return None;
        }
        self.begin(source);
        self.clocks.get_mut(source)
    }

    /// Begins a packet that carries hits of several sources.
    #[inline]
    pub fn begin_packet_of_several(&mut self) -> ClocksOfPacket<'_, T> {
        self.packet += 1;
        ClocksOfPacket(self)
    }

    /// The clock of `source` in the packet under way.
    #[inline(always)]
    pub fn clock(&mut self, source: usize) -> Option<&mut SourceClock<T>> {
        self.clocks.get_mut(source)
    }

    #[inline]
    fn begin(&mut self, source: usize) {
        if self.under_way.len() == self.clocks.len() {
            // Packets were begun and not followed.
            self.note_time();
        }
        self.begun[source] = self.packet;
        self.under_way.push(source);
        self.clocks[source].begin_packet(self.joint.watermark());
    }

    /// Takes note of the time of the sources under way.
    #[inline]
    fn note_time(&mut self) {
        for &source in &self.under_way {
            self.joint.note(source, &self.clocks[source]);
        }
        self.under_way.clear();
    }

    /// Follows the clocks at the end of a packet: nothing that any source sends from here on is earlier than what is
    /// returned.
    #[inline]
    pub fn follow(&mut self) -> DataTime {
        self.note_time();
        self.joint.follow()
    }

    /// The newest time of any source; none before the first.
    pub fn newest(&self) -> Option<DataTime> {
        self.joint.newest()
    }

    /// As far as [`SourceClocks::follow`] has come.
    #[inline]
    pub fn watermark(&self) -> DataTime {
        self.joint.watermark()
    }

    /// Goes further than the sources allow, because there is no room left; counted. `closed` is what is closed
    /// already, `latest_pending` the latest that waits.
    #[cold]
    pub fn force(&mut self, closed: DataTime, latest_pending: Option<DataTime>) -> DataTime {
        self.forced += 1;
        self.note_time();
        self.joint.force(closed, latest_pending)
    }

    /// How often [`SourceClocks::force`] was called.
    pub fn forced_closings(&self) -> u64 {
        self.forced
    }

    /// End of the input: releases the quarantines one by one, as long as `has_room` says that there is room for
    /// another. `closed` is what is closed already. Returns true if some are left.
    pub fn release<A: AcceptedHits<T>>(
        &mut self,
        accepted: &mut A,
        closed: DataTime,
        has_room: impl Fn(&A) -> bool,
    ) -> bool {
        // Closing may have gone further than the watermark.
        let closed = self.joint.watermark().max(closed);
        for (source, clock) in
            self.clocks.iter_mut().enumerate().filter(|(_, clock)| clock.is_quarantine_open())
        {
            if !has_room(accepted) {
                return true;
            }
            clock.begin_packet(closed);
            clock.close(accepted);
            self.joint.note(source, clock);
        }
        false
    }

    /// Hits in quarantine.
    pub fn held(&self) -> u64 {
        self.clocks.iter().map(SourceClock::held).sum()
    }

    /// What the clocks of all sources have counted together.
    pub fn clock_counts(&self) -> ClockCounts {
        self.clocks.iter().fold(ClockCounts::default(), |sum, clock| sum + clock.counts())
    }

    /// The counters at this moment.
    pub fn counters(&self) -> SourceClockCounters {
        let counts = self.clock_counts();
        SourceClockCounters {
            late: counts.late,
            unconfirmed_jump: counts.refuted,
            held_in_quarantine: self.held(),
            forward_jumps: counts.forward_jumps,
            clock_restarts: counts.restarts,
            forced_closings: self.forced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::Hit;
    use proptest::prelude::*;

    const RULES: ClockRules =
        ClockRules { window: 10, forward_jump: 100, restart: 1000, source_lag: 200, packet_hits: 8 };

    struct Nowhere;

    impl AcceptedHits for Nowhere {
        fn accept(&mut self, _: usize, _: u32, _: Hit) {}
    }

    /// The watermark as it is defined: over all clocks, whichever has changed.
    fn plain(line: &SourceClocks<Hit>, is_expected: &[bool], before: DataTime) -> DataTime {
        let counted = line.clocks.iter().zip(is_expected);
        let counted = counted.filter(|(clock, expected)| **expected || clock.front().is_some());
        let slowest = counted.map(|(clock, _)| clock.watermark().unwrap_or((0, 0))).min().unwrap_or((0, 0));
        let leader = line.clocks.iter().filter(|clock| clock.front().is_some());
        let patience = leader.max_by_key(|clock| clock.front()).and_then(|clock| {
            let (epoch, front) = clock.front()?;
            (front - clock.epoch_start().min(front) > RULES.source_lag)
                .then(|| (epoch, front - RULES.source_lag))
        });
        before.max(slowest).max(patience.unwrap_or((0, 0)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn the_watermark_is_that_of_all_clocks_whichever_has_changed(
            is_expected in prop::collection::vec(any::<bool>(), 1..20),
            packets in prop::collection::vec(
                (0..30_usize, 0..200_u32, prop::collection::vec((-40..60_i64, 0..25_u32), 0..6)),
                1..150,
            ),
        ) {
            let sources = is_expected.len();
            let mut line = SourceClocks::<Hit>::new(sources, &RULES).expecting(|source| is_expected[source]);
            let (mut now, mut expected) = (5000_i64, (0, 0));
            for (source, kind, offsets) in packets {
                now += 7;
                let hits = offsets.iter().map(|&(offset, wild)| {
                    let time = match wild {
                        0 => now + 50_000,
                        1 => now / 10,
                        2 => now + 150,
                        3 => 3000,
                        _ => now + offset,
                    };
                    Hit { time: time.max(0) as u64, strip: 0, adc: 0 }
                });
                if kind < 20 {
                    let mut several = line.begin_packet_of_several();
                    for (number, hit) in hits.enumerate() {
                        if let Some(clock) = several.clock(source + number) {
                            clock.judge(0, hit, &mut Nowhere);
                        }
                    }
                } else if let Some(clock) = line.begin_packet(source % (sources + 1)) {
                    hits.for_each(|hit| clock.judge(0, hit, &mut Nowhere));
                }
                // Sometimes time restarts for all, sometimes what would follow a packet is missing.
                now = if kind == 199 { 10 } else { now };
                if kind != 198 {
                    expected = plain(&line, &is_expected, expected);
                    prop_assert_eq!(line.follow(), expected);
                }
                if kind == 197 {
                    let leader = line.clocks.iter().filter_map(SourceClock::watermark).max().unwrap_or((0, 0));
                    let closed = (0, now as u64 / 2);
                    let past = (0, now as u64 + 5);
                    let target = if leader > closed { leader } else { (past.0, past.1 + 1) };
                    expected = expected.max(target);
                    prop_assert_eq!(line.force(closed, Some(past)), expected);
                }
            }
            line.follow();
            prop_assert_eq!(line.newest(), line.clocks.iter().filter_map(SourceClock::front).max());
        }
    }
}
