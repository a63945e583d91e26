//! The settings that belong to the captures.
//!
//! EFU formats of 2018, section 4.4 (arithmetic), 4.5 (mappings) and 4.6 (parameter defaults).

use std::collections::BTreeMap;

use super::settings::{
    Arithmetic, ChipMapping, Clusterer, Convention, Format, PerPlane, Plane, Settings, Ticks,
};

/// Data id "VM2" (sections 4.1 and 4.2).
const DATA_ID_VM2: u32 = 0x564d_3200;

/// Data id "VM3" (section 4.3).
const DATA_ID_VM3: u32 = 0x564d_3300;

/// Strips, and channels, of one VMM.
const STRIPS_PER_CHIP: u32 = 64;

impl Arithmetic {
    /// The arithmetic of 2018 in units of 1/136 ns: bunch crossings of 50 ns, TAC slope 60 ns / 255 = 32/136
    /// ns, trigger resolution 3.125 ns = 425/136 ns, markers of 25 ns (sections 4.2 and 4.4).
    pub(crate) fn efu_2018() -> Self {
        let ns: Ticks = 136;
        let bunch_crossing = 50 * ns;
        Self {
            ticks_per_ns: ns,
            trigger_resolution: 425,
            marker_period: 25 * ns,
            offset_period: 4095 * bunch_crossing,
            bunch_crossing,
            tdc_step: 32,
            chip_time_constant: 0,
            trigger_period: 4095 * bunch_crossing,
            chip_time_window: 100_000 * ns,
        }
    }

    /// The arithmetic of the VMM3a front end in units of 1/68 ns: one clock of 22.5 ns for markers, bunch
    /// crossings and (times 4096) trigger offsets; chip time = bunch crossings + 1.5 - TDC (section 4.3).
    ///
    /// The trigger buffers of the reference make no sense here; their two fields follow the same clock.
    pub(crate) fn vmm3a_physical() -> Self {
        let ns: Ticks = 68;
        let clock = 45 * ns / 2;
        Self {
            ticks_per_ns: ns,
            trigger_resolution: ns,
            marker_period: clock,
            offset_period: 4096 * clock,
            bunch_crossing: clock,
            tdc_step: -16,
            chip_time_constant: 3 * clock / 2,
            trigger_period: 4096 * clock,
            chip_time_window: 2048 * clock,
        }
    }
}

impl Settings {
    /// The defaults of 2018 (section 4.6) with the given format, data id, mapping and square geometry.
    fn efu_2018(format: Format, data_id: u32, mapping: Vec<ChipMapping>, pixels: u64) -> Self {
        Self::with_defaults(format, data_id, Convention::Efu2018, Arithmetic::efu_2018(), mapping, pixels)
    }

    /// Threshold 0, time gap 200 ns, strip gap 2, at least 3 hits, matcher 200 ns, weighted, 3 time bins, no
    /// filters (section 4.6); clock lines with a window of 500 us and a forward jump of 1 s.
    fn with_defaults(
        format: Format,
        data_id: u32,
        convention: Convention,
        arithmetic: Arithmetic,
        mapping: Vec<ChipMapping>,
        pixels: u64,
    ) -> Self {
        let ns = arithmetic.ticks_per_ns;
        let clusterer = Clusterer {
            hit_adc_threshold: 0,
            maximum_time_gap: 200 * ns,
            maximum_strip_gap: 2,
            minimum_cluster_size: 3,
        };
        Self {
            format,
            data_id,
            convention,
            arithmetic,
            mapping,
            calibration: BTreeMap::new(),
            clusterers: PerPlane { x: clusterer.clone(), y: clusterer },
            matcher_maximum_delta_time: 200 * ns,
            weighted_centre: true,
            maximum_time_bins: 3,
            lower_uncertainty_limit: None,
            upper_uncertainty_limit: None,
            minimum_hits: None,
            geometry_x: pixels,
            geometry_y: pixels,
            line_window: 500_000 * ns,
            line_leap: 2_000_000 * ns,
            line_restart: 1_000_000_000 * ns,
        }
    }

    /// Settings of the capture `vmm2_run16`.
    pub(crate) fn vmm2_run16() -> Self {
        let mut mapping = chips(1, Plane::X, &[0, 1, 6, 7]);
        mapping.extend(chips(1, Plane::Y, &[10, 11, 14, 15]));
        Self::efu_2018(Format::Vmm2, DATA_ID_VM2, mapping, 256)
    }

    /// Settings of the captures `vmm2_recorded_2018` and `vmm3_recorded_2018`: the same hits in both formats.
    pub(crate) fn recorded_2018(format: Format) -> Self {
        let mut mapping = Vec::new();
        for fec in [1, 2] {
            mapping.extend(chips(fec, Plane::X, &[0, 1, 2, 3]));
            mapping.extend(chips(fec, Plane::Y, &[4, 5, 6, 7, 14, 15]));
        }
        Self::efu_2018(format, DATA_ID_VM2, mapping, 384)
    }

    /// Settings of the capture `vmm3a_srs` as the reference ran it: the arithmetic of 2018 and a made-up
    /// mapping, even VMMs to x and odd ones to y. Its FECs 1 and 2 carry the low bytes 0x10 and 0x20, which
    /// the convention of 2018 reads as FEC 17 and 33.
    pub(crate) fn vmm3a_as_efu_2018() -> Self {
        let mut mapping = Vec::new();
        for fec in [0x10 + 1, 0x20 + 1] {
            mapping.extend(chips(fec, Plane::X, &[0, 2, 4, 6, 8, 10, 12, 14]));
            mapping.extend(chips(fec, Plane::Y, &[1, 3, 5, 7, 9, 11, 13, 15]));
        }
        let mut settings = Self::efu_2018(Format::Vmm3, DATA_ID_VM3, mapping, 512);
        // With these made-up clocks time runs back by 1.4 ms at every marker, and readouts just before their
        // marker, whose offset is -1, are put 6.3 ms ahead.
        settings.line_window = 10_000_000 * settings.arithmetic.ticks_per_ns;
        settings.line_leap = settings.line_window;
        settings
    }

    /// Settings of the capture `vmm3a_srs` as the detector really was: FEC 2 reads x, FEC 1 reads y.
    pub(crate) fn vmm3a_physical() -> Self {
        let mut mapping = chips(2, Plane::X, &[0, 1]);
        mapping.extend(chips(1, Plane::Y, &[0, 1]));
        let arithmetic = Arithmetic::vmm3a_physical();
        Self::with_defaults(Format::Vmm3, DATA_ID_VM3, Convention::Vmm3aPhysical, arithmetic, mapping, 128)
    }

    /// Settings of panel `panel` of `gdgem-nmx`: FECs 1 and 2 read x and y of the first one, 3 and 4 of the next.
    pub(crate) fn nmx_panel(panel: u16) -> Self {
        let vmms: Vec<u8> = (0..10).collect();
        let mut mapping = chips(2 * panel + 1, Plane::X, &vmms);
        mapping.extend(chips(2 * panel + 2, Plane::Y, &vmms));
        let arithmetic = Arithmetic::vmm3a_physical();
        Self::with_defaults(Format::Vmm3, DATA_ID_VM3, Convention::Vmm3aPhysical, arithmetic, mapping, 640)
    }
}

/// Chips of one FEC that cover one plane in the given order without gaps.
fn chips(fec: u16, plane: Plane, vmms: &[u8]) -> Vec<ChipMapping> {
    let offsets = (0u32..).map(|position| position * STRIPS_PER_CHIP);
    vmms.iter()
        .zip(offsets)
        .map(|(&vmm, strip_offset)| ChipMapping { fec, vmm, plane, strip_offset })
        .collect()
}
