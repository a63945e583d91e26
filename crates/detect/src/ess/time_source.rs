//! What the headers of an output queue say about pulses.

use super::counters::TimeSourceCounters;
use super::pulse_period::{self, PeriodVote};
use super::ticks;
use evforge_wire::ess::{EssClock, EssPacket, HeaderFault, HeaderRelaxations};
use std::time::Duration;

/// Watches the pulses of one output queue.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub(super) struct PulseWatch {
    /// The pulse that the latest packet reported.
    latest: Option<u64>,
    /// The distances that the packets state.
    pub(super) period: PeriodVote,
}

/// How far from the pulse of their packet readouts can be: longer than any readout keeps them, and than pulses fail for a moment.
const REACH: Duration = Duration::from_secs(10);

/// The times that readouts of a packet can have, by the pulse in its header, in units of [`ticks`].
#[derive(Clone, Copy, Debug)]
pub struct NearPulse {
    earliest: u64,
    span: u64,
}

impl NearPulse {
    /// Those of a packet. A packet without a pulse bounds nothing.
    #[inline]
    pub fn of(packet: &EssPacket<'_>, clock: EssClock) -> Self {
        const REACH_UNITS: u64 = REACH.as_secs() * ticks::UNITS_PER_SECOND;
        let pulse = ticks::of(packet.pulse, clock);
        if pulse == 0 {
            return Self { earliest: 0, span: u64::MAX };
        }
        let earliest = pulse.saturating_sub(REACH_UNITS);
        Self { earliest, span: pulse - earliest + REACH_UNITS }
    }

    /// Whether a readout of the packet can have this time.
    #[inline]
    pub fn has(self, time: u64) -> bool {
        time.wrapping_sub(self.earliest) <= self.span
    }
}

/// Pulses that a packet tells for the first time, the earlier one first.
pub(super) type NewPulses = [Option<u64>; 2];

/// What pulses are judged by.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub(super) struct PulseRules {
    /// The clock of pulse times.
    #[get_size(ignore)]
    pub(super) clock: EssClock,
    /// The period in units of [`ticks`]; 0 if the source has none, none if it is to be found.
    pub(super) period: Option<u64>,
}

impl PulseWatch {
    /// Looks at the pulses of a packet.
    #[inline]
    pub(super) fn see(
        &mut self,
        packet: &EssPacket<'_>,
        rules: &PulseRules,
        counters: &mut TimeSourceCounters,
    ) -> NewPulses {
        let pulse = ticks::of(packet.pulse, rules.clock);
        if pulse == 0 {
            // A readout without a time source.
            counters.packets_without_pulse += 1;
            return [None; 2];
        }
        if self.latest == Some(pulse) {
            return [None; 2];
        }
        self.see_another(pulse, ticks::of(packet.previous_pulse, rules.clock), rules, counters)
    }

    fn see_another(
        &mut self,
        pulse: u64,
        previous: u64,
        rules: &PulseRules,
        counters: &mut TimeSourceCounters,
    ) -> NewPulses {
        counters.pulses += 1;
        // A source that has only just begun may know no pulse before the first.
        counters.pulses_repeated += u64::from(pulse == previous && self.latest.is_some());
        // A previous pulse of zero is one that the readout does not know.
        if previous > 0 && pulse > previous {
            let distance = pulse - previous;
            let expected = rules.period.or(self.period.period()).filter(|&period| period > 0);
            let irregular = expected.is_some_and(|period| !pulse_period::is_same(distance, period));
            counters.pulses_irregular += u64::from(irregular);
            self.period.see(distance);
        }
        let earlier = (0 < previous && previous < pulse).then_some(previous);
        let unseen = match self.latest {
            Some(latest) if pulse < latest => {
                counters.pulses_backwards += 1;
                None
            }
            Some(latest) => {
                let absent = earlier.filter(|&earlier| earlier > latest);
                counters.pulses_absent += u64::from(absent.is_some());
                absent
            }
            None => earlier,
        };
        self.latest = Some(pulse);
        [unseen, Some(pulse)]
    }
}

/// Counts what a sound packet says about the time source.
#[inline]
pub(super) fn count_flags(relaxed: HeaderRelaxations, counters: &mut TimeSourceCounters) {
    if !relaxed.is_empty() {
        count_broken(relaxed, counters);
    }
}

/// Counts why a packet was turned away, if that is for its time source.
pub(super) fn count_fault(fault: HeaderFault, counters: &mut TimeSourceCounters) {
    if let HeaderFault::TimeSource(broken) = fault {
        count_broken(broken, counters);
    }
}

#[cold]
fn count_broken(broken: HeaderRelaxations, counters: &mut TimeSourceCounters) {
    let has = |rule| u64::from(broken.contains(rule));
    counters.time_source_timing += has(HeaderRelaxations::TIMING);
    counters.time_source_status += has(HeaderRelaxations::TIME_STATUS);
    counters.even_fibre_sync_lost += has(HeaderRelaxations::EVEN_FIBRE_SYNC);
    counters.odd_fibre_sync_lost += has(HeaderRelaxations::ODD_FIBRE_SYNC);
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_wire::ess::EssTime;

    fn packet(pulse: u64, previous_pulse: u64) -> EssPacket<'static> {
        let time = |ticks| EssTime::from_total_ticks(ticks).unwrap();
        EssPacket {
            version: 1,
            detector_type: 0,
            output_queue: 0,
            time_source: 0,
            pulse: time(pulse),
            previous_pulse: time(previous_pulse),
            sequence: 0,
            payload: &[],
            relaxed: HeaderRelaxations::NONE,
        }
    }

    #[test]
    fn pulses_are_told_once_and_what_is_odd_about_them_is_counted() {
        let mut watch = PulseWatch::default();
        let mut counters = TimeSourceCounters::default();
        let mut see = |pulse, previous| {
            let rules = PulseRules { clock: EssClock::ESS, period: Some(100 * 8) };
            let new = watch.see(&packet(pulse, previous), &rules, &mut counters);
            new.map(|pulse| pulse.map(|units| units / 8))
        };
        assert_eq!(see(1000, 900), [Some(900), Some(1000)]);
        assert_eq!(see(1000, 900), [None, None]);
        assert_eq!(see(1100, 1000), [None, Some(1100)]);
        assert_eq!(see(1400, 1300), [Some(1300), Some(1400)], "1200 and 1300 were absent");
        assert_eq!(see(1350, 1300), [None, Some(1350)], "backwards and irregular");
        assert_eq!(see(1450, 1450), [None, Some(1450)], "repeated");
        let expected = TimeSourceCounters {
            pulses: 5,
            pulses_absent: 1,
            pulses_backwards: 1,
            pulses_irregular: 1,
            pulses_repeated: 1,
            ..Default::default()
        };
        assert_eq!(counters, expected);
    }

    #[test]
    fn readouts_are_ten_seconds_around_the_pulse_of_their_packet() {
        let second = ticks::UNITS_PER_SECOND;
        let near = |pulse: u64, time| NearPulse::of(&packet(pulse * second / 8, 0), EssClock::ESS).has(time);
        for (time, expected) in
            [(89, false), (90, true), (100, true), (110, true), (111, false), (2_419_300, false)]
        {
            assert_eq!(near(100, time * second), expected, "{time} s");
        }
        assert!(near(3, 0) && near(0, u64::MAX / 2), "the first seconds, and a packet without a pulse");
    }

    #[test]
    fn a_pulse_of_zero_is_none() {
        let mut watch = PulseWatch::default();
        let mut counters = TimeSourceCounters::default();
        let rules = PulseRules { clock: EssClock::ESS, period: None };
        assert_eq!(watch.see(&packet(0, 0), &rules, &mut counters), [None, None]);
        assert_eq!(watch.see(&packet(5, 0), &rules, &mut counters), [None, Some(40)]);
        assert_eq!((counters.packets_without_pulse, counters.pulses_irregular), (1, 0));
    }

    #[test]
    fn the_period_is_found_where_none_is_configured() {
        let mut watch = PulseWatch::default();
        let mut counters = TimeSourceCounters::default();
        let rules = PulseRules { clock: EssClock::ESS, period: None };
        for pulse in (1..10).map(|number| 43_000 * number).chain([500_000]) {
            watch.see(
                &packet(pulse, if pulse == 500_000 { 387_000 } else { pulse - 43_000 }),
                &rules,
                &mut counters,
            );
        }
        assert_eq!((watch.period.period(), counters.pulses_irregular), (Some(8 * 43_000), 1));
    }
}
