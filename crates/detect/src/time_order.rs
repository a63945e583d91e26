//! Puts what arrives nearly in order of time into order.
//!
//! Items (hits, events) wait until their time is closed: no source will send an earlier one. Closing moves
//! them, sorted, behind the ones sorted before; they are then read off in order. How often they are closed
//! does not change that order.
//!
//! A waiting item is one word, a [`TimeKey`], whose time counts from a *base*. Keys span a quarter of a minute
//! or more, which is all that a running detector ever needs; items beyond that span, and items of an epoch to
//! come, wait *afar* with their full time until the base is moved to them.

use crate::hit::{KEY_TIME_LIMIT, TimeKey, Timed};
use crate::memory::room_for;
use crate::source_clock::AcceptedHits;
use crate::time_sort::{TimeSort, put_right};

/// An item with its full time and epoch.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct FarItem {
    time: u64,
    epoch: u32,
    payload: u32,
}

impl Timed for FarItem {
    fn time(&self) -> u64 {
        self.time
    }

    fn payload(&self) -> u32 {
        self.payload
    }

    fn of(time: u64, payload: u32) -> Self {
        Self { time, epoch: 0, payload }
    }
}

/// Items between arrival and the closing of their time.
#[derive(Debug, get_size2::GetSize)]
pub struct TimeOrder {
    /// Epoch of the keys.
    epoch: u32,
    /// Time of key 0.
    base: u64,
    /// Items that wait, in the order of their arrival.
    near: Vec<TimeKey>,
    /// Items that wait and do not fit a key.
    far: Vec<FarItem>,
    /// Epoch and time of the first item afar.
    first_far: (u32, u64),
    capacity: usize,
    /// Closed items in order of time; those before `cursor` have been read off.
    sorted: Vec<TimeKey>,
    cursor: usize,
    time_sort: TimeSort,
    /// Whether items of equal time are put into the order of their payloads.
    payload_order: bool,
}

/// So that [`Closing`](crate::watermark::Closing) closes orders and what contains one alike.
impl AsMut<TimeOrder> for TimeOrder {
    #[inline]
    fn as_mut(&mut self) -> &mut TimeOrder {
        self
    }
}

impl<T: Timed> AcceptedHits<T> for TimeOrder {
    #[inline]
    fn accept(&mut self, _: usize, epoch: u32, item: T) {
        self.push(epoch, item);
    }

    #[inline]
    fn accept_all(&mut self, _: usize, epoch: u32, items: &[T]) {
        self.push_all(epoch, items);
    }
}

/// No item is later than this.
const NEVER: (u32, u64) = (u32::MAX, u64::MAX);

impl TimeOrder {
    /// Holds at most `capacity` items that are not closed, and at most `unread` that are closed when more is
    /// closed.
    pub fn new(capacity: usize, unread: usize) -> Self {
        let key = TimeKey::new(FarItem::of(1, 1), 0);
        Self {
            epoch: 0,
            base: 0,
            near: room_for(key, capacity),
            // Not touched: in a detector that runs as it should it stays empty.
            far: Vec::with_capacity(capacity),
            first_far: NEVER,
            capacity,
            sorted: room_for(key, capacity + unread),
            cursor: 0,
            time_sort: TimeSort::new(capacity),
            payload_order: false,
        }
    }

    /// Puts items of equal time into the order of their payloads as well, for items that leave as they are.
    pub fn with_payload_order(mut self) -> Self {
        self.payload_order = true;
        self
    }

    /// For items whose times all are multiples of two to the power of `bits`: sorting looks at the other bits only.
    pub fn with_decimation(mut self, bits: u32) -> Self {
        self.time_sort = self.time_sort.with_decimation(bits);
        self
    }

    /// Takes an item. The caller has made sure that there is room.
    #[inline]
    pub fn push<T: Timed>(&mut self, epoch: u32, item: T) {
        // There is capacity whenever there is room; asking for it keeps the code that would grow the vector out
        // of the hot path.
        let fits = epoch == self.epoch && item.time().wrapping_sub(self.base) < KEY_TIME_LIMIT;
        if fits && self.near.len() < self.near.capacity() {
            self.near.push(TimeKey::new(item, self.base));
        } else {
            self.push_far(epoch, item);
        }
    }

    /// Takes items for which the caller has made sure that there is room.
    #[inline]
    pub fn push_all<T: Timed>(&mut self, epoch: u32, items: &[T]) {
        // All of them lie below the limit if all their bits together do.
        let bits = items.iter().fold(0, |bits, item| bits | item.time().wrapping_sub(self.base));
        let fits = epoch == self.epoch && bits < KEY_TIME_LIMIT;
        if fits && items.len() <= self.near.capacity() - self.near.len() {
            self.near.extend(items.iter().map(|&item| TimeKey::new(item, self.base)));
        } else {
            items.iter().for_each(|&item| self.push(epoch, item));
        }
    }

    /// Takes all `items` of a packet if they can be taken as they are, keys straight from what they are decoded from: if there
    /// is room, all of them fit a key, and `accepts` says so of the earliest and the latest of their times. Otherwise
    /// nothing has changed.
    #[inline]
    pub fn push_whole<T: Timed>(
        &mut self,
        epoch: u32,
        items: impl ExactSizeIterator<Item = T>,
        accepts: impl FnOnce(u64, u64) -> bool,
    ) -> bool {
        let Self { near, base, .. } = self;
        let before = near.len();
        if epoch != self.epoch || items.len() == 0 || items.len() > near.capacity() - before {
            return false;
        }
        let (mut first, mut last) = (u64::MAX, 0);
        near.extend(items.map(|item| {
            let since = item.time().wrapping_sub(*base);
            first = first.min(since);
            last = last.max(since);
            TimeKey::since_base(since, item.payload())
        }));
        let taken = last < KEY_TIME_LIMIT && accepts(*base + first, *base + last);
        if !taken {
            near.truncate(before);
        }
        taken
    }

    #[cold]
    fn push_far<T: Timed>(&mut self, epoch: u32, item: T) {
        if self.held() == 0 {
            // Nothing depends on the base: move it, with room for items that are somewhat earlier.
            self.epoch = epoch;
            self.base = item.time().saturating_sub(KEY_TIME_LIMIT / 2);
            self.near.push(TimeKey::new(item, self.base));
            return;
        }
        self.first_far = self.first_far.min((epoch, item.time()));
        self.far.push(FarItem { time: item.time(), epoch, payload: item.payload() });
    }

    /// How many more items fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.capacity - self.pending()
    }

    /// Items that are not closed.
    #[inline]
    pub fn pending(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// Items held: not closed, or closed but not yet read off.
    pub fn held(&self) -> u64 {
        (self.pending() + self.sorted.len() - self.cursor) as u64
    }

    /// Largest (epoch, time) pending.
    pub fn latest_pending(&self) -> Option<(u32, u64)> {
        let near = self.near.iter().map(|key| key.time()).max().map(|time| (self.epoch, self.base + time));
        near.max(self.far.iter().map(|item| (item.epoch, item.time)).max())
    }

    /// Prepares the closing of items of `epoch` and returns how far it can go towards `goal` in one step: the
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
        // Beyond what is closed already: the first item held is less than half the span behind that.
        goal.min(self.base.saturating_add(KEY_TIME_LIMIT))
    }

    /// Closes all pending items of `epoch` before `time`, which [`TimeOrder::prepare`] has allowed.
    pub fn close(&mut self, epoch: u32, time: u64) {
        if epoch != self.epoch {
            return;
        }
        let limit = time.saturating_sub(self.base);
        let Some(&any) = self.near.first() else { return };
        // Where low bits do not count, the order of arrival does.
        let is_in_order = self.time_sort.is_exact()
            && match self.payload_order {
                true => put_right(&mut self.near, |key| key),
                false => put_right(&mut self.near, TimeKey::time),
            };
        if is_in_order {
            return self.close_in_order(limit);
        }
        let first_new = self.sorted.len();
        self.sorted.resize(first_new + self.near.len(), any);
        let new = &mut self.sorted[first_new..];
        // Each goes to both places, and one of them counts: which one is hard to predict.
        let (mut closed, mut kept) = (0, 0);
        for index in 0..self.near.len().min(new.len()) {
            let key = self.near[index];
            let is_closed = usize::from(key.time() < limit);
            new[closed] = key;
            self.near[kept] = key;
            closed += is_closed;
            kept += 1 - is_closed;
        }
        self.near.truncate(kept);
        self.sorted.truncate(first_new + closed);
        let new = &mut self.sorted[first_new..];
        self.time_sort.sort(new);
        if self.payload_order {
            order_payloads(new);
        }
    }

    /// Closes the items before `limit` if all that wait are in order.
    fn close_in_order(&mut self, limit: u64) {
        let closed = self.near.partition_point(|key| key.time() < limit);
        if self.sorted.is_empty() && self.sorted.capacity() == self.near.capacity() {
            // Those that are closed are more, and stay where they are.
            std::mem::swap(&mut self.near, &mut self.sorted);
            self.near.extend_from_slice(&self.sorted[closed..]);
            self.sorted.truncate(closed);
        } else {
            self.sorted.extend_from_slice(&self.near[..closed]);
            self.near.drain(..closed);
        }
    }

    /// Moves the base to the first item of `epoch` that is held, and to keys what then fits.
    #[cold]
    fn move_base(&mut self, epoch: u32) {
        let first_near = self.near.iter().map(|key| (self.epoch, self.base + key.time())).min();
        // Closed items are earlier than all pending ones of their epoch, which is the one being closed.
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
            far.push(FarItem { time, epoch: *old_epoch, payload: key.payload() });
            false
        });
        let mut first_far = NEVER;
        far.retain(|item| {
            if fits(item.epoch, item.time) {
                near.push(TimeKey::new(*item, new_base));
                return false;
            }
            first_far = first_far.min((item.epoch, item.time));
            true
        });
        (self.epoch, self.base, self.first_far) = (new_epoch, new_base, first_far);
    }

    /// Items that are closed and not yet read off, in order, as keys that count from [`TimeOrder::base`].
    #[inline]
    pub fn closed(&self) -> &[TimeKey] {
        &self.sorted[self.cursor..]
    }

    /// Time of key 0. Changes only in [`TimeOrder::prepare`] and while nothing is held.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Reads off `count` closed items and returns where they are: [`TimeOrder::read`].
    #[inline]
    pub fn read_off(&mut self, count: usize) -> std::ops::Range<usize> {
        let start = self.cursor;
        self.cursor = (start + count).min(self.sorted.len());
        start..self.cursor
    }

    /// Items that have been read off. Valid until the next [`TimeOrder::prepare`].
    #[inline]
    pub fn read(&self, range: std::ops::Range<usize>) -> &[TimeKey] {
        &self.sorted[range]
    }
}

/// Puts keys that are in order of time, and of equal time, into the order of their payloads.
pub(crate) fn order_payloads(keys: &mut [TimeKey]) {
    let mut index = 1;
    while index < keys.len() {
        if keys[index] >= keys[index - 1] {
            index += 1;
            continue;
        }
        let time = keys[index].time();
        let start = keys[..index].iter().rposition(|key| key.time() != time).map_or(0, |before| before + 1);
        let same = keys[index..].iter().position(|key| key.time() != time).unwrap_or(keys.len() - index);
        let end = index + same;
        keys[start..end].sort_unstable();
        index = end;
    }
}
