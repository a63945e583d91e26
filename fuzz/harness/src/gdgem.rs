//! Streams of packets into a Gd-GEM pipeline.

use crate::packet_stream::{form_stream, sorting};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::gdgem::GdGem;
use evforge_detect::gdgem::settings::{
    ChannelThreshold, ChipMapping, ChipPlane, ChipStrips, ClusteringSettings, GdGemSettings, MaskedChannels,
    MatchingSettings, Plane, PositionSettings, ReadoutFormat, ThirdPlaneSettings, TimeConvention, TimeGapOf,
    TimeSettings, UNWIRED, UsualDifferences,
};
use evforge_detect::pairing::Ambiguous;
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::SortingSettings;

/// Bits of the first byte of an input: which settings its packets are formed with.
pub mod choice {
    /// VMM2; the usual settings.
    pub const VMM2: u8 = 0;
    /// VMM3 in the layout of 2018.
    pub const VMM3_OF_2018: u8 = 1;
    /// VMM3a.
    pub const VMM3A: u8 = 2;
    /// VMM3a in triggered mode.
    pub const TRIGGERED: u8 = 3;
    /// The other time convention than is usual for the format.
    pub const OTHER_CONVENTION: u8 = 1 << 2;
    /// All limits of the position are set.
    pub const LIMITS: u8 = 1 << 3;
    /// A window of 1 us, forward jumps of 2 us, restarts of 10 us, groups of 16 hits, and clusters that are paired.
    pub const NARROW: u8 = 1 << 4;
    /// Stamps that tick so slowly that a few of their turns reach the end of 64 bits.
    pub const COARSE: u8 = 1 << 5;
    /// What is closed is published after every packet.
    pub const PUBLISH: u8 = 1 << 6;
    /// Thresholds, clusters of one hit, no gaps, plain weights.
    pub const PLAIN: u8 = 1 << 7;
}

/// Forms events of the packets in `bytes`: one byte for the settings (see [`choice`]), then a stream.
///
/// # Panics
/// As [`form_stream`].
pub fn gdgem(bytes: &[u8]) {
    form_stream(bytes, choice::PUBLISH, 0, |choice| {
        Box::new(GdGem::new(&settings(choice)).expect("the settings of the exercise are sound"))
    });
}

/// Bits of the first byte of an input of [`gdgem_panels`].
pub mod panels_choice {
    /// A panel with x only, one with both planes and one with y only.
    pub const ONE_PLANE: u8 = 0;
    /// A panel with x, y and u.
    pub const THREE_PLANES: u8 = 1;
    /// A panel of pads.
    pub const PADS: u8 = 2;
    /// Panels of all kinds.
    pub const ALL: u8 = 3;
    /// Ambiguous pairs are dropped.
    pub const DROP: u8 = 1 << 2;
    /// All limits of the position are set.
    pub const LIMITS: u8 = 1 << 3;
    /// As [`NARROW`](super::choice::NARROW).
    pub const NARROW: u8 = 1 << 4;
    /// Hits are linked one by one; clusters of one hit, no gaps, plain weights.
    pub const NEIGHBOURS: u8 = 1 << 5;
    /// What is closed is published after every packet.
    pub const PUBLISH: u8 = 1 << 6;
    /// Somebody looks on.
    pub const WATCHED: u8 = 1 << 7;
}

/// As [`gdgem`], with panels of one plane, of three planes and of pads; see [`panels_choice`].
///
/// # Panics
/// As [`form_stream`].
pub fn gdgem_panels(bytes: &[u8]) {
    form_stream(bytes, panels_choice::PUBLISH, panels_choice::WATCHED, |choice| {
        Box::new(GdGem::new(&panels_settings(choice)).expect("the settings of the exercise are sound"))
    });
}

/// A Gd-GEM with VMM3a whose panels have no two planes. Both chips of FEC 1 and of FEC 2 are wired.
pub fn panels_settings(choice: u8) -> GdGemSettings {
    let has = |bit: u8| choice & bit != 0;
    let usual = settings(choice::VMM3A);
    let clustering = ClusteringSettings {
        time_gap_of: if has(panels_choice::NEIGHBOURS) { TimeGapOf::Neighbours } else { TimeGapOf::Plane },
        max_strip_gap: if has(panels_choice::NEIGHBOURS) { 0 } else { 2 },
        min_hits: if has(panels_choice::NEIGHBOURS) { 1 } else { 3 },
        ..usual.clustering[0]
    };
    let ambiguous = if has(panels_choice::DROP) { Ambiguous::Drop } else { Ambiguous::Nearest };
    let limit = has(panels_choice::LIMITS).then_some(4);
    let (panels, one_plane, mapping) = panels_mapping(choice & 3);
    GdGemSettings {
        sorting: sorting(has(panels_choice::NARROW)),
        clustering: [clustering; 2],
        matching: MatchingSettings { ambiguous, ..usual.matching },
        position: PositionSettings {
            weighted: !has(panels_choice::NEIGHBOURS),
            lower_uncertainty_limit: limit,
            upper_uncertainty_limit: limit,
            minimum_hits: limit.map(u32::from),
            ..usual.position
        },
        third_plane: Some(ThirdPlaneSettings {
            from: [1_000_000, -500_000],
            offset: 10_500,
            tolerance: 4000,
            delay: -20_000,
        }),
        geometry: LogicalGeometry::new(64, 60, 1, panels).expect("a small geometry"),
        one_plane,
        mapping,
        mask: Vec::new(),
        channel_thresholds: Vec::new(),
        ..usual
    }
}

/// Panels, those of one plane, and what the chips are wired to. The last strips of y lie outside the geometry.
fn panels_mapping(kind: u8) -> (u32, Vec<u16>, Vec<ChipMapping>) {
    let chip = |fec, vmm, panel, plane| ChipMapping {
        panel,
        plane,
        ..ChipMapping::following(fec, vmm, Plane::X, 0)
    };
    let pads = |panel| {
        let number: [u16; 64] = std::array::from_fn(|channel| channel as u16);
        let mut columns = number.map(|number| number % 9);
        columns[63] = UNWIRED;
        let mut rows = number.map(|number| number / 9);
        rows[63] = UNWIRED;
        ChipMapping { strips: ChipStrips::Pads { columns, rows }, ..chip(2, 1, panel, ChipPlane::Pads) }
    };
    use ChipPlane::{U, X, Y};
    let xyu = |panel| [chip(2, 0, panel, X), chip(1, 0, panel, Y), chip(1, 1, panel, U)];
    match kind {
        panels_choice::ONE_PLANE => {
            let chips = [chip(2, 0, 0, X), chip(2, 1, 1, X), chip(1, 0, 1, Y), chip(1, 1, 2, Y)];
            (3, vec![0, 2], chips.to_vec())
        }
        panels_choice::THREE_PLANES => (1, Vec::new(), xyu(0).to_vec()),
        panels_choice::PADS => (1, Vec::new(), vec![pads(0)]),
        _ => {
            let mut chips = xyu(0).to_vec();
            chips.push(pads(1));
            chips.push(chip(3, 0, 2, Y));
            (3, vec![2], chips)
        }
    }
}

/// A small Gd-GEM of 128 x 128 strips: FEC 2 (VMM2: chips 2, 3) reads x, FEC 1 reads y.
pub fn settings(choice: u8) -> GdGemSettings {
    let has = |bit: u8| choice & bit != 0;
    let either = |bit: u8, set: u64, unset: u64| if has(bit) { set } else { unset };
    let format = match choice & 3 {
        choice::VMM2 => ReadoutFormat::Vmm2,
        choice::VMM3_OF_2018 => ReadoutFormat::Vmm3Of2018,
        choice::TRIGGERED => ReadoutFormat::Vmm3aTriggered,
        _ => ReadoutFormat::Vmm3a,
    };
    let vmm3a = format.is_vmm3a();
    let convention = if vmm3a != has(choice::OTHER_CONVENTION) {
        TimeConvention::SignedOffset
    } else {
        TimeConvention::TriggerPeriod2018
    };
    let clustering = ClusteringSettings {
        adc_threshold: either(choice::PLAIN, 60, 0) as u16,
        max_time_gap: 200_000,
        time_gap_of: if has(choice::NARROW) { TimeGapOf::Neighbours } else { TimeGapOf::Plane },
        max_strip_gap: either(choice::PLAIN, 0, 2) as u16,
        min_hits: either(choice::PLAIN, 1, 3) as u32,
    };
    let mapping = mapping(format);
    GdGemSettings {
        format,
        time: TimeSettings {
            convention,
            bunch_crossing: if vmm3a { 22_500 } else { 50_000 },
            tac_range: 60_000,
            marker_tick: either(choice::COARSE, 5_000_000, if vmm3a { 22_500 } else { 25_000 }),
            trigger_tick: either(choice::COARSE, 1_000_000_000, 3_125),
        },
        sorting: SortingSettings {
            decimation: either(choice::LIMITS, 10, 0) as u32,
            ..sorting(has(choice::NARROW))
        },
        clustering: [clustering, ClusteringSettings { adc_threshold: 0, ..clustering }],
        matching: matching(has(choice::NARROW), has(choice::LIMITS)),
        position: PositionSettings {
            weighted: !has(choice::PLAIN),
            time_bins: 3,
            lower_uncertainty_limit: has(choice::LIMITS).then_some(4),
            upper_uncertainty_limit: has(choice::LIMITS).then_some(6),
            minimum_hits: has(choice::LIMITS).then_some(4),
            spans: None,
        },
        mapping: mapping.clone(),
        mapping_file: None,
        calibration: Vec::new(),
        calibration_file: None,
        mask: if has(choice::PLAIN) { masked(&mapping) } else { Vec::new() },
        channel_thresholds: if has(choice::PLAIN) { thresholds(&mapping) } else { Vec::new() },
        geometry: LogicalGeometry::flat(128, 120).expect("a small geometry"),
        partition: None,
        one_plane: Vec::new(),
        third_plane: None,
    }
}

fn matching(is_paired: bool, drops_ambiguous: bool) -> MatchingSettings {
    let joining = MatchingSettings::joining(MatchBy::End, 200_000);
    if !is_paired {
        return joining;
    }
    MatchingSettings {
        ambiguous: if drops_ambiguous { Ambiguous::Drop } else { Ambiguous::Nearest },
        y_delay: -30_000,
        usual: UsualDifferences {
            difference: Some(50_000),
            start_difference: Some(80_000),
            amplitude_permille: Some(1200),
        },
        ..joining
    }
}

/// The first channels of the first chip are left out.
fn masked(mapping: &[ChipMapping]) -> Vec<MaskedChannels> {
    let entry = |chip: &ChipMapping| MaskedChannels {
        fec: chip.fec,
        chip: chip.chip,
        channels: (0..8).collect(),
        reason: "hot".into(),
    };
    mapping.first().map(entry).into_iter().collect()
}

/// The first channels of every chip have a threshold of their own.
fn thresholds(mapping: &[ChipMapping]) -> Vec<ChannelThreshold> {
    let entry = |chip: &ChipMapping| ChannelThreshold {
        fec: chip.fec,
        chip: chip.chip,
        channels: (4..12).collect(),
        adc: 300,
    };
    mapping.iter().map(entry).collect()
}

/// The last strips of y lie outside the geometry, which is 120 rows high.
fn mapping(format: ReadoutFormat) -> Vec<ChipMapping> {
    let chip = ChipMapping::following;
    let (x, y) = if format == ReadoutFormat::Vmm2 { ((1, 2), (1, 0)) } else { ((2, 0), (1, 0)) };
    vec![
        chip(x.0, x.1, Plane::X, 0),
        chip(x.0, x.1 + 1, Plane::X, 64),
        chip(y.0, y.1, Plane::Y, 0),
        chip(y.0, y.1 + 1, Plane::Y, 64),
    ]
}
