//! Raw packets for outputs: a tap at the place where events are formed.
//!
//! ```text
//! forming thread                          thread of the output
//!   PacketInlets ── slabs of copies ──────► PacketSamples
//!        ▲ ◄────────── empty slabs ────────────┘
//! ```
//!
//! An output asks for packets with a [`SampleRule`] when it is made ([`PacketTap::subscribe`]). Without such an output the run
//! has no [`PacketInlets`], and no packet costs anything. With one, the packets of every slab that the rule chooses are copied
//! into slabs that go round: nothing is allocated and no lock is taken for a packet. A live run never waits for the output:
//! what finds no room is dropped and counted. A run over a file waits, so that a file can be copied whole.

mod inlet;
mod rule;
mod samples;

pub use inlet::{PACKET_TAP, PacketInlets, PacketTapCounters};
pub use rule::SampleRule;
pub use samples::{PacketSamples, SampledPackets};

use inlet::Inlet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the outputs of a run get raw packets from; clones belong to the same run.
#[derive(Clone, Debug, Default)]
pub struct PacketTap {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Those who have asked; none any more once the run has begun.
    asked: Mutex<Asked>,
    calibrates: Arc<AtomicBool>,
    is_asked: AtomicBool,
}

#[derive(Debug, Default)]
struct Asked {
    inlets: Vec<Inlet>,
    has_begun: bool,
}

/// A run has begun, and cannot be asked for packets any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunHasBegun;

impl std::fmt::Display for RunHasBegun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the run has begun: raw packets can be asked for only when an output is made")
    }
}

impl std::error::Error for RunHasBegun {}

impl PacketTap {
    /// Asks for the packets that `rule` chooses. At most about `memory` bytes of them wait to be taken; see
    /// [`PacketTap::memory_bound`].
    ///
    /// # Errors
    /// If the run has begun. Outputs are made before.
    pub fn subscribe(&self, rule: SampleRule, memory: usize) -> Result<PacketSamples, RunHasBegun> {
        let mut asked = self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.has_begun {
            return Err(RunHasBegun);
        }
        let (inlet, samples) = inlet::pair(rule, memory);
        asked.inlets.push(inlet);
        self.shared.is_asked.store(true, Ordering::Relaxed);
        Ok(samples)
    }

    /// The memory that a subscription with so much `memory` takes in the end: never less than a few of the largest packets.
    pub fn memory_bound(memory: usize) -> usize {
        inlet::memory_bound(memory)
    }

    /// Switches calibration mode: raw packets go to those who have asked for them, and no events are formed. It follows with
    /// the next packets, also while a run continues. Without anybody who has asked for packets events are formed all the same.
    pub fn calibrate(&self, on: bool) {
        self.shared.calibrates.store(on, Ordering::Relaxed);
    }

    /// True if an output has asked for packets.
    pub fn is_asked(&self) -> bool {
        self.shared.is_asked.load(Ordering::Relaxed)
    }

    /// True in calibration mode.
    pub fn calibrates(&self) -> bool {
        self.shared.calibrates.load(Ordering::Relaxed)
    }

    /// The run begins: its side of the tap; none if nobody has asked for packets. With input that `waits` (files) so does the
    /// run when there is no room, until it is stopped.
    pub fn begin(&self, waits: bool) -> Option<PacketInlets> {
        let mut asked = self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.has_begun = true;
        let inlets = std::mem::take(&mut asked.inlets);
        (!inlets.is_empty()).then(|| PacketInlets::new(inlets, waits, Arc::clone(&self.shared.calibrates)))
    }
}

#[cfg(test)]
mod tests;
