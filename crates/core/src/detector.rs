//! What a detector pipeline must offer.

use crate::change::{Change, ChangeRefusal, ChangeTime, Parameter};
use crate::event::EventBatch;
use crate::geometry::LogicalGeometry;
use crate::ledger::DetectorLedger;
use crate::monitor::MonitorData;
use crate::packet::PacketBatch;
use crate::pixel_ids::PixelIds;
use std::sync::Arc;

/// How far [`Detector::ingest`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Packets of the batch that have been taken, counted from its start (not from `from`).
    pub taken: usize,
    /// True if the event batch filled up: empty it and call again, even if all packets are taken.
    pub full: bool,
}

/// Forms the events of one stream of packets.
///
/// The events are a function of the packet sequence of each source alone: not of the sizes of batches, of
/// threads, of the receive method or of how the sources' packets interleave. A detector does no I/O, reads
/// no clock and, once built, does not allocate while it forms events.
pub trait Detector: Send {
    /// Takes packets of `packets` from index `from` on and appends what is closed to `events`, until the
    /// packets are used up or `events` is full.
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress;

    /// Appends the events that are already closed but have been kept back for the sake of larger steps.
    /// Call it when the input pauses. Returns true if `events` filled up and there is more.
    fn publish_closed(&mut self, events: &mut EventBatch) -> bool;

    /// End of the input: closes everything that is held. Returns true if `events` filled up and there is
    /// more: empty it and call again.
    fn close(&mut self, events: &mut EventBatch) -> bool;

    /// Sources, sequences and counters at this moment; the laws hold in it.
    fn ledger(&self) -> DetectorLedger;

    /// The pixels of this detector.
    fn geometry(&self) -> LogicalGeometry;

    /// The ids of these pixels, where they are given by the facility and not by the geometry: events carry the ids.
    fn pixel_ids(&self) -> Option<Arc<PixelIds>> {
        None
    }

    /// True if the readout carries the times of the source's pulses, so that every event of every batch belongs to a pulse, or
    /// to none because none is known ([`EventBatch::begin_pulse`]). False by default. Files that are begun before the first
    /// batch want to know.
    fn tells_pulses(&self) -> bool {
        false
    }

    /// True if these times count from the Unix epoch, so that the readout carries the date. Unless said otherwise, readouts
    /// that tell pulses do.
    fn tells_date(&self) -> bool {
        self.tells_pulses()
    }

    /// Upper bound of the memory this detector uses, in bytes, whatever it is fed, without monitor data and without
    /// changes that wait for their time (some 50 bytes each).
    fn memory_bound(&self) -> usize;

    /// Sets the limit above which a step ahead in the packets' numbers must be confirmed by the next packet
    /// ([`SequenceTracker::confirm_above`](crate::sequence::SequenceTracker::confirm_above)), before the first packet. Does nothing
    /// for a detector whose packets have no numbers, or that follows them by itself.
    fn confirm_numbers_above(&mut self, _packets: u64) {}

    /// Begins to collect monitor data, or stops and forgets it. May be switched at any time between packets;
    /// it never changes the events. This call may allocate.
    fn set_monitoring(&mut self, on: bool);

    /// What has been collected since monitoring was switched on; none while it is off.
    fn monitor(&self) -> Option<&MonitorData>;

    /// The newest time that any source has sent so far, in nanoseconds on the clock of the events; none as long as there is
    /// none, and for detectors that keep nothing back for the sake of an order. It only serves to tell when the
    /// readouts of an event came in.
    fn newest_time_ns(&self) -> Option<u64> {
        None
    }

    /// What can be changed while this detector forms events: nothing, unless it says otherwise.
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    /// The earliest time from which a change can hold: later than all readouts that have been judged so far. None if
    /// nothing can be changed, or as long as no source has said what time it is; then every time is early enough.
    fn earliest_change(&self) -> Option<ChangeTime> {
        None
    }

    /// Changes a parameter for all readouts from the time of the change on: the events are those of a detector that knew of
    /// the change from the beginning. Call it between packets; it may allocate.
    ///
    /// # Errors
    /// If there is no such parameter, the value is out of range, or the time is too early. Nothing has changed then.
    fn change(&mut self, _change: &Change) -> Result<(), ChangeRefusal> {
        Err(ChangeRefusal::NotOffered("its settings hold for all of a run"))
    }

    /// Why this detector forms no events any more, in words for a person; none while it works. It still takes
    /// packets, and counts them as discarded. Only plugins can fail.
    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Takes all `packets`, and calls `deliver` whenever `events` is full; `deliver` empties it. Events that are
/// left in `events` at the end wait for the next call.
pub fn form<D: Detector + ?Sized>(
    detector: &mut D,
    packets: &PacketBatch<'_>,
    events: &mut EventBatch,
    mut deliver: impl FnMut(&mut EventBatch),
) {
    let mut taken = 0;
    loop {
        let progress = detector.ingest(packets, taken, events);
        taken = progress.taken;
        if !progress.full {
            return;
        }
        deliver(events);
    }
}

/// End of the input: closes `detector` and delivers everything that is left, as [`form`] does.
pub fn form_rest<D: Detector + ?Sized>(
    detector: &mut D,
    events: &mut EventBatch,
    mut deliver: impl FnMut(&mut EventBatch),
) {
    while detector.close(events) {
        deliver(events);
    }
    deliver(events);
}
