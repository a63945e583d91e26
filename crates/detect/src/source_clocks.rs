//! The sources of a detector and how far their time has come: a clock for each, and what they say together.
//!
//! ```text
//! begin_packet(source) ──► clock(source).judge(hit) … ──► follow() ──► the watermark: nothing comes before it
//! ```
//!
//! Before the watermark goes past a hit in quarantine, that hit is released: the source was silent for long, and time has
//! come there meanwhile. So nothing is late for having been in quarantine.
//!
//! The counters of all that are declared here, once for every detector that puts hits into order.

use crate::earliest::{Earliest, NEVER};
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
#[derive(Debug, get_size2::GetSize)]
pub struct SourceClocks<T> {
    clocks: Vec<SourceClock<T>>,
    joint: Watermark,
    /// The earliest hit in quarantine of each source.
    waiting: Earliest,
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
            waiting: Earliest::new(sources),
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
            let clock = &self.clocks[source];
            self.joint.note(source, clock);
            let waits_for = clock.waits_for();
            // Mostly nobody waits for anything.
            if waits_for != NEVER || self.waiting.earliest() != NEVER {
                self.waiting.set(source, waits_for);
            }
        }
        self.under_way.clear();
    }

    /// Follows the clocks at the end of a packet: nothing that any source sends from here on is earlier than what is
    /// returned. Hits in quarantine that are earlier go to `accepted`, as long as `has_room` says that there is room for
    /// those of a packet; then time waits for them.
    #[inline]
    pub fn follow<A: AcceptedHits<T>>(
        &mut self,
        accepted: &mut A,
        has_room: impl FnMut(&mut A) -> bool,
    ) -> DataTime {
        self.note_time();
        let mut target = self.joint.target();
        if self.waiting.earliest() < target {
            target = self.release_passed(target, accepted, has_room);
        }
        self.joint.raise(target)
    }

    /// Releases the hits in quarantine before `target`. Returns how far time can be closed then.
    #[cold]
    fn release_passed<A: AcceptedHits<T>>(
        &mut self,
        target: DataTime,
        accepted: &mut A,
        mut has_room: impl FnMut(&mut A) -> bool,
    ) -> DataTime {
        let (closed, ended) = (self.joint.watermark(), self.joint.ended());
        loop {
            let first = self.waiting.earliest();
            // What is earlier than the watermark is late, and needs no room.
            if first >= target || first >= closed && !has_room(accepted) {
                return first.min(target);
            }
            let source = self.waiting.place();
            let Some(clock) = self.clocks.get_mut(source) else { return target };
            clock.release_passed(closed, target, ended, accepted);
            debug_assert!(clock.waits_for() >= target);
            self.waiting.set(source, clock.waits_for());
            self.joint.note(source, clock);
        }
    }

    /// No readout so far of a source that has a front lies later than this for parameters that change with time
    /// ([`SourceClock::place_of_readout`]); none before the first.
    pub fn latest_place_of_readouts(&self) -> Option<DataTime> {
        self.clocks.iter().filter_map(SourceClock::latest_place_of_readouts).max()
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

    /// How far time has to be closed because there is no room left. `closed` is what is closed already,
    /// `latest_pending` the latest that waits. As long as something can be closed that no source reaches any more, that is
    /// enough; otherwise it goes further than the sources allow, which is counted. Hits in quarantine are then treated as by
    /// [`SourceClocks::follow`], unless time would have to stand still for them.
    #[cold]
    pub fn force<A: AcceptedHits<T>>(
        &mut self,
        closed: DataTime,
        latest_pending: Option<DataTime>,
        accepted: &mut A,
        mut has_room: impl FnMut(&mut A) -> bool,
    ) -> DataTime {
        if closed < self.joint.watermark() {
            return self.joint.watermark();
        }
        self.note_time();
        if self.joint.end_opening() {
            // Whoever is not expected is not waited for as long as it could be: no alarm.
            let target = self.joint.target();
            let reached = self.release_passed(target, accepted, &mut has_room);
            if reached > closed {
                return self.joint.raise(reached);
            }
        }
        self.forced += 1;
        let target = self.joint.forced_target(closed, latest_pending);
        let reached = self.release_passed(target, accepted, has_room);
        self.joint.raise(if reached > closed { reached } else { target })
    }

    /// How often [`SourceClocks::force`] went further than the sources allow.
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
            self.waiting.set(source, clock.waits_for());
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
mod tests;
