//! An output before it is made: checked settings.

use crate::context::OutputContext;
use crate::settings::QueueSettings;
use evforge_core::counter::CounterInfo;
use evforge_core::output::Output;
use std::error::Error;
use std::path::PathBuf;

/// Settings of one kind of output, checked, from which it is made.
pub trait OutputPlan: Send {
    /// What it will be, for people: "events in run.csv".
    fn name(&self) -> String;

    /// The files that it will write.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// True if its settings say what becomes of files that exist, so that they are not refused before the run starts.
    fn has_rule_for_existing_files(&self) -> bool {
        false
    }

    /// How much may wait for it, unless the configuration sets something else.
    fn queue(&self) -> QueueSettings {
        QueueSettings::COMPLETE
    }

    /// The counters that it will have.
    fn counters(&self) -> Vec<CounterInfo> {
        Vec::new()
    }

    /// Most memory in bytes that it will hold by itself, the batches that it keeps included. It is asked before anything is opened:
    /// an output that is made has files and connections.
    fn memory_bound(&self, _context: &OutputContext) -> usize {
        0
    }

    /// Threads that it has at most, with the one that serves it.
    fn threads(&self) -> usize {
        1
    }

    /// Makes it. Nothing is written that cannot be undone before this.
    ///
    /// # Errors
    /// In words for a person: what is in the way, and how to fix it.
    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>>;
}

/// An output with its name in the configuration and its queue.
pub struct PlannedOutput {
    /// Its name in the configuration, which report, page and files use: "nexus".
    pub id: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its settings.
    pub plan: Box<dyn OutputPlan>,
    /// Its queue.
    pub queue: QueueSettings,
}

impl PlannedOutput {
    /// Most memory that it takes: of what waits, and of the output itself.
    pub fn memory_bound(&self, context: &OutputContext) -> u64 {
        self.queue.memory + self.plan.memory_bound(context) as u64
    }

    /// One line about it: "nexus: NeXus file run.nxs; at most 2097152 events wait, 36.0 MB; when full: drop_newest".
    pub fn describe(&self, context: &OutputContext) -> String {
        format!(
            "{}: {}; up to {} events ({:.1} MB) may wait, then {}; {:.1} MB of its own",
            self.id,
            self.plan.name(),
            self.queue.events,
            self.queue.memory as f64 / 1e6,
            self.queue.when_full.name(),
            self.plan.memory_bound(context) as f64 / 1e6,
        )
    }
}

impl std::fmt::Debug for PlannedOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlannedOutput")
            .field("id", &self.id)
            .field("name", &self.plan.name())
            .field("queue", &self.queue)
            .finish()
    }
}
