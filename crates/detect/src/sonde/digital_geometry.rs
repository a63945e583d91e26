//! Digital geometry: ASIC and channel to a pixel (EFU formats of 2018, section 1.6).

use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;
use evforge_wire::sonde::{ASICS, CHANNELS};

/// Pixels along a side of a module.
pub const MODULE_SIDE: u32 = 8;

/// Channels of a module.
pub const MODULE_CHANNELS: usize = ASICS * CHANNELS;

/// Pixels by [`asic_channel`](evforge_wire::sonde::TriggerTime::asic_channel): 0 where there is no channel.
pub type PixelTable = [PixelId; 256];

/// Column and row of a channel in its module, or none if there is no such channel. Each ASIC reads a quarter;
/// those of ASIC 0 and 2 are mounted upside down.
pub fn place_in_module(asic: u8, channel: u8) -> Option<(u32, u32)> {
    if usize::from(channel) >= CHANNELS {
        return None;
    }
    let (column, row) = (u32::from(channel % 4), u32::from(channel / 4));
    match asic {
        0 => Some((7 - column, 3 - row)),
        1 => Some((column, row)),
        2 => Some((7 - column, 7 - row)),
        3 => Some((column, row + 4)),
        _ => None,
    }
}

/// Index of a channel among those of its module, 0..=63, or none if there is no such channel.
pub fn channel_index(asic: u8, channel: u8) -> Option<usize> {
    let (asic, channel) = (usize::from(asic), usize::from(channel));
    (asic < ASICS && channel < CHANNELS).then_some(asic * CHANNELS + channel)
}

/// Address of a channel as it is in trigger times.
pub fn asic_channel(asic: u8, channel: u8) -> u8 {
    asic << 6 | channel & 0x3F
}

/// The pixels of a module whose first pixel has column `x` and row `y`.
pub fn pixel_table(geometry: &LogicalGeometry, x: u32, y: u32) -> PixelTable {
    std::array::from_fn(|address| {
        let address = address as u8;
        place_in_module(address >> 6, address & 0x3F)
            .map_or(0, |(column, row)| geometry.pixel_2d(x + column, y + row))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pixels that the reference found for its own packets (vectors `sonde`): channel 10 of ASIC 0, 1, 2.
    #[test]
    fn section_1_6_the_reference_s_pixels() {
        let table = pixel_table(&LogicalGeometry::flat(8, 8).unwrap(), 0, 0);
        assert_eq!([0x0A, 0x4A, 0x8A].map(|address: u8| table[usize::from(address)]), [14, 19, 46]);
        assert_eq!((table[0xFF], table[0x10]), (0, 0));
    }

    #[test]
    fn section_1_6_every_pixel_has_one_channel() {
        let geometry = LogicalGeometry::flat(24, 16).unwrap();
        let mut pixels: Vec<_> =
            pixel_table(&geometry, 16, 8).into_iter().filter(|&pixel| pixel != 0).collect();
        pixels.sort_unstable();
        let expected: Vec<_> = (8..16).flat_map(|y| (16..24).map(move |x| geometry.pixel_2d(x, y))).collect();
        assert_eq!(pixels, expected);
    }

    #[test]
    fn section_1_6_asic_1_is_top_left_and_asic_0_top_right() {
        let corner = |asic| place_in_module(asic, 0);
        assert_eq!([0, 1, 2, 3].map(corner), [Some((7, 3)), Some((0, 0)), Some((7, 7)), Some((0, 4))]);
        assert_eq!((place_in_module(4, 0), place_in_module(0, 16)), (None, None));
        assert_eq!((channel_index(3, 15), channel_index(0, 16), channel_index(4, 0)), (Some(63), None, None));
    }
}
