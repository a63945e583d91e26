//! The first readouts that nothing is wired to: what a person has to look for in the configuration.

use crate::first_cases::FirstCases;
use evforge_wire::ess::Vmm3aReadout;

/// Why a channel is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotUsed {
    Ring,
    Fen,
    Hybrid,
    Channel,
    Masked,
}

/// What the configuration does not mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
struct Case {
    ring: u8,
    fen: u8,
    hybrid: u8,
    /// VMM and channel, where the hybrid is configured and the channel is not.
    channel: Option<(u8, u8)>,
}

/// The first cases, with the readouts of each.
#[derive(Debug, Default, get_size2::GetSize)]
pub(super) struct Unwired(FirstCases<Case>);

impl Unwired {
    /// Takes note of a readout.
    pub(super) fn see(&mut self, readout: Vmm3aReadout, reason: NotUsed) {
        let channel = (reason == NotUsed::Channel).then(|| (readout.vmm(), readout.channel()));
        let (ring, fen, hybrid) = (readout.ring(), readout.fen(), readout.hybrid());
        self.0.see(Case { ring, fen, hybrid, channel });
    }

    /// In a sentence; none without any.
    pub(super) fn note(&self) -> Option<String> {
        let name = |(case, readouts): &(Case, u64)| {
            let Case { ring, fen, hybrid, channel } = *case;
            let what = match channel {
                Some((vmm, channel)) => format!("VMM {vmm}, channel {channel}"),
                None => format!("hybrid {hybrid}"),
            };
            format!("ring {ring}, FEN {fen}, {what} ({readouts} readouts)")
        };
        let mut named: Vec<String> = self.0.named().iter().map(name).collect();
        if self.0.others() > 0 {
            named.push(format!("others ({} readouts)", self.0.others()));
        }
        (!named.is_empty()).then(|| format!("nothing is wired to {}", named.join("; ")))
    }
}
