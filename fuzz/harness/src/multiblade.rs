//! Streams of packets into a Multi-Blade pipeline.

use crate::packet_stream::{form_stream, sorting};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::multiblade::MultiBlade;
use evforge_detect::multiblade::caen::settings::{
    ChannelMapping, ChannelThreshold, HitOrder, MaskedChannels, MultiBladeSettings, Plane, ReadoutFormat,
    Rounding, TimeBase, WindowRule, WindowSettings,
};

/// Bits of the first byte of an input: which settings its packets are formed with.
pub mod choice {
    /// Records of 8 bytes.
    pub const RECORDS: u8 = 0;
    /// jadaq of June 2018.
    pub const JADAQ_OF_JUNE_2018: u8 = 1;
    /// jadaq 1.3.
    pub const JADAQ_1_3: u8 = 2;
    /// jadaq 1.3, ordered, with times that count from the global time of the packet.
    pub const GLOBAL_TIME: u8 = 3;
    /// Hits are looked at in order of time.
    pub const ORDERED: u8 = 1 << 2;
    /// Windows that end after a gap, one neutron in each, ticks as times.
    pub const GAP: u8 = 1 << 3;
    /// A window of 1 us, forward jumps of 2 us, restarts of 10 us, and windows of 16 hits.
    pub const NARROW: u8 = 1 << 4;
    /// The position is the channel of the largest amplitude.
    pub const MAXIMUM: u8 = 1 << 5;
    /// What is closed is published after every packet.
    pub const PUBLISH: u8 = 1 << 6;
    /// Monitor data are collected.
    pub const WATCHED: u8 = 1 << 7;
}

/// Forms events of the packets in `bytes`: one byte for the settings (see [`choice`]), then a stream.
///
/// # Panics
/// As [`form_stream`].
pub fn multiblade(bytes: &[u8]) {
    form_stream(bytes, choice::PUBLISH, choice::WATCHED, |choice| {
        Box::new(MultiBlade::new(&settings(choice)).expect("the settings of the exercise are sound"))
    });
}

/// Two cassettes of 32 wires and 32 strips: one is read by digitizer 1, the other one by digitisers 2 and 3.
fn settings(choice: u8) -> MultiBladeSettings {
    let has = |bit: u8| choice & bit != 0;
    let (format, time_base) = match choice & 3 {
        choice::RECORDS => (ReadoutFormat::Records, TimeBase::Electronics),
        choice::JADAQ_OF_JUNE_2018 => (ReadoutFormat::JadaqOfJune2018, TimeBase::Electronics),
        choice::JADAQ_1_3 => (ReadoutFormat::Jadaq1_3, TimeBase::Electronics),
        _ => (ReadoutFormat::Jadaq1_3, TimeBase::GlobalTime),
    };
    let ordered = has(choice::ORDERED) || time_base == TimeBase::GlobalTime;
    let run = |digitizer, first_channel, cassette, plane| ChannelMapping {
        digitizer,
        first_channel,
        channels: 32,
        cassette,
        plane,
        first: 0,
    };
    MultiBladeSettings {
        format,
        order: if ordered { HitOrder::Time } else { HitOrder::Arrival },
        time_base,
        tick: 16_000,
        raw_ticks: has(choice::GAP),
        sorting: sorting(has(choice::NARROW)),
        threshold: 20,
        channel_thresholds: vec![ChannelThreshold { digitizer: 2, channels: vec![3], adc: 500 }],
        mask: vec![MaskedChannels { digitizer: 1, channels: vec![7, 40], reason: "hot".into() }],
        window: WindowSettings {
            rule: if has(choice::GAP) { WindowRule::Gap } else { WindowRule::Box },
            ticks: 185,
            max_wires: 2,
            max_strips: 4,
            max_gap_wires: 0,
            max_gap_strips: 0,
            max_amplitude_ratio: (!has(choice::GAP)).then_some(4000),
            separate: !has(choice::GAP),
        },
        maximum: has(choice::MAXIMUM),
        rounding: if has(choice::MAXIMUM) { Rounding::Down } else { Rounding::Nearest },
        cassettes: 2,
        wires: 32,
        strips: 32,
        mapping: vec![
            run(1, 0, 0, Plane::Strips),
            run(1, 32, 0, Plane::Wires),
            run(2, 0, 1, Plane::Strips),
            run(3, 0, 1, Plane::Wires),
        ],
        geometry: LogicalGeometry::flat(32, 64).expect("a small geometry"),
    }
}
