use super::*;
use crate::detector_model::{Charge, DetectorModel, Strike};
use crate::electronics::Hit;
use crate::layout::Place;
use crate::random::{Stream, stream};
use crate::readout::{Disturbance, Pulse, Readout};
use crate::simulation::{Simulation, SimulationSettings};
use crate::start::FIXED_START_NS;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulse::PulseTrain;
use evforge_core::quantity::Frequency;
use evforge_detect::multiblade::MultiBladeSettings;
use evforge_detect::multiblade::caen::settings::{
    ChannelMapping, HitOrder, Plane, ReadoutFormat, Rounding, TimeBase, WindowRule, WindowSettings,
};
use evforge_detect::settings::SortingSettings;
use evforge_wire::caen::{JadaqPacket, JadaqVersion, RecordPacket};
use proptest::prelude::*;

/// Two cassettes of 32 wires and 64 strips, read by three digitisers; strip 7 of the second one is not wired.
pub(super) fn settings(format: ReadoutFormat, time_base: TimeBase) -> MultiBladeSettings {
    let run = |digitizer, first_channel, channels, cassette, plane, first| ChannelMapping {
        digitizer,
        first_channel,
        channels,
        cassette,
        plane,
        first,
    };
    MultiBladeSettings {
        format,
        order: HitOrder::Time,
        time_base,
        tick: 16_000,
        raw_ticks: false,
        sorting: SortingSettings {
            window: 20_000_000_000,
            forward_jump: 1_000_000_000_000,
            restart: 1_000_000_000_000,
            source_lag: 1_000_000_000_000,
            max_held_hits: 131_072,
            max_group_hits: 16_384,
            decimation: 0,
            highest_rate: None,
        },
        threshold: 0,
        channel_thresholds: Vec::new(),
        mask: Vec::new(),
        window: WindowSettings {
            rule: WindowRule::Box,
            ticks: 185,
            max_wires: 2,
            max_strips: 4,
            max_gap_wires: 0,
            max_gap_strips: 0,
            max_amplitude_ratio: Some(4000),
            separate: true,
        },
        maximum: false,
        rounding: Rounding::Nearest,
        cassettes: 2,
        wires: 32,
        strips: 64,
        mapping: vec![
            run(33, 0, 32, 0, Plane::Wires, 0),
            run(33, 32, 32, 0, Plane::Strips, 0),
            run(7, 0, 32, 0, Plane::Strips, 32),
            run(7, 32, 32, 1, Plane::Wires, 0),
            run(140, 0, 7, 1, Plane::Strips, 0),
            run(140, 8, 56, 1, Plane::Strips, 8),
        ],
        geometry: LogicalGeometry::flat(64, 64).unwrap_or_else(|_| unreachable!("a geometry")),
    }
}

fn model() -> MultiBladeModel {
    MultiBladeModel::new(
        &settings(ReadoutFormat::Jadaq1_3, TimeBase::GlobalTime),
        MultiBladePhysics::default(),
    )
}

pub(super) fn simulation(
    settings: &MultiBladeSettings,
    physics: MultiBladePhysics,
    seed: u64,
    neutrons_per_second: u64,
) -> Simulation {
    let mut of_simulation = SimulationSettings { seed, ..SimulationSettings::default() };
    of_simulation.beam.neutrons = Frequency { millihertz: neutrons_per_second * 1000 };
    let model = MultiBladeModel::new(settings, physics);
    let readout = CaenReadout::new(settings, model.layout(), PulseTrain::ess());
    Simulation::new(&of_simulation, PulseTrain::ess(), Box::new(model), Box::new(readout))
        .expect("settings fit")
}

/// Picoseconds since the start of the clock, digitizer, channel and amplitude of every readout. `now_ns`: times of 32
/// bits are those that lie next to it.
fn readouts(
    format: ReadoutFormat,
    time_base: TimeBase,
    bytes: &[u8],
    now_ns: u64,
) -> Vec<(u128, u32, u16, u16)> {
    let now = now_ns / 16;
    let whole = |time: u64| {
        let near = now.wrapping_add_signed(i64::from((time as u32).wrapping_sub(now as u32) as i32));
        u128::from(near) * 16_000
    };
    if format == ReadoutFormat::Records {
        let packet = RecordPacket::parse(bytes).expect("whole records");
        let read = |of: evforge_wire::caen::Record| {
            (whole(of.time.into()), u32::from(of.digitizer), u16::from(of.channel), of.adc)
        };
        return packet.records().map(read).collect();
    }
    let version = match format {
        ReadoutFormat::JadaqOfJune2018 => JadaqVersion::OfJune2018,
        _ => JadaqVersion::V1_3,
    };
    let packet = JadaqPacket::parse(bytes, version).expect("a sound packet");
    let base = u128::from(packet.global_time) * 1_000_000_000;
    packet
        .elements()
        .map(|of| {
            let time = match time_base {
                TimeBase::GlobalTime => base + u128::from(of.time) * 16_000,
                TimeBase::Electronics => whole(of.time),
            };
            (time, packet.digitizer, of.channel, of.charge)
        })
        .collect()
}

fn format_and_base() -> impl Strategy<Value = (ReadoutFormat, TimeBase)> {
    prop::sample::select(vec![
        (ReadoutFormat::Records, TimeBase::Electronics),
        (ReadoutFormat::JadaqOfJune2018, TimeBase::Electronics),
        (ReadoutFormat::JadaqOfJune2018, TimeBase::GlobalTime),
        (ReadoutFormat::Jadaq1_3, TimeBase::Electronics),
        (ReadoutFormat::Jadaq1_3, TimeBase::GlobalTime),
    ])
}

proptest! {
    /// Every hit is in the packets once, with its channel, its amplitude and the tick in which it was.
    #[test]
    fn hits_come_out_of_packets_again(
        (format, time_base) in format_and_base(),
        hits in prop::collection::vec((0..191_u32, 0..71_000_000_000_u64, 0..9_000_000_000_u64, any::<u16>()), 0..300),
        number in 0_u64..1000,
        step_ps in -5_000_000_000_i64..5_000_000_000,
    ) {
        let settings = settings(format, time_base);
        let model = MultiBladeModel::new(&settings, MultiBladePhysics::default());
        let mut readout = CaenReadout::new(&settings, model.layout(), PulseTrain::ess());
        // Wires and strips of a digitizer by the channels of the layout, as the mapping says.
        let address = |channel: u32| {
            let place = model.layout().places()[channel as usize];
            let run = settings.mapping.iter().find(|run| {
                (run.cassette, run.plane.index() as u8) == (place.module, place.plane)
                    && (run.first..run.first + run.channels).contains(&place.coordinate)
            });
            run.map(|run| (run.digitizer, run.first_channel + place.coordinate - run.first)).unwrap()
        };
        let mut hits: Vec<Hit> = hits
            .into_iter()
            .map(|(channel, time_ps, late, amplitude)| {
                Hit { channel, time_ps, sent_ps: (time_ps + late).min(71_428_000_000), amplitude }
            })
            .collect();
        hits.sort_unstable_by_key(|hit| hit.sent_ps);
        for source in 0..readout.sources().len() {
            let is_done = readout.disturb(Disturbance::ClockStep { source, by_ps: step_ps });
            prop_assert!(is_done);
        }
        let train = PulseTrain::ess();
        let number = readout.first_pulse(FIXED_START_NS) + number;
        let start_ns = train.start_ns(number).unwrap();
        let pulse = Pulse { number, start_ns, end_ns: train.start_ns(number + 1).unwrap() };
        let mut packets = Vec::new();
        readout.pulse(&pulse, &hits, &mut packets);
        prop_assert!(packets.is_sorted_by_key(|packet| packet.origin.arrival_ns));
        let mut found: Vec<_> = packets
            .iter()
            .flat_map(|packet| readouts(format, time_base, &packet.bytes, start_ns))
            .collect();
        found.sort_unstable();
        let mut expected: Vec<_> = hits
            .iter()
            .map(|hit| {
                let time = (i128::from(start_ns) * 1000 + i128::from(step_ps)) as u128 + u128::from(hit.time_ps);
                let (digitizer, channel) = address(hit.channel);
                (time / 16_000 * 16_000, digitizer, channel, hit.amplitude)
            })
            .collect();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn packets_of_a_digitizer_are_numbered_and_can_be_disturbed() {
    let settings = settings(ReadoutFormat::Jadaq1_3, TimeBase::GlobalTime);
    let mut simulation = simulation(&settings, MultiBladePhysics::default(), 1, 500_000);
    assert_eq!(simulation.readout().sources(), ["digitizer 7", "digitizer 33", "digitizer 140"]);
    assert!(simulation.readout().disturb(Disturbance::CounterBeforeWrap { source: 1, packets: 2 }));
    assert!(!simulation.readout().disturb(Disturbance::Restart { source: 3 }));
    let packets: Vec<_> = simulation.next_pulses(2).into_iter().flat_map(|pulse| pulse.packets).collect();
    let mut next = [0, u32::MAX - 1, 0];
    for packet in &packets {
        let numbering = JadaqPacket::numbering(&packet.bytes, JadaqVersion::V1_3).unwrap();
        let source = packet.sender.source;
        assert_eq!(numbering.digitizer, [7, 33, 140][source]);
        assert_eq!(numbering.sequence, next[source]);
        assert_eq!(packet.sender.number, Some(u64::from(next[source])));
        next[source] = next[source].wrapping_add(1);
    }
    assert!(next.iter().all(|next| (2..1000).contains(next)), "{next:?}");
    for format in [ReadoutFormat::Records, ReadoutFormat::JadaqOfJune2018] {
        let unnumbered = self::settings(format, TimeBase::Electronics);
        let mut readout = CaenReadout::new(&unnumbered, model().layout(), PulseTrain::ess());
        assert!(!readout.disturb(Disturbance::Restart { source: 0 }));
        assert!(readout.disturb(Disturbance::ClockStep { source: 0, by_ps: 5 }));
    }
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let settings = settings(ReadoutFormat::Jadaq1_3, TimeBase::GlobalTime);
    let simulation = |seed| simulation(&settings, MultiBladePhysics::default(), seed, 20_000);
    let one: Vec<_> = {
        let mut simulation = simulation(7);
        (0..6).map(|_| simulation.next_pulse()).collect()
    };
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| simulation(7).next_pulses(6)) == one, "{threads} threads");
    }
    assert!(simulation(8).next_pulses(6) != one);
}

/// A neutron without a track: charge by plane, wire or strip.
fn charges_of(model: &MultiBladeModel, strike: Strike) -> Vec<(Place, f32)> {
    let mut random = stream(1, Stream::Channels);
    let mut charges: Vec<Charge> = Vec::new();
    // Small signals are not measured wholly.
    while charges.iter().map(|charge| charge.amplitude).sum::<f32>() < 30_000.0 {
        charges.clear();
        let _ = model.add_neutron(&strike, &mut random, &mut charges);
    }
    charges
        .iter()
        .map(|charge| (model.layout().places()[charge.channel as usize], charge.amplitude))
        .collect()
}

#[test]
fn charge_is_where_the_neutron_was_and_ends_with_the_cassette() {
    let settings = settings(ReadoutFormat::Jadaq1_3, TimeBase::GlobalTime);
    let model =
        MultiBladeModel::new(&settings, MultiBladePhysics { track_length: 0.0, ..Default::default() });
    let strike = |x, y| Strike { time_ps: 1000, x, y, panel: 0, wavelength: 4.0 };
    let charges = charges_of(&model, strike(40.5, 32.01));
    let wires: Vec<_> = charges.iter().filter(|(place, _)| place.plane == 0).collect();
    assert!(matches!(wires[..], [(Place { module: 1, coordinate: 0, .. }, _)]), "{wires:?}");
    let strips: Vec<_> = charges.iter().filter(|(place, _)| place.plane == 1).collect();
    let at = |strip| strips.iter().find(|(place, _)| place.coordinate == strip).map_or(0.0, |(_, a)| *a);
    assert!((at(40) / (at(39) + at(40) + at(41)) - 0.58).abs() < 0.03, "{strips:?}");
    assert!((at(39) / at(41) - 1.0).abs() < 0.02, "{strips:?}");
    // Beyond the first strip there is none, and strip 7 of cassette 1 is not wired.
    let strips_of = |x| {
        let charges = charges_of(&model, strike(x, 40.5));
        let strips = charges.iter().filter(|(place, _)| place.plane == 1);
        strips.map(|(place, _)| place.coordinate).collect::<Vec<_>>()
    };
    assert_eq!(strips_of(0.5)[0], 0);
    assert!(!strips_of(7.5).contains(&7) && strips_of(7.5).contains(&8));
    assert!(!model.is_sensitive(7, 40, 0) && model.is_sensitive(7, 31, 0) && model.is_sensitive(8, 40, 0));
    assert!(!model.is_sensitive(64, 0, 0) && !model.is_sensitive(0, 0, 1));
}

#[test]
fn gammas_leave_little_on_a_single_wire() {
    let model = model();
    let mut random = stream(1, Stream::Channels);
    let (mut of_gammas, mut of_neutrons, mut wires) = (0.0, 0.0, 0);
    let sum = |charges: &[Charge]| charges.iter().map(|charge| f64::from(charge.amplitude)).sum::<f64>();
    for _ in 0..1000 {
        let strike = Strike { time_ps: 0, x: 20.9, y: 20.9, panel: 0, wavelength: 4.0 };
        let mut charges = Vec::new();
        model.add_gamma(&strike, &mut random, &mut charges);
        of_gammas += sum(&charges);
        let on_wires = charges.iter().filter(|one| model.layout().places()[one.channel as usize].plane == 0);
        wires = wires.max(on_wires.count());
        charges.clear();
        model.add_neutron(&strike, &mut random, &mut charges);
        of_neutrons += sum(&charges);
    }
    assert!(wires == 1 && of_gammas * 50.0 < of_neutrons, "{wires} {of_gammas} {of_neutrons}");
}

#[test]
fn impossible_physics_are_refused() {
    let settings = settings(ReadoutFormat::Jadaq1_3, TimeBase::GlobalTime);
    let refused =
        |physics| prototype(&settings, physics, PulseTrain::ess()).err().map(|error| error.to_string());
    let sound = MultiBladePhysics::default();
    assert_eq!(refused(sound), None);
    for (physics, key) in [
        (MultiBladePhysics { efficiency: f64::NAN, ..sound }, "efficiency: found NaN, expected 0 to 1"),
        (MultiBladePhysics { track_length: f64::INFINITY, ..sound }, "track_length: found inf"),
        (MultiBladePhysics { strip_width: 0.0, ..sound }, "strip_width: found 0, expected 0.01 to 2"),
        (MultiBladePhysics { gain_spread: -1.0, ..sound }, "gain_spread: found -1"),
    ] {
        let error = refused(physics).unwrap_or_default();
        assert!(error.starts_with("simulation.multiblade.") && error.contains(key), "{error}");
    }
    let ticks = MultiBladeSettings { raw_ticks: true, ..settings.clone() };
    let error = prototype(&ticks, sound, PulseTrain::ess()).err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("set times = \"nanoseconds\"")));
}
