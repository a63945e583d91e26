//! What brokers and topics are set to: the largest message above all.

use super::{Cause, ClientError, ClientSettings, Deadline, Witness, explain_error};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::types::RDKafkaErrorCode as Code;
use std::time::Duration;

/// How long an answer may take at least.
const LEAST: Duration = Duration::from_secs(1);

/// Asks for settings of brokers and topics.
pub struct Admin {
    client: AdminClient<Witness>,
    options: AdminOptions,
    deadline: Deadline,
}

impl Admin {
    /// A client that waits until then for all answers together.
    ///
    /// # Errors
    /// If the settings are wrong.
    pub fn new(settings: &ClientSettings, deadline: impl Into<Deadline>) -> Result<Self, ClientError> {
        let deadline = deadline.into();
        let config = settings.config(&[])?;
        let client = config
            .create_with_context(Witness::default())
            .map_err(|error| ClientError::settings(explain_error(&error).sentence()))?;
        // The library takes no time for no end.
        let left = Some(deadline.left().max(LEAST));
        let options = AdminOptions::new().request_timeout(left).operation_timeout(left);
        Ok(Self { client, options, deadline })
    }

    /// The largest batch that a topic takes, in bytes as they are sent (`max.message.bytes`, which is the broker's
    /// `message.max.bytes` unless the topic has its own). A message must be smaller by what a batch adds: below 200 bytes and its key.
    ///
    /// # Errors
    /// If the brokers do not tell.
    pub fn largest_message(&self, topic: &str) -> Result<u64, ClientError> {
        self.number(ResourceSpecifier::Topic(topic), "max.message.bytes", &format!("topic {topic}"))
    }

    /// The same for topics that this broker makes (`message.max.bytes`).
    ///
    /// # Errors
    /// If the brokers do not tell.
    pub fn largest_message_of_broker(&self, broker: i32) -> Result<u64, ClientError> {
        self.number(ResourceSpecifier::Broker(broker), "message.max.bytes", &format!("broker {broker}"))
    }

    /// Makes the topics that do not exist, with as many partitions and replicas as the brokers give a topic by themselves.
    ///
    /// # Errors
    /// If one can neither be made nor exists.
    pub fn create_topics(&self, topics: &[&str]) -> Result<(), ClientError> {
        const BROKERS_CHOICE: i32 = -1;
        let new = |topic| NewTopic::new(topic, BROKERS_CHOICE, TopicReplication::Fixed(BROKERS_CHOICE));
        let new: Vec<_> = topics.iter().copied().map(new).collect();
        let refused = |topic: &str, why: String| {
            ClientError::new(Cause::Other, format!("topic {topic} cannot be made: {why}"))
        };
        let made = self.deadline.wait(self.client.create_topics(&new, &self.options))?;
        let made = made.map_err(|error| refused(&topics.join(", "), explain_error(&error).sentence()))?;
        for result in made {
            match result {
                Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
                Err((topic, code)) => return Err(refused(&topic, super::explain(code).sentence())),
            }
        }
        Ok(())
    }

    /// Whether this broker makes a topic when the first message comes (`auto.create.topics.enable`).
    ///
    /// # Errors
    /// If the brokers do not tell.
    pub fn creates_topics(&self, broker: i32) -> Result<bool, ClientError> {
        let value = self.setting(ResourceSpecifier::Broker(broker), "auto.create.topics.enable")?;
        Ok(value.as_deref() == Some("true"))
    }

    fn number(&self, of: ResourceSpecifier<'_>, key: &str, name: &str) -> Result<u64, ClientError> {
        let value = self.setting(of, key)?;
        value.as_deref().and_then(|value| value.parse().ok()).ok_or_else(|| {
            ClientError::new(
                Cause::Other,
                format!("{name} does not tell its {key}: {}", value.as_deref().unwrap_or("it has none")),
            )
        })
    }

    fn setting(&self, of: ResourceSpecifier<'_>, key: &str) -> Result<Option<String>, ClientError> {
        let asked = [of];
        let answer = self.deadline.wait(self.client.describe_configs(&asked, &self.options))?;
        let error = match answer {
            Ok(mut all) => match all.pop() {
                // Of what is not there the brokers tell nothing.
                Some(Ok(resource)) if resource.entries.is_empty() => {
                    super::explain(Code::UnknownTopicOrPartition)
                }
                Some(Ok(resource)) => {
                    return Ok(resource.get(key).and_then(|entry| entry.value.clone()));
                }
                Some(Err(code)) => super::explain(code),
                None => return Ok(None),
            },
            Err(error) => explain_error(&error),
        };
        let what = match of {
            ResourceSpecifier::Topic(name) => format!("topic {name}"),
            ResourceSpecifier::Group(name) => format!("group {name}"),
            ResourceSpecifier::Broker(number) => format!("broker {number}"),
        };
        Err(ClientError::new(
            Cause::Other,
            format!("{what}: its setting {key} cannot be read: {}", error.sentence()),
        ))
    }
}
