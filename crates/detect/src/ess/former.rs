//! What a detector adds of its own to the readout that all share.

use super::pulse_line::PulseLine;
use crate::hit::Timed;
use crate::source_clock::AcceptedHits;
use crate::watermark::DataTime;
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::monitor::{MonitorData, MonitorPlan};

/// Where a hit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// 0 or 1: the plane in its module.
    pub plane: u8,
    /// Wire, grid or strip.
    pub coordinate: u16,
}

/// A hit that is made of a VMM readout.
pub trait Placed: Timed {
    /// A hit at this place. Time in units of [`ticks`](super::ticks), amplitude at most 1023.
    fn placed(place: Place, time: u64, amplitude: u16) -> Self;
}

/// Forms events from the hits of all sources: sorting, clustering, matching, position.
///
/// Hits come in by [`AcceptedHits::accept`], whose first argument is the
/// [`target`](super::PlaceRequest::target) of the wiring: a module, or a plane of strips.
pub trait HitFormer: AcceptedHits<Self::Hit> + get_size2::GetSize + Send {
    /// A hit as the sorters hold it.
    type Hit: Timed + Send;

    /// How many more hits fit for sure, whatever their place; may be computed again if less than `needed` is known
    /// of.
    fn find_room(&mut self, needed: usize) -> usize;

    /// As [`HitFormer::find_room`], as far as it is known.
    fn room(&self) -> usize;

    /// True once enough hits wait to make closing worth while.
    fn is_closing_worthwhile(&self) -> bool;

    /// Says that no source will send hits before `target` any more. Going back has no effect.
    fn advance(&mut self, target: DataTime);

    /// Everything before this is closed or about to be.
    fn closed_before(&self) -> DataTime;

    /// The latest hit that waits.
    fn latest_pending(&self) -> Option<DataTime>;

    /// Files the events of the time that is closed, in order of time. False if the batch filled up before the end.
    fn drain(&mut self, pulses: &mut PulseLine, events: &mut EventBatch) -> bool;

    /// Takes note of the number of pulses handed out so far. Does nothing unless it says otherwise.
    fn note_pulses(&mut self, _filed: u64) {}

    /// No event that is filed from here on is earlier than this.
    fn future_from(&self) -> DataTime;

    /// Events formed so far, counted where they are formed.
    fn events_formed(&self) -> u64;

    /// Events formed that are not filed yet.
    fn held_events(&self) -> u64;

    /// Times that something was closed early for want of room.
    fn forced_closings(&self) -> u64;

    /// The counters of this step: hits by what happened to them, those held included.
    fn counters(&self) -> CounterSnapshot;

    /// Beam monitors that are filled by the events filed here.
    fn beam_monitors(&self) -> &[BeamMonitorData] {
        &[]
    }

    /// Begins to collect monitor data by this plan, or stops.
    fn set_monitoring(&mut self, plan: Option<MonitorPlan>);

    /// What has been collected.
    fn monitor(&self) -> Option<&MonitorData>;

    /// For who watches the readouts.
    fn monitor_mut(&mut self) -> Option<&mut MonitorData>;
}
