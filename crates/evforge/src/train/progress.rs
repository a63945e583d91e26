//! How a node is getting on, a line at a time.

use evforge_log::console;
use evforge_pipeline::report::{grouped, scaled};
use evforge_train::node::NodeProgress;
use std::io::IsTerminal;

/// One line a second on a terminal, or one in ten seconds elsewhere.
pub(super) struct ProgressLine {
    quiet: bool,
    terminal: bool,
    /// Second of the last line, and packets and bytes by then.
    before: (u64, u64, u64),
}

impl ProgressLine {
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet, terminal: std::io::stderr().is_terminal(), before: (0, 0, 0) }
    }

    pub(super) fn show(&mut self, progress: &NodeProgress) {
        let (second, packets_before, bytes_before) = self.before;
        let interval = if self.terminal { 1 } else { 10 };
        let now = progress.elapsed.as_secs();
        if self.quiet || now < second + interval {
            return;
        }
        let (counters, seconds) = (&progress.assembly, (now - second) as f64);
        self.before = (now, counters.packets_received, counters.bytes_received);
        let incomplete = counters.trains_timed_out + counters.trains_superseded;
        let line = format!(
            "{now:6} s  {} trains  {} incomplete  {} packets/s  {}bit/s",
            grouped(counters.trains_good),
            grouped(incomplete),
            scaled((counters.packets_received - packets_before) as f64 / seconds),
            scaled((counters.bytes_received - bytes_before) as f64 * 8.0 / seconds),
        );
        if self.terminal {
            console::show_state(&line);
        } else {
            eprintln!("{line}");
        }
    }

    pub(super) fn finish(&self) {
        console::end_state();
    }
}
