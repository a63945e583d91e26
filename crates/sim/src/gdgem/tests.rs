use super::*;
use crate::detector_model::{Charge, DetectorModel, Strike};
use crate::electronics::Hit;
use crate::packet::SimulatedPacket;
use crate::random::{Stream, stream};
use crate::readout::{Disturbance, Pulse};
use crate::simulation::{Simulation, SimulationSettings};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::Frequency;
use evforge_detect::calibration::{ChannelCalibration, Line};
use evforge_detect::gdgem::hit_time::HitTime;
use evforge_detect::gdgem::settings::{
    ChipCalibration, ChipMapping, ClusteringSettings, MatchingSettings, Plane, PositionSettings,
    TimeConvention, TimeSettings,
};
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::SortingSettings;
use evforge_wire::srs_vmm::{
    TimeMarker, TriggerMarker, Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant, VmmReadout, Word,
};
use proptest::prelude::*;

const CLUSTERING: ClusteringSettings = ClusteringSettings {
    adc_threshold: 0,
    max_time_gap: 200_000,
    time_gap_of: evforge_detect::gdgem::settings::TimeGapOf::Plane,
    max_strip_gap: 2,
    min_hits: 3,
};

/// 128 × 128 strips on two FECs (one for VMM2), with the clocks of 2018 or the current ones.
fn settings(format: ReadoutFormat, convention: TimeConvention) -> GdGemSettings {
    let fecs = if format == ReadoutFormat::Vmm2 { [1, 1] } else { [2, 5] };
    let chip = |fec: u16, chip: u8, plane, from| ChipMapping::following(fec, chip, plane, from);
    let is_today = convention == TimeConvention::SignedOffset;
    GdGemSettings {
        format,
        time: TimeSettings {
            convention,
            bunch_crossing: if is_today { 22_500 } else { 50_000 },
            tac_range: 60_000,
            marker_tick: if is_today { 22_500 } else { 25_000 },
            trigger_tick: 3_125,
        },
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
        clustering: [CLUSTERING; 2],
        matching: MatchingSettings::joining(MatchBy::End, 200_000),
        position: PositionSettings {
            weighted: true,
            time_bins: 3,
            lower_uncertainty_limit: None,
            upper_uncertainty_limit: None,
            minimum_hits: None,
            spans: None,
        },
        mapping: vec![
            chip(fecs[0], 3, Plane::X, 0),
            chip(fecs[0], 4, Plane::X, 64),
            chip(fecs[1], 12, Plane::Y, 0),
            chip(fecs[1], 15, Plane::Y, 64),
        ],
        mapping_file: None,
        calibration: Vec::new(),
        calibration_file: None,
        mask: Vec::new(),
        channel_thresholds: Vec::new(),
        geometry: LogicalGeometry::flat(128, 128).unwrap_or_else(|_| unreachable!("a geometry")),
        partition: None,
        one_plane: Vec::new(),
        third_plane: None,
    }
}

fn calibrate(settings: &mut GdGemSettings, lines: ChannelCalibration) {
    let chips = settings.mapping.iter();
    settings.calibration = chips
        .map(|chip| ChipCalibration { fec: chip.fec, chip: chip.chip, channels: vec![lines; 64] })
        .collect();
}

/// What the decoder makes of packets: plane, strip, picoseconds of the clock, amplitude; and markers.
fn decoded(settings: &GdGemSettings, packets: &[SimulatedPacket]) -> (Vec<(u8, u16, f64, u16)>, usize) {
    let time = HitTime::new(&settings.time, settings.format).expect("sound clocks");
    let ps = |ticks: i64| ticks as f64 * 1000.0 / time.ticks_per_ns() as f64;
    let (mut found, mut markers) = (Vec::new(), 0);
    let place = |fec: u16, readout: &VmmReadout, base: i64| {
        let chip = settings.mapping.iter().find(|chip| (chip.fec, chip.chip) == (fec, readout.chip));
        let chip = chip.expect("a chip that is wired");
        let (own, adc) = match settings.calibration.first().and_then(|chip| chip.channels.first()) {
            None => (time.of_chip(readout), readout.adc),
            Some(lines) => {
                let fine = time.calibrated(lines.time).expect("a line that can be");
                let amplitude = evforge_detect::calibration::IntegerLine::of(lines.amplitude);
                (time.of_calibrated_chip(readout, fine), amplitude.clipped(readout.adc, 1023))
            }
        };
        (chip.plane.index() as u8, chip.strip(readout.channel).expect("a strip"), ps(base + own), adc)
    };
    let mut bases = std::collections::BTreeMap::new();
    let mut triggers = std::collections::BTreeMap::new();
    for packet in packets {
        if settings.format == ReadoutFormat::Vmm2 {
            let Ok(Vmm2Content::Readouts(packet)) = Vmm2Packet::parse(&packet.bytes) else {
                panic!("readouts")
            };
            let base = time.of_trigger(packet.trigger_stamp.into());
            found.extend(packet.readouts().map(|readout| place(1, &readout, base)));
            continue;
        }
        let variant = match settings.format {
            ReadoutFormat::Vmm3Of2018 => Vmm3Variant::Of2018,
            _ => Vmm3Variant::Vmm3a,
        };
        let parsed = Vmm3Packet::parse(&packet.bytes, variant).expect("a sound packet");
        assert_eq!(Some(u64::from(parsed.frame_counter)), packet.sender.number);
        for word in parsed.words() {
            match word {
                Word::Readout(readout) => {
                    let base: i64 = bases[&(parsed.fec, readout.chip)];
                    let offset = time.of_offset(readout.trigger_offset).expect("an offset");
                    found.push(place(parsed.fec, &readout, base + offset));
                }
                Word::Marker(TimeMarker { chip, stamp })
                    if settings.format != ReadoutFormat::Vmm3aTriggered =>
                {
                    markers += 1;
                    bases.insert((parsed.fec, chip), time.of_marker(stamp));
                }
                Word::Marker(marker) => match TriggerMarker::from(marker) {
                    TriggerMarker::TriggerTime { chip, stamp } => {
                        triggers.insert((parsed.fec, chip), stamp);
                    }
                    TriggerMarker::RelativeTime { chip, ticks } => {
                        markers += 1;
                        let trigger = triggers[&(parsed.fec, chip)];
                        bases.insert((parsed.fec, chip), time.of_relative_trigger(trigger, ticks.into()));
                    }
                    TriggerMarker::EventCounter { .. } => {}
                    TriggerMarker::Meaningless { .. } => panic!("a marker without meaning"),
                },
            }
        }
    }
    (found, markers)
}

fn formats() -> impl Strategy<Value = (ReadoutFormat, TimeConvention)> {
    prop::sample::select(vec![
        (ReadoutFormat::Vmm2, TimeConvention::TriggerPeriod2018),
        (ReadoutFormat::Vmm2, TimeConvention::SignedOffset),
        (ReadoutFormat::Vmm3Of2018, TimeConvention::TriggerPeriod2018),
        (ReadoutFormat::Vmm3Of2018, TimeConvention::SignedOffset),
        (ReadoutFormat::Vmm3a, TimeConvention::SignedOffset),
        (ReadoutFormat::Vmm3a, TimeConvention::TriggerPeriod2018),
        (ReadoutFormat::Vmm3aTriggered, TimeConvention::SignedOffset),
    ])
}

proptest! {
    #[test]
    fn a_receiver_finds_the_strip_the_time_and_the_amplitude(
        (format, convention) in formats(),
        pulse in 1_u64..150,
        hits in prop::collection::vec((0..256_u32, 0..71_000_000_000_u64, 0..50_000_000_u64, 0..1024_u16), 1..600),
        lines in prop::option::of((-20_f64..20.0, 0.8..1.2_f64, -5_f64..5.0, 0.95..1.05_f64)),
    ) {
        let mut settings = settings(format, convention);
        let lines = lines.filter(|_| convention == TimeConvention::SignedOffset && format != ReadoutFormat::Vmm2);
        if let Some((offset, slope, time_offset, time_slope)) = lines {
            let amplitude = Line::new(offset, slope).unwrap();
            calibrate(&mut settings, ChannelCalibration { amplitude, time: Line::new(time_offset, time_slope).unwrap() });
        }
        let (model, mut readout) = srs(&settings, GdGemPhysics::default()).unwrap();
        prop_assert_eq!(model.layout().channel_count(), 256);
        let start_ns = PulseTrain::ess().start_ns(pulse).unwrap();
        let pulse = Pulse { number: pulse, start_ns, end_ns: start_ns + 71_428_571 };
        let mut hits: Vec<Hit> = hits
            .into_iter()
            .map(|(channel, time_ps, late, amplitude)| Hit { channel, time_ps, sent_ps: time_ps + late, amplitude })
            .collect();
        hits.sort_unstable_by_key(|hit| hit.sent_ps);
        let mut packets = Vec::new();
        readout.pulse(&pulse, &hits, &mut packets);
        let (mut found, _) = decoded(&settings, &packets);
        prop_assert_eq!(found.len(), hits.len());
        found.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)));
        let mut expected: Vec<_> = hits
            .iter()
            .map(|hit| {
                let place = model.layout().places()[hit.channel as usize];
                (place.plane, place.coordinate, (start_ns * 1000 + hit.time_ps) as f64, hit.amplitude)
            })
            .collect();
        expected.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)));
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!((found.0, found.1), (expected.0, expected.1));
            // Half a step of the TDC, and half a tick of the decoder's unit.
            prop_assert!((found.2 - expected.2).abs() < 135.0, "{} ps", found.2 - expected.2);
            let reach = lines.map_or([0.0, 1023.0], |(offset, slope, ..)| [0.0, 1023.0].map(|raw| (raw - offset) * slope));
            let amplitude = f64::from(expected.3).clamp(reach[0], reach[1].min(1023.0));
            prop_assert!((f64::from(found.3) - amplitude).abs() <= 1.1, "{} for {amplitude}", found.3);
        }
    }
}

#[test]
fn cards_count_mark_and_can_be_disturbed() {
    let settings = settings(ReadoutFormat::Vmm3a, TimeConvention::SignedOffset);
    let (_, mut readout) = srs(&settings, GdGemPhysics::default()).unwrap();
    assert_eq!(readout.sources(), ["FEC 2", "FEC 5"]);
    let hits: Vec<Hit> = (0..71_u64)
        .map(|ms| ms * 1_000_000_000)
        .map(|ps| Hit { channel: 0, time_ps: ps, sent_ps: ps, amplitude: 9 })
        .collect();
    let mut numbers = Vec::new();
    for number in 1..4 {
        let start_ns = PulseTrain::ess().start_ns(number).unwrap();
        let mut packets = Vec::new();
        readout.pulse(&Pulse { number, start_ns, end_ns: start_ns }, &hits, &mut packets);
        // One each 5 ms, and a marker each 15 turns of 92 µs.
        assert_eq!(packets.len(), 15);
        let (found, markers) = decoded(&settings, &packets);
        assert!((51..=53).contains(&markers), "{markers}");
        let ahead = found[10].2 - (start_ns * 1000 + 10_000_000_000) as f64;
        numbers.push((packets[0].sender.number, (ahead / 1e6).round() as i64));
        let source = 0;
        assert!(readout.disturb(match number {
            1 => Disturbance::CounterBeforeWrap { source, packets: 1 },
            2 => Disturbance::ClockStep { source, by_ps: -7_000_000 },
            _ => Disturbance::Restart { source },
        }));
    }
    assert_eq!(numbers, [(Some(1), 0), (Some(u64::from(u32::MAX)), 0), (Some(14), -7)]);
    assert!(!readout.disturb(Disturbance::Restart { source: 2 }));
}

fn model() -> Box<dyn DetectorModel> {
    srs(&settings(ReadoutFormat::Vmm3a, TimeConvention::SignedOffset), GdGemPhysics::default()).unwrap().0
}

/// Charges of each plane.
fn by_plane(model: &dyn DetectorModel, charges: &[Charge]) -> [Vec<(u16, Charge)>; 2] {
    [0, 1].map(|plane| {
        let placed = charges.iter().map(|charge| (model.layout().places()[charge.channel as usize], *charge));
        placed
            .filter(|(place, _)| place.plane == plane)
            .map(|(place, charge)| (place.coordinate, charge))
            .collect()
    })
}

#[test]
fn the_latest_charge_is_next_to_the_neutron_and_planes_share_what_there_is() {
    let model = model();
    let mut random = stream(1, Stream::Pulse(1));
    let (mut spans, mut differs, mut ratios) = (Vec::new(), 0.0, Vec::new());
    for _ in 0..2000 {
        let strike = Strike { time_ps: 1_000_000, x: 64.3, y: 50.8, panel: 0, wavelength: 1.8 };
        let mut charges = Vec::new();
        let event = model.add_neutron(&strike, &mut random, &mut charges).expect("full efficiency");
        assert_eq!((event.time_ps, event.position), (501_000_000 - 500_000_000 + 500_000, [64.3, 50.8, 0.5]));
        let planes = by_plane(&*model, &charges);
        for (plane, at) in planes.iter().zip([64.3, 50.8]) {
            let (latest, _) = plane.iter().max_by_key(|(_, charge)| charge.time_ps).expect("charge");
            differs += (f64::from(*latest) + 0.5 - at).powi(2);
            assert!(plane.is_sorted_by_key(|(strip, _)| *strip));
            spans.push(plane.len());
        }
        let [x, y] = planes.map(|plane| plane.iter().map(|(_, charge)| charge.amplitude).sum::<f32>());
        ratios.push(x / y);
    }
    let rms = (differs / 4000.0).sqrt();
    assert!((0.3..1.5).contains(&rms), "{rms} strips");
    spans.sort_unstable();
    assert!((5..=8).contains(&spans[2000]) && spans[3999] <= 22 && spans[20] >= 4, "{:?}", spans[2000]);
    assert!(ratios.iter().all(|ratio| (0.9..1.1).contains(ratio)));
}

#[test]
fn gammas_leave_less_and_edges_cut_tracks() {
    let model = model();
    let mut random = stream(1, Stream::Pulse(1));
    let (mut of_neutrons, mut of_gammas) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let strike = Strike { time_ps: 0, x: 0.2, y: 127.9, panel: 0, wavelength: 1.8 };
        let _ = model.add_neutron(&strike, &mut random, &mut of_neutrons);
        model.add_gamma(&strike, &mut random, &mut of_gammas);
    }
    let sum = |charges: &[Charge]| charges.iter().map(|charge| charge.amplitude).sum::<f32>();
    assert!(sum(&of_neutrons) > 5.0 * sum(&of_gammas));
    assert!(model.is_sensitive(0, 127, 0) && !model.is_sensitive(128, 0, 0) && !model.is_sensitive(0, 0, 1));
}

#[test]
fn threads_change_nothing() {
    let simulation = || {
        let mut of_simulation = SimulationSettings { seed: 5, ..SimulationSettings::default() };
        of_simulation.beam.neutrons = Frequency { millihertz: 20_000_000 };
        let settings = settings(ReadoutFormat::Vmm3a, TimeConvention::SignedOffset);
        let (model, readout) = srs(&settings, of_simulation.gdgem).unwrap();
        Simulation::new(&of_simulation, PulseTrain::ess(), model, readout).expect("settings fit")
    };
    let mut alone = simulation();
    let one: Vec<_> = (0..4).map(|_| alone.next_pulse()).collect();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| simulation().next_pulses(4)) == one, "{threads} threads");
    }
}
