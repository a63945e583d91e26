//! Readers: each has a consumer and some of the partitions, reads and decodes, and hands blocks to the job.
//!
//! The blocks go round: a reader that has none to fill waits until the job has emptied one, and does not ask its consumer for more
//! meanwhile, so that librdkafka stops fetching. That is the whole of the back-pressure, and the bound of the memory.

use super::block::Block;
use super::partitions::Key;
use super::routes::Routes;
use evforge_kafka::client::{Cause, ClientError, ClientSettings, Complaint, consumer};
use evforge_kafka::topic::{Complains, Place, Snapshot, Step, TopicPartitions, TopicWatch};
use rdkafka::message::Message as _;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The group in whose name the brokers are told how far the partitions are safe. It is not joined: what is read is decided here.
pub(super) const GROUP: &str = "evforge-write";
/// Blocks of a reader that go round.
const BLOCKS: usize = 4;
/// A block is handed over when it has as much as this.
const BLOCK_BYTES: usize = 1 << 20;
const BLOCK_MESSAGES: usize = 2048;
/// Messages of a partition before the others have their turn.
const TURN: usize = 256;
/// How long a message is waited for before a block that has some is handed over.
const IDLE: Duration = Duration::from_millis(20);

/// Readers of all partitions.
pub(super) struct Readers {
    blocks: Receiver<(usize, Block)>,
    empty: Vec<SyncSender<Block>>,
    complain: Vec<Complains>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Which of them reads a partition that was there at the beginning.
    of: Arc<HashMap<Key, usize>>,
}

impl Readers {
    /// Starts reading with `count` readers at most.
    pub(super) fn start(
        settings: &ClientSettings,
        routes: &Arc<Routes>,
        places: &[Place],
        (snapshot, watch): (&Snapshot, &Arc<TopicWatch>),
        count: usize,
    ) -> Result<Self, ClientError> {
        let count = count.clamp(1, places.len().max(1));
        let turns = (0..count).cycle();
        let of: HashMap<Key, usize> =
            places.iter().zip(turns).map(|(place, turn)| ((place.topic, place.number), turn)).collect();
        let of = Arc::new(of);
        let (sender, blocks) = sync_channel(BLOCKS * count);
        let stop = Arc::new(AtomicBool::new(false));
        let (empty, complain, threads) = (Vec::new(), Vec::new(), Vec::new());
        let mut readers = Self { blocks, empty, complain, stop, threads, of: Arc::clone(&of) };
        for number in 0..count {
            let own: Vec<Place> = places.iter().skip(number).step_by(count).copied().collect();
            let of = Arc::clone(&of);
            let is_read = move |topic: usize, partition: i32| {
                let key = (topic, partition);
                !of.contains_key(&key) && turn_of(&of, key, count) == number
            };
            let consumer = consumer(settings, GROUP, own.len())?;
            let topics = routes.topics().to_vec();
            let (from, is_read) = ((snapshot, watch), Box::new(is_read));
            let partitions = TopicPartitions::open((settings, GROUP), consumer, topics, own, from, is_read)?;
            let (give, take) = sync_channel(BLOCKS);
            for _ in 0..BLOCKS {
                let _ = give.send(Block::default());
            }
            readers.complain.push(partitions.complains().clone());
            let reader = Reader {
                number,
                partitions,
                turn: 0,
                routes: Arc::clone(routes),
                blocks: sender.clone(),
                empty: take,
                stop: Arc::clone(&readers.stop),
            };
            let spawned = thread::Builder::new().name(format!("topics-{number}")).spawn(move || reader.run());
            let thread = spawned.map_err(|error| {
                ClientError::new(Cause::Other, format!("a thread that reads cannot be started: {error}"))
            })?;
            readers.threads.push(thread);
            readers.empty.push(give);
        }
        Ok(readers)
    }

    /// The reader of a partition.
    pub(super) fn of(&self, key: Key) -> usize {
        turn_of(&self.of, key, self.threads.len())
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
        for complaint in self.complain.iter().flat_map(Complains::complaints) {
            if !all.iter().any(|known| known.cause == complaint.cause && known.broker == complaint.broker) {
                all.push(complaint);
            }
        }
        all
    }

    /// Forgets them.
    pub(super) fn clear_complaints(&self) {
        self.complain.iter().for_each(Complains::clear);
    }
}

/// The reader of a partition: of those that are added, each is read by one.
fn turn_of(of: &HashMap<Key, usize>, (topic, partition): Key, count: usize) -> usize {
    let added = || (topic + usize::try_from(partition).unwrap_or(0)) % count.max(1);
    of.get(&(topic, partition)).copied().unwrap_or_else(added)
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
    partitions: TopicPartitions,
    /// The partition whose turn it is.
    turn: usize,
    routes: Arc<Routes>,
    blocks: SyncSender<(usize, Block)>,
    empty: Receiver<Block>,
    stop: Arc<AtomicBool>,
}

impl Reader {
    fn run(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            let mut block = match self.empty.try_recv() {
                Ok(block) => block,
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => match self.empty.recv_timeout(IDLE) {
                    Ok(block) => block,
                    Err(_) => continue,
                },
            };
            while !block.has_news() && !self.stop.load(Ordering::Relaxed) {
                // Errors that may pass, which the client tries to get over by itself; its witness keeps them.
                if self.fill(&mut block).is_err() {
                    thread::sleep(IDLE);
                }
            }
            if self.blocks.send((self.number, block)).is_err() {
                return;
            }
        }
    }

    /// Fills a block until it is full or nothing comes. What has happened to partitions comes before all messages that are read behind it.
    fn fill(&mut self, block: &mut Block) -> Result<(), ClientError> {
        self.partitions.look_after()?;
        block.changes.extend(std::iter::from_fn(|| self.partitions.change()));
        let count = self.partitions.all().len();
        let mut idle = 0;
        while block.bytes.len() < BLOCK_BYTES && block.heads.len() < BLOCK_MESSAGES && idle < count {
            let before = block.heads.len();
            while block.heads.len() < before + TURN && self.take(block, Duration::ZERO)? {}
            if block.heads.len() > before {
                idle = 0;
            } else {
                idle += 1;
            }
            self.turn = (self.turn + 1) % count;
        }
        if !block.has_news() {
            // Whichever it is: the others are looked at when it is over.
            match count {
                0 => thread::sleep(IDLE),
                _ => drop(self.take(block, IDLE)?),
            }
        }
        Ok(())
    }

    /// Takes a message of the partition whose turn it is; false if there is none.
    fn take(&mut self, block: &mut Block, wait: Duration) -> Result<bool, ClientError> {
        let Some(partition) = self.partitions.all().get(self.turn) else { return Ok(false) };
        let (key, routes) = ((partition.place.topic, partition.place.number), &self.routes);
        let step = self.partitions.next(self.turn, wait, |message| {
            let payload = message.payload().unwrap_or_default();
            block.push(key, message.offset(), message.timestamp().to_millis(), payload, routes);
        })?;
        Ok(matches!(step, Step::Message(())))
    }
}
