//! The output: makes a block of lines at every interval.

use super::buffer::GraphiteCounters;
use super::lines::lines;
use super::sender::Sender;
use crate::host::Host;
use crate::reading::Section;
use crate::run::run_metrics;
use evforge_core::counter::CounterSnapshot;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_outputs::OutputContext;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long the rest may take at the end.
const LAST: Duration = Duration::from_millis(800);

/// Where lines go, and how.
#[derive(Clone, Debug)]
pub struct Target {
    /// Host and port of carbon.
    pub address: String,
    /// What every path begins with.
    pub prefix: String,
    /// Time between values.
    pub interval: Duration,
    /// Most bytes of lines that are kept.
    pub buffer: usize,
    /// Whether the host and this process are sent as well.
    pub host: bool,
}

/// Sends what is counted to Graphite; see the [module](super). Events are no business of its own: it takes them all and
/// leaves them out, which its counters say as those of every output do.
#[derive(Debug)]
pub struct GraphiteOutput {
    address: String,
    prefix: String,
    stream: String,
    detector: String,
    interval: Duration,
    clock: Arc<dyn Clock>,
    sender: Sender,
    /// What was known last.
    state: Arc<RunState>,
    host: Option<Host>,
    /// When the last block was made.
    made: Option<Duration>,
    events: u64,
}

impl GraphiteOutput {
    /// Starts the thread that connects. Graphite may be away: it is tried again.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn start(target: Target, context: &OutputContext) -> io::Result<Self> {
        let mut output = Self {
            sender: Sender::start(&target.address, target.buffer)?,
            address: target.address,
            prefix: target.prefix,
            stream: context.instrument.clone(),
            detector: context.detector.clone(),
            interval: target.interval,
            clock: Arc::clone(&context.clock),
            state: Arc::new(context.state_at_start()),
            host: target.host.then(Host::default),
            made: None,
            events: 0,
        };
        output.tick();
        Ok(output)
    }

    /// Makes a block if it is time to. Its time is that at which it was due, so that no interval is without one because
    /// this is called a little earlier or later; unless it is late by far.
    fn tick(&mut self) {
        let (now, unix) = (self.clock.elapsed(), self.unix_time());
        let due = self.made.map_or(now, |made| made + self.interval);
        let Some(late) = now.checked_sub(due) else { return };
        let late = if late < self.interval { late } else { Duration::ZERO };
        self.made = Some(now - late);
        self.make(unix.saturating_sub(late));
    }

    fn unix_time(&self) -> Duration {
        Duration::from_nanos(self.clock.unix_ns())
    }

    /// Makes a block of this time, since 1970. Readings of the host may take some milliseconds: their time is that before them.
    fn make(&mut self, time: Duration) {
        let mut sections = vec![Section::of_run(&self.stream, &self.detector, run_metrics(&self.state))];
        sections.extend(self.host.as_ref().map(|host| Section::of_host(host.readings())));
        self.sender.push(&lines(&self.prefix, &sections, time.as_secs()));
    }
}

impl Output for GraphiteOutput {
    fn name(&self) -> String {
        format!("counters to Graphite at {}", self.address)
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        self.events += batch.len() as u64;
        self.tick();
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        self.tick();
        self.sender.away().map_or(Ok(()), |why| Err(OutputError::Retry(why)))
    }

    fn observe(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        self.state = Arc::clone(state);
        self.tick();
        Ok(())
    }

    fn progress(&self) -> OutputProgress {
        OutputProgress { left_out: self.events, ..OutputProgress::default() }
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.sender.counters())
    }

    /// The last values are those of the report. That Graphite is away does not make a run a failure: what it did not get
    /// is counted as dropped.
    fn finish(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        self.state = Arc::clone(state);
        self.make(self.unix_time());
        self.sender.end(LAST);
        Ok(())
    }

    fn abandon(&mut self) -> Option<String> {
        self.make(self.unix_time());
        self.sender.end(LAST);
        let GraphiteCounters { lines_dropped, .. } = self.sender.counters();
        (lines_dropped > 0).then(|| format!("{lines_dropped} lines were not sent to Graphite"))
    }
}
