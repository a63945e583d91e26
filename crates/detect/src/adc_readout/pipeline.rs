//! The pipeline of sampled channels: packets in, events and averaged waveforms out.

use super::averaging::{Averaging, MeanValue, NoSamples, SampleSink};
use super::counters::AdcReadoutCounters;
use super::peak::Peak;
use super::sample_time::SampleTime;
use super::settings::AdcReadoutSettings;
use crate::packet_gate::{Discard, PacketGate};
use crate::settings::SettingsError;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_core::packet::{Packet, PacketBatch};
use evforge_core::sequence::SequenceTracker;
use evforge_wire::adc_readout::{
    AdcPacket, Content, DataPacket, Fault, GLOBAL_COUNT_BITS, LARGEST_PACKET, Module, Rejection,
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
            sequence: SequenceTracker::new(GLOBAL_COUNT_BITS),
            averaging: averaging.map_or(Vec::new(), |one| vec![one; usize::from(settings.channels)]),
            sink,
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
        MonitorPlan {
            groups: vec![ChannelGroup::new("converter", channels)],
            planes: Vec::new(),
            amplitude_bits: 16,
            cluster_amplitude_bits: 16,
        }
    }

    /// Takes a packet, or goes on with the one under way. False if the event batch filled up before its end.
    fn take_packet(&mut self, packet: &Packet<'_>, events: &mut EventBatch) -> bool {
        let (from, data) = match self.under_way.take() {
            None => (0, self.begin_packet(packet)),
            Some(from) => (from, data_of(packet.bytes).ok().flatten()),
        };
        let Some(data) = data else { return true };
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

    /// Counts and checks a packet; none if it is of no use or has no runs.
    fn begin_packet<'a>(&mut self, packet: &Packet<'a>) -> Option<DataPacket<'a>> {
        let arrival = AdcPacket::numbering(packet.bytes).map(|numbering| {
            self.sequence.observe_at(u64::from(numbering.global_count), packet.origin.arrival_ns)
        });
        if !self.gate.admit(packet, arrival) {
            return None;
        }
        let data = data_of(packet.bytes).map_err(reason);
        self.gate.settle(packet, data.as_ref().map(|_| ()).map_err(|counter| *counter), &mut self.counters);
        let data = data.ok()?;
        self.counters.heartbeats += u64::from(data.is_none());
        data
    }

    /// Forms the event of a run, for which there is room.
    fn take_run(&mut self, run: &Module<'_>, events: &mut EventBatch) {
        self.counters.readouts += 1;
        #[cfg(test)]
        if crate::ledger_tests::vanishes() {
            return;
        }
        if run.channel >= self.settings.channels {
            self.counters.unknown_channel += 1;
            return;
        }
        self.counters.samples += run.len() as u64;
        if let Some(averaging) = self.averaging.get_mut(usize::from(run.channel)) {
            let mut counted = Counted { sink: &mut self.sink, values: 0 };
            self.counters.samples_not_averaged += averaging.take(run, &mut counted);
            self.counters.averages += counted.values;
        }
        let Some(peak) = Peak::find(run.samples()) else {
            self.counters.empty_run += 1;
            return;
        };
        if let Some(monitor) = &mut self.monitor {
            monitor.readout(usize::from(run.channel), peak.amplitude);
        }
        let ticks_per_sample =
            if self.settings.ignore_oversampling { 1 } else { u64::from(run.oversampling.max(1)) };
        let time = SampleTime::of(run.time).later(peak.index as u64 * ticks_per_sample);
        let event = Event { time_ns: time.nanoseconds(), pixel_id: u32::from(run.channel) + 1 };
        // The caller has looked whether there is room.
        let _has_room = events.push(event);
        self.counters.hits += 1;
        self.counters.hits_in_events += 1;
        self.counters.events += 1;
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
        while let Some(packet) = packets.get(taken) {
            if !self.take_packet(&packet, events) {
                return Progress { taken, full: true };
            }
            taken += 1;
        }
        Progress { taken, full: false }
    }

    fn publish_closed(&mut self, _: &mut EventBatch) -> bool {
        false
    }

    fn close(&mut self, _: &mut EventBatch) -> bool {
        false
    }

    fn ledger(&self) -> DetectorLedger {
        let source = SourceLedger::of_sequence("converter".into(), &self.sequence);
        let has_sent = self.sequence.counts().received > 0;
        DetectorLedger {
            sources: has_sent.then_some(source).into_iter().collect(),
            counters: CounterSnapshot::of(self.gate.counters()).and(&self.counters),
            masked: Vec::new(),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn memory_bound(&self) -> usize {
        size_of::<Self>() + self.averaging.len() * size_of::<Averaging>() + SequenceTracker::memory_bound()
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

/// The runs of a packet; none of a heartbeat.
fn data_of(bytes: &[u8]) -> Result<Option<DataPacket<'_>>, Rejection> {
    Ok(match AdcPacket::parse(bytes)?.content {
        Content::Data(data) => Some(data),
        Content::Idle(_) => None,
    })
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
