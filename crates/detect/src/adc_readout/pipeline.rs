//! The pipeline of sampled channels: packets in, events and averaged waveforms out.

use super::averaging::{Averaging, MeanValue, NoSamples, SampleSink};
use super::counters::AdcReadoutCounters;
use super::filing::Filing;
use super::peak::{Peak, leading_edge};
use super::sample_time::SampleTime;
use super::settings::AdcReadoutSettings;
use crate::event_order::TimedEvent;
use crate::packet_gate::{Discard, PacketGate};
use crate::settings::SettingsError;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_core::packet::{Packet, PacketBatch};
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::adc_readout::{
    AdcPacket, Content, DataPacket, Fault, GLOBAL_COUNT_BITS, LARGEST_PACKET, Module, RawTime, Rejection,
};

/// Sampled channels. `S` takes their averaged waveforms.
#[derive(Debug)]
pub struct AdcReadout<S = NoSamples> {
    settings: AdcReadoutSettings,
    geometry: LogicalGeometry,
    sequence: SequenceTracker,
    /// One for each channel, or none.
    averaging: Vec<Averaging>,
    sink: S,
    /// Puts events and pulses into order, where pulses arrive on a channel. None: events leave as they come.
    filing: Option<Filing>,
    /// Runs and faults of the packet under way that have been looked at; none if there is no such packet.
    under_way: Option<usize>,
    gate: PacketGate,
    counters: AdcReadoutCounters,
    monitor: Option<Box<MonitorData>>,
}

impl AdcReadout {
    /// Channels with these settings; their averaged waveforms are dropped.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: &AdcReadoutSettings) -> Result<Self, SettingsError> {
        Self::with_sink(settings, NoSamples)
    }
}

impl<S: SampleSink> AdcReadout<S> {
    /// Channels with these settings, whose averaged waveforms go to `sink`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn with_sink(settings: &AdcReadoutSettings, sink: S) -> Result<Self, SettingsError> {
        settings.check()?;
        let geometry = LogicalGeometry::flat(u32::from(settings.channels), 1)
            .map_err(|error| SettingsError { key: "channels".into(), problem: error.to_string() })?;
        let averaging = settings.averaging.map(Averaging::new);
        Ok(Self {
            settings: *settings,
            geometry,
            sequence: SequenceTracker::of_packets(GLOBAL_COUNT_BITS, u64::BITS),
            averaging: averaging.map_or(Vec::new(), |one| vec![one; usize::from(settings.channels)]),
            sink,
            filing: settings.pulse_channel.map(|channel| Filing::new(settings, channel)),
            under_way: None,
            gate: PacketGate::new(LARGEST_PACKET),
            counters: AdcReadoutCounters::default(),
            monitor: None,
        })
    }

    /// The sink of the averaged waveforms.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    fn monitor_plan(&self) -> MonitorPlan {
        let channels = usize::from(self.settings.channels);
        let pulses = self.settings.pulse_channel;
        let of_channel = |channel: u16| pulses.filter(|pulses| pulses.channel == channel);
        let threshold = |channel| of_channel(channel).map_or(0, |pulses| pulses.threshold);
        let thresholds = (0..self.settings.channels).map(threshold);
        MonitorPlan {
            groups: vec![ChannelGroup::new("converter", channels).with_thresholds(thresholds)],
            planes: Vec::new(),
            amplitude_bits: 16,
            cluster_amplitude_bits: 16,
        }
    }

    /// Takes a packet, or goes on with the one under way. False if the event batch filled up before its end.
    fn take_packet(&mut self, packet: &Packet<'_>, events: &mut EventBatch) -> bool {
        let (from, content) = match self.under_way.take() {
            None => (0, self.begin_packet(packet)),
            Some(from) => (from, content_of(packet.bytes).ok()),
        };
        let data = match content {
            Some(Content::Data(data)) => data,
            Some(Content::Idle(idle)) => {
                self.take_heartbeat(idle.time);
                return true;
            }
            None => return true,
        };
        if self.filing.is_some() {
            self.file_packet(&data);
            return true;
        }
        for (number, item) in data.modules().enumerate().skip(from) {
            if events.is_full() {
                self.under_way = Some(number);
                return false;
            }
            match item {
                Ok(run) => self.take_run(&run, events),
                Err(fault) => self.count_fault(fault),
            }
        }
        true
    }

    /// Puts the runs of a packet, for which there is room, into order.
    fn file_packet(&mut self, data: &DataPacket<'_>) {
        self.filing.iter_mut().for_each(Filing::begin_packet);
        for item in data.modules() {
            match item {
                Ok(run) => self.file_run(&run),
                Err(fault) => self.count_fault(fault),
            }
        }
        self.filing.iter_mut().for_each(Filing::end_packet);
    }

    /// A heartbeat says how far time has come.
    fn take_heartbeat(&mut self, time: RawTime) {
        if let Some(filing) = &mut self.filing {
            filing.begin_packet();
            filing.push_heartbeat(SampleTime::of(time));
            filing.end_packet();
        }
    }

    /// Puts a run into order: as an event, or as a pulse.
    fn file_run(&mut self, run: &Module<'_>) {
        let Some(peak) = self.look_at(run) else { return };
        let ticks_per_sample = self.ticks_per_sample(run);
        let Some(filing) = &mut self.filing else { return };
        let pulses = filing.channel();
        let at = |index: usize| SampleTime::of(run.time).later(index as u64 * ticks_per_sample);
        if run.channel == pulses.channel {
            filing.push_pulse(leading_edge(run.samples(), pulses.threshold).map(at));
        } else {
            self.counters.hits += 1;
            filing.push(TimedEvent { time: at(peak.index).ticks(), pixel_id: u32::from(run.channel) + 1 });
        }
    }

    /// Counts and checks a packet; none if it is of no use.
    fn begin_packet<'a>(&mut self, packet: &Packet<'a>) -> Option<Content<'a>> {
        let arrival = AdcPacket::numbering(packet.bytes).map(|numbering| {
            let stamp = Stamp::of(packet.bytes, packet.origin.arrival_ns, None);
            self.sequence.observe_packet(u64::from(numbering.global_count), stamp)
        });
        if !self.gate.admit(packet, arrival) {
            return None;
        }
        let content = content_of(packet.bytes).map_err(reason);
        let outcome = content.as_ref().map(|_| ()).map_err(|counter| *counter);
        self.gate.settle(packet, outcome, &mut self.counters);
        let content = content.ok()?;
        self.counters.heartbeats += u64::from(matches!(content, Content::Idle(_)));
        Some(content)
    }

    /// Counts a run, and has it averaged and watched; none if it is of no use.
    fn look_at(&mut self, run: &Module<'_>) -> Option<Peak> {
        self.counters.readouts += 1;
        #[cfg(test)]
        if crate::ledger_tests::vanishes() {
            return None;
        }
        if run.channel >= self.settings.channels {
            self.counters.unknown_channel += 1;
            return None;
        }
        self.counters.samples += run.len() as u64;
        if let Some(averaging) = self.averaging.get_mut(usize::from(run.channel)) {
            let mut counted = Counted { sink: &mut self.sink, values: 0 };
            self.counters.samples_not_averaged += averaging.take(run, &mut counted);
            self.counters.averages += counted.values;
        }
        let peak = Peak::find(run.samples());
        match (peak, &mut self.monitor) {
            (None, _) => self.counters.empty_run += 1,
            (Some(peak), Some(monitor)) => monitor.readout(usize::from(run.channel), peak.amplitude),
            (Some(_), None) => {}
        }
        peak
    }

    /// Ticks from one sample of a run to the next.
    fn ticks_per_sample(&self, run: &Module<'_>) -> u64 {
        if self.settings.ignore_oversampling { 1 } else { u64::from(run.oversampling.max(1)) }
    }

    /// Forms the event of a run, for which there is room.
    fn take_run(&mut self, run: &Module<'_>, events: &mut EventBatch) {
        let Some(peak) = self.look_at(run) else { return };
        let ticks_per_sample = self.ticks_per_sample(run);
        let time = SampleTime::of(run.time).later(peak.index as u64 * ticks_per_sample);
        let event = Event { time_ns: time.nanoseconds(), pixel_id: u32::from(run.channel) + 1 };
        // The caller has looked whether there is room.
        let _has_room = events.push(event);
        self.counters.hits += 1;
        self.counters.hits_in_events += 1;
        self.counters.events += 1;
    }

    /// Hands out what is closed. False if the batch filled up before the end.
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        self.filing.as_mut().is_none_or(|filing| filing.drain(events))
    }

    fn count_fault(&mut self, fault: Fault) {
        let counters = &mut self.counters;
        counters.readouts += u64::from(fault.costs_a_module());
        let counter = match fault {
            Fault::NoModule(_) => &mut counters.no_run,
            Fault::WrongModuleLength(_) => &mut counters.wrong_run_length,
            Fault::WrongModuleTrailer => &mut counters.wrong_run_trailer,
            Fault::WrongFiller => &mut counters.packets_wrong_filler,
            Fault::WrongPacketTrailer => &mut counters.packets_wrong_trailer,
        };
        *counter += 1;
    }
}

impl<S: SampleSink> Detector for AdcReadout<S> {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.drain(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if self.filing.as_mut().is_some_and(|filing| !filing.make_room()) {
                continue;
            }
            if !self.take_packet(&packet, events) {
                return Progress { taken, full: true };
            }
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        self.filing.iter_mut().for_each(Filing::publish_closed);
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        let quarantined = self.filing.as_mut().is_some_and(Filing::close);
        !self.drain(events) || quarantined
    }

    fn ledger(&self) -> DetectorLedger {
        let source = SourceLedger::of_sequence("converter".into(), &self.sequence);
        let has_sent = self.sequence.counts().received > 0;
        let mut counters = self.counters;
        if let Some(filing) = &self.filing {
            counters.held = filing.held();
            counters.hits_in_events = filing.filed();
            counters.events = filing.filed();
        }
        let mut counters = CounterSnapshot::of(self.gate.counters()).and(&counters);
        if let Some(filing) = &self.filing {
            let (pulses, clocks, filed) = filing.counters();
            counters = counters.and(&pulses).and(&clocks).and(&filed);
        }
        DetectorLedger {
            sources: has_sent.then_some(source).into_iter().collect(),
            counters,
            notes: self.filing.iter().filter_map(Filing::note).collect(),
            masked: Vec::new(),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn tells_pulses(&self) -> bool {
        self.filing.is_some()
    }

    /// The seconds of the converter need not count from 1970.
    fn tells_date(&self) -> bool {
        false
    }

    fn newest_time_ns(&self) -> Option<u64> {
        self.filing.as_ref()?.newest_ns()
    }

    fn memory_bound(&self) -> usize {
        size_of::<Self>()
            + self.averaging.len() * size_of::<Averaging>()
            + SequenceTracker::memory_bound()
            + self.filing.as_ref().map_or(0, |filing| filing.memory_bound(&self.settings))
    }

    fn confirm_numbers_above(&mut self, packets: u64) {
        self.sequence.confirm_above(packets);
    }

    fn set_monitoring(&mut self, on: bool) {
        self.monitor = on.then(|| Box::new(MonitorData::new(self.monitor_plan())));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref()
    }
}

/// Counts the values that pass.
struct Counted<'a, S> {
    sink: &'a mut S,
    values: u64,
}

impl<S: SampleSink> SampleSink for Counted<'_, S> {
    fn take(&mut self, value: MeanValue) {
        self.values += 1;
        self.sink.take(value);
    }
}

type OwnDiscard = Discard<AdcReadoutCounters>;

/// What is in a packet.
fn content_of(bytes: &[u8]) -> Result<Content<'_>, Rejection> {
    AdcPacket::parse(bytes).map(|packet| packet.content)
}

/// The counter of a rejection by the decoder.
fn reason(rejection: Rejection) -> OwnDiscard {
    match rejection {
        Rejection::TooShort => |counters| &mut counters.packets_too_short,
        Rejection::WrongLength => |counters| &mut counters.packets_wrong_length,
        Rejection::UnknownType(_) => |counters| &mut counters.packets_unknown_type,
        Rejection::NoIdleTime => |counters| &mut counters.packets_no_heartbeat_time,
    }
}
