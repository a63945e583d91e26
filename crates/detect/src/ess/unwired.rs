//! The first readouts that nothing is wired to: what a person has to look for in the configuration.

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

/// Cases that are named.
const MOST_NAMED: usize = 6;

/// What the configuration does not mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    ring: u8,
    fen: u8,
    hybrid: u8,
    /// VMM and channel, where the hybrid is configured and the channel is not.
    channel: Option<(u8, u8)>,
    readouts: u64,
}

/// The first cases, with the readouts of each.
#[derive(Debug)]
pub(super) struct Unwired {
    cases: Vec<Case>,
    /// Readouts of further cases.
    others: u64,
}

impl Default for Unwired {
    fn default() -> Self {
        Self { cases: Vec::with_capacity(MOST_NAMED), others: 0 }
    }
}

impl Unwired {
    /// Takes note of a readout.
    pub(super) fn see(&mut self, readout: Vmm3aReadout, reason: NotUsed) {
        let channel = (reason == NotUsed::Channel).then(|| (readout.vmm(), readout.channel()));
        let (ring, fen, hybrid) = (readout.ring(), readout.fen(), readout.hybrid());
        let same = |case: &&mut Case| {
            (case.ring, case.fen, case.hybrid, case.channel) == (ring, fen, hybrid, channel)
        };
        if let Some(case) = self.cases.iter_mut().find(same) {
            case.readouts += 1;
        } else if self.cases.len() < MOST_NAMED {
            self.cases.push(Case { ring, fen, hybrid, channel, readouts: 1 });
        } else {
            self.others += 1;
        }
    }

    /// In a sentence; none without any.
    pub(super) fn note(&self) -> Option<String> {
        let name = |case: &Case| {
            let Case { ring, fen, hybrid, channel, readouts } = *case;
            let what = match channel {
                Some((vmm, channel)) => format!("VMM {vmm}, channel {channel}"),
                None => format!("hybrid {hybrid}"),
            };
            format!("ring {ring}, FEN {fen}, {what} ({readouts} readouts)")
        };
        let mut named: Vec<String> = self.cases.iter().map(name).collect();
        if self.others > 0 {
            named.push(format!("others ({} readouts)", self.others));
        }
        (!named.is_empty()).then(|| format!("nothing is wired to {}", named.join("; ")))
    }
}
