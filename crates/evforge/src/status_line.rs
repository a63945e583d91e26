//! One line a second about a live run.

use evforge_core::run_state::{LedgerTotals, RunState};
use evforge_log::console;
use evforge_pipeline::report::{grouped, scaled};
use std::io::IsTerminal;
use std::time::Duration;

/// Lines between those that are shown where nobody watches a terminal.
const PLAIN_EVERY: u32 = 10;

/// Shows the state of a live run on standard error: on a terminal one line that changes every second,
/// elsewhere a line every ten seconds.
pub(crate) struct StatusLine {
    quiet: bool,
    terminal: bool,
    lines: u32,
    before: Totals,
}

#[derive(Clone, Copy, Default)]
struct Totals {
    elapsed: Duration,
    packets: u64,
    bytes: u64,
    /// None if the detector does not count them.
    readouts: Option<u64>,
    events: u64,
}

impl Totals {
    fn of(state: &RunState) -> Self {
        let totals = LedgerTotals::of(&state.ledger);
        Self {
            elapsed: state.elapsed,
            packets: totals.packets,
            bytes: state.stage_value("receive", "bytes").unwrap_or(0),
            readouts: totals.readouts,
            events: totals.events,
        }
    }
}

impl StatusLine {
    /// A display; `quiet` shows nothing.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, terminal: std::io::stderr().is_terminal(), lines: 0, before: Totals::default() }
    }

    /// Shows a state.
    pub(crate) fn show(&mut self, state: &RunState) {
        let now = Totals::of(state);
        let seconds = (now.elapsed - self.before.elapsed).as_secs_f64().max(1e-3);
        let rate = |now: u64, before: u64| scaled((now - before.min(now)) as f64 / seconds);
        let before = self.before;
        self.before = now;
        self.lines += 1;
        if self.quiet || !self.terminal && !self.lines.is_multiple_of(PLAIN_EVERY) {
            return;
        }
        let readouts = now.readouts.map(|readouts| rate(readouts, before.readouts.unwrap_or(0)));
        let line = format!(
            "{:6.0} s  {}  {} packets/s  {}bit/s  {} readouts/s  {} events/s  lost {}  unaccounted {}",
            now.elapsed.as_secs_f64(),
            state.feed.in_short(),
            rate(now.packets, before.packets),
            rate(8 * now.bytes, 8 * before.bytes),
            readouts.as_deref().unwrap_or("unknown"),
            rate(now.events, before.events),
            state.loss(),
            grouped(state.ledger.unaccounted()),
        );
        if self.terminal {
            console::show_state(&line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Ends the line.
    pub(crate) fn finish(&self) {
        console::end_state();
    }
}
