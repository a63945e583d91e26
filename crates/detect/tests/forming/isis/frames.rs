//! When a frame is complete, incomplete or late, and what it says.

use super::*;
use evforge_core::frame::FrameState::{self, Complete, Incomplete, Late, Unknown};
use evforge_detect::isis::settings::{Announced, Expected, VetoSettings};
use evforge_testkit::properties::cases;
use proptest::prelude::*;

/// Frames by number, state and number of events.
fn states(formed: &[Formed]) -> Vec<(u64, FrameState, usize)> {
    formed.iter().map(|(start, frame, events)| ((start - T) / FRAME, frame.state, events.len())).collect()
}

#[test]
fn a_frame_leaves_when_all_that_was_announced_has_come() {
    let mut isis = Isis::new(&two_boards()).unwrap();
    let mut out = Vec::new();
    feed(&mut isis, &[message(1, 0, 2, &[(5, 1)]), message(2, 0, 1, &[(3, 9)])], 1, 64, &mut out);
    assert_eq!((out.len(), count(&isis, "held")), (0, 2));
    feed(&mut isis, &[message(1, 0, 2, &[(2, 7)])], 1, 64, &mut out);
    assert_eq!(out[0].2, [(40, 1007), (60, 2009), (100, 1001)]);
    assert_eq!((states(&out), count(&isis, "held")), (vec![(0, Complete, 3)], 0));
    let frames = isis.ledger().frames.unwrap();
    assert_eq!((frames.live_fraction(), frames.all.raw, frames.all.raw_events), (Some(1.0), 1, 3));
    assert_eq!(frames.periods[3].raw, 1);
}

#[test]
fn a_lost_datagram_makes_exactly_its_frame_incomplete() {
    let mut packets = Vec::new();
    for frame in 0..20 {
        for board in [1, 2] {
            packets.push(message(board, frame, 3, &[(frame, 1), (7, 2)]));
            packets.push(message(board, frame, 3, &[(9, 3)]));
        }
    }
    let (whole, isis) = form(&two_boards(), &packets);
    assert!(whole.iter().all(|(_, frame, events)| frame.state == Complete && events.len() == 6));
    assert_eq!((whole.len(), count(&isis, "frames_complete")), (20, 20));
    for lost in [0, 21, 38, 79] {
        let mut packets = packets.clone();
        packets.remove(lost);
        let (formed, isis) = form(&two_boards(), &packets);
        for (number, ((start, frame, events), whole)) in formed.iter().zip(&whole).enumerate() {
            let is_hit = number == lost / 4;
            assert_eq!(
                (frame.state == Incomplete, events == &whole.2),
                (is_hit, !is_hit),
                "{lost}: frame {number}"
            );
            assert_eq!(*start, whole.0);
        }
        assert_eq!((formed.len(), count(&isis, "board_frames_partial")), (20, 1));
        let lost_events = if lost % 2 == 0 { 2 } else { 1 };
        assert_eq!(count(&isis, "events_missing"), lost_events);
        let packets = isis.ledger().packets();
        assert_eq!((packets.sent, packets.received, packets.lost), (Some(40), 39, 1));
    }
}

#[test]
fn a_whole_frame_of_a_board_that_is_lost_is_a_gap_in_its_numbers() {
    let packets: Vec<_> = (0..9)
        .flat_map(|frame| [(1, frame), (2, frame)])
        .filter(|&sent| sent != (2, 4))
        .map(|(board, frame)| message(board, frame, 1, &[(1, 1)]))
        .collect();
    let (formed, isis) = form(&two_boards(), &packets);
    let incomplete: Vec<_> = states(&formed).into_iter().filter(|(_, state, _)| *state != Complete).collect();
    assert_eq!((formed.len(), incomplete), (9, vec![(4, Incomplete, 1)]));
    let ledger = isis.ledger();
    let of = |board: usize| (ledger.sources[board].packets.sent, ledger.sources[board].packets.lost);
    assert_eq!((of(0), of(1), count(&isis, "board_frames_absent")), ((Some(9), 0), (Some(9), 1), 1));
}

#[test]
fn a_board_that_falls_silent_is_waited_for_until_the_lag_is_over() {
    let mut packets = vec![message(1, 0, 1, &[(1, 1)]), message(2, 0, 1, &[(1, 1)])];
    packets.extend((1..70).map(|frame| message(1, frame, 1, &[(1, 1)])));
    let mut isis = Isis::new(&two_boards()).unwrap();
    let mut out = Vec::new();
    feed(&mut isis, &packets[..51], 1, 64, &mut out);
    // 500 ms are 50 frames; memory for 16 open ones is less.
    assert_eq!(states(&out)[0], (0, Complete, 2));
    assert!(count(&isis, "forced_closings") > 0);
    let roomy = IsisSettings {
        frames: FrameSettings { max_open: 100, max_held_events: 1 << 20, ..FrameSettings::default() },
        ..two_boards()
    };
    let mut isis = Isis::new(&roomy).unwrap();
    let mut out = Vec::new();
    feed(&mut isis, &packets[..53], 1, 64, &mut out);
    assert_eq!(states(&out), [(0, Complete, 2)]);
    feed(&mut isis, &packets[53..], 1, 64, &mut out);
    assert_eq!(states(&out)[1..3], [(1, Late, 1), (2, Late, 1)]);
    assert_eq!((out.len(), count(&isis, "forced_closings")), (19, 0));
    // What comes now of such a frame makes no second one.
    feed(&mut isis, &[message(2, 3, 1, &[(4, 4)])], 1, 64, &mut out);
    assert_eq!((out.len(), count(&isis, "late"), count(&isis, "messages_late")), (19, 1, 1));
    finish(&mut isis, 64, &mut out);
    assert_eq!(states(&out).last(), Some(&(69, Incomplete, 1)));
    assert_eq!((out.len(), isis.ledger().unaccounted()), (70, 0));
}

#[test]
fn boards_whose_clocks_differ_a_little_send_one_frame() {
    let at = |board: u8, gps_ns: u64| {
        let header = Header { gps_ns, ..header(board, 0, 1) };
        (address(board), datagram(&header, &[(1, u32::from(board))]))
    };
    for (first, second) in [(T + 30, T), (T, T + 30)] {
        let (formed, _) = form(&two_boards(), &[at(1, first), at(2, second)]);
        assert_eq!((formed.len(), formed[0].0, formed[0].1.state), (1, T, Complete));
        assert_eq!(formed[0].2, [(20, 1001), (20, 2002)]);
    }
    let (formed, _) = form(&two_boards(), &[at(1, T), at(2, T + 1001)]);
    assert_eq!(formed.iter().map(|(_, frame, _)| frame.state).collect::<Vec<_>>(), [Incomplete, Incomplete]);
}

#[test]
fn messages_that_come_twice_count_once() {
    let mut packets = Vec::new();
    for frame in 0..4 {
        for board in [1, 2] {
            packets.push(message(board, frame, 4, &[(1, 1), (2, 2)]));
            packets.push(message(board, frame, 4, &[(3, 3), (4, 4)]));
        }
    }
    let (whole, _) = form(&two_boards(), &packets);
    for doubled in 0..12 {
        let mut packets = packets.clone();
        packets.insert(doubled + 1, packets[doubled].clone());
        let (formed, isis) = form(&two_boards(), &packets);
        assert_eq!(formed, whole, "{doubled}");
        // Behind the last message of a frame the copy is late.
        assert_eq!(count(&isis, "repeated") + count(&isis, "late"), 2);
    }
}

#[test]
fn what_the_control_board_says_of_a_frame_counts() {
    let mut settings = two_boards();
    settings.boards.push(BoardSettings {
        source: Some(address(9)),
        pcb: 15,
        address: None,
        name: "control".into(),
    });
    settings.vetoes = vec![
        VetoSettings { bit: 2, name: "shutter".into(), counts: false },
        VetoSettings { bit: 3, name: "chopper".into(), counts: true },
    ];
    let control = |frame: u32, vetoes: u32| {
        let header = Header { pcb: 15, board: None, period: 5, protons: 7, vetoes, ..header(9, frame, 0) };
        (address(9), datagram(&header, &[]))
    };
    let vetoed = |board: u8, frame: u32, vetoes: u32| {
        (address(board), datagram(&Header { vetoes, ..header(board, frame, 0) }, &[]))
    };
    let (formed, isis) = form(
        &settings,
        &[
            control(0, 4),
            message(1, 0, 0, &[]),
            vetoed(2, 0, 1 << 9),
            vetoed(1, 1, 4),
            message(2, 1, 0, &[]),
            control(1, 0),
            message(1, 2, 0, &[]),
            message(2, 2, 0, &[]),
            control(2, 8),
        ],
    );
    let frames: Vec<_> =
        formed.iter().map(|(_, frame, _)| (frame.period, frame.vetoes, frame.is_vetoed)).collect();
    // A veto without a name counts.
    assert_eq!(frames, [(Some(5), 4 | 1 << 9, true), (Some(5), 4, false), (Some(5), 8, true)]);
    assert!(
        formed
            .iter()
            .all(|(_, frame, _)| frame.charge.unwrap().uah == 7.0 * 1.738e-6 && frame.state == Complete)
    );
    assert_eq!((count(&isis, "frames_period_differs"), count(&isis, "frames_charge_differs")), (3, 3));
    let frames = isis.ledger().frames.unwrap();
    assert_eq!((frames.all.raw, frames.all.good), (3, 1));
    let vetoes: Vec<_> =
        frames.vetoes.iter().map(|veto| (veto.bit, veto.name.as_str(), veto.frames)).collect();
    assert_eq!(vetoes, [(2, "shutter", 2), (3, "chopper", 1), (9, "bit 9", 1)]);
}

#[test]
fn where_boards_announce_nothing_a_frame_leaves_when_all_have_gone_on() {
    let mut settings = two_boards();
    settings.frames.announced = Announced::Ignored;
    settings.frames.window = 0;
    let packets =
        [(1, 0), (2, 0), (1, 1), (1, 2), (2, 2)].map(|(board, frame)| message(board, frame, 77, &[(1, 1)]));
    let mut isis = Isis::new(&settings).unwrap();
    let mut out = Vec::new();
    feed(&mut isis, &packets[..3], 1, 64, &mut out);
    assert_eq!(out.len(), 0);
    feed(&mut isis, &packets[3..], 1, 64, &mut out);
    assert_eq!(states(&out), [(0, Unknown, 2), (1, Incomplete, 1)]);
}

#[test]
fn boards_that_nobody_lists_are_waited_for_once_they_send() {
    let settings = IsisSettings { boards: Vec::new(), ..two_boards() };
    let packets: Vec<_> = (0..6)
        .flat_map(|frame| [(1, frame), (2, frame)])
        .filter(|&(board, frame)| (board, frame) != (2, 0) && (board, frame) != (2, 3))
        .map(|(board, frame)| message(board, frame, 1, &[(1, 1)]))
        .collect();
    let (formed, isis) = form(&settings, &packets);
    let all = states(&formed);
    // The second board begins while frames leave only when all have gone on.
    assert_eq!(all[0], (0, Complete, 1));
    assert_eq!((all[1], all[3], all[4].1, all.len()), ((1, Complete, 2), (3, Incomplete, 1), Complete, 6));
    assert_eq!(count(&isis, "late"), 0);
    assert_eq!(isis.ledger().sources.len(), 2);
    // Listed, but waited for only once they send.
    let mut seen = two_boards();
    seen.frames.expected = Expected::Seen;
    let (formed, _) = form(&seen, &[message(2, 0, 1, &[(1, 1)])]);
    assert_eq!(states(&formed), [(0, Complete, 1)]);
    // Later, a frame leaves as soon as it is complete.
    let mut isis = Isis::new(&settings).unwrap();
    let mut out = Vec::new();
    let later: Vec<_> = (0..60).map(|frame| message(1, frame, 1, &[(1, 1)])).collect();
    feed(&mut isis, &later, 1, 64, &mut out);
    assert_eq!((out.len(), states(&out)[59]), (60, (59, Complete, 1)));
}

#[test]
fn the_end_of_a_run_closes_what_is_open() {
    let end = |board: u8, frame: u32| {
        let kind = evforge_wire::isis::Kind::EndOfRun;
        (address(board), datagram(&Header { kind, ..header(board, frame, 0) }, &[]))
    };
    let mut isis = Isis::new(&two_boards()).unwrap();
    let mut out = Vec::new();
    feed(&mut isis, &[message(1, 0, 2, &[(1, 1)]), message(2, 0, 1, &[(1, 1)]), end(1, 1)], 1, 64, &mut out);
    assert_eq!(out.len(), 0);
    feed(&mut isis, &[end(2, 1)], 1, 64, &mut out);
    assert_eq!(states(&out), [(0, Incomplete, 2)]);
    // The next run.
    feed(&mut isis, &[message(1, 5, 1, &[(1, 1)]), message(2, 5, 1, &[(1, 1)])], 1, 64, &mut out);
    assert_eq!(states(&out)[1..], [(5, Complete, 2)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(32)))]
    #[test]
    fn frames_depend_on_what_each_board_sends_and_on_nothing_else(
        sent in prop::collection::vec((1..4_u8, 0..4_u32, prop::collection::vec((0..50_u32, 0..9_u32), 0..70), any::<bool>()), 1..40),
        order in prop::collection::vec(any::<u32>(), 120), per_slab in 1..9_usize, batch in 1..40_usize,
    ) {
        let mut settings = two_boards();
        settings.boards.push(BoardSettings { source: Some(address(3)), pcb: 3877, address: Some(3), name: "fibres 3".into() });
        // Each board goes through its frames in order; some of its messages are lost.
        let mut packets: Vec<(u8, (IpAddr, Vec<u8>))> = Vec::new();
        for board in 1..4 {
            for frame in 0..4 {
                let of_frame: Vec<_> = sent.iter().filter(|sent| (sent.0, sent.1) == (board, frame)).collect();
                let announced: usize = of_frame.iter().map(|sent| sent.2.len()).sum();
                for (_, _, events, is_lost) in of_frame {
                    if !is_lost {
                        packets.push((board, message(board, frame, announced as u32, events)));
                    }
                }
            }
        }
        // Any interleaving: boards in turn, as the numbers say.
        let mut queues: Vec<std::collections::VecDeque<_>> = (1..4)
            .map(|board| packets.iter().filter(|packet| packet.0 == board).map(|packet| packet.1.clone()).collect())
            .collect();
        let mut mixed = Vec::new();
        for pick in order {
            let full: Vec<usize> = (0..3).filter(|&queue| !queues[queue].is_empty()).collect();
            if let Some(&queue) = full.get(pick as usize % full.len().max(1)) {
                mixed.extend(queues[queue].pop_front());
            }
        }
        let in_turn: Vec<_> = packets.iter().map(|packet| packet.1.clone()).collect();
        let (expected, one) = form(&settings, &in_turn);
        let mut isis = Isis::new(&settings).unwrap();
        let mut found = Vec::new();
        feed(&mut isis, &mixed, per_slab, batch, &mut found);
        finish(&mut isis, batch, &mut found);
        prop_assert_eq!(found, expected);
        prop_assert_eq!(isis.ledger().unaccounted(), 0);
        prop_assert_eq!(count(&isis, "events"), count(&one, "events"));
    }
}
