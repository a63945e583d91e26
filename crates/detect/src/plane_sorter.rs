//! Sorts the hits of one plane by time and cuts them into time groups.
//!
//! Hits arrive nearly in order and wait in `pending` until their time is closed (no source will send an
//! earlier one). Closing moves them, as sorted keys, behind the ones sorted before; groups are then read off
//! in time order. How often hits are closed does not change the groups.

use crate::hit::{Hit, KEY_TIME_LIMIT, TimeKey};

#[derive(Clone, Copy, Debug)]
struct PendingHit {
    time: u64,
    epoch: u32,
    strip: u16,
    adc: u16,
}

/// The hits of one plane between arrival and clustering.
#[derive(Debug)]
pub struct PlaneSorter {
    pending: Vec<PendingHit>,
    capacity: usize,
    /// Sorted hits; those before `cursor` have been read off.
    sorted: Vec<TimeKey>,
    cursor: usize,
    /// Time of key 0.
    base: u64,
    max_time_gap: u64,
    max_group: usize,
    /// Last time of a group that has grown too large and is being discarded.
    discarding_since: Option<u64>,
}

/// What the next hits of a plane are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextGroup {
    /// A complete time group: take it with [`PlaneSorter::group`].
    Complete(std::ops::Range<usize>),
    /// So many hits of a group that is larger than allowed.
    TooLarge(usize),
    /// No group is complete.
    None,
}

impl PlaneSorter {
    /// A sorter that splits groups at gaps above `max_time_gap` ticks, discards groups of more than
    /// `max_group` hits, and holds at most `capacity` hits that are not closed.
    pub fn new(max_time_gap: u64, max_group: usize, capacity: usize) -> Self {
        Self {
            pending: Vec::with_capacity(capacity),
            capacity,
            sorted: Vec::with_capacity(capacity + max_group + 1),
            cursor: 0,
            base: 0,
            max_time_gap,
            max_group,
            discarding_since: None,
        }
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound(max_group: usize, capacity: usize) -> usize {
        capacity * size_of::<PendingHit>() + (capacity + max_group + 1) * size_of::<TimeKey>()
    }

    /// Takes a hit. The caller has made sure that there is room.
    #[inline]
    pub fn push(&mut self, epoch: u32, hit: Hit) {
        self.pending.push(PendingHit { time: hit.time, epoch, strip: hit.strip, adc: hit.adc });
    }

    /// How many more hits fit.
    pub fn room(&self) -> usize {
        self.capacity - self.pending.len()
    }

    /// Hits that are not closed.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Hits held: not closed, or closed but not yet read off.
    pub fn held(&self) -> u64 {
        (self.pending.len() + self.sorted.len() - self.cursor) as u64
    }

    /// Largest (epoch, time) pending.
    pub fn latest_pending(&self) -> Option<(u32, u64)> {
        self.pending.iter().map(|hit| (hit.epoch, hit.time)).max()
    }

    /// Prepares the closing of hits of `epoch` and says how far it can go towards `goal` in one step: the
    /// keys span a limited time.
    pub fn prepare(&mut self, epoch: u32, goal: u64) -> u64 {
        self.sorted.drain(..self.cursor);
        self.cursor = 0;
        let first_pending = || self.pending.iter().filter(|hit| hit.epoch == epoch).map(|hit| hit.time).min();
        if let Some(first) = self.sorted.first() {
            let later = first.time();
            for key in &mut self.sorted {
                *key = key.rebased(later);
            }
            self.base += later;
        } else if let Some(first) = first_pending() {
            self.base = first;
        } else {
            return goal;
        }
        goal.min(self.base.saturating_add(KEY_TIME_LIMIT))
    }

    /// Closes all pending hits of `epoch` before `time`, which [`PlaneSorter::prepare`] has allowed.
    pub fn close(&mut self, epoch: u32, time: u64) {
        let first_new = self.sorted.len();
        let Self { pending, sorted, base, .. } = self;
        pending.retain(|hit| {
            let closed = hit.epoch == epoch && hit.time < time;
            if closed {
                let hit = Hit { time: hit.time, strip: hit.strip, adc: hit.adc };
                sorted.push(TimeKey::new(hit, *base));
            }
            !closed
        });
        sorted[first_new..].sort_unstable();
    }

    /// Earliest time that a cluster formed from here on can end at, all before `closed` being closed.
    #[inline]
    pub fn earliest_future_end(&self, closed: u64) -> u64 {
        self.sorted.get(self.cursor).map_or(closed, |key| self.base + key.time())
    }

    /// The next time group, everything before `closed` being closed.
    #[inline]
    pub fn next_group(&mut self, closed: u64) -> NextGroup {
        if let Some(last) = self.discarding_since {
            return self.discard_on(last, closed);
        }
        let hits = &self.sorted[self.cursor..];
        let Some(first) = hits.first() else { return NextGroup::None };
        let mut last = first.time();
        let mut length = 1;
        for key in &hits[1..] {
            if key.time() - last > self.max_time_gap {
                break;
            }
            last = key.time();
            length += 1;
        }
        let ended = length < hits.len() || closed.saturating_sub(self.base + last) > self.max_time_gap;
        if length > self.max_group {
            self.cursor += length;
            if !ended {
                self.discarding_since = Some(self.base + last);
            }
            return NextGroup::TooLarge(length);
        }
        if !ended {
            return NextGroup::None;
        }
        let start = self.cursor;
        self.cursor += length;
        NextGroup::Complete(start..start + length)
    }

    /// The hits of a group, with the time of key 0. Valid until the next [`PlaneSorter::close`].
    #[inline]
    pub fn group(&self, range: std::ops::Range<usize>) -> (&[TimeKey], u64) {
        (&self.sorted[range], self.base)
    }

    /// The rest of a group that is being discarded.
    #[cold]
    fn discard_on(&mut self, mut last: u64, closed: u64) -> NextGroup {
        let hits = &self.sorted[self.cursor..];
        let mut length = 0;
        for key in hits {
            let time = self.base + key.time();
            if time - last > self.max_time_gap {
                break;
            }
            last = time;
            length += 1;
        }
        let ended = length < hits.len() || closed.saturating_sub(last) > self.max_time_gap;
        self.cursor += length;
        self.discarding_since = (!ended).then_some(last);
        match length {
            0 if ended => self.next_group(closed),
            0 => NextGroup::None,
            _ => NextGroup::TooLarge(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorter(times: &[u64]) -> PlaneSorter {
        let mut sorter = PlaneSorter::new(10, 4, 100);
        for &time in times {
            sorter.push(0, Hit { time, strip: 1, adc: 1 });
        }
        sorter
    }

    fn close(sorter: &mut PlaneSorter, time: u64) {
        assert_eq!(sorter.prepare(0, time), time);
        sorter.close(0, time);
    }

    fn groups(sorter: &mut PlaneSorter, closed: u64) -> Vec<NextGroup> {
        std::iter::from_fn(|| match sorter.next_group(closed) {
            NextGroup::None => None,
            group => Some(group),
        })
        .collect()
    }

    #[test]
    fn a_group_is_complete_once_no_hit_can_join_it() {
        let mut sorter = sorter(&[30, 5, 12, 40]);
        close(&mut sorter, 31);
        assert_eq!(groups(&mut sorter, 31), [NextGroup::Complete(0..2)]);
        close(&mut sorter, 51);
        assert_eq!(groups(&mut sorter, 51), [NextGroup::Complete(0..2)]);
        assert_eq!(sorter.held(), 0);
    }

    #[test]
    fn a_group_at_the_limit_stays_and_one_above_is_discarded_however_it_is_closed() {
        let all_at_once = |times: &[u64]| {
            let mut sorter = sorter(times);
            close(&mut sorter, 1000);
            groups(&mut sorter, 1000)
        };
        assert_eq!(all_at_once(&[1, 2, 3, 4]), [NextGroup::Complete(0..4)]);
        assert_eq!(all_at_once(&[1, 2, 3, 4, 5, 90]), [NextGroup::TooLarge(5), NextGroup::Complete(5..6)]);

        let mut sorter = sorter(&[1, 2, 3, 4, 5, 12, 22, 90]);
        let mut discarded = 0;
        let mut complete = 0;
        for closed in [6, 13, 14, 23, 500] {
            close(&mut sorter, closed);
            for group in groups(&mut sorter, closed) {
                match group {
                    NextGroup::TooLarge(hits) => discarded += hits,
                    NextGroup::Complete(range) => complete += range.len(),
                    NextGroup::None => {}
                }
            }
        }
        assert_eq!((discarded, complete, sorter.held()), (7, 1, 0));
    }
}
