//! A detector whose hits meet only in modules: the windows of [`ModuleWindows`] as a [`HitFormer`].

use super::former::{HitFormer, Placed};
use super::pulse_line::PulseLine;
use super::shared_former::PartFormer;
use crate::hit::TargetedHit;
use crate::module_windows::{EventsOut, ModuleShare, ModuleWindows, Windows};
use crate::source_clock::AcceptedHits;
use crate::watermark::DataTime;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::monitor::{MonitorData, MonitorPlan};

/// What a detector with windows adds of its own: how hits are told apart from one another, and what it counts.
pub trait WindowAnalysis: Windows + get_size2::GetSize + Send {
    /// Events formed so far.
    fn events_formed(&self) -> u64;

    /// Those of them that wait in [`Windows::formed`].
    fn events_waiting(&self) -> u64;

    /// The counters of hits by what happened to them. `waiting` hits wait for their time; those in open windows are
    /// to be added.
    fn counters(&self, waiting: u64) -> CounterSnapshot;
}

/// The modules of a detector. The target of a hit is its module.
#[derive(Debug, get_size2::GetSize)]
pub struct ModuleFormer<W> {
    modules: ModuleWindows,
    windows: W,
    #[get_size(ignore)]
    monitor: Option<Box<MonitorData>>,
}

impl<W: Windows> AcceptedHits<W::Hit> for ModuleFormer<W> {
    #[inline(always)]
    fn accept(&mut self, module: usize, epoch: u32, hit: W::Hit) {
        self.modules.accept(module, epoch, hit);
    }

    #[inline]
    fn accept_packet(&mut self, epoch: u32, hits: &[TargetedHit]) {
        AcceptedHits::<W::Hit>::accept_packet(&mut self.modules, epoch, hits);
    }
}

impl<W> ModuleFormer<W> {
    /// For this many modules, each of which may hold `max_held_hits` hits. `windows` has room for the events of
    /// [`ModuleWindows::event_capacity`].
    pub fn new(modules: usize, max_held_hits: usize, windows: W) -> Self {
        Self::of_share(ModuleShare::all(modules), max_held_hits, windows)
    }

    /// As [`ModuleFormer::new`], for some of the modules: the targets of their hits are numbered through.
    pub fn of_share(share: ModuleShare, max_held_hits: usize, windows: W) -> Self {
        Self { modules: ModuleWindows::of_share(share, max_held_hits), windows, monitor: None }
    }

    /// Puts hits of equal time into the order of their payloads, for windows that are cut by the number of their hits.
    pub fn with_payload_order(mut self) -> Self {
        self.modules = self.modules.with_payload_order();
        self
    }
}

impl<W: WindowAnalysis> HitFormer for ModuleFormer<W>
where
    W::Hit: Placed + Send,
{
    type Hit = W::Hit;

    fn find_room(&mut self, needed: usize) -> usize {
        self.modules.find_room(needed)
    }

    fn room(&self) -> usize {
        self.modules.room()
    }

    fn is_closing_worthwhile(&self) -> bool {
        self.modules.is_closing_worthwhile()
    }

    fn advance(&mut self, target: DataTime) {
        self.modules.advance(target);
    }

    fn closed_before(&self) -> DataTime {
        self.modules.closed_before()
    }

    fn latest_pending(&self) -> Option<DataTime> {
        self.modules.latest_pending()
    }

    fn drain(&mut self, pulses: &mut PulseLine, events: &mut EventBatch) -> bool {
        self.drain_to(&mut pulses.out(events))
    }

    fn future_from(&self) -> DataTime {
        self.modules.future_from()
    }

    fn events_formed(&self) -> u64 {
        self.windows.events_formed()
    }

    fn held_events(&self) -> u64 {
        self.modules.held_events() + self.windows.events_waiting()
    }

    fn forced_closings(&self) -> u64 {
        self.modules.forced_closings()
    }

    fn counters(&self) -> CounterSnapshot {
        self.counters_holding(0)
    }

    fn set_monitoring(&mut self, plan: Option<MonitorPlan>) {
        self.monitor = plan.map(|plan| Box::new(MonitorData::new(plan)));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref()
    }

    fn monitor_mut(&mut self) -> Option<&mut MonitorData> {
        self.monitor.as_deref_mut()
    }
}

impl<W: WindowAnalysis> PartFormer for ModuleFormer<W>
where
    W::Hit: Placed + Send,
{
    const BY_PIXEL: bool = true;

    type Watcher = MonitorData;

    fn drain_to(&mut self, out: &mut impl EventsOut) -> bool {
        let Self { modules, windows, monitor } = self;
        match monitor {
            None => modules.drain(windows, &mut (), out),
            Some(monitor) => modules.drain(windows, &mut **monitor, out),
        }
    }

    fn counters_holding(&self, more: u64) -> CounterSnapshot {
        self.windows.counters(self.modules.held() + more)
    }

    fn pending(&self) -> usize {
        self.modules.pending()
    }

    fn exchange_watcher(&mut self, watcher: Option<Box<MonitorData>>) -> Option<Box<MonitorData>> {
        std::mem::replace(&mut self.monitor, watcher)
    }

    fn collected(watcher: &MonitorData) -> &MonitorData {
        watcher
    }

    fn collected_mut(watcher: &mut MonitorData) -> &mut MonitorData {
        watcher
    }
}
