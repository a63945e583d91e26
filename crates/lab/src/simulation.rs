//! The simulation of the detector that a configuration describes.

use evforge_config::{CommonConfig, Config, ConfigError};
use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::packet::PacketSlab;
use evforge_sim::faults::log::{FaultLog, SenderReport};
use evforge_sim::isis::TrueFrame;
use evforge_sim::packet::SimulatedPacket;
use evforge_sim::simulation::{Simulation, SimulationError, SimulationSettings};
use evforge_sim::truth::Neutron;
use std::path::Path;

/// The simulation of the configured detector, with its own `[simulation]`.
///
/// # Errors
/// If the detector cannot be simulated, or its simulation not be so configured.
pub fn simulation(config: &Config) -> Result<Simulation, SimulationError> {
    let settings = settings(config).map_err(|error| SimulationError(error.to_string()))?;
    simulation_with(config, &settings)
}

/// The table `[simulation]`. Files that it names lie in the folder of the configuration.
///
/// # Errors
/// What is wrong with it, and where.
pub fn settings(config: &CommonConfig) -> Result<SimulationSettings, ConfigError> {
    let mut settings: SimulationSettings = config.table("simulation")?;
    settings.beam.relative_to(config.path.parent().unwrap_or(Path::new("")));
    Ok(settings)
}

/// The simulation of the configured detector as `settings` say.
///
/// # Errors
/// As [`simulation()`].
pub fn simulation_with(
    config: &Config,
    settings: &SimulationSettings,
) -> Result<Simulation, SimulationError> {
    let (detector, readout) = config.simulated(settings)?;
    Simulation::new(settings, config.pulses, detector, readout)
}

/// What a detector has made of a simulation.
pub struct FormedSimulation {
    /// The neutrons.
    pub truth: Vec<Neutron>,
    /// Neutrons that reached the detector, with those that left nothing.
    pub arrived: u64,
    /// Hits that the electronics have digitised.
    pub readouts: u64,
    /// Packets put on the wire.
    pub packets: u64,
    /// The frames that were sent, where the readout has them.
    pub frames: Vec<TrueFrame>,
    /// What has gone wrong on the way.
    pub faults: FaultLog,
    /// Packets that the electronics have made.
    pub sent: SenderReport,
    /// The events, in the order in which they were formed.
    pub events: EventLog,
    /// The detector, at its end.
    pub detector: Box<dyn Detector>,
}

/// Simulates this many pulses and forms their events in memory, by the configured detector.
///
/// # Errors
/// As [`simulation()`], or if the detector cannot be built.
pub fn form_simulation(config: &Config, pulses: usize) -> Result<FormedSimulation, SimulationError> {
    form_simulated(simulation(config)?, config, pulses)
}

/// Simulates this many pulses and forms their events as a configuration says, which need not be that of the simulation.
///
/// # Errors
/// As [`form_simulation`].
pub fn form_simulated(
    mut simulation: Simulation,
    config: &Config,
    pulses: usize,
) -> Result<FormedSimulation, SimulationError> {
    let detector = config.build_detector().map_err(|error| SimulationError(error.to_string()))?;
    let mut formed = FormedSimulation {
        truth: Vec::new(),
        frames: Vec::new(),
        arrived: 0,
        readouts: 0,
        packets: 0,
        faults: FaultLog::default(),
        sent: SenderReport::default(),
        events: EventLog::default(),
        detector,
    };
    let mut batch = EventBatch::new(config.input.events_per_batch);
    let mut left = pulses;
    // As many at a time as memory stays small and several threads have something to do.
    let at_a_time = if simulation.parts().is_some() { PARTS_AT_A_TIME } else { PULSES_AT_A_TIME };
    while left > 0 {
        let count = left.min(at_a_time);
        left -= count;
        for pulse in simulation.next_pulses(count) {
            formed.take(&pulse.packets, &mut batch);
            formed.arrived += pulse.arrived;
            formed.readouts += pulse.readouts;
            formed.truth.extend(pulse.truth);
            formed.frames.extend(pulse.frames);
        }
    }
    formed.take(&simulation.finish(), &mut batch);
    formed.frames.extend(simulation.last_frames());
    formed.faults = simulation.faults().log().clone();
    formed.sent = simulation.faults().report();
    form_rest(&mut *formed.detector, &mut batch, |events| {
        formed.events.take(events);
        events.clear();
    });
    Ok(formed)
}

impl FormedSimulation {
    fn take(&mut self, packets: &[SimulatedPacket], batch: &mut EventBatch) {
        self.packets += packets.len() as u64;
        form(&mut *self.detector, &slab_of(packets).batch(), batch, |events| {
            self.events.take(events);
            events.clear();
        });
    }
}

const PULSES_AT_A_TIME: usize = 16;
/// Parts of pulses are simulated where whole ones have too many neutrons.
const PARTS_AT_A_TIME: usize = 2;

/// All packets in one piece of memory.
pub fn slab_of(packets: &[SimulatedPacket]) -> PacketSlab {
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(|packet| packet.bytes.len()).sum());
    for packet in packets {
        let has_room = slab.push(&packet.bytes, packet.bytes.len(), packet.origin);
        debug_assert!(has_room, "the slab was made for them");
    }
    slab
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_sim::beam::ImageSettings;

    /// A configuration with a picture, and with what overrides change in it.
    fn read(folder: &Path, overrides: &[&str]) -> Result<SimulationSettings, String> {
        let path = folder.join("with-picture.toml");
        let shipped = include_str!("../../../configs/sonde-module.toml");
        let text = format!("{shipped}\n[simulation.beam]\nimage = {{ png = \"cat.png\" }}\n");
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let config = Config::parse(&path, &text, &overrides).map_err(|error| error.to_string())?;
        settings(&config).map_err(|error| error.to_string())
    }

    #[test]
    fn the_picture_in_the_beam_is_found_from_the_folder_of_the_configuration() {
        let folder = Path::new("/some/where");
        let image = |overrides: &[&str]| read(folder, overrides).map(|settings| settings.beam.image);
        assert_eq!(image(&[]), Ok(ImageSettings::Png(folder.join("cat.png"))));
        let other = image(&["simulation.beam.image.png=pictures/dog.png"]);
        assert_eq!(other, Ok(ImageSettings::Png(folder.join("pictures/dog.png"))));
        assert_eq!(image(&["simulation.beam.image=flat"]), Ok(ImageSettings::Flat));
    }

    #[test]
    fn another_clock_of_the_ess_readout_is_not_simulated() {
        let text = include_str!("../../../configs/nmx.toml");
        let with = |clock: &str| {
            let overrides = [format!("ess.clock={clock}")];
            let config = Config::parse(Path::new("nmx.toml"), text, &overrides).unwrap();
            simulation(&config).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(with("88.0525MHz"), Ok(()));
        assert!(with("88.9MHz").unwrap_err().contains("ess.clock says 88900000: leave it out"));
    }

    #[test]
    fn errors_of_the_table_name_its_place_or_the_override() {
        let folder = Path::new("/some/where");
        let error = read(folder, &["simulation.beam.neutrons=x"]).unwrap_err();
        let expected = "/some/where/with-picture.toml: with --set simulation.beam.neutrons=x: ";
        assert!(error.starts_with(expected) && error.contains("found `x`, expected a frequency"), "{error}");
        let text = "name = 'x'\n[simulation]\nsed = 5\n";
        let config = CommonConfig::parse(Path::new("x.toml"), text, &[]).unwrap();
        let error = settings(&config).unwrap_err().to_string();
        assert!(
            error.starts_with("x.toml:3:1: unknown field `sed` (did you mean `seed`?), expected"),
            "{error}"
        );
    }
}
