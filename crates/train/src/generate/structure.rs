//! What the trains of a train builder are like.

use evforge_wire::train::{
    DATA_BYTES, ImageDescriptor, PacketTrailer, TrainDetector, TrainHeader, TrainLayout, TrainTrailer,
};
use thiserror::Error;

/// Largest number of bytes of a train in a datagram: what UDP over IPv4 carries (65 507), less the trailer of the packet.
pub const LARGEST_DATA_BYTES: usize = 65_507 - PacketTrailer::BYTES;
/// Bytes of the largest train that is made: 4 GiB, four times what a detector of a megapixel fills.
pub const LARGEST_TRAIN: u64 = 1 << 32;
/// Packets of a train in the load test of the European XFEL's 10GE slides.
pub const STRESS_PACKETS: u32 = 131_030;

/// What the trains of one module are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainStructure {
    /// Bytes of an image.
    pub image_bytes: usize,
    /// Bytes of the detector's own block.
    pub specific_bytes: u32,
    /// Images in a train.
    pub images: u32,
    /// Storage cells of the front end: image *i* is from cell *i* modulo so many (at least 1).
    pub cells: u16,
    /// Bytes of a train in each packet but the last.
    pub data_bytes: usize,
    /// Trains are cut off behind so many packets (at least 1), and end without their trailer; the last of these packets says that it is
    /// the last. None: trains are whole.
    pub packets_per_train: Option<u32>,
    /// Number of the first train.
    pub first_train: u64,
    /// Step of the numbers from one train to the next: 1, or the number of nodes that trains are dealt to (at least 1).
    pub stride: u64,
    /// Number of the first frame. Frames are counted by one from train to train, whatever the stride.
    pub first_frame: u32,
    /// Link of the detector: the module.
    pub detector_link: u32,
}

/// A structure is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StructureError {
    /// No bytes in a packet, or more than a datagram carries.
    #[error(
        "{0} bytes of a train in each packet are not possible: expected 1 to {LARGEST_DATA_BYTES}, as in 8184"
    )]
    DataBytes(usize),
    /// Trains of images that have no bytes.
    #[error("images of 0 bytes are not possible: expected at least 1, as in 131072 for LPD")]
    ImageBytes,
    /// A front end without storage cells.
    #[error("a front end without storage cells is not possible: expected 1 to 65535, as in 512")]
    Cells,
    /// All trains with the same number.
    #[error(
        "a stride of 0 gives all trains the same number: expected at least 1, or the number of nodes that share the trains"
    )]
    Stride,
    /// More than anybody sends.
    #[error(
        "trains of {bytes} bytes are too large: expected at most {LARGEST_TRAIN}; take fewer or smaller images"
    )]
    TooLarge {
        /// Bytes of a train; the largest number if it has more.
        bytes: u64,
    },
    /// More packets than their numbers can say.
    #[error(
        "{packets} packets of a train cannot be numbered in 30 bits: put more bytes into each packet, or take fewer images"
    )]
    TooManyPackets {
        /// Packets of a whole train.
        packets: u64,
    },
    /// A train is cut off behind its end, or before its beginning.
    #[error(
        "a train of {packets} packets cannot be cut off behind {asked}: expected 1 to {packets}, or more images"
    )]
    CutOff {
        /// Packets asked for.
        asked: u32,
        /// Packets of a whole train.
        packets: u64,
    },
}

impl TrainStructure {
    /// Trains of a detector's module, as today's files have them.
    pub const fn of(detector: TrainDetector, images: u32) -> Self {
        let cells = match detector {
            TrainDetector::Lpd => 512,
            TrainDetector::Agipd => 352,
            TrainDetector::Dssc => 800,
        };
        let own = detector.specific_bytes() as u32;
        Self { specific_bytes: own, cells, ..Self::of_size(detector.image_bytes(), images) }
    }

    /// Trains of images of any size, without a block of the detector's own.
    pub const fn of_size(image_bytes: usize, images: u32) -> Self {
        Self {
            image_bytes,
            specific_bytes: 0,
            images,
            cells: 512,
            data_bytes: DATA_BYTES,
            packets_per_train: None,
            first_train: 1,
            stride: 1,
            first_frame: 0,
            detector_link: 0,
        }
    }

    /// The load test of the slides: images of a megapixel, 512 of them, cut off behind [`STRESS_PACKETS`] packets. There it was
    /// 8192 bytes in each.
    pub const fn stress(data_bytes: usize) -> Self {
        let whole = Self::of_size(2 << 20, 512);
        Self { data_bytes, packets_per_train: Some(STRESS_PACKETS), ..whole }
    }

    /// Number of the train with this index; indices count from 0. It goes round behind 2^64 − 1.
    #[inline]
    pub const fn train(&self, index: u64) -> u64 {
        self.first_train.wrapping_add(index.wrapping_mul(self.stride))
    }

    /// Number of the frame of the train with this index. It goes round behind 2^32 − 1.
    #[inline]
    pub const fn frame(&self, index: u64) -> u32 {
        self.first_frame.wrapping_add(index as u32)
    }

    /// The header of the train with this index.
    pub const fn header(&self, index: u64) -> TrainHeader {
        TrainHeader {
            major_version: 2,
            minor_version: 1,
            train: self.train(index),
            data: index,
            detector_link: self.detector_link,
            builder_link: u32::MAX,
            images: self.images as u64,
            specific_bytes: self.specific_bytes,
            builder_bytes: 0,
            reserved: [0; 8],
        }
    }

    /// What is said of an image: every cell in turn, a pulse for each.
    pub fn descriptor(&self, image: u32) -> ImageDescriptor {
        let cell = (image % u32::from(self.cells)) as u16;
        // Public writers have 0 or the bytes of an image: 0 if these do not fit.
        let length = u32::try_from(self.image_bytes).unwrap_or(0);
        ImageDescriptor { cell, pulse: image.into(), status: 0, length }
    }

    /// Checks it, and says where the blocks of a train lie.
    ///
    /// # Errors
    /// What is impossible.
    pub fn layout(&self) -> Result<TrainLayout, StructureError> {
        if self.data_bytes == 0 || self.data_bytes > LARGEST_DATA_BYTES {
            return Err(StructureError::DataBytes(self.data_bytes));
        }
        if self.image_bytes == 0 {
            return Err(StructureError::ImageBytes);
        }
        if self.cells == 0 {
            return Err(StructureError::Cells);
        }
        if self.stride == 0 {
            return Err(StructureError::Stride);
        }
        let layout = TrainLayout::new(&self.header(0), self.image_bytes);
        let bytes = layout.map_or(u64::MAX, |layout| layout.total() as u64);
        let Some(layout) = layout.filter(|_| bytes <= LARGEST_TRAIN) else {
            return Err(StructureError::TooLarge { bytes });
        };
        let packets = layout.packets(self.data_bytes) as u64;
        if packets > u64::from(PacketTrailer::LARGEST_PACKET) + 1 {
            return Err(StructureError::TooManyPackets { packets });
        }
        match self.packets_per_train {
            Some(asked) if asked == 0 || u64::from(asked) > packets => {
                Err(StructureError::CutOff { asked, packets })
            }
            _ => Ok(layout),
        }
    }

    /// Writes what is behind the images of every train: descriptors, the detector's own block (0), the trailer.
    pub(super) fn tail(&self, layout: &TrainLayout) -> Vec<u8> {
        // A train without the bytes of its images has the same blocks behind them.
        let empty = TrainLayout::new(&self.header(0), 0);
        debug_assert!(empty.is_some(), "smaller than the layout that was checked");
        let Some(empty) = empty else { return Vec::new() };
        let mut train = vec![0; empty.total()];
        let descriptors: Vec<_> = (0..self.images).map(|image| self.descriptor(image)).collect();
        empty.write_ends(&self.header(0), &descriptors, &TrainTrailer::default(), &mut train);
        let padding = layout.cells().start - layout.all_images().end;
        [&vec![0; padding], &train[TrainHeader::BYTES..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_trains_and_frames_go_on_and_round() {
        let structure = TrainStructure {
            first_train: u64::MAX,
            stride: 16,
            first_frame: u32::MAX,
            ..TrainStructure::of_size(64, 1)
        };
        assert_eq!((structure.train(0), structure.train(1), structure.train(2)), (u64::MAX, 15, 31));
        assert_eq!((structure.frame(0), structure.frame(1)), (u32::MAX, 0));
    }

    #[test]
    fn the_tail_is_that_of_a_whole_train() {
        for (image_bytes, images) in [(100, 17), (131_072, 3), (32, 0), (1, 1)] {
            let structure = TrainStructure {
                specific_bytes: 33,
                cells: 5,
                ..TrainStructure::of_size(image_bytes, images)
            };
            let layout = structure.layout().unwrap();
            let mut whole = vec![0; layout.total()];
            let descriptors: Vec<_> = (0..images).map(|image| structure.descriptor(image)).collect();
            layout.write_ends(&structure.header(0), &descriptors, &TrainTrailer::default(), &mut whole);
            assert_eq!(
                structure.tail(&layout),
                whole[layout.all_images().end..],
                "{images} of {image_bytes}"
            );
        }
    }

    #[test]
    fn what_is_impossible_is_refused_with_its_reason() {
        let sound = TrainStructure::of(TrainDetector::Lpd, 512);
        assert_eq!(sound.layout().map(|layout| layout.packets(8184)), Ok(8202));
        for (structure, error) in [
            (TrainStructure { data_bytes: 0, ..sound }, StructureError::DataBytes(0)),
            (TrainStructure { data_bytes: 65_500, ..sound }, StructureError::DataBytes(65_500)),
            (TrainStructure { image_bytes: 0, ..sound }, StructureError::ImageBytes),
            (TrainStructure { cells: 0, ..sound }, StructureError::Cells),
            (TrainStructure { stride: 0, ..sound }, StructureError::Stride),
            (
                TrainStructure { image_bytes: usize::MAX, ..sound },
                StructureError::TooLarge { bytes: u64::MAX },
            ),
            (
                TrainStructure { packets_per_train: Some(8203), ..sound },
                StructureError::CutOff { asked: 8203, packets: 8202 },
            ),
            (
                TrainStructure { packets_per_train: Some(0), ..sound },
                StructureError::CutOff { asked: 0, packets: 8202 },
            ),
            (
                TrainStructure { data_bytes: 1, ..TrainStructure::of_size(1 << 31, 1) },
                StructureError::TooManyPackets { packets: (1 << 31) + 224 },
            ),
        ] {
            assert_eq!(structure.layout(), Err(error));
        }
        let large = TrainStructure::of(TrainDetector::Lpd, 40_000).layout().unwrap_err();
        assert!(large.to_string().contains("take fewer or smaller images"), "{large}");
    }

    #[test]
    fn the_load_test_has_as_many_packets_as_the_slides() {
        for (data_bytes, whole) in [(8192, 131_074), (8184, 131_202)] {
            let structure = TrainStructure::stress(data_bytes);
            let packets = structure.layout().unwrap().packets(data_bytes);
            assert!((131_030..=whole).contains(&packets), "{packets}");
            assert_eq!(structure.packets_per_train, Some(131_030));
        }
    }
}
