//! Closed trains on their way to the worker.

use super::by_source::BySource;
use super::counters::NodeCounters;
use super::settings::NodeSettings;
use super::sink::NodeTrain;
use crate::assembly::{AssembledTrain, TrainBuffer, TrainOutcome, TrainReport, TrainSource};
use std::sync::mpsc::SyncSender;

/// A train for the worker, and where its buffer goes back to.
pub(super) struct Queued {
    pub(super) thread: usize,
    pub(super) train: NodeTrain,
}

/// What hands trains on, apart from the assembly that calls it.
pub(super) struct Delivery {
    thread: usize,
    /// The module of trains that are told apart by sender, and have no header that says it.
    module: u8,
    queue: SyncSender<Queued>,
    pub(super) counters: NodeCounters,
    /// Reports of trains that were not good.
    pub(super) irregular: Vec<TrainReport>,
    most_reports: usize,
    pub(super) by_source: BySource,
}

impl Delivery {
    /// Of a thread, with as many reports and sources as settings say.
    pub(super) fn new(thread: usize, module: u8, queue: SyncSender<Queued>, settings: &NodeSettings) -> Self {
        let most_reports = settings.kept_reports;
        Self {
            thread,
            module,
            queue,
            counters: NodeCounters::default(),
            irregular: Vec::with_capacity(most_reports),
            most_reports,
            by_source: BySource::new(settings.assembly.sources),
        }
    }

    /// Hands a train that was closed to the worker, if it has bytes.
    pub(super) fn deliver(&mut self, train: AssembledTrain) -> Option<TrainBuffer> {
        let report = *train.report();
        self.by_source.close(&train);
        if report.outcome != TrainOutcome::Good {
            self.counters.irregular_trains += 1;
            if self.irregular.len() < self.most_reports {
                self.irregular.push(report);
            }
        }
        train.bytes()?;
        let module = match report.source {
            TrainSource::Module(module) => u8::try_from(module).unwrap_or(self.module),
            // Senders at one port are of several modules; the header says which.
            TrainSource::Sender(_) => train
                .train()
                .and_then(|view| u8::try_from(view.header().detector_link).ok())
                .unwrap_or(self.module),
        };
        // There is room for every buffer. The worker is there until all receiving threads have ended.
        match self.queue.try_send(Queued {
            thread: self.thread,
            train: NodeTrain { module, train, rejected: Vec::new() },
        }) {
            Ok(()) => {
                self.counters.trains_queued += 1;
                None
            }
            Err(error) => {
                let (std::sync::mpsc::TrySendError::Full(queued)
                | std::sync::mpsc::TrySendError::Disconnected(queued)) = error;
                self.counters.trains_queued += 1;
                self.counters.trains_not_taken += 1;
                queued.train.train.into_buffer()
            }
        }
    }
}
