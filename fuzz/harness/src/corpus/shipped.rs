//! Streams of packets of the simulated electronics of each shipped configuration.

use super::Seed;
use super::pieces::joined;
use crate::shipped::{choice, configuration, configurations};
use evforge_core::quantity::Frequency;
use evforge_sim::simulation::{Simulation, SimulationSettings};

/// Bytes of packets in a seed: the fuzzer changes short inputs with more use.
const MOST_BYTES: usize = 6000;

/// A stream for each configuration.
pub fn seeds() -> Vec<Seed> {
    let stream = |(place, name): (usize, &'static str)| {
        let config = configuration(name);
        let mut settings: SimulationSettings = config.table("simulation").expect("a sound table");
        settings.beam.neutrons = Frequency { millihertz: 2_000_000 };
        let (detector, readout) = config.simulated(&settings).expect("it can be simulated");
        let simulation = Simulation::new(&settings, config.pulses, detector, readout);
        let mut simulation = simulation.expect("it can be simulated");
        let mut packets: Vec<Vec<u8>> = Vec::new();
        let pulses = simulation.next_pulses(3);
        let sent = pulses.into_iter().flat_map(|pulse| pulse.packets).chain(simulation.finish());
        for packet in sent {
            let bytes = packets.iter().map(Vec::len).sum::<usize>() + packet.bytes.len();
            if packets.is_empty() || bytes <= MOST_BYTES {
                packets.push(packet.bytes);
            }
        }
        assert!(!packets.is_empty(), "{name} sends nothing");
        let first = place as u8 | [0, choice::PUBLISH, choice::WATCHED][place % 3];
        Seed { name: name.to_owned(), bytes: joined(vec![first], &packets) }
    };
    configurations().into_iter().enumerate().map(stream).collect()
}
