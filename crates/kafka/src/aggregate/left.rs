//! The frames that have left: a message that comes for one of them is late.

use std::collections::{BTreeMap, VecDeque};

/// Frames that are remembered: 44 minutes at 50 Hz.
const REMEMBERED: usize = 1 << 17;

/// What is known of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// No frame of this time has left.
    New,
    /// One has.
    Left,
    /// Nobody knows any more.
    TooOld,
}

/// The frames that have left.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftFrames {
    /// First and last reference time of each.
    times: BTreeMap<i64, i64>,
    /// In the order in which they left.
    order: VecDeque<i64>,
    /// Up to this time frames may have left that are not remembered.
    forgotten_until: Option<i64>,
}

impl LeftFrames {
    /// A frame with these reference times has left.
    pub(super) fn add(&mut self, first_ns: i64, last_ns: i64) {
        match self.times.get_mut(&first_ns) {
            Some(last) => *last = last_ns.max(*last),
            None => {
                self.times.insert(first_ns, last_ns);
                self.order.push_back(first_ns);
            }
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
            && let Some(last) = self.times.remove(&oldest)
        {
            self.forget_until(last);
        }
    }

    /// Frames up to this time may have left, and nobody knows which.
    pub(super) fn forget_until(&mut self, time_ns: i64) {
        self.forgotten_until = self.forgotten_until.max(Some(time_ns));
    }

    /// What is known of a time, if frames are the same that differ by `tolerance` at most.
    pub(super) fn known(&self, time_ns: i64, tolerance: i64) -> Known {
        let until = time_ns.saturating_add(tolerance);
        let since = time_ns.saturating_sub(tolerance);
        // Frames are apart, so only the last that begins before can reach here.
        let before = self.times.range(..=until).next_back();
        if before.is_some_and(|(_, last)| *last >= since) {
            return Known::Left;
        }
        let is_too_old = self.forgotten_until.is_some_and(|forgotten| since <= forgotten);
        if is_too_old { Known::TooOld } else { Known::New }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_left_are_known_by_their_times_and_the_oldest_are_forgotten() {
        let mut left = LeftFrames::default();
        left.add(100, 108);
        left.add(100, 104);
        let known = |left: &LeftFrames, time| left.known(time, 10);
        assert_eq!(
            [89, 90, 118, 119].map(|time| known(&left, time) == Known::Left),
            [false, true, true, false]
        );
        for frame in 1..=REMEMBERED as i64 {
            left.add(1000 * frame, 1000 * frame);
        }
        assert_eq!(left.order.len(), REMEMBERED);
        assert_eq!(
            [100, 118, 119, 1000].map(|time| known(&left, time)),
            [Known::TooOld, Known::TooOld, Known::New, Known::Left]
        );
        assert_eq!(left.known(i64::MAX, i64::MAX), Known::Left);
    }
}
