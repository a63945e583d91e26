//! What to look at while no packets come: asked of the host in a thread of its own, at most once a minute.

use crate::feed_view;
use crate::json_object::json_object;
use crate::shared::{Shared, lock};
use evforge_outputs::{HostAdvice, HostFinding};
use serde::Serialize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// Whether packets come is looked at so often.
const LOOKS: Duration = Duration::from_secs(1);
/// The host is asked at most so often.
const RARELY: Duration = Duration::from_secs(60);
/// More would not be read.
const MOST: usize = 5;

json_object! {
    /// A finding of `evforge doctor`.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct AdviceState {
        /// What it is about: "receive buffer".
        pub subject: String,
        /// What was found.
        pub found: String,
        /// What would be right.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub wanted: Option<String>,
        /// The command or the setting that mends it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub fix: Option<String>,
    }
}

/// Whom to ask, and what was found last.
#[derive(Debug)]
pub(crate) struct Advice {
    of: Option<Arc<dyn HostAdvice>>,
    told: Mutex<Vec<AdviceState>>,
}

impl Advice {
    pub(crate) fn new(of: Option<Arc<dyn HostAdvice>>) -> Self {
        Self { of, told: Mutex::default() }
    }

    /// What was found; nothing while packets come.
    pub(crate) fn told(&self) -> Vec<AdviceState> {
        lock(&self.told).clone()
    }
}

/// Asks while no packets come, until the run is not shown any more.
pub(crate) async fn ask(shared: Arc<Shared>, mut is_over: watch::Receiver<bool>) {
    let Some(advice) = shared.advice.of.clone() else { return };
    let mut ticks = interval(LOOKS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked: Option<Instant> = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = over(&mut is_over) => return,
        }
        let state = feed_view::of(&shared.streams(), Instant::now()).state;
        if !["waiting", "stalled"].contains(&state) {
            lock(&shared.advice.told).clear();
            continue;
        }
        if asked.is_some_and(|at| at.elapsed() < RARELY) {
            continue;
        }
        asked = Some(Instant::now());
        let advice = Arc::clone(&advice);
        // The panic of one that asks has said so itself; there is no advice then.
        let findings = tokio::task::spawn_blocking(move || advice.findings()).await.unwrap_or_default();
        *lock(&shared.advice.told) = findings.into_iter().take(MOST).map(of_finding).collect();
    }
}

async fn over(is_over: &mut watch::Receiver<bool>) {
    let _ = is_over.wait_for(|&over| over).await;
}

fn of_finding(finding: HostFinding) -> AdviceState {
    let HostFinding { subject, found, wanted, fix } = finding;
    AdviceState { subject, found, wanted, fix }
}
