//! Packets that a source has lost lately.

use super::kind::{Alarm, AlarmKind};
use crate::feed::in_words;
use crate::quantity::grouped;
use std::time::Duration;

/// Packets that a source has lost lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentLoss {
    /// The source; empty where packets have no numbers, and only this host's counters know.
    pub source: String,
    /// Packets lost since this loss began.
    pub lost: u64,
    /// Time from its first lost packet to its last.
    pub lasted: Duration,
}

impl RecentLoss {
    pub(super) fn alarm(&self, place: &str) -> Alarm {
        let Self { source, lost, lasted } = self;
        let packets = format!("{} {}", grouped(*lost), if *lost == 1 { "packet" } else { "packets" });
        let short = format!(
            "{packets}{} lost",
            if source.is_empty() { String::new() } else { format!(" of {source}") }
        );
        let within =
            if lasted.as_secs() == 0 { String::new() } else { format!(" within {}", in_words(*lasted)) };
        Alarm::of(AlarmKind::Loss, short.clone(), format!("{short}{within} ({place})")).about(source.clone())
    }
}
