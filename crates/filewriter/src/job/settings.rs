//! How jobs are done: what is the same for all of a writer.

use super::budget::Budget;
use super::rehearsal::Rehearsal;
use crate::file::{Base, Storage};
use evforge_kafka::client::ClientSettings;
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Makes what is in a file first from what a job says of it: it is asked again where a file has to be made once more.
pub trait Bases: Debug + Send + Sync {
    /// The base that is meant.
    ///
    /// # Errors
    /// Why it cannot be had, for people.
    fn base(&self, said: &Value) -> Result<Base, String>;
}

/// How jobs are done.
#[derive(Clone, Debug)]
pub struct JobSettings {
    /// How Kafka is reached.
    pub client: ClientSettings,
    /// Threads that read and decode, at most; each has connections of its own.
    pub readers: usize,
    /// How often what was read is committed.
    pub flush_interval: Duration,
    /// How files are written.
    pub storage: Storage,
    /// What is in files first.
    pub bases: Arc<dyn Bases>,
    /// Who tries files that a killed writer has left before they are taken up; none where a crash may end the process.
    pub rehearsal: Option<Arc<dyn Rehearsal>>,
    /// What the jobs of a writer take together.
    pub budget: Arc<Budget>,
    /// Set when no job is to begin any more: what brokers are asked before it is not waited for.
    pub stop: Arc<AtomicBool>,
}
