//! Vetoes: rules that mark events which should not be trusted, and count them, without deleting any.
//!
//! A veto names a range of the detector's time (a shutter moved), or of the time of flight in every pulse (the
//! prompt pulse): the pulses that the readout tells, or else those of the configuration. Whoever analyses the data decides what to do with marked events: the mark stands beside the
//! event in the CSV and NeXus files, as one bit per veto in the order of the configuration.

use evforge_core::event::EventBatch;
use evforge_core::pulse::PulseTrain;
use evforge_detect::settings::SettingsError;

/// Vetoes that a configuration can have: bits of a mark.
pub const MOST_VETOES: usize = 8;

/// When a veto applies. Ranges are half open, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VetoRange {
    /// From one time to another on the detector's clock.
    Time(u64, u64),
    /// From one time of flight to another, in every pulse.
    TimeOfFlight(u64, u64),
}

/// A named rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veto {
    /// What happened.
    pub name: String,
    /// When it applies.
    pub range: VetoRange,
}

/// Checks a list of vetoes.
///
/// # Errors
/// Under `veto[n].key`, the first that cannot be.
pub fn check(vetoes: &[Veto]) -> Result<(), SettingsError> {
    if vetoes.len() > MOST_VETOES {
        return SettingsError::refuse("veto", format!("{} vetoes, at most {MOST_VETOES}", vetoes.len()));
    }
    for (index, veto) in vetoes.iter().enumerate() {
        let (key, from, to) = match veto.range {
            VetoRange::Time(from, to) => ("time", from, to),
            VetoRange::TimeOfFlight(from, to) => ("time_of_flight", from, to),
        };
        if from >= to {
            let problem = format!("the range of `{}` ends before it begins", veto.name);
            return SettingsError::refuse(format!("veto[{index}].{key}"), problem);
        }
    }
    Ok(())
}

/// Marks batches of events and counts.
#[derive(Clone, Debug)]
pub struct VetoStage {
    vetoes: Vec<Veto>,
    pulses: PulseTrain,
    counts: Vec<u64>,
}

impl VetoStage {
    /// For checked vetoes. Times of flight count from the pulses that the readout tells; `pulses` are for readouts
    /// that tell none.
    pub fn new(vetoes: Vec<Veto>, pulses: PulseTrain) -> Self {
        let counts = vec![0; vetoes.len()];
        Self { vetoes, pulses, counts }
    }

    /// Marks the events of a batch. Without vetoes the batch stays without marks.
    pub fn mark(&mut self, events: &mut EventBatch) {
        if self.vetoes.is_empty() {
            return;
        }
        let Self { vetoes, pulses, counts } = self;
        let by_flight = vetoes.iter().any(|veto| matches!(veto.range, VetoRange::TimeOfFlight(..)));
        events.mark(|pulse, time_ns| {
            // An event before its pulse, or before the first one, has no time of flight.
            let flight = match pulse {
                _ if !by_flight => None,
                Some(start) => time_ns.checked_sub(start),
                None => pulses.locate(time_ns).map(|at| at.time_of_flight_ns),
            };
            let mut mark = 0_u8;
            for (bit, (veto, count)) in vetoes.iter().zip(&mut *counts).enumerate() {
                let applies = match veto.range {
                    VetoRange::Time(from, to) => (from..to).contains(&time_ns),
                    VetoRange::TimeOfFlight(from, to) => {
                        flight.is_some_and(|flight| (from..to).contains(&flight))
                    }
                };
                mark |= u8::from(applies) << bit;
                *count += u64::from(applies);
            }
            mark
        });
    }

    /// The vetoes with the number of events that each has marked.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.vetoes.iter().map(|veto| veto.name.as_str()).zip(self.counts.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::event::Event;

    #[test]
    fn events_are_marked_and_counted_and_stay() {
        let veto = |name: &str, range| Veto { name: name.into(), range };
        let vetoes = vec![
            veto("prompt pulse", VetoRange::TimeOfFlight(0, 300_000)),
            veto("shutter", VetoRange::Time(80_000_000, 90_000_000)),
        ];
        check(&vetoes).unwrap();
        let mut stage = VetoStage::new(vetoes, PulseTrain::european_xfel());
        let mut batch = EventBatch::new(8);
        for time_ns in [5, 299_999, 300_000, 85_000_000, 90_000_000, 100_000_001] {
            assert!(batch.push(Event { time_ns, pixel_id: 1 }));
        }
        stage.mark(&mut batch);
        assert_eq!((batch.len(), batch.marks()), (6, &[1, 1, 0, 2, 0, 1][..]));
        assert_eq!(stage.counts().collect::<Vec<_>>(), [("prompt pulse", 3), ("shutter", 1)]);
        batch.clear();
        assert!(batch.marks().is_empty());
    }

    #[test]
    fn times_of_flight_count_from_the_pulses_of_the_readout() {
        let range = VetoRange::TimeOfFlight(200_000_000, 300_000_000);
        let veto = Veto { name: "slow neutrons".into(), range };
        let mut stage = VetoStage::new(vec![veto], PulseTrain::european_xfel());
        let mut batch = EventBatch::new(8);
        // The second pulse is late, so the times of flight of the first one exceed the configured period.
        for (pulse, times) in [(1_000, &[2_000, 200_001_000][..]), (300_000_000, &[310_000_000, 500_000_000])]
        {
            assert!(batch.begin_pulse(pulse));
            for &time_ns in times {
                assert!(batch.push(Event { time_ns, pixel_id: 1 }));
            }
        }
        stage.mark(&mut batch);
        assert_eq!(batch.marks(), [0, 1, 0, 1]);
    }

    #[test]
    fn a_range_that_ends_before_it_begins_is_refused() {
        let veto = Veto { name: "odd".into(), range: VetoRange::Time(5, 5) };
        assert_eq!(check(&[veto]).unwrap_err().key, "veto[0].time");
    }
}
