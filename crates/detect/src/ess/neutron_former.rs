//! For detectors each of whose hits is a neutron: into order of time, to their pulses and, of beam monitors, into histograms.

use super::counters::{DeadTimeCounters, NeutronCounters};
use super::former::HitFormer;
use super::neutrons::MonitorHistograms;
use super::pulse_line::{Filing, PulseLine};
use crate::event_order::TimedEvent;
use crate::source_clock::AcceptedHits;
use crate::time_order::TimeOrder;
use crate::watermark::{Closing, DataTime};
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::{EventBatch, PixelId};
use evforge_core::monitor::{MonitorData, MonitorPlan};

/// Every neutron is an event; what remains to be done is to put them into order.
#[derive(Debug, get_size2::GetSize)]
pub struct NeutronFormer {
    waiting: [TimeOrder; 1],
    closing: Closing,
    histograms: MonitorHistograms,
    pulses: u64,
    dead_time: Option<DeadTime>,
    counters: NeutronCounters,
    #[get_size(ignore)]
    monitor: Option<Box<MonitorData>>,
}

/// Neutrons that come too soon after another one of their group.
#[derive(Debug, get_size2::GetSize)]
struct DeadTime {
    length: u64,
    /// The group of each pixel.
    groups: Vec<u32>,
    /// Of each group, until when it is dead.
    until: Vec<DataTime>,
    counters: DeadTimeCounters,
}

impl DeadTime {
    /// The time of the group of a pixel.
    fn until(&mut self, pixel_id: PixelId) -> Option<&mut DataTime> {
        let group = *self.groups.get(pixel_id as usize)?;
        self.until.get_mut(group as usize)
    }

    /// True, and counted, if an event is to be discarded.
    fn discards(&mut self, epoch: u32, event: TimedEvent) -> bool {
        let is_dead = self.until(event.pixel_id).is_some_and(|until| (epoch, event.time) < *until);
        self.counters.piled_up += u64::from(is_dead);
        is_dead
    }

    /// Takes note of an event that is kept.
    fn keep(&mut self, epoch: u32, event: TimedEvent) {
        let end = (epoch, event.time.saturating_add(self.length));
        if let Some(until) = self.until(event.pixel_id) {
            *until = end;
        }
    }
}

impl NeutronFormer {
    /// With room for so many neutrons that wait.
    pub fn new(max_held: usize, histograms: MonitorHistograms) -> Self {
        Self {
            waiting: [TimeOrder::new(max_held, 0).with_payload_order()],
            closing: Closing::default(),
            histograms,
            pulses: 0,
            dead_time: None,
            counters: NeutronCounters::default(),
            monitor: None,
        }
    }

    /// The same, which discards a neutron sooner than `length` after the last one of its group that was kept. `groups` has the
    /// group of each pixel id.
    #[must_use]
    pub fn with_dead_time(mut self, length: u64, groups: Vec<u32>) -> Self {
        let count = groups.iter().max().map_or(0, |&largest| largest as usize + 1);
        self.dead_time = Some(DeadTime {
            length,
            groups,
            until: vec![(0, 0); count],
            counters: DeadTimeCounters::default(),
        });
        self
    }
}

impl AcceptedHits<TimedEvent> for NeutronFormer {
    #[inline]
    fn accept(&mut self, _: usize, epoch: u32, event: TimedEvent) {
        self.waiting[0].push(epoch, event);
    }
}

impl HitFormer for NeutronFormer {
    type Hit = TimedEvent;

    fn find_room(&mut self, _: usize) -> usize {
        self.room()
    }

    fn room(&self) -> usize {
        self.waiting[0].room()
    }

    fn is_closing_worthwhile(&self) -> bool {
        self.closing.is_worthwhile(self.waiting[0].pending())
    }

    fn advance(&mut self, target: DataTime) {
        self.closing.advance(target);
    }

    fn closed_before(&self) -> DataTime {
        self.closing.target()
    }

    fn latest_pending(&self) -> Option<DataTime> {
        self.waiting[0].latest_pending()
    }

    fn drain(&mut self, pulses: &mut PulseLine, events: &mut EventBatch) -> bool {
        loop {
            let epoch = self.closing.epoch();
            let Self { waiting: [order], histograms, counters, dead_time, .. } = self;
            while let Some(&key) = order.closed().first() {
                let event: TimedEvent = key.unpack(order.base());
                if dead_time.as_mut().is_some_and(|dead| dead.discards(epoch, event)) {
                    order.read_off(1);
                    continue;
                }
                let Filing::Filed { time_of_flight_ns } = pulses.file_event(epoch, event, events) else {
                    return false;
                };
                if let Some(dead) = dead_time {
                    dead.keep(epoch, event);
                }
                order.read_off(1);
                counters.hits_in_events += 1;
                histograms.add(event.pixel_id, time_of_flight_ns);
            }
            if self.closing.ends_epoch() {
                self.closing.begin_epoch();
            }
            if !self.closing.step(&mut self.waiting) {
                return true;
            }
        }
    }

    fn note_pulses(&mut self, filed: u64) {
        self.histograms.begin_pulses(filed - self.pulses);
        self.pulses = filed;
    }

    fn future_from(&self) -> DataTime {
        (self.closing.epoch(), self.closing.closed())
    }

    fn events_formed(&self) -> u64 {
        self.counters.hits_in_events
    }

    fn held_events(&self) -> u64 {
        0
    }

    fn forced_closings(&self) -> u64 {
        0
    }

    fn counters(&self) -> CounterSnapshot {
        let neutrons =
            CounterSnapshot::of(&NeutronCounters { held: self.waiting[0].held(), ..self.counters });
        self.dead_time.as_ref().map_or(neutrons.clone(), |dead| neutrons.and(&dead.counters))
    }

    fn beam_monitors(&self) -> &[BeamMonitorData] {
        self.histograms.monitors()
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
