//! The result in one sentence.

use super::rounds::{LossyPairs, TrainRounds};
use crate::counted::things;
use crate::measurement::Verdict;
use evforge_core::quantity::grouped;

/// Good if every packet is accounted for, and something came of every pair.
pub(super) fn verdict(rounds: &TrainRounds) -> Verdict {
    if rounds.0.is_empty() {
        return Verdict::bad("Nothing was measured");
    }
    if let Some(found) = rounds.imbalance() {
        return Verdict::bad(format!("Packets or trains do not add up: {found}"));
    }
    let foreign: u64 = rounds.runs().flat_map(|run| &run.receivers).map(|receiver| receiver.foreign).sum();
    if foreign > 0 {
        return Verdict::bad(format!(
            "{} packets came from senders that are none of this measurement",
            grouped(foreign)
        ));
    }
    let flows = rounds.flows();
    if let Some(silent) = flows.iter().find(|flow| flow.arrived() == 0) {
        return Verdict::bad(format!(
            "Nothing came from sender {} to receiver {}",
            silent.sender, silent.receiver
        ));
    }
    let (packets, missing) = (rounds.sum(|flow| flow.packets), rounds.sum(|flow| flow.missing()));
    let (senders, receivers) = rounds.counts();
    let found = match LossyPairs::of(&flows) {
        LossyPairs::None => "none is missing".to_owned(),
        LossyPairs::All => format!("{} are missing, of all pairs", grouped(missing)),
        LossyPairs::Few { pairs, .. } => {
            format!("{} are missing, of {pairs} of {} pairs", grouped(missing), flows.len())
        }
    };
    Verdict::good(format!(
        "{} packets of trains from {} to {}, every one accounted for: {found}",
        grouped(packets),
        things(senders, "sender"),
        things(receivers, "receiver")
    ))
}
