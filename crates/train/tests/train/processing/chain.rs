//! Steps together.

use super::common::{SHAPE, VALUES, check, images, run, train};
use evforge_train::assembly::{
    Assembly, AssemblySettings, ImageContent, IncompletePolicy, TrainContent, TrainSource,
};
use evforge_train::processing::{
    Chain, Integration, ProcessedTrain, Region, Step, Threshold, ValueType, VetoList,
};
use evforge_wire::train::{PacketTrailer, Train, TrainDetector};
use proptest::prelude::*;

#[test]
fn a_step_sees_what_those_before_it_have_kept() {
    let images = images(30, 999);
    let veto = || -> Box<dyn Step> { Box::new(VetoList::new(vec![0, 100, 200])) };
    let threshold = || -> Box<dyn Step> { Box::new(Threshold::new(500.0, 12).expect("a level")) };
    let sums = || -> Box<dyn Step> { Box::new(Integration::new(VALUES, 300)) };
    let (out, chain) = run(&images, ValueType::U16, vec![veto(), sums(), threshold(), sums()]);
    let seen: Vec<u64> = chain.tallies().map(|tally| tally.images_in).collect();
    let kept = out.indices().len() as u64;
    assert_eq!(seen, [30, 27, 27, kept]);
    let summed: Vec<u64> = chain.integrated().map(|sums| sums.images()).collect();
    assert_eq!(summed, [27, kept]);
    assert!(kept < 27);
}

#[test]
fn a_chain_refuses_steps_for_other_images() {
    let error =
        Chain::new(VALUES + 1, vec![Box::new(Integration::new(VALUES, 1))]).expect_err("another size");
    assert_eq!(error.key, "integration");
    assert_eq!(Chain::new(0, vec![]).expect_err("no values").key, "values");
}

#[test]
fn images_of_another_size_are_rejected() {
    let bytes = train(1, &images(4, 9));
    let mut chain = Chain::new(VALUES + 1, vec![]).expect("a chain");
    let mut out = ProcessedTrain::new(ValueType::F32);
    chain.process(&Train::parse(&bytes, 2 * VALUES).expect("a train"), &mut out);
    check(&chain);
    assert_eq!((chain.counters().images_wrong_size, out.indices()), (4, &[][..]));
}

#[test]
fn images_with_holes_are_rejected_and_those_beside_them_are_not() {
    let images = images(6, 999);
    let bytes = train(5, &images);
    let data_bytes = 40;
    for incomplete in [IncompletePolicy::Drop, IncompletePolicy::Mark, IncompletePolicy::Zero] {
        let settings = AssemblySettings {
            data_bytes,
            largest_train: bytes.len(),
            content: TrainContent::Images(ImageContent {
                image_bytes: 2 * VALUES,
                specific_bytes: 64,
                ..ImageContent::of(TrainDetector::Lpd)
            }),
            incomplete,
            ..AssemblySettings::new(TrainDetector::Lpd, 1)
        };
        let mut assembly = Assembly::new(settings).expect("settings");
        let mut chain = Chain::new(VALUES, vec![]).expect("a chain");
        let mut out = ProcessedTrain::new(ValueType::U16);
        let packets = bytes.len().div_ceil(data_bytes);
        let mut processed = vec![];
        // Bytes 120 to 159: the second half of image 1 (bytes 112 to 159).
        for (packet, data) in bytes.chunks(data_bytes).enumerate().filter(|(packet, _)| *packet != 3) {
            let (is_first, is_last) = (packet == 0, packet + 1 == packets);
            let trailer = PacketTrailer { frame: 0, packet: packet as u32, is_first, is_last };
            let datagram = [data, &trailer.to_bytes()].concat();
            assembly.take(TrainSource::Module(0), 0, &datagram, &mut |_| panic!("it is not whole"));
        }
        assembly.finish(0, &mut |train| {
            processed.push(chain.process_assembled(&train, &mut out));
            train.into_buffer()
        });
        check(&chain);
        if incomplete == IncompletePolicy::Drop {
            assert_eq!((&*processed, chain.counters().images_in), (&[false][..], 0));
            continue;
        }
        assert_eq!((&*processed, out.indices()), (&[true][..], &[0, 2, 3, 4, 5][..]));
        assert_eq!((chain.counters().images_incomplete, chain.counters().images_in), (1, 6));
    }
}

proptest! {
    #[test]
    fn images_in_are_kept_or_rejected_by_reason(
        count in 0_usize..30,
        vetoed in proptest::collection::vec(0_u64..300, 0..6),
        level in 0.0_f32..1000.0,
        least in 0_usize..24,
        limits in (0.0_f64..6000.0, 0.0_f64..6000.0),
        order in Just(vec![0, 1, 2]).prop_shuffle(),
    ) {
        let images = images(count, 999);
        let limits = [limits.0.min(limits.1), limits.0.max(limits.1)];
        let step = |which: usize| -> Box<dyn Step> {
            match which {
                0 => Box::new(VetoList::new(vetoed.clone())),
                1 => Box::new(Threshold::new(level, least).expect("a level")),
                _ => Box::new(Region::new(SHAPE, 0..2, 0..6, limits).expect("a region")),
            }
        };
        let (out, chain) = run(&images, ValueType::U16, order.iter().map(|which| step(*which)).collect());
        // What is kept does not depend on the order; the reason does.
        let sum = |image: &[u16]| image[..12].iter().map(|value| f64::from(*value)).sum::<f64>();
        let is_kept = |&index: &usize| {
            let image = &images[index];
            !vetoed.contains(&(10 * index as u64))
                && image.iter().filter(|value| f32::from(**value) > level).count() >= least
                && sum(image) >= limits[0]
                && sum(image) <= limits[1]
        };
        prop_assert_eq!(out.indices(), (0..count).filter(is_kept).collect::<Vec<_>>());
        let counters = chain.counters();
        let rejected = counters.images_vetoed + counters.images_too_dark + counters.images_below_limits
            + counters.images_above_limits;
        prop_assert_eq!(counters.images_in, counters.images_kept + rejected);
    }
}
