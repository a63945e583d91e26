//! Where each block of a train lies.

use super::{ALIGNMENT, TrainDetector, TrainHeader, TrainTrailer};
use std::ops::Range;

/// Where the blocks of a train lie, from its header and the size of an image; in bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainLayout {
    images: usize,
    image_bytes: usize,
    specific_bytes: usize,
    builder_bytes: usize,
    total: usize,
}

/// What a train says of each image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageDescriptor {
    /// Storage cell of the front end.
    pub cell: u16,
    /// Number of the pulse in the train.
    pub pulse: u64,
    /// Status; what its bits mean is not public.
    pub status: u16,
    /// Length; public writers have 0 or the bytes of the image.
    pub length: u32,
}

impl TrainLayout {
    /// Of a train with this header and these bytes in an image; none if its size is beyond what an address can say.
    pub fn new(header: &TrainHeader, image_bytes: usize) -> Option<Self> {
        let (specific_bytes, builder_bytes) =
            (to_size(header.specific_bytes)?, to_size(header.builder_bytes)?);
        let layout = Self {
            images: header.images.try_into().ok()?,
            image_bytes,
            specific_bytes,
            builder_bytes,
            total: 0,
        };
        let mut total = TrainHeader::BYTES;
        let data = layout.images.checked_mul(image_bytes)?;
        let descriptors = [2, 8, 2, 4].map(|width| layout.images.checked_mul(width));
        let blocks =
            std::iter::once(Some(data)).chain(descriptors).chain([Some(specific_bytes), Some(builder_bytes)]);
        for block in blocks {
            total = total.checked_add(padded(block?)?)?;
        }
        Some(Self { total: total.checked_add(TrainTrailer::BYTES)?, ..layout })
    }

    /// Of a train of so many images of a detector, as today's files have it.
    pub fn of(detector: TrainDetector, images: u32) -> Self {
        let (image_bytes, specific_bytes) = (detector.image_bytes(), detector.specific_bytes());
        let mut layout =
            Self { images: images as usize, image_bytes, specific_bytes, builder_bytes: 0, total: 0 };
        layout.total = layout.trailer_at() + TrainTrailer::BYTES;
        layout
    }

    /// Of a train of so many images of any size; none if it is beyond what an address can say.
    pub fn of_size(image_bytes: usize, specific_bytes: u32, images: u32) -> Option<Self> {
        let header = TrainHeader { images: images.into(), specific_bytes, ..TrainHeader::EMPTY };
        Self::new(&header, image_bytes)
    }

    /// Bytes of a train.
    pub const fn total(&self) -> usize {
        self.total
    }

    /// Images.
    pub const fn images(&self) -> usize {
        self.images
    }

    /// Bytes of an image.
    pub const fn image_bytes(&self) -> usize {
        self.image_bytes
    }

    /// Packets that a train is cut into, with so many bytes of it in each (at least 1).
    pub const fn packets(&self, data_bytes: usize) -> usize {
        self.total.div_ceil(data_bytes)
    }

    /// An image; `index` below [`TrainLayout::images`].
    pub const fn image(&self, index: usize) -> Range<usize> {
        let start = TrainHeader::BYTES + index * self.image_bytes;
        start..start + self.image_bytes
    }

    /// All images.
    pub const fn all_images(&self) -> Range<usize> {
        TrainHeader::BYTES..TrainHeader::BYTES + self.images * self.image_bytes
    }

    /// Storage cells, u16 each.
    pub const fn cells(&self) -> Range<usize> {
        after(self.all_images(), 2 * self.images)
    }

    /// Numbers of the pulses, u64 each.
    pub const fn pulses(&self) -> Range<usize> {
        after(self.cells(), 8 * self.images)
    }

    /// Statuses, u16 each.
    pub const fn statuses(&self) -> Range<usize> {
        after(self.pulses(), 2 * self.images)
    }

    /// Lengths, u32 each.
    pub const fn lengths(&self) -> Range<usize> {
        after(self.statuses(), 4 * self.images)
    }

    /// The detector's own block.
    pub const fn specific(&self) -> Range<usize> {
        after(self.lengths(), self.specific_bytes)
    }

    /// The train builder's own block.
    pub const fn builder(&self) -> Range<usize> {
        after(self.specific(), self.builder_bytes)
    }

    /// The trailer.
    pub const fn trailer(&self) -> Range<usize> {
        let start = self.trailer_at();
        start..start + TrainTrailer::BYTES
    }

    const fn trailer_at(&self) -> usize {
        self.builder().end.next_multiple_of(ALIGNMENT)
    }

    /// Writes everything but images and the detector's and the builder's own blocks into a train of this layout: the header, the
    /// descriptors, the trailer.
    ///
    /// # Panics
    /// If `train` does not have [`TrainLayout::total`] bytes, or there is not one descriptor for each image.
    pub fn write_ends(
        &self,
        header: &TrainHeader,
        descriptors: &[ImageDescriptor],
        trailer: &TrainTrailer,
        train: &mut [u8],
    ) {
        assert_eq!((train.len(), descriptors.len()), (self.total, self.images), "a train of this layout");
        train[..TrainHeader::BYTES].copy_from_slice(&header.write());
        let starts = [self.cells().start, self.pulses().start, self.statuses().start, self.lengths().start];
        let [cells, pulses, statuses, lengths] = starts;
        for (index, descriptor) in descriptors.iter().enumerate() {
            let mut put = |start: usize, bytes: &[u8]| {
                let at = start + index * bytes.len();
                train[at..at + bytes.len()].copy_from_slice(bytes);
            };
            put(cells, &descriptor.cell.to_le_bytes());
            put(pulses, &descriptor.pulse.to_le_bytes());
            put(statuses, &descriptor.status.to_le_bytes());
            put(lengths, &descriptor.length.to_le_bytes());
        }
        train[self.trailer()].copy_from_slice(&trailer.write());
    }
}

const fn after(block: Range<usize>, bytes: usize) -> Range<usize> {
    let start = block.end.next_multiple_of(ALIGNMENT);
    start..start + bytes
}

fn padded(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(ALIGNMENT)
}

fn to_size(bytes: u32) -> Option<usize> {
    usize::try_from(bytes).ok()
}
