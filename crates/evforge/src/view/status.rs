//! A line now and then of what comes in.

use evforge_core::run_state::RunState;
use evforge_log::console;
use evforge_net::clock::wall_clock_ns;
use evforge_pipeline::alarm_log::AlarmLog;
use evforge_pipeline::report::{grouped, scaled};
use std::io::IsTerminal;
use std::time::Duration;

/// One line that changes every second on a terminal, or a line in ten seconds elsewhere. The log has the alarms.
pub(super) struct Status {
    quiet: bool,
    terminal: bool,
    /// When the last line was shown, and messages, bytes and events by then.
    before: (Duration, (u64, u64, u64)),
    alarms: AlarmLog,
}

impl Status {
    /// A line; `quiet` shows none.
    pub(super) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            before: Default::default(),
            alarms: AlarmLog::default(),
        }
    }

    /// Shows a state, with the messages (or pulses), bytes and events that have come, if it is time to.
    pub(super) fn show(&mut self, state: &RunState, came: (u64, u64, u64)) {
        self.alarms.observe(state, wall_clock_ns());
        let (shown, (messages, bytes, events)) = self.before;
        let interval = Duration::from_secs(if self.terminal { 1 } else { 10 });
        let passed = state.elapsed.saturating_sub(shown);
        if self.quiet || passed < interval {
            return;
        }
        self.before = (state.elapsed, came);
        let rate = |now: u64, before: u64| scaled(now.saturating_sub(before) as f64 / passed.as_secs_f64());
        let of_topics = match state.ledger.counters.value("messages_behind") {
            Some(behind) => format!(
                "  {} messages/s  {}bit/s  lost {}  {} behind",
                rate(came.0, messages),
                rate(came.1.saturating_mul(8), bytes.saturating_mul(8)),
                state.loss(),
                grouped(behind),
            ),
            None => String::new(),
        };
        let line = format!(
            "{:6.0} s  {}  {} events  {} events/s{of_topics}",
            state.elapsed.as_secs_f64(),
            state.feed.in_short(),
            grouped(came.2),
            rate(came.2, events),
        );
        if self.terminal {
            console::show_state(&line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Ends the line.
    pub(super) fn finish(&self) {
        console::end_state();
    }
}
