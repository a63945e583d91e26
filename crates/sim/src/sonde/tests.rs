use super::*;
use crate::detector_model::{DetectorModel, Strike};
use crate::random::{Stream, stream};
use crate::simulation::{SimulatedPulse, Simulation, SimulationSettings};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulse::PulseTrain;
use evforge_core::quantity::Frequency;
use evforge_detect::settings::SortingSettings;
use evforge_detect::sonde::settings::{
    EventSequence, GroupAddress, GroupSettings, ModuleSettings, SondeSettings, TimeSettings,
};
use evforge_wire::sonde::{Content, SondePacket};

fn settings() -> SondeSettings {
    let module = |system, x| ModuleSettings { system: Some(system), x, y: 0 };
    SondeSettings {
        geometry: LogicalGeometry::flat(24, 8).unwrap_or_else(|_| unreachable!("a geometry")),
        groups: vec![GroupSettings {
            address: GroupAddress::Any,
            x: 0,
            y: 0,
            modules: vec![module(3, 0), module(5, 16)],
        }],
        time: TimeSettings { extended: true, tick: None },
        sequence: EventSequence::Time,
        sorting: SortingSettings {
            window: 1,
            forward_jump: 1,
            restart: 1,
            source_lag: 1,
            max_held_hits: 8192,
            max_group_hits: 1,
            decimation: 0,
            highest_rate: None,
        },
        mask: Vec::new(),
    }
}

fn simulation(seed: u64, neutrons_per_second: u64) -> Simulation {
    let mut of_simulation = SimulationSettings { seed, ..SimulationSettings::default() };
    of_simulation.beam.neutrons = Frequency { millihertz: neutrons_per_second * 1000 };
    let settings = settings();
    let model = SondeModel::new(&settings, SondePhysics::default());
    let readout = SondeReadout::new(&settings, model.layout());
    Simulation::new(&of_simulation, PulseTrain::ess(), Box::new(model), Box::new(readout))
        .expect("settings fit")
}

/// Times and places of all readouts, as they are in the packets.
fn readouts(pulses: &[SimulatedPulse]) -> Vec<(u32, u8, u8)> {
    let packets = pulses.iter().flat_map(|pulse| &pulse.packets);
    let read = packets.flat_map(|packet| {
        let packet = SondePacket::parse(&packet.bytes).expect("a sound packet");
        let Content::TriggerTimes(times) = packet.content else { panic!("trigger times") };
        times
            .entries()
            .map(move |entry| (entry.time, packet.header.system, entry.asic_channel))
            .collect::<Vec<_>>()
    });
    read.collect()
}

#[test]
fn every_resolvable_neutron_has_one_readout_at_its_pixel_or_beside() {
    let mut simulation = simulation(1, 50_000);
    let pulses: Vec<_> = (0..5).map(|_| simulation.next_pulse()).collect();
    let (settings, mut found) = (settings(), readouts(&pulses));
    found.sort_unstable();
    let (mut resolvable, mut beside) = (0, 0);
    for neutron in pulses.iter().flat_map(|pulse| &pulse.truth).filter(|neutron| neutron.resolvable) {
        resolvable += 1;
        let at = settings.geometry.coordinates(neutron.pixel_id).unwrap();
        let system = if at.x < 8 { 3 } else { 5 };
        let time_ns = neutron.time_ns as u32;
        let from = found.partition_point(|(time, ..)| *time + 100 <= time_ns);
        let near = found[from..].iter().take_while(|(time, ..)| *time < time_ns + 100);
        let places = near.filter_map(|(_, of, address)| {
            (*of == system).then_some(evforge_detect::sonde::digital_geometry::place_in_module(
                address >> 6,
                address & 0x3F,
            )?)
        });
        let is_beside = |(x, y): &(u32, u32)| x.abs_diff(at.x % 8) <= 1 && y.abs_diff(at.y) <= 1;
        let near: Vec<_> = places.filter(is_beside).collect();
        let exactly = near.iter().filter(|place| **place == (at.x % 8, at.y)).count();
        assert!(exactly == 1 || (exactly == 0 && !near.is_empty()), "{neutron:?}: {near:?}");
        beside += 1 - exactly;
    }
    // On the very border of two pixels both get half of the light, and the other one has cross-talk besides: it alone may
    // be above threshold.
    assert!(beside * 1000 < resolvable, "{beside} of {resolvable}");
    let all: usize = pulses.iter().map(|pulse| pulse.truth.len()).sum();
    assert!(resolvable > all * 9 / 10, "{resolvable} of {all}");
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let one: Vec<_> = {
        let mut simulation = simulation(7, 20_000);
        (0..6).map(|_| simulation.next_pulse()).collect()
    };
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| simulation(7, 20_000).next_pulses(6)) == one, "{threads} threads");
    }
    assert!(simulation(8, 20_000).next_pulses(6) != one);
}

#[test]
fn light_is_shared_at_borders_but_not_between_modules() {
    let model = SondeModel::new(&settings(), SondePhysics::default());
    let mut random = stream(1, Stream::Channels);
    let mut light_at = |x: f64, y: f64| {
        let mut charges = Vec::new();
        let strike = Strike { time_ps: 0, x, y, panel: 0, wavelength: 1.8 };
        let event = model.add_neutron(&strike, &mut random, &mut charges);
        let mut amplitudes: Vec<f32> = charges.iter().map(|charge| charge.amplitude).collect();
        amplitudes.sort_unstable_by(|one, other| other.total_cmp(one));
        (event.is_some(), amplitudes)
    };
    let (_, middle) = light_at(2.5, 3.5);
    assert_eq!(middle.len(), 9);
    assert!(middle[0] > 20.0 * middle[1], "{middle:?}");
    let (_, border) = light_at(2.999, 3.5);
    assert!(border[0] < 1.2 * border[1], "{border:?}");
    // The corner of a module has no neighbours beyond it, and between the modules there is nothing.
    assert_eq!(light_at(0.1, 0.1).1.len(), 4);
    assert_eq!(light_at(7.9, 3.5).1.len(), 6);
    assert_eq!(light_at(12.0, 3.5), (false, Vec::new()));
    assert!(!model.is_sensitive(12, 3, 0) && model.is_sensitive(16, 3, 0));
}

#[test]
fn silent_boards_are_heard_now_and_then() {
    let mut simulation = simulation(1, 0);
    let packets: usize = simulation.next_pulses(14).iter().map(|pulse| pulse.packets.len()).sum();
    assert!((2..=6).contains(&packets), "{packets} packets of two boards in a second");
}
