//! Batches that are kept until they are safe in a file, so that another file can have them if that one is damaged.

use std::sync::Arc;

use evforge_core::pulsed::PulsedBatch;

use super::writer::{WAITING_EVENTS, WAITING_PULSES};

/// Memory of the batches at most, unless a single one has more.
const MEMORY: usize = 32 << 20;

/// The batches since the last commit.
#[derive(Debug, Default)]
pub(super) struct KeptBatches {
    batches: Vec<Arc<PulsedBatch>>,
    memory: usize,
    events: u64,
    pulses: u64,
    /// How many of them are in the commit that is under way.
    marked: usize,
}

impl KeptBatches {
    /// Events that are kept at most, unless a single batch has more: as many as may wait before a commit, and as many
    /// again with the last batch.
    pub(super) const MOST_EVENTS: u64 = 2 * WAITING_EVENTS;
    /// Pulses that are kept at most, likewise.
    pub(super) const MOST_PULSES: u64 = 2 * WAITING_PULSES;

    /// Memory of what is kept at most.
    pub(super) fn memory_bound() -> usize {
        // The list of the batches may have room for twice as many as there are; none is smaller than its own head.
        MEMORY + 2 * MEMORY / size_of::<PulsedBatch>() * size_of::<Arc<PulsedBatch>>()
    }

    /// True if there is room for a batch. There always is for the first.
    pub(super) fn has_room(&self, batch: &PulsedBatch) -> bool {
        self.batches.is_empty()
            || (self.memory + memory(batch) <= MEMORY
                && self.events + batch.len() as u64 <= Self::MOST_EVENTS
                && self.pulses + batch.pulses().len() as u64 <= Self::MOST_PULSES)
    }

    pub(super) fn keep(&mut self, batch: &Arc<PulsedBatch>) {
        self.memory += memory(batch);
        self.events += batch.len() as u64;
        self.pulses += batch.pulses().len() as u64;
        self.batches.push(Arc::clone(batch));
    }

    /// A commit has begun with all of them.
    pub(super) fn mark(&mut self) {
        self.marked = self.batches.len();
    }

    /// Those of the commit that was begun are safe.
    pub(super) fn forget_marked(&mut self) {
        for batch in self.batches.drain(..self.marked) {
            self.memory -= memory(&batch);
            self.events -= batch.len() as u64;
            self.pulses -= batch.pulses().len() as u64;
        }
        self.marked = 0;
    }

    /// The commit that was begun has failed: none of them is safe.
    pub(super) fn unmark(&mut self) {
        self.marked = 0;
    }

    /// All of them are safe.
    pub(super) fn forget(&mut self) {
        self.mark();
        self.forget_marked();
    }

    pub(super) fn batches(&self) -> &[Arc<PulsedBatch>] {
        &self.batches
    }

    /// Events in them.
    pub(super) fn events(&self) -> u64 {
        self.events
    }
}

/// Memory of a batch with what its sharing takes.
fn memory(batch: &PulsedBatch) -> usize {
    batch.memory() + 2 * size_of::<usize>()
}
