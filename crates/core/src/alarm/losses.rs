//! Which sources lose packets: a loss begins with its first packet, and is over when a minute has passed without a further one.

use super::recent_loss::RecentLoss;
use crate::ledger::Loss;
use crate::run_state::RunState;
use std::collections::BTreeMap;
use std::time::Duration;

/// A loss is over when so much time has passed without another lost packet.
const OVER_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    lost: u64,
    /// When the present loss began, and what was lost before it.
    begun: Option<(Duration, u64)>,
    /// When a packet was last found lost.
    rose: Duration,
}

/// Watches the sources of a run.
#[derive(Clone, Debug, Default)]
pub struct LossWatch {
    sources: BTreeMap<String, Seen>,
}

impl LossWatch {
    /// Puts the sources that lose packets now into the state of a run. A packet that came late is not lost any more.
    pub fn observe(&mut self, state: &mut RunState) {
        let now = state.elapsed;
        let (ledger, losses) = (&state.ledger, &state.losses);
        let numbered = ledger.sources.iter().filter_map(|source| match source.packets.loss() {
            Loss::Exactly(lost) | Loss::AtLeast(lost) => Some((source.name.as_str(), lost)),
            Loss::Unknown => None,
        });
        let mut lost: BTreeMap<&str, u64> = numbered.collect();
        if lost.is_empty() {
            lost.insert("", losses.placed());
        }
        let recent = lost.into_iter().filter_map(|(source, lost)| self.observe_source(now, source, lost));
        state.recent_losses = recent.collect();
    }

    fn observe_source(&mut self, now: Duration, source: &str, lost: u64) -> Option<RecentLoss> {
        if lost == 0 && !self.sources.contains_key(source) {
            return None;
        }
        let seen = self.sources.entry(source.to_owned()).or_default();
        if lost > seen.lost {
            seen.rose = now;
            seen.begun.get_or_insert((now, seen.lost));
        }
        seen.lost = lost;
        let (begun, before) = seen.begun?;
        if lost <= before || now.saturating_sub(seen.rose) >= OVER_AFTER {
            seen.begun = None;
            return None;
        }
        let lasted = seen.rose.saturating_sub(begun);
        Some(RecentLoss { source: source.to_owned(), lost: lost - before, lasted })
    }
}
