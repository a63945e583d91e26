//! The sink that passes trains on.

use super::counters::ForwardCounters;
use super::pace::Pace;
use super::target::ForwardTarget;
use super::tcp::TcpForward;
use super::udp::UdpForward;
use crate::node::{NodeTrain, SinkError, TrainSink};
use std::sync::{Arc, Mutex, PoisonError};

/// How trains are passed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForwardOptions {
    /// Where to.
    pub to: ForwardTarget,
    /// Over UDP, bytes of a train in each packet but its last: 1 to 65 499.
    pub data_bytes: usize,
    /// Payload per second at most, in bits; none sends as fast as possible.
    pub bits_per_second: Option<u64>,
}

/// Sends whole trains to the next node, as they came, each module from a port of its own.
///
/// Over TCP a train that cannot be sent is counted, and the node goes on: it never waits for the next node for longer than seconds.
#[derive(Debug)]
pub struct ForwardSink {
    options: ForwardOptions,
    way: Way,
    pace: Pace,
    counters: ForwardCounters,
    told: Arc<Mutex<ForwardCounters>>,
}

#[derive(Debug)]
enum Way {
    Udp(UdpForward),
    Tcp(TcpForward),
}

impl ForwardSink {
    /// To this node.
    pub fn new(options: ForwardOptions) -> Self {
        let way = match options.to {
            ForwardTarget::Udp(to) => Way::Udp(UdpForward::new(to, options.data_bytes)),
            ForwardTarget::Tcp(to) => Way::Tcp(TcpForward::new(to)),
        };
        Self {
            options,
            way,
            pace: Pace::new(options.bits_per_second),
            counters: ForwardCounters::default(),
            told: Arc::default(),
        }
    }

    /// What was passed on, to be looked at once the node has ended, or while it runs.
    pub fn counters(&self) -> Arc<Mutex<ForwardCounters>> {
        Arc::clone(&self.told)
    }

    fn tell(&mut self) {
        match &self.way {
            Way::Udp(way) => self.counters.packets_refused = way.refused(),
            Way::Tcp(way) => way.count(&mut self.counters),
        }
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = self.counters;
    }
}

impl TrainSink for ForwardSink {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        self.counters.trains_offered += 1;
        let (module, report) = (train.module, train.train.report());
        let Some(bytes) = train.train.bytes().filter(|_| report.missing == 0) else {
            self.counters.trains_not_whole += 1;
            return Ok(());
        };
        let Self { options, way, pace, counters, .. } = self;
        match way {
            Way::Udp(way) => {
                way.send(module, bytes, pace, counters).map_err(|error| SinkError {
                    sink: "the next node",
                    problem: format!("{}: {error}", options.to),
                })?;
                counters.trains_sent += 1;
            }
            Way::Tcp(way) => {
                // Trains that are cut off have no number of their own.
                let number = report.number.unwrap_or(report.frame.into());
                way.send(module, number, bytes, pace, counters);
            }
        }
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
