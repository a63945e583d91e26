//! Makes the updates that all browsers share, at most one per picture interval.

use crate::frame::Picture;
use crate::protocol::Now;
use crate::shared::{Shared, lock};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// The newest state of things, with the picture if one has been made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Update {
    /// Number of the update, from 1; 0 is none.
    pub(crate) number: u64,
    /// Number of the picture in `frame`, from 1; 0 is none.
    pub(crate) picture: u32,
    /// The picture, encoded once for all.
    pub(crate) frame: Bytes,
    /// What goes with it; none in update 0.
    pub(crate) now: Option<Arc<Now>>,
}

/// Makes updates until `updates` has no receiver left or the task is dropped. Pictures are made only while
/// somebody watches and only when there are new events.
pub(crate) async fn make_updates(shared: Arc<Shared>, updates: watch::Sender<Update>) {
    let mut ticks = interval(shared.options.picture_interval);
    // A picture that takes longer than the interval makes the next one later, not two at once.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut update = Update::default();
    let mut pictured = None;
    loop {
        ticks.tick().await;
        let now = shared.now();
        lock(&shared.history).update(Instant::now(), shared.totals(&now));
        let newest = (now.events, shared.replaced());
        if shared.clients.connected.load(Relaxed) > 0 && pictured != Some(newest) {
            // Counted before the picture is made: events that come meanwhile make the next one.
            pictured = Some(newest);
            update.picture += 1;
            update.frame = shared.picture(update.picture).encode();
        }
        update.number += 1;
        update.now = Some(Arc::new(now));
        if updates.send(update.clone()).is_err() {
            return;
        }
    }
}

/// The picture now, for a script.
pub(crate) fn picture_now(shared: &Shared) -> Picture {
    // Scripts compare contents, not numbers: the number of events modulo 2^32 changes with the picture.
    shared.picture(shared.events() as u32)
}
