//! How far time has come over all sources, and how far it is closed.
//!
//! Each source has a clock of its own ([`SourceClock`](crate::source_clock)). [`Watermark`] joins them to one
//! *watermark*: no source will send anything before it. [`Closing`] follows the watermark in the steps that
//! the sorters can span.

use crate::hit::Timed;
use crate::source_clock::SourceClock;
use crate::time_order::TimeOrder;

/// A point in the data: epoch and time.
pub type DataTime = (u32, u64);

/// The watermark over all sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermark {
    source_lag: u64,
    watermark: DataTime,
}

impl Watermark {
    /// A source that is more than `source_lag` ticks behind the leading one no longer holds the others back.
    pub fn new(source_lag: u64) -> Self {
        Self { source_lag, watermark: (0, 0) }
    }

    /// No source will send hits before this; what comes nevertheless is late.
    #[inline]
    pub fn watermark(&self) -> DataTime {
        self.watermark
    }

    /// Raises the watermark to what the `clocks` of all sources say, and returns it.
    #[inline]
    pub fn follow<'a, T: Timed + 'a>(
        &mut self,
        clocks: impl Iterator<Item = &'a SourceClock<T>> + Clone,
    ) -> DataTime {
        let slowest = clocks.clone().map(|clock| clock.watermark().unwrap_or((0, 0))).min();
        let leader = clocks.filter(|clock| clock.front().is_some()).max_by_key(|clock| clock.front());
        // Who lags too far behind the leader no longer holds the others back.
        let patience = leader.and_then(|clock| {
            let (epoch, front) = clock.front()?;
            (front - clock.epoch_start().min(front) > self.source_lag)
                .then(|| (epoch, front - self.source_lag))
        });
        self.raise(slowest.unwrap_or((0, 0)).max(patience.unwrap_or((0, 0))))
    }

    /// Raises the watermark although sources may still send earlier hits: there is no room left. First as if
    /// only the leading source mattered; if that much is closed already (`closed`), past `latest_pending`.
    #[cold]
    pub fn force<'a, T: Timed + 'a>(
        &mut self,
        clocks: impl Iterator<Item = &'a SourceClock<T>>,
        closed: DataTime,
        latest_pending: Option<DataTime>,
    ) -> DataTime {
        let leader = clocks.filter_map(SourceClock::watermark).max().unwrap_or((0, 0));
        let past = |(epoch, time): DataTime| (epoch, time.saturating_add(1));
        self.raise(if leader > closed { leader } else { latest_pending.map_or(leader, past) })
    }

    fn raise(&mut self, to: DataTime) -> DataTime {
        self.watermark = self.watermark.max(to);
        self.watermark
    }
}

/// Items that must have come in since the last closing before the next is worth while, unless told otherwise.
pub const SMALLEST_STEP: usize = 4096;

/// How far time is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    /// What callers have asked to close.
    target: DataTime,
    /// What is closed: sorted and being read off.
    closed: DataTime,
    /// Pending items at which closing is worth while.
    worthwhile: usize,
    smallest_step: usize,
}

impl Default for Closing {
    fn default() -> Self {
        Self::in_steps_of(SMALLEST_STEP)
    }
}

impl Closing {
    /// Nothing closed; `smallest_step` items must have come in since a closing before the next is worth while.
    pub fn in_steps_of(smallest_step: usize) -> Self {
        Self { target: (0, 0), closed: (0, 0), worthwhile: smallest_step, smallest_step }
    }

    /// Says that no source will send anything before `target` any more. Going back has no effect.
    #[inline]
    pub fn advance(&mut self, target: DataTime) {
        self.target = self.target.max(target);
    }

    /// Everything before this is closed or about to be: hits before it are late.
    #[inline]
    pub fn target(&self) -> DataTime {
        self.target
    }

    /// Epoch of what is closed.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.closed.0
    }

    /// Time up to which the current epoch is closed.
    #[inline]
    pub fn closed(&self) -> u64 {
        self.closed.1
    }

    /// True once `pending` items, over all sorters, make closing worth while.
    #[inline]
    pub fn is_worthwhile(&self, pending: usize) -> bool {
        pending >= self.worthwhile
    }

    /// True if all of the current epoch is closed.
    #[inline]
    pub fn ends_epoch(&self) -> bool {
        self.closed.1 == u64::MAX
    }

    /// Goes on to the next epoch; everything of the old one has been read off.
    pub fn begin_epoch(&mut self) {
        self.closed = (self.closed.0 + 1, 0);
    }

    /// Closes as far towards the target as one step of all `orders` can span. False if the target is reached.
    pub fn step(&mut self, orders: &mut [impl AsMut<TimeOrder>]) -> bool {
        if self.closed >= self.target {
            return false;
        }
        let epoch = self.closed.0;
        let goal = if epoch < self.target.0 { u64::MAX } else { self.target.1 };
        let horizon = orders.iter_mut().fold(goal, |goal, order| order.as_mut().prepare(epoch, goal));
        let mut stays = 0;
        for order in orders {
            order.as_mut().close(epoch, horizon);
            stays += order.as_mut().pending();
        }
        self.closed.1 = horizon;
        // What stays is looked at again by the next closing: let at least as much come in before.
        self.worthwhile = 2 * stays + self.smallest_step;
        true
    }
}
