//! The worker: trains to sinks.

use super::counters::NodeCounters;
use super::delivery::Queued;
use super::sink::{SinkError, TrainSink};
use crate::assembly::TrainBuffer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often sinks are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What the worker leaves.
pub(super) struct Worked {
    pub(super) counters: NodeCounters,
    /// Why a sink has failed.
    pub(super) failure: Option<SinkError>,
    /// Time in sinks.
    pub(super) busy: Duration,
}

/// Gives trains to all sinks, and their buffers `back` to the threads they came from, until no receiving thread is left. A sink that
/// fails sets `failed`.
pub(super) fn work(
    trains: &Receiver<Queued>,
    back: impl Fn(usize, TrainBuffer),
    sinks: &mut [Box<dyn TrainSink>],
    failed: &AtomicBool,
) -> Worked {
    let mut worked = Worked { counters: NodeCounters::default(), failure: None, busy: Duration::ZERO };
    let mut polled = Instant::now();
    loop {
        let queued = trains.recv_timeout(POLL_INTERVAL);
        if matches!(queued, Err(RecvTimeoutError::Disconnected)) {
            break;
        }
        let begun = Instant::now();
        if let Ok(Queued { thread, mut train }) = queued {
            if worked.failure.is_none() {
                let outcome = sinks.iter_mut().try_for_each(|sink| sink.take(&mut train));
                worked.counters.trains_worked_on += u64::from(outcome.is_ok());
                worked.counters.trains_not_taken += u64::from(outcome.is_err());
                worked.fail(outcome, failed);
            } else {
                worked.counters.trains_not_taken += 1;
            }
            if let Some(buffer) = train.train.into_buffer() {
                back(thread, buffer);
            }
        }
        if polled.elapsed() >= POLL_INTERVAL && worked.failure.is_none() {
            polled = Instant::now();
            let outcome = sinks.iter_mut().try_for_each(|sink| sink.poll());
            worked.fail(outcome, failed);
        }
        worked.busy += begun.elapsed();
    }
    // All of them, also those beside one that has failed: what they have taken is to be safe.
    for sink in sinks {
        let outcome = sink.finish();
        worked.fail(outcome, failed);
    }
    worked
}

impl Worked {
    /// Remembers the first failure.
    fn fail(&mut self, outcome: Result<(), SinkError>, failed: &AtomicBool) {
        if let Err(error) = outcome {
            failed.store(true, Ordering::Relaxed);
            self.failure.get_or_insert(error);
        }
    }
}
