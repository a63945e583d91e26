//! Packets for the detectors of which there is no recording: simulated, as their configuration says, at a high rate.

use crate::simulation::{settings, simulation_with};
use evforge_config::Config;
use evforge_core::quantity::Frequency;
use evforge_sim::packet::SimulatedPacket;
use evforge_sim::simulation::SimulationError;

/// What was made.
#[derive(Clone, Debug)]
pub struct MadePackets {
    /// The packets, in the order in which they are sent.
    pub packets: Vec<SimulatedPacket>,
    /// Neutrons in them that left a trace in the detector.
    pub neutrons: u64,
    /// What they are, for people.
    pub description: String,
}

/// Packets of the configured detector, the same every time: of many neutrons, of which nearly all can still be told apart.
///
/// # Errors
/// If the detector cannot be simulated, or its simulation not be so configured.
pub fn made_packets(config: &Config) -> Result<MadePackets, SimulationError> {
    let (rate, pulses) = config.detector.busy_beam();
    let mut settings = settings(config).map_err(|error| SimulationError(error.to_string()))?;
    settings.beam.neutrons = Frequency { millihertz: rate * 1000 };
    let mut made = MadePackets { packets: Vec::new(), neutrons: 0, description: String::new() };
    let mut simulation = simulation_with(config, &settings)?;
    for pulse in simulation.next_pulses(pulses) {
        made.neutrons += pulse.truth.len() as u64;
        made.packets.extend(pulse.packets);
    }
    made.packets.extend(simulation.finish());
    made.description =
        format!("{} neutrons in {pulses} pulses, simulated at {} kHz on average", made.neutrons, rate / 1000);
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::slab_of;
    use evforge_core::detector::{form, form_rest};
    use evforge_core::event::EventBatch;
    use std::path::Path;

    /// Most neutrons are found, so that the bench measures the forming of events.
    #[test]
    fn made_packets_are_formed_to_events() {
        for name in ["freia", "estia", "trex", "nmx", "gdgem-srs", "sonde"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
            let config = Config::read(&path, &[]).unwrap();
            let made = made_packets(&config).unwrap();
            let mut detector = config.build_detector().unwrap();
            let mut events = EventBatch::new(8192);
            form(detector.as_mut(), &slab_of(&made.packets).batch(), &mut events, EventBatch::clear);
            form_rest(detector.as_mut(), &mut events, EventBatch::clear);
            let ledger = detector.ledger();
            assert_eq!((ledger.unaccounted(), ledger.counters.value("late")), (0, Some(0)), "{name}");
            let found = ledger.events() as f64 / made.neutrons as f64;
            assert!(found > 0.9 && found <= 1.01, "{name}: {found} of the neutrons");
        }
    }
}
