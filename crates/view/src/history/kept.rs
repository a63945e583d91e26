//! What is kept of a run, and the clock by which it is kept.

use super::recorder::Recorder;
use evforge_metrics::{Kind, Metric, Reading, Value};
use std::sync::Mutex;
use std::time::Instant;

/// What the view knows by itself. It is in no text of `/metrics`: events that have reached the page are those of the output.
pub(super) const VIEW_EVENTS: Metric = Metric {
    group: "view",
    name: "events",
    unit: Some("events"),
    kind: Kind::Counter,
    labels: &[],
    help: "Events that have reached the live view, five times a second.",
};

/// The same for packets.
pub(super) const LIVE_FRACTION: Metric = Metric {
    group: "view",
    name: "live_fraction",
    unit: Some("ratio"),
    kind: Kind::Gauge,
    labels: &[],
    help: "The share of the packets of that second that arrived: received / (received + lost). Absent without packets or numbers.",
};

/// A value that is known besides the events.
pub(super) const VALUE: Metric = Metric {
    group: "view",
    name: "value",
    unit: None,
    kind: Kind::Gauge,
    labels: &["value"],
    help: "A value that came with the events: the newest of a log, or how fast a sum grows.",
};

/// All series of a run, and the clock by which they are kept: that of the system when the view was started, and the time since.
#[derive(Debug)]
pub(crate) struct SeriesHistory {
    started_ms: u64,
    started: Instant,
    pub(super) recorder: Mutex<Recorder>,
}

impl SeriesHistory {
    pub(crate) fn new(started_ms: u64) -> Self {
        let mut recorder = Recorder::default();
        // It is there before the first second has gone by.
        recorder.announce(&Reading::of(&VIEW_EVENTS, &[], Value::Whole(0)));
        Self { started_ms, started: Instant::now(), recorder: Mutex::new(recorder) }
    }

    /// Milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        self.started_ms + self.started.elapsed().as_millis() as u64
    }

    /// The second that goes on.
    pub(super) fn second(&self) -> u64 {
        self.now_ms() / 1000
    }
}
