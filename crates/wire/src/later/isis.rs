//! Streaming readout of ISIS, both versions: frames are later, and times within them stay.

use super::step::{Step, change_u32_be};
use crate::isis::{Header, Messages, Rules, Version, gps_words};

/// The longest distance of frames, in nanoseconds: those of the second target station.
pub const LONGEST_FRAME_NS: u64 = 100_000_000;

/// In bytes from the beginning of a message: the time, the number of the frame, and that among the frames that were sent.
struct Places {
    time: usize,
    frame: usize,
    streamed_frame: usize,
}

const fn places(version: Version) -> Places {
    match version {
        Version::V1 => Places { time: 16, frame: 12, streamed_frame: 48 },
        Version::V2 => Places { time: 12, frame: 20, streamed_frame: 44 },
    }
}

/// The sound messages of a datagram, each with the byte that it begins at.
fn messages(bytes: &[u8]) -> impl Iterator<Item = (usize, Header)> {
    let mut walk = Messages::new(bytes, Rules::default());
    std::iter::from_fn(move || {
        let begin = bytes.len() - walk.rest().len();
        walk.next().map(|message| message.ok().map(|message| (begin, message.header)))
    })
    .flatten()
}

/// Frames that were sent: these numbers have no gaps.
pub(super) fn visit_numbers(bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    messages(bytes).for_each(|(_, header)| visit(0, header.streamed_frame.into()));
}

/// Those of frames: what events are relative to.
pub(super) fn visit_times(bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    messages(bytes).for_each(|(_, header)| visit(0, header.gps_ns));
}

pub(super) fn move_on(bytes: &mut [u8], step: Step) {
    let found: Vec<_> = messages(bytes).collect();
    for (begin, header) in found {
        // Beyond 2255 there is no time.
        let Some(words) = header.gps_ns.checked_add(step.ticks).and_then(gps_words) else { continue };
        let Places { time, frame, streamed_frame } = places(header.version);
        change_u32_be(bytes, begin + time, |_| (words >> 32) as u32);
        change_u32_be(bytes, begin + time + 4, |_| words as u32);
        for number in [frame, streamed_frame] {
            change_u32_be(bytes, begin + number, |number| number.wrapping_add(step.count as u32));
        }
    }
}
