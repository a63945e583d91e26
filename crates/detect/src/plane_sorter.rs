//! Sorts the hits of one plane by time and cuts them into time groups.
//!
//! Hits arrive nearly in order and wait until their time is closed (no source will send an earlier one).
//! Closing moves them, sorted, behind the ones sorted before; groups are then read off in time order. How
//! often hits are closed does not change the groups.
//!
//! A waiting hit is one word, a [`TimeKey`], whose time counts from a *base*. Keys span a quarter of a minute
//! or more, which is all that a running detector ever needs; hits beyond that span, and hits of an epoch to
//! come, wait *afar* with their full time until the base is moved to them.

use crate::hit::{Hit, KEY_TIME_LIMIT, TimeKey};
use crate::memory::touched;
use crate::time_sort::TimeSort;

/// A hit with its full time and epoch.
#[derive(Clone, Copy, Debug)]
struct FarHit {
    time: u64,
    epoch: u32,
    strip: u16,
    adc: u16,
}

/// The hits of one plane between arrival and clustering.
#[derive(Debug)]
pub struct PlaneSorter {
    /// Epoch of the keys.
    epoch: u32,
    /// Time of key 0.
    base: u64,
    /// Hits that wait, in the order of their arrival.
    near: Vec<TimeKey>,
    /// Hits that wait and do not fit a key.
    far: Vec<FarHit>,
    /// Epoch and time of the first hit afar.
    first_far: (u32, u64),
    capacity: usize,
    /// Closed hits in order of time; those before `cursor` have been read off.
    sorted: Vec<TimeKey>,
    cursor: usize,
    time_sort: TimeSort,
    max_time_gap: u64,
    max_group: usize,
    /// Lowest and highest strip of the group that was found last.
    strips: (u16, u16),
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

/// No hit is later than this.
const NEVER: (u32, u64) = (u32::MAX, u64::MAX);

impl PlaneSorter {
    /// A sorter that splits groups at gaps above `max_time_gap` ticks, discards groups of more than
    /// `max_group` hits, and holds at most `capacity` hits that are not closed.
    pub fn new(max_time_gap: u64, max_group: usize, capacity: usize) -> Self {
        let key = TimeKey::new(Hit { time: 1, strip: 1, adc: 1 }, 0);
        Self {
            epoch: 0,
            base: 0,
            near: touched(key, capacity),
            // Not touched: in a detector that runs as it should it stays empty.
            far: Vec::with_capacity(capacity),
            first_far: NEVER,
            capacity,
            sorted: touched(key, capacity + max_group + 1),
            cursor: 0,
            time_sort: TimeSort::new(capacity),
            max_time_gap,
            max_group,
            strips: (0, 0),
            discarding_since: None,
        }
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound(max_group: usize, capacity: usize) -> usize {
        capacity * (size_of::<TimeKey>() + size_of::<FarHit>())
            + (capacity + max_group + 1) * size_of::<TimeKey>()
            + TimeSort::memory_bound(capacity)
    }

    /// Takes a hit. The caller has made sure that there is room.
    #[inline]
    pub fn push(&mut self, epoch: u32, hit: Hit) {
        // There is capacity whenever there is room; asking for it keeps the code that would grow the vector out
        // of the hot path.
        let fits = epoch == self.epoch && hit.time.wrapping_sub(self.base) < KEY_TIME_LIMIT;
        if fits && self.near.len() < self.near.capacity() {
            self.near.push(TimeKey::new(hit, self.base));
        } else {
            self.push_far(epoch, hit);
        }
    }

    #[cold]
    fn push_far(&mut self, epoch: u32, hit: Hit) {
        if self.held() == 0 {
            // Nothing depends on the base: move it, with room for hits that are somewhat earlier.
            self.epoch = epoch;
            self.base = hit.time.saturating_sub(KEY_TIME_LIMIT / 2);
            self.near.push(TimeKey::new(hit, self.base));
            return;
        }
        self.first_far = self.first_far.min((epoch, hit.time));
        self.far.push(FarHit { time: hit.time, epoch, strip: hit.strip, adc: hit.adc });
    }

    /// How many more hits fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.capacity - self.pending()
    }

    /// Hits that are not closed.
    #[inline]
    pub fn pending(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// Hits held: not closed, or closed but not yet read off.
    pub fn held(&self) -> u64 {
        (self.pending() + self.sorted.len() - self.cursor) as u64
    }

    /// Largest (epoch, time) pending.
    pub fn latest_pending(&self) -> Option<(u32, u64)> {
        let near = self.near.iter().map(|key| key.time()).max().map(|time| (self.epoch, self.base + time));
        near.max(self.far.iter().map(|hit| (hit.epoch, hit.time)).max())
    }

    /// Prepares the closing of hits of `epoch` and says how far it can go towards `goal` in one step: the
    /// keys span a limited time.
    pub fn prepare(&mut self, epoch: u32, goal: u64) -> u64 {
        self.sorted.drain(..self.cursor);
        self.cursor = 0;
        let first_key = self.sorted.first().or(self.near.first());
        let base_is_old = epoch == self.epoch && first_key.is_some_and(|key| key.time() > KEY_TIME_LIMIT / 2);
        if base_is_old || self.first_far < (epoch, goal) {
            self.move_base(epoch);
        }
        if epoch != self.epoch || self.near.is_empty() && self.sorted.is_empty() {
            // Nothing that is held lies before the goal.
            return goal;
        }
        // Beyond what is closed already: the first hit held is less than half the span behind that.
        goal.min(self.base.saturating_add(KEY_TIME_LIMIT))
    }

    /// Closes all pending hits of `epoch` before `time`, which [`PlaneSorter::prepare`] has allowed.
    pub fn close(&mut self, epoch: u32, time: u64) {
        if epoch != self.epoch {
            return;
        }
        let limit = time.saturating_sub(self.base);
        let first_new = self.sorted.len();
        let mut kept = 0;
        for index in 0..self.near.len() {
            let key = self.near[index];
            if key.time() < limit {
                self.sorted.push(key);
            } else {
                self.near[kept] = key;
                kept += 1;
            }
        }
        self.near.truncate(kept);
        self.time_sort.sort(&mut self.sorted[first_new..]);
    }

    /// Moves the base to the first hit of `epoch` that is held, and to keys what then fits.
    #[cold]
    fn move_base(&mut self, epoch: u32) {
        let first_near = self.near.iter().map(|key| (self.epoch, self.base + key.time())).min();
        // Closed hits are earlier than all pending ones of their epoch, which is the one being closed.
        let first_sorted = self.sorted.first().map(|key| (self.epoch, self.base + key.time()));
        let first = self.first_far.min(first_near.unwrap_or(NEVER)).min(first_sorted.unwrap_or(NEVER));
        debug_assert!(first.0 >= epoch);
        let (new_epoch, new_base) = first;
        if let Some((_, sorted_from)) = first_sorted {
            let from = self.base;
            debug_assert!(new_epoch == self.epoch && sorted_from >= new_base);
            for key in &mut self.sorted {
                *key = key.moved(from, new_base);
            }
        }
        let Self { near, far, base, epoch: old_epoch, .. } = self;
        let fits = |epoch: u32, time: u64| epoch == new_epoch && time - new_base < KEY_TIME_LIMIT;
        near.retain_mut(|key| {
            let time = *base + key.time();
            if fits(*old_epoch, time) {
                *key = key.moved(*base, new_base);
                return true;
            }
            far.push(FarHit { time, epoch: *old_epoch, strip: key.strip(), adc: key.adc() });
            false
        });
        let mut first_far = NEVER;
        far.retain(|hit| {
            if fits(hit.epoch, hit.time) {
                near.push(TimeKey::new(Hit { time: hit.time, strip: hit.strip, adc: hit.adc }, new_base));
                return false;
            }
            first_far = first_far.min((hit.epoch, hit.time));
            true
        });
        (self.epoch, self.base, self.first_far) = (new_epoch, new_base, first_far);
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
        let mut strips = (first.strip(), first.strip());
        for key in &hits[1..] {
            if key.time() - last > self.max_time_gap {
                break;
            }
            last = key.time();
            length += 1;
            strips = (strips.0.min(key.strip()), strips.1.max(key.strip()));
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
        self.strips = strips;
        NextGroup::Complete(start..start + length)
    }

    /// The hits of a group, with the time of key 0. Valid until the next [`PlaneSorter::close`].
    #[inline]
    pub fn group(&self, range: std::ops::Range<usize>) -> (&[TimeKey], u64) {
        (&self.sorted[range], self.base)
    }

    /// Lowest and highest strip of the group that [`PlaneSorter::next_group`] gave last.
    #[inline]
    pub fn strips(&self) -> (u16, u16) {
        self.strips
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
        assert!(sorter.prepare(0, time) >= time);
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
    fn hits_beyond_the_span_of_the_keys_and_of_later_epochs_wait_their_turn() {
        let mut sorter = PlaneSorter::new(10, 4, 100);
        let far = 3 * KEY_TIME_LIMIT;
        for (epoch, time) in [(0, far), (1, 7), (0, 5), (0, 6), (1, 8), (0, far + 1), (2, 0)] {
            sorter.push(epoch, Hit { time, strip: 1, adc: 1 });
        }
        let mut groups = Vec::new();
        let mut closed = (0, 0);
        while closed.0 < 3 {
            let horizon = sorter.prepare(closed.0, u64::MAX);
            assert!(horizon > closed.1);
            sorter.close(closed.0, horizon);
            while let NextGroup::Complete(range) = sorter.next_group(horizon) {
                let (keys, base) = sorter.group(range);
                groups.push((closed.0, base + keys[0].time(), keys.len()));
            }
            closed = if horizon == u64::MAX { (closed.0 + 1, 0) } else { (closed.0, horizon) };
        }
        assert_eq!(groups, [(0, 5, 2), (0, far, 2), (1, 7, 2), (2, 0, 1)]);
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
