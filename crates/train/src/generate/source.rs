//! Datagrams of any train, in any order: nothing but what is the same in all trains is kept.

use super::noise::{NoiseError, NoiseImages, NoiseSettings};
use super::pattern::fill_images;
use super::structure::{StructureError, TrainStructure};
use evforge_wire::train::{PacketTrailer, TrainHeader, TrainLayout};
use thiserror::Error;

/// What is in the images.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ImageContent {
    /// A pattern of which every byte is known ([`CounterPattern`](super::CounterPattern)).
    #[default]
    Counter,
    /// A pedestal for each pixel, and noise.
    NoiseAndPedestals(NoiseSettings),
}

/// A source of trains is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The structure of the trains.
    #[error(transparent)]
    Structure(#[from] StructureError),
    /// Pedestals and noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

/// Makes the datagrams of trains, which are known by their index, from 0: any packet of any train at any time. What it keeps does not
/// depend on the train, so that threads can share it.
#[derive(Clone, Debug)]
pub struct TrainSource {
    structure: TrainStructure,
    layout: TrainLayout,
    noise: Option<NoiseImages>,
    /// What is behind the images of every train.
    tail: Vec<u8>,
    packets: u32,
    /// Bytes of a train that are sent.
    sent: usize,
}

impl TrainSource {
    /// A source of such trains. Images with noise are made here, 16 of them: that takes a moment.
    ///
    /// # Errors
    /// What of the structure or the content is impossible.
    pub fn new(structure: TrainStructure, content: ImageContent) -> Result<Self, SourceError> {
        let layout = structure.layout()?;
        let noise = match content {
            ImageContent::Counter => None,
            ImageContent::NoiseAndPedestals(settings) => {
                Some(NoiseImages::new(&settings, structure.image_bytes)?)
            }
        };
        let whole = layout.packets(structure.data_bytes);
        // Checked by the layout: they can be numbered in 30 bits.
        let packets = structure.packets_per_train.unwrap_or_else(|| u32::try_from(whole).unwrap_or(u32::MAX));
        let sent = layout.total().min((packets as usize).saturating_mul(structure.data_bytes));
        let tail = structure.tail(&layout);
        Ok(Self { structure, layout, noise, tail, packets, sent })
    }

    /// What the trains are like.
    pub const fn structure(&self) -> &TrainStructure {
        &self.structure
    }

    /// Where the blocks of a whole train lie.
    pub const fn layout(&self) -> &TrainLayout {
        &self.layout
    }

    /// The images with noise; none if they have the counter pattern.
    pub const fn noise(&self) -> Option<&NoiseImages> {
        self.noise.as_ref()
    }

    /// Packets of a train that are sent.
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes of a train that are sent, without the trailers of its packets.
    pub const fn train_bytes(&self) -> usize {
        self.sent
    }

    /// True if trains are sent to their end.
    pub const fn is_whole(&self) -> bool {
        self.sent == self.layout.total()
    }

    /// Bytes of data in a packet of a train; 0 beyond the last.
    #[inline]
    pub fn data_bytes_of(&self, packet: u32) -> usize {
        let start = (packet as usize).saturating_mul(self.structure.data_bytes);
        self.structure.data_bytes.min(self.sent.saturating_sub(start))
    }

    /// Bytes of the largest datagram.
    pub fn largest_datagram(&self) -> usize {
        self.structure.data_bytes.min(self.sent) + PacketTrailer::BYTES
    }

    /// UDP payload of a train, in bytes.
    pub fn datagram_bytes(&self) -> u64 {
        self.sent as u64 + u64::from(self.packets) * PacketTrailer::BYTES as u64
    }

    /// The datagrams of the train with this index, one after the other.
    pub fn packets_of(&self, index: u64) -> TrainPackets<'_> {
        TrainPackets { source: self, index, next: 0 }
    }

    /// Writes a datagram to the beginning of `out`, and says how many bytes it has; none if the train has no such packet or `out` no
    /// room for it.
    #[inline]
    pub fn write_packet(&self, index: u64, packet: u32, out: &mut [u8]) -> Option<usize> {
        if packet >= self.packets {
            return None;
        }
        let start = packet as usize * self.structure.data_bytes;
        let bytes = self.data_bytes_of(packet);
        let out = out.get_mut(..bytes + PacketTrailer::BYTES)?;
        let (data, trailer) = out.split_at_mut(bytes);
        self.write_bytes(index, start, data);
        let (is_first, is_last) = (packet == 0, packet + 1 == self.packets);
        let of_packet = PacketTrailer { frame: self.structure.frame(index), packet, is_first, is_last };
        trailer.copy_from_slice(&of_packet.to_bytes());
        Some(out.len())
    }

    /// Writes the piece of the train with this index that begins at byte `start`, and lies inside of it.
    #[inline]
    fn write_bytes(&self, index: u64, start: usize, out: &mut [u8]) {
        let images = self.layout.all_images();
        let end = start + out.len();
        let mut out = out;
        if start < images.start {
            let header = self.structure.header(index).write();
            let piece = &header[start..end.min(TrainHeader::BYTES)];
            let (head, rest) = std::mem::take(&mut out).split_at_mut(piece.len());
            head.copy_from_slice(piece);
            out = rest;
        }
        if end > images.start && start < images.end {
            let from = start.max(images.start);
            let (piece, rest) = std::mem::take(&mut out).split_at_mut(end.min(images.end) - from);
            match &self.noise {
                None => fill_images(
                    self.structure.train(index),
                    self.structure.image_bytes,
                    from - images.start,
                    piece,
                ),
                Some(noise) => noise.fill(index, from - images.start, piece),
            }
            out = rest;
        }
        if end > images.end {
            let from = start.max(images.end) - images.end;
            out.copy_from_slice(&self.tail[from..end - images.end]);
        }
    }
}

/// The datagrams of one train, one after the other.
#[derive(Clone, Debug)]
pub struct TrainPackets<'a> {
    source: &'a TrainSource,
    index: u64,
    next: u32,
}

impl TrainPackets<'_> {
    /// Packets to come.
    pub const fn left(&self) -> u32 {
        self.source.packets - self.next
    }

    /// Writes the next datagram to the beginning of `out`, and says how many bytes it has; none if there is none or no room for it
    /// (then it is still to come).
    #[inline]
    pub fn write_next(&mut self, out: &mut [u8]) -> Option<usize> {
        let bytes = self.source.write_packet(self.index, self.next, out)?;
        self.next += 1;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::CounterPattern;
    use super::*;
    use evforge_wire::train::{Train, TrainDetector, TrainPacket};
    use proptest::prelude::*;

    /// A train put together from its datagrams, which are checked on the way.
    fn assembled(source: &TrainSource, index: u64) -> Vec<u8> {
        let mut packets = source.packets_of(index);
        let (mut train, mut number) = (Vec::new(), 0);
        let mut memory = vec![0xEE; source.largest_datagram()];
        assert_eq!(packets.left(), source.packets());
        while let Some(bytes) = packets.write_next(&mut memory) {
            let TrainPacket { trailer, data } = TrainPacket::parse(&memory[..bytes]).unwrap();
            assert_eq!((trailer.packet, trailer.frame), (number, source.structure().frame(index)));
            assert_eq!((trailer.is_first, trailer.is_last), (number == 0, number + 1 == source.packets()));
            train.extend(data);
            number += 1;
        }
        assert_eq!((packets.left(), number), (0, source.packets()));
        train
    }

    #[test]
    fn trains_of_every_detector_are_sound_and_have_their_pattern() {
        for detector in TrainDetector::ALL {
            let structure = TrainStructure {
                first_train: 1_000_000_001,
                stride: 4,
                detector_link: 15,
                ..TrainStructure::of(detector, 3)
            };
            let source = TrainSource::new(structure, ImageContent::Counter).unwrap();
            for index in [0, 7] {
                let bytes = assembled(&source, index);
                assert_eq!(bytes.len(), source.train_bytes());
                let train = Train::parse(&bytes, detector.image_bytes()).unwrap();
                let (header, number) = (train.header(), 1_000_000_001 + 4 * index);
                assert_eq!((header.train, header.data, header.detector_link), (number, index, 15));
                assert_eq!((header.images, train.specific().len()), (3, detector.specific_bytes()));
                for image in 0..3 {
                    let pattern = CounterPattern::new(number, image as u64);
                    assert_eq!(pattern.check(0, train.image(image).unwrap()), None);
                    assert_eq!(train.descriptor(image), Some(structure.descriptor(image as u32)));
                }
            }
        }
    }

    #[test]
    fn trains_with_noise_are_sound() {
        let content = ImageContent::NoiseAndPedestals(NoiseSettings::default());
        let source = TrainSource::new(TrainStructure::of(TrainDetector::Lpd, 20), content).unwrap();
        let bytes = assembled(&source, 3);
        let train = Train::parse(&bytes, 131_072).unwrap();
        let noise = source.noise().unwrap();
        for (image, &pedestal) in noise.pedestals().iter().enumerate().take(20) {
            let value =
                train.image(image).unwrap()[2 * image..].first_chunk().copied().map(u16::from_le_bytes);
            assert!((f32::from(value.unwrap()) - pedestal).abs() < 70.0, "{value:?} at {pedestal}");
        }
    }

    #[test]
    fn trains_of_the_load_test_are_cut_off() {
        for data_bytes in [8184, 8192] {
            let source = TrainSource::new(TrainStructure::stress(data_bytes), ImageContent::Counter).unwrap();
            assert_eq!((source.packets(), source.train_bytes()), (131_030, 131_030 * data_bytes));
            assert!(!source.is_whole());
            let mut memory = vec![0; source.largest_datagram()];
            assert_eq!(source.write_packet(2, 131_029, &mut memory), Some(data_bytes + 8));
            let last = TrainPacket::parse(&memory).unwrap();
            assert!(last.trailer.is_last && !last.trailer.is_first);
            assert_eq!(last.data.len(), data_bytes);
            assert_eq!(source.write_packet(2, 131_030, &mut memory), None);
        }
    }

    #[test]
    fn without_room_nothing_is_written_and_the_packet_is_still_to_come() {
        let source = TrainSource::new(TrainStructure::of_size(64, 2), ImageContent::Counter).unwrap();
        let mut packets = source.packets_of(0);
        let bytes = source.train_bytes() + 8;
        assert_eq!(
            (source.packets(), source.largest_datagram(), source.datagram_bytes()),
            (1, bytes, bytes as u64)
        );
        let mut memory = vec![0xEE; bytes];
        assert_eq!(packets.write_next(&mut memory[1..]), None);
        assert!(memory.iter().all(|&byte| byte == 0xEE));
        assert_eq!((packets.left(), packets.write_next(&mut memory)), (1, Some(bytes)));
    }

    proptest! {
        /// However small the pieces are, and wherever blocks begin and end in them.
        #[test]
        fn the_size_of_packets_does_not_change_a_train(
            image_bytes in 1..300_usize, images in 0..20_u32, specific_bytes in 0..70_u32, data_bytes in 1..500_usize,
            index: u64,
        ) {
            let structure =
                TrainStructure { specific_bytes, data_bytes, ..TrainStructure::of_size(image_bytes, images) };
            let whole = TrainStructure { data_bytes: 60_000, ..structure };
            let source = TrainSource::new(structure, ImageContent::Counter).expect("a sound structure");
            let train = assembled(&source, index);
            prop_assert!(train == assembled(&TrainSource::new(whole, ImageContent::Counter).expect("sound"), index));
            let train = Train::parse(&train, image_bytes).expect("a sound train");
            prop_assert_eq!(train.header(), &structure.header(index));
            prop_assert_eq!(train.layout().packets(data_bytes), source.packets() as usize);
        }
    }
}
