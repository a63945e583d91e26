//! A train that has been closed, with what is known of it.

use super::buffer::TrainBuffer;
use super::extent::has_image;
use super::sources::TrainSource;
use super::train_numbers::NumberFault;
use evforge_wire::train::{Train, TrainLayout, TrainRejection};
use std::ops::Range;

/// Why a train was closed before it was whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncompleteCause {
    /// Nothing new had come for the time-out.
    TimeOut,
    /// As many trains as may be were open, it was the oldest, and another one began.
    Superseded,
    /// Its connection ended inside it.
    CutOff,
    /// The run ended.
    EndOfRun,
}

/// What happened to a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainOutcome {
    /// Whole and good; or whole, where the content is not looked at.
    Good,
    /// Whole, and its content is of no use.
    WrongContent(TrainRejection),
    /// Whole, and its number does not follow those before it.
    WrongNumber(NumberFault),
    /// Not whole.
    Incomplete(IncompleteCause),
}

/// What is known of a train that has been closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainReport {
    /// Who sent it.
    pub source: TrainSource,
    /// Number of its frame; of a train that came over TCP, its place in the sequence of its sender, modulo 2^32.
    pub frame: u32,
    /// Its number, if its header is there.
    pub number: Option<u64>,
    /// What happened to it.
    pub outcome: TrainOutcome,
    /// Arrival of its first packet, or of what stands before it, in nanoseconds of the caller's clock.
    pub opened_ns: u64,
    /// Arrival of the last packet, or of the last bytes, that were used.
    pub last_ns: u64,
    /// Bytes of it: of the whole train, or up to the last packet seen if its size is unknown.
    pub bytes: usize,
    /// Packets that are there; of a train that came over TCP, pieces of the size of a packet's data.
    pub packets: u32,
    /// Packets that are missing; if its size is unknown, those before the last one seen.
    pub missing: u32,
    /// True if header or last packet came: then `bytes`, `missing` and `images_touched` are exact.
    pub is_size_known: bool,
    /// True if its first packet is there.
    pub has_first: bool,
    /// True if its last packet is there.
    pub has_last: bool,
    /// Images in it, if its header is there, or its size is that of a whole number of them.
    pub images: Option<usize>,
    /// Images that a hole touches: their pixels, or what is said of them.
    pub images_touched: u64,
}

/// A train that has been closed: its report, and its bytes if they are handed on.
#[derive(Debug)]
pub struct AssembledTrain {
    pub(super) report: TrainReport,
    pub(super) layout: Option<TrainLayout>,
    pub(super) data_bytes: usize,
    /// Images that a hole touches are left out.
    pub(super) hides_touched: bool,
    pub(super) buffer: Option<TrainBuffer>,
}

impl AssembledTrain {
    /// What is known of it.
    pub const fn report(&self) -> &TrainReport {
        &self.report
    }

    /// Its bytes, holes as zeros; none if it is not handed on.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.buffer.as_ref().map(|buffer| &buffer.bytes[..self.report.bytes])
    }

    /// Its blocks; none if it is not handed on, or not one of images, or its header or trailer is missing.
    pub fn train(&self) -> Option<Train<'_>> {
        Train::parse(self.bytes()?, self.layout?.image_bytes()).ok()
    }

    /// Where its blocks lie, if that is known.
    pub const fn layout(&self) -> Option<&TrainLayout> {
        self.layout.as_ref()
    }

    /// Ranges of packets that are missing, in their order; none at all if it is not handed on.
    pub fn missing_packets(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let end = self.report.packets + self.report.missing;
        self.buffer.iter().flat_map(move |buffer| buffer.presence.gaps(end))
    }

    /// True if nothing of an image is missing: of its pixels, and of what is said of it.
    pub fn has_image(&self, index: usize) -> bool {
        let (Some(buffer), Some(layout)) = (&self.buffer, &self.layout) else { return false };
        has_image(layout, &buffer.presence, self.data_bytes, index)
    }

    /// Images that a hole touches, in their order; none at all of a whole train, or if it is not handed on.
    pub fn images_with_holes(&self) -> impl Iterator<Item = usize> + '_ {
        let images = self.layout.filter(|_| self.report.missing > 0 && self.buffer.is_some());
        let images = images.map_or(0, |layout| layout.images());
        (0..images).filter(|&index| !self.has_image(index))
    }

    /// The bytes of an image; none beyond the last, and none for an image that a hole touches if those are left out
    /// ([`IncompletePolicy::Mark`](super::IncompletePolicy)).
    pub fn image(&self, index: usize) -> Option<&[u8]> {
        let layout = self.layout.as_ref().filter(|layout| index < layout.images())?;
        if self.hides_touched && !self.has_image(index) {
            return None;
        }
        Some(&self.bytes()?[layout.image(index)])
    }

    /// Its memory, to be given back; none if it is not handed on.
    pub fn into_buffer(self) -> Option<TrainBuffer> {
        self.buffer
    }
}

/// How many images the holes of a train touch.
pub(super) fn images_touched(
    buffer: &TrainBuffer,
    packets: u32,
    layout: Option<&TrainLayout>,
    (header_bytes, image_bytes): (usize, usize),
    data_bytes: usize,
) -> u64 {
    let presence = &buffer.presence;
    if let Some(layout) = layout {
        return (0..layout.images()).filter(|&index| !has_image(layout, presence, data_bytes, index)).count()
            as u64;
    }
    // How many images there are is unknown; where each lies is not.
    let image_at = |byte: usize| byte.saturating_sub(header_bytes) / image_bytes;
    let (mut touched, mut counted) = (0, 0);
    for gap in presence.gaps(packets) {
        let bytes = gap.start as usize * data_bytes..gap.end as usize * data_bytes;
        if bytes.end > header_bytes {
            let first = image_at(bytes.start).max(counted);
            counted = image_at(bytes.end - 1) + 1;
            touched += counted.saturating_sub(first);
        }
    }
    touched as u64
}
