//! Outputs beside the view: one to which all is well, one that waits, one that fails.

use evforge_core::counter::CounterSnapshot;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_net::clock::SystemClock;
use evforge_outputs::{OutputSet, QueueSettings};
use std::sync::Arc;
use std::time::Duration;

evforge_core::counters! {
    /// Counters of a tally.
    struct TallyCounters: "tally" {
        batches: Information, Times, "Batches taken.";
        pulses: Information, Times, "Pulses in them.";
    }
}

/// Counts events in memory, and commits them when it is polled.
#[derive(Default)]
struct Tally {
    name: &'static str,
    counters: TallyCounters,
    progress: OutputProgress,
    /// It waits for ever.
    waits: bool,
    /// It fails with the first batch after so many events.
    fails_after: Option<u64>,
}

impl Tally {
    fn commit(&mut self) {
        self.progress.committed += std::mem::take(&mut self.progress.pending);
    }
}

impl Output for Tally {
    fn name(&self) -> String {
        self.name.into()
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        if self.waits {
            return Err(OutputError::Retry("asked to wait for ever, by --outputs".into()));
        }
        if self.fails_after.is_some_and(|most| self.progress.committed + self.progress.pending >= most) {
            return Err(OutputError::Final("asked to fail, <b>boldly</b>, by --outputs".into()));
        }
        self.counters.batches += 1;
        self.counters.pulses += batch.pulses().len() as u64;
        self.progress.pending += batch.len() as u64;
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        self.commit();
        Ok(())
    }

    fn progress(&self) -> OutputProgress {
        self.progress
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }

    fn finish(&mut self, _state: &Arc<RunState>) -> Result<(), OutputError> {
        self.commit();
        Ok(())
    }
}

/// Starts them, or none.
pub(crate) fn start(wanted: bool) -> std::io::Result<OutputSet> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let tally = |id: &str, queue: QueueSettings, tally: Tally| {
        (id.to_owned(), Box::new(tally) as Box<dyn Output>, queue)
    };
    // What waits for ever is not waited for at the end.
    let finish_within = Duration::from_secs(1);
    let large = QueueSettings { finish_within, ..QueueSettings::COMPLETE };
    let small = QueueSettings { events: 50_000, ..large };
    let outputs = vec![
        tally("good", large, Tally { name: "events counted", ..Tally::default() }),
        tally("slow", small, Tally { name: "events that wait", waits: true, ..Tally::default() }),
        // As a picture it only needs to be up to date: what it drops is no fault.
        tally(
            "picture",
            QueueSettings { may_drop: true, ..small },
            Tally { name: "a picture that waits", waits: true, ..Tally::default() },
        ),
        tally(
            "broken",
            large,
            Tally { name: "events until a failure", fails_after: Some(500_000), ..Tally::default() },
        ),
    ];
    let silent: evforge_outputs::OnWaiting = Arc::new(|_| {});
    OutputSet::start(if wanted { outputs } else { Vec::new() }, true, &clock, &silent)
}
