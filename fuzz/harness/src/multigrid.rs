//! Streams of packets into Multi-Grid pipelines with either read-out.

use crate::packet_stream::{form_stream, sorting};
use evforge_detect::multigrid::amplitude::{AmplitudeFilter, Factor};
use evforge_detect::multigrid::settings::{
    BusSettings, CncsSettings, DoubleNeutronRule, EventTime, FilterSettings, MaskSettings, MesytecSettings,
    Ordering, Strategy, TimeSettings,
};
use evforge_detect::multigrid::{MultiGrid, MultiGridCncs};
use evforge_detect::settings::SortingSettings;

/// Bits of the first byte of a stream: which settings its packets are formed with.
pub mod choice {
    /// The demonstrator at CNCS, and not VMMR modules.
    pub const CNCS: u8 = 1;
    /// The mean weighted with amplitudes.
    pub const CENTER_MASS: u8 = 1 << 1;
    /// The mean of the largest; wins over [`CENTER_MASS`].
    pub const PRIORITIZED: u8 = 1 << 2;
    /// Events leave in order of time.
    pub const ORDERED: u8 = 1 << 3;
    /// As the reference of 2018: raw times, turns counted, packets all or nothing.
    pub const OF_2018: u8 = 1 << 4;
    /// Double neutrons are looked for and dropped, and a channel is masked.
    pub const CHOOSY: u8 = 1 << 5;
    /// What is closed is published after every packet.
    pub const PUBLISH: u8 = 1 << 6;
    /// Monitor data are collected.
    pub const WATCHED: u8 = 1 << 7;
}

/// Forms events of the packets in `bytes`: one byte for the settings (see [`choice`]), then a stream.
///
/// # Panics
/// As [`form_stream`].
pub fn multigrid(bytes: &[u8]) {
    form_stream(bytes, choice::PUBLISH, choice::WATCHED, |choice| {
        if choice & choice::CNCS != 0 {
            Box::new(MultiGridCncs::new(&cncs(choice)).expect("the settings of the exercise are sound"))
        } else {
            Box::new(MultiGrid::new(&mesytec(choice)).expect("the settings of the exercise are sound"))
        }
    });
}

fn time(choice: u8) -> TimeSettings {
    if choice & choice::OF_2018 != 0 {
        return TimeSettings { tick: None, event_time: EventTime::Raw2018, order: Ordering::Arrival };
    }
    let sorting = SortingSettings { max_group_hits: 1, ..sorting(true) };
    let ordered = choice & choice::ORDERED != 0;
    TimeSettings {
        tick: Some(62_500),
        event_time: EventTime::Clock,
        order: if ordered { Ordering::Time(sorting) } else { Ordering::Arrival },
    }
}

/// Two buses of 2 columns, 4 layers and 8 grids; bus 1 has filters.
fn mesytec(choice: u8) -> MesytecSettings {
    let has = |bit: u8| choice & bit != 0;
    let bus = BusSettings { max_channel: 16, max_wire: 8, max_z: 4, ..BusSettings::default() };
    let factor = Factor::new(1.5).expect("a factor");
    let filter = AmplitudeFilter { min: 100, max: 5000, factor };
    let filters = FilterSettings { blanket: AmplitudeFilter::default(), exceptions: vec![(3, filter)] };
    let filtered = BusSettings {
        swap_wires: true,
        swap_grids: true,
        flipped_x: true,
        flipped_z: true,
        wire_filters: filters.clone(),
        grid_filters: filters,
        ..bus.clone()
    };
    MesytecSettings {
        strategy: if has(choice::PRIORITIZED) {
            Strategy::Prioritized
        } else if has(choice::CENTER_MASS) {
            Strategy::CenterMass
        } else {
            Strategy::Maximum
        },
        time: time(choice),
        spoof_high_time: has(choice::OF_2018),
        discard_damaged_packets: has(choice::OF_2018),
        double_neutrons: has(choice::CHOOSY).then_some(DoubleNeutronRule { threshold: 200, separation: 2 }),
        drop_double_neutrons: has(choice::CHOOSY),
        buses: vec![bus, filtered],
        mask: if has(choice::CHOOSY) {
            vec![MaskSettings { bus: 0, channel: 5, reason: "hot".into() }]
        } else {
            Vec::new()
        },
    }
}

/// Two modules of 4 grids and 2 x 4 wires.
fn cncs(choice: u8) -> CncsSettings {
    CncsSettings {
        time: time(choice),
        wire_threshold: 230,
        grid_threshold: 170,
        drop_double_neutrons: choice & choice::CHOOSY != 0,
        panels: 1,
        panel: 1,
        modules: 2,
        grids: 4,
        wires_x: 2,
        wires_z: 4,
        wire_calibration: vec![1; 4],
        grid_calibration: Vec::new(),
    }
}
