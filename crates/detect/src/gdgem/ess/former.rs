//! Tracks in the ESS readout: hits to events, each at its pulse.

use crate::ess::{HitFormer, PartFormer, Place, Placed, PulseLine, ticks};
use crate::event_order::TimedEvent;
use crate::gdgem::counters::TrackCounters;
use crate::gdgem::track_settings::TrackSettings;
use crate::gdgem::tracks::Tracks;
use crate::hit::Hit;
use crate::module_windows::EventsOut;
use crate::partition::{OneByOne, RegionExecutor};
use crate::source_clock::AcceptedHits;
use crate::track_monitor::TrackMonitor;
use crate::watermark::DataTime;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::monitor::{MonitorData, MonitorPlan};
use std::sync::Arc;

impl Placed for Hit {
    #[inline(always)]
    fn placed(place: Place, time: u64, amplitude: u16) -> Self {
        Self { time, strip: place.coordinate, adc: amplitude }
    }
}

/// Forms the events of tracks.
#[derive(Debug, get_size2::GetSize)]
pub struct TrackFormer {
    tracks: Tracks,
    /// An event, with its epoch and panel, that found the batch full: pulses take room in it, too.
    refused: Option<(u32, u32, TimedEvent)>,
}

impl TrackFormer {
    /// For settings that have been checked.
    pub fn new(settings: &TrackSettings) -> Self {
        let executor = Arc::new(OneByOne) as Arc<dyn RegionExecutor>;
        Self { tracks: Tracks::new(settings, ticks::UNIT, ticks::in_duration, &executor), refused: None }
    }

    /// As [`TrackFormer::new`], for some of the panels, which all have two planes: those of these numbers, whose planes are
    /// numbered through here.
    pub fn of_some(panels: Vec<u32>, settings: &TrackSettings) -> Self {
        let executor = Arc::new(OneByOne) as Arc<dyn RegionExecutor>;
        let tracks = Tracks::of_some(panels, settings, ticks::UNIT, ticks::in_duration, &executor);
        Self { tracks, refused: None }
    }
}

impl AcceptedHits for TrackFormer {
    #[inline(always)]
    fn accept(&mut self, target: usize, epoch: u32, hit: Hit) {
        self.tracks.former.accept(target, epoch, hit);
    }
}

impl HitFormer for TrackFormer {
    type Hit = Hit;

    #[inline]
    fn find_room(&mut self, _needed: usize) -> usize {
        self.room()
    }

    #[inline]
    fn room(&self) -> usize {
        self.tracks.former.room()
    }

    #[inline]
    fn is_closing_worthwhile(&self) -> bool {
        self.tracks.former.is_closing_worthwhile()
    }

    fn advance(&mut self, target: DataTime) {
        self.tracks.former.advance(target);
    }

    fn closed_before(&self) -> DataTime {
        self.tracks.former.closed_before()
    }

    fn latest_pending(&self) -> Option<DataTime> {
        self.tracks.former.latest_pending()
    }

    #[inline]
    fn drain(&mut self, pulses: &mut PulseLine, events: &mut EventBatch) -> bool {
        self.drain_to(&mut pulses.out(events))
    }

    fn future_from(&self) -> DataTime {
        let refused = self.refused.map(|(epoch, _, event)| (epoch, event.time));
        let tracks = self.tracks.former.future_from();
        refused.map_or(tracks, |refused| refused.min(tracks))
    }

    fn events_formed(&self) -> u64 {
        self.tracks.events_formed()
    }

    fn held_events(&self) -> u64 {
        u64::from(self.refused.is_some())
    }

    fn forced_closings(&self) -> u64 {
        0
    }

    fn counters(&self) -> CounterSnapshot {
        self.counters_holding(0)
    }

    fn set_monitoring(&mut self, plan: Option<MonitorPlan>) {
        self.tracks.set_monitoring(plan);
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.tracks.monitor()
    }

    fn monitor_mut(&mut self) -> Option<&mut MonitorData> {
        self.tracks.monitor_mut()
    }
}

impl PartFormer for TrackFormer {
    const BY_PIXEL: bool = false;

    type Watcher = TrackMonitor;

    #[inline]
    fn drain_to(&mut self, out: &mut impl EventsOut) -> bool {
        let Self { tracks, refused } = self;
        let waiting = refused.take();
        let mut take = |epoch, panel, event| {
            let taken = out.append_one(epoch, panel, event);
            *refused = (!taken).then_some((epoch, panel, event));
            taken
        };
        if let Some((epoch, panel, event)) = waiting
            && !take(epoch, panel, event)
        {
            return false;
        }
        tracks.drain(take)
    }

    fn counters_holding(&self, more: u64) -> CounterSnapshot {
        let counters = self.tracks.counters();
        CounterSnapshot::of(&TrackCounters { held: counters.held + more, ..counters })
    }

    fn pending(&self) -> usize {
        self.tracks.former.pending()
    }

    fn exchange_watcher(&mut self, watcher: Option<Box<TrackMonitor>>) -> Option<Box<TrackMonitor>> {
        self.tracks.exchange_watcher(watcher)
    }

    fn collected(watcher: &TrackMonitor) -> &MonitorData {
        &watcher.data
    }

    fn collected_mut(watcher: &mut TrackMonitor) -> &mut MonitorData {
        &mut watcher.data
    }
}
