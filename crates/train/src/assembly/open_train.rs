//! A train that is open: its packets are put in their places.

use super::buffer::TrainBuffer;
use super::extent::Extent;
use super::fate::PacketFault;
use super::settings::{ImageContent, TrainContent};
use evforge_wire::train::{BEGIN_MAGIC, PacketTrailer, TrainHeader, TrainLayout, TrainPacket};

/// What happened to a packet that fits its train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// In its place.
    Placed {
        /// It came after one with a higher number.
        reordered: bool,
    },
    /// It was there.
    Repeated,
}

/// A train that is open.
#[derive(Debug)]
pub(crate) struct OpenTrain {
    /// Place of its source.
    pub(crate) source: usize,
    pub(crate) frame: u32,
    /// Its place in the order of all openings.
    pub(crate) order: u64,
    pub(crate) opened_ns: u64,
    /// Arrival of the last packet that was used.
    pub(crate) last_ns: u64,
    pub(crate) buffer: TrainBuffer,
    /// Packets that are there.
    pub(crate) packets: u32,
    /// Packets up to the highest one that is there.
    pub(crate) span: u32,
    /// Packets of the whole train, once that is known for certain.
    end: Option<u32>,
    /// Data of the packet at the end; none if it has not come.
    last_data: Option<usize>,
    /// Bytes of it, if they were announced before it.
    bytes: Option<usize>,
}

impl OpenTrain {
    /// A train without packets.
    pub(crate) fn new(
        source: usize,
        frame: u32,
        order: u64,
        now_ns: u64,
        buffer: TrainBuffer,
        content: TrainContent,
    ) -> Self {
        Self {
            source,
            frame,
            order,
            opened_ns: now_ns,
            last_ns: now_ns,
            buffer,
            packets: 0,
            span: 0,
            end: content.end(),
            last_data: None,
            bytes: None,
        }
    }

    /// A train of this many bytes, which come in their order; none has come.
    pub(crate) fn announced_with(bytes: usize, frame: u32, now_ns: u64, buffer: TrainBuffer) -> Self {
        let content = TrainContent::Packets(0);
        Self { end: None, bytes: Some(bytes), ..Self::new(0, frame, 0, now_ns, buffer, content) }
    }

    /// So many bytes of an announced train are there, from its beginning on, the last ones since `now_ns`.
    pub(crate) fn fill(&mut self, there: usize, data_bytes: usize, now_ns: u64) {
        let all = self.bytes.unwrap_or(there);
        // At most 2^30: it is no larger than its buffer. A piece counts once it is whole.
        let pieces = if there == all { all.div_ceil(data_bytes) } else { there / data_bytes } as u32;
        (0..pieces).for_each(|piece| _ = self.buffer.presence.insert(piece));
        (self.packets, self.span, self.last_ns) = (pieces, pieces, now_ns);
        let end = all.div_ceil(data_bytes) as u32;
        self.end = Some(end);
        self.last_data = (pieces == end).then(|| all - (end as usize - 1) * data_bytes);
    }

    /// Checks that a packet does not contradict those before it.
    #[inline]
    pub(crate) fn check(&self, trailer: PacketTrailer) -> Result<(), PacketFault> {
        contradiction(self.end, self.span, trailer)
    }

    /// Puts a packet in its place. It has been checked, and its place is within the largest train.
    #[inline]
    pub(crate) fn place(&mut self, packet: &TrainPacket<'_>, data_bytes: usize, now_ns: u64) -> Fit {
        let TrainPacket { trailer, data } = packet;
        let number = trailer.packet;
        if !self.buffer.presence.insert(number) {
            return Fit::Repeated;
        }
        let start = number as usize * data_bytes;
        self.buffer.bytes[start..start + data.len()].copy_from_slice(data);
        self.packets += 1;
        self.last_ns = now_ns;
        let reordered = number < self.span;
        self.span = self.span.max(number + 1);
        if trailer.is_last {
            self.end = Some(number + 1);
        }
        if self.end == Some(number + 1) {
            self.last_data = Some(data.len());
        }
        Fit::Placed { reordered }
    }

    /// True once all packets are there.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        self.end == Some(self.packets)
    }

    /// True if the first packet is there.
    pub(crate) fn has_first(&self) -> bool {
        self.buffer.presence.contains(0)
    }

    /// True if the last packet is there.
    pub(crate) fn has_last(&self) -> bool {
        self.last_data.is_some()
    }

    /// Its number, if its header is there.
    pub(crate) fn number(&self, content: TrainContent, data_bytes: usize) -> Option<u64> {
        let is_of_images = matches!(content, TrainContent::Images(_));
        let (begin, header) = self.header(data_bytes).filter(|_| is_of_images)?;
        (begin == BEGIN_MAGIC).then_some(header.train)
    }

    /// How far it reaches, as far as its packets say.
    pub(crate) fn extent(&self, data_bytes: usize, content: TrainContent) -> Extent {
        let up_to = |packets: u32| packets as usize * data_bytes;
        let images = match content {
            TrainContent::Images(images) => Some(images),
            TrainContent::Packets(_) => None,
        };
        let announced = images.and_then(|images| self.announced(images, data_bytes));
        if let Some(end) = self.end {
            let bytes = match (self.bytes, self.last_data) {
                (Some(announced), _) => announced,
                (None, Some(last)) => up_to(end - 1) + last,
                (None, None) => up_to(end).min(self.buffer.bytes.len()),
            };
            let fitting = |layout: &TrainLayout| layout.total() == bytes;
            let layout = announced
                .filter(fitting)
                .or_else(|| images.and_then(|images| usual_layout(bytes, images)).filter(fitting));
            return Extent { packets: end, bytes, is_known: true, layout };
        }
        if let Some(layout) = announced {
            // At most 2^30: it is no larger than the buffer.
            let packets = layout.packets(data_bytes) as u32;
            if packets >= self.span {
                return Extent { packets, bytes: layout.total(), is_known: true, layout: Some(layout) };
            }
        }
        let bytes = up_to(self.span).min(self.buffer.bytes.len());
        Extent { packets: self.span, bytes, is_known: false, layout: None }
    }

    /// The layout that the header announces, if it is there and makes sense.
    fn announced(&self, images: ImageContent, data_bytes: usize) -> Option<TrainLayout> {
        let (begin, header) = self.header(data_bytes)?;
        let layout = TrainLayout::new(&header, images.image_bytes).filter(|_| begin == BEGIN_MAGIC)?;
        (layout.total() <= self.buffer.bytes.len()).then_some(layout)
    }

    /// The header, if all of it is there.
    fn header(&self, data_bytes: usize) -> Option<(u64, TrainHeader)> {
        let packets = TrainHeader::BYTES.div_ceil(data_bytes) as u32;
        let is_there = self.buffer.presence.has_all(0..packets);
        self.buffer.bytes.first_chunk().filter(|_| is_there).map(TrainHeader::read)
    }
}

/// Checks a packet against the end of its train, if that is known, and the packets up to the highest one seen.
#[inline]
pub(crate) fn contradiction(end: Option<u32>, span: u32, trailer: PacketTrailer) -> Result<(), PacketFault> {
    let PacketTrailer { packet, is_last, .. } = trailer;
    match end {
        Some(end) if is_last && packet + 1 != end => Err(PacketFault::OtherLast),
        Some(end) if packet >= end => Err(PacketFault::BeyondLast),
        None if is_last && packet < span => Err(PacketFault::LastTooLow),
        _ => Ok(()),
    }
}

/// The layout of a train of this many bytes whose header is missing, with the detector's own block as usual and none of the builder's.
fn usual_layout(bytes: usize, images: ImageContent) -> Option<TrainLayout> {
    let ImageContent { image_bytes, specific_bytes, .. } = images;
    let of = |count: usize| {
        let header = TrainHeader {
            major_version: 0,
            minor_version: 0,
            train: 0,
            data: 0,
            detector_link: 0,
            builder_link: 0,
            images: count as u64,
            specific_bytes,
            builder_bytes: 0,
            reserved: [0; 8],
        };
        TrainLayout::new(&header, image_bytes)
    };
    // An image and its descriptors: the blocks are padded, so that no more than a few counts have to be tried.
    let most = bytes / image_bytes.checked_add(16)?;
    let least = most.saturating_sub(PADDING_IN_IMAGES);
    (least..=most).rev().find_map(|count| of(count).filter(|layout| layout.total() == bytes))
}

/// Header, trailer, padding and the detector's own block are worth this many images at most, of the smallest ones that are looked for.
const PADDING_IN_IMAGES: usize = 64;
