//! What the service is set to.

use crate::control::{ConversationSettings, Identity};
use evforge_kafka::client::ClientSettings;
use std::time::Duration;

/// What the service is set to.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// How Kafka is reached.
    pub client: ClientSettings,
    /// The topic with starts that any one of several writers takes; none to take them from the command topic only.
    pub pool_topic: Option<String>,
    /// The group that all writers of a pool have in common.
    pub pool_group: String,
    /// The topic with commands for this writer, and with its state while it is idle.
    pub command_topic: String,
    /// Nothing is said on the command topic.
    pub is_command_topic_quiet: bool,
    /// The name of this writer, which no other has; empty to make one of the service name, the host and the process.
    pub service_id: String,
    /// The name of the service; several writers may have it.
    pub service_name: String,
    /// Jobs at once, at least 1.
    pub jobs_at_most: usize,
    /// From one state to the next: 2 s usually.
    pub status_interval: Duration,
}

impl ServiceSettings {
    /// With one job at once, a state every 2 s, and no pool.
    pub fn new(client: ClientSettings, command_topic: impl Into<String>) -> Self {
        Self {
            client,
            pool_topic: None,
            pool_group: "evforge-filewriter".to_owned(),
            command_topic: command_topic.into(),
            is_command_topic_quiet: false,
            service_id: String::new(),
            service_name: "evforge".to_owned(),
            jobs_at_most: 1,
            status_interval: Duration::from_secs(2),
        }
    }

    /// What the conversation is set to.
    pub fn conversation(&self) -> ConversationSettings {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let (host_name, process_id) = (host.trim().to_owned(), std::process::id());
        let service_id = match self.service_id.as_str() {
            "" => format!("{}--{host_name}--{process_id}", self.service_name),
            given => given.to_owned(),
        };
        let interval_ms = u32::try_from(self.status_interval.as_millis()).unwrap_or(u32::MAX).max(1);
        ConversationSettings {
            identity: Identity { service_id, host_name, process_id, interval_ms },
            pool_topic: self.pool_topic.clone(),
            command_topic: self.command_topic.clone(),
            is_command_topic_quiet: self.is_command_topic_quiet,
            jobs_at_most: self.jobs_at_most.max(1),
        }
    }
}
