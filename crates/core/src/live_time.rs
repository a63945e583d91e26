//! Loss carried into the physics: which share of a source's packets arrived, second by second.
//!
//! Events that were lost with their packets are missing in every spectrum. If packets are lost without regard to what is in
//! them, the counts of a source in a second are too low by its **live fraction** in it,
//!
//! ```text
//! live = received / (received + lost)        true counts = counts / live
//! ```
//!
//! [`LiveTime`] keeps received and lost packets of one source in bins of the arrival clock. Bins are a second wide; when their
//! number is used up, neighbours are joined and all become twice as wide, so that a run of any length is covered by memory
//! that does not grow.
//!
//! * Packets that are missing between two that arrived are shared out evenly over the time between.
//! * A packet that turns up late is taken off the losses in the bin in which it arrives. So a bin's `lost` can be below 0 by
//!   the few packets that crossed its border; sums over bins are exact.
//! * A packet whose number is not confirmed ([`sequence`](crate::sequence)) has arrived, and says nothing of what is lost: a large
//!   gap is shared out when the next number confirms it, over the time in which it came about.
//! * What was lost before a source's first packet and after its last one cannot be seen.
//! * An event that needs hits of several sources is lost if any of them is: its live fraction is their product.

/// Bins of a source: 34 minutes of seconds, 68 minutes of two seconds, …
pub const BINS: usize = 2048;

/// Width of the bins at first, in nanoseconds.
const FIRST_WIDTH_NS: u64 = 1_000_000_000;

/// Packets of one source in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct LiveBin {
    /// Packets that arrived, each counted once.
    pub received: u32,
    /// Packets that are missing; below 0 where packets of earlier bins turned up.
    pub lost: i32,
}

impl LiveBin {
    /// The share of the packets that arrived, 0 to 1; none if there were none.
    pub fn live_fraction(&self) -> Option<f64> {
        let sent = i64::from(self.received) + i64::from(self.lost.max(0));
        (sent > 0).then(|| f64::from(self.received) / sent as f64)
    }

    fn join(&mut self, other: Self) {
        self.received = self.received.saturating_add(other.received);
        self.lost = self.lost.saturating_add(other.lost);
    }
}

/// Received and lost packets of one source over time. See the [module documentation](self).
// What every packet needs comes first: of hundreds of sources, little more than that stays in the caches.
#[derive(Clone, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
#[repr(C)]
pub struct LiveTime {
    /// When the last packet arrived.
    last_arrival: u64,
    /// The times for which the bin of the last packet is the right one.
    begins: u64,
    ends: u64,
    /// New packets that have not been added to that bin yet.
    fresh: u32,
    /// How often the width was doubled.
    doublings: u32,
    /// Number of the first bin since the epoch of the clock, in widths.
    first: u64,
    /// The bin of the last packet.
    current: usize,
    /// At most [`BINS`], for which there is room from the beginning.
    bins: Vec<LiveBin>,
}

impl LiveTime {
    /// A source that has sent nothing yet, with memory for all that it will send. (The default has none.)
    pub fn new() -> Self {
        Self { bins: Vec::with_capacity(BINS), ..Self::default() }
    }

    /// Takes a packet that arrived at `arrival_ns`: whether it is a new one, and by how much it has changed the number of
    /// packets lost.
    #[inline]
    pub fn observe(&mut self, arrival_ns: u64, is_new: bool, lost: i64) {
        if !(self.begins..self.ends).contains(&arrival_ns) {
            self.go_to(arrival_ns);
        }
        if lost != 0 {
            self.lose_between(lost, self.last_arrival, arrival_ns);
        }
        self.fresh = self.fresh.saturating_add(u32::from(is_new));
        self.last_arrival = arrival_ns;
    }

    /// What the next packet says is lost was lost since this time, and not since the last arrival: the packets between say nothing
    /// of what is missing before them.
    pub fn count_losses_from(&mut self, time_ns: u64) {
        self.last_arrival = time_ns;
    }

    /// The bins so far, the earliest first.
    pub fn bins(&self) -> Vec<LiveBin> {
        let mut settled = self.clone();
        settled.settle();
        settled.bins
    }

    /// Adds the packets of the current bin to it.
    fn settle(&mut self) {
        // The bin of the last packet is always one of them.
        if let Some(bin) = self.bins.get_mut(self.current) {
            bin.received = bin.received.saturating_add(std::mem::take(&mut self.fresh));
        }
    }

    /// The share of all packets that arrived; none if there were none.
    pub fn live_fraction(&self) -> Option<f64> {
        let received =
            self.bins.iter().map(|bin| u64::from(bin.received)).sum::<u64>() + u64::from(self.fresh);
        let lost: i64 = self.bins.iter().map(|bin| i64::from(bin.lost)).sum();
        let sent = received.saturating_add_signed(lost.max(0));
        (sent > 0).then(|| received as f64 / sent as f64)
    }

    /// The bin with the smallest live fraction: when it begins, in nanoseconds, and its live fraction. The first, if several
    /// have the same.
    pub fn worst(&self) -> Option<(u64, f64)> {
        let begins = |index: usize| self.begin_ns() + index as u64 * self.width_ns();
        let fractions = self
            .bins()
            .into_iter()
            .enumerate()
            .filter_map(|(index, bin)| Some((index, bin.live_fraction()?)));
        let worst = fractions.min_by(|one, other| one.1.total_cmp(&other.1));
        worst.map(|(index, fraction)| (begins(index), fraction))
    }

    /// When the last packet arrived, on the clock of the arrivals; none before the first.
    pub fn last_arrival_ns(&self) -> Option<u64> {
        (!self.bins.is_empty()).then_some(self.last_arrival)
    }

    /// Width of the bins in nanoseconds.
    pub fn width_ns(&self) -> u64 {
        FIRST_WIDTH_NS << self.doublings
    }

    /// When the first bin begins, on the clock of the arrivals, in nanoseconds.
    pub fn begin_ns(&self) -> u64 {
        self.first.saturating_mul(self.width_ns())
    }

    /// Makes bins twice as wide until they are as wide as this, so that sources can be in one table.
    #[must_use]
    pub fn widened(mut self, width_ns: u64) -> Self {
        while self.width_ns() < width_ns {
            self.double();
        }
        self
    }

    /// Shares lost packets out over the bins between two arrivals that have been observed: exactly as many as were lost. Those
    /// that turned up are taken off where the later one is.
    #[cold]
    pub fn lose_between(&mut self, lost: i64, from_ns: u64, arrival_ns: u64) {
        if lost == 0 || self.bins.is_empty() {
            return;
        }
        let from_ns = if lost > 0 { from_ns.min(arrival_ns) } else { arrival_ns };
        let width = self.width_ns();
        let index = |time: u64| (time / width).saturating_sub(self.first).min(BINS as u64 - 1);
        let (from, to) = (index(from_ns), index(arrival_ns));
        let span = i128::from(arrival_ns - from_ns).max(1);
        let mut shared = 0;
        for bin in from..=to {
            let end_ns = (self.first + bin + 1).saturating_mul(width).min(arrival_ns);
            let passed = i128::from(end_ns.saturating_sub(from_ns));
            let until = if bin == to { lost } else { (i128::from(lost) * passed / span) as i64 };
            let here = (until - shared).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
            shared = until;
            if let Some(bin) = self.bins.get_mut(bin as usize) {
                bin.lost = bin.lost.saturating_add(here);
            }
        }
    }

    /// Makes the bin of this time the current one.
    #[cold]
    fn go_to(&mut self, time_ns: u64) {
        self.settle();
        if self.bins.is_empty() {
            self.first = time_ns / self.width_ns();
        }
        let mut number = time_ns / self.width_ns();
        while number.saturating_sub(self.first) >= BINS as u64 {
            self.double();
            number = time_ns / self.width_ns();
        }
        // A clock that goes back to before the first packet stays in the first bin.
        self.current = number.saturating_sub(self.first) as usize;
        if self.current >= self.bins.len() {
            self.bins.resize(self.current + 1, LiveBin::default());
        }
        self.begins = number.saturating_mul(self.width_ns());
        self.ends = self.begins.saturating_add(self.width_ns());
    }

    fn double(&mut self) {
        self.settle();
        let first = self.first / 2;
        for index in 0..self.bins.len() {
            let bin = std::mem::take(&mut self.bins[index]);
            // Never behind `index`: what stands there has been taken already.
            self.bins[((self.first + index as u64) / 2 - first) as usize].join(bin);
        }
        if let Some(last) = (self.bins.len() as u64).checked_sub(1) {
            self.bins.truncate(((self.first + last) / 2 - first) as usize + 1);
        }
        self.first = first;
        self.doublings += 1;
        (self.begins, self.ends) = (u64::MAX, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::SequenceTracker;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn bin(received: u32, lost: i32) -> LiveBin {
        LiveBin { received, lost }
    }

    #[test]
    fn packets_stand_in_the_second_in_which_they_arrived() {
        let mut live = LiveTime::new();
        live.observe(5 * SECOND + 1, true, 0);
        live.observe(5 * SECOND + 2, true, 3);
        live.observe(6 * SECOND, true, 0);
        live.observe(6 * SECOND + 5, false, 0);
        live.observe(6 * SECOND + 5, true, -1);
        assert_eq!(live.bins(), [bin(2, 3), bin(2, -1)]);
        assert_eq!((live.begin_ns(), live.width_ns()), (5 * SECOND, SECOND));
        assert_eq!(live.bins()[0].live_fraction(), Some(0.4));
        assert_eq!((live.live_fraction(), live.worst()), (Some(4.0 / 6.0), Some((5 * SECOND, 0.4))));
        assert_eq!((live.bins()[1].live_fraction(), bin(0, 0).live_fraction()), (Some(1.0), None));
    }

    #[test]
    fn what_is_lost_during_a_silence_is_shared_out_over_it() {
        let mut live = LiveTime::new();
        live.observe(SECOND / 2, true, 0);
        live.observe(4 * SECOND + SECOND / 2, true, 80);
        assert_eq!(live.bins(), [bin(1, 10), bin(0, 20), bin(0, 20), bin(0, 20), bin(1, 10)]);
        assert_eq!(live.bins()[1].live_fraction(), Some(0.0));
    }

    #[test]
    fn a_long_run_has_wider_bins() {
        let mut live = LiveTime::new();
        for second in 0..10_000 {
            live.observe((7 + second) * SECOND, true, 2);
        }
        assert_eq!(live.width_ns(), 8 * SECOND);
        assert!(live.bins().len() <= BINS);
        let sums = |live: &LiveTime| {
            let add = |sum: (u64, i64), bin: &LiveBin| {
                (sum.0 + u64::from(bin.received), sum.1 + i64::from(bin.lost))
            };
            live.bins().iter().fold((0, 0), add)
        };
        assert_eq!(sums(&live), (10_000, 20_000));
        let wide = live.clone().widened(16 * SECOND);
        assert_eq!((wide.width_ns(), sums(&wide)), (16 * SECOND, (10_000, 20_000)));
        assert_eq!(wide.begin_ns(), 0);
    }

    proptest! {
        /// Whatever arrives whenever: the bins say in sum what the sequence says.
        #[test]
        fn sums_are_those_of_the_sequence(
            packets in proptest::collection::vec((0..300_u64, any::<u8>(), 0..5_u64), 1..200)
        ) {
            let mut sequence = SequenceTracker::new(8);
            let mut time = 1000 * SECOND;
            for (step, number, back) in packets {
                time = (time + (step * step * step) * SECOND / 7).saturating_sub(back * SECOND);
                sequence.observe_at(u64::from(number), time);
            }
            let live = sequence.live_time();
            let counts = sequence.counts();
            let received: u64 = live.bins().iter().map(|bin| u64::from(bin.received)).sum();
            let lost: i64 = live.bins().iter().map(|bin| i64::from(bin.lost)).sum();
            prop_assert_eq!(received, counts.received - counts.duplicated);
            prop_assert_eq!(lost, counts.lost as i64);
        }
    }
}
