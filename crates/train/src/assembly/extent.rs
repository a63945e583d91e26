//! How far a train reaches.

use super::presence::Presence;
use evforge_wire::train::TrainLayout;
use std::ops::Range;

/// How far a train reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Packets: of the whole train, or up to the last one seen.
    pub(crate) packets: u32,
    /// Bytes of them.
    pub(crate) bytes: usize,
    /// True if that is the whole train.
    pub(crate) is_known: bool,
    /// Where its blocks lie, if header or size say so.
    pub(crate) layout: Option<TrainLayout>,
}

/// The packets that hold these bytes; none for no bytes.
pub(crate) fn packets_of(bytes: &Range<usize>, data_bytes: usize) -> Range<u32> {
    // A train has at most 2^30 packets.
    (bytes.start / data_bytes) as u32..bytes.end.div_ceil(data_bytes) as u32
}

/// True if an image is there: its pixels, and what is said of it.
pub(crate) fn has_image(layout: &TrainLayout, presence: &Presence, data_bytes: usize, index: usize) -> bool {
    let element = |block: Range<usize>, width: usize| {
        let start = block.start + index * width;
        start..start + width
    };
    let parts = [
        layout.image(index),
        element(layout.cells(), 2),
        element(layout.pulses(), 8),
        element(layout.statuses(), 2),
        element(layout.lengths(), 4),
    ];
    index < layout.images() && parts.iter().all(|bytes| presence.has_all(packets_of(bytes, data_bytes)))
}
