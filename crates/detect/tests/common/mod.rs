//! A small Gd-GEM and packets for it, shared by the tests of this folder.

use evforge_core::detector::{self, Detector};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::gdgem::settings::{
    ChipMapping, ClusteringSettings, GdGemSettings, MatchingSettings, Plane, PositionSettings, ReadoutFormat,
    TimeConvention, TimeSettings,
};
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::SortingSettings;
use evforge_wire::srs_vmm::{TimeMarker, Vmm3Encoder, Vmm3Variant, VmmReadout};

/// The physical VMM3a detector: FEC 2 reads x, FEC 1 reads y, 128 x 128 strips.
pub(crate) fn settings() -> GdGemSettings {
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
            max_held_hits: 8192,
            max_group_hits: 512,
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
        geometry: LogicalGeometry::flat(128, 128).expect("a geometry"),
        partition: None,
        one_plane: Vec::new(),
        third_plane: None,
    }
}

/// A packet of readouts of chip 0, after a marker: (run of 65536 crossings, crossing in it, channel).
#[allow(dead_code)]
pub(crate) fn packet(fec: u16, frame_counter: u32, readouts: &[(u64, u16, u8)]) -> Vec<u8> {
    let mut encoder = Vmm3Encoder::new(Vmm3Variant::Vmm3a);
    encoder.begin(frame_counter, fec, 0);
    let mut marked = None;
    for &(run, crossing, channel) in readouts {
        if marked != Some(run) {
            assert!(encoder.push_marker(&TimeMarker { chip: 0, stamp: run * 65_536 }));
            marked = Some(run);
        }
        assert!(encoder.push_readout(&VmmReadout {
            chip: 0,
            channel,
            bunch_crossing: crossing % 4096,
            trigger_offset: (crossing / 4096) as u8,
            tdc: 100,
            adc: 50,
            over_threshold: true,
        }));
    }
    encoder.packet().to_vec()
}

/// Feeds packets one slab each and closes: the events.
#[allow(dead_code)]
pub(crate) fn form(detector: &mut dyn Detector, packets: &[Vec<u8>]) -> Vec<Event> {
    let mut batch = EventBatch::new(64);
    let mut events = Vec::new();
    let mut slab = PacketSlab::new(1, 0);
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    for packet in packets {
        slab.clear();
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        detector::form(detector, &slab.batch(), &mut batch, &mut keep);
    }
    detector::form_rest(detector, &mut batch, &mut keep);
    events
}
