//! The output: takes batches, makes messages of them, and knows what became of each event.

use super::about_run::AboutRun;
use super::counters::KafkaCounters;
use super::maker::{MessageMaker, Outlet};
use super::packer::Packer;
use super::sender::Sender;
use evforge_core::counter::CounterSnapshot;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::quantity::grouped;
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use std::sync::Arc;
use std::time::Duration;

/// How long a call at the end of the run goes on without an acknowledgement before it says that there are none.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long librdkafka is waited for at a time.
const SHORT: Duration = Duration::from_millis(5);

/// Events to Kafka. Made by [`KafkaSettings`](super::KafkaSettings).
pub(crate) struct KafkaOutput {
    pub(super) name: String,
    pub(super) packer: Packer,
    pub(super) maker: MessageMaker,
    pub(super) sender: Sender,
    pub(super) about_run: AboutRun,
    pub(super) counters: KafkaCounters,
    pub(super) clock: Arc<dyn Clock>,
    /// The last state has been sent.
    pub(super) has_said_the_end: bool,
}

impl KafkaOutput {
    /// Makes messages of what was taken as long as there is room for them.
    fn pack(&mut self) {
        let now = self.clock.elapsed();
        let mut outlet =
            Outlet { maker: &mut self.maker, sender: &mut self.sender, now, unix_ns: self.clock.unix_ns() };
        while self.packer.has_batch() && outlet.sender.has_room() {
            self.packer.step(now, &mut outlet, &mut self.counters);
        }
    }

    fn pump(&mut self, wait: Duration) -> Result<(), OutputError> {
        let (now, unix_ns) = (self.clock.elapsed(), self.clock.unix_ns());
        self.sender.pump(wait, now, unix_ns, &mut self.counters)
    }

    fn pending(&self) -> u64 {
        self.packer.events_left() + self.packer.events_open() + self.sender.pending_events()
    }
}

impl Output for KafkaOutput {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        if self.packer.has_batch() || !self.sender.has_room() {
            // What is in the way is said by `poll`.
            let _ = self.pump(Duration::ZERO);
            self.pack();
            if self.packer.has_batch() || !self.sender.has_room() {
                return Ok(Taken::NotNow);
            }
        }
        self.packer.take(batch);
        self.pack();
        let _ = self.pump(Duration::ZERO);
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        let pumped = self.pump(Duration::ZERO);
        self.pack();
        let now = self.clock.elapsed();
        let unix_ns = self.clock.unix_ns();
        if self.sender.has_room() {
            let mut outlet = Outlet { maker: &mut self.maker, sender: &mut self.sender, now, unix_ns };
            self.packer.close_old(now, &mut outlet, &mut self.counters);
        }
        self.about_run.send_samples(&mut self.sender, now, unix_ns, &mut self.counters);
        pumped
    }

    fn observe(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        let (now, unix_ns) = (self.clock.elapsed(), self.clock.unix_ns());
        self.about_run.observe(state, &self.maker, &mut self.sender, now, unix_ns, &mut self.counters);
        Ok(())
    }

    fn progress(&self) -> OutputProgress {
        let counters = &self.counters;
        OutputProgress {
            committed: self.sender.acknowledged_events(),
            pending: self.pending(),
            left_out: counters.events_outside_epoch
                + counters.events_outside_pulse
                + counters.events_outside_sources
                + counters.events_vetoed,
            failed: self.sender.failed_events(),
        }
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }

    fn finish(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        let mut heard = self.clock.elapsed();
        self.pack();
        if self.sender.has_room() && !self.packer.has_batch() {
            let (now, unix_ns) = (heard, self.clock.unix_ns());
            let mut outlet = Outlet { maker: &mut self.maker, sender: &mut self.sender, now, unix_ns };
            self.packer.close_all(&mut outlet, &mut self.counters);
        }
        loop {
            let before = self.sender.messages_waiting();
            let pumped = self.pump(SHORT);
            if matches!(pumped, Err(OutputError::Final(_))) {
                // Says more than the messages that failed for it.
                return pumped;
            }
            self.pack();
            let sent = self.counters.sample_messages;
            let (now, unix_ns) = (self.clock.elapsed(), self.clock.unix_ns());
            self.about_run.send_samples(&mut self.sender, now, unix_ns, &mut self.counters);
            let waiting = self.sender.messages_waiting();
            let is_all_there = waiting == 0 && self.pending() == 0 && !self.about_run.has_samples();
            if is_all_there && !self.has_said_the_end {
                let outcome = self.progress();
                let Self { about_run, maker, sender, counters, .. } = self;
                // Nothing else waits: what finds no room now would not find it later.
                about_run.end(state, outcome, maker, sender, now, unix_ns, counters);
                self.has_said_the_end = true;
                continue;
            }
            if is_all_there {
                let failed = self.sender.failed_events();
                let reason = self.sender.last_failure().filter(|_| failed > 0);
                return reason.map_or(Ok(()), |reason| {
                    Err(OutputError::Final(format!("{} events were refused: {reason}", grouped(failed))))
                });
            }
            pumped?;
            let progresses = waiting < before || self.counters.sample_messages > sent;
            heard = if progresses { self.clock.elapsed() } else { heard };
            if self.clock.elapsed().saturating_sub(heard) >= PATIENCE {
                let (messages, events) = (grouped(waiting), grouped(self.pending()));
                let text =
                    format!("the last {messages} messages with {events} events are not acknowledged yet");
                return Err(OutputError::Retry(text));
            }
        }
    }

    fn abandon(&mut self) -> Option<String> {
        let (now, unix_ns) = (self.clock.elapsed(), self.clock.unix_ns());
        self.sender.give_up(now, unix_ns, &mut self.counters);
        let acknowledged = grouped(self.sender.acknowledged_events());
        let unacknowledged = self.pending() + self.sender.failed_events();
        let mut note =
            format!("{acknowledged} events were acknowledged, {} were not", grouped(unacknowledged));
        if let Some(messages) = self.sender.spill_left() {
            let messages = grouped(messages);
            note += &format!(
                "; {messages} messages are in the spill, and are sent by the next run with the same spill_folder"
            );
        }
        Some(note)
    }
}
