//! Trains and their packets byte by byte, as public receivers of LPD and DSSC have them.

use evforge_wire::train::*;
use std::ops::Range;

/// A train of LPD: images, bytes of the train, packets, bytes of the train in the last packet.
const LPD: [(u32, usize, usize, usize); 5] = [
    (1, 131_712, 17, 768),
    (20, 2_622_336, 321, 3_456),
    (64, 8_390_144, 1_026, 1_544),
    (352, 46_143_488, 5_639, 2_096),
    (512, 67_117_568, 8_202, 584),
];

/// A header whose every field has bytes of its own.
fn header(images: u64) -> TrainHeader {
    TrainHeader {
        major_version: 0x0302_0100,
        minor_version: 0x1312_1110,
        train: 0x2726_2524_2322_2120,
        data: 0x3736_3534_3332_3130,
        detector_link: 0x4342_4140,
        builder_link: 0x5352_5150,
        images,
        specific_bytes: 416,
        builder_bytes: 0,
        reserved: *b"reserved",
    }
}

/// A whole train of LPD with one image of zeros.
fn train_of_one_image() -> Vec<u8> {
    let layout = TrainLayout::of(TrainDetector::Lpd, 1);
    let mut train = vec![0; layout.total()];
    let descriptor =
        ImageDescriptor { cell: 0x0201, pulse: 0x1817_1615_1413_1211, status: 0x2221, length: 0x3433_3231 };
    let trailer = TrainTrailer { checksum: *b"sixteen bytes...", status: 0x0807_0605_0403_0201 };
    layout.write_ends(&header(1), &[descriptor], &trailer, &mut train);
    train
}

#[test]
fn sizes_and_numbers_of_packets_of_lpd() {
    for (images, bytes, packets, last) in LPD {
        let layout = TrainLayout::of(TrainDetector::Lpd, images);
        assert_eq!((layout.total(), layout.packets(DATA_BYTES)), (bytes, packets), "{images} images");
        assert_eq!(layout.total() - (packets - 1) * 8184, last, "{images} images");
        assert_eq!(TrainLayout::new(&header(images.into()), 131_072), Some(layout));
    }
    let of_512 = TrainLayout::of(TrainDetector::Lpd, 512);
    let blocks = [of_512.cells(), of_512.pulses(), of_512.statuses(), of_512.lengths()];
    assert_eq!(blocks.map(|block| block.len()), [1024, 4096, 1024, 2048]);
    assert_eq!(of_512.specific().start - of_512.all_images().end, 8192);
}

#[test]
fn images_and_own_blocks_of_the_detectors() {
    for (detector, name, shape, image, specific) in [
        (TrainDetector::Lpd, "LPD", [1, 256, 256], 131_072, 416),
        (TrainDetector::Agipd, "AGIPD", [2, 512, 128], 262_144, 5_408),
        (TrainDetector::Dssc, "DSSC", [1, 128, 512], 131_072, 416),
    ] {
        assert_eq!((detector.name(), detector.shape()), (name, shape));
        assert_eq!((detector.image_bytes(), detector.specific_bytes()), (image, specific), "{name}");
    }
}

#[test]
fn every_field_of_a_header_at_its_offset() {
    let bytes = header(0x6766_6564_6362_6160).write();
    let expected: [(usize, &[u8]); 11] = [
        (0, &[0xCE, 0xFA, 0xEF, 0xBE, 0x46, 0x44, 0x54, 0x58]),
        (8, &[0x00, 0x01, 0x02, 0x03]),
        (12, &[0x10, 0x11, 0x12, 0x13]),
        (16, &[0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27]),
        (24, &[0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37]),
        (32, &[0x40, 0x41, 0x42, 0x43]),
        (36, &[0x50, 0x51, 0x52, 0x53]),
        (40, &[0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67]),
        (48, &[0xA0, 0x01, 0, 0]),
        (52, &[0, 0, 0, 0]),
        (56, b"reserved"),
    ];
    let mut end = 0;
    for (offset, field) in expected {
        assert_eq!(offset, end, "every byte is in a field");
        assert_eq!(&bytes[offset..offset + field.len()], field, "offset {offset}");
        end = offset + field.len();
    }
    assert_eq!(end, 64);
    assert_eq!(TrainHeader::read(&bytes), (0x5854_4446_BEEF_FACE, header(0x6766_6564_6362_6160)));
}

#[test]
fn every_field_of_a_trailer_at_its_offset() {
    let trailer = TrainTrailer { checksum: *b"sixteen bytes...", status: 0x0807_0605_0403_0201 };
    let bytes = trailer.write();
    assert_eq!(&bytes[..16], b"sixteen bytes...");
    assert_eq!(bytes[16..24], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(bytes[24..], [0xCD, 0xAB, 0xAD, 0xDE, 0x46, 0x44, 0x54, 0x58]);
    assert_eq!(TrainTrailer::read(&bytes), (0x5854_4446_DEAD_ABCD, trailer));
}

#[test]
fn every_block_of_a_train_at_its_offset() {
    let train = train_of_one_image();
    let blocks: [(Range<usize>, &[u8]); 4] = [
        (131_136..131_138, &[1, 2]),
        (131_168..131_176, &[0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]),
        (131_200..131_202, &[0x21, 0x22]),
        (131_232..131_236, &[0x31, 0x32, 0x33, 0x34]),
    ];
    for (place, field) in blocks {
        assert_eq!(&train[place.clone()], field, "{place:?}");
    }
    let layout = TrainLayout::of(TrainDetector::Lpd, 1);
    assert_eq!((layout.image(0), layout.specific()), (64..131_136, 131_264..131_680));
    assert_eq!((layout.builder(), layout.trailer()), (131_680..131_680, 131_680..131_712));
    let parsed = Train::parse(&train, 131_072).unwrap();
    assert_eq!((parsed.header(), parsed.layout()), (&header(1), &layout));
    assert_eq!(parsed.descriptor(0).unwrap().pulse, 0x1817_1615_1413_1211);
    assert_eq!(
        (parsed.image(0).unwrap().len(), parsed.image(1), parsed.descriptor(1)),
        (131_072, None, None)
    );
    assert_eq!((parsed.specific().len(), parsed.builder().len()), (416, 0));
}

#[test]
fn a_block_of_an_odd_size_is_padded_to_32_bytes() {
    let own = TrainHeader { specific_bytes: 33, builder_bytes: 1, ..header(17) };
    let layout = TrainLayout::new(&own, 100).unwrap();
    assert_eq!(layout.all_images(), 64..1764);
    // 34, 136, 34 and 68 bytes in 64, 160, 64 and 96.
    assert_eq!((layout.cells(), layout.pulses()), (1792..1826, 1856..1992));
    assert_eq!((layout.statuses(), layout.lengths()), (2016..2050, 2080..2148));
    assert_eq!((layout.specific(), layout.builder()), (2176..2209, 2240..2241));
    assert_eq!((layout.trailer(), layout.total()), (2272..2304, 2304));
}

#[test]
fn the_trailer_of_a_packet_is_at_its_end_with_its_bits() {
    let trailer = |packet, is_first, is_last| PacketTrailer { frame: 0x0403_0201, packet, is_first, is_last };
    for (sent, bytes) in [
        (trailer(0, true, false), [1, 2, 3, 4, 0, 0, 0, 0x80]),
        (trailer(0x0030_2010, false, false), [1, 2, 3, 4, 0x10, 0x20, 0x30, 0]),
        (trailer(8201, false, true), [1, 2, 3, 4, 0x09, 0x20, 0, 0x40]),
        // A train of a single packet is the first and the last one.
        (trailer(0, true, true), [1, 2, 3, 4, 0, 0, 0, 0xC0]),
        (trailer(0x3FFF_FFFF, false, false), [1, 2, 3, 4, 0xFF, 0xFF, 0xFF, 0x3F]),
    ] {
        assert_eq!(sent.to_bytes(), bytes);
        let datagram = [&b"data"[..], &bytes].concat();
        assert_eq!(TrainPacket::parse(&datagram), Ok(TrainPacket { trailer: sent, data: b"data" }));
    }
    let too_large = trailer(0xFFFF_FFFF, false, false);
    assert_eq!(too_large.to_bytes(), trailer(PacketTrailer::LARGEST_PACKET, false, false).to_bytes());
}

#[test]
fn a_train_of_one_image_is_cut_into_17_packets_and_the_last_is_short() {
    let train = train_of_one_image();
    let pieces: Vec<_> = train.chunks(8184).collect();
    assert_eq!((pieces.len(), pieces[0].len() + 8, pieces[16].len() + 8), (17, 8192, 776));
    assert_eq!(pieces[0][..8], [0xCE, 0xFA, 0xEF, 0xBE, 0x46, 0x44, 0x54, 0x58]);
    let trailer = PacketTrailer { frame: 7, packet: 16, is_first: false, is_last: true };
    let last = [pieces[16], &trailer.to_bytes()].concat();
    // Right behind the magic number that ends the train.
    assert_eq!(last[760..], [0xCD, 0xAB, 0xAD, 0xDE, 0x46, 0x44, 0x54, 0x58, 7, 0, 0, 0, 16, 0, 0, 0x40]);
    assert_eq!(TrainPacket::parse(&last).unwrap().data, pieces[16]);
}

#[test]
fn a_packet_without_trailer_or_data_is_rejected_with_its_reason() {
    assert_eq!(TrainPacket::parse(&[]), Err(PacketRejection::TooShort));
    assert_eq!(TrainPacket::parse(&[0xFF; 7]), Err(PacketRejection::TooShort));
    assert_eq!(TrainPacket::parse(&[0xFF; 8]), Err(PacketRejection::Empty));
    assert_eq!(TrainPacket::parse(&[0xFF; 9]).unwrap().data, [0xFF]);
}

#[test]
fn a_train_is_rejected_with_its_reason() {
    let train = train_of_one_image();
    let reject = |bytes: &[u8]| Train::parse(bytes, 131_072).unwrap_err();
    assert_eq!(reject(&train[..63]), TrainRejection::TooShort(63));
    assert_eq!(reject(&train[..64]), TrainRejection::WrongSize { announced: Some(131_712), found: 64 });
    let changed = |at: usize, by: &[u8]| {
        let mut bytes = train.clone();
        bytes[at..at + by.len()].copy_from_slice(by);
        bytes
    };
    assert_eq!(reject(&changed(0, &[0])), TrainRejection::WrongBegin(0x5854_4446_BEEF_FA00));
    assert_eq!(reject(&changed(131_711, &[0])), TrainRejection::WrongEnd(0x0054_4446_DEAD_ABCD));
    let two = TrainRejection::WrongSize { announced: Some(262_784), found: 131_712 };
    assert_eq!(reject(&changed(40, &[2])), two);
    // The beginning is looked at first, then the size, then the end.
    let all = changed(0, &[0; 64]);
    assert_eq!(reject(&all), TrainRejection::WrongBegin(0));
    for images in [u64::MAX, u64::MAX / 131_072, 1 << 47] {
        let beyond = reject(&changed(40, &images.to_le_bytes()));
        assert_eq!(beyond, TrainRejection::WrongSize { announced: None, found: 131_712 }, "{images} images");
    }
}

/// A header of a stream whose every field has bytes of its own.
fn stream_header() -> StreamHeader {
    StreamHeader {
        module: 0x21,
        sender: 0x3736_3534_3332_3130,
        sequence: 0x4746_4544_4342_4140,
        train: 0x5756_5554_5352_5150,
        bytes: 0x6766_6564_6362_6160,
    }
}

#[test]
fn every_field_of_a_stream_header_at_its_offset() {
    let bytes = stream_header().write();
    let expected: [(usize, &[u8]); 7] = [
        (0, b"EVFTRAIN"),
        (8, &[1, 0, 0, 0]),
        (12, &[0x21, 0, 0, 0]),
        (16, &[0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37]),
        (24, &[0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47]),
        (32, &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57]),
        (40, &[0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67]),
    ];
    let mut end = 0;
    for (offset, field) in expected {
        assert_eq!(offset, end, "every byte is in a field");
        assert_eq!(&bytes[offset..offset + field.len()], field, "offset {offset}");
        end = offset + field.len();
    }
    assert_eq!(end, 48);
    assert_eq!(StreamHeader::parse(&bytes), Ok(stream_header()));
}

#[test]
fn a_stream_header_is_refused_by_its_first_fault() {
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = StreamHeader { bytes: 1, ..stream_header() }.write();
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        StreamHeader::parse(&bytes)
    };
    assert_eq!(with(&[]).map(|header| header.bytes), Ok(1));
    assert_eq!(with(&[(40, 0)]), Err(StreamRejection::Empty));
    assert_eq!(with(&[(40, 0), (13, 1)]), Err(StreamRejection::WrongModule(0x121)));
    assert_eq!(with(&[(40, 0), (13, 1), (11, 9)]), Err(StreamRejection::OtherVersion(0x0900_0001)));
    let all = with(&[(40, 0), (13, 1), (11, 9), (7, b'S')]);
    assert_eq!(all, Err(StreamRejection::WrongMagic(*b"EVFTRAIS")));
}
