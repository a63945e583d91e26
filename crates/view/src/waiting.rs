//! While no packets come, the host is asked what is wrong with it: in a thread of its own, at most once a minute.

use crate::at_work::at_work;
use crate::client::stopped;
use crate::feed_view;
use crate::shared::Shared;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// Whether packets come is looked at so often.
const LOOKS: Duration = Duration::from_secs(1);
/// The host is asked at most so often.
const RARELY: Duration = Duration::from_secs(60);

/// Asks while no packets come, until the run is not shown any more.
pub(crate) async fn ask(shared: Arc<Shared>, mut is_over: watch::Receiver<bool>) {
    let Some(advice) = shared.advice.of.clone() else { return };
    let mut ticks = interval(LOOKS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked: Option<Instant> = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut is_over) => return,
        }
        let state = feed_view::of(&shared.streams(), Instant::now()).state;
        if !["waiting", "stalled"].contains(&state) {
            shared.advice.tell(Vec::new());
            continue;
        }
        if asked.is_some_and(|at| at.elapsed() < RARELY) {
            continue;
        }
        asked = Some(Instant::now());
        let advice = Arc::clone(&advice);
        // A panic there has said so itself; there is no advice then.
        let findings = at_work(move || advice.findings()).await.unwrap_or_default();
        shared.advice.tell(findings);
    }
}
