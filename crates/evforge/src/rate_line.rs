//! A line now and then of what is received, with rates.

use evforge_log::console;
use evforge_pipeline::report::scaled;
use std::io::IsTerminal;
use std::time::Duration;

/// One line a second on a terminal, or one in ten seconds elsewhere.
pub(crate) struct RateLine {
    quiet: bool,
    terminal: bool,
    /// Second of the last line, and packets and bytes by then.
    before: (u64, u64, u64),
}

impl RateLine {
    /// A line; `quiet` shows none.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, terminal: std::io::stderr().is_terminal(), before: (0, 0, 0) }
    }

    /// Shows how far it is, if it is time to: packets and bytes so far, of which `text` gets the rates since the last line, as
    /// `12 k packets/s  3 Mbit/s`.
    pub(crate) fn show(
        &mut self,
        elapsed: Duration,
        (packets, bytes): (u64, u64),
        text: impl FnOnce(&str) -> String,
    ) {
        let (second, packets_before, bytes_before) = self.before;
        let interval = if self.terminal { 1 } else { 10 };
        let now = elapsed.as_secs();
        if self.quiet || now < second + interval {
            return;
        }
        let seconds = (now - second) as f64;
        self.before = (now, packets, bytes);
        let rates = format!(
            "{} packets/s  {}bit/s",
            scaled((packets - packets_before) as f64 / seconds),
            scaled((bytes - bytes_before) as f64 * 8.0 / seconds),
        );
        let line = format!("{now:6} s  {}", text(&rates));
        if self.terminal {
            console::show_state(&line);
        } else {
            eprintln!("{line}");
        }
    }

    /// The last line is over.
    pub(crate) fn finish(&self) {
        console::end_state();
    }
}
