//! The table `[ess]`, and the front ends of several senders together.

use crate::content::{EssContent, VmmPlace, VmmSeen};
use crate::report::listed;
use evforge_wire::ess::{OUTPUT_QUEUES, detector_type as types};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The table, with an empty line behind it.
pub(super) fn table(contents: &[&EssContent]) -> String {
    let detector_type = contents.first().map_or(0, |content| content.detector_type());
    let name = types::name(detector_type).map_or_else(|| "no known detector".to_owned(), str::to_uppercase);
    let queues: BTreeSet<u8> = contents.iter().flat_map(|content| content.output_queues()).collect();
    let (known, odd): (BTreeSet<u8>, BTreeSet<u8>) =
        queues.into_iter().partition(|queue| usize::from(*queue) < OUTPUT_QUEUES);
    let mut accept: BTreeSet<&str> = contents.iter().flat_map(|content| content.broken_rules()).collect();
    if contents.iter().any(|content| content.lengths_in_bits()) {
        accept.insert("record_length_in_bits");
    }
    let period = contents.iter().find_map(|content| content.pulse_period_ns());
    let mut text = format!(
        "[ess]\ntype = {detector_type:#04x}                     # {name}\noutput_queues = [{}]\n",
        listed(known)
    );
    // Writing to a string cannot fail.
    let _ = match period {
        Some(period) => writeln!(text, "pulse_period = \"{period}ns\"      # as found: the median"),
        None => {
            writeln!(text, "pulse_period = \"0ns\"             # there are not two pulses to find it from")
        }
    };
    if !accept.is_empty() {
        let rules = accept.iter().map(|rule| format!("{rule:?}")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "accept = [{rules}]   # rules that the packets break");
    }
    let fractions = contents.iter().filter_map(|content| content.by_place().of_another_clock.1.ends());
    if let Some(largest) = fractions.map(|(_, largest)| largest).max() {
        let _ = writeln!(
            text,
            "max_fraction = {largest}   # UNKNOWN: perhaps the clock is another one (clock = \"88.889MHz\")"
        );
    }
    if let Some(queue) = odd.first() {
        let _ = writeln!(text, "odd_output_queue = {queue}");
    }
    text.push('\n');
    text
}

/// The VMMs of all senders.
pub(super) fn vmms(contents: &[&EssContent]) -> BTreeMap<VmmPlace, VmmSeen> {
    let mut all: BTreeMap<VmmPlace, VmmSeen> = BTreeMap::new();
    for (place, seen) in contents.iter().flat_map(|content| &content.by_place().vmms) {
        let own = all.entry(*place).or_default();
        own.readouts += seen.readouts;
        seen.channels.iter().for_each(|channel| own.channels.insert(channel));
    }
    all
}

/// Ring, FEN and hybrid of each hybrid.
pub(super) fn hybrids(vmms: &BTreeMap<VmmPlace, VmmSeen>) -> BTreeSet<(u8, u8, u8)> {
    vmms.keys().map(|(ring, fen, vmm)| (*ring, *fen, vmm / 2)).collect()
}
