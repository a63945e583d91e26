//! What is known of a train that is incomplete, and what is in it if it is handed on.

use super::common::{DATA_BYTES, IMAGES, MODULE, Watched, datagrams, layout, settings, train};
use evforge_train::assembly::{AssemblySettings, IncompletePolicy, PacketFate, PacketFault};

fn keeping(incomplete: IncompletePolicy) -> Watched {
    // One buffer only, so that every train has the memory of the one before.
    let one =
        AssemblySettings { incomplete, open_trains: 1, open_trains_of_source: 1, buffers: 1, ..settings() };
    Watched::new(one)
}

/// A train with zeros where packets are missing.
fn with_holes(mut train: Vec<u8>, missing: &[usize]) -> Vec<u8> {
    for packet in missing {
        let end = train.len().min((packet + 1) * DATA_BYTES);
        train[packet * DATA_BYTES..end].fill(0);
    }
    train
}

#[test]
fn a_buffer_never_shows_an_earlier_train() {
    let whole = train(2, IMAGES);
    let count = whole.len().div_ceil(DATA_BYTES);
    let cases: [&[usize]; 5] = [&[0], &[5], &[3, 4, 9], &[count - 1], &[0, count - 2]];
    for policy in [IncompletePolicy::Mark, IncompletePolicy::Zero] {
        for missing in cases {
            let mut watched = keeping(policy);
            watched.take_all(MODULE, &datagrams(1, &train(1, IMAGES)));
            let packets = datagrams(2, &whole);
            for (at, packet) in packets.iter().enumerate().filter(|(at, _)| !missing.contains(at)) {
                assert_eq!(watched.take(MODULE, packet), PacketFate::Used, "{at}");
            }
            watched.finish();
            assert_eq!(watched.bytes[1], (2, with_holes(whole.clone(), missing)), "{missing:?}");
            assert_eq!(watched.closed[1].missing as usize, missing.len());
        }
    }
}

#[test]
fn of_a_train_of_unknown_size_there_is_what_was_seen() {
    let mut watched = keeping(IncompletePolicy::Zero);
    watched.take_all(MODULE, &datagrams(1, &train(1, IMAGES)));
    let whole = train(2, IMAGES);
    watched.take_all(MODULE, &datagrams(2, &whole)[2..6]);
    watched.finish();
    assert_eq!(watched.bytes[1], (2, with_holes(whole[..6 * DATA_BYTES].to_vec(), &[0, 1])));
    // Bytes 0 to 559 are missing: a part of image 0.
    assert_eq!((watched.closed[1].images, watched.closed[1].images_touched), (None, 1));
}

#[test]
fn marked_trains_leave_out_the_images_that_holes_touch_and_zeroed_ones_do_not() {
    for policy in [IncompletePolicy::Mark, IncompletePolicy::Zero] {
        let mut watched = Watched::new(AssemblySettings { incomplete: policy, ..settings() });
        watched.keeps = true;
        let whole = train(2, IMAGES);
        let mut packets = datagrams(2, &whole);
        // Bytes 1960 to 2239: the end of image 1 and the beginning of image 2.
        packets.remove(7);
        watched.take_all(MODULE, &packets);
        watched.finish();
        let train = &watched.kept[0];
        assert_eq!((train.report().images_touched, train.report().images), (2, Some(IMAGES)));
        let there: Vec<bool> = (0..=IMAGES).map(|image| train.has_image(image)).collect();
        assert_eq!(there, [true, false, false, true, false]);
        let missing: Vec<u32> = train.missing_packets().flatten().collect();
        assert_eq!(missing, [7]);
        let given: Vec<bool> = (0..=IMAGES).map(|image| train.image(image).is_some()).collect();
        let all = policy == IncompletePolicy::Zero;
        assert_eq!(given, [true, all, all, true, false]);
        assert_eq!(train.image(3), Some(&whole[layout(IMAGES).image(3)]));
        assert_eq!(train.train().expect("header and trailer are there").header().train, 2);
    }
}

#[test]
fn an_image_of_which_only_the_descriptor_is_missing_is_touched() {
    let mut watched = keeping(IncompletePolicy::Mark);
    watched.keeps = true;
    let whole = train(2, IMAGES);
    let mut packets = datagrams(2, &whole);
    let cells = layout(IMAGES).cells().start;
    let hole = cells / DATA_BYTES;
    assert!(hole * DATA_BYTES > layout(IMAGES).image(2).end, "the hole is behind image 2");
    packets.remove(hole);
    watched.take_all(MODULE, &packets);
    watched.finish();
    assert_eq!(watched.kept[0].report().images_touched, IMAGES as u64);
    assert!((0..IMAGES).all(|image| watched.kept[0].image(image).is_none()));
}

#[test]
fn what_is_missing_is_what_was_left_out() {
    let whole = train(2, IMAGES);
    let packets = datagrams(2, &whole);
    let layout = layout(IMAGES);
    // Every pair of packets.
    for first in 0..packets.len() {
        for second in first + 1..packets.len() {
            let mut watched = Watched::new(settings());
            for (_, packet) in packets.iter().enumerate().filter(|(at, _)| *at != first && *at != second) {
                watched.take(MODULE, packet);
            }
            watched.finish();
            let report = watched.closed[0];
            let knows = first > 0 || second + 1 < packets.len();
            assert_eq!(report.is_size_known, knows, "{first} {second}");
            if !knows {
                assert_eq!(report.missing, 1, "the first one: the last was never heard of");
                continue;
            }
            let is_lost = |byte: usize| byte / DATA_BYTES == first || byte / DATA_BYTES == second;
            let touched = (0..IMAGES).filter(|&image| {
                let wide = |start: usize, width: usize| start + image * width..start + (image + 1) * width;
                let descriptors = [
                    wide(layout.cells().start, 2),
                    wide(layout.pulses().start, 8),
                    wide(layout.statuses().start, 2),
                    wide(layout.lengths().start, 4),
                ];
                layout.image(image).chain(descriptors.into_iter().flatten()).any(is_lost)
            });
            let expected = (2, Some(IMAGES), touched.count() as u64);
            assert_eq!((report.missing, report.images, report.images_touched), expected, "{first} {second}");
        }
    }
}

#[test]
fn a_train_without_a_buffer_is_counted_and_opens_when_there_is_one_again() {
    let mut watched = keeping(IncompletePolicy::Drop);
    watched.keeps = true;
    watched.take_all(MODULE, &datagrams(1, &train(1, 1)));
    let next = datagrams(2, &train(2, 1));
    assert_eq!(watched.take(MODULE, &next[0]), PacketFate::Rejected(PacketFault::NoBuffer));
    let buffer = watched.kept.pop().and_then(|train| train.into_buffer()).expect("a buffer");
    assert!(watched.assembly.give_back(buffer));
    // The rest of that train makes no train of its own.
    assert_eq!(watched.take(MODULE, &next[1]), PacketFate::Rejected(PacketFault::NoBuffer));
    watched.take_all(MODULE, &datagrams(3, &train(3, 1)));
    let counters = watched.counters();
    assert_eq!((counters.trains_without_buffer, counters.packets_without_buffer), (1, 2));
    assert_eq!((counters.trains_opened, counters.trains_good), (2, 2));
}

#[test]
fn a_buffer_of_another_assembly_is_not_taken() {
    let mut other = Watched::new(AssemblySettings { largest_train: 9999, ..settings() });
    other.keeps = true;
    other.take_all(MODULE, &datagrams(1, &train(1, 1)));
    let buffer = other.kept.pop().and_then(|train| train.into_buffer()).expect("a buffer");
    let mut watched = Watched::new(settings());
    assert!(!watched.assembly.give_back(buffer));
    assert_eq!(watched.counters().buffers_free, 4);
}
