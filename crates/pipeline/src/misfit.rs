//! Says what came where nothing of it could be used: an input that does not belong to the configuration.
//!
//! A few packets are kept from the beginning. As long as readouts are placed nobody looks at them. Where none are, or next to
//! none, they are recognised, and an alarm says what they are and which shipped configuration reads them.
//!
//! | packets | readouts | alarm |
//! |---|---|---|
//! | of another format or type | none placed, or nearly none | names what came and the configuration that fits |
//! | of this format | no packet could be used | names the reasons |
//! | of this format | at least half of them impossible, or of channels that are not configured, and none placed | names the front ends that sent |
//! | of this format | none, or discarded as configured (thresholds, masks) | none: heartbeats and calibrations are no fault |
//!
//! The same question is asked of the whole input and of what came lately: of a feed that was good, and is not any more.
//! What a plugin reads nobody else knows; of its packets it is only said that it has used none.

use evforge_config::shipped;
use evforge_core::counter::{CounterSnapshot, Law, Role};
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::PacketSlab;
use evforge_core::quantity::grouped;
use evforge_core::run_state::{Discard, LedgerTotals, discards};
use evforge_inspect::expected::Expected;
use evforge_inspect::stream::Stream;
use evforge_inspect::survey::{Findings, Survey};
use std::time::Duration;

/// Packets that are kept, those of the first slab among them, and bytes of the largest.
const PACKETS: usize = 32;
const OF_FIRST_SLAB: usize = 8;
const LARGEST: usize = 9216;
/// Streams and reasons that an alarm names.
const NAMED: usize = 3;
/// Of garbage that has no signature (CAEN records) a part is placed by chance: one readout in so many is more than that.
const BY_CHANCE: u64 = 10;
/// How long nothing of a feed may be used that was good before: single packets that are discarded are no change of the feed.
const TURNED_AFTER: Duration = Duration::from_secs(3);
/// Readouts that are discarded for a reason that begins so are not of this wiring, or no readouts at all.
const NOT_OURS: [&str; 5] = ["unmapped_", "impossible_", "wrong_", "unknown_", "no_such_"];
/// So few without a place are no alarm, whatever their share.
const FEW: u64 = 20;
/// What to do about readouts and hits without a place, by how the reason begins.
const REMEDIES: [(&str, &str); 7] = [
    ("unmapped_", "compare the wiring with the front ends that `evforge inspect FILE` finds"),
    ("no_such_", "compare the wiring with the front ends that `evforge inspect FILE` finds"),
    ("outside_", "the wiring reaches beyond the pixels: make the geometry as large as the wiring"),
    ("far_from_", "look at the clocks of the front ends"),
    (
        "impossible_amplitude",
        "if the electronics use bit 10 for something else, accept it: ess.accept = [\"any_adc\"]",
    ),
    ("impossible_", "packets are damaged, or of another firmware: look at them with `evforge inspect FILE`"),
    ("", "look at the packets with `evforge inspect FILE`"),
];

/// Watches over whether the input belongs to the configuration.
#[derive(Debug)]
pub(crate) struct Misfit {
    configuration: String,
    expected: Expected,
    unplaced_percent: u64,
    sample: PacketSlab,
    /// The counters when something was used last, and when that was.
    used: Option<(CounterSnapshot, Duration)>,
    /// Nothing has been used since then, and the sample is of packets since then.
    has_turned: bool,
}

impl Misfit {
    /// For the configuration of this name. More than `unplaced_percent` of the readouts or hits without a place are too many.
    pub(crate) fn new(configuration: &str, expected: Expected, unplaced_percent: u8) -> Self {
        Self {
            configuration: configuration.to_owned(),
            expected,
            unplaced_percent: unplaced_percent.into(),
            sample: PacketSlab::new(PACKETS, PACKETS * LARGEST),
            used: None,
            has_turned: false,
        }
    }

    /// Keeps packets, as long as there are not enough: several of the first slab, and one of each further one.
    #[inline]
    pub(crate) fn keep(&mut self, slab: &PacketSlab) {
        if self.sample.len() < PACKETS {
            self.keep_some(slab);
        }
    }

    #[cold]
    fn keep_some(&mut self, slab: &PacketSlab) {
        let count = if self.sample.is_empty() { OF_FIRST_SLAB } else { 1 };
        for packet in slab.batch().iter().filter(|packet| packet.bytes.len() <= LARGEST).take(count) {
            self.sample.push(packet.bytes, packet.original_length as usize, packet.origin);
        }
    }

    /// What is wrong with the whole input, in a sentence; none if nothing is.
    pub(crate) fn fault(&self, ledger: &DetectorLedger) -> Option<String> {
        self.judge(ledger)
    }

    /// Which readouts and hits have no place in the configuration, in a sentence for each, if they are more than may be.
    pub(crate) fn unplaced(&self, ledger: &DetectorLedger) -> Vec<String> {
        let totals = LedgerTotals::of(ledger);
        let of = |law: Law, all: Option<u64>| {
            let all = all.filter(|&all| all > 0)?;
            let is_unplaced = |found: &Discard| {
                let starts = NOT_OURS.iter().chain(&["outside_geometry", "outside_monitor", "far_from_"]);
                found.of == law.name() && starts.copied().any(|start| found.reason.starts_with(start))
            };
            let found: Vec<Discard> = discards(&ledger.counters).into_iter().filter(is_unplaced).collect();
            let count = found.iter().map(|found| found.count).sum::<u64>();
            let is_much =
                count >= FEW && count.saturating_mul(100) > all.saturating_mul(self.unplaced_percent);
            let worst = found.iter().max_by_key(|found| found.count).filter(|_| is_much)?.reason;
            let (_, remedy) = REMEDIES.iter().find(|(start, _)| worst.starts_with(start))?;
            let share = 100.0 * count as f64 / all as f64;
            let (count, what) = (grouped(count), law.name());
            Some(format!(
                "{share:.1} % of the {} {what} ({count}) have no place in {}: {}. To do: {remedy}",
                grouped(all),
                self.configuration,
                most(found)
            ))
        };
        [of(Law::Readouts, totals.readouts), of(Law::Hits, totals.hits)].into_iter().flatten().collect()
    }

    /// Why nothing of what came lately is used, in a sentence; none if it is, or if nothing came. To be asked about once a
    /// second.
    pub(crate) fn refused_lately(&mut self, now: Duration, ledger: &DetectorLedger) -> Option<String> {
        let lately = match &self.used {
            Some((before, _)) => ledger.counters.since(before),
            None => ledger.counters.clone(),
        };
        let lately = DetectorLedger { counters: lately, ..DetectorLedger::default() };
        if lately.handed_over() == 0 {
            return None;
        }
        let verdict = self.judge(&lately);
        if verdict.is_none() {
            self.used = Some((ledger.counters.clone(), now));
            self.has_turned = false;
            return None;
        }
        let Some((_, used_at)) = self.used else { return verdict };
        if now.saturating_sub(used_at) < TURNED_AFTER {
            return None;
        }
        if !std::mem::replace(&mut self.has_turned, true) {
            // What was kept is from the time when all was well: what comes now is named when some of it has been kept.
            self.sample.clear();
            return self.judge(&lately);
        }
        verdict
    }

    /// What is wrong with what these counters have counted.
    fn judge(&self, ledger: &DetectorLedger) -> Option<String> {
        let totals = LedgerTotals::of(ledger);
        let sum = |wanted: Role| ledger.counters.sum(|role| role == wanted).unwrap_or(0);
        let is_unused = sum(Role::Discarded(Law::Packets)) >= totals.packets;
        // Values of integrating monitors are in their place, too, though they are no hits.
        let placed = totals.hits.unwrap_or(0) + sum(Role::Leaves(Law::Readouts));
        let readouts = totals.readouts.unwrap_or(0);
        let is_fine = placed.saturating_mul(BY_CHANCE) >= readouts.max(1) && !(is_unused && placed == 0);
        if totals.packets == 0 || is_fine || self.expected == Expected::Anything && !is_unused {
            return None;
        }
        let findings = self.findings();
        // No packet kept yet says nothing against the format.
        let reads = |stream: &Stream| stream.is_read_as(self.expected);
        if !findings.streams.is_empty() && !findings.streams.iter().any(reads) {
            return Some(self.another(&findings));
        }
        let of = |law: Law| {
            discards(&ledger.counters)
                .into_iter()
                .filter(move |found| found.of == law.name() && found.count > 0)
        };
        if is_unused {
            let reasons = most(of(Law::Packets).collect());
            return Some(format!(
                "none of the {} packets could be used: {reasons}{}",
                grouped(totals.packets),
                self.came(&findings)
            ));
        }
        let strange: Vec<Discard> = of(Law::Readouts)
            .filter(|found| NOT_OURS.iter().any(|start| found.reason.starts_with(start)))
            .collect();
        let is_strange = 2 * strange.iter().map(|found| found.count).sum::<u64>() >= readouts.max(1);
        (placed == 0 && is_strange).then(|| {
            format!(
                "none of the {} readouts could be placed by the configuration {}: {}{}. Shipped for such packets: \
                 {}. `evforge inspect FILE --config-skeleton NEW.toml` writes a configuration with these front ends",
                grouped(readouts),
                self.configuration,
                most(strange),
                self.came(&findings),
                findings.streams.first().map_or_else(String::new, Stream::advice)
            )
        })
    }

    /// The packets that were kept are of other formats or types.
    fn another(&self, findings: &Findings) -> String {
        let streams = findings.streams.iter().take(NAMED).map(|stream| {
            let read_with = if stream.shipped().is_empty() { "" } else { "read it with " };
            let fits = format!("{read_with}{}", stream.advice());
            format!("{} ({}): {fits}", stream.title(), stream.route())
        });
        format!(
            "the input does not belong to the configuration {}, which reads {}. What came: {}",
            self.configuration,
            self.expected.in_words(),
            streams.collect::<Vec<_>>().join("; ")
        )
    }

    /// The streams with their front ends; nothing while no packet has been kept.
    fn came(&self, findings: &Findings) -> String {
        let named = |stream: &Stream| {
            let places = stream.content.places();
            let places = if places.is_empty() { places } else { format!(", {places}") };
            let lost = if stream.key.source.is_unspecified() && stream.key.port == 0 {
                "; .pkts files do not say who sent: where senders matter, use pcapng"
            } else {
                ""
            };
            format!("{} ({}{places}{lost})", stream.title(), stream.route())
        };
        let streams: Vec<String> = findings.streams.iter().take(NAMED).map(named).collect();
        if streams.is_empty() { String::new() } else { format!(". What came: {}", streams.join("; ")) }
    }

    fn findings(&self) -> Findings {
        let mut survey = Survey::naming(shipped::configurations());
        self.sample.batch().iter().for_each(|packet| survey.take(&packet));
        survey.finish()
    }
}

/// The reasons for which most was discarded: "5 unmapped_ring (Readouts of …)".
fn most(mut discards: Vec<Discard>) -> String {
    discards.retain(|found| found.count > 0);
    discards.sort_by_key(|found| std::cmp::Reverse(found.count));
    let named = discards.iter().take(NAMED);
    let named = named.map(|found| {
        format!("{} {} ({})", grouped(found.count), found.reason, found.help.trim_end_matches('.'))
    });
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::packet::PacketOrigin;

    evforge_core::counters! {
        /// A detector whose counters are called as no other's.
        struct Toy: "toy" {
            datagrams: Enters(Packets), Packets, "In.";
            read: Leaves(Packets), Packets, "Used.";
            of_another_kind: Discarded(Packets), Packets, "Packets of another kind.";
        }
    }

    fn ledger(read: u64, of_another_kind: u64) -> DetectorLedger {
        let toy = Toy { datagrams: read + of_another_kind, read, of_another_kind };
        DetectorLedger { counters: CounterSnapshot::of(&toy), ..DetectorLedger::default() }
    }

    fn misfit() -> Misfit {
        let mut misfit = Misfit::new("toy", Expected::Anything, 1);
        let mut slab = PacketSlab::new(4, 100);
        slab.push(b"what nobody knows", 17, PacketOrigin::default());
        misfit.keep(&slab);
        misfit
    }

    const fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn a_feed_of_which_nothing_was_ever_used_is_refused_at_once() {
        let mut misfit = misfit();
        assert_eq!(misfit.refused_lately(at(1), &ledger(0, 0)), None);
        let why = misfit.refused_lately(at(2), &ledger(0, 7)).expect("it is refused");
        assert!(why.starts_with("none of the 7 packets could be used: 7 of_another_kind"), "{why}");
        assert_eq!(misfit.fault(&ledger(0, 7)), Some(why));
    }

    #[test]
    fn readouts_without_a_place_are_an_alarm_above_a_share() {
        evforge_core::counters! {
            struct Toy: "toy" {
                readouts: Enters(Readouts), Readouts, "In.";
                unmapped_ring: Discarded(Readouts), Readouts, "Of no ring.";
                below_threshold: Discarded(Readouts), Readouts, "As configured.";
                hits: Joins(Readouts, Hits), Hits, "Placed.";
                outside_geometry: Discarded(Hits), Hits, "Outside.";
            }
        }
        let alarms = |percent, unmapped_ring, below_threshold, outside_geometry| {
            let hits = 10_000 - unmapped_ring - below_threshold;
            let toy = Toy { readouts: 10_000, unmapped_ring, below_threshold, hits, outside_geometry };
            let ledger = DetectorLedger { counters: CounterSnapshot::of(&toy), ..DetectorLedger::default() };
            Misfit::new("toy", Expected::Anything, percent).unplaced(&ledger)
        };
        assert_eq!((alarms(1, 100, 9_000, 9), alarms(5, 400, 0, 400)), (Vec::new(), Vec::new()));
        let found = alarms(1, 101, 0, 0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .starts_with("1.0 % of the 10 000 readouts (101) have no place in toy: 101 unmapped_ring"),
            "{found:?}"
        );
        assert!(found[0].ends_with("with the front ends that `evforge inspect FILE` finds"), "{found:?}");
        let found = alarms(1, 0, 5_000, 2_000);
        assert!(found[0].starts_with("40.0 % of the 5 000 hits (2 000)"), "{found:?}");
        assert!(found[0].contains("make the geometry as large as the wiring"), "{found:?}");
    }

    /// Single packets that are discarded are no change; seconds of nothing else are one, until something is used again.
    #[test]
    fn a_feed_that_was_good_is_refused_while_nothing_is_used_any_more() {
        let mut misfit = misfit();
        assert_eq!(misfit.refused_lately(at(1), &ledger(100, 0)), None);
        assert_eq!(misfit.refused_lately(at(2), &ledger(100, 5)), None, "not so soon");
        let why = misfit.refused_lately(at(5), &ledger(100, 20)).expect("it is refused");
        assert!(why.starts_with("none of the 20 packets could be used"), "{why}");
        assert!(!why.contains("What came"), "what is kept is from before: {why}");
        assert!(misfit.refused_lately(at(6), &ledger(100, 20)).is_some(), "nothing more has come");
        assert_eq!(misfit.refused_lately(at(7), &ledger(101, 25)), None);
        assert_eq!(misfit.refused_lately(at(8), &ledger(101, 26)), None);
        // Over the whole input most of it was used.
        assert_eq!(misfit.fault(&ledger(101, 26)), None);
    }
}
