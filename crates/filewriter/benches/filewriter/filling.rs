//! A broker with topics that are filled once.

use super::Outcome;
use evforge_kafka::client::ClientSettings;
use evforge_messages::{Encoder, Ev44, F144, f144};
use evforge_testkit::kafka_broker::Broker;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use std::time::Duration;

/// Sources of logs, and their messages in a second.
pub(super) const LOG_SOURCES: usize = 1000;
pub(super) const LOG_RATE: f64 = 10_000.0;
/// Topics.
pub(super) const EVENTS_TOPIC: &str = "events";
pub(super) const LOGS_TOPIC: &str = "logs";

/// Events of the shortest and of the longest message.
const FEWEST: usize = 1000;
const MOST: usize = 12_400;
/// Pixels of three panels of 1280 x 1280.
const PIXELS: u64 = 3 * 1280 * 1280;
/// Reflections, in which four of five events are.
const SPOTS: u64 = 2000;
/// Time between pulses.
const PULSE_NS: i64 = 71_428_571;

/// A broker, what is in its topics, and the same in memory.
pub(super) struct Filling {
    broker: Broker,
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) events: usize,
    pub(super) partitions: u32,
    pub(super) logs: usize,
}

impl Filling {
    /// With a topic of events. Messages go to partitions and have their sources one behind the other.
    pub(super) fn events(at_least: usize, partitions: u32, sources: usize) -> Outcome<Self> {
        let (messages, events) = messages(at_least, sources);
        let broker = Broker::start();
        broker.create_topic(EVENTS_TOPIC, partitions);
        broker.create_topic(LOGS_TOPIC, 1);
        let filling = Self { broker, messages, events, partitions, logs: 0 };
        // A source keeps its partition.
        let partition = |number: usize| (number % sources) as i32 % partitions as i32;
        let partition =
            |number: usize| if sources == 1 { number as i32 % partitions as i32 } else { partition(number) };
        send(
            &filling.client()?,
            EVENTS_TOPIC,
            filling
                .messages
                .iter()
                .enumerate()
                .map(|(number, message)| (partition(number), message.as_slice())),
        )?;
        Ok(filling)
    }

    /// Adds logs: each source in turn.
    pub(super) fn add_logs(&mut self, count: usize) -> Outcome<()> {
        let mut encoder = Encoder::new();
        let all: Vec<Vec<u8>> = (0..count)
            .map(|number| {
                let value = f144::Value::Scalar((number as f64 * 0.01).into());
                let source = format!("log_{}", number % LOG_SOURCES);
                let timestamp = 1_790_000_000_000_000_000 + number as i64 * 100_000;
                F144 { source_name: &source, timestamp, value }.encode(&mut encoder).to_vec()
            })
            .collect();
        send(&self.client()?, LOGS_TOPIC, all.iter().map(|message| (0, message.as_slice())))?;
        self.logs += count;
        Ok(())
    }

    /// How it is reached.
    pub(super) fn client(&self) -> Outcome<ClientSettings> {
        Ok(ClientSettings::new(self.broker.address().parse()?))
    }

    /// Bytes of the messages of events.
    pub(super) fn bytes(&self) -> usize {
        self.messages.iter().map(Vec::len).sum()
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Messages of ev44, a pulse each: times rise within a message, pixels are those of reflections and of background.
fn messages(at_least: usize, sources: usize) -> (Vec<Vec<u8>>, usize) {
    let (mut all, mut events, mut state) = (Vec::new(), 0, 1_u64);
    let mut encoder = Encoder::new();
    let names: Vec<String> = (0..sources).map(|number| format!("source_{number}")).collect();
    while events < at_least {
        let count = FEWEST + random(&mut state) as usize % (MOST - FEWEST + 1);
        let step = PULSE_NS / count as i64;
        let offsets: Vec<i32> = (0..count as i64)
            .map(|event| (event * step + (random(&mut state) as i64) % step) as i32)
            .collect();
        let pixels: Vec<i32> = (0..count).map(|_| pixel(&mut state)).collect();
        let number = all.len() / sources;
        let pulse = [1_790_000_000_000_000_000 + number as i64 * PULSE_NS];
        let message = Ev44 {
            source_name: names.get(all.len() % sources).map(String::as_str).unwrap_or_default(),
            message_id: number as i64,
            reference_time: (&pulse).into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: (&offsets).into(),
            pixel_id: (&pixels).into(),
        };
        all.push(message.encode(&mut encoder).to_vec());
        events += count;
    }
    (all, events)
}

fn pixel(state: &mut u64) -> i32 {
    if random(state).is_multiple_of(5) {
        return 1 + (random(state) % PIXELS) as i32;
    }
    let spot = random(state) % SPOTS * 0x9E37_79B9 % PIXELS;
    // The sum of some has about the form of a reflection.
    let mut near = || (0..4).map(|_| random(state) % 5).sum::<u64>();
    1 + ((spot + near() + 1280 * near()) % PIXELS) as i32
}

/// Sends messages to partitions.
fn send<'a>(
    client: &ClientSettings,
    topic: &str,
    messages: impl Iterator<Item = (i32, &'a [u8])>,
) -> Outcome<()> {
    let producer: BaseProducer = client
        .config(&[("acks", "all"), ("queue.buffering.max.kbytes", "62500"), ("linger.ms", "20")])?
        .create()?;
    for (partition, message) in messages {
        loop {
            let record = BaseRecord::<(), [u8]>::to(topic).payload(message).partition(partition);
            match producer.send(record) {
                Ok(()) => break,
                Err((error, _)) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull) => {
                    producer.poll(Duration::ZERO);
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err((error, _)) => return Err(error.into()),
            }
        }
        producer.poll(Duration::ZERO);
    }
    producer.flush(Duration::from_secs(120))?;
    Ok(())
}
