//! What becomes of topics while they are read: nothing is skipped or double without a word.

use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_kafka::topic::{Begin, Next, TopicReader, Until, What};
use evforge_testkit::kafka_broker::{SharedBroker, shared};
use evforge_testkit::patience::patience;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

static RUN: AtomicBool = AtomicBool::new(false);

/// A topic of one partition at a broker that all tests share.
pub(crate) struct Site {
    pub(crate) broker: SharedBroker,
    pub(crate) topic: String,
    pub(crate) here: ClientSettings,
}

impl Site {
    pub(crate) fn new(test: &str) -> Option<Self> {
        let broker = shared(test)?;
        let topic = broker.create_topic("read", 1);
        let here = ClientSettings::new(broker.address().parse::<Brokers>().expect("an address"));
        Some(Self { broker, topic, here })
    }

    /// The topic is deleted, and made again with these messages.
    pub(crate) fn make_anew(&self, messages: &[&str]) {
        self.broker.delete_topic(&self.topic);
        self.broker.create_topic("read", 1);
        self.send(messages, 0);
    }

    fn send(&self, messages: &[&str], partition: i32) {
        let mut sender =
            Sender::open(&self.here, &self.topic, &Deadline::from(patience())).expect("a sender");
        for message in messages {
            let (payload, partition) = (message.as_bytes(), Some(partition));
            assert!(
                sender
                    .send(&Outgoing { payload, partition, ..Outgoing::default() }, &RUN)
                    .expect("it is sent")
            );
        }
        assert!(sender.finish(patience(), &RUN).is_complete());
    }

    fn reader(&self) -> TopicReader {
        let deadline = Deadline::from(patience());
        TopicReader::open(&self.here, &self.topic, Begin::Oldest, Until::Forever, &deadline).expect("a topic")
    }
}

/// What a reader has until so many messages have come: messages, and what has happened.
fn read(reader: &mut TopicReader, messages: usize) -> (Vec<String>, Vec<What>) {
    let (mut read, mut changes, end) = (Vec::new(), Vec::new(), Instant::now() + patience());
    while read.len() < messages {
        assert!(Instant::now() < end, "{read:?} {changes:?} {:?}", reader.complaints());
        match reader.next(Duration::from_millis(100)).expect("a message") {
            Next::Message(record) => read.push(String::from_utf8(record.payload).expect("text")),
            Next::Changed(change) => changes.push(change.what),
            Next::Idle => {}
            Next::End => panic!("it has no end"),
        }
    }
    (read, changes)
}

#[test]
fn a_topic_that_is_made_anew_is_read_from_its_beginning() {
    let Some(site) = Site::new("a_topic_that_is_made_anew_is_read_from_its_beginning") else { return };
    site.send(&["1", "2", "3"], 0);
    let mut reader = site.reader();
    assert_eq!(read(&mut reader, 3).0, ["1", "2", "3"]);
    // Fewer messages than were read, and more.
    site.make_anew(&["4", "5"]);
    let (found, changes) = read(&mut reader, 2);
    assert_eq!(found, ["4", "5"]);
    assert!(matches!(changes[..], [.., What::Anew { was_at: 3, first: 0 }]), "{changes:?}");
    site.make_anew(&["6", "7", "8", "9"]);
    // What it has behind the place of the one before may come first, before the brokers have said that it is another: it comes again.
    let (mut found, mut changes) = (Vec::new(), Vec::new());
    while !found.ends_with(&["6", "7", "8", "9"].map(str::to_owned)) {
        let (one, what) = read(&mut reader, 1);
        found.extend(one);
        changes.extend(what);
    }
    assert!(changes.iter().any(|what| matches!(what, What::Anew { .. })), "{found:?} {changes:?}");
    assert!(found.len() <= 6, "{found:?}");
}

#[test]
fn a_partition_that_is_added_is_read_from_its_beginning() {
    let Some(site) = Site::new("a_partition_that_is_added_is_read_from_its_beginning") else { return };
    site.send(&["1"], 0);
    let mut reader = site.reader();
    assert_eq!(read(&mut reader, 1).0, ["1"]);
    site.broker.add_partitions(&site.topic, 2);
    site.send(&["2", "3"], 1);
    let (found, changes) = read(&mut reader, 2);
    assert_eq!((found, changes), (vec!["2".to_owned(), "3".to_owned()], vec![What::Added { first: 0 }]));
}

#[test]
fn messages_that_are_removed_before_they_are_read_are_counted() {
    let Some(site) = Site::new("messages_that_are_removed_before_they_are_read_are_counted") else { return };
    site.send(&["1", "2", "3", "4"], 0);
    let deadline = Deadline::from(patience());
    let open = || {
        TopicReader::open(&site.here, &site.topic, Begin::Oldest, Until::Forever, &deadline).expect("a topic")
    };
    let mut early = open();
    site.broker.remove_before(&site.topic, 0, 3);
    // What it has fetched before comes; nothing that is removed is passed over without a word.
    let (mut found, mut removed) = (0, 0);
    while found + removed < 4 {
        let (_, changes) = read(&mut early, 1);
        found += 1;
        removed += changes
            .iter()
            .map(|what| match what {
                What::Removed { messages, first: 3 } => *messages,
                other => panic!("{other:?}"),
            })
            .sum::<u64>();
    }
    assert_eq!(found + removed, 4);
    assert_eq!(read(&mut open(), 1), (vec!["4".to_owned()], vec![]));
}
