//! Each step by itself.

use super::common::{SHAPE, VALUES, floats, images, numbers, run};
use evforge_train::processing::{Calibration, Integration, Region, Step, Threshold, ValueType, VetoList};

fn boxed(step: impl Step + 'static) -> Vec<Box<dyn Step>> {
    vec![Box::new(step)]
}

#[test]
fn without_steps_values_are_as_they_were() {
    let images = images(5, u16::MAX);
    let all = images.concat();
    assert_eq!(numbers(&run(&images, ValueType::U16, vec![]).0), all);
    let as_floats: Vec<f32> = all.iter().map(|value| f32::from(*value)).collect();
    assert_eq!(floats(&run(&images, ValueType::F32, vec![]).0), as_floats);
    // Values that went through floats are the same.
    let (out, chain) = run(&images, ValueType::U16, boxed(Threshold::new(0.0, 0).expect("a level")));
    assert_eq!((numbers(&out), chain.counters().pixels_clamped), (&*all, 0));
}

#[test]
fn calibration_takes_the_pedestal_off_and_multiplies_by_the_gain() {
    let images = images(3, 4095);
    let pedestals: Vec<f32> = (0..VALUES).map(|k| 100.25 + 3.0 * k as f32).collect();
    let gains: Vec<f32> = (0..VALUES).map(|k| 0.5 + 0.01 * k as f32).collect();
    let step = Calibration::new(VALUES, pedestals.clone(), gains.clone()).expect("constants");
    let (out, _) = run(&images, ValueType::F32, boxed(step.clone()));
    let mut expected = vec![];
    for image in &images {
        for k in 0..VALUES {
            expected.push((f32::from(image[k]) - pedestals[k]) * gains[k]);
        }
    }
    assert_eq!(floats(&out), expected);
    let (out, chain) = run(&images, ValueType::U16, boxed(step));
    let mut clamped = 0;
    for (found, expected) in numbers(&out).iter().zip(expected) {
        // In 64 bits, with a rule of its own for halves.
        let value = f64::from(expected);
        let floor = value.floor();
        let up = value - floor > 0.5 || (value - floor == 0.5 && floor % 2.0 != 0.0);
        let nearest = if up { floor + 1.0 } else { floor };
        clamped += u64::from(!(0.0..=65535.0).contains(&nearest));
        assert_eq!(f64::from(*found), nearest.clamp(0.0, 65535.0), "{expected}");
    }
    assert_eq!(chain.counters().pixels_clamped, clamped);
    assert!(clamped > 0, "some are below 0");
}

#[test]
fn halves_are_rounded_to_the_even_one_and_the_rest_clamped() {
    let mut image = vec![0; VALUES];
    image[..7].copy_from_slice(&[1, 3, 5, 65535, 0, 9, 7]);
    let mut gains = vec![0.5; VALUES];
    gains[3] = 2.0;
    gains[4] = 1.0;
    gains[5] = f32::NAN;
    let mut pedestals = vec![0.0; VALUES];
    pedestals[4] = 7.0;
    let step = Calibration::new(VALUES, pedestals, gains).expect("constants");
    let (out, chain) = run(&[image], ValueType::U16, boxed(step));
    assert_eq!(numbers(&out)[..7], [0, 2, 2, 65535, 0, 0, 4]);
    assert_eq!((chain.counters().pixels_clamped, chain.counters().pixels_not_numbers), (2, 1));
}

#[test]
fn constants_may_be_those_of_storage_cells() {
    let images = images(4, 1000);
    // Three cells for four images.
    let pedestals: Vec<f32> = (0..3 * VALUES).map(|k| k as f32).collect();
    let step = Calibration::new(VALUES, pedestals, vec![1.0; 3 * VALUES]).expect("constants");
    let (out, chain) = run(&images, ValueType::F32, boxed(step));
    assert_eq!((out.indices(), chain.counters().images_of_unknown_cells), (&[0, 1, 2][..], 1));
    for (cell, values) in floats(&out).chunks(VALUES).enumerate() {
        for (k, value) in values.iter().enumerate() {
            assert_eq!(*value, f32::from(images[cell][k]) - (cell * VALUES + k) as f32);
        }
    }
}

#[test]
fn threshold_keeps_images_with_enough_pixels_above_the_level() {
    let images = images(40, 999);
    let (level, least) = (500.0, 12);
    let (out, chain) = run(&images, ValueType::U16, boxed(Threshold::new(level, least).expect("a level")));
    let mut expected = vec![];
    for (index, image) in images.iter().enumerate() {
        let mut above = 0;
        for value in image {
            if *value > 500 {
                above += 1;
            }
        }
        if above >= least {
            expected.push(index);
        }
    }
    assert!((1..40).contains(&expected.len()), "both kinds are there");
    assert_eq!(out.indices(), expected);
    assert_eq!(chain.counters().images_too_dark, (40 - expected.len()) as u64);
    // The level itself is not above it.
    let (out, _) =
        run(&[vec![500; VALUES]], ValueType::U16, boxed(Threshold::new(level, 1).expect("a level")));
    assert!(out.indices().is_empty());
}

#[test]
fn a_region_keeps_images_whose_sum_is_within_limits() {
    let images = images(60, 999);
    let sum = |image: &[u16]| -> u64 {
        let mut sum = 0;
        for row in 1..3 {
            for column in 2..6 {
                sum += u64::from(image[row * 6 + column]);
            }
        }
        sum
    };
    let mut sums: Vec<u64> = images.iter().map(|image| sum(image)).collect();
    sums.sort_unstable();
    // Both limits are sums of images.
    let limits = [sums[15], sums[44]];
    let step = Region::new(SHAPE, 1..3, 2..6, limits.map(|limit| limit as f64)).expect("a region");
    let (out, chain) = run(&images, ValueType::U16, boxed(step));
    let expected: Vec<usize> =
        (0..60).filter(|&index| (limits[0]..=limits[1]).contains(&sum(&images[index]))).collect();
    assert_eq!(out.indices(), expected);
    let below = sums.iter().filter(|sum| **sum < limits[0]).count() as u64;
    let above = sums.iter().filter(|sum| **sum > limits[1]).count() as u64;
    assert_eq!((chain.counters().images_below_limits, chain.counters().images_above_limits), (below, above));
    assert!(below > 0 && above > 0);
}

#[test]
fn vetoed_pulses_are_rejected_by_their_number() {
    let images = images(6, 100);
    // Pulses are 0, 10 … 50; 25 is of none.
    let (out, chain) = run(&images, ValueType::U16, boxed(VetoList::new(vec![50, 10, 25, 10])));
    assert_eq!((out.indices(), chain.counters().images_vetoed), (&[0, 2, 3, 4][..], 2));
    let pulses: Vec<u64> = out.descriptors().iter().map(|descriptor| descriptor.pulse).collect();
    assert_eq!(pulses, [0, 20, 30, 40]);
    assert_eq!(numbers(&out), [0, 2, 3, 4].map(|index: usize| images[index].clone()).concat());
}

#[test]
fn integration_adds_up_every_pixel_and_every_pulse() {
    let images = images(5, u16::MAX);
    let (_, chain) = run(&images, ValueType::U16, boxed(Integration::new(VALUES, 41)));
    let found = chain.integrated().next().expect("sums");
    for k in 0..VALUES {
        let mut sum = 0_u64;
        let mut largest = 0;
        for image in &images {
            sum += u64::from(image[k]);
            largest = largest.max(image[k]);
        }
        assert_eq!((found.sums()[k], found.counts()[k]), (sum as f64, 5));
        assert_eq!(found.largest()[k], f32::from(largest));
    }
    for (pulse, intensity) in found.pulses().iter().enumerate() {
        let mut sum = 0_u64;
        if pulse.is_multiple_of(10) {
            images[pulse / 10].iter().for_each(|value| sum += u64::from(*value));
        }
        assert_eq!((intensity.images, intensity.sum), (u64::from(pulse.is_multiple_of(10)), sum as f64));
    }
    assert_eq!((found.images(), found.beyond_pulses()), (5, 0));
    // Pulse 40 has no place now.
    let (_, chain) = run(&images, ValueType::U16, boxed(Integration::new(VALUES, 40)));
    assert_eq!(chain.integrated().next().expect("sums").beyond_pulses(), 1);
}

#[test]
fn sums_of_two_threads_are_those_of_one() {
    let images = images(10, u16::MAX);
    let sums = |images: &[Vec<u16>]| {
        let (_, chain) = run(images, ValueType::U16, boxed(Integration::new(VALUES, 100)));
        chain.integrated().next().expect("sums").clone()
    };
    let (mut first, second) = (sums(&images[..5]), sums(&images[5..]));
    first.merge(&second).expect("the same sizes");
    let whole = sums(&images);
    assert_eq!((first.sums(), first.counts(), first.images()), (whole.sums(), whole.counts(), 10));
    assert_eq!(first.largest(), whole.largest());
    let total = |sums: &evforge_train::processing::IntegratedImages| -> f64 {
        sums.pulses().iter().map(|pulse| pulse.sum).sum()
    };
    assert_eq!(total(&first), total(&whole));
    let (_, other) = run(&images, ValueType::U16, boxed(Integration::new(VALUES, 99)));
    assert!(first.merge(other.integrated().next().expect("sums")).is_err());
}

#[test]
fn masked_pixels_count_nowhere() {
    let mut gains = vec![1.0; VALUES];
    gains[8] = f32::NAN;
    let calibration =
        || Box::new(Calibration::new(VALUES, vec![0.0; VALUES], gains.clone()).expect("constants"));
    let images = vec![vec![10; VALUES]];
    // Pixel 8 is in row 1, column 2; the sum of the others of that row is 50.
    let region = Region::new(SHAPE, 1..2, 0..6, [50.0, 50.0]).expect("a region");
    let threshold = Threshold::new(9.0, VALUES - 1).expect("a level");
    let integration = Integration::new(VALUES, 1);
    let steps: Vec<Box<dyn Step>> =
        vec![calibration(), Box::new(region), Box::new(threshold), Box::new(integration)];
    let (out, chain) = run(&images, ValueType::F32, steps);
    assert_eq!(out.indices(), [0]);
    let sums = chain.integrated().next().expect("sums");
    assert_eq!((sums.counts()[8], sums.sums()[8], sums.largest()[8]), (0, 0.0, f32::NEG_INFINITY));
    assert_eq!((sums.counts()[9], sums.pulses()[0].sum), (1, 230.0));
    let all = Threshold::new(9.0, VALUES).expect("a level");
    let (out, _) = run(&images, ValueType::F32, vec![calibration(), Box::new(all)]);
    assert!(out.indices().is_empty());
}

#[test]
fn impossible_settings_are_refused_with_their_key() {
    let key = |error: evforge_core::settings::SettingsError| error.key;
    for pedestals in [0, 23, 36] {
        let error = Calibration::new(VALUES, vec![0.0; pedestals], vec![1.0; pedestals]);
        assert_eq!(key(error.expect_err("no whole set")), "pedestals");
    }
    let error = Calibration::new(VALUES, vec![0.0; 24], vec![1.0; 48]);
    assert_eq!(key(error.expect_err("too many gains")), "gains");
    assert_eq!(key(Threshold::new(f32::NAN, 1).expect_err("not a number")), "level");
    let region =
        |rows, columns, limits| key(Region::new(SHAPE, rows, columns, limits).expect_err("a wrong region"));
    assert_eq!(region(2..2, 0..1, [0.0, 1.0]), "rows");
    assert_eq!(region(0..5, 0..1, [0.0, 1.0]), "rows");
    assert_eq!(region(0..4, 6..7, [0.0, 1.0]), "columns");
    assert_eq!(region(0..4, 0..6, [1.0, 0.0]), "limits");
    assert_eq!(region(0..4, 0..6, [f64::NAN, 0.0]), "limits");
}
