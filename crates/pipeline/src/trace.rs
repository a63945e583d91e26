//! What an engineer can have a run say of its packets: batches, refused packets with reason and source, steps of clocks.
//!
//! The detectors themselves say nothing while they form: their counters know what they have refused, and why. Where a group is on,
//! counters are compared before and after a batch (`debug`), or before and after each packet (`trace`), which costs time. Off, it
//! costs one relaxed load for each batch.

use evforge_core::counter::{CounterSnapshot, Law, Role};
use evforge_core::detector::Detector;
use evforge_core::packet::{PacketBatch, PacketSlab};
use evforge_log::group::{FORM, INPUT, PARSE};
use std::net::SocketAddr;
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// Counters of steps of clocks, by their names: what of them changes is said in the group `form`.
const STEPS: [&str; 5] = [
    "clock_restarts",
    "pulse_clock_restarts",
    "forward_jumps",
    "held_in_quarantine",
    "packets_pulse_too_far",
];

/// What of a batch is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traced {
    /// Nothing: the usual case.
    Nothing,
    /// What the counters say of a batch.
    Batches,
    /// What the counters say of each packet.
    Packets,
}

/// What of a batch is to be said: one relaxed load where nothing is.
#[inline]
pub fn wanted() -> Traced {
    if LevelFilter::current() < LevelFilter::DEBUG { Traced::Nothing } else { looked_up() }
}

/// Some group says details: whether one of those does that look at batches.
#[cold]
fn looked_up() -> Traced {
    if tracing::enabled!(target: PARSE, Level::TRACE) {
        Traced::Packets
    } else if tracing::enabled!(target: PARSE, Level::DEBUG)
        || tracing::enabled!(target: FORM, Level::DEBUG)
        || tracing::enabled!(target: INPUT, Level::TRACE)
    {
        Traced::Batches
    } else {
        Traced::Nothing
    }
}

/// Says what has come.
pub(crate) fn say_batch(batch: &PacketBatch<'_>) {
    let Some(first) = batch.get(0) else { return };
    let source = tracing::field::display(first.origin.source);
    tracing::trace!(target: INPUT, packets = batch.len(), source, "a batch of packets");
}

/// The counters of a detector before something, to say afterwards what has changed.
pub(crate) struct Before(CounterSnapshot);

impl Before {
    pub(crate) fn of(detector: &dyn Detector) -> Self {
        Self(detector.ledger().counters)
    }

    /// Says what has changed by what came from `source`; of a batch that is the source of its first packet.
    pub(crate) fn compare(self, detector: &dyn Detector, source: Option<SocketAddr>, bytes: Option<usize>) {
        let source = source.map(tracing::field::display);
        let after = detector.ledger().counters;
        for ((info, before), (_, after)) in self.0.iter().zip(after.iter()) {
            let count = after.wrapping_sub(before);
            if after <= before {
                continue;
            }
            let (reason, help) = (info.name, info.help);
            if STEPS.contains(&reason) {
                tracing::debug!(target: FORM, reason, count, source, "{help}");
            } else if info.role == Role::Discarded(Law::Packets) {
                tracing::debug!(target: PARSE, reason, count, source, bytes, "packets refused: {help}");
            } else if info.role == Role::Discarded(Law::Readouts) {
                tracing::debug!(target: PARSE, reason, count, source, bytes, "readouts refused: {help}");
            }
        }
    }
}

/// Each packet of a batch in a slab of its own.
pub(crate) fn each_packet(slab: &PacketSlab, mut take: impl FnMut(&PacketSlab, SocketAddr, usize)) {
    for packet in slab.batch().iter() {
        let mut alone = PacketSlab::new(1, packet.bytes.len().max(1));
        alone.push(packet.bytes, packet.original_length as usize, packet.origin);
        take(&alone, packet.origin.source, packet.bytes.len());
    }
}
