//! The program, the file writer that reads what it sends, and often the broker as well, are killed at random moments, once or twice,
//! with and without a spill, with brokers that stand still meanwhile, and started again: each message is in the topic once, each event
//! of the topic is in the file once, and each event that is missing is named.

use crate::common::kafka::{TopicEnd, read_topic};
use crate::run::{Run, back_soon};
use crate::truth::{Event, EventMessage, all_events, assert_same, events_of_capture, messages_of, simulate};
use crate::writer::Writer;
use evforge_messages::{Array, Message, decode};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use evforge_testkit::patience::wait_until;
use evforge_testkit::random::{Random, moments};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Packets, and the messages that come of them.
struct Scene {
    capture: PathBuf,
    /// All events, in order.
    truth: Vec<Event>,
    /// The messages of a run that nobody disturbs.
    messages: Vec<EventMessage>,
    took: Duration,
}

const STARTS: [&str; 3] = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"];

fn scenes(folder: &Path, broker: &Broker) -> Vec<Scene> {
    let scene = |(number, start): (usize, &&str)| {
        let capture = simulate(folder, &format!("{number}.pcapng"), 14 * 20, start);
        let truth = events_of_capture(folder, &capture);
        let topic = format!("undisturbed_{number}");
        let begin = Instant::now();
        Run::over(folder, &topic, &capture, &broker.address(), &["memory=1MB"]).end().check_success();
        let took = begin.elapsed();
        let messages = messages_of(&broker.address(), &topic);
        assert_same(&topic, &all_events(&messages), &truth);
        Scene { capture, truth, messages, took }
    };
    STARTS.iter().enumerate().map(scene).collect()
}

/// What is different from case to case.
#[derive(Debug)]
struct Case {
    topic: String,
    has_spill: bool,
    /// 1, or several: the messages of a pulse share one then.
    partitions: u32,
    kills: Vec<Kill>,
}

#[derive(Debug)]
struct Kill {
    after: Duration,
    /// The broker stands still from this moment on until after the kill.
    freeze: Option<Duration>,
    /// Who is killed, in this order.
    victims: Vec<Victim>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Producer,
    Broker,
    Writer,
}

impl Victim {
    /// The producer always, the broker in every other case, the file writer in three of four.
    fn draw(random: &mut Random) -> Vec<Self> {
        let mut victims = vec![Self::Producer];
        for (victim, is_killed) in [(Self::Broker, random.below(2) == 0), (Self::Writer, random.below(4) > 0)]
        {
            if is_killed {
                victims.insert(random.below(victims.len() as u64 + 1) as usize, victim);
            }
        }
        victims
    }
}

impl Case {
    fn draw(number: u64, random: &mut Random, took: Duration) -> Self {
        let mut kill = || {
            // With a file writer next to it a run takes longer.
            let after = took.mul_f64(1.6 * random.fraction());
            let freeze = (random.below(2) == 0).then(|| after.mul_f64(random.fraction()));
            // With a broker that stands still it takes longer.
            let after = after + freeze.map_or(Duration::ZERO, |freeze| freeze / 2);
            Kill { after, freeze, victims: Victim::draw(random) }
        };
        let first = kill();
        let second = kill();
        let kills = if random.below(3) == 0 { vec![first, second] } else { vec![first] };
        // The first ones are all of a kind each, so that few of them are enough for all kinds.
        let kind = if number < 4 { number } else { random.below(4) };
        let (has_spill, partitions) = (kind & 1 == 1, if kind & 2 == 2 { 3 } else { 1 });
        Self { topic: format!("killed_{number}"), has_spill, partitions, kills }
    }

    fn keys(&self, folder: &Path) -> Vec<String> {
        let mut keys = vec!["memory=1MB".to_owned(), "message_ids=continue".to_owned()];
        if self.has_spill {
            let folder = folder.join(format!("{}.spill", self.topic));
            keys.push(format!("spill_folder={}", folder.display()));
            keys.push("spill_size=100MB".to_owned());
        }
        if self.partitions > 1 {
            keys.push("key=pulse".to_owned());
        }
        keys
    }

    /// The numbers of the messages on disk. Read as the format is documented, and not by what wrote it.
    fn spilled(&self, folder: &Path) -> BTreeSet<i64> {
        let mut ids = BTreeSet::new();
        let Ok(files) = std::fs::read_dir(folder.join(format!("{}.spill", self.topic))) else { return ids };
        for file in files.map(|file| file.expect("an entry").path()) {
            if file.extension().is_none() {
                continue;
            }
            let bytes = std::fs::read(&file).expect("a file");
            let mut rest = bytes.get(8..).unwrap_or_default();
            while let Some((head, body)) = rest.split_first_chunk::<8>() {
                let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
                // The last one may be there in part: it was being written.
                let Some((body, next)) = body.split_at_checked(length) else { break };
                ids.insert(i64::from_le_bytes(body[8..16].try_into().expect("eight bytes")));
                rest = next;
            }
        }
        ids
    }
}

/// The messages of the topic by number; none is there twice.
fn by_number(broker: &Broker, topic: &str) -> BTreeMap<i64, Vec<Event>> {
    let mut all = BTreeMap::new();
    for message in messages_of(&broker.address(), topic) {
        let id = message.id;
        assert!(all.insert(id, message.events).is_none(), "{topic}: message {id} is there twice");
    }
    all
}

/// What the ledger says: the most events that were acknowledged, and what the last run continues.
fn ledger(broker: &Broker, topic: &str) -> (u64, Option<i64>, Option<i64>) {
    let (mut acknowledged, mut id, mut time) = (0, None, None);
    for message in read_topic(&broker.address(), &format!("{topic}_ledger")) {
        let Message::Da00(array) = decode(&message.payload).expect("a message") else { panic!("not da00") };
        if array.source_name != "freia" {
            continue;
        }
        let number = |name: &str| {
            let Some(Array::Int64(numbers)) = array.variable(name)?.numbers() else {
                panic!("{name}: no i64")
            };
            numbers.first()
        };
        acknowledged = acknowledged.max(number("events_acknowledged").expect("a number") as u64);
        id = number("continues_after_message_id");
        time = number("continues_after_reference_time");
    }
    (acknowledged, id, time)
}

/// Kills whom a case names, and starts the broker and the file writer again.
fn kill(kill: &Kill, program: Run, broker: &mut Broker, writer: &mut Writer) {
    let mut program = Some(program);
    for victim in &kill.victims {
        match victim {
            Victim::Producer => drop(program.take().map(Run::kill)),
            // One that stands still is killed as well as one that does not.
            Victim::Broker => broker.kill(),
            Victim::Writer => writer.kill(),
        }
    }
    if kill.victims.contains(&Victim::Broker) {
        broker.restart();
    } else {
        broker.thaw();
    }
    if kill.victims.contains(&Victim::Writer) {
        writer.start_again();
    }
}

/// Waits until what was on its way to the broker is in the topic. Nothing shows when: no more comes for a while, in real time.
fn await_rest(broker: &str, topic: &str) {
    let (mut topic, mut before) = (TopicEnd::new(broker, topic), -1);
    wait_until("nothing more comes", || {
        let now = topic.messages();
        let is_all = now == before;
        if !is_all {
            before = now;
            std::thread::sleep(Duration::from_millis(300));
        }
        is_all
    });
}

/// Events missing in the end.
fn run(case: &Case, folder: &Path, broker: &mut Broker, scenes: &[Scene]) -> usize {
    let (address, topic) = (broker.address(), case.topic.as_str());
    let keys = case.keys(folder);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    broker.create_topic(topic, case.partitions);
    // The file writer reads it as well, and refuses to begin without: the program may be killed before it makes it.
    broker.create_topic(&format!("{topic}_ledger"), 1);
    let mut writer = Writer::start(folder, topic, &address);
    // What each number stands for, and where the run begins that gives the next ones.
    let mut expected: BTreeMap<i64, Vec<Event>> = BTreeMap::new();
    let mut begins = Vec::new();
    let mut must_be_there = BTreeSet::new();
    let mut number = 0;
    for (moment, scene) in case.kills.iter().zip(scenes) {
        begins.push(number);
        expected.split_off(&(number + 1));
        expected.extend(scene.messages.iter().map(|message| (number + message.id, message.events.clone())));
        let begin = Instant::now();
        let program = Run::over(folder, topic, &scene.capture, &address, &keys);
        if let Some(freeze) = moment.freeze {
            std::thread::sleep(freeze.saturating_sub(begin.elapsed()));
            broker.freeze();
        }
        std::thread::sleep(moment.after.saturating_sub(begin.elapsed()));
        kill(moment, program, broker, &mut writer);
        await_rest(&address, topic);
        let found = by_number(broker, topic);
        let spilled = case.spilled(folder);
        must_be_there.extend(found.keys().copied().chain(spilled));
        let events: usize = found.range(number + 1..).map(|(_, events)| events.len()).sum();
        number = must_be_there.last().copied().unwrap_or(0);
        let (acknowledged, ..) = ledger(broker, topic);
        assert!(case.kills.len() > 1 || acknowledged <= events as u64, "{acknowledged} of {events}");
    }
    begins.push(number);
    expected.split_off(&(number + 1));
    let last = &scenes[case.kills.len()];
    expected.extend(last.messages.iter().map(|message| (number + message.id, message.events.clone())));
    must_be_there.extend(last.messages.iter().map(|message| number + message.id));

    let ended = Run::over(folder, topic, &last.capture, &address, &keys).end();
    ended.check_success();
    let found = by_number(broker, topic);
    let ids: BTreeSet<i64> = found.keys().copied().collect();
    let gone: Vec<_> = must_be_there.difference(&ids).collect();
    let more: Vec<_> = ids.difference(&must_be_there).collect();
    assert!(gone.is_empty(), "these were acknowledged or on disk, and are not in the topic: {gone:?}");
    assert!(more.is_empty(), "these are in the topic, and were not: {more:?}");
    for (id, events) in &found {
        assert_same(&format!("message {id}"), events, &expected[id]);
    }
    assert!(case.partitions > 1 || case.has_spill || ids.iter().copied().eq(1..=ids.len() as i64), "gaps");
    assert!(case.spilled(folder).is_empty(), "the spill was not emptied");

    // The file has what the topic has, and names the numbers that are missing.
    let written = writer.end();
    let mut of_topic: Vec<Event> = found.values().flatten().copied().collect();
    let mut of_file = written.events;
    if case.partitions > 1 {
        // In the order of the partitions, which is none.
        of_topic.sort_unstable();
        of_file.sort_unstable();
    }
    assert_same("the file", &of_file, &of_topic);
    let numbers = ids.last().copied().unwrap_or(0) - ids.first().copied().unwrap_or(1) + 1;
    assert_eq!(written.missing, numbers - ids.len() as i64, "numbers that the file says are missing");

    // The ledger names what came before the last run, if anything did.
    let (_, id, time) = ledger(broker, topic);
    assert_eq!(id, (number > 0).then_some(number), "continues_after_message_id");
    let before = expected.get(&number).and_then(|events| events.last()).map(|event| event.pulse);
    assert_eq!(time, before, "continues_after_reference_time");

    // Each event that is missing is in a message whose number is, or behind the last message of a killed run.
    let mut missing = 0;
    for (index, scene) in scenes[..case.kills.len()].iter().enumerate() {
        let of_run = found.range(begins[index] + 1..begins[index + 1] + 1).flat_map(|(_, events)| events);
        let there: Vec<Event> = of_run.copied().collect();
        let absent = crate::truth::missing(topic, &there, &scene.truth);
        let numbers = begins[index] + 1..=begins[index + 1];
        let in_gaps: Vec<Event> = numbers
            .filter(|id| !ids.contains(id))
            .flat_map(|id| scene.messages[(id - begins[index] - 1) as usize].events.clone())
            .collect();
        let sent = (begins[index + 1] - begins[index]) as usize;
        let behind = scene.messages[sent..].iter().flat_map(|message| message.events.clone());
        assert_same(topic, &absent, &in_gaps.into_iter().chain(behind).collect::<Vec<_>>());
        missing += absent.len();
    }
    missing
}

#[test]
fn killed_at_random_moments_and_started_again() {
    if !is_possible("killed_at_random_moments_and_started_again") {
        return;
    }
    let mut broker = Broker::with(back_soon());
    let folder = tempfile::tempdir().unwrap();
    let scenes = scenes(folder.path(), &broker);
    let took = scenes.iter().map(|scene| scene.took).sum::<Duration>() / scenes.len() as u32;
    let moments = moments(4);
    let mut random = Random::of_environment();
    println!("a run takes {took:?}; moments are drawn from EVFORGE_SEED={}", random.seed());
    let (mut kills, mut with_losses) = (0, 0);
    for number in 0.. {
        let case = Case::draw(number, &mut random, took);
        println!("{case:?}");
        let missing = run(&case, folder.path(), &mut broker, &scenes);
        println!("  {missing} events are missing, each is named");
        kills += case.kills.len() as u64;
        with_losses += u64::from(missing > 0);
        if kills >= moments {
            break;
        }
    }
    println!("{kills} kills; events are missing in {with_losses} topics");
}
