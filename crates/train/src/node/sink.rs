//! Where trains go.

use crate::assembly::AssembledTrain;

/// A train on its way through the sinks.
#[derive(Debug)]
pub struct NodeTrain {
    /// Number of its module.
    pub module: u8,
    /// The train.
    pub train: AssembledTrain,
    /// Images that a sink before has rejected, in their order: those behind it leave them out.
    pub rejected: Vec<usize>,
}

/// Why a sink takes no more trains.
#[derive(Debug, thiserror::Error)]
#[error("{sink}: {problem}")]
pub struct SinkError {
    /// Which sink.
    pub sink: &'static str,
    /// What went wrong, with what to do about it.
    pub problem: String,
}

/// Takes trains in the worker thread of a node, one after the other.
pub trait TrainSink: Send {
    /// Takes a train: good, or incomplete and kept.
    ///
    /// # Errors
    /// If it can take no more: the node ends then. What it rejects, and goes on, it counts.
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError>;

    /// Called some ten times per second, also when no trains come.
    ///
    /// # Errors
    /// As [`TrainSink::take`].
    fn poll(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    /// No more trains come.
    ///
    /// # Errors
    /// If something of what was taken is not safe.
    fn finish(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}
