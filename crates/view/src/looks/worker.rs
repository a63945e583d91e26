//! The thread that counts for all looks and makes the updates that browsers get, at most one per picture interval, and one more
//! when somebody wants to see something else.

use super::shown::{ShownLooks, Studio};
use crate::lock::lock;
use crate::protocol::Now;
use crate::shared::Shared;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// The newest state of things.
#[derive(Clone, Debug, Default)]
pub(crate) struct Update {
    /// Number of the update, from 1; 0 is none.
    pub(crate) number: u64,
    /// The frames of all looks that are wanted, each encoded once for all.
    pub(crate) looks: Arc<ShownLooks>,
    /// What goes with it; none in update 0.
    pub(crate) now: Option<Arc<Now>>,
    /// True if no other one follows: this run is not shown any more.
    pub(crate) is_last: bool,
}

/// Makes updates until `is_over`, and one then, or until nobody can have them.
pub(crate) fn make_updates(
    shared: &Shared,
    updates: &watch::Sender<Update>,
    is_over: &watch::Receiver<bool>,
) {
    let mut studio = Studio::default();
    let mut update = Update::default();
    let mut due = Instant::now();
    loop {
        let is_last = *is_over.borrow();
        let now = shared.now();
        lock(&shared.history).update(Instant::now(), shared.totals(&now));
        // Nothing is counted while nobody watches.
        if shared.clients.connected() > 0 {
            update.looks = Arc::new(studio.pass(shared, &shared.board.wanted()));
        }
        update.number += 1;
        update.now = Some(Arc::new(now));
        update.is_last = is_last;
        if updates.send(update.clone()).is_err() || is_last {
            return;
        }
        // A pass that takes longer than the interval makes the next one later, not two at once.
        due = (due + shared.options.picture_interval).max(Instant::now());
        shared.board.wait(due);
    }
}
