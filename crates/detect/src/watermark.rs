//! How far time has come over all sources, and how far it is closed.
//!
//! Each source has a clock of its own ([`SourceClock`](crate::source_clock)). [`Watermark`] joins them to one
//! *watermark*: no source will send anything before it. [`Closing`] follows the watermark in the steps that
//! the sorters can span.

use crate::earliest::{Earliest, NEVER};
pub use crate::hit::DataTime;
use crate::hit::Timed;
use crate::source_clock::SourceClock;
use crate::time_order::TimeOrder;

/// The source that is ahead of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
struct Leader {
    source: usize,
    front: DataTime,
    watermark: DataTime,
    /// First time of its epoch.
    epoch_start: u64,
}

/// The watermark over all sources. It is told whenever the time of a source may have changed
/// ([`Watermark::note`]); what that costs does not grow with the number of sources.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct Watermark {
    source_lag: u64,
    watermark: DataTime,
    /// The watermarks of the sources that are waited for.
    of_sources: Earliest,
    /// Fronts never go back, so that the latest so far is that of the leader.
    leader: Option<Leader>,
    /// The front of the leader at the end of the epoch before its own.
    ended: DataTime,
    /// The data have only just begun: sources that nobody expects may send of their beginning as well.
    is_opening: bool,
}

impl Watermark {
    /// For this many sources, none of which has begun; those that `is_expected` are waited for from the beginning, the
    /// others once they have a front. As long as data are not `source_lag` ticks long, all are waited for. A source that is more than `source_lag` ticks behind the leading one no longer
    /// holds the others back.
    pub fn new(source_lag: u64, sources: usize, is_expected: impl Fn(usize) -> bool) -> Self {
        let mut of_sources = Earliest::new(sources);
        (0..sources).filter(|&source| is_expected(source)).for_each(|source| of_sources.set(source, (0, 0)));
        let is_opening = !(0..sources).all(is_expected);
        Self { source_lag, watermark: (0, 0), of_sources, leader: None, ended: (0, 0), is_opening }
    }

    /// No source will send hits before this; what comes nevertheless is late.
    #[inline]
    pub fn watermark(&self) -> DataTime {
        self.watermark
    }

    /// The newest time of any source; none before the first.
    pub fn newest(&self) -> Option<DataTime> {
        self.leader.map(|leader| leader.front)
    }

    /// Takes note of how far the `clock` of `source` has come.
    #[inline]
    pub fn note<T: Timed>(&mut self, source: usize, clock: &SourceClock<T>) {
        let (Some(front), Some(watermark)) = (clock.front(), clock.watermark()) else { return };
        self.of_sources.set(source, watermark);
        let is_ahead = self.leader.is_none_or(|leader| (front, source) >= (leader.front, leader.source));
        if is_ahead {
            if let Some(leader) = self.leader.filter(|leader| leader.front.0 < front.0) {
                self.ended = leader.front;
            }
            let epoch_start = clock.epoch_start();
            self.leader = Some(Leader { source, front, watermark, epoch_start });
            self.is_opening &= front.0 == 0 && front.1.saturating_sub(epoch_start) <= self.source_lag;
        }
    }

    /// Waits for nobody any more who is not expected and has not sent. False if it did not.
    #[cold]
    pub fn end_opening(&mut self) -> bool {
        std::mem::take(&mut self.is_opening)
    }

    /// How far the sources had come in the epoch before the newest.
    pub fn ended(&self) -> DataTime {
        self.ended
    }

    /// How far the watermark can be raised by what the sources say.
    #[inline]
    pub fn target(&self) -> DataTime {
        if self.is_opening {
            return self.watermark;
        }
        let slowest = match self.of_sources.earliest() {
            NEVER => (0, 0),
            slowest => slowest,
        };
        // Who lags too far behind the leader no longer holds the others back.
        let patience = self.leader.and_then(|Leader { front: (epoch, front), epoch_start, .. }| {
            (front - epoch_start.min(front) > self.source_lag).then(|| (epoch, front - self.source_lag))
        });
        slowest.max(patience.unwrap_or((0, 0))).max(self.watermark)
    }

    /// How far it has to be raised although sources may still send earlier hits, because there is no room left. First as
    /// if only the leading source mattered; if that much is closed already (`closed`), past `latest_pending`.
    #[cold]
    pub fn forced_target(&self, closed: DataTime, latest_pending: Option<DataTime>) -> DataTime {
        let leader = self.leader.map_or((0, 0), |leader| leader.watermark);
        let past = |(epoch, time): DataTime| (epoch, time.saturating_add(1));
        let target = if leader > closed { leader } else { latest_pending.map_or(leader, past) };
        target.max(self.watermark)
    }

    /// Raises the watermark and returns it. Going back has no effect.
    #[inline]
    pub fn raise(&mut self, to: DataTime) -> DataTime {
        self.watermark = self.watermark.max(to);
        self.watermark
    }
}

/// Items that must have come in since the last closing before the next is worth while, unless told otherwise.
pub const SMALLEST_STEP: usize = 4096;

/// How far time is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
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

    /// True if there is something to close: the target has not been reached.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.closed < self.target
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
        if !self.is_due() {
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
