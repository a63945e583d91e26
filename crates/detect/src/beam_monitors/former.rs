//! Single neutrons into order of time, to their pulses and into the histograms of their monitors.

use super::settings::BeamMonitorSettings;
use crate::ess::{Filing, HitFormer, MonitorHistograms, NeutronCounters, PulseLine};
use crate::event_order::TimedEvent;
use crate::settings::SettingsError;
use crate::source_clock::AcceptedHits;
use crate::time_order::TimeOrder;
use crate::watermark::{Closing, DataTime};
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::monitor::{MonitorData, MonitorPlan};

/// Every single neutron is an event; what remains to be done is to put them into order.
#[derive(Debug, get_size2::GetSize)]
pub struct NeutronFormer {
    waiting: [TimeOrder; 1],
    closing: Closing,
    histograms: MonitorHistograms,
    pulses: u64,
    counters: NeutronCounters,
    #[get_size(ignore)]
    monitor: Option<Box<MonitorData>>,
}

impl NeutronFormer {
    /// For settings that have been checked.
    pub(super) fn new(settings: &BeamMonitorSettings) -> Result<Self, SettingsError> {
        let order = TimeOrder::new(settings.ess.sorting.max_held_hits, 0).with_payload_order();
        Ok(Self {
            waiting: [order],
            closing: Closing::default(),
            histograms: MonitorHistograms::new(settings.plans(0)),
            pulses: 0,
            counters: NeutronCounters::default(),
            monitor: None,
        })
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
            let Self { waiting: [order], histograms, counters, .. } = self;
            while let Some(&key) = order.closed().first() {
                let event: TimedEvent = key.unpack(order.base());
                let Filing::Filed { time_of_flight_ns } = pulses.file_event(epoch, event, events) else {
                    return false;
                };
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
        CounterSnapshot::of(&NeutronCounters { held: self.waiting[0].held(), ..self.counters })
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
