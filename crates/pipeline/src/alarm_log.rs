//! Says in the log which alarms begin, change and are over.

use evforge_core::alarm::{Alarm, AlarmHistory, Rank, Turn};
use evforge_core::feed::in_words;
use evforge_core::run_state::RunState;
use evforge_log::group;

/// The alarms of a run from its start.
#[derive(Debug, Default)]
pub struct AlarmLog {
    history: AlarmHistory,
}

impl AlarmLog {
    /// Takes a state of the run, `unix_ns` nanoseconds after 1970.
    pub fn observe(&mut self, state: &RunState, unix_ns: u64) {
        for turn in self.history.observe(state.elapsed, unix_ns, state.alarms()) {
            match turn {
                Turn::Begun(alarm) | Turn::Changed(alarm) => say(&alarm, &alarm.text),
                // What does not outlast the run ends with it.
                Turn::Over(..) if state.feed.name() == "ended" => {}
                Turn::Over(alarm, lasted) => {
                    say(&alarm, &format!("over after {}: {}", in_words(lasted), alarm.short));
                }
            }
        }
    }

    /// All alarms of the run, with their times.
    pub(crate) fn into_history(self) -> AlarmHistory {
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
