//! What a format of packets must offer so that captures in it can be overlaid.

use crate::layout::Place;
use crate::packet::SimulatedPacket;
use crate::resolvable::Limits;
use evforge_core::event::PixelId;
use evforge_core::packet::Packet;

/// A readout of a capture: where it was, and when, with the time cut into what a shift changes and what it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedReadout<C> {
    /// What its channel reads.
    pub place: Place,
    /// Its time in whole steps of the electronics' clock.
    pub step: u64,
    /// Picoseconds from there to the time of the hit. No shift changes them.
    pub fine_ps: i64,
    /// What else the format keeps of it: its channel, its amplitude.
    pub content: C,
}

/// What lies between the hits of one neutron at most, as the reconstruction is configured: what a label must be apart from
/// all else by, so that it is formed alone as it was in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Separation {
    /// Hits of the same plane further apart in time than this do not belong together.
    pub time_ps: u64,
    /// Hits of the same plane whose coordinates differ by more than this do not belong together.
    pub coordinates: [u16; 2],
    /// Hits that a neutron must leave on each plane.
    pub min_hits: [u16; 2],
}

/// By how much the coordinates of each plane are moved.
pub type Shift = [i32; 2];

impl Place {
    /// The place whose coordinate differs by that of its plane; none if it would be below 0 or beyond 16 bits.
    pub fn moved(self, by: Shift) -> Option<Self> {
        let by = *by.get(usize::from(self.plane))?;
        let coordinate = u16::try_from(i32::from(self.coordinate) + by).ok()?;
        Some(Self { coordinate, ..self })
    }
}

/// Packets of one format of electronics, of one configured detector: to readouts, and from readouts again.
///
/// Time is counted in *steps*: the shortest time by which a readout can be moved so that only its coarse time
/// changes. Whatever is finer than a step is left as it was recorded, so that times survive exactly.
pub trait CaptureFormat {
    /// What the format keeps of a readout besides its place and time.
    type Content: Copy;

    /// Picoseconds in a step.
    fn step_ps(&self) -> u64;

    /// What the configured reconstruction takes for one neutron.
    fn separation(&self) -> Separation;

    /// What keeps the most perfect reconstruction from telling neutrons apart, with a channel that is busy for so long
    /// after each hit.
    fn limits(&self, dead_time_ps: u64) -> Limits;

    /// Coordinates of each plane: they run from 0 to below this.
    fn extents(&self) -> [u16; 2];

    /// Adds the readouts of a packet that have a place and a time; what has none is left out. Returns how many
    /// readouts there were in all.
    fn read(&mut self, packet: &Packet<'_>, readouts: &mut Vec<RecordedReadout<Self::Content>>) -> u64;

    /// The amplitude of a readout; none if it is below the configured threshold.
    fn amplitude(&self, readout: &RecordedReadout<Self::Content>) -> Option<u16>;

    /// The module that an event with this pixel was found in.
    fn module(&self, pixel: PixelId) -> Option<u16>;

    /// Column, row and layer of the centre of a pixel.
    fn centre(&self, pixel: PixelId) -> Option<[f64; 3]>;

    /// Why no readout can be moved to another channel, if that is so.
    fn fixed_channels(&self) -> Option<String>;

    /// The readout on the channel whose coordinate differs by that of its plane; none if there is no such channel.
    fn moved(
        &self,
        readout: &RecordedReadout<Self::Content>,
        by: Shift,
    ) -> Option<RecordedReadout<Self::Content>>;

    /// The pixel of an event whose readouts are all moved so; none if it lies outside.
    fn moved_pixel(&self, pixel: PixelId, by: Shift) -> Option<PixelId>;

    /// Puts a readout into the packet of its source; packets that are full go to `packets`. Readouts come in the
    /// order of their steps.
    fn write(&mut self, readout: &RecordedReadout<Self::Content>, packets: &mut impl FnMut(SimulatedPacket));

    /// The end: sends what is left.
    fn finish(&mut self, packets: &mut impl FnMut(SimulatedPacket));
}
