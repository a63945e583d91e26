//! How much memory the live view can take, whatever comes and whoever asks.
//!
//! What grows has a limit: connections and what each may say, browsers, looks and their counts, answers that are being sent,
//! histories. The largest of it all are pictures, of which the geometry decides.

use crate::event_memory::LONGEST_CHUNK;
use crate::history;
use crate::looks::board;
use crate::looks::limits::{MOST_AT_WORK, cells, most_map_cells};
use crate::sending;
use crate::spectrum::SpectrumBins;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::seats::LEAVING;
use evforge_picture::{PicturePlan, PictureSet, long_axes};

/// Bytes that hyper may keep of a request's head, and of an answer that is being sent, for each connection.
pub(crate) const BUFFER: usize = 32 << 10;
/// Most that a browser may say at once: looks with the most regions and corners.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 10;
/// Bytes that the WebSocket reads, and writes, at once.
pub(crate) const SOCKET_BUFFER: usize = 32 << 10;
/// What a connection takes besides: its task, its timers, its place.
const CONNECTION: usize = 24 << 10;
/// Bytes of a picture's cell in an answer that is being made: the count, and a line of a table with room to grow.
const CELL_BEING_ANSWERED: usize = size_of::<u64>() + 48;
/// Bytes of a cell in the largest form that is sent to a script: a line of a table.
const CELL_SENT: usize = 24;
/// Bytes of a cell in a frame that is being made: the sum, the body, its smaller form.
const CELL_IN_FRAME: usize = size_of::<u64>() + 2 * size_of::<u32>();
/// Bytes of a cell in what a browser has not taken yet, of which there is one frame: looks have room for as much as if no pixel had 2^32
/// counts, too.
const CELL_ON_ITS_WAY: usize = size_of::<u32>();

/// What decides of it.
#[derive(Debug)]
pub(crate) struct Sizes<'a> {
    pub(crate) pictures: &'a PictureSet,
    pub(crate) geometry: &'a LogicalGeometry,
    /// Bins of a spectrum.
    pub(crate) bins: SpectrumBins,
    pub(crate) event_memory: usize,
    pub(crate) most_clients: usize,
    pub(crate) most_connections: usize,
}

/// Bytes at most.
pub(crate) fn bound(sizes: &Sizes<'_>) -> usize {
    let Sizes { pictures, geometry, bins, event_memory, most_clients, most_connections } = *sizes;
    let (pixels, plans) = (pictures.pixel_count(), pictures.plans());
    let maps: Vec<PicturePlan> =
        long_axes(geometry).filter_map(|(axis, _)| pictures.map(axis, bins.count as u32)).collect();
    let largest = most_map_cells(plans.iter().chain(&maps));
    // Counts, where each pixel is in each picture, and the images of a pass and of a script. Maps are three more pictures at most.
    let images = 3 * pixels + plans.iter().map(cells).sum::<usize>();
    let of_pictures = pixels * (size_of::<u64>() + 4 * (plans.len() + 3)) + 2 * size_of::<u64>() * images;
    let of_scripts = (1 + MOST_AT_WORK) * largest * CELL_BEING_ANSWERED + sending::most(largest * CELL_SENT);
    let of_browser = LONGEST_MESSAGE + 2 * SOCKET_BUFFER + largest * CELL_ON_ITS_WAY;
    of_pictures
        + of_scripts
        + event_memory
        + 2 * LONGEST_CHUNK
        + board::MOST_BYTES
        + largest * CELL_IN_FRAME
        + history::MOST_BYTES
        + most_clients * of_browser
        + (most_connections + LEAVING) * (2 * BUFFER + CONNECTION)
}
