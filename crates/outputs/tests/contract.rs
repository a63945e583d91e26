//! What the runtime does around an output: the contract of `evforge_core::output`, number by number.

mod common;

use common::{Answer, Scripted, batches, queue, start};
use evforge_core::counter::CounterSnapshot;
use evforge_core::run_state::{OutputState, RunState};
use evforge_outputs::{OutputOutcome, OutputSet, QueueSettings, WhenFull};
use evforge_testkit::patience::wait_until;
use evforge_testkit::properties::cases;
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A queue for an output that does not end: how long it is waited for.
fn hanging(events: u64) -> QueueSettings {
    QueueSettings { finish_within: Duration::from_millis(100), ..queue(events, WhenFull::Wait) }
}

/// Nobody ends the run.
fn never() -> &'static AtomicBool {
    static NEVER: AtomicBool = AtomicBool::new(false);
    &NEVER
}

fn end(set: OutputSet) -> Vec<OutputOutcome> {
    set.end(Some(&Arc::new(RunState::default())), || false)
}

fn is_balanced(state: &OutputState) -> bool {
    CounterSnapshot::of(&state.counters).unaccounted() == 0
}

#[test]
fn what_finds_no_room_is_dropped_by_the_policy_for_that_output_only() {
    for (when_full, last) in [(WhenFull::DropNewest, 5), (WhenFull::DropOldest, 199)] {
        let (slow, fast) = (Scripted::stalled(), Scripted::default());
        let mut set = start(&[(&slow, queue(6, when_full)), (&fast, queue(1000, when_full))], true);
        let mut batches = batches(0..200, 2).into_iter();
        set.offer(batches.next().unwrap(), never());
        wait_until("the first offer", || !slow.script().calls.is_empty());
        batches.for_each(|batch| set.offer(batch, never()));
        let state = &set.states()[0];
        assert_eq!((state.counters.dropped, state.counters.queued), (194, 6));
        assert!(
            is_balanced(state) && state.alarm().is_some_and(|alarm| alarm.text.contains("194")),
            "{state:?}"
        );
        slow.script().is_stalled = false;
        let outcomes = end(set);
        assert_eq!(outcomes[0].state.counters.accepted, 6);
        let last_taken = slow.script().times.last().copied();
        assert_eq!(last_taken, Some(last), "{when_full:?}");
        assert_eq!(fast.script().times, (0..200).collect::<Vec<_>>());
        assert!(outcomes.iter().all(|outcome| is_balanced(&outcome.state)));
        assert!(!outcomes[0].state.is_whole() && outcomes[1].state.is_whole());
    }
}

#[test]
fn a_run_over_a_file_waits_whatever_the_policy() {
    let output = Scripted::default();
    let mut set = start(&[(&output, queue(1, WhenFull::DropNewest))], false);
    batches(0..500, 2).into_iter().for_each(|batch| set.offer(batch, never()));
    let outcomes = end(set);
    assert_eq!((outcomes[0].state.counters.committed, outcomes[0].state.counters.dropped), (500, 0));
    assert_eq!(output.script().times, (0..500).collect::<Vec<_>>());
}

#[test]
fn nobody_waits_for_an_output_any_more_when_the_run_is_to_end() {
    let output = Scripted::stalled();
    let mut set = start(&[(&output, hanging(2))], false);
    let stop = AtomicBool::new(true);
    batches(0..6, 2).into_iter().for_each(|batch| set.offer(batch, &stop));
    let outcomes = end(set);
    let counters = outcomes[0].state.counters;
    assert_eq!((counters.dropped, counters.missed, counters.accepted), (4, 2, 0));
    assert!(outcomes[0].state.failure.as_deref().is_some_and(|why| why.contains("no room")));
}

#[test]
fn an_output_without_which_the_data_are_of_no_use_stops_the_run() {
    for is_live in [true, false] {
        let output = Scripted::stalled();
        let mut set = start(&[(&output, queue(2, WhenFull::Stop))], is_live);
        let mut batches = batches(0..6, 2).into_iter();
        set.offer(batches.next().unwrap(), never());
        assert_eq!(set.wants_stop(), None);
        set.offer(batches.next().unwrap(), never());
        assert!(set.wants_stop().is_some_and(|why| why.contains("the queue of scripted was full")));
        output.script().is_stalled = false;
        assert_eq!(end(set)[0].state.counters.committed, 2);
    }
}

#[test]
fn o2_a_batch_that_was_not_taken_is_offered_again_in_order() {
    let output = Scripted::default();
    output.script().take = [Answer::NotNow, Answer::Yes, Answer::NotNow, Answer::NotNow].into();
    let mut set = start(&[(&output, QueueSettings::COMPLETE)], true);
    batches(0..8, 2).into_iter().for_each(|batch| set.offer(batch, never()));
    assert_eq!(end(set)[0].state.counters.committed, 8);
    assert_eq!(output.script().times, (0..8).collect::<Vec<_>>());
    let takes = output.script().calls.iter().filter(|call| **call == "take").count();
    assert_eq!(takes, 4 + 3);
}

#[test]
fn o4_an_output_is_polled_when_nothing_comes() {
    let output = Scripted::default();
    output.script().poll = vec![Answer::Yes; 3].into();
    let set = start(&[(&output, QueueSettings::COMPLETE)], true);
    wait_until("three polls", || output.script().poll.is_empty());
    end(set);
}

#[test]
fn o6_what_may_pass_is_tried_again_and_told_while_it_lasts() {
    let output = Scripted::default();
    const MOST: usize = 10_000;
    output.script().take = [vec![Answer::Yes], vec![Answer::Retry; MOST]].concat().into();
    let mut set = start(&[(&output, QueueSettings::COMPLETE)], true);
    batches(0..8, 2).into_iter().for_each(|batch| set.offer(batch, never()));
    wait_until("the alarm", || {
        set.states()[0].alarm().is_some_and(|alarm| alarm.text.contains("take cannot be done now"))
    });
    // From now on it can be done.
    let retries = MOST - std::mem::take(&mut output.script().take).len();
    wait_until("the end of the alarm", || set.states()[0].waiting.is_none());
    let outcome = &end(set)[0].state;
    assert_eq!(
        (outcome.counters.committed, outcome.counters.retries, outcome.counters.interruptions),
        (8, retries as u64, 1)
    );
    assert_eq!(outcome.interruption.as_deref(), Some("take cannot be done now"));
    assert!(outcome.is_whole() && outcome.alarm().is_none());
    assert_eq!(output.script().times, (0..8).collect::<Vec<_>>());
}

#[test]
fn o7_after_a_final_failure_nothing_but_abandon_is_called_and_the_others_go_on() {
    for (take, finish, calls, missed) in [
        (vec![Answer::Yes, Answer::Final], vec![], &["take", "take", "abandon"][..], 98),
        (vec![], vec![Answer::Final], &["finish", "abandon"], 0),
    ] {
        let (failing, working) = (Scripted::default(), Scripted::default());
        failing.script().take = take.into();
        failing.script().finish = finish.into();
        let mut set =
            start(&[(&failing, QueueSettings::COMPLETE), (&working, QueueSettings::COMPLETE)], true);
        batches(0..100, 2).into_iter().for_each(|batch| set.offer(batch, never()));
        if missed > 0 {
            wait_until("the failure", || set.states()[0].failure.is_some());
        }
        let outcomes = end(set);
        let state = &outcomes[0].state;
        let seen = failing.script().calls.clone();
        assert!(seen.ends_with(calls), "{seen:?}");
        assert_eq!((state.counters.missed, state.counters.offered), (missed, 100));
        assert_eq!(state.note.as_deref(), Some("what is left"));
        assert!(
            is_balanced(state)
                && state.alarm().is_some_and(|alarm| alarm.text.contains("FAILED OUTPUT: scripted"))
        );
        assert_eq!(outcomes[1].state.counters.committed, 100);
    }
}

#[test]
fn the_others_are_finished_when_one_output_has_failed() {
    let (failing, working) = (Scripted::default(), Scripted::default());
    failing.script().take = vec![Answer::Final].into();
    let mut set = start(&[(&failing, QueueSettings::COMPLETE), (&working, QueueSettings::COMPLETE)], true);
    batches(0..100, 2).into_iter().for_each(|batch| set.offer(batch, never()));
    wait_until("the failure", || set.states()[0].failure.is_some());
    let outcomes = end(set);
    assert_eq!(working.script().calls.last(), Some(&"finish"));
    assert!(outcomes[1].state.is_whole() && !outcomes[0].state.is_whole());
}

#[test]
fn a_panic_is_the_failure_of_one_output() {
    let (failing, working) = (Scripted::default(), Scripted::default());
    failing.script().take = [Answer::Panic].into();
    let mut set = start(&[(&failing, queue(2, WhenFull::Wait)), (&working, QueueSettings::COMPLETE)], false);
    batches(0..100, 2).into_iter().for_each(|batch| set.offer(batch, never()));
    let outcomes = end(set);
    assert!(outcomes[0].state.failure.as_deref().is_some_and(|why| why.contains("panicked")));
    assert_eq!((outcomes[0].state.counters.missed, outcomes[1].state.counters.committed), (100, 100));
}

#[test]
fn o8_finish_is_tried_again_until_the_patience_is_used_up() {
    for (answers, queue) in [(1, queue(100, WhenFull::Wait)), (1000, hanging(100))] {
        let is_whole = answers == 1;
        let output = Scripted::default();
        output.script().finish = vec![Answer::Retry; answers].into();
        let mut set = start(&[(&output, queue)], true);
        batches(0..4, 2).into_iter().for_each(|batch| set.offer(batch, never()));
        let state = &end(set)[0].state;
        assert_eq!(state.is_whole(), is_whole, "{state:?}");
        let gives_up =
            state.failure.as_deref().is_some_and(|why| why.contains("given up 100ms after the end"));
        assert_eq!(
            (gives_up, output.script().calls.last()),
            (!is_whole, Some(if is_whole { &"finish" } else { &"abandon" }))
        );
    }
}

#[test]
fn o9_an_output_of_an_input_that_failed_is_abandoned_with_everything_that_came() {
    let output = Scripted::default();
    let mut set = start(&[(&output, QueueSettings::COMPLETE)], false);
    batches(0..100, 2).into_iter().for_each(|batch| set.offer(batch, never()));
    let state = &set.end(None, || true)[0].state;
    assert_eq!((state.counters.committed, state.note.as_deref()), (100, Some("what is left")));
    assert_eq!(state.failure, None);
    assert_eq!(output.script().calls.last(), Some(&"abandon"));
}

#[test]
fn pulses_without_events_travel_and_are_counted_where_they_are_lost() {
    use evforge_core::event::EventBatch;
    use evforge_core::pulse::PulseTrain;
    use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
    let output = Scripted::stalled();
    let settings = QueueSettings { memory: 1, ..queue(1, WhenFull::DropNewest) };
    let mut set = start(&[(&output, settings)], true);
    let mut stage = PulseStage::new(PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout));
    let mut batch = EventBatch::new(2);
    for pulse in 0..100_u64 {
        // Each pulse is begun in one batch and gone on with in the next.
        let continued = pulse.checked_sub(1);
        assert!(continued.into_iter().chain([pulse]).all(|pulse| batch.begin_pulse(pulse)));
        stage.hand_on(&batch, None, &mut |out| set.offer(out, never()));
        batch.clear();
    }
    output.script().is_stalled = false;
    assert_eq!(end(set)[0].state.counters.pulses_lost, 99);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Whatever an output answers and however its queue is bounded: every event offered is somewhere at every moment, and
    /// what was committed came in order and once.
    #[test]
    fn every_event_is_accounted_for(
        answers in proptest::collection::vec(0..8_u8, 0..30),
        sizes in proptest::collection::vec(1..9_usize, 1..30),
        events in 1..40_u64,
        policy in 0..4_u8,
        is_live: bool,
    ) {
        let output = Scripted::default();
        output.script().take = answers.iter().map(|answer| match answer {
            0 => Answer::NotNow,
            1 => Answer::Final,
            _ => Answer::Yes,
        }).collect();
        let when_full = [WhenFull::Wait, WhenFull::DropNewest, WhenFull::DropOldest, WhenFull::Stop][usize::from(policy)];
        let mut set = start(&[(&output, queue(events, when_full))], is_live);
        let mut next = 0;
        for size in sizes {
            for batch in batches(next..next + size as u64, size) {
                set.offer(batch, never());
                prop_assert!(is_balanced(&set.states()[0]), "{:?}", set.states()[0]);
            }
            next += size as u64;
        }
        let state = &end(set)[0].state;
        prop_assert!(is_balanced(state), "{state:?}");
        prop_assert_eq!(state.counters.offered, next);
        prop_assert_eq!(state.counters.queued + state.counters.pending, 0);
        let script = output.script();
        prop_assert_eq!(script.times.len() as u64, state.counters.committed);
        prop_assert!(script.times.is_sorted_by(|one, two| one < two));
    }
}

#[test]
fn an_output_that_hangs_at_the_end_does_not_keep_the_others_from_ending() {
    let (stalled, working) = (Scripted::stalled(), Scripted::default());
    let mut set = start(&[(&stalled, hanging(100)), (&working, QueueSettings::COMPLETE)], true);
    batches(0..10, 2).into_iter().for_each(|batch| set.offer(batch, never()));
    let outcomes = end(set);
    assert_eq!(outcomes[1].state.counters.committed, 10);
    assert_eq!((outcomes[0].state.counters.missed, outcomes[0].state.counters.committed), (10, 0));
}

#[test]
fn outputs_of_a_run_that_could_not_begin_or_broke_off_are_let_go() {
    let (idle, begun) = (Scripted::default(), Scripted::default());
    drop(start(&[(&idle, QueueSettings::COMPLETE)], true));
    assert!(idle.script().calls.is_empty());
    let mut set = start(&[(&begun, QueueSettings::COMPLETE)], true);
    batches(0..4, 2).into_iter().for_each(|batch| set.offer(batch, never()));
    drop(set);
    let calls = begun.script().calls.clone();
    assert_eq!(calls, ["take", "take", "abandon"]);
}
