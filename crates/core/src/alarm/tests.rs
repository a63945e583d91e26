use super::*;
use crate::feed::FeedState;
use crate::ledger::{DetectorLedger, PacketLedger, SourceLedger};
use crate::losses::LossLocation;
use crate::run_state::RunState;
use std::time::Duration;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn ledger(lost: &[(&str, u64)]) -> DetectorLedger {
    let source = |&(name, lost): &(&str, u64)| SourceLedger {
        name: name.to_owned(),
        packets: PacketLedger { sent: Some(1000), received: 1000 - lost, lost, ..PacketLedger::default() },
        ..SourceLedger::default()
    };
    DetectorLedger { sources: lost.iter().map(source).collect(), ..DetectorLedger::default() }
}

fn kinds(state: &RunState) -> Vec<AlarmKind> {
    state.alarms().iter().map(|alarm| alarm.kind).collect()
}

#[test]
fn a_loss_lasts_until_a_minute_has_passed_without_another_packet() {
    let mut watch = LossWatch::default();
    let mut at = |second, lost| {
        let ledger = ledger(&[("a", 0), ("b", lost)]);
        let mut state = RunState { elapsed: seconds(second), ledger, ..RunState::default() };
        watch.observe(&mut state);
        state.recent_losses
    };
    let loss = |lost, lasted| vec![RecentLoss { source: "b".into(), lost, lasted: seconds(lasted) }];
    assert_eq!(at(1, 0), []);
    assert_eq!(at(2, 3), loss(3, 0), "also what was lost before the first look");
    assert_eq!(at(30, 7), loss(7, 28));
    assert_eq!(at(89, 7), loss(7, 28));
    assert_eq!(at(90, 7), []);
    assert_eq!(at(91, 8), loss(1, 0), "another one");
    assert_eq!(at(92, 7), [], "it came late, and was not lost");
}

/// Readouts without numbers: only the counters of this host know.
#[test]
fn without_numbers_the_places_of_the_host_say_what_is_lost() {
    let mut watch = LossWatch::default();
    let ledger = DetectorLedger {
        sources: vec![SourceLedger::unnumbered("a".into(), 9)],
        ..DetectorLedger::default()
    };
    let mut state = RunState { ledger, ..RunState::default() };
    watch.observe(&mut state);
    assert_eq!(state.recent_losses, []);
    state.losses.add(LossLocation::SocketBuffer, 1200, false);
    watch.observe(&mut state);
    let [alarm] = &state.alarms()[..] else { panic!("{:?}", state.alarms()) };
    assert_eq!((alarm.kind, alarm.short.as_str()), (AlarmKind::Loss, "1 200 packets lost"));
    assert!(
        alarm.text.starts_with("1 200 packets lost (of this run: 1 200 in the socket buffer). The place")
    );
}

/// Each kind can be raised, and has a name of its own.
#[test]
fn every_alarm_can_be_raised_and_data_at_risk_come_first() {
    let states = states_with_every_alarm();
    let mut raised: Vec<AlarmKind> = Vec::new();
    for state in &states {
        let alarms = kinds(state);
        assert!(alarms.is_sorted_by_key(|kind| kind.rank()), "{alarms:?}");
        raised.extend(alarms);
    }
    raised.sort_unstable();
    raised.dedup();
    let mut all = AlarmKind::ALL.to_vec();
    all.sort_unstable();
    assert_eq!(raised, all);
    let mut names: Vec<&str> = all.iter().map(|kind| kind.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    // What cannot change any more is no alarm at the end.
    let mut state = states[0].clone();
    state.feed.state = FeedState::Ended("stopped".into());
    assert!(
        !kinds(&state)
            .iter()
            .any(|kind| matches!(kind, AlarmKind::Loss | AlarmKind::Clock | AlarmKind::DiskFull))
    );
    assert_eq!(RunState::default().alarms(), []);
}

#[test]
fn an_alarm_begins_changes_with_its_words_and_is_over() {
    let mut history = AlarmHistory::default();
    let alarm = |text: &str| Alarm::new(AlarmKind::OutputWaiting, "csv waits", text).about("csv");
    let other = Alarm::new(AlarmKind::OutputWaiting, "nexus waits", "no space").about("nexus");
    let mut at =
        |second, alarms: Vec<Alarm>| history.observe(seconds(second), second * 1_000_000_000, alarms);
    assert_eq!(at(1, vec![alarm("1 dropped")]), [Turn::Begun(alarm("1 dropped"))]);
    assert_eq!(at(2, vec![alarm("7 dropped")]), [], "only its number has changed");
    let turns = at(3, vec![alarm("no broker"), other.clone()]);
    assert_eq!(turns, [Turn::Changed(alarm("no broker")), Turn::Begun(other.clone())]);
    assert_eq!(at(9, vec![other.clone()]), [Turn::Over(alarm("no broker"), seconds(8))]);
    assert_eq!(at(10, vec![alarm("again"), other.clone()]), [Turn::Begun(alarm("again"))]);
    let record = |alarm, second, lasted: Option<u64>| AlarmRecord {
        alarm,
        began_unix_ns: second * 1_000_000_000,
        began: seconds(second),
        lasted: lasted.map(seconds),
    };
    let expected =
        [record(alarm("no broker"), 1, Some(8)), record(other, 3, None), record(alarm("again"), 10, None)];
    assert_eq!((history.records(), history.not_kept()), (&expected[..], 0));
}

/// Hours of a link that comes and goes.
#[test]
fn a_history_is_bounded_and_says_how_much_is_missing() {
    let mut history = AlarmHistory::default();
    for second in 0..1000 {
        let alarms =
            if second % 2 == 0 { vec![Alarm::new(AlarmKind::NoData, "No data", "No data")] } else { vec![] };
        history.observe(seconds(second), 0, alarms);
    }
    assert_eq!((history.records().len(), history.not_kept()), (256, 244));
}
