//! Which wire or strip a channel is, and where a cassette is on the detector.

use crate::multiblade::settings::Plane;

/// Wires of a cassette.
pub(super) const WIRES: u16 = 32;
/// Strips of a cassette.
pub(super) const STRIPS: u16 = 64;
/// Wires are on the middle channels of their VMM, from this one on.
const FIRST_WIRE_CHANNEL: u16 = 16;
/// ESTIA: cassettes next to each other.
const ESTIA_COLUMNS: u16 = 48;

/// How the cassettes of an instrument are wired and placed (ESS readout formats, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CassetteLayout {
    /// Column = 63 − channel of the strip, row = 32 × cassette + 47 − channel of the wire.
    Freia,
    /// Cassettes in rows of 48: column = 32 × (cassette mod 48) + channel of the wire − 16, row = 64 × (cassette div
    /// 48) + 63 − channel of the strip.
    Estia,
    /// As FREIA. TBLMB has the same.
    Amor,
}

/// Which of the two VMMs of a hybrid reads the wires.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum WireVmm {
    /// The one with the even number.
    Even,
    /// The one with the odd number: what recordings of the detectors show (section 7).
    #[default]
    Odd,
}

/// How the channels of a cassette's hybrid are wired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CassetteWiring {
    /// Which VMM reads the wires; the other one reads the strips.
    pub wires: WireVmm,
    /// Wires count along their channels in the direction opposite to that of the layout.
    pub wires_reversed: bool,
    /// Strips count along their channels in the direction opposite to that of the layout.
    pub strips_reversed: bool,
}

impl CassetteWiring {
    /// Which plane a VMM of the hybrid reads: the even one, or the odd one.
    pub(super) fn plane(self, odd_vmm: bool) -> Plane {
        if odd_vmm == (self.wires == WireVmm::Odd) { Plane::Wires } else { Plane::Strips }
    }
}

impl CassetteLayout {
    /// Wire or strip on a channel of its VMM, 0..=63; none if nothing is wired to it.
    pub(super) fn coordinate(self, wiring: CassetteWiring, plane: Plane, channel: u16) -> Option<u16> {
        match plane {
            Plane::Strips => Some(if wiring.strips_reversed { channel } else { STRIPS - 1 - channel }),
            Plane::Wires => {
                let wire = channel.checked_sub(FIRST_WIRE_CHANNEL).filter(|&wire| wire < WIRES)?;
                Some(if (self == Self::Estia) == wiring.wires_reversed { WIRES - 1 - wire } else { wire })
            }
        }
    }

    /// Whether wires are counted along the columns of pixels.
    pub(super) fn wires_are_columns(self) -> bool {
        self == Self::Estia
    }

    /// First column and row of a cassette.
    pub(super) fn origin(self, cassette: u16) -> (u32, u32) {
        match self {
            Self::Freia | Self::Amor => (0, u32::from(cassette) * u32::from(WIRES)),
            Self::Estia => {
                let (column, row) = (cassette % ESTIA_COLUMNS, cassette / ESTIA_COLUMNS);
                (u32::from(column) * u32::from(WIRES), u32::from(row) * u32::from(STRIPS))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CassetteLayout::{Amor, Estia, Freia};

    /// Column and row of a neutron on these channels of a cassette.
    fn pixel(
        layout: CassetteLayout,
        cassette: u16,
        wire_channel: u16,
        strip_channel: u16,
    ) -> Option<(u32, u32)> {
        let wiring = CassetteWiring::default();
        let wire = u32::from(layout.coordinate(wiring, Plane::Wires, wire_channel)?);
        let strip = u32::from(layout.coordinate(wiring, Plane::Strips, strip_channel)?);
        let (column, row) = layout.origin(cassette);
        Some(if layout.wires_are_columns() {
            (column + wire, row + strip)
        } else {
            (column + strip, row + wire)
        })
    }

    #[test]
    fn section_3_freia_and_amor_are_columns_of_cassettes() {
        for layout in [Freia, Amor] {
            assert_eq!(pixel(layout, 0, 16, 0), Some((63, 31)));
            assert_eq!(pixel(layout, 0, 47, 63), Some((0, 0)));
            assert_eq!(pixel(layout, 31, 20, 60), Some((63 - 60, 31 * 32 + 47 - 20)));
        }
    }

    #[test]
    fn section_3_estia_has_cassettes_in_two_rows() {
        assert_eq!(pixel(Estia, 0, 16, 63), Some((0, 0)));
        assert_eq!(pixel(Estia, 47, 47, 0), Some((1535, 63)));
        assert_eq!(pixel(Estia, 48, 16, 63), Some((0, 64)));
        assert_eq!(pixel(Estia, 95, 20, 60), Some((47 * 32 + 4, 64 + 3)));
    }

    #[test]
    fn section_3_wires_are_on_the_middle_channels_and_strips_on_all() {
        let wiring = CassetteWiring::default();
        for layout in [Freia, Estia, Amor] {
            let wires = (0..64).filter(|&channel| layout.coordinate(wiring, Plane::Wires, channel).is_some());
            assert!(wires.eq(16..=47));
            let mut strips: Vec<_> =
                (0..64).filter_map(|channel| layout.coordinate(wiring, Plane::Strips, channel)).collect();
            strips.sort_unstable();
            assert!(strips.into_iter().eq(0..64));
        }
    }

    #[test]
    fn section_7_the_odd_vmm_reads_wires_unless_the_configuration_says_otherwise() {
        let planes = |wiring: CassetteWiring| [wiring.plane(false), wiring.plane(true)];
        assert_eq!(planes(CassetteWiring::default()), [Plane::Strips, Plane::Wires]);
        let even = CassetteWiring { wires: WireVmm::Even, ..CassetteWiring::default() };
        assert_eq!(planes(even), [Plane::Wires, Plane::Strips]);
    }

    #[test]
    fn both_planes_can_count_the_other_way() {
        let reversed =
            CassetteWiring { wires_reversed: true, strips_reversed: true, ..CassetteWiring::default() };
        for (layout, plane, ends) in
            [(Freia, Plane::Wires, [16, 47]), (Estia, Plane::Wires, [47, 16]), (Amor, Plane::Strips, [0, 63])]
        {
            let [first, last] = ends.map(|channel| layout.coordinate(reversed, plane, channel));
            assert_eq!(first, Some(0), "{layout:?}");
            let [first_as_it_is, last_as_it_is] =
                ends.map(|channel| layout.coordinate(CassetteWiring::default(), plane, channel));
            assert_eq!((first_as_it_is, last_as_it_is), (last, first), "{layout:?}");
        }
    }
}
