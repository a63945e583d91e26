//! Reports of trains for people.

use evforge_lab::link::train::{SentModule, SentReport};
use evforge_pipeline::report::{grouped, scaled};
use std::fmt::Write as _;

/// Faults by their counters, in words.
const FAULTS: [(&str, &str); 12] = [
    ("packets_lost", "packets lost"),
    ("packets_repeated", "packets repeated"),
    ("packets_displaced", "packets displaced"),
    ("packets_truncated", "packets truncated"),
    ("packets_shortened", "packets shortened"),
    ("trains_without_first", "trains without first packet"),
    ("trains_without_last", "trains without last packet"),
    ("trains_wrong_begin", "trains with a wrong beginning"),
    ("trains_wrong_end", "trains with a wrong end"),
    ("trains_wrong_number", "trains with a wrong number"),
    ("trains_late", "trains late"),
    ("trains_interleaved", "trains interleaved"),
];

/// What was sent.
pub(super) fn text(report: &SentReport) -> String {
    let mut text = String::new();
    for module in &report.modules {
        add_module(&mut text, module);
    }
    if report.losses.sum() > 0 {
        let _ = writeln!(text, "this host has lost {} packets of all it sent", grouped(report.losses.sum()));
    }
    text
}

fn add_module(text: &mut String, module: &SentModule) {
    let count = |name| module.counter(name);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "module {}: sent {} trains of {} packets ({} datagrams, {} bytes) in {:.3} s: {} packets/s, {}bit/s",
        module.module,
        grouped(count("trains_ended")),
        grouped(module.packets_per_train.into()),
        grouped(count("datagrams")),
        grouped(count("datagram_bytes")),
        module.seconds,
        scaled(module.packets_per_second),
        scaled(module.bits_per_second),
    );
    let begun = count("trains_begun") - count("trains_ended").min(count("trains_begun"));
    if begun > 0 {
        let _ = writeln!(text, "  {} trains were begun and not sent to their end", grouped(begun));
    }
    if let Some(lateness) = &module.lateness {
        let (mean, largest) = (lateness.mean_ns as f64 / 1e3, lateness.largest_ns as f64 / 1e3);
        let _ = writeln!(text, "  behind the schedule: {mean:.1} us on average, {largest:.1} us at most");
    }
    if module.is_too_slow {
        let _ =
            writeln!(text, "  the rate is too low: a train takes longer than there is until the next one");
    }
    let faults: Vec<_> = FAULTS
        .iter()
        .filter(|(name, _)| count(name) > 0)
        .map(|(name, words)| format!("{} {words}", grouped(count(name))))
        .collect();
    if !faults.is_empty() {
        let undamaged = grouped(count("trains_undamaged"));
        let _ = writeln!(text, "  provoked faults: {}; {undamaged} trains undamaged", faults.join(", "));
    }
    for node in &module.nodes {
        if node.dropped > 0 {
            let _ = write!(text, "  {}: {}", node.destination, crate::replay::dropped(node.dropped));
        }
        if node.refused > 0 {
            let refused = grouped(node.refused);
            let _ = writeln!(
                text,
                "  {refused} packets were refused by {}: nobody listens there",
                node.destination
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::counter::CounterSet;
    use evforge_train::generate::SentCounters;

    #[test]
    fn every_fault_is_a_counter_of_the_sender() {
        let known: Vec<_> = SentCounters::infos().iter().map(|info| info.name).collect();
        for (name, _) in FAULTS {
            assert!(known.contains(&name), "{name}");
        }
        for name in ["trains_begun", "trains_ended", "trains_undamaged", "datagrams", "datagram_bytes"] {
            assert!(known.contains(&name), "{name}");
        }
    }
}
