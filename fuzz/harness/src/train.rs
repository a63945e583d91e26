//! Trains of the European XFEL, and their packets.

use evforge_wire::train::{
    PacketRejection, StreamHeader, StreamRejection, Train, TrainLayout, TrainPacket, TrainRejection,
};

/// Bytes of an image that the first byte of an input chooses from, by its remainder.
pub const IMAGE_BYTES: [usize; 4] = [0, 8, 131_072, usize::MAX];

/// Parses `bytes`, behind a byte that chooses the size of an image, as a train, as a packet, and as what stands before a
/// train over TCP. What parses is encoded again.
///
/// # Panics
/// If a train or a packet changes on the way, if a block does not lie in its train, or if the reason of a rejection is not so.
pub fn train(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    packet(bytes);
    announced(bytes);
    whole(bytes, IMAGE_BYTES[usize::from(choice) % IMAGE_BYTES.len()]);
}

/// Parses `bytes` as a packet. What parses is encoded again.
///
/// # Panics
/// As [`train`].
pub fn packet(bytes: &[u8]) {
    match TrainPacket::parse(bytes) {
        Ok(packet) => {
            let again = [packet.data, &packet.trailer.to_bytes()].concat();
            assert_eq!(again, bytes, "the packet changed on the way");
            // Most trains of a fuzzer are so small that they are one packet.
            whole(packet.data, IMAGE_BYTES[1]);
        }
        Err(PacketRejection::TooShort) => assert!(bytes.len() < 8),
        Err(PacketRejection::Empty) => assert_eq!(bytes.len(), 8),
    }
}

/// Parses the first bytes as what stands before a train over TCP. What parses is encoded again.
///
/// # Panics
/// As [`train`].
pub fn announced(bytes: &[u8]) {
    let Some(bytes) = bytes.first_chunk() else { return };
    match StreamHeader::parse(bytes) {
        Ok(header) => assert_eq!(header.write(), *bytes, "what stands before a train changed on the way"),
        Err(StreamRejection::WrongMagic(magic)) => assert_ne!(magic, StreamHeader::MAGIC),
        Err(StreamRejection::OtherVersion(version)) => assert_ne!(version, StreamHeader::VERSION),
        Err(StreamRejection::WrongModule(module)) => assert!(module > 255),
        Err(StreamRejection::Empty) => assert_eq!(bytes[40..], [0; 8]),
    }
}

/// Parses `bytes` as a train with images of so many bytes. What parses is encoded again.
///
/// # Panics
/// As [`train`].
pub fn whole(bytes: &[u8], image_bytes: usize) {
    match Train::parse(bytes, image_bytes) {
        Ok(train) => again(&train),
        Err(TrainRejection::TooShort(found)) => assert!(found == bytes.len() && found < 64),
        Err(TrainRejection::WrongBegin(magic)) => {
            assert!(!bytes.starts_with(b"\xCE\xFA\xEF\xBEFDTX"), "{magic:#x}")
        }
        Err(TrainRejection::WrongSize { announced, found }) => {
            assert!(announced != Some(found) && found == bytes.len(), "{announced:?}");
        }
        Err(TrainRejection::WrongEnd(magic)) => {
            assert!(!bytes.ends_with(b"\xCD\xAB\xAD\xDEFDTX"), "{magic:#x}")
        }
    }
}

/// Reads every block of a train, and writes it again.
fn again(train: &Train<'_>) {
    let layout = TrainLayout::new(train.header(), train.layout().image_bytes());
    assert_eq!(layout.as_ref(), Some(train.layout()));
    let images = train.layout().images();
    let descriptors: Vec<_> = (0..images).filter_map(|index| train.descriptor(index)).collect();
    let own: usize = (0..images).filter_map(|index| train.image(index)).map(<[u8]>::len).sum();
    assert_eq!((descriptors.len(), own), (images, train.layout().all_images().len()));
    assert_eq!((train.image(images), train.descriptor(images)), (None, None));
    assert_eq!(train.specific().len() + train.builder().len(), own_bytes(train));
    let mut written = train.bytes().to_vec();
    train.layout().write_ends(train.header(), &descriptors, train.trailer(), &mut written);
    assert!(written == train.bytes(), "the train changed on the way");
}

fn own_bytes(train: &Train<'_>) -> usize {
    train.header().specific_bytes as usize + train.header().builder_bytes as usize
}
