//! `[outputs.kafka]`: its keys, and what follows from them before anything is sent.

use super::about_run::AboutTopics;
use super::about_settings::{MonitorSchemas, RawPackets};
use super::maker::{EventSchema, MessageKey, MessageRules, MessageTime};
use super::packer::{Announced, MessageLimits, Packer, PackingRules, Vetoed};
use super::sources::Sources;
use crate::client::{Brokers, ClientSettings, OptionValue};
use evforge_core::event::PixelId;
use evforge_core::quantity::{ByteSize, TimeSpan};
use evforge_core::settings::{RefusedValue, SettingsError};
use evforge_outputs::OutputContext;
use evforge_outputs::packet_tap::PacketTap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Bytes of an event in ev44 and ev42.
const EVENT_BYTES: usize = 8;
/// Bytes of a message that are not events, but for its pulses: names, the table, Kafka's own.
pub(super) const MESSAGE_OVERHEAD: usize = 1000;
/// What librdkafka takes besides messages that wait, in bytes: batches that are made and compressed, answers, what is known of topics.
const CLIENT: usize = 24 << 20;
/// Bytes of a pulse in ev44.
const PULSE_BYTES: usize = 12;

/// What becomes of events that a veto marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VetoedEvents {
    /// They are sent, with a message (da00) that says which are marked by which veto.
    #[default]
    Mark,
    /// They are not sent.
    LeaveOut,
    /// They are sent, and nothing says that they are marked.
    Ignore,
}

/// Which pulses are announced by a pu00 before their events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameMetadata {
    /// Those of which the readout says more than their time, as that of ISIS does.
    #[default]
    Auto,
    /// None.
    None,
    /// All.
    Pu00,
}

/// How events are shared out over sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// One source has all.
    #[default]
    None,
    /// Each panel is a source.
    Panel,
}

/// Where messages are numbered from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageIds {
    /// From 1, as the event formation unit. Without a spill the default.
    #[default]
    FromOne,
    /// From behind the last message that the topic has of the source. With a spill the default.
    Continue,
}

/// The keys of `[outputs.kafka]`; `docs/kafka.md` describes them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "KafkaTable")]
#[schemars(with = "KafkaTable")]
pub struct KafkaSettings {
    pub(super) client: ClientSettings,
    pub(super) table: KafkaTable,
    banks: Vec<(String, std::ops::RangeInclusive<PixelId>)>,
}

/// The table as it is written.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KafkaTable {
    /// One or several: `"localhost"`, `"a:9092,b:9092"` or a list. Port 9092 unless given.
    brokers: Option<Brokers>,
    /// Options of librdkafka by name, also for TLS and SASL: `{ "security.protocol" = "SASL_SSL" }`. A value may be `{ file = "…" }` or `{ env = "…" }`.
    #[serde(default)]
    options: BTreeMap<String, OptionValue>,
    /// A settings file of the event formation unit (`--kafka_config`); `options` take precedence.
    kafka_config: Option<PathBuf>,
    /// A file with the password (`sasl.password`).
    password_file: Option<PathBuf>,
    /// A variable of the environment with the password.
    password_env: Option<String>,
    /// The topic for events; without it `INSTRUMENT_detector`, the name of the configuration in lower case.
    topic: Option<String>,
    /// Make the topics that do not exist, with the broker's number of partitions and replicas.
    #[serde(default)]
    pub(super) create_topics: bool,
    /// Always this partition, whatever the key.
    pub(super) partition: Option<i32>,
    /// The schema of messages with events; `"ev42"` as of 2018.
    #[serde(default)]
    pub(super) schema: EventSchema,
    /// Name of the source; without it the instrument. Each unit that sends to a topic needs a name of its own.
    source: Option<String>,
    /// `"panel"`: each panel is a source, `NAME_panel0` and so on.
    #[serde(default)]
    split: Split,
    /// Sources by pixels: `{ bank0 = [1, 1024], bank1 = [1025, 2048] }`. Events of other pixels are not sent, and are counted.
    #[serde(default)]
    banks: BTreeMap<String, [PixelId; 2]>,
    /// The key of messages: the name of the source, the number of the frame, the reference time of the pulse, or none. Without it `"source"`, for frames `"frame"`.
    pub(super) key: Option<MessageKey>,
    /// The Kafka time stamp: when the message is made, or the first reference time. Without it `"wall_clock"`, for frames `"pulse"`.
    pub(super) message_time: Option<MessageTime>,
    /// Events of a message at most, as the event formation unit.
    #[serde(default = "default_events")]
    #[schemars(range(min = 1, max = 10_000_000))]
    message_events: usize,
    /// Pulses of a message at most.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    message_pulses: usize,
    /// Bytes of a message at most; without it what the topic takes.
    pub(super) message_size: Option<ByteSize>,
    /// A message that nothing more comes for is closed then.
    #[serde(default = "default_close_after")]
    close_after: TimeSpan,
    /// Send pulses without events, too.
    #[serde(default)]
    empty_pulses: bool,
    /// `"auto"`: announce frames by a pu00; `"pu00"`: announce each pulse, with and without events, by a pu00 before its events, on the same partition.
    #[serde(default)]
    frame_metadata: FrameMetadata,
    /// What happens to events that a `[[veto]]` marks.
    #[serde(default)]
    vetoes: VetoedEvents,
    /// `"continue"`: from behind the last message that the topic has of the source. With a spill it is the default.
    message_ids: Option<MessageIds>,
    /// Messages that may wait for brokers in memory.
    #[serde(default = "default_memory")]
    pub(super) memory: ByteSize,
    /// A folder for messages that find no room in memory.
    pub(super) spill_folder: Option<PathBuf>,
    /// How much of its disk they may take.
    spill_size: Option<ByteSize>,
    /// Whether the ledger is sent.
    ledger: Option<bool>,
    /// The topic of the ledger.
    ledger_topic: Option<String>,
    /// The schemas of histograms of beam monitors.
    monitors: Option<MonitorSchemas>,
    /// The topic of beam monitors.
    monitor_topic: Option<String>,
    /// The topic of what vetoes of frames are called and which count.
    veto_topic: Option<String>,
    /// Whether the state of the run is sent.
    status: Option<bool>,
    /// The topic of the state of the run.
    status_topic: Option<String>,
    /// Whether totals and rates are sent, for a control system.
    values: Option<bool>,
    /// The topic of totals and rates.
    values_topic: Option<String>,
    /// Raw packets; without it none are sent.
    packets: Option<RawPackets>,
    /// The topic of raw packets.
    packets_topic: Option<String>,
}

fn default_events() -> usize {
    12_400
}

fn one() -> usize {
    1
}

fn default_close_after() -> TimeSpan {
    TimeSpan { picoseconds: 1_000_000_000_000 }
}

fn default_memory() -> ByteSize {
    ByteSize { bytes: 64_000_000 }
}

impl TryFrom<KafkaTable> for KafkaSettings {
    type Error = RefusedValue;

    fn try_from(mut table: KafkaTable) -> Result<Self, RefusedValue> {
        let refuse = |key: &str, problem: &str| -> Result<Self, RefusedValue> {
            Ok(SettingsError::refuse(key, problem)?)
        };
        let banks: Vec<_> =
            table.banks.iter().map(|(name, &[first, last])| (name.clone(), first..=last)).collect();
        if !(1..=10_000_000).contains(&table.message_events) {
            return refuse("message_events", "must be from 1 to 10000000");
        }
        if !(1..=100_000).contains(&table.message_pulses) {
            return refuse("message_pulses", "must be from 1 to 100000");
        }
        if table.message_pulses > 1 && table.schema == EventSchema::Ev42 {
            return refuse("message_pulses", "must be 1: a message of ev42 has one pulse");
        }
        if table.message_pulses > 1 && table.frame_metadata == FrameMetadata::Pu00 {
            return refuse(
                "message_pulses",
                "must be 1: frame_metadata = \"pu00\" comes before the events of each pulse",
            );
        }
        if table.memory.bytes < 1_000_000 {
            return refuse("memory", "must be at least 1MB");
        }
        if !banks.is_empty() && table.split == Split::Panel {
            return refuse("split", "must be left out: `banks` says which pixels each source has");
        }
        if let Err(problem) = Sources::ranges(&banks) {
            return refuse("banks", &problem);
        }
        match (&table.spill_folder, table.spill_size) {
            (Some(_), Some(size)) if size.bytes < 1_000_000 => {
                return refuse("spill_size", "must be at least 1MB");
            }
            (None, Some(_)) => {
                return refuse("spill_size", "needs spill_folder, the folder on whose disk it is");
            }
            (Some(_), None) => {
                return refuse(
                    "spill_size",
                    "must be given: the most that spill_folder may take, such as \"10GB\"",
                );
            }
            _ => {}
        }
        if table.spill_folder.is_some() && table.message_ids == Some(MessageIds::FromOne) {
            let problem = "must be \"continue\" with spill_folder: what is left of a run is told by its numbers from what the topic has";
            return refuse("message_ids", problem);
        }
        let client = ClientSettings {
            brokers: table.brokers.take(),
            options: std::mem::take(&mut table.options),
            kafka_config: table.kafka_config.take(),
            password_file: table.password_file.take(),
            password_env: table.password_env.take(),
        };
        if client.brokers.is_none() && client.kafka_config.is_none() {
            return refuse("brokers", "must be given, such as \"localhost:9092\"");
        }
        Ok(Self { client, table, banks })
    }
}

/// Where the messages of a run go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations {
    /// The topic of events.
    pub topic: String,
    /// Names of their sources.
    pub sources: Vec<String>,
    /// The schema of events.
    pub schema: EventSchema,
    /// The topic of beam monitors, and what is sent there; none without monitors.
    pub monitors: Option<(String, MonitorSchemas)>,
    /// The topic of the ledger.
    pub ledger: Option<String>,
}

impl KafkaSettings {
    /// The topic that the table names.
    pub(super) fn named_topic(&self) -> Option<&str> {
        self.table.topic.as_deref()
    }

    /// What the output is, for people.
    pub(super) fn name_with(&self, topic: Option<&str>) -> String {
        let brokers = self.client.brokers_text();
        topic.map_or_else(
            || format!("events to Kafka at {brokers}"),
            |topic| format!("events to topic {topic} at {brokers}"),
        )
    }

    /// The topic for events.
    pub(super) fn topic(&self, context: &OutputContext) -> String {
        let usual = || format!("{}_detector", plain_name(&context.instrument));
        self.table.topic.clone().unwrap_or_else(usual)
    }

    /// The name of the source, or what the names of sources begin with.
    pub(super) fn source(&self, context: &OutputContext) -> String {
        self.table.source.clone().unwrap_or_else(|| plain_name(&context.instrument))
    }

    /// How Kafka is reached.
    pub fn client(&self) -> &ClientSettings {
        &self.client
    }

    /// Where everything goes that a run with these settings sends: for whoever reads it.
    pub fn destinations(&self, context: &OutputContext) -> Destinations {
        let about = self.about_topics(context);
        Destinations {
            topic: self.topic(context),
            sources: self.sources(context).names().to_vec(),
            schema: self.table.schema,
            monitors: about.monitors.map(|topic| (topic, self.monitors())),
            ledger: about.ledger,
        }
    }

    /// The sources of events.
    fn sources(&self, context: &OutputContext) -> Sources {
        let name = self.source(context);
        match self.table.split {
            Split::Panel => Sources::panels(&name, context.geometry),
            // They were checked.
            Split::None if !self.banks.is_empty() => {
                Sources::ranges(&self.banks).unwrap_or_else(|_| Sources::one(&name))
            }
            Split::None => Sources::one(&name),
        }
    }

    /// The topics for messages about the run; those that a run has no messages for are left out.
    pub(super) fn about_topics(&self, context: &OutputContext) -> AboutTopics {
        let table = &self.table;
        let topic = self.topic(context);
        let named = |name: &Option<String>, ending: &str| {
            Some(name.clone().unwrap_or_else(|| format!("{topic}{ending}")))
        };
        let monitors = || {
            let name = || format!("{}_beam_monitor", plain_name(&context.instrument));
            table.monitor_topic.clone().unwrap_or_else(name)
        };
        AboutTopics {
            ledger: table.ledger.unwrap_or(true).then(|| named(&table.ledger_topic, "_ledger")).flatten(),
            monitors: (!context.ledger.beam_monitors.is_empty() && self.monitors() != MonitorSchemas::None)
                .then(monitors),
            vetoes: table.veto_topic.clone(),
            status: table.status.unwrap_or(true).then(|| named(&table.status_topic, "_status")).flatten(),
            values: table.values.unwrap_or(true).then(|| named(&table.values_topic, "_values")).flatten(),
            samples: table.packets.and_then(|_| named(&table.packets_topic, "_samples")),
        }
    }

    /// True if numbers continue behind those that the topic has.
    pub(super) fn continues(&self) -> bool {
        let usual =
            if self.table.spill_folder.is_some() { MessageIds::Continue } else { MessageIds::FromOne };
        self.table.message_ids.unwrap_or(usual) == MessageIds::Continue
    }

    pub(super) fn monitors(&self) -> MonitorSchemas {
        self.table.monitors.unwrap_or_default()
    }

    pub(super) fn packets(&self) -> Option<RawPackets> {
        self.table.packets
    }

    pub(super) fn spill_limit(&self) -> u64 {
        self.table.spill_size.map_or(0, |size| size.bytes)
    }

    /// How events become messages, if a message may have this many bytes.
    pub(super) fn packing(&self, context: &OutputContext, largest: usize) -> PackingRules {
        let table = &self.table;
        let sources = self.sources(context);
        let pulses = table.message_pulses * PULSE_BYTES;
        let room = largest.saturating_sub(MESSAGE_OVERHEAD + pulses) / EVENT_BYTES;
        PackingRules {
            sources,
            limits: MessageLimits {
                events: table.message_events.min(room).max(1),
                pulses: table.message_pulses,
                time: table.close_after.to_std(),
            },
            pixels: context.pixels(),
            vetoed: match table.vetoes {
                _ if context.vetoes.is_empty() => Vetoed::Unmarked,
                VetoedEvents::Mark => Vetoed::Marked,
                VetoedEvents::LeaveOut => Vetoed::LeftOut,
                VetoedEvents::Ignore => Vetoed::Unmarked,
            },
            empty_pulses: table.empty_pulses,
            announced: match table.frame_metadata {
                FrameMetadata::Auto => Announced::Frames,
                FrameMetadata::None => Announced::Never,
                FrameMetadata::Pu00 => Announced::Always,
            },
        }
    }

    pub(super) fn message_rules(&self, context: &OutputContext) -> MessageRules {
        MessageRules {
            topic: self.topic(context),
            partition: self.table.partition,
            schema: self.table.schema,
            key: self.table.key,
            time: self.table.message_time,
            vetoes: context.vetoes.clone(),
        }
    }

    pub(super) fn own_memory(&self, context: &OutputContext) -> usize {
        // What librdkafka keeps of each message besides its bytes, the columns of open messages, and the messages of one pulse.
        let messages = self.table.memory.bytes as usize / 1000 * 400;
        let packing = self.packing(context, usize::MAX);
        let batch = context.batch_events * 2 * EVENT_BYTES + packing.sources.names().len() * MESSAGE_OVERHEAD;
        self.table.memory.bytes as usize
            + messages
            + CLIENT
            + Packer::memory_bound(&packing)
            + batch
            + self.packets().map_or(0, |packets| PacketTap::memory_bound(packets.memory.bytes as usize))
    }
}

/// A name of an instrument as topics and sources have it: lower case, and nothing but letters, digits, `.`, `_` and `-`.
pub(super) fn plain_name(name: &str) -> String {
    let plain = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '.' | '_' | '-') => letter,
        _ => '_',
    };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_outputs::OutputPlan;

    fn read(text: &str) -> Result<KafkaSettings, String> {
        toml::from_str::<KafkaSettings>(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_keys_that_most_need_are_few_and_the_others_have_defaults() {
        let settings = read("brokers = 'localhost'\ntopic = 'freia_detector'").unwrap();
        assert_eq!(settings.name(), "events to topic freia_detector at localhost:9092");
        assert!(!settings.continues());
        let with_spill = "brokers = ['a', 'b:1']\nspill_folder = '/tmp/x'\nspill_size = '1GB'";
        assert!(read(with_spill).unwrap().continues());
        assert_eq!(read("brokers = 'a'").unwrap().name(), "events to Kafka at a:9092");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_key() {
        for (keys, words) in [
            ("", "brokers"),
            ("brokers = 'a'\nmessage_events = 0", "message_events"),
            ("brokers = 'a'\nmessage_pulses = 2\nschema = 'ev42'", "ev42 has one pulse"),
            ("brokers = 'a'\nmessage_pulses = 2\nframe_metadata = 'pu00'", "pu00"),
            ("brokers = 'a'\nmemory = '1kB'", "at least 1MB"),
            ("brokers = 'a'\nsplit = 'panel'\nbanks = { a = [1, 2] }", "banks"),
            ("brokers = 'a'\nbanks = { a = [1, 2], b = [2, 3] }", "share pixels"),
            ("brokers = 'a'\nspill_size = '1GB'", "spill_folder"),
            ("brokers = 'a'\nspill_folder = 'x'", "spill_size"),
            ("brokers = 'a'\nspill_folder = 'x'\nspill_size = '1GB'\nmessage_ids = 'from_one'", "continue"),
            ("brokers = 'a'\npackets = { every = 10, calibration = true }", "all packets"),
            ("brokers = 'a'\npackets = { every = 1, consecutive = 2 }", "consecutive"),
            ("brokers = 'a'\nshema = 'ev44'", "shema"),
            ("brokers = 'a'\nschema = 'ev45'", "ev44"),
        ] {
            let problem = read(keys).expect_err(keys);
            assert!(problem.contains(words), "{keys}: {problem}");
        }
    }
}
