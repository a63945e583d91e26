//! A train: checked once, its blocks borrowed.

use super::{BEGIN_MAGIC, END_MAGIC, ImageDescriptor, TrainHeader, TrainLayout, TrainTrailer};

/// Why a train is rejected as a whole, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainRejection {
    /// It ends before its header does.
    TooShort(usize),
    /// It does not begin with [`BEGIN_MAGIC`].
    WrongBegin(u64),
    /// Its header announces another size than it has; none if no address can say so much.
    WrongSize {
        /// Bytes announced.
        announced: Option<usize>,
        /// Bytes there.
        found: usize,
    },
    /// It does not end with [`END_MAGIC`].
    WrongEnd(u64),
}

/// A train whose size and both magic numbers are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train<'a> {
    bytes: &'a [u8],
    header: TrainHeader,
    layout: TrainLayout,
    trailer: TrainTrailer,
}

impl<'a> Train<'a> {
    /// Checks a train with images of so many bytes.
    ///
    /// # Errors
    /// The reason why it is of no use.
    pub fn parse(bytes: &'a [u8], image_bytes: usize) -> Result<Self, TrainRejection> {
        let found = bytes.len();
        let first = bytes.first_chunk().ok_or(TrainRejection::TooShort(found))?;
        let (begin, header) = TrainHeader::read(first);
        if begin != BEGIN_MAGIC {
            return Err(TrainRejection::WrongBegin(begin));
        }
        let layout = TrainLayout::new(&header, image_bytes);
        let announced = layout.map(|layout| layout.total());
        let (Some(layout), Some(last)) =
            (layout.filter(|layout| layout.total() == found), bytes.last_chunk())
        else {
            return Err(TrainRejection::WrongSize { announced, found });
        };
        let (end, trailer) = TrainTrailer::read(last);
        if end != END_MAGIC {
            return Err(TrainRejection::WrongEnd(end));
        }
        Ok(Self { bytes, header, layout, trailer })
    }

    /// All of it.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its header.
    pub const fn header(&self) -> &TrainHeader {
        &self.header
    }

    /// Where its blocks lie.
    pub const fn layout(&self) -> &TrainLayout {
        &self.layout
    }

    /// Its trailer.
    pub const fn trailer(&self) -> &TrainTrailer {
        &self.trailer
    }

    /// The bytes of an image; none beyond the last.
    pub fn image(&self, index: usize) -> Option<&'a [u8]> {
        (index < self.layout.images()).then(|| &self.bytes[self.layout.image(index)])
    }

    /// What is said of an image; none beyond the last.
    pub fn descriptor(&self, index: usize) -> Option<ImageDescriptor> {
        if index >= self.layout.images() {
            return None;
        }
        let (cells, pulses) = (&self.bytes[self.layout.cells()], &self.bytes[self.layout.pulses()]);
        let (statuses, lengths) = (&self.bytes[self.layout.statuses()], &self.bytes[self.layout.lengths()]);
        Some(ImageDescriptor {
            cell: u16::from_le_bytes(element(cells, index)),
            pulse: u64::from_le_bytes(element(pulses, index)),
            status: u16::from_le_bytes(element(statuses, index)),
            length: u32::from_le_bytes(element(lengths, index)),
        })
    }

    /// The detector's own block.
    pub fn specific(&self) -> &'a [u8] {
        &self.bytes[self.layout.specific()]
    }

    /// The train builder's own block.
    pub fn builder(&self) -> &'a [u8] {
        &self.bytes[self.layout.builder()]
    }
}

fn element<const BYTES: usize>(block: &[u8], index: usize) -> [u8; BYTES] {
    std::array::from_fn(|k| block[index * BYTES + k])
}
