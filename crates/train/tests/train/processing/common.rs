//! Trains of small images with values of a test's choice.

use evforge_core::counter::{CounterSet, Law};
use evforge_train::processing::{Chain, ImageShape, ProcessedTrain, ProcessedValues, Step, ValueType};
use evforge_wire::train::{ImageDescriptor, Train, TrainHeader, TrainLayout, TrainTrailer};

/// 4 rows of 6.
pub(crate) const SHAPE: ImageShape = [1, 4, 6];
pub(crate) const VALUES: usize = 24;

/// A train of these images; image k is of pulse 10 k and cell k.
pub(crate) fn train(number: u64, images: &[Vec<u16>]) -> Vec<u8> {
    let header = TrainHeader {
        major_version: 2,
        minor_version: 1,
        train: number,
        data: 0,
        detector_link: 0,
        builder_link: 0,
        images: images.len() as u64,
        specific_bytes: 64,
        builder_bytes: 0,
        reserved: [0; 8],
    };
    let layout = TrainLayout::new(&header, 2 * VALUES).expect("a layout");
    let mut bytes = vec![0; layout.total()];
    let descriptors: Vec<ImageDescriptor> = (0..images.len())
        .map(|k| ImageDescriptor { cell: k as u16, pulse: 10 * k as u64, status: 0, length: 0 })
        .collect();
    layout.write_ends(&header, &descriptors, &TrainTrailer::default(), &mut bytes);
    for (index, image) in images.iter().enumerate() {
        let values: Vec<u8> = image.iter().flat_map(|value| value.to_le_bytes()).collect();
        bytes[layout.image(index)].copy_from_slice(&values);
    }
    bytes
}

/// Images without any order in their values: up to `largest`.
pub(crate) fn images(count: usize, largest: u16) -> Vec<Vec<u16>> {
    let value = |at: usize| {
        let mixed = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (mixed % (u64::from(largest) + 1)) as u16
    };
    (0..count).map(|image| (0..VALUES).map(|k| value(image * VALUES + k)).collect()).collect()
}

/// What is left of a train after these steps, and the chain, of which the law holds.
pub(crate) fn run(
    images: &[Vec<u16>],
    form: ValueType,
    steps: Vec<Box<dyn Step>>,
) -> (ProcessedTrain, Chain) {
    let mut chain = Chain::new(VALUES, steps).unwrap_or_else(|error| panic!("{error}"));
    let bytes = train(77, images);
    let mut out = ProcessedTrain::new(form);
    chain.process(&Train::parse(&bytes, 2 * VALUES).expect("a train"), &mut out);
    check(&chain);
    assert_eq!((out.number(), chain.counters().images_in), (77, images.len() as u64));
    assert_eq!(out.indices().len() as u64, chain.counters().images_kept);
    (out, chain)
}

/// The law of images, for the chain and for each step.
pub(crate) fn check(chain: &Chain) {
    let counters = chain.counters();
    assert_eq!(counters.imbalance(Law::Images), 0, "{counters:?}");
    for tally in chain.tallies() {
        assert_eq!(tally.images_in, tally.kept + tally.rejected, "{tally:?}");
    }
}

pub(crate) fn floats(train: &ProcessedTrain) -> &[f32] {
    match train.values() {
        ProcessedValues::F32(values) => values,
        other => panic!("floats, not {other:?}"),
    }
}

pub(crate) fn numbers(train: &ProcessedTrain) -> &[u16] {
    match train.values() {
        ProcessedValues::U16(values) => values,
        other => panic!("16-bit numbers, not {other:?}"),
    }
}
