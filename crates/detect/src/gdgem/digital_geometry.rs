//! The digital geometry: which strip a channel is wired to.

use super::settings::ChipMapping;
use evforge_wire::srs_vmm::CHANNELS;

/// Chips that the 5 bits of a chip number can name.
const CHIPS: usize = 32;

/// A strip of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripPlace {
    /// The plane, counted over the panels: twice the panel for x, one more for y.
    pub plane: usize,
    /// The strip.
    pub strip: u16,
}

/// The wiring of one FEC: a table over chip and channel.
#[derive(Clone, Debug)]
pub struct FecWiring {
    /// Plane above strip, or [`UNMAPPED`].
    places: Vec<u32>,
}

const UNMAPPED: u32 = u32::MAX;

impl FecWiring {
    /// The wiring of `fec` according to `mapping`.
    pub fn new(fec: u16, mapping: &[ChipMapping]) -> Self {
        let mut places = vec![UNMAPPED; CHIPS * CHANNELS];
        for entry in mapping.iter().filter(|entry| entry.fec == fec) {
            let plane = 2 * u32::from(entry.panel) + entry.plane.index() as u32;
            let chip = &mut places[usize::from(entry.chip) * CHANNELS..][..CHANNELS];
            for (place, channel) in chip.iter_mut().zip(0..) {
                if let Some(strip) = entry.strip(channel) {
                    *place = plane << u16::BITS | u32::from(strip);
                }
            }
        }
        Self { places }
    }

    /// The strip of a channel, or none if it is not wired.
    #[inline]
    pub fn place(&self, chip: u8, channel: u8) -> Option<StripPlace> {
        let index = (usize::from(chip) * CHANNELS + usize::from(channel)) % (CHIPS * CHANNELS);
        let place = self.places[index];
        (place != UNMAPPED)
            .then_some(StripPlace { plane: (place >> u16::BITS) as usize, strip: place as u16 })
    }

    /// Memory of the table in bytes.
    pub const MEMORY: usize = CHIPS * CHANNELS * size_of::<u32>();
}

#[cfg(test)]
mod tests {
    use super::super::settings::{ChipStrips, Plane, UNWIRED};
    use super::*;

    #[test]
    fn channels_follow_their_chips_offset() {
        let mut reversed = [UNWIRED; CHANNELS];
        for (channel, strip) in reversed.iter_mut().zip((0..63).rev()) {
            *channel = strip;
        }
        let mapping = [
            ChipMapping::following(1, 3, Plane::Y, 64),
            ChipMapping::following(2, 3, Plane::X, 8000),
            ChipMapping {
                panel: 2,
                strips: ChipStrips::Listed(reversed),
                ..ChipMapping::following(1, 9, Plane::Y, 0)
            },
        ];
        let first = FecWiring::new(1, &mapping);
        assert_eq!(first.place(3, 5), Some(StripPlace { plane: 1, strip: 69 }));
        assert_eq!(first.place(4, 5), None);
        assert_eq!(first.place(9, 62), Some(StripPlace { plane: 5, strip: 0 }));
        assert_eq!(first.place(9, 63), None, "not wired");
        let second = FecWiring::new(2, &mapping);
        assert_eq!(second.place(3, 63), Some(StripPlace { plane: 0, strip: 8063 }));
        assert_eq!(FecWiring::new(3, &mapping).place(3, 0), None);
    }
}
