//! The digital geometry of Multi-Grids with the ESS readout: which wire or grid a channel is (ESS readout formats, section 3,
//! "TREX / LET").
//!
//! A *vessel* has two columns of 6 × 16 wires, each read by a front end (FEN) with its own grids. Wires are numbered
//! along the beam first: wire `n` of a vessel is in its column of pixels `n / 16` and its layer `n % 16`.

use super::columns::COORDINATE_LIMIT;
use crate::ess::settings::{HYBRID_CHANNELS, HYBRIDS};
use crate::ess::{HybridSettings, PlaceRequest};
use crate::settings::SettingsError;
use crate::threshold_steps::ThresholdClass;
use evforge_core::geometry::LogicalGeometry;

/// Wires one behind the other.
pub const LAYERS: u32 = 16;
/// Columns of pixels of a vessel.
pub const VESSEL_COLUMNS: u16 = 12;
/// Wires of a front end.
const WIRES: u16 = 96;
/// Wires begin here in the channels of their hybrid.
const FIRST_WIRE: u16 = 32;
/// Grids of a long vessel begin here, counted from the first channel of hybrid 1.
const FIRST_GRID: u16 = 58;
/// Grids of a long vessel.
const LONG_GRIDS: u16 = 140;
/// Grids of a short vessel.
const SHORT_GRIDS: u16 = 51;
/// Largest threshold.
pub(super) const LARGEST_ADC: u16 = 1023;

/// How the channels of a front end are wired.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum VesselWiring {
    /// Wires on hybrid 0, grids on 1 and 2; FENs with an odd number have the second half of the wires.
    #[default]
    Trex,
    /// Grids on hybrid 0, wires on hybrid 1 with the channels of each pair swapped; rings with an even number have
    /// the second half of the wires. Short vessels only.
    Let,
}

/// A vessel and the front ends that read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VesselSettings {
    /// Its rings: each has all of `fens`.
    pub rings: Vec<u8>,
    /// Its FENs.
    pub fens: Vec<u8>,
    /// Whether it stands upside down: columns and grids run the other way.
    pub rotated: bool,
    /// Whether it has 51 grids and not 140.
    pub short: bool,
    /// Its first column of pixels.
    pub x_offset: u16,
    /// Row of its grid 0.
    pub y_offset: u16,
    /// Least amplitude, 0..=1023.
    pub min_adc: u16,
}

impl VesselSettings {
    /// Its front ends: ring and FEN.
    pub fn front_ends(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        self.rings.iter().flat_map(|&ring| self.fens.iter().map(move |&fen| (ring, fen)))
    }

    fn grids(&self) -> u16 {
        if self.short { SHORT_GRIDS } else { LONG_GRIDS }
    }

    /// Checks that it is inside `geometry` and can be wired so. The key of an error is that of the vessel's own.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self, wiring: VesselWiring, geometry: &LogicalGeometry) -> Result<(), SettingsError> {
        for (key, list) in [("rings", &self.rings), ("fens", &self.fens)] {
            if list.is_empty() {
                return SettingsError::refuse(key, "a vessel is read by at least one: give their numbers");
            }
        }
        if wiring == VesselWiring::Let && !self.short {
            let problem = "the wiring \"let\" is known for short vessels only: short = true";
            return SettingsError::refuse("short", problem);
        }
        let end = u32::from(self.x_offset) + u32::from(VESSEL_COLUMNS);
        if end > geometry.nx() {
            let problem = format!(
                "columns {} to {} are not in a detector of {}: x_offset + {VESSEL_COLUMNS} is at most that",
                self.x_offset,
                end - 1,
                geometry.nx()
            );
            return SettingsError::refuse("x_offset", problem);
        }
        let last = i32::from(self.grids() - 1);
        let last = i32::from(self.y_offset) + if self.rotated { -last } else { last };
        let rows = 0..i64::from(geometry.ny());
        if ![i32::from(self.y_offset), last].iter().all(|&row| rows.contains(&i64::from(row))) {
            let problem = format!(
                "{} grids from row {} to row {last} are not in a detector of {} rows{}",
                self.grids(),
                self.y_offset,
                geometry.ny(),
                if self.rotated { "; those of a rotated vessel run down from y_offset" } else { "" }
            );
            return SettingsError::refuse("y_offset", problem);
        }
        if self.min_adc > LARGEST_ADC {
            let problem = format!("{} is not in 0..={LARGEST_ADC}", self.min_adc);
            return SettingsError::refuse("min_adc", problem);
        }
        Ok(())
    }

    /// The hybrids of a front end, ring and FEN, whose hits belong to module `target`. Calibrations are none.
    pub fn hybrids(
        &self,
        wiring: VesselWiring,
        (ring, fen): (u8, u8),
        target: u16,
        threshold_class: ThresholdClass,
    ) -> Vec<HybridSettings> {
        let channels = |hybrid: u8| -> Vec<Option<PlaceRequest>> {
            let place = |channel: usize| self.place(wiring, ring, fen, hybrid, channel as u16);
            let request = |(plane, coordinate)| PlaceRequest {
                target,
                plane,
                coordinate,
                threshold: self.min_adc,
                threshold_class,
            };
            (0..HYBRID_CHANNELS).map(|channel| place(channel).map(request)).collect()
        };
        (0..HYBRIDS)
            .map(|hybrid| HybridSettings {
                ring,
                fen,
                hybrid,
                channels: channels(hybrid),
                calibration: Vec::new(),
            })
            .filter(|hybrid| hybrid.channels.iter().any(Option::is_some))
            .collect()
    }

    /// Plane and coordinate of one of the 128 channels of a hybrid: wires count in their vessel, grids are rows of
    /// the detector.
    fn place(&self, wiring: VesselWiring, ring: u8, fen: u8, hybrid: u8, channel: u16) -> Option<(u8, u16)> {
        let (wire_hybrid, first_grid_hybrid, second_half) = match wiring {
            VesselWiring::Trex => (0, 1, fen % 2 == 1),
            VesselWiring::Let => (1, 0, ring.is_multiple_of(2)),
        };
        if hybrid == wire_hybrid {
            let swapped = if wiring == VesselWiring::Let { channel ^ 1 } else { channel };
            let wire = swapped.checked_sub(FIRST_WIRE)? + if second_half { WIRES } else { 0 };
            let (column, layer) = (wire / LAYERS as u16, wire % LAYERS as u16);
            let column = if self.rotated { VESSEL_COLUMNS - 1 - column } else { column };
            return Some((0, column * LAYERS as u16 + layer));
        }
        let from_first = u16::from(hybrid.checked_sub(first_grid_hybrid)?) * HYBRID_CHANNELS as u16 + channel;
        let grid = if self.short { from_first } else { from_first.checked_sub(FIRST_GRID)? };
        if grid >= self.grids() {
            return None;
        }
        Some((1, if self.rotated { self.y_offset.checked_sub(grid)? } else { self.y_offset + grid }))
    }
}

/// Rows that grids can have.
pub const MOST_ROWS: u32 = COORDINATE_LIMIT as u32;

#[cfg(test)]
mod tests {
    use super::*;

    fn vessel(rotated: bool, short: bool, y_offset: u16) -> VesselSettings {
        let (rings, fens) = (vec![0], vec![0, 1]);
        VesselSettings { rings, fens, rotated, short, x_offset: 0, y_offset, min_adc: 50 }
    }

    /// Section 3: n = (hybrid·2 + vmm)·64 + ch − 32, + 96 if the FEN is odd.
    #[test]
    fn section_3_wires_of_trex() {
        let long = vessel(false, false, 0);
        let wire = |fen, vmm: u16, channel| long.place(VesselWiring::Trex, 0, fen, 0, vmm * 64 + channel);
        assert_eq!([wire(0, 0, 31), wire(0, 0, 32), wire(0, 0, 63)], [None, Some((0, 0)), Some((0, 31))]);
        assert_eq!([wire(0, 1, 0), wire(0, 1, 63)], [Some((0, 32)), Some((0, 95))]);
        assert_eq!([wire(1, 0, 32), wire(1, 1, 63)], [Some((0, 96)), Some((0, 191))]);
        // The x part n >> 4 becomes 11 − x: wire 75 is column 4, layer 11.
        let rotated = vessel(true, true, 50);
        assert_eq!(rotated.place(VesselWiring::Trex, 0, 0, 0, 64 + 43), Some((0, (11 - 4) * 16 + 11)));
        assert_eq!(rotated.place(VesselWiring::Trex, 0, 1, 0, 64 + 43), Some((0, 16 + 11)));
    }

    /// Section 3: y = (hybrid·2 + vmm − 2)·64 + ch − 58 of hybrids 1 and 2; y = ch of short vessels.
    #[test]
    fn section_3_grids_of_trex() {
        let grid = |vessel: VesselSettings, hybrid, vmm: u16, channel| {
            vessel.place(VesselWiring::Trex, 0, 0, hybrid, vmm * 64 + channel)
        };
        let long = || vessel(false, false, 0);
        assert_eq!(
            [57, 58, 63].map(|channel| grid(long(), 1, 0, channel)),
            [None, Some((1, 0)), Some((1, 5))]
        );
        assert_eq!([0, 63].map(|channel| grid(long(), 1, 1, channel)), [Some((1, 6)), Some((1, 69))]);
        assert_eq!([0, 63].map(|channel| grid(long(), 2, 0, channel)), [Some((1, 70)), Some((1, 133))]);
        assert_eq!([5, 6].map(|channel| grid(long(), 2, 1, channel)), [Some((1, 139)), None]);
        assert_eq!(grid(long(), 3, 0, 0), None);
        let short = |rotated, y_offset| vessel(rotated, true, y_offset);
        assert_eq!(grid(short(false, 89), 1, 0, 40), Some((1, 129)));
        assert_eq!(
            [0, 40, 50].map(|channel| grid(short(true, 50), 1, 0, channel)),
            [Some((1, 50)), Some((1, 10)), Some((1, 0))]
        );
        assert_eq!([grid(short(false, 0), 1, 0, 51), grid(short(false, 0), 2, 0, 0)], [None, None]);
    }

    /// Section 3: LET has its wires on hybrid 1, channel pairs swapped, + 96 if the ring is even.
    #[test]
    fn section_3_wires_and_grids_of_let() {
        let place =
            |ring, hybrid, channel| vessel(false, true, 0).place(VesselWiring::Let, ring, 0, hybrid, channel);
        assert_eq!([33, 32, 31].map(|channel| place(1, 1, channel)), [Some((0, 0)), Some((0, 1)), None]);
        assert_eq!([place(1, 1, 127), place(0, 1, 33)], [Some((0, 94)), Some((0, 96))]);
        assert_eq!(
            [0, 50, 51, 64].map(|channel| place(0, 0, channel)),
            [Some((1, 0)), Some((1, 50)), None, None]
        );
        assert_eq!(place(0, 2, 0), None);
    }

    #[test]
    fn a_vessel_is_inside_the_detector() {
        let geometry = LogicalGeometry::new(24, 51, 16, 1).unwrap();
        let check =
            |vessel: VesselSettings, wiring| vessel.check(wiring, &geometry).map_err(|error| error.key);
        let short = vessel(true, true, 50);
        for (changed, wiring, expected) in [
            (short.clone(), VesselWiring::Trex, Ok(())),
            (VesselSettings { x_offset: 12, ..short.clone() }, VesselWiring::Let, Ok(())),
            (VesselSettings { x_offset: 13, ..short.clone() }, VesselWiring::Trex, Err("x_offset")),
            (VesselSettings { y_offset: 49, ..short.clone() }, VesselWiring::Trex, Err("y_offset")),
            (VesselSettings { y_offset: 51, ..short.clone() }, VesselWiring::Trex, Err("y_offset")),
            (VesselSettings { rotated: false, ..short.clone() }, VesselWiring::Trex, Err("y_offset")),
            (VesselSettings { short: false, y_offset: 0, ..short.clone() }, VesselWiring::Let, Err("short")),
            (VesselSettings { min_adc: 1024, ..short.clone() }, VesselWiring::Trex, Err("min_adc")),
            (VesselSettings { fens: Vec::new(), ..short }, VesselWiring::Trex, Err("fens")),
        ] {
            assert_eq!(check(changed.clone(), wiring), expected.map_err(str::to_owned), "{changed:?}");
        }
    }
}
