//! Single neutrons of beam monitors that send alongside a detector: they wait here until the events have come to their
//! time, and fill the histograms of their monitors.

use super::counters::NeutronCounters;
use crate::watermark::DataTime;
use evforge_core::beam_monitor::{BeamMonitorData, BeamMonitorKind, BeamMonitorPlan};
use evforge_core::event::PixelId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Neutrons that can wait.
const MOST_WAITING: usize = 1 << 16;

/// Neutrons that wait when closing becomes worthwhile.
const WORTHWHILE: usize = 1 << 12;

/// Histograms over time of flight of the monitors that send single neutrons, in the order of their pixels.
#[derive(Debug, Default, get_size2::GetSize)]
pub struct MonitorHistograms {
    monitors: Vec<BeamMonitorData>,
}

impl MonitorHistograms {
    /// Those of the plans that send single neutrons.
    pub fn new(plans: impl IntoIterator<Item = BeamMonitorPlan>) -> Self {
        let single = plans.into_iter().filter(|plan| plan.kind != BeamMonitorKind::Integrating);
        Self { monitors: single.map(BeamMonitorData::new).collect() }
    }

    /// Adds a neutron. One without a time of flight counts as later than all bins.
    #[inline]
    pub fn add(&mut self, pixel_id: PixelId, time_of_flight_ns: Option<u64>) {
        let place = self.monitors.partition_point(|data| data.plan().first_pixel <= pixel_id);
        if let Some(data) = place.checked_sub(1).and_then(|place| self.monitors.get_mut(place)) {
            data.add(time_of_flight_ns.unwrap_or(u64::MAX), 1);
        }
    }

    /// Notes that pulses have begun.
    pub fn begin_pulses(&mut self, count: u64) {
        for _ in 0..count {
            self.monitors.iter_mut().for_each(BeamMonitorData::begin_pulse);
        }
    }

    /// The monitors with what they have counted.
    pub fn monitors(&self) -> &[BeamMonitorData] {
        &self.monitors
    }
}

/// Memory of neutrons that wait. [`Reverse`] does not say what it has on the heap: nothing.
fn room_of<T>(waiting: &BinaryHeap<T>) -> usize {
    waiting.capacity() * size_of::<T>()
}

/// The neutrons that wait, the earliest first, and their histograms.
#[derive(Debug, Default, get_size2::GetSize)]
pub(super) struct Neutrons {
    #[get_size(size_fn = room_of)]
    waiting: BinaryHeap<Reverse<(DataTime, PixelId)>>,
    latest: Option<DataTime>,
    pub(super) histograms: MonitorHistograms,
    /// Neutrons handed out so far.
    handed_out: u64,
    /// Pixels before that of the first monitor.
    pixel_offset: u32,
    has_monitors: bool,
}

impl Neutrons {
    /// With room for the neutrons of these monitors, whose pixels follow `pixel_offset` others.
    pub(super) fn new(histograms: MonitorHistograms, pixel_offset: u32) -> Self {
        let waiting = BinaryHeap::with_capacity(MOST_WAITING);
        Self { waiting, histograms, pixel_offset, has_monitors: true, ..Self::default() }
    }

    /// Takes a neutron, with its pixel among those of the monitors, from 1.
    pub(super) fn push(&mut self, at: DataTime, pixel: u32) {
        self.latest = self.latest.max(Some(at));
        self.waiting.push(Reverse((at, self.pixel_offset + pixel)));
    }

    /// The earliest that waits.
    #[inline]
    pub(super) fn first(&self) -> Option<(DataTime, PixelId)> {
        self.waiting.peek().map(|&Reverse(first)| first)
    }

    /// Takes out the earliest, which has been handed out with this time of flight.
    pub(super) fn hand_out(&mut self, time_of_flight_ns: Option<u64>) {
        if let Some(Reverse((_, pixel_id))) = self.waiting.pop() {
            self.handed_out += 1;
            self.histograms.add(pixel_id, time_of_flight_ns);
        }
    }

    /// True if `more` of them fit.
    #[inline]
    pub(super) fn has_room_for(&self, more: usize) -> bool {
        !self.has_monitors || self.waiting.len() + more <= MOST_WAITING
    }

    /// True if enough of them wait to make closing worthwhile.
    #[inline]
    pub(super) fn is_closing_worthwhile(&self) -> bool {
        self.waiting.len() >= WORTHWHILE
    }

    /// The latest that waits.
    pub(super) fn latest_pending(&self) -> Option<DataTime> {
        self.latest.filter(|_| !self.waiting.is_empty())
    }

    /// What has happened to the neutrons.
    pub(super) fn counters(&self) -> NeutronCounters {
        NeutronCounters { hits_in_events: self.handed_out, held: self.waiting.len() as u64 }
    }
}
