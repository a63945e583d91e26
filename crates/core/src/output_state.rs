//! One output at one moment: how far it has come, and what happened to the events that it was offered.

use crate::alarm::{Alarm, AlarmKind};
use crate::counter::CounterSnapshot;
use crate::quantity::grouped;

/// How far an output has come with the events that it has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputProgress {
    /// Events that are where they belong.
    pub committed: u64,
    /// Events taken that are not yet.
    pub pending: u64,
    /// Events taken that have no place there; why is in the output's own counters.
    pub left_out: u64,
    /// Events taken that the other side has refused for good; why is in the output's own counters.
    pub failed: u64,
}

crate::counters! {
    /// Counters of any output: offered = committed + left out + failed + dropped + missed + queued + pending, in every snapshot.
    pub struct OutputCounters: "output" {
        offered: Enters(Outputs), Events, "Events offered to the output.";
        committed: Leaves(Outputs), Events, "Events that are where they belong.";
        left_out: Discarded(Outputs), Events, "Events taken that have no place there; why is in the output's own counters.";
        failed: Discarded(Outputs), Events, "Events taken that the other side has refused for good; why is in the output's own counters.";
        dropped: Discarded(Outputs), Events, "Events dropped because the queue of the output was full.";
        missed: Discarded(Outputs), Events, "Events that the output did not get, or did not keep, because it had failed.";
        queued: Held(Outputs), Events, "Events that wait for the output.";
        pending: Held(Outputs), Events, "Events taken that are not yet where they belong.";
        accepted: Information, Events, "Events taken.";
        queued_bytes: Now, Bytes, "Memory of what waits for the output.";
        pulses_lost: Information, Times, "Pulses that began in batches that were dropped or missed. One that goes on in a batch that was taken begins there for the output, so this is an upper bound.";
        retries: Information, Times, "Times at which the output could not go on for a while, and tried again.";
        interruptions: Information, Times, "Times at which the output began to wait for a cause to pass.";
    }
}

impl OutputCounters {
    /// Takes over what the output says of its progress.
    pub fn set_progress(&mut self, progress: OutputProgress) {
        (self.committed, self.pending) = (progress.committed, progress.pending);
        (self.left_out, self.failed) = (progress.left_out, progress.failed);
    }
}

/// One output at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputState {
    /// Its name in the configuration: "nexus".
    pub id: String,
    /// What it is, for people: "events in run.nxs".
    pub name: String,
    /// What happened to the events that it was offered.
    pub counters: OutputCounters,
    /// What it counts itself.
    pub own: CounterSnapshot,
    /// Why it is waiting at this moment, if it is.
    pub waiting: Option<String>,
    /// The first cause that it had to wait for.
    pub interruption: Option<String>,
    /// Why it has failed, if it has.
    pub failure: Option<String>,
    /// What it left behind after it, or the input, had failed.
    pub note: Option<String>,
    /// True if it only needs to be up to date, so that what it drops is no fault: pictures.
    pub may_drop: bool,
}

impl OutputState {
    /// True if everything it was offered is, or will be, where it belongs.
    pub fn is_whole(&self) -> bool {
        let lost = self.counters.dropped + self.counters.missed + self.counters.failed;
        self.failure.is_none() && (self.may_drop || lost == 0)
    }

    /// The worst that is wrong with it; none if nothing is.
    pub fn alarm(&self) -> Option<Alarm> {
        let Self { id, name, counters, .. } = self;
        let (kind, short, text) = if let Some(failure) = &self.failure {
            (AlarmKind::OutputFailed, "has failed", format!("FAILED OUTPUT: {name}: {failure}"))
        } else if let Some(waiting) = &self.waiting {
            let lost = match counters.dropped {
                0 => String::new(),
                dropped => format!(" {dropped} events were dropped so far."),
            };
            (AlarmKind::OutputWaiting, "waits", format!("{name} is waiting: {waiting}.{lost}"))
        } else if counters.failed > 0 {
            let text = format!("{name}: {} events were refused by the other side", counters.failed);
            (AlarmKind::OutputRefused, "is refused events", text)
        } else if counters.dropped > 0 && !self.may_drop {
            let text = format!("{name}: {} events were dropped, it is too slow", counters.dropped);
            (AlarmKind::OutputDropped, "has dropped events", text)
        } else {
            (AlarmKind::EventsLate, "has late events", self.late_events()?)
        };
        Some(Alarm::new(kind, format!("{id} {short}"), text).about(id.clone()))
    }

    /// Events of a file that are in no order of time; none if there are none.
    pub fn late_events(&self) -> Option<String> {
        let late = self.own.value("events_late").filter(|late| *late > 0)?;
        Some(format!(
            "{}: {} events are in events_late of their group: their pulse is earlier than the newest one before them. See why the \
             detector's clock went back (pulse_steps_back, pulse_clock_restarts)",
            self.name,
            grouped(late)
        ))
    }

    /// All counters: those of any output, then its own.
    pub fn all_counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters).join(&self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::{CounterSet, Law};

    #[test]
    fn every_event_offered_to_an_output_is_somewhere() {
        let mut counters =
            OutputCounters { offered: 10, dropped: 1, missed: 2, queued: 3, ..Default::default() };
        counters.set_progress(OutputProgress { committed: 2, pending: 1, left_out: 1, failed: 0 });
        assert_eq!(counters.imbalance(Law::Outputs), 0);
        counters.missed -= 1;
        assert_eq!(counters.imbalance(Law::Outputs), 1);
    }

    #[test]
    fn an_output_tells_the_worst_first() {
        let mut state = OutputState { name: "events in a.csv".into(), ..Default::default() };
        assert!(state.is_whole() && state.alarm().is_none());
        state.counters.dropped = 7;
        assert!(!state.is_whole() && state.alarm().is_some_and(|alarm| alarm.text.contains("too slow")));
        state.may_drop = true;
        assert!(state.is_whole() && state.alarm().is_none());
        state.may_drop = false;
        (state.counters.dropped, state.counters.failed) = (0, 3);
        assert!(
            !state.is_whole()
                && state.alarm().is_some_and(|alarm| alarm.text.contains("3 events were refused"))
        );
        (state.counters.dropped, state.counters.failed) = (7, 0);
        state.waiting = Some("no space left".into());
        assert!(
            state.alarm().is_some_and(|alarm| alarm.text.contains("is waiting: no space left. 7 events"))
        );
        state.failure = Some("gone".into());
        assert!(
            !state.is_whole() && state.alarm().is_some_and(|alarm| alarm.text.starts_with("FAILED OUTPUT"))
        );
    }
}
