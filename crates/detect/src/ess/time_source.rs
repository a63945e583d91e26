//! What the headers of an output queue say about pulses.

use super::counters::TimeSourceCounters;
use super::ticks;
use evforge_wire::ess::{EssPacket, HeaderFault, HeaderRelaxations};

/// Watches the pulses of one output queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PulseWatch {
    /// The pulse that the latest packet reported.
    latest: Option<u64>,
}

/// Pulses that a packet tells for the first time, the earlier one first.
pub(super) type NewPulses = [Option<u64>; 2];

impl PulseWatch {
    /// Looks at the pulses of a packet. `period` is that of the source in units of [`ticks`], or 0.
    #[inline]
    pub(super) fn see(
        &mut self,
        packet: &EssPacket<'_>,
        period: u64,
        counters: &mut TimeSourceCounters,
    ) -> NewPulses {
        let pulse = ticks::of(packet.pulse);
        if self.latest == Some(pulse) {
            return [None; 2];
        }
        self.see_another(pulse, ticks::of(packet.previous_pulse), period, counters)
    }

    fn see_another(
        &mut self,
        pulse: u64,
        previous: u64,
        period: u64,
        counters: &mut TimeSourceCounters,
    ) -> NewPulses {
        counters.pulses += 1;
        // A source that has only just begun may know no pulse before the first.
        counters.pulses_repeated += u64::from(pulse == previous && self.latest.is_some());
        let distance = pulse.abs_diff(previous);
        let irregular = period > 0 && pulse > previous && distance.abs_diff(period) > period / 100;
        counters.pulses_irregular += u64::from(irregular);
        let earlier = (previous < pulse).then_some(previous);
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
            // A previous pulse of zero is one that the readout does not know.
            None => earlier.filter(|&earlier| earlier > 0),
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
            let new = watch.see(&packet(pulse, previous), 100 * 8, &mut counters);
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
    fn a_previous_pulse_of_zero_is_none() {
        let mut watch = PulseWatch::default();
        let mut counters = TimeSourceCounters::default();
        assert_eq!(watch.see(&packet(5, 0), 0, &mut counters), [None, Some(40)]);
    }
}
