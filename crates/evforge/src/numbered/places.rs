//! Where numbered packets were lost: the places that the receiver knows, and the sender.

use evforge_measure::numbered::ReceiveReport;
use evforge_pipeline::loss_places::{LossCounts, LossPlaces};

/// The places of losses.
pub(super) struct Places {
    /// Those between the wire and us.
    pub(super) here: LossPlaces,
    /// Lost by the sender's host. Its counters are the host's: other traffic may be in them, so it is no more than is missing.
    pub(super) sender: u64,
    /// Missing, and no counter moved.
    pub(super) unlocated: u64,
}

/// Places what is missing.
pub(super) fn places(report: &ReceiveReport) -> Places {
    let here = LossPlaces::join(&LossCounts {
        sequence: report.packets().lost,
        receiver: report.received.losses,
        host: report.received.host,
        numbered: true,
        ..LossCounts::default()
    });
    let sender = here.unlocated.min(report.lost_at_senders());
    Places { sender, unlocated: here.unlocated - sender, here }
}
