//! Tests of the stage that assigns pulses.

use super::*;
use crate::event::{Event, EventBatch};
use crate::frame::Frame;
use crate::pulse::PulseTrain;
use crate::time::ManualClock;
use proptest::prelude::*;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
/// Some time in 2020, since 1970.
const NOW: u64 = 1_600_000_000 * SECOND;

/// Pulses with the offsets of their events, whatever batches they came in.
type Records = Vec<(Pulse, Vec<i32>)>;

/// A stage with a train of 10 Hz that begins after a second, and a clock that shows `unix_ns`.
fn stage(unix_ns: u64) -> PulseStage {
    let train = PulseTrain::from_millihertz(10_000, SECOND).expect("a frequency");
    let clock = Arc::new(ManualClock::starting_at(unix_ns));
    PulseStage::new(PulseStageSettings::new(train, CalendarRule::Live(clock)))
}

/// What happens to batches of pulses with the times of their events; 0 stands for no pulse.
fn hand_on(stage: &mut PulseStage, batches: &[Vec<(u64, Vec<u64>)>]) -> (Records, PulseCounters) {
    let mut records = Records::new();
    for batch in batches {
        let events = batch.iter().map(|(_, times)| times.len()).sum::<usize>();
        let mut input = EventBatch::new(events + batch.len());
        for (pulse, times) in batch {
            assert!(*pulse == 0 || input.begin_pulse(*pulse));
            for &time_ns in times {
                assert!(input.push(Event { time_ns, pixel_id: 1 }));
            }
        }
        stage.hand_on(&input, None, &mut |out| {
            assert!(!out.pulses().is_empty(), "every batch can be read alone");
            for (pulse, range) in out.by_pulse() {
                if records.last().is_none_or(|(last, _)| !last.is_same(pulse)) {
                    records.push((Pulse { first_event: 0, ..*pulse }, Vec::new()));
                }
                let (_, offsets) = records.last_mut().expect("just pushed");
                offsets.extend(&out.offsets_ns()[range]);
            }
        });
    }
    stage.close();
    (records, stage.counters())
}

fn starts(records: &Records) -> Vec<(u64, Vec<i32>)> {
    records.iter().map(|(pulse, offsets)| (pulse.time_ns, offsets.clone())).collect()
}

#[test]
fn pulses_of_the_readout_go_on_from_batch_to_batch_and_may_be_empty() {
    // The time of flight of the third event is several periods.
    let batches = [
        vec![(SECOND, vec![SECOND, SECOND + 5])],
        vec![(SECOND, vec![SECOND + 900_000_000]), (2 * SECOND, vec![]), (3 * SECOND, vec![])],
        vec![(3 * SECOND, vec![]), (4 * SECOND, vec![4 * SECOND])],
    ];
    let (records, counters) = hand_on(&mut stage(SECOND + 7), &batches);
    let expected = [
        (SECOND, vec![0, 5, 900_000_000]),
        (2 * SECOND, vec![]),
        (3 * SECOND, vec![]),
        (4 * SECOND, vec![0]),
    ];
    assert_eq!(starts(&records), expected);
    assert!(records.iter().all(|(pulse, _)| pulse.unix_ns == Some(pulse.time_ns + 7)));
    let counted = (counters.pulses_handed_on, counters.pulses_told, counters.pulses_without_events);
    assert_eq!(counted, (4, 4, 2));
    assert_eq!((counters.pulse_steps_back, counters.gaps_not_filled), (0, 0));
}

#[test]
fn pulses_of_the_readout_that_go_back_are_counted() {
    let batch = [100, 95, 2, 3].map(|second| (second * SECOND, vec![second * SECOND])).to_vec();
    let (records, counters) = hand_on(&mut stage(NOW), &[batch]);
    assert_eq!((records.len(), counters.pulse_steps_back, counters.pulse_clock_restarts), (4, 2, 1));
}

#[test]
fn events_that_do_not_fit_their_pulse_are_marked_and_counted() {
    let last = SECOND + i32::MAX as u64;
    let batches = [vec![(SECOND, vec![SECOND - 1, SECOND, last, last + 1])]];
    let (records, counters) = hand_on(&mut stage(SECOND), &batches);
    assert_eq!(starts(&records), [(SECOND, vec![TimeOffset::BEFORE, 0, i32::MAX, TimeOffset::TOO_LONG])]);
    assert_eq!((counters.events_before_their_pulse, counters.events_too_long_after_pulse), (1, 1));
}

#[test]
fn pulses_that_the_calendar_cannot_express_have_no_date() {
    let (records, counters) = hand_on(&mut stage(i64::MAX as u64 - 10), &[vec![(5, vec![5])]]);
    assert_eq!((records[0].0.unix_ns, counters.pulses_without_date), (None, 1));
}

#[test]
fn a_wild_time_does_not_move_the_train() {
    let times = vec![SECOND + 1, u64::MAX, SECOND + 2, SECOND + 300_000_000];
    let (records, counters) = hand_on(&mut stage(SECOND), &[vec![(0, times)]]);
    let with_date: Vec<_> = records.iter().filter(|(pulse, _)| pulse.unix_ns.is_some()).collect();
    assert_eq!(with_date.len(), 5, "{records:?}");
    assert_eq!(
        (counters.pulses_without_date, counters.pulse_steps_back, counters.gaps_not_filled),
        (1, 0, 0)
    );
    assert_eq!((counters.pulses_handed_on, counters.pulses_without_events), (5, 2));
}

#[test]
fn events_without_a_pulse_after_those_with_one_belong_to_the_train() {
    let mut stage = stage(NOW);
    let (records, counters) = hand_on(&mut stage, &[vec![(SECOND + 7, vec![])], vec![(0, vec![SECOND + 8])]]);
    assert_eq!(starts(&records), [(SECOND + 7, vec![]), (SECOND, vec![8])]);
    assert_eq!(
        records.iter().map(|(pulse, _)| pulse.origin).collect::<Vec<_>>(),
        [PulseOrigin::Readout, PulseOrigin::Train]
    );
    assert_eq!((counters.pulses_handed_on, counters.pulses_told), (2, 1));
}

#[test]
fn empty_pulses_of_the_train_are_handed_on_up_to_the_longest_gap() {
    let events = |times: &[u64]| vec![(0, times.to_vec())];
    let (records, counters) =
        hand_on(&mut stage(NOW), &[events(&[SECOND + 7, SECOND + 8]), events(&[SECOND + 300_000_001])]);
    let expected = [
        (SECOND, vec![7, 8]),
        (SECOND + 100_000_000, vec![]),
        (SECOND + 200_000_000, vec![]),
        (SECOND + 300_000_000, vec![1]),
    ];
    assert_eq!(starts(&records), expected);
    assert_eq!((counters.pulses_handed_on, counters.pulses_without_events), (4, 2));
    let (records, counters) = hand_on(&mut stage(NOW), &[events(&[SECOND, 100 * SECOND])]);
    assert_eq!((records.len(), counters.gaps_not_filled, counters.empty_pulses_left_out), (2, 1, 989));
}

#[test]
fn a_clock_that_goes_back_begins_the_earlier_pulse_again() {
    let times = vec![5 * SECOND, 3 * SECOND, 5 * SECOND, 30 * SECOND, 2 * SECOND];
    let (records, counters) = hand_on(&mut stage(NOW), &[vec![(0, times)]]);
    let with_events: Vec<u64> =
        records.iter().filter(|(_, offsets)| !offsets.is_empty()).map(|(pulse, _)| pulse.time_ns).collect();
    assert_eq!(with_events, [5 * SECOND, 3 * SECOND, 5 * SECOND, 30 * SECOND, 2 * SECOND]);
    assert_eq!(
        (counters.pulse_steps_back, counters.pulse_clock_restarts, counters.gaps_not_filled),
        (2, 1, 1)
    );
}

#[test]
fn events_before_the_first_pulse_have_a_reference_and_no_time_of_flight() {
    let vetoes = vec![Veto { name: "prompt".into(), range: VetoRange::TimeOfFlight(0, 300_000) }];
    let train = PulseTrain::from_millihertz(10_000, SECOND).expect("a frequency");
    let settings = PulseStageSettings { vetoes, ..PulseStageSettings::new(train, CalendarRule::Readout) };
    let mut stage = PulseStage::new(settings);
    let mut input = EventBatch::new(4);
    for time_ns in [SECOND - 20, SECOND - 19, SECOND, u64::MAX] {
        assert!(input.push(Event { time_ns, pixel_id: 1 }));
    }
    let mut out = Vec::new();
    stage.hand_on(&input, Some(3), &mut |batch| out.push(batch));
    let batch = &out[0];
    assert_eq!((batch.pulses()[0].origin, batch.pulses()[0].time_ns), (PulseOrigin::None, SECOND - 20));
    assert_eq!((&batch.offsets_ns()[..3], &batch.marks()[..3]), (&[0, 1, 0][..], &[0, 0, 1][..]));
    assert_eq!((batch.len(), batch.marks().len(), batch.arrival_ns()), (4, 4, Some(3)));
    assert_eq!(stage.vetoes().map(|(_, count)| count).collect::<Vec<_>>()[..], [1][..]);
    assert_eq!(stage.counters().references_before_first_pulse, 1);
}

#[test]
fn times_of_flight_for_vetoes_count_from_the_pulses_of_the_readout() {
    let vetoes = vec![
        Veto { name: "slow".into(), range: VetoRange::TimeOfFlight(200_000_000, 300_000_000) },
        Veto { name: "shutter".into(), range: VetoRange::Time(0, 3_000) },
    ];
    let train = PulseTrain::european_xfel();
    let settings = PulseStageSettings { vetoes, ..PulseStageSettings::new(train, CalendarRule::Readout) };
    let mut stage = PulseStage::new(settings);
    let mut input = EventBatch::new(8);
    // The second pulse is late, so the times of flight of the first one exceed the configured period.
    for (pulse, times) in [(1_000, [2_000, 200_001_000]), (300_000_000, [310_000_000, 500_000_000])] {
        assert!(input.begin_pulse(pulse));
        for time_ns in times {
            assert!(input.push(Event { time_ns, pixel_id: 1 }));
        }
    }
    stage.hand_on(&input, None, &mut |batch| assert_eq!(batch.marks(), [2, 1, 0, 1]));
    assert_eq!(stage.vetoes().collect::<Vec<_>>(), [("slow", 2), ("shutter", 1)]);
}

#[test]
fn very_many_pulses_are_cut_into_several_batches() {
    let times: Vec<u64> = (0..200).map(|index| SECOND + 9 * SECOND * index).collect();
    let mut stage = stage(NOW);
    let mut input = EventBatch::new(times.len());
    assert!(times.iter().all(|&time_ns| input.push(Event { time_ns, pixel_id: 1 })));
    let (mut batches, mut pulses, mut events) = (0, 0, Vec::new());
    stage.hand_on(&input, None, &mut |batch| {
        (batches, pulses) = (batches + 1, pulses + batch.pulses_begun());
        events.extend(batch.times_ns());
    });
    assert!(batches > 1, "{batches}");
    assert_eq!((pulses, events), (199 * 90 + 1, times));
}

proptest! {
    /// However times are cut into batches, pulses and offsets are the same, and give the times back.
    #[test]
    fn cuts_do_not_matter(
        times in proptest::collection::vec(0..1_u64 << 38, 1..200),
        cuts in proptest::collection::vec(1..20_usize, 1..20),
    ) {
        let whole = hand_on(&mut stage(NOW), &[vec![(0, times.clone())]]);
        let mut batches = Vec::new();
        let (mut rest, mut cuts) = (&times[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (batch, more) = rest.split_at((*cuts.next().expect("a cycle")).min(rest.len()));
            batches.push(vec![(0, batch.to_vec())]);
            rest = more;
        }
        let mut other = stage(NOW);
        let cut = hand_on(&mut other, &batches);
        prop_assert_eq!(&whole, &cut);
        let back: Vec<u64> = whole.0.iter()
            .flat_map(|(pulse, offsets)| offsets.iter().map(|&offset| pulse.time_ns + offset as u64))
            .collect();
        prop_assert_eq!(back, times);
        let empty = whole.0.iter().filter(|(_, offsets)| offsets.is_empty()).count();
        prop_assert_eq!(whole.1.pulses_without_events as usize, empty);
        prop_assert_eq!(whole.1.pulses_handed_on as usize, whole.0.len());
    }

    /// Any pulses and times: nothing panics, no event is lost.
    #[test]
    fn no_event_is_lost(
        batches in proptest::collection::vec(
            proptest::collection::vec((any::<u64>(), proptest::collection::vec(any::<u64>(), 0..9)), 0..9), 0..9),
        millihertz in 500..u64::MAX,
    ) {
        let train = PulseTrain::from_millihertz(millihertz, 0).expect("a frequency");
        let mut stage = PulseStage::new(PulseStageSettings::new(train, CalendarRule::Readout));
        let (records, counters) = hand_on(&mut stage, &batches);
        let events: usize = batches.iter().flatten().map(|(_, times)| times.len()).sum();
        prop_assert_eq!(records.iter().map(|(_, offsets)| offsets.len()).sum::<usize>(), events);
        prop_assert_eq!(counters.events_handed_on as usize, events);
    }
}

#[test]
fn frames_travel_with_their_pulses_through_batches_that_are_cut() {
    let frame = |period| Frame { period: Some(period), ..Frame::default() };
    let told = PulseStageSettings {
        is_told: true,
        ..PulseStageSettings::new(PulseTrain::default(), CalendarRule::Readout)
    };
    let mut stage = PulseStage::new(told);
    let mut delivered = Vec::new();
    let mut events = EventBatch::new(5000);
    // An event without a pulse, a frame, a pulse of which nothing is known, and more frames than one batch has pulses.
    assert!(events.push(Event { time_ns: 3, pixel_id: 1 }));
    assert!(events.begin_frame(10, frame(0)) && events.push(Event { time_ns: 12, pixel_id: 2 }));
    assert!(events.begin_pulse(20));
    for period in 1..4200 {
        assert!(events.begin_frame(20 + u64::from(period), frame(period)));
    }
    stage.hand_on(&events, None, &mut |batch| delivered.push(batch));
    let mut all = Vec::new();
    for batch in &delivered {
        assert_eq!(batch.pulses().len(), batch.frames().len());
        let times = batch.pulses().iter().map(|pulse| pulse.time_ns);
        all.extend(times.zip(batch.frames().iter().map(|frame| frame.period)));
    }
    assert_eq!(delivered.len(), 2);
    assert_eq!(all[..4], [(3, None), (10, Some(0)), (20, None), (21, Some(1))]);
    assert_eq!((all.len(), all[4201]), (4202, (4219, Some(4199))));

    // The frame goes on: named again in the next batch, begun once.
    events.clear();
    assert!(events.begin_frame(4219, frame(4199)) && events.push(Event { time_ns: 4220, pixel_id: 2 }));
    stage.hand_on(&events, None, &mut |batch| delivered.push(batch));
    let last = delivered.last().unwrap();
    assert_eq!((last.pulses_begun(), last.frame(0), last.frame(1)), (0, Some(&frame(4199)), None));

    // Another board says something else of the frame: it is named again, and begun once all the same.
    events.clear();
    assert!(events.begin_frame(4219, frame(4199)) && events.begin_frame(4219, frame(7)));
    stage.hand_on(&events, None, &mut |batch| delivered.push(batch));
    let last = delivered.last().unwrap();
    assert_eq!((last.pulses_begun(), last.frames()), (0, [frame(4199), frame(7)].as_slice()));
}
