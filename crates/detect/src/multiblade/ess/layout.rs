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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CassetteLayout {
    /// Wires on the even VMM; column = 63 − channel of the strip, row = 32 × cassette + 47 − channel of the wire.
    Freia,
    /// Wires on the odd VMM; cassettes in rows of 48: column = 32 × (cassette mod 48) + channel of the wire − 16,
    /// row = 64 × (cassette div 48) + 63 − channel of the strip.
    Estia,
    /// As FREIA with wires on the odd VMM. TBLMB has the same.
    Amor,
}

impl CassetteLayout {
    /// Which plane a VMM of a hybrid reads: the even one, or the odd one.
    pub(super) fn plane(self, odd_vmm: bool) -> Plane {
        let wires_are_odd = matches!(self, Self::Estia | Self::Amor);
        if odd_vmm == wires_are_odd { Plane::Wires } else { Plane::Strips }
    }

    /// Wire or strip on a channel of its VMM, 0..=63; none if nothing is wired to it.
    pub(super) fn coordinate(self, plane: Plane, channel: u16) -> Option<u16> {
        match plane {
            Plane::Strips => Some(STRIPS - 1 - channel),
            Plane::Wires => {
                let wire = channel.checked_sub(FIRST_WIRE_CHANNEL).filter(|&wire| wire < WIRES)?;
                Some(if self == Self::Estia { wire } else { WIRES - 1 - wire })
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
        let wire = u32::from(layout.coordinate(Plane::Wires, wire_channel)?);
        let strip = u32::from(layout.coordinate(Plane::Strips, strip_channel)?);
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
        for layout in [Freia, Estia, Amor] {
            let wires = (0..64).filter(|&channel| layout.coordinate(Plane::Wires, channel).is_some());
            assert!(wires.eq(16..=47));
            let mut strips: Vec<_> =
                (0..64).filter_map(|channel| layout.coordinate(Plane::Strips, channel)).collect();
            strips.sort_unstable();
            assert!(strips.into_iter().eq(0..64));
        }
    }

    #[test]
    fn section_3_the_even_vmm_reads_wires_at_freia_and_strips_elsewhere() {
        let planes = |layout: CassetteLayout| [layout.plane(false), layout.plane(true)];
        assert_eq!(planes(Freia), [Plane::Wires, Plane::Strips]);
        assert_eq!(planes(Estia), [Plane::Strips, Plane::Wires]);
        assert_eq!(planes(Amor), [Plane::Strips, Plane::Wires]);
    }
}
