//! Trains into files.

use crate::file::{ArrivedTrain, TrainFileCounters, TrainFiles};
use crate::node::{NodeTrain, SinkError, TrainSink};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes trains into the files of a run.
#[derive(Debug)]
pub struct FileSink {
    files: TrainFiles,
    /// Images of the train at hand that a hole touches.
    not_whole: Vec<usize>,
    counters: Arc<Mutex<TrainFileCounters>>,
}

impl FileSink {
    /// Into these files.
    pub fn new(files: TrainFiles) -> Self {
        Self { files, not_whole: Vec::new(), counters: Arc::default() }
    }

    /// What is in files, to be looked at once the node has ended, or while it runs.
    pub fn counters(&self) -> Arc<Mutex<TrainFileCounters>> {
        Arc::clone(&self.counters)
    }

    fn told<T>(&self, outcome: Result<T, crate::file::FileError>) -> Result<(), SinkError> {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner) = self.files.counters();
        outcome.map(|_| ()).map_err(|error| SinkError { sink: "files of trains", problem: error.to_string() })
    }
}

impl TrainSink for FileSink {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        let assembled = &train.train;
        // Incomplete without header or trailer: there is nothing that a file could say of it. The assembly has counted it.
        let Some(view) = assembled.train() else { return Ok(()) };
        self.not_whole.clear();
        self.not_whole.extend(assembled.images_with_holes());
        let arrived = ArrivedTrain {
            module: train.module,
            train: view,
            not_whole: &self.not_whole,
            rejected: &train.rejected,
            arrival_ns: assembled.report().opened_ns,
        };
        let outcome = self.files.write(&arrived);
        self.told(outcome)
    }

    fn poll(&mut self) -> Result<(), SinkError> {
        let outcome = self.files.poll();
        self.told(outcome)
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        let outcome = self.files.finish();
        self.told(outcome)
    }
}
