//! Commands that wait until a job has ended: nobody repeats those of ISIS, and their data are in Kafka.

use std::collections::VecDeque;

/// Commands that may wait.
const COMMANDS: usize = 32;
/// Bytes of these.
const BYTES: usize = 256 << 20;

/// A command that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) job: String,
    pub(super) is_start: bool,
    /// Where it was read.
    pub(super) topic: String,
    pub(super) payload: Vec<u8>,
    /// Kafka's time of it.
    pub(super) time_ms: Option<u64>,
    /// When it was read.
    pub(super) heard_ms: u64,
}

/// All that wait, in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    commands: VecDeque<Waiting>,
}

impl Queue {
    /// Takes a command; false if there is no place for it.
    pub(super) fn push(&mut self, command: Waiting) -> bool {
        let bytes: usize = self.commands.iter().map(|waiting| waiting.payload.len()).sum();
        let has_place = self.commands.len() < COMMANDS && bytes + command.payload.len() <= BYTES;
        if has_place {
            self.commands.push_back(command);
        }
        has_place
    }

    /// The next one whose turn it is: a start if there is room for a job.
    pub(super) fn pop(&mut self, has_room: bool) -> Option<Waiting> {
        self.commands.pop_front_if(|command| has_room || !command.is_start)
    }

    /// True if the start of this job waits.
    pub(super) fn has(&self, job: &str) -> bool {
        self.starts().any(|waiting| waiting == job)
    }

    /// The jobs whose starts wait.
    pub(super) fn starts(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().filter(|waiting| waiting.is_start).map(|waiting| waiting.job.as_str())
    }
}
