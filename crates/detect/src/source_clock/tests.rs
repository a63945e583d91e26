//! What is in time, late, a jump or a restart, on one source.

use super::*;

#[derive(Default)]
struct Line(Vec<(u32, u64)>, Vec<(u32, u64)>);

impl AcceptedHits for Line {
    fn accept(&mut self, _plane: usize, epoch: u32, hit: Hit) {
        self.0.push((epoch, hit.time));
    }

    fn late_sign(&mut self, epoch: u32, time: u64) {
        self.1.push((epoch, time));
    }
}

/// Judges packets of times with window 10, forward jump 100 and restart 1000.
fn judge(packets: &[&[u64]]) -> (Vec<(u32, u64)>, ClockCounts) {
    let mut clock = SourceClock::<Hit>::new(10, 100, 1000, 100);
    let mut line = Line::default();
    for packet in packets {
        clock.begin_packet((0, 0));
        for &time in *packet {
            clock.judge(0, Hit { time, strip: 0, adc: 0 }, &mut line);
        }
    }
    clock.close(&mut line);
    assert_eq!(clock.held(), 0);
    (line.0, clock.counts())
}

#[test]
fn hits_in_the_window_are_in_time_and_older_ones_late() {
    let (line, counts) = judge(&[&[100, 95, 105, 94, 95]]);
    assert_eq!(line, [(0, 100), (0, 95), (0, 105), (0, 95)]);
    assert_eq!(counts, ClockCounts { late: 1, ..Default::default() });
}

#[test]
fn a_single_wild_stamp_harms_nobody() {
    let (line, counts) = judge(&[&[100, 9_000_000, 101], &[102]]);
    assert_eq!(line, [(0, 100), (0, 101), (0, 102)]);
    assert_eq!(counts, ClockCounts { refuted: 1, ..Default::default() });
}

#[test]
fn a_wild_stamp_within_the_leap_takes_the_front_nowhere() {
    let (line, counts) = judge(&[&[100, 199, 101], &[102, 91, 92]]);
    assert_eq!(line, [100, 199, 101, 102, 92].map(|time| (0, time)));
    assert_eq!(counts, ClockCounts { late: 1, ..Default::default() });
    // Another wild one, however far ahead, does not confirm it.
    let (line, counts) = judge(&[&[100, 101, 180, 9_000, 102], &[103]]);
    assert_eq!(line, [100, 101, 180, 102, 103].map(|time| (0, time)));
    assert_eq!(counts, ClockCounts { refuted: 1, ..Default::default() });
    // A source whose time goes on in steps is followed a hit later.
    let (line, counts) = judge(&[&[100, 150, 200, 250, 150], &[260]]);
    assert_eq!(line, [100, 150, 200, 250, 260].map(|time| (0, time)));
    assert_eq!(counts, ClockCounts { late: 1, ..Default::default() });
}

#[test]
fn a_source_whose_first_stamp_is_wild_begins_with_the_next() {
    for wild in [50_000, 500, 120] {
        let (line, counts) = judge(&[&[wild], &[100, 101], &[102]]);
        assert_eq!(line, [wild, 100, 101, 102].map(|time| (0, time)));
        assert_eq!(counts, ClockCounts::default());
    }
    let mut clock = SourceClock::<Hit>::new(10, 100, 1000, 100);
    clock.begin_packet((0, 0));
    clock.judge(0, Hit { time: 500, strip: 0, adc: 0 }, &mut Line::default());
    assert_eq!((clock.front(), clock.watermark()), (None, None));
    clock.judge(0, Hit { time: 501, strip: 0, adc: 0 }, &mut Line::default());
    assert_eq!((clock.front(), clock.watermark()), (Some((0, 501)), Some((0, 491))));
}

#[test]
fn a_wild_stamp_among_true_leaps_is_told_apart_by_the_next_packet() {
    let (line, counts) = judge(&[&[100], &[9_000_000, 5_000, 7_000], &[9_000]]);
    assert_eq!(line, [(0, 100), (0, 5_000), (0, 7_000), (0, 9_000)]);
    assert_eq!(counts, ClockCounts { refuted: 1, forward_jumps: 2, ..Default::default() });
}

#[test]
fn a_sparse_source_loses_nothing() {
    let (line, counts) = judge(&[&[100], &[9_000, 9_001], &[20_000], &[20_001]]);
    assert_eq!(line, [(0, 100), (0, 9_000), (0, 9_001), (0, 20_000), (0, 20_001)]);
    assert_eq!(counts, ClockCounts { forward_jumps: 2, ..Default::default() });
}

#[test]
fn a_clock_that_restarts_begins_a_new_epoch() {
    let (line, counts) = judge(&[&[50_000], &[50_001, 5], &[6, 2_000], &[2_001]]);
    assert_eq!(line, [(0, 50_000), (0, 50_001), (1, 5), (1, 6), (1, 2_000), (1, 2_001)]);
    assert_eq!(counts, ClockCounts { forward_jumps: 1, restarts: 1, ..Default::default() });
}

#[test]
fn what_leapt_before_a_restart_in_the_same_packet_is_kept() {
    let (line, counts) = judge(&[&[50_000], &[60_000, 60_001, 5, 90_000], &[6]]);
    assert_eq!(line, [(0, 50_000), (0, 60_000), (0, 60_001), (1, 5), (1, 6)]);
    assert_eq!(counts, ClockCounts { forward_jumps: 1, restarts: 1, refuted: 1, ..Default::default() });
}

#[test]
fn a_hit_from_long_ago_does_not_restart_a_clock_that_goes_on() {
    let (line, counts) = judge(&[&[49_999, 50_000, 5], &[50_001], &[50_200, 7], &[50_400], &[50_401]]);
    assert_eq!(line, [49_999, 50_000, 50_001, 50_200, 50_400, 50_401].map(|time| (0, time)));
    assert_eq!(counts, ClockCounts { refuted: 2, forward_jumps: 2, ..Default::default() });
}

#[test]
fn the_end_of_the_input_releases_a_quarantine() {
    let (line, counts) = judge(&[&[100, 9_000]]);
    assert_eq!(line, [(0, 100), (0, 9_000)]);
    assert_eq!(counts.forward_jumps, 1);
}

#[test]
fn a_sign_of_time_carries_the_line_on_and_is_no_hit() {
    let mut clock = SourceClock::<Hit>::new(10, 100, 1000, 100);
    let mut line = Line::default();
    let hit = |time| Hit { time, strip: 0, adc: 0 };
    clock.begin_packet((0, 0));
    clock.judge(0, hit(100), &mut line);
    clock.judge(TIME_SIGN, hit(150), &mut line);
    clock.judge(TIME_SIGN, hit(150), &mut line);
    clock.judge(0, hit(130), &mut line);
    clock.judge(TIME_SIGN, hit(130), &mut line);
    clock.judge(TIME_SIGN, hit(9_000), &mut line);
    assert!(clock.is_quarantine_open() && clock.held() == 0);
    clock.begin_packet((0, 0));
    clock.judge(0, hit(151), &mut line);
    assert_eq!(line.0, [(0, 100), (0, 150), (0, 150), (0, 151)]);
    let expected = ClockCounts { late: 1, refuted_signs: 1, ..Default::default() };
    assert_eq!(line.1, [(0, 130)], "a late sign is told");
    assert_eq!((clock.counts(), clock.is_quarantine_open()), (expected, false));
}

/// Found by fuzzing: such hits were accepted and then held for ever.
#[test]
fn a_source_that_stays_in_an_epoch_that_others_have_left_is_late_until_it_follows() {
    let mut clock = SourceClock::<Hit>::new(10, 100, 1000, 100);
    let mut line = Line::default();
    let packets: [(_, &[u64]); 4] =
        [((0, 0), &[5000]), ((1, 40), &[5001, 9000]), ((1, 40), &[9001, 7]), ((1, 50), &[49, 51])];
    for (closed, packet) in packets {
        clock.begin_packet(closed);
        for &time in packet {
            clock.judge(0, Hit { time, strip: 0, adc: 0 }, &mut line);
        }
    }
    assert_eq!(line.0, [(0, 5000), (1, 51)]);
    assert_eq!((clock.counts().late, clock.counts().restarts, clock.held()), (5, 1, 0));
}

#[test]
fn what_has_been_closed_over_all_sources_is_late() {
    let mut clock = SourceClock::<Hit>::new(10, 100, 1000, 100);
    let mut line = Line::default();
    clock.begin_packet((0, 0));
    clock.judge(0, Hit { time: 100, strip: 0, adc: 0 }, &mut line);
    clock.begin_packet((0, 150));
    for time in [120, 149, 150] {
        clock.judge(0, Hit { time, strip: 0, adc: 0 }, &mut line);
    }
    assert_eq!(line.0, [(0, 100), (0, 150)]);
    assert_eq!(clock.counts().late, 2);
}
