//! Which stages of a run are alive: what has moved on since somebody last asked.

use evforge_core::run_state::{LedgerTotals, RunState};

/// What is watched, in the order of the bits, from the lowest on.
pub const WATCHED: [&str; 3] =
    ["packets taken from the input", "events formed", "events taken by the outputs"];

/// What the watched stages had counted when somebody last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    last: [u64; WATCHED.len()],
}

impl Activity {
    /// A bit for each watched stage: set if its count is another one than when this was last called.
    pub fn observe(&mut self, state: &RunState) -> u32 {
        let totals = LedgerTotals::of(&state.ledger);
        let outputs = state.outputs.iter().map(|output| output.counters.accepted).sum();
        let now = [totals.packets, totals.events, outputs];
        let changed = now.iter().zip(&self.last).map(|(now, last)| u32::from(now != last));
        let bits = changed.enumerate().fold(0, |bits, (stage, changed)| bits | changed << stage);
        self.last = now;
        bits
    }
}
