use super::*;
use crate::sending::record::About;
use crate::sending::test_support::MemoryTransport;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    transport: MemoryTransport,
    sender: Sender,
    counters: KafkaCounters,
    sent: i64,
}

impl Bench {
    fn new(room: usize, spill: Option<Spill>, last: LastIds) -> Self {
        let transport = MemoryTransport::new(room);
        let sender = Sender::new(Box::new(transport.clone()), spill, last);
        Self { transport, sender, counters: KafkaCounters::default(), sent: 0 }
    }

    /// Sends a message of three events.
    fn send(&mut self, now: Duration) {
        self.sent += 1;
        let payload = self.sent.to_le_bytes();
        let about = About { events: 3, source: "a", id: self.sent, arrival_ns: Some(1_000) };
        let record = Record {
            topic: "t",
            partition: None,
            key: None,
            timestamp_ms: 0,
            payload: &payload,
            headers: &[],
            about,
        };
        self.sender.send(&record, now, &mut self.counters);
        self.check();
    }

    fn pump(&mut self, now: Duration) -> Result<(), OutputError> {
        let pumped = self.sender.pump(Duration::ZERO, now, 5_000, &mut self.counters);
        self.check();
        pumped
    }

    /// Every event is somewhere, and every message.
    fn check(&self) {
        let (sender, counters) = (&self.sender, &self.counters);
        let events = sender.acknowledged_events() + sender.failed_events() + sender.pending_events();
        assert_eq!(events, 3 * self.sent as u64);
        let failed = counters.failed_too_large + counters.failed_purged + counters.failed_other;
        let messages = counters.messages_acknowledged + failed + sender.messages_waiting();
        assert_eq!(messages, counters.messages_produced);
    }

    fn ids(&self) -> Vec<i64> {
        self.transport.broker().topic.iter().map(|record| record.id).collect()
    }
}

fn spill(folder: &tempfile::TempDir) -> Option<Spill> {
    Some(Spill::open(folder.path(), 1_000_000).expect("a spill").0)
}

#[test]
fn without_room_messages_wait_and_keep_their_order() {
    let mut bench = Bench::new(2, None, LastIds::default());
    bench.transport.broker().is_down = true;
    (0..5).for_each(|_| bench.send(SECOND));
    assert!(!bench.sender.has_room());
    bench.pump(SECOND).unwrap();
    let said = bench.pump(2 * SECOND).unwrap_err().reason().to_owned();
    assert!(said.contains("broker is down") && said.contains("5 messages with 15 events wait"), "{said}");
    bench.transport.broker().is_down = false;
    while bench.sender.messages_waiting() > 0 {
        bench.pump(2 * SECOND).unwrap();
    }
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5]);
    assert_eq!((bench.counters.broker_outages, bench.counters.acknowledged_after_p99), (1, 4));
}

#[test]
fn with_a_spill_they_go_to_the_disk_and_come_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(2, spill(&folder), LastIds::default());
    bench.transport.broker().is_down = true;
    (0..5).for_each(|_| bench.send(SECOND));
    assert!(bench.sender.has_room());
    assert_eq!(bench.counters.spilled_messages, 3);
    bench.transport.broker().is_down = false;
    bench.pump(SECOND).unwrap();
    bench.send(SECOND);
    while bench.sender.messages_waiting() > 0 {
        bench.pump(SECOND).unwrap();
    }
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(bench.counters.spilled_bytes, 0);
}

#[test]
fn what_an_earlier_run_left_is_sent_first_and_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(1, spill(&folder), LastIds::default());
    bench.transport.broker().is_down = true;
    (0..5).for_each(|_| bench.send(SECOND));
    assert!(bench.sender.spill_left() == Some(4));
    drop(bench);
    // The topic has 1 to 3.
    let mut last = LastIds::default();
    (1..=3).for_each(|id| last.add("a", id, None));
    let mut bench = Bench::new(1, spill(&folder), last);
    bench.transport.broker().room = 10;
    for _ in 0..3 {
        let _ = bench.sender.pump(Duration::ZERO, SECOND, 0, &mut bench.counters);
    }
    assert_eq!(bench.ids(), [4, 5]);
    assert_eq!((bench.counters.spill_resent, bench.counters.spill_already_there), (2, 2));
    assert_eq!((bench.sender.pending_events(), bench.sender.acknowledged_events()), (0, 0));
}

#[test]
fn refusals_are_counted_by_reason_and_silence_is_noticed() {
    let mut bench = Bench::new(9, None, LastIds::default());
    bench.transport.broker().fails = Some(FailureKind::TooLarge);
    bench.send(SECOND);
    bench.pump(SECOND).unwrap();
    assert_eq!((bench.counters.failed_too_large, bench.sender.failed_events()), (1, 3));
    assert_eq!(bench.sender.last_failure(), Some("as the test wants it"));
    bench.transport.broker().is_silent = true;
    bench.send(2 * SECOND);
    bench.pump(3 * SECOND).unwrap();
    let said = bench.pump(6 * SECOND).unwrap_err().reason().to_owned();
    assert!(said.contains("nothing for 4 s") || said.contains("anything for 4 s"), "{said}");
    bench.sender.give_up(6 * SECOND, 0, &mut bench.counters);
    bench.check();
    assert_eq!(bench.counters.failed_purged, 1);
    // No broker has refused it: it is missing, and that is counted by whoever ends the output.
    assert_eq!((bench.sender.failed_events(), bench.sender.pending_events()), (3, 3));
}

#[test]
fn what_was_on_disk_and_is_given_up_stays_there_for_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(1, spill(&folder), LastIds::default());
    bench.transport.broker().is_silent = true;
    (0..5).for_each(|_| bench.send(SECOND));
    // Messages 2 to 4 are read from the disk, and sent to a broker that does not answer; message 1 was in memory only.
    bench.transport.broker().room = 4;
    let _ = bench.pump(2 * SECOND);
    assert_eq!(bench.sender.in_transport(), 4);
    bench.sender.give_up(6 * SECOND, 0, &mut bench.counters);
    bench.check();
    assert_eq!((bench.sender.spill_left(), bench.counters.failed_purged), (Some(5), 0));
    drop(bench);
    let mut bench = Bench::new(9, spill(&folder), LastIds::default());
    for _ in 0..3 {
        let _ = bench.sender.pump(Duration::ZERO, SECOND, 0, &mut bench.counters);
    }
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5]);
}

#[test]
fn what_is_given_up_and_finds_no_room_on_the_disk_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let small = Some(Spill::open(folder.path(), 200).expect("a spill").0);
    let mut bench = Bench::new(5, small, LastIds::default());
    bench.transport.broker().is_silent = true;
    (0..5).for_each(|_| bench.send(SECOND));
    bench.sender.give_up(6 * SECOND, 0, &mut bench.counters);
    bench.check();
    let kept = bench.sender.spill_left().unwrap();
    assert_eq!((kept > 0, kept + bench.counters.failed_purged), (true, 5));
}

#[test]
fn silence_about_events_is_noticed_while_other_messages_arrive() {
    let mut bench = Bench::new(9, None, LastIds::default());
    bench.transport.broker().loses_events = true;
    bench.send(SECOND);
    let status = Record {
        topic: "status",
        partition: None,
        key: None,
        timestamp_ms: 0,
        payload: b"x",
        headers: &[],
        about: About::default(),
    };
    for second in 2..4 {
        assert!(bench.sender.offer(&status, SECOND * second, &mut bench.counters));
        bench.pump(SECOND * second).unwrap();
    }
    assert!(bench.sender.offer(&status, 5 * SECOND, &mut bench.counters));
    let said = bench.pump(5 * SECOND).unwrap_err().reason().to_owned();
    assert!(said.contains("anything for 4 s"), "{said}");
}

proptest! {
    #[test]
    fn nothing_is_lost_doubled_or_overtaken(
        steps in prop::collection::vec((0_u8..6, 1_usize..5), 1..80), room in 1_usize..6, has_spill: bool, is_given_up: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(room, has_spill.then(|| spill(&folder)).flatten(), LastIds::default());
        for (index, (step, count)) in steps.into_iter().enumerate() {
            let now = SECOND * index as u32;
            match step {
                0..3 if bench.sender.has_room() => (0..count).for_each(|_| bench.send(now)),
                3 => bench.transport.broker().is_down = true,
                4 => bench.transport.broker().is_down = false,
                _ => drop(bench.pump(now)),
            }
        }
        if has_spill && is_given_up {
            bench.sender.give_up(SECOND * 99, 0, &mut bench.counters);
            bench.check();
            let mut ids = bench.ids();
            let mut last = LastIds::default();
            ids.iter().for_each(|id| last.add("a", *id, None));
            let (sent, kept) = (bench.sent, bench.sender.spill_left().unwrap_or(0));
            prop_assert!(kept as i64 >= sent - ids.len() as i64);
            drop(bench);
            bench = Bench::new(room, spill(&folder), last);
            for _ in 0..1000 {
                prop_assert!(bench.sender.pump(Duration::ZERO, SECOND, 0, &mut bench.counters).is_ok());
            }
            ids.extend(bench.ids());
            prop_assert_eq!(ids, (1..=sent).collect::<Vec<_>>());
            return Ok(());
        }
        bench.transport.broker().is_down = false;
        for _ in 0..1000 {
            prop_assert!(bench.pump(SECOND * 100).is_ok());
        }
        prop_assert_eq!(bench.ids(), (1..=bench.sent).collect::<Vec<_>>());
    }
}
