//! Trains for clients of the karabo-bridge.

use crate::bridge::{Bridge, BridgeCounters};
use crate::file::ArrivedTrain;
use crate::node::{NodeTrain, SinkError, TrainSink};
use std::sync::{Arc, Mutex, PoisonError};

/// Shows whole trains to clients of the karabo-bridge.
#[derive(Debug)]
pub struct BridgeSink {
    bridge: Bridge,
    not_whole: Vec<usize>,
    counters: Arc<Mutex<BridgeCounters>>,
}

impl BridgeSink {
    /// By this server.
    pub fn new(bridge: Bridge) -> Self {
        Self { bridge, not_whole: Vec::new(), counters: Arc::default() }
    }

    /// What is shown, to be looked at once the node has ended, or while it runs.
    pub fn counters(&self) -> Arc<Mutex<BridgeCounters>> {
        Arc::clone(&self.counters)
    }

    fn tell(&self) {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner) = self.bridge.counters();
    }
}

impl TrainSink for BridgeSink {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        let assembled = &train.train;
        let Some(view) = assembled.train() else { return Ok(()) };
        self.not_whole.clear();
        self.not_whole.extend(assembled.images_with_holes());
        let (module, not_whole) = (train.module, &self.not_whole[..]);
        self.bridge.offer(&ArrivedTrain {
            module,
            train: view,
            not_whole,
            // A look at trains as they came.
            rejected: &[],
            arrival_ns: assembled.report().opened_ns,
        });
        Ok(())
    }

    fn poll(&mut self) -> Result<(), SinkError> {
        self.tell();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.tell();
        Ok(())
    }
}
