//! A small Multi-Blade and packets for it, shared by the tests of this folder.

use evforge_core::detector::{self, Detector};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::multiblade::MultiBladeSettings;
use evforge_detect::multiblade::caen::settings::{
    ChannelMapping, HitOrder, Plane, ReadoutFormat, Rounding, TimeBase, WindowRule, WindowSettings,
};
use evforge_detect::settings::SortingSettings;
use evforge_wire::caen::{Record, RecordEncoder};

/// Two cassettes of 32 wires and strips, read by digitizers 7 and 8.
pub(crate) fn settings(order: HitOrder) -> MultiBladeSettings {
    let run = |digitizer, cassette, plane, first_channel| ChannelMapping {
        digitizer,
        first_channel,
        channels: 32,
        cassette,
        plane,
        first: 0,
    };
    MultiBladeSettings {
        format: ReadoutFormat::Records,
        order,
        time_base: TimeBase::Electronics,
        tick: 16_000,
        raw_ticks: false,
        sorting: SortingSettings {
            window: 100_000_000,
            forward_jump: 1_000_000_000_000,
            restart: 1_000_000_000_000,
            source_lag: 60_000_000_000_000,
            max_held_hits: 8192,
            max_group_hits: 512,
            decimation: 0,
            highest_rate: None,
        },
        threshold: 0,
        channel_thresholds: vec![],
        mask: vec![],
        window: WindowSettings {
            rule: WindowRule::Box,
            ticks: 185,
            max_wires: 64,
            max_strips: 64,
            max_gap_wires: 0,
            max_gap_strips: 0,
            max_amplitude_ratio: None,
            separate: false,
        },
        maximum: false,
        rounding: Rounding::Nearest,
        cassettes: 2,
        wires: 32,
        strips: 32,
        mapping: vec![
            run(7, 0, Plane::Wires, 0),
            run(7, 0, Plane::Strips, 32),
            run(8, 1, Plane::Wires, 0),
            run(8, 1, Plane::Strips, 32),
        ],
        geometry: LogicalGeometry::flat(32, 64).expect("a geometry"),
    }
}

/// A wire and a strip at the same time.
#[allow(dead_code)]
pub(crate) fn neutron(digitizer: u8, time: u32, wire: u8, strip: u8) -> [Record; 2] {
    [wire, 32 + strip].map(|channel| Record { digitizer, channel, adc: 100, time })
}

/// A packet of records.
pub(crate) fn records(records: &[Record]) -> Vec<u8> {
    let mut encoder = RecordEncoder::default();
    encoder.begin();
    assert!(records.iter().all(|record| encoder.push(record)), "more records than a packet holds");
    encoder.packet().to_vec()
}

/// Feeds packets in small slabs and batches and returns all events.
#[allow(dead_code)]
pub(crate) fn form(detector: &mut dyn Detector, packets: &[Vec<u8>]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut batch = EventBatch::new(7);
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    for packets in packets.chunks(3) {
        let mut slab = PacketSlab::new(3, packets.iter().map(Vec::len).sum());
        for packet in packets {
            assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        }
        detector::form(detector, &slab.batch(), &mut batch, &mut keep);
    }
    detector::form_rest(detector, &mut batch, &mut keep);
    events
}
