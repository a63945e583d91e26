//! Trains are the same behind their packets; what is cut, longer or arbitrary is told as that, and takes no memory.

use evforge_testkit::properties::cases;
use evforge_wire::train::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn trailer() -> impl Strategy<Value = PacketTrailer> {
    (any::<u32>(), 0..=PacketTrailer::LARGEST_PACKET, any::<bool>(), any::<bool>())
        .prop_map(|(frame, packet, is_first, is_last)| PacketTrailer { frame, packet, is_first, is_last })
}

fn descriptor() -> impl Strategy<Value = ImageDescriptor> {
    (any::<u16>(), any::<u64>(), any::<u16>(), any::<u32>())
        .prop_map(|(cell, pulse, status, length)| ImageDescriptor { cell, pulse, status, length })
}

prop_compose! {
    fn header()(
        versions: [u32; 2], numbers: [u64; 2], links: [u32; 2], images: u64, own: [u32; 2], reserved: [u8; 8],
    ) -> TrainHeader {
        let ([major_version, minor_version], [train, data]) = (versions, numbers);
        let ([detector_link, builder_link], [specific_bytes, builder_bytes]) = (links, own);
        TrainHeader {
            major_version, minor_version, train, data, detector_link, builder_link, images, specific_bytes,
            builder_bytes, reserved,
        }
    }
}

/// A train of these images, whose every byte that is no field is made of its place and a seed.
fn train(
    header: &TrainHeader,
    layout: &TrainLayout,
    descriptors: &[ImageDescriptor],
    trailer: &TrainTrailer,
    seed: u8,
) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..layout.total()).map(|place| ((place * 31) >> 3) as u8 ^ seed).collect();
    layout.write_ends(header, descriptors, trailer, &mut bytes);
    bytes
}

/// The datagrams of a train, with so many bytes of it in each.
fn datagrams(train: &[u8], data_bytes: usize, frame: u32) -> Vec<Vec<u8>> {
    let count = train.len().div_ceil(data_bytes) as u32;
    let trailer =
        |packet| PacketTrailer { frame, packet, is_first: packet == 0, is_last: packet + 1 == count };
    (0..)
        .zip(train.chunks(data_bytes))
        .map(|(packet, data)| [data, &trailer(packet).to_bytes()].concat())
        .collect()
}

/// Blocks of any size, small enough to be made.
fn small_header() -> impl Strategy<Value = (TrainHeader, usize, Vec<ImageDescriptor>)> {
    (header(), 0..300_usize, vec(descriptor(), 0..40), 0..100_u32, 0..100_u32).prop_map(
        |(header, image_bytes, descriptors, specific_bytes, builder_bytes)| {
            let images = descriptors.len() as u64;
            (TrainHeader { images, specific_bytes, builder_bytes, ..header }, image_bytes, descriptors)
        },
    )
}

proptest! {
    #[test]
    fn a_packet_says_what_its_trailer_was_made_of(sent in trailer(), data in vec(any::<u8>(), 1..100)) {
        let datagram = [&data[..], &sent.to_bytes()].concat();
        prop_assert_eq!(TrainPacket::parse(&datagram), Ok(TrainPacket { trailer: sent, data: &data }));
    }

    #[test]
    fn any_bytes_are_a_packet_of_all_of_them_or_too_few(bytes in vec(any::<u8>(), 0..40)) {
        match TrainPacket::parse(&bytes) {
            Ok(packet) => prop_assert_eq!([packet.data, &packet.trailer.to_bytes()].concat(), bytes),
            Err(PacketRejection::TooShort) => prop_assert!(bytes.len() < 8),
            Err(PacketRejection::Empty) => prop_assert_eq!(bytes.len(), 8),
        }
    }

    #[test]
    fn a_header_and_a_trailer_say_what_they_were_made_of(sent in header(), checksum: [u8; 16], status: u64) {
        prop_assert_eq!(TrainHeader::read(&sent.write()), (BEGIN_MAGIC, sent));
        let trailer = TrainTrailer { checksum, status };
        prop_assert_eq!(TrainTrailer::read(&trailer.write()), (END_MAGIC, trailer));
    }

    #[test]
    fn a_stream_header_says_what_it_was_made_of(module: u8, numbers: [u64; 3], bytes in 1..=u64::MAX) {
        let [sender, sequence, train] = numbers;
        let sent = StreamHeader { module, sender, sequence, train, bytes };
        prop_assert_eq!(StreamHeader::parse(&sent.write()), Ok(sent));
    }

    /// Most of them begin as one does: else none would be read any further.
    #[test]
    fn any_bytes_are_the_stream_header_that_they_say_or_none(
        bytes in vec(any::<u8>(), 48), magic in prop::bool::weighted(0.9), small in prop::bool::weighted(0.9),
    ) {
        let mut bytes: [u8; 48] = bytes.try_into().expect("48 bytes");
        if magic {
            bytes[..8].copy_from_slice(b"EVFTRAIN");
        }
        if small {
            bytes[8..12].copy_from_slice(&[1, 0, 0, 0]);
            bytes[13..16].fill(0);
        }
        match StreamHeader::parse(&bytes) {
            Ok(header) => prop_assert_eq!(header.write(), bytes),
            Err(StreamRejection::WrongMagic(found)) => prop_assert!(found == bytes[..8] && !magic),
            Err(StreamRejection::OtherVersion(version)) => prop_assert!(version != 1 && magic),
            Err(StreamRejection::WrongModule(module)) => prop_assert!(module > 255 && !small),
            Err(StreamRejection::Empty) => prop_assert_eq!(&bytes[40..], &[0; 8][..]),
        }
    }

    /// Every byte of a train is in one block, or between two of them, and less than 32 of these together.
    #[test]
    fn blocks_follow_one_another((header, image_bytes, _) in small_header()) {
        let layout = TrainLayout::new(&header, image_bytes).expect("small blocks");
        let blocks = [
            0..64, layout.all_images(), layout.cells(), layout.pulses(), layout.statuses(), layout.lengths(),
            layout.specific(), layout.builder(), layout.trailer(),
        ];
        for pair in blocks.windows(2) {
            prop_assert!(pair[1].start.is_multiple_of(ALIGNMENT), "{blocks:?}");
            let between = pair[1].start.checked_sub(pair[0].end);
            prop_assert!(between.is_some_and(|bytes| bytes < ALIGNMENT), "{blocks:?}");
        }
        prop_assert_eq!(layout.trailer().end, layout.total());
        let images = header.images as usize;
        prop_assert_eq!(layout.all_images().len(), images * image_bytes);
        prop_assert_eq!((layout.pulses().len(), layout.lengths().len()), (8 * images, 4 * images));
        for index in 1..images {
            prop_assert_eq!(layout.image(index).start, layout.image(index - 1).end);
        }
    }

    #[test]
    fn a_train_with_blocks_of_any_size_is_read_as_it_was_written(
        (header, image_bytes, descriptors) in small_header(), checksum: [u8; 16], status: u64, seed: u8,
    ) {
        let layout = TrainLayout::new(&header, image_bytes).expect("small blocks");
        let trailer = TrainTrailer { checksum, status };
        let bytes = train(&header, &layout, &descriptors, &trailer, seed);
        let parsed = Train::parse(&bytes, image_bytes).expect("a train as it was written");
        prop_assert_eq!((parsed.header(), parsed.trailer(), parsed.layout()), (&header, &trailer, &layout));
        prop_assert_eq!(parsed.specific().len(), header.specific_bytes as usize);
        prop_assert_eq!(parsed.builder().len(), header.builder_bytes as usize);
        let read: Vec<_> = (0..=descriptors.len()).map_while(|index| parsed.descriptor(index)).collect();
        prop_assert_eq!(read, descriptors);
        // Less or more of it is no train, and the reason is the right one.
        for cut in [0, 63, 64, bytes.len() / 2, bytes.len() - 1] {
            let reason = Train::parse(&bytes[..cut], image_bytes).expect_err("a train without its end");
            let size = TrainRejection::WrongSize { announced: Some(bytes.len()), found: cut };
            prop_assert_eq!(reason, if cut < 64 { TrainRejection::TooShort(cut) } else { size });
        }
        let longer = [&bytes[..], &[0; 32]].concat();
        let size = TrainRejection::WrongSize { announced: Some(bytes.len()), found: longer.len() };
        prop_assert_eq!(Train::parse(&longer, image_bytes), Err(size));
    }

    /// A header may say anything: its train is never larger than what is there.
    #[test]
    fn any_claims_of_a_header_are_refused_by_what_is_there(
        header in header(), image_bytes in prop_oneof![0..10_usize, Just(131_072), Just(usize::MAX)],
        bytes in vec(any::<u8>(), 0..200),
    ) {
        let claimed = [&header.write()[..], &bytes].concat();
        match Train::parse(&claimed, image_bytes) {
            Ok(train) => prop_assert_eq!(train.layout().total(), claimed.len()),
            Err(TrainRejection::WrongSize { announced, found }) => {
                prop_assert_eq!(found, claimed.len());
                prop_assert_eq!(announced, TrainLayout::new(&header, image_bytes).map(|layout| layout.total()));
                prop_assert_ne!(announced, Some(found));
            }
            Err(TrainRejection::WrongEnd(_)) => {}
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..400), image_bytes in 0..10_usize) {
        let rejection = Train::parse(&bytes, image_bytes).expect_err("bytes by chance have no magic number");
        if bytes.len() < 64 {
            prop_assert_eq!(rejection, TrainRejection::TooShort(bytes.len()));
        } else {
            prop_assert!(matches!(rejection, TrainRejection::WrongBegin(_)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(8)))]

    /// Whole trains of every detector, cut into packets of any size that come in any order.
    #[test]
    fn trains_of_every_detector_are_the_same_behind_their_packets(
        detector in prop::sample::select(&TrainDetector::ALL[..]), descriptors in vec(descriptor(), 0..4),
        fields in header(), data_bytes in prop_oneof![Just(DATA_BYTES), Just(8192), 500..9_000_usize],
        frame: u32, turned: prop::sample::Index, seed: u8,
    ) {
        let layout = TrainLayout::of(detector, descriptors.len() as u32);
        let header = TrainHeader {
            images: descriptors.len() as u64,
            specific_bytes: detector.specific_bytes() as u32,
            builder_bytes: 0,
            ..fields
        };
        let sent = train(&header, &layout, &descriptors, &TrainTrailer::default(), seed);
        let mut packets = datagrams(&sent, data_bytes, frame);
        prop_assert_eq!(packets.len(), layout.packets(data_bytes));
        let middle = turned.index(packets.len());
        packets.rotate_left(middle);
        let (mut received, mut bytes, mut ends) = (vec![0; sent.len()], 0, (0, 0));
        for datagram in &packets {
            let TrainPacket { trailer, data } = TrainPacket::parse(datagram).expect("a packet of a train");
            prop_assert_eq!(trailer.frame, frame);
            let start = trailer.packet as usize * data_bytes;
            received[start..start + data.len()].copy_from_slice(data);
            bytes += data.len();
            ends = (ends.0 + u32::from(trailer.is_first), ends.1 + u32::from(trailer.is_last));
        }
        prop_assert_eq!((bytes, ends), (sent.len(), (1, 1)));
        prop_assert!(received == sent, "the train changed on the way");
        let read = Train::parse(&received, detector.image_bytes()).expect("a whole train");
        prop_assert_eq!((read.header(), read.layout()), (&header, &layout));
        for (index, descriptor) in descriptors.iter().enumerate() {
            prop_assert_eq!(read.descriptor(index), Some(*descriptor));
            prop_assert!(read.image(index) == Some(&sent[layout.image(index)]));
        }
        // The size of an image is that of the detector: with another one the size is wrong.
        let other = Train::parse(&received, detector.image_bytes() + 32);
        prop_assert_eq!(other.is_err(), !descriptors.is_empty());
    }
}
