//! Sampled channels: packets to events and averaged waveforms.

use super::averaging::{Averaging, MeanValue, NoSamples, SampleSink};
use super::counters::AdcReadoutCounters;
use super::filing::Filing;
use super::peak::{Peak, leading_edge};
use super::sample_time::SampleTime;
use super::settings::AdcReadoutSettings;
use crate::event_order::TimedEvent;
use crate::packet_gate::{Discard, PacketGate};
use crate::pipeline::{Checked, Number, Out, Pipeline, Pixels, Sources, Stage};
use crate::settings::SettingsError;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_core::packet::Packet;
use evforge_wire::adc_readout::{
    AdcPacket, Content, DataPacket, Fault, GLOBAL_COUNT_BITS, LARGEST_PACKET, Module, RawTime, Rejection,
};

/// Sampled channels. `S` takes their averaged waveforms.
pub type AdcReadout<S = NoSamples> = Pipeline<AdcStage<S>>;

/// Packets of the converter to events: one for each run that has samples.
#[derive(Debug, get_size2::GetSize)]
#[get_size(ignore(S))]
pub struct AdcStage<S> {
    settings: AdcReadoutSettings,
    /// One for each channel, or none.
    averaging: Vec<Averaging>,
    #[get_size(ignore)]
    sink: S,
    counters: AdcReadoutCounters,
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
        let stage = AdcStage {
            settings: *settings,
            averaging: averaging.map_or(Vec::new(), |one| vec![one; usize::from(settings.channels)]),
            sink,
            counters: AdcReadoutCounters::default(),
        };
        let filing = settings.pulse_channel.map(|channel| Filing::new(settings, channel));
        let converter = std::iter::once("converter".to_owned());
        let sources = Sources::numbered(converter, GLOBAL_COUNT_BITS, u64::BITS);
        let gate = PacketGate::new(LARGEST_PACKET);
        // The seconds of the converter need not count from 1970.
        let pixels = Pixels { have_pulses: filing.is_some(), ..geometry.into() };
        Ok(Self::of((stage, filing), pixels, gate, sources))
    }

    /// The sink of the averaged waveforms.
    pub fn sink(&self) -> &S {
        &self.stage.sink
    }
}

impl<S: SampleSink> Stage for AdcStage<S> {
    /// None: events leave as they come.
    type Former = Option<Filing>;
    type Counters = AdcReadoutCounters;
    type Content<'a> = Content<'a>;
    /// Runs and faults that have been looked at.
    type UnderWay = usize;

    #[inline]
    fn number(&self, packet: &Packet<'_>) -> Option<Number> {
        let numbering = AdcPacket::numbering(packet.bytes)?;
        Some(Number { source: 0, number: numbering.global_count.into(), time: None })
    }

    #[inline]
    fn parse<'a>(&self, packet: &Packet<'a>) -> Checked<Content<'a>, Self> {
        AdcPacket::parse(packet.bytes).map(|packet| packet.content).map_err(reason)
    }

    #[inline]
    fn begin(&mut self, content: &Content<'_>, _: Option<usize>) -> Checked<usize, Self> {
        self.counters.heartbeats += u64::from(matches!(content, Content::Idle(_)));
        Ok(0)
    }

    #[cold]
    fn watch(&self, content: &Content<'_>, _: usize, monitor: &mut MonitorData) {
        let Content::Data(data) = content else { return };
        for run in data.modules().flatten().filter(|run| run.channel < self.settings.channels) {
            if let Some(peak) = Peak::find(run.samples()) {
                monitor.readout(usize::from(run.channel), peak.amplitude);
            }
        }
    }

    #[inline]
    fn take(&mut self, content: &Content<'_>, from: usize, out: Out<'_, Option<Filing>>) -> Option<usize> {
        let Out { former, events, .. } = out;
        match (content, former) {
            (Content::Data(data), None) => {
                for (number, item) in data.modules().enumerate().skip(from) {
                    if events.is_full() {
                        return Some(number);
                    }
                    match item {
                        Ok(run) => self.take_run(&run, events),
                        Err(fault) => self.count_fault(fault),
                    }
                }
            }
            (Content::Data(data), Some(filing)) => self.file_packet(data, filing),
            (Content::Idle(idle), Some(filing)) => take_heartbeat(idle.time, filing),
            (Content::Idle(_), None) => {}
        }
        None
    }

    fn counters_mut(&mut self) -> &mut AdcReadoutCounters {
        &mut self.counters
    }

    fn counters(&self, filing: &Option<Filing>) -> CounterSnapshot {
        let Some(filing) = filing else { return CounterSnapshot::of(&self.counters) };
        let (pulses, clocks, filed) = filing.counters();
        let counters = AdcReadoutCounters {
            held: filing.held(),
            hits_in_events: filing.filed(),
            events: filing.filed(),
            ..self.counters
        };
        CounterSnapshot::of(&counters).and(&pulses).and(&clocks).and(&filed)
    }

    fn begin_monitor(&self, _: &Option<Filing>) -> MonitorData {
        let channels = usize::from(self.settings.channels);
        let pulses = self.settings.pulse_channel;
        let of_channel = |channel: u16| pulses.filter(|pulses| pulses.channel == channel);
        let threshold = |channel| of_channel(channel).map_or(0, |pulses| pulses.threshold);
        let thresholds = (0..self.settings.channels).map(threshold);
        MonitorData::new(MonitorPlan {
            groups: vec![ChannelGroup::new("converter", channels).with_thresholds(thresholds)],
            planes: Vec::new(),
            amplitude_bits: 16,
            cluster_amplitude_bits: 16,
        })
    }

    fn complete(&self, filing: &Option<Filing>, ledger: &mut DetectorLedger) {
        ledger.notes = filing.iter().filter_map(Filing::note).collect();
    }
}

/// A heartbeat says how far time has come.
fn take_heartbeat(time: RawTime, filing: &mut Filing) {
    filing.begin_packet();
    filing.push_heartbeat(SampleTime::of(time));
    filing.end_packet();
}

impl<S: SampleSink> AdcStage<S> {
    /// Puts the runs of a packet, for which there is room, into order.
    fn file_packet(&mut self, data: &DataPacket<'_>, filing: &mut Filing) {
        filing.begin_packet();
        for item in data.modules() {
            match item {
                Ok(run) => self.file_run(&run, filing),
                Err(fault) => self.count_fault(fault),
            }
        }
        filing.end_packet();
    }

    /// Puts a run into order: as an event, or as a pulse.
    #[inline]
    fn file_run(&mut self, run: &Module<'_>, filing: &mut Filing) {
        let Some(peak) = self.look_at(run) else { return };
        let ticks_per_sample = self.ticks_per_sample(run);
        let pulses = filing.channel();
        let at = |index: usize| SampleTime::of(run.time).later(index as u64 * ticks_per_sample);
        if run.channel == pulses.channel {
            filing.push_pulse(leading_edge(run.samples(), pulses.threshold).map(at));
        } else {
            self.counters.hits += 1;
            filing.push(TimedEvent { time: at(peak.index).ticks(), pixel_id: u32::from(run.channel) + 1 });
        }
    }

    /// Counts a run, and has it averaged; none if it is of no use.
    #[inline]
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
        self.counters.empty_run += u64::from(peak.is_none());
        peak
    }

    /// Ticks from one sample of a run to the next.
    fn ticks_per_sample(&self, run: &Module<'_>) -> u64 {
        if self.settings.ignore_oversampling { 1 } else { u64::from(run.oversampling.max(1)) }
    }

    /// Forms the event of a run, for which there is room.
    #[inline]
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

/// The counter of a rejection by the decoder.
fn reason(rejection: Rejection) -> OwnDiscard {
    match rejection {
        Rejection::TooShort => |counters| &mut counters.packets_too_short,
        Rejection::WrongLength => |counters| &mut counters.packets_wrong_length,
        Rejection::UnknownType(_) => |counters| &mut counters.packets_unknown_type,
        Rejection::NoIdleTime => |counters| &mut counters.packets_no_heartbeat_time,
    }
}
