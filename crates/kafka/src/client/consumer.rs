//! The one place where consumers are made.

use super::{ClientError, ClientSettings, Witness, explain_error};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use std::sync::Arc;

/// A consumer that keeps what librdkafka complains about.
pub type Consumer = BaseConsumer<Witness>;

/// librdkafka asks for the name of a group even where none is used.
pub(crate) const NO_GROUP: &str = "evforge-look";
/// What is read ahead of all partitions together, and of each at least and at most, in kilobytes.
const AHEAD: usize = 65_536;
const AHEAD_OF_ONE: (usize, usize) = (1024, 16_384);

/// What a consumer is set to, unless the settings say otherwise.
const READING: [(&str, &str); 5] = [
    ("allow.auto.create.topics", "false"),
    ("fetch.wait.max.ms", "100"),
    // Where as much waits as may, the next is asked for after this time. librdkafka's own is a second, in which a reader that is faster
    // than that runs dry.
    ("fetch.queue.backoff.ms", "5"),
    ("fetch.message.max.bytes", "8388608"),
    // Of each partition, whatever is reached first: messages that are small have larger heads than contents.
    ("queued.min.messages", "20000"),
];
/// What is no choice: who reads decides what is read, and a place that is not there any more is looked into and said.
const RULES: [(&str, &str); 4] = [
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("enable.partition.eof", "true"),
    ("auto.offset.reset", "error"),
];

/// A consumer of so many partitions, in the name of a group that it does not join.
///
/// # Errors
/// If the settings are wrong.
pub fn consumer(
    settings: &ClientSettings,
    group: &str,
    partitions: usize,
) -> Result<Arc<Consumer>, ClientError> {
    let (least, most) = AHEAD_OF_ONE;
    let ahead = (AHEAD / partitions.max(1)).clamp(least, most).to_string();
    let mut defaults = READING.to_vec();
    defaults.extend([("group.id", group), ("queued.max.messages.kbytes", ahead.as_str())]);
    let mut config = settings.config(&defaults)?;
    for (key, value) in RULES {
        config.set(key, value);
    }
    Ok(Arc::new(consumer_of(&config, Witness::default())?))
}

/// A consumer that is set to this.
///
/// # Errors
/// If librdkafka refuses it.
pub fn consumer_of<C: ConsumerContext>(
    config: &ClientConfig,
    context: C,
) -> Result<BaseConsumer<C>, ClientError> {
    let made = config.create_with_context(context);
    made.map_err(|error| ClientError::settings(explain_error(&error).sentence()))
}
