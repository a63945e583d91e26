//! One module: its pixels, its clock.

use super::board_time::{COUNTER_BITS, HeaderTime};
use super::digital_geometry::{MODULE_CHANNELS, PixelTable, asic_channel, channel_index, pixel_table};
use super::settings::{GroupSettings, ModuleSettings};
use crate::channel_mask::ChannelMask;
use evforge_core::clock::WrappingClock;
use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;
use evforge_wire::sonde::{CHANNELS, TriggerTimes};

/// A module of the detector.
// What every packet needs comes first: of hundreds of modules, little more than that stays in the caches.
#[derive(Debug, get_size2::GetSize)]
#[repr(C)]
pub struct Module {
    clock: WrappingClock,
    /// What must be added to the pixels of a module in the corner to get its own; none if it has others.
    pixels_from: Option<PixelId>,
    pixels: Box<PixelTable>,
    /// Index of its first channel among those of all modules.
    first_channel: usize,
    group: usize,
    system: Option<u8>,
}

/// The pixels of a module in the corner of the detector, which all modules share: a table for each of hundreds would not
/// stay in the caches.
pub fn corner_pixels(geometry: &LogicalGeometry) -> PixelTable {
    pixel_table(geometry, 0, 0)
}

/// A pixel of the corner (or 0: none) moved to where another module is.
#[inline(always)]
pub fn moved_pixel(of_corner: PixelId, from: PixelId) -> PixelId {
    if of_corner == 0 { 0 } else { of_corner.wrapping_add(from) }
}

/// Readouts that have no pixel, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WithoutPixel {
    /// Their channel does not exist.
    pub no_such_channel: u64,
    /// Their channel is left out.
    pub masked: u64,
}

impl Module {
    /// The keys of a mask that name one of its ASICs.
    pub fn mask_keys(&self, asic: u32) -> Vec<(&'static str, u32)> {
        let system = self.system.map(|system| ("system", system.into()));
        let group = u32::try_from(self.group).unwrap_or(u32::MAX);
        [("group", group)].into_iter().chain(system).chain([("asic", asic)]).collect()
    }

    /// The module with this many modules before it, in the group of this number; masked channels have no pixel.
    pub fn new(
        modules_before: usize,
        group_number: usize,
        group: &GroupSettings,
        module: &ModuleSettings,
        geometry: &LogicalGeometry,
        mask: &ChannelMask,
    ) -> Self {
        let first_channel = modules_before * MODULE_CHANNELS;
        let mut pixels = Box::new(pixel_table(geometry, group.x + module.x, group.y + module.y));
        for index in (0..MODULE_CHANNELS).filter(|index| mask.contains(first_channel + index)) {
            let (asic, channel) = ((index / CHANNELS) as u8, (index % CHANNELS) as u8);
            pixels[usize::from(asic_channel(asic, channel))] = 0;
        }
        let pixels_from = geometry.pixel_2d(group.x + module.x, group.y + module.y).saturating_sub(1);
        let of_corner = corner_pixels(geometry);
        let is_moved =
            pixels.iter().zip(&of_corner).all(|(&own, &pixel)| own == moved_pixel(pixel, pixels_from));
        Self {
            clock: WrappingClock::new(COUNTER_BITS),
            pixels_from: is_moved.then_some(pixels_from),
            pixels,
            first_channel,
            group: group_number,
            system: module.system,
        }
    }

    /// What people call it.
    pub fn name(&self) -> String {
        match self.system {
            Some(system) => format!("group {}, system {system}", self.group),
            None => format!("group {}", self.group),
        }
    }

    /// Follows the time of the header of its next packet.
    #[inline]
    pub fn follow(&mut self, time: u32) -> HeaderTime {
        HeaderTime::follow(&mut self.clock, time)
    }

    /// Its pixels.
    #[inline]
    pub fn pixels(&self) -> &PixelTable {
        &self.pixels
    }

    /// What must be added to [`corner_pixels`] to get its pixels ([`moved_pixel`]); none if it has others, because some are
    /// masked.
    #[inline]
    pub fn pixels_from(&self) -> Option<PixelId> {
        self.pixels_from
    }

    /// The pixel of a channel, or 0.
    #[inline]
    pub fn pixel(&self, asic: u8, channel: u8) -> PixelId {
        match channel_index(asic, channel) {
            Some(_) => self.pixels[usize::from(asic_channel(asic, channel))],
            None => 0,
        }
    }

    /// Index of a channel among those of all modules, or none if there is no such channel.
    #[inline]
    pub fn channel_index(&self, asic: u8, channel: u8) -> Option<usize> {
        channel_index(asic, channel).map(|index| self.first_channel + index)
    }

    /// Counts a readout that has no pixel.
    pub fn count_without_pixel(
        &self,
        asic: u8,
        channel: u8,
        mask: &mut ChannelMask,
        counts: &mut WithoutPixel,
    ) {
        if self.channel_index(asic, channel).is_some_and(|index| mask.hides(index)) {
            counts.masked += 1;
        } else {
            counts.no_such_channel += 1;
        }
    }

    /// Counts those of `times` that have no pixel.
    #[cold]
    pub fn count_all_without_pixel(&self, times: TriggerTimes<'_>, mask: &mut ChannelMask) -> WithoutPixel {
        let mut counts = WithoutPixel::default();
        for entry in times.entries() {
            if self.pixels[usize::from(entry.asic_channel)] == 0 {
                self.count_without_pixel(entry.asic(), entry.channel(), mask, &mut counts);
            }
        }
        counts
    }
}

/// Writes times and pixels of `times` into the columns, which are as long, and returns how many events that
/// makes: readouts without a pixel are left out. `time_ns` converts a time.
#[inline]
pub fn write_events(
    times: TriggerTimes<'_>,
    pixels: &PixelTable,
    time_ns: impl Fn(u32) -> u64,
    times_ns: &mut [u64],
    pixel_ids: &mut [PixelId],
) -> usize {
    // Everything is written at first, pixel or not: without a branch, and nearly always all have one.
    let mut without_pixel = 0_u32;
    for ((entry, time), pixel) in times.entries().zip(times_ns.iter_mut()).zip(pixel_ids.iter_mut()) {
        *time = time_ns(entry.time);
        *pixel = pixels[usize::from(entry.asic_channel)];
        without_pixel += u32::from(*pixel == 0);
    }
    if without_pixel == 0 { times.len() } else { close_ranks(times_ns, pixel_ids) }
}

/// Moves the events that have a pixel to the front and returns their number.
#[cold]
fn close_ranks(times_ns: &mut [u64], pixel_ids: &mut [PixelId]) -> usize {
    let mut kept = 0;
    for place in 0..pixel_ids.len().min(times_ns.len()) {
        if pixel_ids[place] != 0 {
            times_ns[kept] = times_ns[place];
            pixel_ids[kept] = pixel_ids[place];
            kept += 1;
        }
    }
    kept
}
