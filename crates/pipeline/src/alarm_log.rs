//! Says in the log which alarms begin, change and are over.

use evforge_core::alarm::{Alarm, AlarmHistory, Rank, Turn};
use evforge_core::feed::in_words;
use evforge_core::run_state::RunState;
use evforge_log::group;
use evforge_net::clock::wall_clock_ns;

/// The alarms of a run from its start.
#[derive(Debug, Default)]
pub struct AlarmLog {
    history: AlarmHistory,
}

impl AlarmLog {
    /// Takes a state of the run.
    pub fn observe(&mut self, state: &RunState) {
        for turn in self.history.observe(state.elapsed, wall_clock_ns(), state.alarms()) {
            match turn {
                Turn::Begun(alarm) | Turn::Changed(alarm) => say(&alarm, &alarm.text),
                Turn::Over(alarm, lasted) => {
                    say(&alarm, &format!("over after {}: {}", in_words(lasted), alarm.short));
                }
            }
        }
    }

    /// All alarms of the run with their times, when it has ended in this state: what does not last ends with it, in silence.
    pub(crate) fn end(mut self, state: &RunState) -> AlarmHistory {
        let turns = self.history.observe(state.elapsed, wall_clock_ns(), state.alarms());
        for turn in turns {
            if let Turn::Begun(alarm) | Turn::Changed(alarm) = turn {
                say(&alarm, &alarm.text);
            }
        }
        self.history
    }
}

fn say(alarm: &Alarm, text: &str) {
    let alarm_name = alarm.kind.name();
    match alarm.kind.rank() {
        Rank::DataAtRisk | Rank::Check => {
            tracing::warn!(target: group::INPUT, lead = "evforge", alarm = alarm_name, "{text}");
        }
        Rank::Note => tracing::info!(target: group::INPUT, lead = "evforge", alarm = alarm_name, "{text}"),
    }
}
