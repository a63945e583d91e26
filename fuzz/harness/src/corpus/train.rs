//! Small trains, as a whole and in packets, behind a byte that chooses the size of an image.

use super::Seed;
use super::packets::spoilt;
use crate::train::IMAGE_BYTES;
use evforge_wire::train::{
    ImageDescriptor, PacketTrailer, StreamHeader, TrainHeader, TrainLayout, TrainTrailer,
};

/// A train of so many images of the size that `choice` stands for.
fn train(choice: u8, images: u16) -> Vec<u8> {
    let header = TrainHeader {
        major_version: 2,
        minor_version: 1,
        train: 1_000_000_001,
        data: 1,
        detector_link: 15,
        builder_link: u32::MAX,
        images: images.into(),
        specific_bytes: 33,
        builder_bytes: 3,
        reserved: [0; 8],
    };
    let image_bytes = IMAGE_BYTES[usize::from(choice)];
    let layout = TrainLayout::new(&header, image_bytes).expect("a small train");
    let of = |cell: u16| ImageDescriptor {
        cell,
        pulse: 4 * u64::from(cell),
        status: 0,
        length: image_bytes as u32,
    };
    let descriptors: Vec<_> = (0..images).map(of).collect();
    let trailer = TrainTrailer { checksum: [7; 16], status: 0 };
    let mut bytes: Vec<u8> = (0..layout.total()).map(|place| place as u8).collect();
    layout.write_ends(&header, &descriptors, &trailer, &mut bytes);
    [vec![choice], bytes].concat()
}

/// Good trains and packets, and those with one fault each.
pub fn seeds() -> Vec<Seed> {
    let good = train(1, 3);
    let packet = |data: &[u8], packet, is_first, is_last| {
        [data, &PacketTrailer { frame: 5, packet, is_first, is_last }.to_bytes()].concat()
    };
    let end = good.len() - 1;
    let announced = |bytes| {
        let header = StreamHeader { module: 3, sender: 7, sequence: 5, train: 1_000_000_001, bytes };
        [&[1], &header.write()[..], &good[1..]].concat()
    };
    vec![
        Seed::new("good", good.clone()),
        Seed::new("images-without-bytes", train(0, 17)),
        Seed::new("no-image", train(2, 0)),
        Seed::new("single-packet", packet(&good, 0, true, true)),
        Seed::new("first-packet", packet(&good[..129], 0, true, false)),
        Seed::new("last-packet", packet(&good[good.len() - 32..], 2, false, true)),
        Seed::new("announced", announced(good.len() as u64 - 1)),
        Seed::new("announced-without-bytes", announced(0)),
        Seed::new("announced-other-version", spoilt(announced(1), 9, &[2])),
        Seed::new("announced-wrong-module", spoilt(announced(1), 14, &[1])),
        Seed::new("wrong-begin", spoilt(good.clone(), 1, &[0xCF])),
        Seed::new("wrong-end", spoilt(good.clone(), end, &[0x59])),
        Seed::new("one-image-more", spoilt(good.clone(), 41, &[4])),
        Seed::new("more-images-than-memory", spoilt(good.clone(), 41, &[0xFF; 8])),
        Seed::new("cut", &good[..good.len() - 1]),
        Seed::new("cut-header", &good[..40]),
        Seed::new("trailer-alone", [1, 0, 0, 0, 0, 0, 0, 0, 0xC0]),
        Seed::new("nothing", []),
    ]
}
