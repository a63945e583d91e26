//! Hints: where the pattern of what is missing names the culprit, or the location suggests what helps.
//!
//! A hint is a whole sentence for a person, who judges it. It is given where the pattern would hardly come about
//! otherwise, and only from the numbers of missing packets and the times at which that was noticed.

use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::EARLIEST_DATE_NS;
use evforge_net::losses::{LossBreakdown, LossLocation, PIECE};
use jiff::Timestamp;
use std::time::Duration;

/// A source is silent if it has sent nothing for so long while others went on,
const SILENCE: Duration = Duration::from_secs(3);
/// and for this many times the mean interval of its packets.
const SILENT_PACKETS: u64 = 100;
/// Gaps of the same size and distance that are no accident.
const REGULAR_GAPS: usize = 16;
/// Bins of time without a loss, after which those before count as the start.
const QUIET_BINS: usize = 10;
/// Different pulses in which packets were missed,
const PULSES: usize = 8;
/// and how closely they must lie around one moment of the period: the length of the mean of their directions on a circle. By
/// chance 8 directions reach it once in 200 times, 16 once in 30 000.
const CLOSENESS: f64 = 0.8;

/// What the losses of a live input suggest, after what the detector says of its configuration. Empty if nothing is
/// missing, or there is no pattern in it.
pub fn loss_hints(ledger: &DetectorLedger, losses: &LossBreakdown, pulses: &PulseTrain) -> Vec<String> {
    let mut hints = ledger.notes.clone();
    hints.extend(ledger.sources.iter().filter_map(started_over));
    hints.extend(silent_sources(&ledger.sources));
    let losers = || ledger.sources.iter().filter(|source| source.packets.lost > 0);
    hints.extend(losers().filter_map(regular_gaps));
    hints.extend(only_at_start(&ledger.sources));
    hints.extend(in_step_with_pulses(&ledger.sources, pulses));
    hints.extend(losses.locations.iter().filter_map(|loss| remedy(loss.location)).map(str::to_owned));
    hints.extend(lost_in_pieces(losses));
    hints
}

/// A source that has started over, when it did last, and at which numbers.
fn started_over(source: &SourceLedger) -> Option<String> {
    let last = source.restarts.last()?;
    let more = source.packets.restarts.saturating_sub(source.restarts.len() as u64);
    let times = match source.packets.restarts {
        1 => String::new(),
        times => format!(" {times} times"),
    };
    let at = Some(last.at_ns).filter(|at| *at >= EARLIEST_DATE_NS);
    let at = at.and_then(|at| Timestamp::from_nanosecond(at.into()).ok());
    let at = at.map_or_else(String::new, |at| format!(" at {at:.0}"));
    let which = if more > 0 { "one of them" } else { "the last" };
    Some(format!(
        "{} has started its numbering over{times}: {which}{at}, with {} after {}. Look at its power and its log; what it did not send \
         meanwhile is no loss",
        source.name, last.first, last.last
    ))
}

/// Sources that have stopped while others went on.
fn silent_sources(sources: &[SourceLedger]) -> Vec<String> {
    let last = |source: &SourceLedger| source.live_time.last_arrival_ns();
    let Some(latest) = sources.iter().filter_map(last).max() else { return Vec::new() };
    let silent = |source: &SourceLedger| {
        let time = &source.live_time;
        let silence = latest - last(source)?;
        let sending = last(source)?.saturating_sub(time.begin_ns());
        let distance = sending / source.packets.received.max(1);
        let is_silent =
            u128::from(silence) >= SILENCE.as_nanos() && silence >= distance.saturating_mul(SILENT_PACKETS);
        is_silent.then(|| {
            format!(
                "{} has sent nothing for the last {:.0} s, while others continued: look at its power, its link, and the \
                 way to this host (its queue of the network card, if packets come by AF_XDP)",
                source.name,
                Duration::from_nanos(silence).as_secs_f64()
            )
        })
    };
    sources.iter().filter_map(silent).collect()
}

/// Always the same number of packets missing, at the same distance.
fn regular_gaps(source: &SourceLedger) -> Option<String> {
    let gaps = &source.gaps;
    let first = gaps.first().filter(|_| gaps.len() >= REGULAR_GAPS)?;
    let period = gaps[1].first.checked_sub(first.first)?;
    let regular = gaps.windows(2).all(|pair| pair[1].first.checked_sub(pair[0].first) == Some(period));
    let equal = gaps.iter().all(|gap| gap.count == first.count);
    (regular && equal && first.count < period).then(|| {
        format!(
            "of {} exactly {} of every {period} packets are missing: this is not an overload. Look for links or switches that \
             distribute packets over several paths, one of which leads nowhere",
            source.name, first.count
        )
    })
}

/// All losses in the first seconds of a run that has gone on since.
fn only_at_start(sources: &[SourceLedger]) -> Option<String> {
    let width_ns = sources.iter().map(|source| source.live_time.width_ns()).max()?;
    let mut worst_end: u64 = 0;
    let (mut begin, mut end, mut lost) = (u64::MAX, 0, 0_i64);
    for source in sources {
        let time = source.live_time.clone().widened(width_ns);
        let first = time.begin_ns() / width_ns;
        begin = begin.min(first);
        end = end.max(first + time.bins().len() as u64);
        for (number, bin) in (first..).zip(time.bins()).filter(|(_, bin)| bin.lost > 0) {
            worst_end = worst_end.max(number + 1);
            lost += i64::from(bin.lost);
        }
    }
    let quiet = end.saturating_sub(worst_end) as usize;
    let lossy = worst_end.saturating_sub(begin);
    let is_start = lost > 0 && lossy <= 2 && quiet >= QUIET_BINS;
    is_start.then(|| {
        let seconds = Duration::from_nanos(width_ns).as_secs() * lossy;
        format!(
            "all losses lie in the first {seconds} s of {} s: start to receive before the senders start to send",
            Duration::from_nanos(width_ns).as_secs() * (end - begin)
        )
    })
}

/// Losses that come at the same moment of the period of the source's pulses.
fn in_step_with_pulses(sources: &[SourceLedger], pulses: &PulseTrain) -> Option<String> {
    const MANY: u64 = 1_000_000;
    let period_ns = pulses.start_ns(MANY)?.checked_sub(pulses.start_ns(0)?)? as f64 / MANY as f64;
    let gaps = sources.iter().flat_map(|source| &source.gaps);
    let mut times: Vec<u64> = gaps.map(|gap| gap.noticed_ns).filter(|&time| time > 0).collect();
    times.sort_unstable();
    let origin = *times.first()?;
    // One of each pulse: what is lost within one is in step with itself. Half a period apart is another pulse.
    let mut chosen: Vec<f64> = Vec::new();
    for time in times.into_iter().map(|time| (time - origin) as f64 / period_ns) {
        if chosen.last().is_none_or(|last| time - last > 0.5) {
            chosen.push(time);
        }
    }
    let count = chosen.len();
    let (mut x, mut y) = (0.0, 0.0);
    for phase in chosen.into_iter().map(|time| std::f64::consts::TAU * time.fract()) {
        (x, y) = (x + phase.cos(), y + phase.sin());
    }
    let closeness = f64::hypot(x, y) / count as f64;
    (count >= PULSES && closeness >= CLOSENESS).then(|| {
        format!(
            "packets get lost in step with the pulses (in {count} pulses at about the same moment of their {:.1} ms): a buffer \
             is too small for the peak, though large enough for the mean. Make receive.buffer (AF_XDP: receive.ring) larger",
            period_ns / 1e6
        )
    })
}

/// What the kernel counts only in pieces of several packets.
fn lost_in_pieces(losses: &LossBreakdown) -> Option<String> {
    let packets = losses.unlocated_in_pieces;
    (packets > 0).then(|| {
        format!(
            "up to {packets} of the {} unlocated packets may have been lost in the socket buffer or the kernel's backlog, too: with              UDP_GRO the kernel counts pieces of up to {PIECE} packets there. receive.coalesce = false has it count packets",
            losses.unlocated
        )
    })
}

/// What helps at a place.
fn remedy(place: LossLocation) -> Option<&'static str> {
    Some(match place {
        LossLocation::SocketBuffer => {
            "the socket's buffer was full: this program was too slow for the peak or was delayed. A larger receive.buffer, a \
             core of its own (threads.receive.core) and input.threads = 2 help, in this order"
        }
        LossLocation::OwnQueue => {
            "forming events was slower than receiving: a larger queue (input.queue) bridges peaks; for more, several threads \
             that form (threads.form) or several streams"
        }
        LossLocation::XdpRing | LossLocation::XdpMemory => {
            "the rings of AF_XDP were full: this program was too slow for the peak or was delayed. A larger receive.ring, a core \
             of its own (threads.receive.core) and input.threads = 2 help, in this order"
        }
        LossLocation::KernelBacklog => {
            "the kernel's queue of a core was full: sudo sysctl -w net.core.netdev_max_backlog=250000, and keep this program off \
             the cores that serve the card's interrupts (threads.receive.core)"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::sequence::SequenceTracker;
    use evforge_net::losses::LocatedLoss;

    const MILLISECOND: u64 = 1_000_000;

    /// A source that sends a packet every millisecond from a time on; `is_there` says of each whether it arrives.
    fn source(name: &str, packets: u64, is_there: impl Fn(u64) -> bool) -> SourceLedger {
        let mut tracker = SequenceTracker::new(32);
        for number in (0..packets).filter(|&number| is_there(number)) {
            tracker.observe_at(number, 1_700_000_000_000_000_000 + number * MILLISECOND);
        }
        SourceLedger::of_sequence(name.into(), &tracker)
    }

    fn hints(sources: Vec<SourceLedger>) -> Vec<String> {
        let ledger = DetectorLedger { sources, ..DetectorLedger::default() };
        loss_hints(&ledger, &LossBreakdown::default(), &PulseTrain::ess())
    }

    /// Numbers that look like chance, the same in every run.
    fn scattered(number: u64) -> u64 {
        (number ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33
    }

    #[test]
    fn scattered_losses_and_none_suggest_nothing() {
        assert_eq!(hints(vec![source("a", 30_000, |_| true)]), [""; 0]);
        let scattered = |number| !scattered(number).is_multiple_of(500);
        assert_eq!(hints(vec![source("a", 30_000, scattered), source("b", 30_000, |_| true)]), [""; 0]);
        assert_eq!(hints(Vec::new()), [""; 0]);
    }

    #[test]
    fn a_source_that_has_started_over_is_named_with_time_and_numbers() {
        let mut tracker = SequenceTracker::new(32);
        for number in (1_000..1_040).chain(0..40) {
            tracker.observe_at(number, 1_700_000_000_000_000_000);
        }
        assert_eq!(
            hints(vec![SourceLedger::of_sequence("FEC 2".into(), &tracker)]),
            [
                "FEC 2 has started its numbering over: the last at 2023-11-14T22:13:20Z, with 0 after 1039. Look at its power and its \
              log; what it did not send meanwhile is no loss"
            ]
        );
    }

    #[test]
    fn a_source_that_has_stopped_is_named() {
        let found = hints(vec![source("FEC 1", 30_000, |_| true), source("FEC 2", 20_000, |_| true)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("FEC 2 has sent nothing for the last 10 s"), "{found:?}");
        // One that sends rarely is not silent.
        let rare = source("monitor", 30_000, |number| number.is_multiple_of(4000));
        assert!(
            hints(vec![rare, source("FEC 1", 30_000, |_| true)]).iter().all(|hint| !hint.contains("nothing"))
        );
    }

    #[test]
    fn exact_fractions_are_recognised() {
        let found = hints(vec![source("FEC 1", 30_000, |number| !matches!(number % 8, 3 | 4))]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("of FEC 1 exactly 2 of every 8 packets"), "{found:?}");
    }

    #[test]
    fn losses_at_the_start_only_are_recognised() {
        let early = |number| number > 900 || scattered(number).is_multiple_of(2);
        let found = hints(vec![source("FEC 1", 30_000, early)]);
        assert_eq!(
            found,
            ["all losses lie in the first 1 s of 30 s: start to receive before the senders start to send"]
        );
        assert_eq!(hints(vec![source("FEC 1", 5_000, early)]), [""; 0], "too short to tell");
    }

    #[test]
    fn losses_at_pulse_rate_are_recognised() {
        // Some packets in the tenth of every pulse's period that follows its middle.
        let at_pulse = |number: u64| {
            let phase = (number * 14) % 1000;
            !((500..600).contains(&phase) && scattered(number).is_multiple_of(2))
        };
        let found = hints(vec![source("FEC 1", 30_000, at_pulse)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("in step with the pulses") && found[0].contains("71.4 ms"), "{found:?}");
    }

    #[test]
    fn each_place_says_what_helps() {
        let place = LocatedLoss { location: LossLocation::SocketBuffer, packets: 1, inferred: false };
        let losses = LossBreakdown { locations: vec![place], ..LossBreakdown::default() };
        let found = loss_hints(&DetectorLedger::default(), &losses, &PulseTrain::ess());
        assert!(found.len() == 1 && found[0].contains("receive.buffer"), "{found:?}");
    }

    #[test]
    fn what_pieces_may_have_held_is_said_beside_what_is_unlocated() {
        let losses = LossBreakdown { unlocated: 900, unlocated_in_pieces: 630, ..LossBreakdown::default() };
        let found = loss_hints(&DetectorLedger::default(), &losses, &PulseTrain::ess());
        assert!(found.len() == 1 && found[0].starts_with("up to 630 of the 900 unlocated"), "{found:?}");
        assert!(found[0].contains("receive.coalesce = false"), "{found:?}");
    }
}
