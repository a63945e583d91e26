//! A Gd-GEM of two small panels in the ESS readout, and packets for it.

use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::ess::{EssSettings, ticks};
use evforge_detect::gdgem::ess::{EssGdGemSettings, StripHybrid};
use evforge_detect::gdgem::settings::{
    ClusteringSettings, MatchingSettings, Plane, PositionSettings, SpanSettings,
};
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::SortingSettings;
use evforge_wire::ess::{
    EssClock, EssHeader, EssTime, HeaderRules, RECORD, RecordRules, Vmm3aFields, detector_type,
};

/// Strips of a plane: those of two hybrids.
pub(crate) const SIDE: u32 = 256;

const PICOSECONDS_PER_MS: u64 = 1_000_000_000;

/// Two panels. The strips of y on the second one run against the channels.
pub(crate) fn settings() -> EssGdGemSettings {
    let clustering = ClusteringSettings {
        adc_threshold: 50,
        max_time_gap: 500_000,
        time_gap_of: Default::default(),
        max_strip_gap: 2,
        min_hits: 1,
    };
    let hybrids = (0..8_u8).map(|number| {
        let (panel, plane, hybrid) = (number / 4, number / 2 % 2, number % 2);
        StripHybrid {
            sector: 0,
            ring: panel,
            fen: plane,
            hybrid,
            panel: u16::from(panel),
            plane: if plane == 0 { Plane::X } else { Plane::Y },
            offset: 128 * u16::from(hybrid),
            reversed: (panel, plane) == (1, 1),
            adc_threshold: None,
            hybrid_id: None,
            listed: None,
        }
    });
    EssGdGemSettings {
        sectors: 1,
        ess: EssSettings {
            header: HeaderRules::strict(detector_type::NMX, 31_447_320),
            records: RecordRules::default(),
            odd_output_queue: None,
            output_queues: vec![0],
            max_time_of_flight: 1000 * PICOSECONDS_PER_MS,
            pulse_period: Some(0),
            sorting: SortingSettings {
                window: PICOSECONDS_PER_MS,
                forward_jump: 1000 * PICOSECONDS_PER_MS,
                restart: 1000 * PICOSECONDS_PER_MS,
                source_lag: 500 * PICOSECONDS_PER_MS,
                max_held_hits: 8192,
                max_group_hits: 512,
                decimation: 0,
                highest_rate: None,
            },
        },
        hybrids: hybrids.collect(),
        mapping_file: None,
        mask: Vec::new(),
        calibration: Vec::new(),
        calibration_file: None,
        fine_time: false,
        clustering: [clustering; 2],
        matching: MatchingSettings::joining(MatchBy::Gap, 500_000),
        position: PositionSettings {
            weighted: false,
            time_bins: 3,
            lower_uncertainty_limit: None,
            upper_uncertainty_limit: None,
            minimum_hits: None,
            spans: Some(SpanSettings { max_strips: [10; 2], min_strips: [1; 2], max_time: 500_000 }),
        },
        geometry: LogicalGeometry::new(SIDE, SIDE, 1, 2).expect("a geometry"),
    }
}

/// The pixel of a strip of each plane.
pub(crate) fn pixel(panel: u32, x: u32, y: u32) -> u32 {
    panel * SIDE * SIDE + y * SIDE + x + 1
}

/// A hit: panel, plane, strip, ticks and amplitude.
pub(crate) type PlainHit = (u16, Plane, u16, u32, u16);

/// The second that all times are in.
pub(crate) const SECOND: u32 = 1_700_000_000;

/// So many ticks into it.
pub(crate) fn at(ticks: u32) -> EssTime {
    EssTime { seconds: SECOND, ticks }
}

/// The same in nanoseconds.
pub(crate) fn nanoseconds(tick: u32) -> u64 {
    ticks::nanoseconds(ticks::of(at(tick), EssClock::ESS))
}

/// The record of a hit.
pub(crate) fn record(settings: &EssGdGemSettings, hit: PlainHit) -> [u8; RECORD] {
    let (panel, plane, strip, ticks, adc) = hit;
    for hybrid in settings.hybrids.iter().filter(|hybrid| (hybrid.panel, hybrid.plane) == (panel, plane)) {
        for channel in 0..128 {
            if hybrid.strip(channel / 64, channel % 64) == Some(strip) {
                return Vmm3aFields {
                    fibre: 2 * hybrid.ring,
                    fen: hybrid.fen,
                    time: at(ticks),
                    adc,
                    vmm: 2 * hybrid.hybrid + channel / 64,
                    channel: channel % 64,
                    ..Vmm3aFields::default()
                }
                .encode();
            }
        }
    }
    panic!("no hybrid has strip {strip} of {plane:?} on panel {panel}");
}

/// A packet with these records, after a pulse of that many ticks.
pub(crate) fn packet(sequence: u32, pulses: [u32; 2], records: &[[u8; RECORD]]) -> Vec<u8> {
    let [pulse, previous_pulse] = pulses.map(at);
    let detector_type = detector_type::NMX;
    let header = EssHeader { detector_type, pulse, previous_pulse, sequence, ..EssHeader::default() };
    let mut packet = Vec::new();
    header.write_packet(&records.concat(), &mut packet);
    packet
}

/// Feeds packets one slab each and closes: pulses, each with its events (time, pixel).
#[allow(dead_code)]
pub(crate) fn events(
    detector: &mut dyn Detector,
    packets: &[Vec<u8>],
    capacity: usize,
) -> Vec<(u64, Vec<(u64, u32)>)> {
    let mut batch = EventBatch::new(capacity);
    let mut found: Vec<(u64, Vec<(u64, u32)>)> = Vec::new();
    let mut slab = PacketSlab::new(1, 0);
    let mut keep = |batch: &mut EventBatch| {
        for (pulse, range) in batch.by_pulse() {
            let pulse = pulse.expect("every event has a pulse");
            if found.last().is_none_or(|(last, _)| *last != pulse) {
                found.push((pulse, Vec::new()));
            }
            let times = &batch.times_ns()[range.clone()];
            let of_pulse = times.iter().copied().zip(batch.pixel_ids()[range].iter().copied());
            found.last_mut().expect("a pulse").1.extend(of_pulse);
        }
        batch.clear();
    };
    for packet in packets {
        slab.clear();
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        form(detector, &slab.batch(), &mut batch, &mut keep);
    }
    form_rest(detector, &mut batch, &mut keep);
    found
}
