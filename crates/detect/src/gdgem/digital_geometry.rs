//! The digital geometry: which strip a channel is wired to.

use super::settings::{ChipMapping, Plane};
use evforge_wire::srs_vmm::CHANNELS;

/// Chips that the 5 bits of a chip number can name.
const CHIPS: usize = 32;

/// A strip of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripPlace {
    /// 0 for x, 1 for y.
    pub plane: usize,
    /// The strip.
    pub strip: u16,
}

/// The wiring of one FEC: a table over chip and channel.
#[derive(Clone, Debug)]
pub struct FecWiring {
    /// `strip << 1 | plane`, or [`UNMAPPED`].
    places: Vec<u16>,
}

const UNMAPPED: u16 = u16::MAX;

impl FecWiring {
    /// The wiring of `fec` according to `mapping`.
    pub fn new(fec: u16, mapping: &[ChipMapping]) -> Self {
        let mut places = vec![UNMAPPED; CHIPS * CHANNELS];
        for entry in mapping.iter().filter(|entry| entry.fec == fec) {
            let plane = matches!(entry.plane, Plane::Y) as u16;
            let chip = &mut places[usize::from(entry.chip) * CHANNELS..][..CHANNELS];
            for (place, strip) in chip.iter_mut().zip(entry.strip_offset..) {
                *place = strip << 1 | plane;
            }
        }
        Self { places }
    }

    /// The strip of a channel, or none if it is not wired.
    #[inline]
    pub fn place(&self, chip: u8, channel: u8) -> Option<StripPlace> {
        let index = (usize::from(chip) * CHANNELS + usize::from(channel)) % (CHIPS * CHANNELS);
        let place = self.places[index];
        (place != UNMAPPED).then_some(StripPlace { plane: usize::from(place & 1), strip: place >> 1 })
    }

    /// Memory of the table in bytes.
    pub const MEMORY: usize = CHIPS * CHANNELS * size_of::<u16>();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_follow_their_chips_offset() {
        let mapping = [
            ChipMapping { fec: 1, chip: 3, plane: Plane::Y, strip_offset: 64 },
            ChipMapping { fec: 2, chip: 3, plane: Plane::X, strip_offset: 8000 },
        ];
        let first = FecWiring::new(1, &mapping);
        assert_eq!(first.place(3, 5), Some(StripPlace { plane: 1, strip: 69 }));
        assert_eq!(first.place(4, 5), None);
        let second = FecWiring::new(2, &mapping);
        assert_eq!(second.place(3, 63), Some(StripPlace { plane: 0, strip: 8063 }));
        assert_eq!(FecWiring::new(3, &mapping).place(3, 0), None);
    }
}
