//! Every fault is reported as itself, and harms no other train.

use super::common::{DATA_BYTES, IMAGES, MODULE, Watched, datagrams, settings, train, with_trailer};
use evforge_train::assembly::{
    AssemblyCounters, AssemblySettings, IncompleteCause, NumberFault, PacketFate, PacketFault, TrainContent,
    TrainOutcome, TrainReport,
};
use evforge_wire::train::{PacketTrailer, TrainRejection};
use std::time::Duration;

/// Sends a good train, one with a fault, and two good ones; the good ones come out whole and as they were. The faulty one's report, if it
/// was closed, and the counts.
fn around(faulty: impl FnOnce(&mut Watched, Vec<Vec<u8>>)) -> (Option<TrainReport>, AssemblyCounters) {
    let mut watched = Watched::new(settings());
    let trains: Vec<Vec<u8>> = (0..4).map(|at| train(100 + at, IMAGES)).collect();
    watched.take_all(MODULE, &datagrams(7, &trains[0]));
    faulty(&mut watched, datagrams(8, &trains[1]));
    watched.take_all(MODULE, &datagrams(9, &trains[2]));
    watched.take_all(MODULE, &datagrams(10, &trains[3]));
    watched.finish();
    for (frame, bytes) in [(7, &trains[0]), (9, &trains[2]), (10, &trains[3])] {
        let found = watched.bytes.iter().filter(|(of, _)| *of == frame).collect::<Vec<_>>();
        assert_eq!(found, [&(frame, bytes.clone())], "frame {frame}");
    }
    // If the train with the fault was handed on, it is as it was sent.
    let own = watched.bytes.iter().find(|(frame, _)| *frame == 8);
    assert!(own.is_none_or(|(_, bytes)| *bytes == trains[1]), "the train with the fault");
    (watched.closed.iter().find(|report| report.frame == 8).copied(), watched.counters())
}

/// Packets that are neither in good trains nor in those that are incomplete.
fn is_good(outcome: Option<TrainReport>) -> bool {
    outcome.is_some_and(|report| report.outcome == TrainOutcome::Good)
}

fn trailer(frame: u32, packet: u32, is_first: bool, is_last: bool) -> PacketTrailer {
    PacketTrailer { frame, packet, is_first, is_last }
}

#[test]
fn a_lost_packet() {
    let (report, counters) = around(|watched, mut packets| {
        packets.remove(5);
        watched.take_all(MODULE, &packets);
    });
    let report = report.expect("a report");
    assert_eq!(report.outcome, TrainOutcome::Incomplete(IncompleteCause::EndOfRun));
    assert_eq!(
        (report.missing, report.has_first, report.has_last, report.number),
        (1, true, true, Some(101))
    );
    // Packet 5 is bytes 1400 to 1679, and image 1 is bytes 1064 to 2063.
    assert_eq!((report.images, report.images_touched, report.is_size_known), (Some(IMAGES), 1, true));
    assert_eq!((counters.trains_ended, counters.packets_missing, counters.trains_good), (1, 1, 3));
    assert_eq!(counters.train_number_gaps, 1);
}

#[test]
fn a_repeated_packet() {
    let (report, counters) = around(|watched, packets| {
        for (at, packet) in packets.iter().enumerate() {
            assert_eq!(watched.take(MODULE, packet), PacketFate::Used);
            if at == 3 {
                assert_eq!(watched.take(MODULE, packet), PacketFate::Repeated);
            }
        }
    });
    assert!(is_good(report));
    assert_eq!((counters.packets_repeated, counters.trains_good), (1, 4));
}

#[test]
fn reordered_packets() {
    let (report, counters) = around(|watched, mut packets| {
        packets.reverse();
        watched.take_all(MODULE, &packets);
    });
    assert!(is_good(report));
    let packets = train(1, IMAGES).len().div_ceil(DATA_BYTES) as u64;
    assert_eq!((counters.packets_reordered, counters.trains_good), (packets - 1, 4));
}

#[test]
fn a_truncated_packet() {
    let (report, counters) = around(|watched, mut packets| {
        let cut = &packets[4][10..];
        assert_eq!(watched.take(MODULE, cut), PacketFate::Rejected(PacketFault::Cut));
        let runt = &packets[4][..7];
        assert_eq!(watched.take(MODULE, runt), PacketFate::Rejected(PacketFault::TooShort));
        let empty = &packets[4][DATA_BYTES..];
        assert_eq!(watched.take(MODULE, empty), PacketFate::Rejected(PacketFault::Empty));
        let long = [&[1], &*packets[4]].concat();
        assert_eq!(watched.take(MODULE, &long), PacketFate::Rejected(PacketFault::TooLong));
        packets.remove(4);
        watched.take_all(MODULE, &packets);
    });
    assert_eq!(report.expect("a report").missing, 1);
    let reasons =
        [counters.packets_cut, counters.packets_too_short, counters.packets_empty, counters.packets_too_long];
    assert_eq!((reasons, counters.trains_opened), ([1; 4], 4));
}

#[test]
fn a_last_packet_that_was_truncated() {
    // A last packet may have any length: the train's size is what does not fit.
    let (report, counters) = around(|watched, mut packets| {
        let last = packets.pop().expect("a packet");
        packets.push(last[10..].to_vec());
        watched.take_all(MODULE, &packets);
    });
    let found = train(1, IMAGES).len() - 10;
    let rejection = TrainRejection::WrongSize { announced: Some(found + 10), found };
    assert_eq!(report.expect("a report").outcome, TrainOutcome::WrongContent(rejection));
    assert_eq!((counters.trains_wrong_size, counters.trains_good), (1, 3));
}

#[test]
fn a_missing_first_packet() {
    let (report, counters) = around(|watched, packets| watched.take_all(MODULE, &packets[1..]));
    let report = report.expect("a report");
    assert_eq!((report.has_first, report.has_last, report.missing, report.number), (false, true, 1, None));
    // Its size tells how many images it has.
    assert_eq!((report.images, report.images_touched), (Some(IMAGES), 1));
    assert_eq!((counters.trains_without_first, counters.trains_without_last), (1, 0));
    assert_eq!((counters.trains_of_unknown_size, counters.trains_good), (0, 3));
}

#[test]
fn a_missing_last_packet() {
    let (report, counters) = around(|watched, mut packets| {
        packets.pop();
        packets.pop();
        watched.take_all(MODULE, &packets);
    });
    let report = report.expect("a report");
    assert_eq!((report.has_first, report.has_last, report.missing), (true, false, 2));
    assert_eq!((report.bytes, report.is_size_known), (train(1, IMAGES).len(), true));
    assert_eq!((counters.trains_without_first, counters.trains_without_last), (0, 1));
    assert_eq!((counters.packets_missing, counters.trains_good), (2, 3));
}

#[test]
fn first_and_last_packets_missing() {
    let (report, counters) = around(|watched, packets| watched.take_all(MODULE, &packets[1..8]));
    let report = report.expect("a report");
    assert_eq!((report.has_first, report.has_last, report.missing), (false, false, 1));
    assert_eq!((report.is_size_known, report.images), (false, None));
    assert_eq!((counters.trains_of_unknown_size, counters.trains_good), (1, 3));
}

#[test]
fn a_wrong_magic_number_at_the_beginning() {
    let (report, counters) = around(|watched, mut packets| {
        packets[0][3] ^= 1;
        watched.take_all(MODULE, &packets);
    });
    let outcome = report.expect("a report").outcome;
    assert!(matches!(outcome, TrainOutcome::WrongContent(TrainRejection::WrongBegin(_))), "{outcome:?}");
    assert_eq!((counters.trains_wrong_begin, counters.trains_good), (1, 3));
    assert!(counters.packets_in_rejected_trains > 0);
}

#[test]
fn a_wrong_magic_number_at_the_end() {
    let (report, counters) = around(|watched, mut packets| {
        let last = packets.last_mut().expect("a packet");
        let at = last.len() - PacketTrailer::BYTES - 1;
        last[at] ^= 1;
        watched.take_all(MODULE, &packets);
    });
    let outcome = report.expect("a report").outcome;
    assert!(matches!(outcome, TrainOutcome::WrongContent(TrainRejection::WrongEnd(_))), "{outcome:?}");
    assert_eq!((counters.trains_wrong_end, counters.trains_good), (1, 3));
}

#[test]
fn a_whole_train_shorter_than_a_header() {
    let (report, counters) = around(|watched, packets| {
        let short = with_trailer(&packets[0][..48], trailer(8, 0, true, true));
        assert_eq!(watched.take(MODULE, &short), PacketFate::Used);
    });
    assert_eq!(report.expect("a report").outcome, TrainOutcome::WrongContent(TrainRejection::TooShort(40)));
    assert_eq!((counters.trains_too_short, counters.trains_good), (1, 3));
}

#[test]
fn a_wrong_train_number() {
    let faults = [
        (100, NumberFault::Repeated),
        (99, NumberFault::Back),
        (1 << 40, NumberFault::FarAhead),
        (u64::MAX, NumberFault::FarAhead),
    ];
    for (wrong, fault) in faults {
        let (report, counters) = around(|watched, _| {
            watched.take_all(MODULE, &datagrams(8, &train(wrong, IMAGES)));
        });
        assert_eq!(report.expect("a report").outcome, TrainOutcome::WrongNumber(fault), "{wrong}");
        let found = [
            counters.trains_number_repeated,
            counters.trains_number_back,
            counters.trains_number_off_stride,
            counters.trains_number_far_ahead,
        ];
        let mut expected = [0; 4];
        expected[fault as usize] = 1;
        assert_eq!((found, counters.trains_good), (expected, 3), "{wrong}");
    }
}

#[test]
fn a_train_number_beside_the_stride() {
    let settings = settings();
    let TrainContent::Images(images) = settings.content else { panic!("images") };
    let content = TrainContent::Images(evforge_train::assembly::ImageContent { stride: Some(16), ..images });
    let mut watched = Watched::new(AssemblySettings { content, ..settings });
    for (frame, number) in [(0, 20), (1, 36), (2, 53), (3, 84)] {
        watched.take_all(MODULE, &datagrams(frame, &train(number, 1)));
    }
    let outcomes: Vec<TrainOutcome> = watched.closed.iter().map(|report| report.outcome).collect();
    let good = TrainOutcome::Good;
    assert_eq!(outcomes, [good, good, TrainOutcome::WrongNumber(NumberFault::OffStride), good]);
    assert_eq!(watched.counters().trains_number_off_stride, 1);
}

#[test]
fn a_late_train() {
    let (report, counters) = around(|watched, packets| {
        let half = packets.len() / 2;
        watched.take_all(MODULE, &packets[..half]);
        watched.wait(Duration::from_millis(200));
        for packet in &packets[half..] {
            assert_eq!(watched.take(MODULE, packet), PacketFate::Late);
        }
    });
    assert_eq!(report.expect("a report").outcome, TrainOutcome::Incomplete(IncompleteCause::TimeOut));
    assert_eq!((counters.trains_timed_out, counters.trains_opened, counters.trains_good), (1, 4, 3));
    assert!(counters.packets_late > 0);
}

#[test]
fn a_train_that_comes_again() {
    let (report, counters) = around(|watched, packets| {
        watched.take_all(MODULE, &packets);
        watched.take_all(MODULE, &packets);
    });
    assert!(is_good(report));
    assert_eq!((counters.trains_good, counters.packets_late), (4, counters.packets_in_good_trains / 4));
}

#[test]
fn two_trains_interleaved() {
    let mut watched = Watched::new(settings());
    let trains = [train(5, IMAGES), train(6, IMAGES), train(7, 1)];
    let [a, b, c] = [0, 1, 2].map(|at| datagrams(at as u32, &trains[at]));
    for (a, b) in a.iter().zip(&b).take(a.len() - 1) {
        watched.take(MODULE, a);
        watched.take(MODULE, b);
    }
    // The second one is whole first.
    watched.take(MODULE, b.last().expect("a packet"));
    watched.take(MODULE, a.last().expect("a packet"));
    watched.take_all(MODULE, &c);
    assert_eq!(watched.bytes, [(1, trains[1].clone()), (0, trains[0].clone()), (2, trains[2].clone())]);
    let counters = watched.counters();
    assert_eq!((counters.trains_good, counters.trains_out_of_order, counters.packets_reordered), (3, 1, 0));
}

#[test]
fn packets_that_contradict_the_last_one() {
    let (report, counters) = around(|watched, packets| {
        let count = packets.len() as u32;
        // Before the end was seen: a last packet below others.
        watched.take_all(MODULE, &packets[2..4]);
        let low = with_trailer(&packets[1], trailer(8, 1, false, true));
        assert_eq!(watched.take(MODULE, &low), PacketFate::Rejected(PacketFault::LastTooLow));
        let same = with_trailer(&packets[3], trailer(8, 3, false, true));
        assert_eq!(watched.take(MODULE, &same), PacketFate::Rejected(PacketFault::LastTooLow));
        watched.take(MODULE, packets.last().expect("a packet"));
        // After that: others above it, and other last ones.
        let above = with_trailer(&packets[1], trailer(8, count, false, false));
        assert_eq!(watched.take(MODULE, &above), PacketFate::Rejected(PacketFault::BeyondLast));
        for packet in [1, count] {
            let last = with_trailer(&packets[1], trailer(8, packet, false, true));
            assert_eq!(watched.take(MODULE, &last), PacketFate::Rejected(PacketFault::OtherLast));
        }
        watched.take_all(MODULE, &packets[..2]);
        watched.take_all(MODULE, &packets[4..packets.len() - 1]);
    });
    assert!(is_good(report));
    let reasons = [counters.packets_last_too_low, counters.packets_beyond_last, counters.packets_other_last];
    assert_eq!((reasons, counters.trains_good), ([2, 1, 2], 4));
}

#[test]
fn packets_that_are_wrong_by_themselves_open_no_train() {
    let (report, counters) = around(|watched, packets| {
        for (packet, is_first) in [(1, true), (0, false)] {
            let wrong = with_trailer(&packets[0], trailer(8, packet, is_first, false));
            assert_eq!(watched.take(MODULE, &wrong), PacketFate::Rejected(PacketFault::WrongFirst));
        }
        for packet in [20, PacketTrailer::LARGEST_PACKET] {
            let beyond = with_trailer(&packets[0], trailer(8, packet, false, packet == 20));
            assert_eq!(watched.take(MODULE, &beyond), PacketFate::Rejected(PacketFault::BeyondLargest));
        }
        assert_eq!(watched.counters().trains_open, 0);
    });
    assert_eq!(report, None);
    assert_eq!((counters.packets_wrong_first, counters.packets_beyond_largest), (2, 2));
    assert_eq!((counters.trains_opened, counters.trains_good), (3, 3));
}

#[test]
fn a_wrong_frame_number_of_one_packet() {
    let (report, counters) = around(|watched, mut packets| {
        packets[6] = with_trailer(&packets[6], trailer(8 | 1 << 31, 6, false, false));
        watched.take_all(MODULE, &packets);
    });
    let report = report.expect("a report");
    assert_eq!((report.missing, counters.trains_opened, counters.trains_good), (1, 5, 3));
    // Both it and the train that its packet seemed to be of are closed for those after them.
    assert_eq!(counters.trains_superseded + counters.trains_ended, 2);
}

#[test]
fn frames_that_wrap() {
    let mut watched = Watched::new(settings());
    for at in 0..6_u32 {
        let frame = (u32::MAX - 2).wrapping_add(at);
        let packets = datagrams(frame, &train(u64::from(at), 1));
        watched.take_all(MODULE, &packets);
        assert_eq!(watched.take(MODULE, &packets[0]), PacketFate::Late, "{frame}");
    }
    assert_eq!(watched.counters().trains_good, 6);
}

#[test]
fn the_oldest_train_makes_room() {
    let mut watched = Watched::new(settings());
    let packets: Vec<_> = (0..3).map(|at| datagrams(at, &train(u64::from(at), 1))).collect();
    for packets in &packets {
        watched.take(MODULE, &packets[0]);
    }
    let report = watched.closed[0];
    assert_eq!((report.frame, report.outcome), (0, TrainOutcome::Incomplete(IncompleteCause::Superseded)));
    assert_eq!(watched.take(MODULE, &packets[0][1]), PacketFate::Late);
    watched.take_all(MODULE, &packets[1][1..]);
    watched.take_all(MODULE, &packets[2][1..]);
    assert_eq!((watched.counters().trains_good, watched.counters().trains_superseded), (2, 1));
}

#[test]
fn a_single_packet_may_be_marked_as_the_last_only() {
    let mut watched = Watched::new(AssemblySettings { data_bytes: 4000, largest_train: 4000, ..settings() });
    let train = train(1, 1);
    let only = [&*train, &trailer(0, 0, false, true).to_bytes()].concat();
    assert_eq!(watched.take(MODULE, &only), PacketFate::Used);
    assert_eq!(watched.bytes, [(0, train)]);
}

#[test]
fn cut_trains_are_whole_after_so_many_packets() {
    let content = TrainContent::Packets(9);
    let mut watched = Watched::new(AssemblySettings { content, ..settings() });
    let bytes = train(1, IMAGES);
    let packets = datagrams(0, &bytes);
    watched.take_all(MODULE, &packets[..9]);
    assert_eq!(watched.bytes, [(0, bytes[..9 * DATA_BYTES].to_vec())]);
    assert_eq!(watched.take(MODULE, &packets[9]), PacketFate::Late);
    // A last packet elsewhere, and one beyond, open no train.
    let early = with_trailer(&packets[4], trailer(1, 4, false, true));
    assert_eq!(watched.take(MODULE, &early), PacketFate::Rejected(PacketFault::OtherLast));
    let beyond = with_trailer(&packets[4], trailer(1, 9, false, false));
    assert_eq!(watched.take(MODULE, &beyond), PacketFate::Rejected(PacketFault::BeyondLast));
    let counters = watched.counters();
    assert_eq!((counters.trains_opened, counters.trains_open), (1, 0));
    // One packet is lost, the last one is short.
    for packet in [0, 1, 2, 3, 5, 6, 7] {
        watched.take(MODULE, &with_trailer(&packets[packet], trailer(1, packet as u32, packet == 0, false)));
    }
    watched.take(MODULE, &with_trailer(&packets[4][..50], trailer(1, 8, false, true)));
    watched.finish();
    let report = watched.closed[1];
    assert_eq!((report.missing, report.bytes, report.is_size_known), (1, 8 * DATA_BYTES + 42, true));
    assert_eq!((report.images, report.images_touched, report.number), (None, 0, None));
}
