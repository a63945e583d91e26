//! Cuts the hits of one plane into time groups.
//!
//! Hits arrive nearly in order and are put into order by a [`TimeOrder`]; groups are then read off in time
//! order. How often hits are closed does not change the groups.

use crate::hit::{Hit, TimeKey};
use crate::time_order::TimeOrder;

/// The hits of one plane between arrival and clustering.
#[derive(Debug, get_size2::GetSize)]
pub struct PlaneSorter {
    order: TimeOrder,
    max_time_gap: u64,
    max_group: usize,
    /// The bits of a time that count.
    time_bits: u64,
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
    /// This many hits of a group that is larger than allowed.
    TooLarge(usize),
    /// No group is complete.
    None,
}

impl AsMut<TimeOrder> for PlaneSorter {
    fn as_mut(&mut self) -> &mut TimeOrder {
        &mut self.order
    }
}

impl PlaneSorter {
    /// A sorter that splits groups at gaps above `max_time_gap` ticks, discards groups of more than
    /// `max_group` hits, and holds at most `capacity` hits that are not closed.
    pub fn new(max_time_gap: u64, max_group: usize, capacity: usize) -> Self {
        Self {
            order: TimeOrder::new(capacity, max_group + 1),
            max_time_gap,
            max_group,
            time_bits: u64::MAX,
            strips: (0, 0),
            discarding_since: None,
        }
    }

    /// Leaves the lowest `bits` of all times out: hits have the times that remain from here on, and everything
    /// that is compared with them is cut to the same bits. So hits that become equal are as any hits of equal
    /// time, and in which order they came does not matter.
    pub fn with_decimation(mut self, bits: u32) -> Self {
        self.time_bits = u64::MAX.checked_shl(bits).unwrap_or(0);
        self.order = self.order.with_decimation(bits);
        self
    }

    /// Takes a hit. The caller has made sure that there is room.
    #[inline]
    pub fn push(&mut self, epoch: u32, hit: Hit) {
        self.order.push(epoch, Hit { time: hit.time & self.time_bits, ..hit });
    }

    /// How many more hits fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.order.room()
    }

    /// Hits that are not closed.
    #[inline]
    pub fn pending(&self) -> usize {
        self.order.pending()
    }

    /// Hits held: not closed, or closed but not yet read off.
    pub fn held(&self) -> u64 {
        self.order.held()
    }

    /// Largest (epoch, time) pending; the latest that it can have been, if bits of it are left out.
    pub fn latest_pending(&self) -> Option<(u32, u64)> {
        self.order.latest_pending().map(|(epoch, time)| (epoch, time | !self.time_bits))
    }

    /// Earliest time that a cluster formed from here on can have a hit at, all before `closed` being closed.
    #[inline]
    pub fn earliest_future_hit(&self, closed: u64) -> u64 {
        self.order.closed().first().map_or(closed & self.time_bits, |key| self.order.base() + key.time())
    }

    /// The next time group, everything before `closed` being closed.
    #[inline]
    pub fn next_group(&mut self, closed: u64) -> NextGroup {
        // A hit at this time or later can still come, and loses its low bits then.
        let closed = closed & self.time_bits;
        if let Some(last) = self.discarding_since {
            return self.discard_on(last, closed);
        }
        let hits = self.order.closed();
        let base = self.order.base();
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
        let ended = length < hits.len() || closed.saturating_sub(base + last) > self.max_time_gap;
        if length > self.max_group {
            self.order.read_off(length);
            if !ended {
                self.discarding_since = Some(base + last);
            }
            return NextGroup::TooLarge(length);
        }
        if !ended {
            return NextGroup::None;
        }
        self.strips = strips;
        NextGroup::Complete(self.order.read_off(length))
    }

    /// The hits of a group, with the time of key 0. Valid until the next [`TimeOrder::prepare`].
    #[inline]
    pub fn group(&self, range: std::ops::Range<usize>) -> (&[TimeKey], u64) {
        (self.order.read(range), self.order.base())
    }

    /// Lowest and highest strip of the group that [`PlaneSorter::next_group`] gave last.
    #[inline]
    pub fn strips(&self) -> (u16, u16) {
        self.strips
    }

    /// The rest of a group that is being discarded.
    #[cold]
    fn discard_on(&mut self, mut last: u64, closed: u64) -> NextGroup {
        let hits = self.order.closed();
        let base = self.order.base();
        let mut length = 0;
        for key in hits {
            let time = base + key.time();
            if time - last > self.max_time_gap {
                break;
            }
            last = time;
            length += 1;
        }
        let ended = length < hits.len() || closed.saturating_sub(last) > self.max_time_gap;
        self.order.read_off(length);
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
    use crate::hit::KEY_TIME_LIMIT;

    fn sorter(times: &[u64]) -> PlaneSorter {
        let mut sorter = PlaneSorter::new(10, 4, 100);
        for &time in times {
            sorter.push(0, Hit { time, strip: 1, adc: 1 });
        }
        sorter
    }

    fn close(sorter: &mut PlaneSorter, time: u64) {
        assert!(sorter.order.prepare(0, time) >= time);
        sorter.order.close(0, time);
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
    fn with_decimated_times_a_group_waits_for_hits_that_lose_their_low_bits() {
        // Times count in steps of 16: 20 and 31 are 16, 46 is 32, within the gap of 16; 63 is 48.
        let mut sorter = PlaneSorter::new(16, 4, 100).with_decimation(4);
        for time in [31, 20] {
            sorter.push(0, Hit { time, strip: 1, adc: 1 });
        }
        close(&mut sorter, 46);
        assert_eq!(sorter.earliest_future_hit(46), 16);
        assert_eq!(groups(&mut sorter, 46), [], "46 can still come, which is 32");
        for time in [46, 63] {
            sorter.push(0, Hit { time, strip: 1, adc: 1 });
        }
        assert_eq!(sorter.latest_pending(), Some((0, 63)));
        close(&mut sorter, 79);
        assert_eq!(groups(&mut sorter, 79), [], "79 is 64, and 64 - 48 is within the gap");
        close(&mut sorter, 80);
        let complete = groups(&mut sorter, 80);
        let [NextGroup::Complete(range)] = &complete[..] else { panic!("{complete:?}") };
        let (keys, base) = sorter.group(range.clone());
        let times: Vec<_> = keys.iter().map(|key| base + key.time()).collect();
        assert_eq!(times, [16, 16, 32, 48]);
        assert_eq!(sorter.earliest_future_hit(111), 96);
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
            let horizon = sorter.order.prepare(closed.0, u64::MAX);
            assert!(horizon > closed.1);
            sorter.order.close(closed.0, horizon);
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
