//! Topics that are followed: a thread reads each, as long as it is wanted, whatever happens to brokers.

use super::clock::now_ms;
use evforge_kafka::client::{ClientError, ClientSettings, Deadline};
use evforge_kafka::topic::{Begin, Next, Record, TopicReader, Until};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Messages that may wait for the conversation.
const WAITING: usize = 64;
/// How long a message is waited for before it is looked whether the topic is wanted still.
const SLICE: Duration = Duration::from_millis(100);
/// From one try to open a topic to the next.
const AGAIN: Duration = Duration::from_secs(1);

/// What a thread has read.
pub(super) struct Letter {
    number: u64,
    pub(super) topic: Arc<str>,
    pub(super) news: News,
}

/// What is new of a topic.
pub(super) enum News {
    /// A message, and until when the topic had been read to its end before, milliseconds since 1970.
    Message(Record, u64),
    /// It cannot be read at the moment.
    Trouble(String),
}

struct Follower {
    number: u64,
    is_wanted: Arc<AtomicBool>,
}

/// All topics that are followed.
pub(super) struct Followers {
    settings: Arc<ClientSettings>,
    topics: BTreeMap<String, Follower>,
    last_number: u64,
    give: SyncSender<Letter>,
    take: Receiver<Letter>,
}

impl Followers {
    pub(super) fn new(settings: ClientSettings) -> Self {
        let (give, take) = sync_channel(WAITING);
        Self { settings: Arc::new(settings), topics: BTreeMap::new(), last_number: 0, give, take }
    }

    /// Reads a topic from a time on, unless it is read already.
    ///
    /// # Errors
    /// If the system has no further thread.
    pub(super) fn follow(&mut self, topic: &str, since_ms: u64) -> std::io::Result<()> {
        if self.topics.contains_key(topic) {
            return Ok(());
        }
        self.last_number += 1;
        let is_wanted = Arc::new(AtomicBool::new(true));
        let mut reading = Reading {
            settings: Arc::clone(&self.settings),
            topic: topic.into(),
            number: self.last_number,
            is_wanted: Arc::clone(&is_wanted),
            give: self.give.clone(),
            read_until_ms: since_ms,
            seen: BTreeMap::new(),
        };
        std::thread::Builder::new().name("commands".to_owned()).spawn(move || reading.run())?;
        self.topics.insert(topic.to_owned(), Follower { number: self.last_number, is_wanted });
        Ok(())
    }

    /// Ends that.
    pub(super) fn unfollow(&mut self, topic: &str) {
        if let Some(follower) = self.topics.remove(topic) {
            follower.is_wanted.store(false, Ordering::Relaxed);
        }
    }

    /// What came first of all that waits; none within the time.
    pub(super) fn next(&self, wait: Duration) -> Option<Letter> {
        let letter = self.take.recv_timeout(wait).ok()?;
        let is_wanted = self.topics.get(&*letter.topic).is_some_and(|topic| topic.number == letter.number);
        is_wanted.then_some(letter)
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        for follower in self.topics.values() {
            follower.is_wanted.store(false, Ordering::Relaxed);
        }
    }
}

/// What a thread has.
struct Reading {
    settings: Arc<ClientSettings>,
    topic: Arc<str>,
    number: u64,
    is_wanted: Arc<AtomicBool>,
    give: SyncSender<Letter>,
    read_until_ms: u64,
    /// The last message of each partition.
    seen: BTreeMap<i32, i64>,
}

impl Reading {
    fn run(&mut self) {
        let mut said = String::new();
        while self.is_wanted.load(Ordering::Relaxed) {
            let Err(error) = self.read() else { return };
            let trouble = format!("topic {} cannot be read: {}", self.topic, error.message);
            if said != trouble {
                said.clone_from(&trouble);
                self.give(News::Trouble(trouble));
            }
            std::thread::sleep(AGAIN);
        }
    }

    /// Reads until the topic is not wanted any more.
    fn read(&mut self) -> Result<(), ClientError> {
        let since = Begin::Since(i64::try_from(self.read_until_ms).unwrap_or(i64::MAX));
        let mut reader =
            TopicReader::open(&self.settings, &self.topic, since, Until::Forever, &Deadline::of_opening())?;
        let mut complaints = 0;
        let mut is_connected = true;
        while self.is_wanted.load(Ordering::Relaxed) {
            let next = reader.next(SLICE)?;
            let all = reader.complaints().iter().map(|complaint| complaint.times).sum();
            is_connected &= all == complaints;
            complaints = all;
            match next {
                Next::Message(record) => {
                    is_connected = true;
                    let last = self.seen.entry(record.partition).or_insert(-1);
                    // It was opened again.
                    if record.offset > *last {
                        *last = record.offset;
                        self.give(News::Message(record, self.read_until_ms));
                    }
                }
                Next::Changed(change) => {
                    self.seen.remove(&change.partition);
                    self.give(News::Trouble(change.to_string()));
                }
                Next::Idle if is_connected && reader.has_caught_up() => self.read_until_ms = now_ms(),
                Next::Idle => {}
                Next::End => return Ok(()),
            }
        }
        Ok(())
    }

    fn give(&self, news: News) {
        // Whoever does not take it any more does not want it either.
        let _ = self.give.send(Letter { number: self.number, topic: Arc::clone(&self.topic), news });
    }
}
