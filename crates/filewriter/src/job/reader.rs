//! Readers: each has a consumer and some of the partitions, reads and decodes, and hands blocks to the job.
//!
//! The blocks go round: a reader that has none to fill waits until the job has emptied one, and does not ask its consumer for more
//! meanwhile, so that librdkafka stops fetching. That is the whole of the back-pressure, and the bound of the memory.

use super::block::Block;
use super::routes::Routes;
use evforge_kafka::client::{ClientError, ClientSettings, Complaint, Witness, explain_error};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message as _;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What a consumer is set to, unless the settings say otherwise. It joins no group: which messages are read is decided here.
const READING: [(&str, &str); 9] = [
    ("group.id", "evforge-write"),
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("allow.auto.create.topics", "false"),
    // What the brokers have removed is counted; reading goes on with what there is.
    ("auto.offset.reset", "earliest"),
    ("fetch.wait.max.ms", "100"),
    ("queued.max.messages.kbytes", "32768"),
    // Where as much waits as that, the next is asked for after this time. librdkafka's own is a second, in which a file that is
    // written faster than that runs dry.
    ("fetch.queue.backoff.ms", "5"),
    ("fetch.message.max.bytes", "8388608"),
];
/// Blocks of a reader that go round.
const BLOCKS: usize = 4;
/// A block is handed over when it has as much as this.
const BLOCK_BYTES: usize = 1 << 20;
const BLOCK_MESSAGES: usize = 2048;
/// How long a message is waited for before a block that has some is handed over.
const IDLE: Duration = Duration::from_millis(20);

/// A partition to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its topic, by its number in the routes.
    pub(super) topic: usize,
    /// Its number.
    pub(super) partition: i32,
    /// The first message to read.
    pub(super) from: i64,
}

/// Readers of all partitions.
pub(super) struct Readers {
    blocks: Receiver<(usize, Block)>,
    empty: Vec<SyncSender<Block>>,
    consumers: Vec<Arc<BaseConsumer<Witness>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts reading with `count` readers at most.
    pub(super) fn start(
        settings: &ClientSettings,
        routes: &Arc<Routes>,
        places: &[Place],
        count: usize,
    ) -> Result<Self, ClientError> {
        let count = count.clamp(1, places.len().max(1));
        let (sender, blocks) = sync_channel(BLOCKS * count);
        let stop = Arc::new(AtomicBool::new(false));
        let mut readers =
            Self { blocks, empty: Vec::new(), consumers: Vec::new(), stop, threads: Vec::new() };
        for number in 0..count {
            let consumer: BaseConsumer<Witness> = settings
                .config(&READING)?
                .create_with_context(Witness::default())
                .map_err(|error| ClientError {
                    cause: evforge_kafka::client::Cause::Settings,
                    message: explain_error(&error).sentence(),
                })?;
            let mut assignment = TopicPartitionList::new();
            let mut own = HashMap::new();
            for (index, place) in places.iter().enumerate().filter(|(index, _)| index % count == number) {
                let Some(topic) = routes.topics().get(place.topic) else { continue };
                own.insert((topic.clone(), place.partition), (index, place.topic));
                let added =
                    assignment.add_partition_offset(topic, place.partition, Offset::Offset(place.from));
                added.map_err(|error| failed(topic, &error))?;
            }
            consumer.assign(&assignment).map_err(|error| failed("its partitions", &error))?;
            let consumer = Arc::new(consumer);
            let (give, take) = sync_channel(BLOCKS);
            for _ in 0..BLOCKS {
                let _ = give.send(Block::default());
            }
            let reader = Reader {
                number,
                consumer: Arc::clone(&consumer),
                own,
                routes: Arc::clone(routes),
                blocks: sender.clone(),
                empty: take,
                stop: Arc::clone(&readers.stop),
            };
            let spawned = thread::Builder::new().name(format!("topics-{number}")).spawn(move || reader.run());
            let thread = spawned.map_err(|error| ClientError {
                cause: evforge_kafka::client::Cause::Other,
                message: format!("a thread that reads cannot be started: {error}"),
            })?;
            readers.threads.push(thread);
            readers.empty.push(give);
            readers.consumers.push(consumer);
        }
        Ok(readers)
    }

    /// The next block, if one comes in time, with the number of its reader.
    pub(super) fn next(&self, wait: Duration) -> Option<(usize, Block)> {
        self.blocks.recv_timeout(wait).ok()
    }

    /// Gives a block back.
    pub(super) fn give_back(&self, reader: usize, mut block: Block) {
        block.clear();
        if let Some(empty) = self.empty.get(reader) {
            let _ = empty.try_send(block);
        }
    }

    /// What the consumers have complained about, each complaint once.
    pub(super) fn complaints(&self) -> Vec<Complaint> {
        let mut all: Vec<Complaint> = Vec::new();
        for complaint in self.consumers.iter().flat_map(|consumer| consumer.context().complaints()) {
            if !all.iter().any(|known| known.cause == complaint.cause && known.broker == complaint.broker) {
                all.push(complaint);
            }
        }
        all
    }

    /// Forgets them.
    pub(super) fn clear_complaints(&self) {
        self.consumers.iter().for_each(|consumer| consumer.context().clear());
    }

    /// Tells the brokers up to where the partitions are safe, for whoever looks at lags. It decides nothing here.
    pub(super) fn tell_offsets(&self, offsets: &TopicPartitionList) {
        if let Some(consumer) = self.consumers.first() {
            let _ = consumer.commit(offsets, rdkafka::consumer::CommitMode::Async);
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.empty.clear();
        // A reader that waits for room gets it.
        while self.threads.iter().any(|thread| !thread.is_finished()) {
            let _ = self.blocks.recv_timeout(Duration::from_millis(5));
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

struct Reader {
    number: usize,
    consumer: Arc<BaseConsumer<Witness>>,
    /// Its partitions by topic and number: the place in the list of all, and the number of the topic.
    own: HashMap<(String, i32), (usize, usize)>,
    routes: Arc<Routes>,
    blocks: SyncSender<(usize, Block)>,
    empty: Receiver<Block>,
    stop: Arc<AtomicBool>,
}

impl Reader {
    fn run(self) {
        let mut key = (String::new(), 0);
        while !self.stop.load(Ordering::Relaxed) {
            let mut block = match self.empty.try_recv() {
                Ok(block) => block,
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => match self.empty.recv_timeout(IDLE) {
                    Ok(block) => block,
                    Err(_) => continue,
                },
            };
            while block.heads.is_empty() && !self.stop.load(Ordering::Relaxed) {
                self.fill(&mut block, &mut key);
            }
            if self.blocks.send((self.number, block)).is_err() {
                return;
            }
        }
    }

    /// Fills a block until it is full or nothing comes.
    fn fill(&self, block: &mut Block, key: &mut (String, i32)) {
        while block.bytes.len() < BLOCK_BYTES && block.heads.len() < BLOCK_MESSAGES {
            let message = match self.consumer.poll(IDLE) {
                Some(Ok(message)) => message,
                // Errors that may pass, which the client tries to get over by itself; the witness keeps them.
                Some(Err(_)) => continue,
                None => return,
            };
            if key.0 != message.topic() {
                message.topic().clone_into(&mut key.0);
            }
            key.1 = message.partition();
            if let Some(place) = self.own.get(key) {
                let payload = message.payload().unwrap_or_default();
                block.push(*place, message.offset(), message.timestamp().to_millis(), payload, &self.routes);
            }
        }
    }
}

fn failed(what: &str, error: &rdkafka::error::KafkaError) -> ClientError {
    ClientError {
        cause: evforge_kafka::client::Cause::Other,
        message: format!("{what}: {}", explain_error(error).sentence()),
    }
}
