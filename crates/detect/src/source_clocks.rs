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

/// The clocks of all sources. See the [module documentation](self).
#[derive(Debug)]
pub struct SourceClocks<T> {
    clocks: Vec<SourceClock<T>>,
    /// The sources that are waited for from the beginning; others from their first packet on.
    expected: Vec<bool>,
    joint: Watermark,
    forced: u64,
}

impl<T: Timed> SourceClocks<T> {
    /// Clocks for `sources` sources, numbered from 0. `ticks` converts the durations of the settings;
    /// `packet_hits` is the largest number of hits and signs of time in a packet.
    pub fn new(
        sources: usize,
        sorting: &SortingSettings,
        ticks: impl Fn(u64) -> u64,
        packet_hits: usize,
    ) -> Self {
        let (window, forward_jump, restart) =
            (ticks(sorting.window), ticks(sorting.forward_jump), ticks(sorting.restart));
        Self {
            clocks: (0..sources)
                .map(|_| SourceClock::new(window, forward_jump, restart, packet_hits))
                .collect(),
            expected: vec![true; sources],
            joint: Watermark::new(ticks(sorting.source_lag)),
            forced: 0,
        }
    }

    /// Sources that need not send at all: of those, only the ones that `is_expected` says are waited for from the
    /// beginning, the others from their first packet on. (All are, unless told otherwise.)
    #[must_use]
    pub fn expecting(mut self, is_expected: impl Fn(usize) -> bool) -> Self {
        self.expected.iter_mut().enumerate().for_each(|(source, expected)| *expected = is_expected(source));
        self
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound(sources: usize, packet_hits: usize) -> usize {
        sources
            * (size_of::<SourceClock<T>>() + size_of::<bool>() + SourceClock::<T>::memory_bound(packet_hits))
    }

    /// The clock of `source`, which begins a packet.
    #[inline]
    pub fn begin_packet(&mut self, source: usize) -> Option<&mut SourceClock<T>> {
        let watermark = self.joint.watermark();
        let clock = self.clocks.get_mut(source)?;
        clock.begin_packet(watermark);
        Some(clock)
    }

    /// The clocks of all sources, which all begin a packet: for packets that carry hits of several.
    #[inline]
    pub fn begin_packet_of_all(&mut self) -> &mut [SourceClock<T>] {
        let watermark = self.joint.watermark();
        self.clocks.iter_mut().for_each(|clock| clock.begin_packet(watermark));
        &mut self.clocks
    }

    /// Follows the clocks: nothing that any source sends from here on is earlier than what is returned.
    #[inline]
    pub fn follow(&mut self) -> DataTime {
        let clocks = self.clocks.iter().zip(&self.expected);
        let counted = clocks.filter(|(clock, expected)| **expected || clock.front().is_some());
        self.joint.follow(counted.map(|(clock, _)| clock))
    }

    /// The newest time of any source; none before the first.
    pub fn newest(&self) -> Option<DataTime> {
        self.clocks.iter().filter_map(SourceClock::front).max()
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
        self.joint.force(self.clocks.iter(), closed, latest_pending)
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
        for clock in self.clocks.iter_mut().filter(|clock| clock.is_quarantine_open()) {
            if !has_room(accepted) {
                return true;
            }
            clock.begin_packet(closed);
            clock.close(accepted);
        }
        false
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
            held_in_quarantine: self.clocks.iter().map(SourceClock::held).sum(),
            forward_jumps: counts.forward_jumps,
            clock_restarts: counts.restarts,
            forced_closings: self.forced,
        }
    }
}
