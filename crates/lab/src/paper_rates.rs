//! Whether what waits for its time fits into a configuration at the rates of the EFU paper (table 1), peaks included.
//!
//! Time is that of the data: events may be formed more slowly than they came. Simulated are whole pulses, or, where one has
//! too many neutrons, the part of each around its peak, long enough for buffers to be as full as they get: all that waits
//! at a moment came within the window before it.

use crate::LabError;
use crate::simulation::{settings, simulation_with, slab_of};
use evforge_config::Config;
use evforge_config::shipped;
use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::packet::PacketSlab;
use evforge_core::quantity::Frequency;
use evforge_sim::beam::parts::Parts;

/// An instrument at its rate, and the shipped configuration for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaperRate {
    /// The instrument.
    pub instrument: &'static str,
    /// The configuration.
    pub configuration: &'static str,
    /// Neutrons per second on the detector, on average over all time, in MHz.
    pub megahertz: u64,
    /// The key that says how many hits may wait.
    pub held_hits: &'static str,
}

const fn rate(
    instrument: &'static str,
    configuration: &'static str,
    megahertz: u64,
    held_hits: &'static str,
) -> PaperRate {
    PaperRate { instrument, configuration, megahertz, held_hits }
}

const OF_ESS: &str = "ess.sorting.max_held_hits";

/// The instruments whose detectors have a configuration. LET is none of the paper's; it is taken at the rate of T-REX.
pub const PAPER_RATES: &[PaperRate] = &[
    rate("FREIA", "freia", 100, OF_ESS),
    rate("ESTIA", "estia", 500, OF_ESS),
    rate("T-REX", "trex", 10, OF_ESS),
    rate("LET", "let", 10, OF_ESS),
    rate("NMX", "nmx", 5, OF_ESS),
    rate("NMX", "gdgem-nmx", 5, "gdgem.sorting.max_held_hits"),
    rate("SKADI", "sonde", 37, "sonde.sorting.max_held_hits"),
];

/// A pulse with more neutrons is simulated around its peak only.
const MOST_OF_A_PULSE: f64 = 4e6;

/// Packets at a rate, and what is in them.
pub struct PeakLoad {
    /// The packets of each pulse.
    pub slabs: Vec<PacketSlab>,
    /// Readouts in them.
    pub readouts: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Neutrons that left a trace.
    pub traces: u64,
    /// Neutrons per second within the millisecond in which most come.
    pub peak_rate: f64,
}

/// So many pulses of a configured detector at a rate, whole or around their peaks.
///
/// # Errors
/// If the detector cannot be simulated.
pub fn peak_load(config: &Config, neutrons: Frequency, pulses: usize) -> Result<PeakLoad, LabError> {
    let mut settings = settings(config)?;
    settings.beam.neutrons = neutrons;
    let simulation = simulation_with(config, &settings)?;
    let starts = [0, 1].map(|pulse| config.pulses.start_ns(pulse).unwrap_or_default());
    let in_a_pulse = simulation.beam().average_rate() * (starts[1] - starts[0]) as f64 / 1e9;
    let peak_rate = simulation.beam().peak_rate();
    let window_ps = config.detector.held_hits().map_or(0, |held| held.window);
    // Until it is full, and as long again.
    let length_ps = 2 * window_ps + 1_000_000_000;
    let part = Parts { count: 1, length_ps, around_ps: Some(simulation.beam().peak_ps()) };
    let mut simulation = simulation.in_parts((in_a_pulse > MOST_OF_A_PULSE).then_some(part));
    let mut load = PeakLoad { slabs: Vec::new(), readouts: 0, bytes: 0, traces: 0, peak_rate };
    for _ in 0..pulses {
        let pulse = simulation.next_pulse();
        load.readouts += pulse.readouts;
        load.traces += pulse.truth.len() as u64;
        load.bytes += pulse.packets.iter().map(|packet| packet.bytes.len() as u64).sum::<u64>();
        load.slabs.push(slab_of(&pulse.packets));
    }
    load.slabs.push(slab_of(&simulation.finish()));
    Ok(load)
}

/// What a detector made of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Events.
    pub events: u64,
    /// Times that time was closed early for want of room.
    pub forced_closings: u64,
    /// Hits that came after their time had been closed.
    pub late: u64,
    /// Packets, readouts and hits that are not accounted for.
    pub unaccounted: u64,
    /// The memory that the detector may take, in bytes.
    pub memory_bound: usize,
}

impl Fit {
    /// What is wrong, in words.
    pub fn problems(&self) -> Vec<String> {
        let Self { forced_closings, late, unaccounted, .. } = *self;
        let mut problems = Vec::new();
        for (count, what) in [
            (forced_closings, "times were closed early for want of room"),
            (late, "hits were late"),
            (unaccounted, "packets, readouts or hits are not accounted for"),
        ] {
            if count > 0 {
                problems.push(format!("{count} {what}"));
            }
        }
        problems
    }
}

/// Forms the events of a load, as a run does, and returns the detector at its end.
///
/// # Errors
/// If the detector cannot be built.
pub fn formed(config: &Config, load: &PeakLoad) -> Result<Box<dyn Detector>, LabError> {
    let mut detector = config.build_detector()?;
    let mut batch = EventBatch::new(config.input.events_per_batch);
    for slab in &load.slabs {
        form(&mut *detector, &slab.batch(), &mut batch, EventBatch::clear);
    }
    form_rest(&mut *detector, &mut batch, EventBatch::clear);
    Ok(detector)
}

/// What a detector at its end has made of a load.
pub fn found(detector: &dyn Detector) -> Fit {
    let ledger = detector.ledger();
    let value = |name| ledger.counters.value(name).unwrap_or(0);
    Fit {
        events: ledger.events(),
        forced_closings: value("forced_closings"),
        late: value("late"),
        unaccounted: ledger.unaccounted(),
        memory_bound: detector.memory_bound(),
    }
}

/// Forms the events of a load, and says what became of it.
///
/// # Errors
/// As [`formed`].
pub fn fit(config: &Config, load: &PeakLoad) -> Result<Fit, LabError> {
    Ok(found(&*formed(config, load)?))
}

impl PaperRate {
    /// The rate.
    pub fn neutrons(&self) -> Frequency {
        Frequency { millihertz: self.megahertz * 1_000_000_000 }
    }

    /// The configuration; with another number of hits that may wait, if one is given.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn config(&self, held_hits: Option<usize>) -> Result<Config, LabError> {
        let overrides: Vec<String> =
            held_hits.iter().map(|hits| format!("{}={hits}", self.held_hits)).collect();
        Ok(shipped::configuration(self.configuration, &overrides)?)
    }

    /// The least `max_held_hits` without forced closings, to a factor of 1.25 from the configured one down; none if that
    /// is not enough.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn needed(&self, load: &PeakLoad) -> Result<Option<usize>, LabError> {
        let mut least = None;
        let mut hits = self.config(None)?.detector.held_hits().map_or(0, |held| held.hits);
        // Below that a configuration is refused.
        while let Ok(config) = self.config(Some(hits)) {
            if fit(&config, load)?.forced_closings > 0 {
                break;
            }
            least = Some(hits);
            hits = hits * 4 / 5;
        }
        Ok(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_sim::instruments::INSTRUMENTS;

    #[test]
    fn rates_are_those_of_the_paper() {
        for entry in PAPER_RATES.iter().filter(|entry| entry.instrument != "LET") {
            let found = INSTRUMENTS.iter().find(|instrument| instrument.name == entry.instrument);
            assert_eq!(found.map(|instrument| instrument.average), Some(entry.megahertz * 1_000_000));
            let held = entry.config(None).unwrap().detector.held_hits();
            let less = entry.config(Some(16_384)).unwrap().detector.held_hits();
            assert_ne!(held, less, "{} is the key", entry.held_hits);
        }
    }

    /// A module of a SoNDe with less room than its rate needs says so, and with the room that is needed does not.
    #[test]
    fn too_little_room_is_noticed_and_what_is_needed_is_found() {
        let key = "sonde.sorting.max_held_hits";
        let entry = PaperRate { configuration: "sonde-module", held_hits: key, ..PAPER_RATES[6] };
        let config = entry.config(None).unwrap();
        let load = peak_load(&config, Frequency { millihertz: 20_000_000_000 }, 2).unwrap();
        assert!(load.readouts > 100_000 && load.peak_rate > 50e6, "{} {}", load.readouts, load.peak_rate);
        assert_eq!(fit(&config, &load).unwrap().problems(), [""; 0]);
        let needed = entry.needed(&load).unwrap().unwrap();
        let less = entry.config(Some(needed * 4 / 5)).map(|config| fit(&config, &load).unwrap());
        assert!(less.is_err() || less.is_ok_and(|fit| fit.forced_closings > 0), "{needed}");
    }
}
