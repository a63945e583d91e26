//! What no board should send.

use super::*;
use evforge_testkit::properties::cases;
use proptest::prelude::*;

#[test]
fn one_damaged_time_makes_nothing_late() {
    for damaged in [T + 3_600_000_000_000, T - 86_400_000_000_000] {
        let mut packets: Vec<_> =
            (0..10).flat_map(|frame| [1, 2].map(|board| message(board, frame, 1, &[(1, 1)]))).collect();
        let wrong = Header { gps_ns: damaged, ..header(1, 50, 1) };
        packets.insert(9, (address(1), datagram(&wrong, &[(1, 1)])));
        let (formed, isis) = form(&two_boards(), &packets);
        assert!(formed.iter().all(|(_, frame, _)| frame.state == evforge_core::frame::FrameState::Complete));
        assert_eq!((formed.len(), count(&isis, "unconfirmed_jump"), count(&isis, "late")), (10, 1, 0));
    }
}

#[test]
fn a_jump_that_is_confirmed_is_taken_with_the_message_that_made_it() {
    for (ahead, counter) in [(true, "forward_jumps"), (false, "clock_restarts")] {
        let later = |frame: u32| if ahead { 10_000 + frame } else { frame };
        let first = if ahead { 0 } else { 10_000 };
        let mut packets: Vec<_> = (first..first + 3)
            .flat_map(|frame| [1, 2].map(|board| message(board, frame, 1, &[(1, 1)])))
            .collect();
        packets
            .extend((0..3).flat_map(|frame| [1, 2].map(|board| message(board, later(frame), 1, &[(1, 1)]))));
        let (formed, isis) = form(&two_boards(), &packets);
        assert_eq!((formed.len(), count(&isis, counter), count(&isis, "events")), (6, 2, 12), "{counter}");
        assert!(formed.iter().all(|(_, frame, _)| frame.state == evforge_core::frame::FrameState::Complete));
    }
}

#[test]
fn boards_that_nothing_is_known_of_are_named() {
    let table = wired("0,WLSF0,PC3877MS,Position,0,192.168.1.3,0,0,0,");
    let foreign = Header { version: Version::V1, pcb: 0, board: None, ..header(4, 0, 2) };
    let (formed, isis) = form(&table, &[(address(4), datagram(&foreign, &[(1, 1), (2, 2)]))]);
    assert_eq!(
        (formed.len(), count(&isis, "unknown_board"), count(&isis, "messages_unknown_board")),
        (0, 2, 1)
    );
    let notes = isis.ledger().notes;
    assert!(notes[0].contains("192.168.1.4 (1 messages)"), "{notes:?}");
    // A board too many.
    let few = IsisSettings { boards: Vec::new(), max_boards: 2, ..two_boards() };
    let packets = [1, 2, 3].map(|board| message(board, 0, 1, &[(1, 1)]));
    let (_, isis) = form(&few, &packets);
    assert_eq!((count(&isis, "unknown_board"), count(&isis, "events")), (1, 2));
}

#[test]
fn a_board_is_listed_by_its_address_alone_and_a_second_one_with_it_is_another() {
    let mut settings = two_boards();
    settings.boards.iter_mut().for_each(|board| board.source = None);
    settings.boards.truncate(1);
    let (formed, isis) = form(&settings, &[message(1, 0, 1, &[(1, 1)]), message(1, 1, 1, &[(1, 1)])]);
    assert!(formed.iter().all(|(_, frame, _)| frame.state == evforge_core::frame::FrameState::Complete));
    let ledger = isis.ledger();
    assert_eq!((ledger.sources.len(), ledger.sources[0].name.as_str()), (1, "fibres 1"));
    let (_, other) = message(1, 0, 1, &[(2, 2)]);
    let (_, isis) = form(&settings, &[message(1, 0, 1, &[(1, 1)]), (address(7), other)]);
    let names: Vec<String> = isis.ledger().sources.iter().map(|source| source.name.clone()).collect();
    assert_eq!(names, ["fibres 1", "PC3877 1 (192.168.1.7)"]);
}

#[test]
fn events_that_cannot_be_expressed_are_counted_by_their_reason() {
    let mut far = header(1, 0, 3);
    far.board = far.board.map(|board| BoardParameters { detector_id_offset: i32::MAX as u32 - 1, ..board });
    let late = Header { frame_sync_delay: 3_000_000, ..header(2, 0, 1) };
    let control = Header { pcb: 15, board: None, ..header(9, 0, 1) };
    let (formed, isis) = form(
        &IsisSettings { boards: Vec::new(), ..two_boards() },
        &[
            (address(1), datagram(&far, &[(1, 0), (1, 1), (1, 2)])),
            (address(2), datagram(&late, &[(1, 1)])),
            (address(9), datagram(&control, &[(1, 1)])),
        ],
    );
    assert_eq!(
        (count(&isis, "id_too_large"), count(&isis, "time_too_long"), count(&isis, "without_meaning")),
        (1, 1, 1)
    );
    let events: Vec<_> = formed.iter().flat_map(|(_, _, events)| events.clone()).collect();
    assert_eq!(events, [(20, i32::MAX as u32 - 1), (20, i32::MAX as u32)]);
}

#[test]
fn a_frame_larger_than_the_memory_is_cut_with_an_alarm() {
    let events: Vec<(u32, u32)> = (0..2000).map(|tick| (tick, 1)).collect();
    let packets: Vec<_> = (0..40)
        .map(|part: u32| {
            let header = Header { next_frame_address: part, ..header(1, 0, 80_000) };
            (address(1), datagram(&header, &events))
        })
        .collect();
    let (formed, isis) = form(&two_boards(), &packets);
    assert_eq!((formed.len(), count(&isis, "forced_closings")), (1, 1));
    assert_eq!(count(&isis, "events") + count(&isis, "late"), 80_000);
}

#[test]
fn memory_stays_within_its_bound_and_is_stated() {
    let isis = Isis::new(&IsisSettings::default()).unwrap();
    let bound = isis.memory_bound();
    assert!((50 << 20..200 << 20).contains(&bound), "{bound}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]
    #[test]
    fn any_bytes_behind_a_marker_are_accounted_for(
        datagrams in prop::collection::vec((1..4_u8, prop::collection::vec(any::<u32>(), 14..60), 0..3_u8, any::<u8>()), 1..30),
        is_assembled: bool,
    ) {
        let mut settings = IsisSettings { boards: Vec::new(), max_boards: 3, ..two_boards() };
        settings.frames.assembled = is_assembled;
        let packets: Vec<_> = datagrams.into_iter().map(|(source, mut words, version, length)| {
            let count = words.len() as u32;
            words[0] = u32::MAX;
            match version {
                0 => {
                    words[1] = u32::MAX;
                    words[13] = if length < 200 { count } else { words[13] };
                }
                1 => {
                    words[1] = 0xff00_0110;
                    words[2] = words[2] & 0xffff | 3877 << 16;
                    words[8] = if length < 200 { count << 16 } else { words[8] };
                    words[13] &= 0x0f07_0707;
                }
                _ => {}
            }
            // Times that exist, near one another.
            let clock = if version == 0 { 4 } else { 3 };
            words[clock] = 0x1a74_322e;
            words[clock + 1] = 0x07b7_2000 | words[clock + 1] & 0x3ff;
            (address(source), words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>())
        }).collect();
        let (formed, isis) = form(&settings, &packets);
        let events: usize = formed.iter().map(|(_, _, events)| events.len()).sum();
        prop_assert_eq!(count(&isis, "events"), events as u64);
    }
}
