//! A topic of Kafka as the input of a run.

use super::span::{BeginAt, EndAt, begin_at, end_at};
use crate::CommandError;
use clap::Args;
use evforge_config::Config;
use evforge_kafka::client::{Brokers, ClientSettings};
use evforge_kafka::packets::TopicInput;
use evforge_kafka::topic::{At, Begin, Until};
use std::str::FromStr;

/// The brokers of all commands that ask for none.
const BROKERS: &str = "EVFORGE_KAFKA_BROKERS";
const USUAL_BROKERS: &str = "localhost:9092";

/// `TOPIC` or `TOPIC@BROKERS`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TopicAt {
    topic: String,
    brokers: Option<Brokers>,
}

impl FromStr for TopicAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (topic, brokers) = match text.split_once('@') {
            Some((topic, brokers)) => (topic, Some(brokers.parse()?)),
            None => (text, None),
        };
        if topic.is_empty() || topic == "-" {
            return Err(format!(
                "`{text}` names no topic: expected TOPIC or TOPIC@BROKERS, such as freia_samples@localhost:9092"
            ));
        }
        Ok(Self { topic: topic.to_owned(), brokers })
    }
}

/// Options of a topic as the input.
#[derive(Args)]
pub(crate) struct TopicArguments {
    /// Read raw packets (ar51) from this topic, such as freia_samples@localhost:9092; without brokers, those of
    /// EVFORGE_KAFKA_BROKERS, of [kafka] in the configuration, or localhost:9092 (docs/kafka-packets.md)
    #[arg(
        long,
        env = "EVFORGE_INPUT_KAFKA",
        value_name = "TOPIC[@BROKERS]",
        conflicts_with = "inputs",
        help_heading = "Input"
    )]
    input_kafka: Option<TopicAt>,
    /// Begin with the oldest message of the topic, unless another is named: newest, last:10 (of each partition), an offset (1200), a time
    /// (2026-11-23T08:00:00Z), or how long ago (10min)
    #[arg(long, value_name = "PLACE", value_parser = begin_at, requires = "input_kafka", help_heading = "Input", alias = "from")]
    begin: Option<BeginAt>,
    /// End with what is there now (present), unless it is said otherwise: never, or before an offset or a time, which may be to come
    #[arg(long, value_name = "PLACE", value_parser = end_at, requires = "input_kafka", help_heading = "Input", conflicts_with_all = ["to", "follow"])]
    end: Option<EndAt>,
    #[arg(long, hide = true, value_name = "PLACE", value_parser = end_at, requires = "input_kafka")]
    to: Option<EndAt>,
    #[arg(long, hide = true, requires = "input_kafka")]
    follow: bool,
}

impl TopicArguments {
    /// True if a topic is the input.
    pub(crate) fn is_given(&self) -> bool {
        self.input_kafka.is_some()
    }

    /// True if the run goes on with what comes into the topic.
    pub(crate) fn follows(&self) -> bool {
        self.until().waits()
    }

    fn until(&self) -> Until {
        // Without --follow, what --to names is not waited for.
        let of_present = |at| if self.follow { Until::Before(at) } else { Until::PresentBefore(at) };
        match (self.end, self.to) {
            (Some(end), _) => end.of_topic(),
            (None, Some(EndAt::Offset(offset))) => of_present(At::Offset(offset)),
            (None, Some(EndAt::Time(ns))) => of_present(At::Time(ns / 1_000_000)),
            (None, Some(EndAt::Never)) => Until::Forever,
            (None, None) if self.follow => Until::Forever,
            (None, Some(EndAt::Present) | None) => Until::Present,
        }
    }

    /// The topic, if one is the input; of it packets to `port` if one is given.
    ///
    /// # Errors
    /// If the table `[kafka]` or the variable is wrong.
    pub(crate) fn input(
        &self,
        config: &Config,
        port: Option<u16>,
    ) -> Result<Option<TopicInput>, CommandError> {
        let Some(TopicAt { topic, brokers }) = &self.input_kafka else { return Ok(None) };
        let mut client: ClientSettings = config.table("kafka")?;
        let of_environment = std::env::var(BROKERS).ok().filter(|text| !text.is_empty());
        if let Some(brokers) = brokers {
            client.brokers = Some(brokers.clone());
        } else if let Some(text) = of_environment {
            client.brokers = Some(text.parse().map_err(|problem| format!("{BROKERS}: {problem}"))?);
        } else if client.brokers.is_none() && client.kafka_config.is_none() {
            client.brokers = Some(USUAL_BROKERS.parse()?);
        }
        let begin = self.begin.map_or(Begin::Oldest, BeginAt::of_topic);
        Ok(Some(TopicInput { client, topic: topic.clone(), begin, until: self.until(), port }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_may_have_its_brokers() {
        let plain: TopicAt = "freia_samples".parse().unwrap();
        assert_eq!((plain.topic.as_str(), plain.brokers), ("freia_samples", None));
        let at: TopicAt = "raw@a,b:9093".parse().unwrap();
        assert_eq!((at.topic.as_str(), at.brokers.unwrap().to_string().as_str()), ("raw", "a:9092,b:9093"));
        for text in ["", "-", "@a", "raw@", "raw@a:x"] {
            assert!(text.parse::<TopicAt>().is_err(), "{text}");
        }
    }
}
