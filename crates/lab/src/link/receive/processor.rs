//! The processor time of a receiving thread, from its first packet to its last.

use super::ProcessorUse;
use evforge_net::thread_time::processor_time;
use std::time::{Duration, Instant};

/// Measures the thread that calls it.
pub(super) struct ProcessorMeter {
    /// Processor time, and the time it is of, when the first packet was waited for.
    begun: Option<(Duration, Instant)>,
    /// The same behind the last packet.
    ended: (Duration, Instant),
    has_packets: bool,
}

impl ProcessorMeter {
    pub(super) fn new() -> Self {
        Self { begun: None, ended: (Duration::ZERO, Instant::now()), has_packets: false }
    }

    /// Packets are about to be waited for.
    pub(super) fn wait(&mut self) {
        if !self.has_packets {
            self.begun = Some((processor_time(), Instant::now()));
        }
    }

    /// So many packets have been handled.
    pub(super) fn handled(&mut self, packets: usize) {
        if packets > 0 {
            self.has_packets = true;
            self.ended = (processor_time(), Instant::now());
        }
    }

    /// What was used.
    pub(super) fn used(&self) -> ProcessorUse {
        let (processor, at) = self.begun.unwrap_or(self.ended);
        ProcessorUse {
            used: self.ended.0.saturating_sub(processor),
            of: self.ended.1.saturating_duration_since(at),
        }
    }
}
