//! The newest trains, from which clients take at their own pace.

use evforge_core::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::message::Message;

#[cfg(all(test, loom))]
mod models;

/// The newest whole trains, as many as the queue is long.
#[derive(Debug)]
pub(super) struct Shelf {
    state: Mutex<State>,
    changed: Condvar,
    room: usize,
}

#[derive(Debug, Default)]
struct State {
    trains: VecDeque<Arc<Message>>,
    /// Trains that were ever shown: one more than the place of the newest.
    shown: u64,
    has_ended: bool,
}

/// What a client finds.
#[derive(Debug)]
pub(super) enum Taken {
    /// A train, and how many newer than its last have gone before it asked.
    Train(Arc<Message>, u64),
    /// Nothing new yet.
    Nothing,
    /// There will be no more.
    End,
}

impl Shelf {
    /// With room for so many trains, at least 1.
    pub(super) fn new(room: usize) -> Self {
        Self { state: Mutex::new(State::default()), changed: Condvar::new(), room: room.max(1) }
    }

    /// Puts a train up, in the place of the oldest one if there is no room.
    pub(super) fn show(&self, train: Message) {
        let mut state = self.lock();
        state.trains.push_back(Arc::new(train));
        state.shown += 1;
        if state.trains.len() > self.room {
            state.trains.pop_front();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Says that there will be no more.
    pub(super) fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// Takes the oldest train from place `next` on, and moves `next` behind it; waits for it so long. A client that has none yet
    /// begins with the newest.
    pub(super) fn take(&self, next: &mut Option<u64>, wait: Duration) -> Taken {
        let is_early = |state: &mut State| !state.has_ended && next.unwrap_or(0) >= state.shown;
        let waited = self.changed.wait_timeout_while(self.lock(), wait, is_early);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.has_ended {
            return Taken::End;
        }
        let Some(newest) = state.shown.checked_sub(1) else { return Taken::Nothing };
        let wanted = next.unwrap_or(newest);
        let oldest = state.shown - state.trains.len() as u64;
        let place = wanted.max(oldest);
        let Some(train) = state.trains.get((place - oldest) as usize) else { return Taken::Nothing };
        *next = Some(place + 1);
        Taken::Train(Arc::clone(train), place - wanted)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_clients_skip_what_has_gone() {
        let shelf = Shelf::new(2);
        let (mut fast, mut slow) = (None, None);
        let take = |next: &mut Option<u64>| match shelf.take(next, Duration::ZERO) {
            Taken::Train(_, skipped) => Some(skipped),
            Taken::Nothing | Taken::End => None,
        };
        assert_eq!(take(&mut fast), None);
        shelf.show(Message::default());
        assert_eq!((take(&mut fast), take(&mut slow), take(&mut fast)), (Some(0), Some(0), None));
        for _ in 0..5 {
            shelf.show(Message::default());
        }
        // Of five it gets the last two.
        assert_eq!((take(&mut slow), take(&mut slow), take(&mut slow)), (Some(3), Some(0), None));
        // A new one begins with the newest.
        let mut new = None;
        assert_eq!((take(&mut new), take(&mut new)), (Some(0), None));
        shelf.end();
        assert!(matches!(shelf.take(&mut fast, Duration::ZERO), Taken::End));
    }
}
