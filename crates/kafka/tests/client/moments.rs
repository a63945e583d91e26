//! What becomes of topics at random moments while they are read: nothing is skipped or double without a word.
//!
//! `EVFORGE_SOAK=30` (`make soak-kafka`) takes that many moments of each kind, `EVFORGE_SEED` others.

use crate::topics::Site;
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_kafka::topic::{Begin, Next, TopicReader, Until, What};
use evforge_testkit::kafka_broker::{Broker, Cluster, Topic, is_possible};
use evforge_testkit::patience::{patience, wait_until};
use evforge_testkit::random::{Random, moments};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

static RUN: AtomicBool = AtomicBool::new(false);

/// Longest time before and after what happens: longer than a second, in which brokers are asked once.
const AROUND_MS: u64 = 1500;

/// A message as it is known to the test: which topic of the name it is of, and its number there.
type Sent = (u64, i64);

/// What a reader has had, in the order in which it came.
#[derive(Clone, Debug)]
enum Had {
    Message(i32, Sent),
    Changed(i32, What),
}

/// Reads a topic until it is told to end.
struct Follower {
    had: Arc<Mutex<Vec<Had>>>,
    end: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Follower {
    fn start(here: &ClientSettings, topic: &str) -> Self {
        let (had, end) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let deadline = Deadline::from(patience());
        let mut reader =
            TopicReader::open(here, topic, Begin::Oldest, Until::Forever, &deadline).expect("a topic");
        let (into, ends) = (Arc::clone(&had), Arc::clone(&end));
        let thread = spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let one = match reader.next(Duration::from_millis(20)).expect("it can be read") {
                    Next::Message(record) => {
                        let text = String::from_utf8(record.payload).expect("text");
                        let (topic, number) = text.split_once(' ').expect("two numbers");
                        let sent = (topic.parse().expect("a number"), number.parse().expect("a number"));
                        Had::Message(record.partition, sent)
                    }
                    Next::Changed(change) => Had::Changed(change.partition, change.what),
                    Next::Idle => continue,
                    Next::End => panic!("it has no end"),
                };
                into.lock().expect("nobody has panicked").push(one);
            }
        });
        Self { had, end, thread }
    }

    fn had(&self) -> Vec<Had> {
        self.had.lock().expect("nobody has panicked").clone()
    }

    /// Waits until it has had what is asked for.
    fn wait(&self, what: &str, is_there: impl Fn(&[Had]) -> bool) {
        wait_until(format_args!("{what} is read"), || {
            let had = self.had();
            assert!(!self.thread.is_finished(), "{had:?}");
            is_there(&had)
        });
    }

    fn wait_for(&self, partition: i32, last: Sent) {
        let is_it =
            |had: &Had| matches!(had, Had::Message(number, sent) if (*number, *sent) == (partition, last));
        self.wait(&format!("message {last:?} of partition {partition}"), |had| had.iter().any(is_it));
    }

    fn end(self) -> Vec<Had> {
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().expect("it has read");
        Arc::into_inner(self.had).expect("of the thread").into_inner().expect("nobody has panicked")
    }
}

/// Checks that no message is skipped or double without a change of its partition that says so, at that place or behind it. Gives the changes.
fn changes(had: &[Had]) -> Vec<What> {
    let mut next: BTreeMap<i32, Sent> = BTreeMap::new();
    let mut unsaid: BTreeMap<i32, Sent> = BTreeMap::new();
    let mut changes = Vec::new();
    for one in had {
        match *one {
            Had::Message(partition, (topic, number)) => {
                let expected = next.insert(partition, (topic, number + 1));
                if expected.is_some_and(|expected| expected != (topic, number)) {
                    unsaid.insert(partition, (topic, number));
                }
            }
            Had::Changed(partition, what) => {
                next.remove(&partition);
                unsaid.remove(&partition);
                changes.push(what);
            }
        }
    }
    assert!(unsaid.is_empty(), "skipped or double without a word: {unsaid:?} in {had:?}");
    changes
}

/// The numbers of all messages of a topic of the name that were read.
fn numbers(had: &[Had], topic: u64) -> BTreeSet<i64> {
    let of = |one: &Had| match one {
        Had::Message(_, (of, number)) if *of == topic => Some(*number),
        _ => None,
    };
    had.iter().filter_map(of).collect()
}

fn sender(here: &ClientSettings, topic: &str) -> Sender {
    Sender::open(here, topic, &Deadline::from(patience())).expect("a sender")
}

/// Sends messages with these numbers, which all arrive.
fn send_all(mut sender: Sender, (partition, which): (i32, u64), numbers: Range<i64>) {
    for number in numbers {
        let text = format!("{which} {number}");
        let message =
            Outgoing { payload: text.as_bytes(), partition: Some(partition), ..Outgoing::default() };
        assert!(sender.send(&message, &RUN).expect("it is sent"));
    }
    assert!(sender.finish(patience(), &RUN).is_complete());
}

fn send(here: &ClientSettings, topic: &str, to: (i32, u64), numbers: Range<i64>) {
    send_all(sender(here, topic), to, numbers);
}

fn pause(random: &mut Random) {
    sleep(Duration::from_millis(random.below(AROUND_MS)));
}

/// Has something happen to a topic at random moments, while it is read.
fn at_moments(test: &str, happen: impl Fn(&Site, &Follower, &mut Random)) -> Option<Vec<Vec<Had>>> {
    let mut random = Random::of_environment_or(1);
    println!("{test}: moments are drawn from EVFORGE_SEED={}", random.seed());
    let moment = |_| {
        let site = Site::new(test)?;
        send(&site.here, &site.topic, (0, 0), 0..20);
        let follower = Follower::start(&site.here, &site.topic);
        pause(&mut random);
        happen(&site, &follower, &mut random);
        Some(follower.end())
    };
    (0..moments(2)).map(moment).collect()
}

#[test]
fn at_any_moment_a_topic_is_made_anew() {
    let all = at_moments("at_any_moment_a_topic_is_made_anew", |site, follower, random| {
        // Fewer messages than before, or more.
        let later = 5 + i64::try_from(random.below(40)).expect("a small number");
        site.make_anew(&[]);
        send(&site.here, &site.topic, (0, 1), 0..later);
        pause(random);
        send(&site.here, &site.topic, (0, 1), later..later + 5);
        follower.wait("all of the new topic", |had| numbers(had, 1).len() as i64 == later + 5);
    });
    for had in all.into_iter().flatten() {
        let changes = changes(&had);
        assert!(changes.iter().any(|what| matches!(what, What::Anew { .. })), "{changes:?}");
    }
}

#[test]
fn at_any_moment_a_partition_is_added() {
    let all = at_moments("at_any_moment_a_partition_is_added", |site, follower, random| {
        site.broker.add_partitions(&site.topic, 2);
        send(&site.here, &site.topic, (1, 1), 0..10);
        pause(random);
        send(&site.here, &site.topic, (0, 0), 20..30);
        send(&site.here, &site.topic, (1, 1), 10..15);
        follower.wait_for(0, (0, 29));
        follower.wait_for(1, (1, 14));
    });
    for had in all.into_iter().flatten() {
        assert_eq!(changes(&had), [What::Added { first: 0 }], "{had:?}");
        assert_eq!((numbers(&had, 0).len(), numbers(&had, 1).len()), (30, 15), "{had:?}");
    }
}

#[test]
fn at_any_moment_messages_are_removed() {
    let all = at_moments("at_any_moment_messages_are_removed", |site, follower, random| {
        // Some of what is read, and some of what comes at the same time.
        for chunk in 0..8 {
            send(&site.here, &site.topic, (0, 0), 20 + 250 * chunk..270 + 250 * chunk);
            sleep(Duration::from_millis(random.below(50)));
            let first = 250 * chunk + i64::try_from(random.below(270)).expect("a small number");
            site.broker.remove_before(&site.topic, 0, first);
        }
        pause(random);
        send(&site.here, &site.topic, (0, 0), 2020..2030);
        follower.wait_for(0, (0, 2029));
    });
    for had in all.into_iter().flatten() {
        let removed: u64 = changes(&had)
            .into_iter()
            .map(|what| match what {
                What::Removed { messages, .. } => messages,
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(numbers(&had, 0).len() as u64 + removed, 2030, "each is read or counted");
    }
}

/// Cuts the log of a topic with one partition, as a power cut does to what no disk has yet. Gives what is left of its bytes.
fn cut(broker: &Broker, topic: &str, share: f64) -> u64 {
    let log = broker.folder().join("1/data").join(format!("{topic}-0")).join("00000000000000000000.log");
    let file = OpenOptions::new().write(true).open(log).expect("a log");
    let kept = (file.metadata().expect("a log").len() as f64 * share) as u64;
    file.set_len(kept).expect("it is cut");
    kept
}

#[test]
fn at_any_moment_a_log_loses_its_end() {
    let test = "at_any_moment_a_log_loses_its_end";
    if !is_possible(test) {
        return;
    }
    let mut broker = Broker::start();
    let here = ClientSettings::new(broker.address().parse::<Brokers>().expect("an address"));
    let mut random = Random::of_environment_or(1);
    for number in 0..moments(2) {
        let topic = format!("cut-{number}");
        broker.create_topic(&topic, 1);
        (0..10).for_each(|ten| send(&here, &topic, (0, 0), 10 * ten..10 * ten + 10));
        let follower = Follower::start(&here, &topic);
        follower.wait_for(0, (0, 99));
        pause(&mut random);
        broker.kill();
        cut(&broker, &topic, 0.3 + 0.4 * random.fraction());
        broker.restart();
        // It stays shorter than what was read, or is longer again before anybody has looked.
        let later = if number % 2 == 0 { 5 } else { 200 };
        send(&here, &topic, (0, 1), 0..later);
        pause(&mut random);
        send(&here, &topic, (0, 1), later..later + 120);
        follower.wait_for(0, (1, later + 119));
        let had = follower.end();
        let changes = changes(&had);
        assert!(matches!(changes[..], [What::Cut { was_at: 100, .. }]), "moment {number}: {changes:?}");
    }
}

#[test]
fn at_any_moment_a_leader_is_lost() {
    let test = "at_any_moment_a_leader_is_lost";
    if !is_possible(test) {
        return;
    }
    let mut cluster = Cluster::start(3);
    let here = ClientSettings::new(cluster.addresses().parse::<Brokers>().expect("addresses"));
    let topic = Topic { replication: 3, ..Topic::new("led") };
    cluster.create_topic(&topic);
    send(&here, "led", (0, 0), 0..100);
    let follower = Follower::start(&here, "led");
    let mut random = Random::of_environment_or(1);
    for moment in 0..i64::try_from(moments(2)).expect("a small number") {
        // Of brokers that are all there.
        let (sender, first) = (sender(&here, "led"), 100 + 1000 * moment);
        let sends = spawn(move || send_all(sender, (0, 0), first..first + 1000));
        pause(&mut random);
        let leader = cluster.leaders(1, "led")[0];
        cluster.kill(leader);
        sends.join().expect("it is sent");
        follower.wait_for(0, (0, first + 999));
        cluster.restart(leader);
    }
    let had = follower.end();
    assert_eq!(changes(&had), [], "each is read once, in its order");
}

/// What the check of this file finds.
#[test]
fn what_is_skipped_or_double_is_found() {
    let message = |number| Had::Message(0, (0, number));
    let removed = Had::Changed(0, What::Removed { messages: 1, first: 2 });
    assert_eq!(changes(&[message(0), message(1)]), []);
    assert_eq!(changes(&[message(0), removed.clone(), message(2)]).len(), 1);
    assert_eq!(changes(&[message(0), message(2), removed]).len(), 1, "it may be said a little later");
    for wrong in [[message(0), message(2)], [message(0), message(0)]] {
        assert!(std::panic::catch_unwind(|| changes(&wrong)).is_err(), "{wrong:?}");
    }
}
