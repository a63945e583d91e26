//! Overlays of a small made-up capture, whose every number is known.

use super::caen_records::CaenRecordCapture;
use super::*;
use crate::random::{Stream, stream};
use evforge_core::detector;
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::calibration::ChannelCalibration;
use evforge_detect::gdgem::settings::{
    ChipCalibration, ChipMapping, ClusteringSettings, MatchingSettings, Plane, PositionSettings,
    ReadoutFormat, TimeConvention, TimeSettings,
};
use evforge_detect::gdgem::{GdGem, GdGemSettings};
use evforge_detect::multiblade::MultiBladeSettings;
use evforge_detect::multiblade::caen::settings as caen;
use evforge_detect::multiblade::caen::settings::{
    ChannelMapping, HitOrder, TimeBase, WindowRule, WindowSettings,
};
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::SortingSettings;
use evforge_wire::caen::{Record, RecordEncoder};
use evforge_wire::srs_vmm::VmmReadout;
use proptest::prelude::*;
use rand::RngExt;
use srs_vmm::{SrsContent, SrsVmmCapture};
use std::collections::BTreeSet;

const STRIPS: u16 = 128;

fn settings() -> GdGemSettings {
    let clustering = ClusteringSettings {
        adc_threshold: 0,
        max_time_gap: 200_000,
        time_gap_of: Default::default(),
        max_strip_gap: 2,
        min_hits: 3,
    };
    let chip = ChipMapping::following;
    GdGemSettings {
        format: ReadoutFormat::Vmm3a,
        time: TimeSettings {
            convention: TimeConvention::SignedOffset,
            bunch_crossing: 22_500,
            tac_range: 60_000,
            marker_tick: 22_500,
            trigger_tick: 3_125,
        },
        sorting: SortingSettings {
            window: 500_000_000,
            forward_jump: 2_000_000_000,
            restart: 1_000_000_000_000,
            source_lag: 60_000_000_000_000,
            max_held_hits: 1 << 14,
            max_group_hits: 1 << 12,
            decimation: 0,
            highest_rate: None,
        },
        clustering: [clustering; 2],
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
            chip(2, 0, Plane::X, 0),
            chip(2, 1, Plane::X, 64),
            chip(1, 0, Plane::Y, 0),
            chip(1, 1, Plane::Y, 64),
        ],
        mapping_file: None,
        calibration: Vec::new(),
        calibration_file: None,
        mask: Vec::new(),
        channel_thresholds: Vec::new(),
        geometry: LogicalGeometry::flat(u32::from(STRIPS), u32::from(STRIPS)).expect("a small geometry"),
        partition: None,
        one_plane: Vec::new(),
        third_plane: None,
    }
}

fn format() -> SrsVmmCapture {
    SrsVmmCapture::new(&settings()).expect("settings that can be overlaid")
}

/// A readout of a plane: 0 is x, read by FEC 2.
fn readout(plane: u8, strip: u16, step: u64, tdc: u8, adc: u16) -> RecordedReadout<SrsContent> {
    let readout = VmmReadout {
        chip: (strip / 64) as u8,
        channel: (strip % 64) as u8,
        tdc,
        adc,
        over_threshold: true,
        ..VmmReadout::default()
    };
    let place = Place { module: 0, plane, coordinate: strip };
    // 1.5 crossings of 22.5 ns less 60 / 255 ns for each step of the TDC, rounded down.
    let fine_ps = (33_750 * 255 - i64::from(tdc) * 60_000).div_euclid(255);
    RecordedReadout { place, step, fine_ps, content: SrsContent::new(1 - plane, readout) }
}

/// A number of neutrons, a number of crossings apart, then two so close that neither is a label, and a lonely hit of noise.
fn readouts(neutrons: u64, apart: u64) -> Vec<RecordedReadout<SrsContent>> {
    let mut random = stream(3, Stream::Channels);
    let first = 2_000_000_000;
    let starts = (0..neutrons).map(|number| first + number * apart);
    let close = first + neutrons * apart;
    let mut readouts = Vec::new();
    for start in starts.chain([close, close + 5]) {
        for plane in 0..2 {
            let strip = random.random_range(0..STRIPS - 6);
            for hit in 0..random.random_range(3..7) {
                let (tdc, adc) = (random.random(), random.random_range(50..1000));
                readouts.push(readout(plane, strip + hit, start + u64::from(hit / 2), tdc, adc));
            }
        }
    }
    readouts.push(readout(0, 7, close + 1000, 0, 99));
    readouts.sort_by_key(|readout| readout.step);
    readouts
}

fn packets_of(readouts: &[RecordedReadout<SrsContent>]) -> Vec<SimulatedPacket> {
    let (mut format, mut packets) = (format(), Vec::new());
    for readout in readouts {
        format.write(readout, &mut |packet| packets.push(packet));
    }
    format.finish(&mut |packet| packets.push(packet));
    packets
}

fn read(packets: &[SimulatedPacket]) -> Vec<RecordedReadout<SrsContent>> {
    let (mut format, mut readouts) = (format(), Vec::new());
    for packet in packets {
        format.read(&packet.packet(), &mut readouts);
    }
    readouts
}

/// What the pipeline makes of packets.
fn events(packets: &[SimulatedPacket]) -> Vec<Event> {
    let mut detector = GdGem::new(&settings()).expect("sound settings");
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(|packet| packet.bytes.len()).sum());
    for packet in packets {
        assert!(slab.push(&packet.bytes, packet.bytes.len(), PacketOrigin::default()));
    }
    let (mut batch, mut events) = (EventBatch::new(100), Vec::new());
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    detector::form(&mut detector, &slab.batch(), &mut batch, &mut keep);
    detector::form_rest(&mut detector, &mut batch, &mut keep);
    events
}

fn recording(neutrons: u64, apart: u64) -> Recording<SrsContent> {
    let packets = packets_of(&readouts(neutrons, apart));
    Recording::new(&format(), read(&packets), &events(&packets), 2.0)
}

fn packets(overlay: &Overlay<'_, SrsContent>) -> Vec<SimulatedPacket> {
    let mut packets = Vec::new();
    overlay.write(&mut format(), |packet| packets.push(packet));
    packets
}

fn of_truth(truth: &[Neutron], which: impl Fn(&Neutron) -> bool) -> BTreeSet<(u64, u32)> {
    truth.iter().filter(|neutron| which(neutron)).map(|neutron| (neutron.time_ns, neutron.pixel_id)).collect()
}

fn of_events(events: &[Event]) -> BTreeSet<(u64, u32)> {
    events.iter().map(|event| (event.time_ns, event.pixel_id)).collect()
}

#[test]
fn one_copy_is_the_labels_and_gives_their_very_events() {
    let recording = recording(50, 200);
    assert_eq!((recording.label_count(), recording.groups.len(), recording.stray_events), (50, 52, 0));
    let overlay = Overlay::new(&format(), &recording, &OverlayOptions::default()).unwrap();
    assert!(overlay.truth.iter().all(|neutron| neutron.resolvable));
    let found = events(&packets(&overlay));
    assert_eq!(found.len(), 50);
    assert_eq!(of_events(&found), of_truth(&overlay.truth, |_| true));
    let labels = recording.groups.iter().filter(|group| group.is_label);
    let expected: Vec<Event> = labels.map(|group| recording.events[group.events.start]).collect();
    assert_eq!(of_events(&expected), of_events(&found));
}

/// Every resolvable neutron of the overlay is found at its very time and pixel: the copies are exact, also on other
/// strips.
#[test]
fn copies_in_time_and_on_other_strips_are_found_where_the_truth_says() {
    let recording = recording(60, 300);
    for (move_channels, stretch, shift) in [
        (false, 1, CopyShift::Random),
        (true, 1, CopyShift::Random),
        (true, 3, CopyShift::Every(1_234_567)),
        (false, 40, CopyShift::Every(1_345_000)),
    ] {
        let options =
            OverlayOptions { copies: 6, stretch, shift, move_channels, ..OverlayOptions::default() };
        let overlay = Overlay::new(&format(), &recording, &options).unwrap();
        assert_eq!(overlay.truth.len() as u64 + overlay.left_out, 360, "{options:?}");
        assert_eq!(overlay.left_out > 0, move_channels, "{options:?}");
        let alone = of_truth(&overlay.truth, |neutron| stands_alone(neutron, &overlay.truth));
        let found = of_events(&events(&packets(&overlay)));
        assert!(alone.len() > 60 && alone.is_subset(&found), "{options:?}: {}", alone.len());
        assert!(alone.is_subset(&of_truth(&overlay.truth, |neutron| neutron.resolvable)), "{options:?}");
        let pixels: BTreeSet<u32> = overlay.truth.iter().map(|neutron| neutron.pixel_id).collect();
        assert_eq!(pixels.len() > 60, move_channels, "{options:?}");
    }
}

/// Copies that begin together lie on one another: one of each is resolvable, and no more is found than one could be.
#[test]
fn of_copies_on_one_another_one_is_resolvable() {
    let recording = recording(30, 300);
    let options = OverlayOptions { copies: 2, shift: CopyShift::Every(0), ..OverlayOptions::default() };
    let overlay = Overlay::new(&format(), &recording, &options).unwrap();
    let resolvable = overlay.truth.iter().filter(|neutron| neutron.resolvable).count();
    assert_eq!((overlay.truth.len(), resolvable), (60, 30));
    assert!(events(&packets(&overlay)).len() <= 30);
    // Electronics that are busy with the first copy do not see the second.
    let options = OverlayOptions { dead_time_ps: 100_000, ..options };
    let overlay = Overlay::new(&format(), &recording, &options).unwrap();
    let once: usize =
        recording.groups.iter().filter(|group| group.is_label).map(|group| group.readouts.len()).sum();
    assert_eq!((overlay.readout_count(), overlay.lost_in_dead_time), (once, once as u64));
    assert_eq!(of_events(&events(&packets(&overlay))), of_truth(&overlay.truth, |_| true));
    assert_eq!(overlay.truth.iter().filter(|neutron| neutron.resolvable).count(), 30);
}

/// What can be told apart in a given overlay is the same for every reconstruction.
#[test]
fn gaps_of_the_configuration_do_not_change_what_is_resolvable() {
    let other = |time_gap, strip_gap, min_hits, max_difference| {
        let mut changed = settings();
        for plane in &mut changed.clustering {
            (plane.max_time_gap, plane.max_strip_gap, plane.min_hits) = (time_gap, strip_gap, min_hits);
        }
        changed.matching.max_difference = max_difference;
        SrsVmmCapture::new(&changed).unwrap()
    };
    let recording = recording(60, 300);
    let options = OverlayOptions { copies: 50, dead_time_ps: 277_000, ..OverlayOptions::default() };
    let truth = |format: &SrsVmmCapture| Overlay::new(format, &recording, &options).unwrap().truth;
    let expected = truth(&format());
    assert!(expected.iter().any(|neutron| neutron.resolvable) && expected.iter().any(|it| !it.resolvable));
    assert_eq!(truth(&other(20_000, 0, 1, 10_000)), expected);
    assert_eq!(truth(&other(2_000_000, 9, 5, 3_000_000)), expected);
}

/// Whether nothing else is within 700 ns, which is three of the gaps.
fn stands_alone(neutron: &Neutron, all: &[Neutron]) -> bool {
    let others = all.iter().filter(|other| other.number != neutron.number && other.module == neutron.module);
    others.map(|other| other.time_ns.abs_diff(neutron.time_ns)).all(|apart| apart > 700)
}

#[test]
fn background_is_laid_over_with_its_events_as_not_resolvable() {
    let recording = recording(20, 300);
    let options = OverlayOptions { background: true, ..OverlayOptions::default() };
    let overlay = Overlay::new(&format(), &recording, &options).unwrap();
    assert_eq!(overlay.readout_count(), recording.readouts.len());
    assert_eq!(of_truth(&overlay.truth, |neutron| neutron.resolvable).len(), 20);
    assert_eq!(of_truth(&overlay.truth, |_| true), of_events(&recording.events));
    assert_eq!(of_events(&events(&packets(&overlay))), of_events(&recording.events));
}

#[test]
fn the_same_seed_gives_the_same_packets_and_another_one_others() {
    let recording = recording(20, 300);
    let with = |seed| {
        let options = OverlayOptions { copies: 4, seed, move_channels: true, ..OverlayOptions::default() };
        let overlay = Overlay::new(&format(), &recording, &options).unwrap();
        (packets(&overlay), overlay.truth)
    };
    assert_eq!(with(1), with(1));
    assert_ne!(with(1).1, with(2).1);
}

#[test]
fn what_cannot_be_overlaid_is_told() {
    let told = |recording: &Recording<SrsContent>, format: &SrsVmmCapture, options: &OverlayOptions| {
        Overlay::new(format, recording, options).unwrap_err().to_string()
    };
    let good = OverlayOptions::default();
    let dense = recording(20, 8);
    assert!(told(&dense, &format(), &good).contains("no neutron of the capture stands alone"));
    let recording = recording(5, 300);
    let many = OverlayOptions { copies: u32::MAX, ..good };
    assert!(told(&recording, &format(), &many).contains("4294967295 copies"));
    assert!(told(&recording, &format(), &OverlayOptions { copies: 0, ..good }).contains("0 copies"));
    let mut calibrated = settings();
    let channels = vec![ChannelCalibration::IDENTITY; 64];
    calibrated.calibration.push(ChipCalibration { fec: 1, chip: 0, channels });
    let calibrated = SrsVmmCapture::new(&calibrated).unwrap();
    let moving = OverlayOptions { move_channels: true, ..good };
    assert!(told(&recording, &calibrated, &moving).contains("a calibration"));
    for (change, word) in [
        (GdGemSettings { format: ReadoutFormat::Vmm2, ..settings() }, "vmm3a"),
        (
            GdGemSettings { time: TimeSettings { marker_tick: 25_000, ..settings().time }, ..settings() },
            "equal",
        ),
        (
            GdGemSettings {
                time: TimeSettings { convention: TimeConvention::TriggerPeriod2018, ..settings().time },
                ..settings()
            },
            "signed-offset",
        ),
    ] {
        let error = SrsVmmCapture::new(&change).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

proptest! {
    /// Readouts of any steps are the same when they have been packets: time to the last bit, channel and amplitude.
    #[test]
    fn what_is_written_is_read_again(
        drawn in prop::collection::vec(
            (0_u8..2, 0..STRIPS, 0_u64..1 << 40, any::<u8>(), 0_u16..1024), 1..200),
    ) {
        let mut readouts: Vec<_> = drawn
            .into_iter()
            .map(|(plane, strip, step, tdc, adc)| readout(plane, strip, step, tdc, adc))
            .collect();
        readouts.sort_by_key(|readout| readout.step);
        // Packets of the two cards come one after the other.
        readouts.sort_by_key(|readout| readout.place.plane);
        let mut found: Vec<_> = read(&packets_of(&readouts));
        found.sort_by_key(|readout| readout.place.plane);
        prop_assert_eq!(found, readouts);
    }

    #[test]
    fn any_bytes_are_read_or_left_out(bytes in prop::collection::vec(any::<u8>(), 0..200), id: bool) {
        let mut bytes = bytes;
        if id && bytes.len() > 8 {
            bytes[4..8].copy_from_slice(&0x564D_3320_u32.to_be_bytes());
        }
        let packet = SimulatedPacket::new(bytes, std::net::Ipv4Addr::LOCALHOST, 6006, 0);
        let mut readouts = Vec::new();
        let count = format().read(&packet.packet(), &mut readouts);
        prop_assert!(readouts.len() as u64 <= count);
    }
}

fn blade_settings() -> MultiBladeSettings {
    let run = |digitizer, first_channel, cassette, plane| ChannelMapping {
        digitizer,
        first_channel,
        channels: 32,
        cassette,
        plane,
        first: 0,
    };
    MultiBladeSettings {
        format: caen::ReadoutFormat::Records,
        order: HitOrder::Time,
        time_base: TimeBase::Electronics,
        tick: 16_000,
        raw_ticks: false,
        sorting: SortingSettings { window: 20_000_000_000, ..settings().sorting },
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
            max_amplitude_ratio: None,
            separate: false,
        },
        maximum: false,
        rounding: caen::Rounding::Nearest,
        cassettes: 2,
        wires: 32,
        strips: 32,
        mapping: vec![
            run(31, 0, 0, caen::Plane::Wires),
            run(31, 32, 0, caen::Plane::Strips),
            run(7, 0, 1, caen::Plane::Wires),
            run(7, 32, 1, caen::Plane::Strips),
        ],
        geometry: LogicalGeometry::flat(32, 64).expect("a small geometry"),
    }
}

proptest! {
    /// Records are the same when they have been packets, and there and back again on the detector.
    #[test]
    fn records_that_are_written_are_read_again(
        drawn in prop::collection::vec((0_u32..0x7FFF_FFFF, any::<bool>(), 0_u8..64, any::<u16>()), 1..400),
        by in [-3_i32..4, -3_i32..4],
    ) {
        let format = || CaenRecordCapture::new(&blade_settings()).expect("settings that can be overlaid");
        let mut encoder = RecordEncoder::default();
        let mut sent: Vec<Record> = drawn
            .into_iter()
            .map(|(time, second, channel, adc)| Record { digitizer: if second { 7 } else { 31 }, channel, adc, time })
            .collect();
        sent.sort_by_key(|record| record.time);
        let (mut first, mut readouts) = (format(), Vec::new());
        for record in &sent {
            encoder.begin();
            encoder.push(record);
            let packet = SimulatedPacket::new(encoder.packet().to_vec(), std::net::Ipv4Addr::LOCALHOST, 1, 0);
            first.read(&packet.packet(), &mut readouts);
        }
        prop_assert_eq!(readouts.len(), sent.len());
        let mut packets = Vec::new();
        for readout in &readouts {
            first.write(readout, &mut |packet| packets.push(packet));
        }
        first.finish(&mut |packet| packets.push(packet));
        let (mut second, mut again) = (format(), Vec::new());
        let count: u64 = packets.iter().map(|packet| second.read(&packet.packet(), &mut again)).sum();
        prop_assert_eq!(count, sent.len() as u64);
        prop_assert_eq!(&again, &readouts);
        let back = by.map(|by| -by);
        for readout in &readouts {
            if let Some(moved) = first.moved(readout, by) {
                prop_assert_eq!(first.moved(&moved, back), Some(*readout));
            }
        }
    }
}
