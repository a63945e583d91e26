//! The records of a packet: which monitor they are of, and what they say.

use super::counters::BeamMonitorCounters;
use super::settings::{BeamMonitorSettings, FENS, MonitorSettings};
use crate::ess::{
    EssSettings, FrontPacket, MonitorNeutron, MonitorReadouts, NearPulse, ReadoutStage, TimeSourceCounters,
    ticks,
};
use crate::event_order::TimedEvent;
use crate::first_cases::FirstCases;
use crate::packet_gate::Discard;
use crate::source_clock::{AcceptedHits, SourceClock};
use evforge_core::beam_monitor::{BeamMonitorData, BeamMonitorKind, BeamMonitorPlan};
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::PixelId;
use evforge_core::ledger::MaskedChannel;
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_wire::ess::beam_monitor::{MonitorFault, MonitorKind, MonitorPayload, MonitorReadout};
use evforge_wire::ess::{EssPacket, RecordRules};

/// Channels of a FEN.
const CHANNELS: usize = 256;
/// No monitor is at this channel.
const NO_MONITOR: u8 = u8::MAX;

/// What a monitor is, for its readouts.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Monitor {
    #[get_size(ignore)]
    kind: MonitorKind,
    first_pixel: PixelId,
    nx: u32,
    ny: u32,
    threshold: u16,
    normalise: bool,
    /// Place among the integrating monitors.
    integrating: usize,
}

/// What turns records into single neutrons and sums.
#[derive(Debug, get_size2::GetSize)]
pub struct MonitorStage {
    #[get_size(ignore)]
    rules: RecordRules,
    ring: Option<u8>,
    /// Number of the monitor at each FEN and channel.
    places: Vec<u8>,
    monitors: Vec<Monitor>,
    integrating: Vec<BeamMonitorData>,
    /// In units of [`ticks`].
    max_time_of_flight: u64,
    /// The latest pulse that any packet has reported.
    latest_pulse: Option<u64>,
    plan: MonitorPlan,
    /// The first rings, FENs and channels that no monitor is at, with their readouts.
    elsewhere: FirstCases<(u8, u8, u8)>,
    /// The first monitors that send something else than what they are configured to send.
    other_kinds: FirstCases<(usize, BeamMonitorKind)>,
    counters: BeamMonitorCounters,
}

/// The kind on the wire of a monitor.
fn kind_of(kind: BeamMonitorKind) -> MonitorKind {
    match kind {
        BeamMonitorKind::Event0D => MonitorKind::Event0D,
        BeamMonitorKind::Event2D => MonitorKind::Event2D,
        BeamMonitorKind::Integrating => MonitorKind::Integrating,
    }
}

impl MonitorStage {
    /// For settings that have been checked. Pixels follow `pixel_offset` others in their plans.
    pub(super) fn new(settings: &BeamMonitorSettings, ess: &EssSettings, pixel_offset: u32) -> Self {
        let mut places = vec![NO_MONITOR; usize::from(FENS) * CHANNELS];
        let mut integrating = Vec::new();
        let monitor = |(settings, plan): (&MonitorSettings, BeamMonitorPlan)| {
            let place = integrating.len();
            let made = Monitor {
                kind: kind_of(settings.kind),
                first_pixel: plan.first_pixel.saturating_sub(pixel_offset),
                nx: plan.nx,
                ny: plan.ny,
                threshold: settings.threshold,
                normalise: settings.normalise,
                integrating: place,
            };
            if settings.kind == BeamMonitorKind::Integrating {
                integrating.push(BeamMonitorData::new(plan));
            }
            made
        };
        let monitors = settings.monitors.iter().zip(settings.plans(pixel_offset)).map(monitor).collect();
        for (number, entry) in settings.monitors.iter().enumerate() {
            let place = usize::from(entry.fen) * CHANNELS + usize::from(entry.channel);
            if let Some(slot) = places.get_mut(place) {
                *slot = number as u8;
            }
        }
        let group = |entry: &MonitorSettings| {
            ChannelGroup::new(entry.name.clone(), 1).with_thresholds([entry.threshold])
        };
        Self {
            rules: ess.records,
            ring: settings.ring,
            places,
            monitors,
            integrating,
            max_time_of_flight: ticks::in_duration(ess.max_time_of_flight),
            latest_pulse: None,
            plan: MonitorPlan {
                groups: settings.monitors.iter().map(group).collect(),
                planes: Vec::new(),
                amplitude_bits: u16::BITS,
                cluster_amplitude_bits: u16::BITS,
            },
            elsewhere: FirstCases::default(),
            other_kinds: FirstCases::default(),
            counters: BeamMonitorCounters::default(),
        }
    }

    #[inline]
    fn is_on_ring(&self, readout: MonitorReadout) -> bool {
        self.ring.is_none_or(|ring| readout.ring() == ring)
    }

    /// Number of the monitor of a sound readout on the right ring.
    #[inline]
    fn monitor_of(&self, readout: MonitorReadout) -> Option<usize> {
        let place = usize::from(readout.fen()) * CHANNELS + usize::from(readout.channel());
        let number = usize::from(*self.places.get(place)?);
        (number < self.monitors.len()).then_some(number)
    }

    /// The pixel of a single neutron, none if the record went elsewhere; counted either way.
    #[inline]
    fn pixel(&mut self, readout: MonitorReadout, packet: &EssPacket<'_>) -> Option<PixelId> {
        let Some(number) = self.monitor_of(readout) else {
            self.count_unmapped(readout);
            return None;
        };
        let monitor = self.monitors[number];
        if readout.kind() != Some(monitor.kind) {
            self.count_wrong_kind(number, readout);
            return None;
        }
        let (x, y) = match monitor.kind {
            MonitorKind::Integrating => {
                self.integrate(readout, monitor, packet);
                return None;
            }
            MonitorKind::Event0D => (0, 0),
            MonitorKind::Event2D => (u32::from(readout.x()), u32::from(readout.y())),
        };
        if x >= monitor.nx || y >= monitor.ny {
            self.counters.outside_monitor += 1;
            return None;
        }
        if readout.adc() < monitor.threshold {
            self.counters.below_threshold += 1;
            return None;
        }
        self.counters.hits += 1;
        Some(monitor.first_pixel + y * monitor.nx + x)
    }

    /// Adds the value of an integrating monitor to its histogram.
    fn integrate(&mut self, readout: MonitorReadout, monitor: Monitor, packet: &EssPacket<'_>) {
        let clock = self.rules.clock;
        let time = ticks::of(readout.time(), clock);
        let pulses = [packet.pulse, packet.previous_pulse].map(|pulse| ticks::of(pulse, clock));
        let pulse = pulses.into_iter().find(|&pulse| 0 < pulse && pulse <= time);
        // Without a time of flight the value counts as later than all bins.
        let mut time_of_flight = u64::MAX;
        match pulse {
            None => self.counters.integrated_before_pulse += 1,
            Some(pulse) if time - pulse > self.max_time_of_flight => self.counters.integrated_too_late += 1,
            Some(pulse) => time_of_flight = ticks::nanoseconds(time) - ticks::nanoseconds(pulse),
        }
        let (sum, samples) = (u64::from(readout.summed_adc()), readout.samples());
        self.counters.without_samples += u64::from(samples == 0);
        if let Some(data) = self.integrating.get_mut(monitor.integrating) {
            let divisor = if monitor.normalise { samples } else { 1 };
            data.add_mean(time_of_flight, sum, divisor);
        }
        self.counters.integrated += 1;
    }

    #[cold]
    fn count_unmapped(&mut self, readout: MonitorReadout) {
        self.counters.unmapped_channel += 1;
        self.elsewhere.see((readout.ring(), readout.fen(), readout.channel()));
    }

    #[cold]
    fn count_wrong_ring(&mut self, readout: MonitorReadout) {
        self.counters.wrong_ring += 1;
        self.elsewhere.see((readout.ring(), readout.fen(), readout.channel()));
    }

    #[cold]
    fn count_wrong_kind(&mut self, monitor: usize, readout: MonitorReadout) {
        self.counters.wrong_kind += 1;
        let kind = match readout.kind() {
            Some(MonitorKind::Event0D) => BeamMonitorKind::Event0D,
            Some(MonitorKind::Event2D) => BeamMonitorKind::Event2D,
            Some(MonitorKind::Integrating) => BeamMonitorKind::Integrating,
            None => return,
        };
        self.other_kinds.see((monitor, kind));
    }

    #[cold]
    fn count_fault(&mut self, readout: MonitorReadout) {
        let counters = &mut self.counters;
        let Some(fault) = readout.fault(&self.rules) else { return };
        *match fault {
            MonitorFault::Fibre => &mut counters.impossible_fibre,
            MonitorFault::Fen => &mut counters.impossible_fen,
            MonitorFault::Length => &mut counters.wrong_length,
            MonitorFault::TimeFraction => &mut counters.wrong_time_fraction,
            MonitorFault::Kind => &mut counters.unknown_kind,
        } += 1;
    }

    /// Integrating monitors know of the pulses from the headers alone.
    fn note_pulse(&mut self, pulse: u64) {
        if self.latest_pulse.is_none_or(|latest| latest < pulse) {
            self.latest_pulse = Some(pulse);
            self.integrating.iter_mut().for_each(BeamMonitorData::begin_pulse);
        }
    }
}

impl MonitorStage {
    /// Takes the readouts of a packet; `take` gets the single neutrons.
    fn take_readouts(
        &mut self,
        front: &FrontPacket<'_>,
        payload: &MonitorPayload<'_>,
        time_source: &mut TimeSourceCounters,
        mut take: impl FnMut(MonitorNeutron),
    ) {
        let (packet, clock) = (&front.packet, self.rules.clock);
        let (pulse, previous) = (ticks::of(packet.pulse, clock), ticks::of(packet.previous_pulse, clock));
        let near_pulse = NearPulse::of(packet, clock);
        for told in front.new_pulses.into_iter().flatten() {
            self.note_pulse(told);
        }
        self.counters.readouts += payload.len() as u64;
        for readout in payload.readouts() {
            #[cfg(test)]
            if crate::ledger_tests::vanishes() {
                continue;
            }
            if !readout.is_sound(&self.rules) {
                self.count_fault(readout);
                continue;
            }
            self.counters.relaxed_record_length += u64::from(readout.length_is_in_bits());
            if !self.is_on_ring(readout) {
                self.count_wrong_ring(readout);
                continue;
            }
            let time = ticks::of(readout.time(), clock);
            if !near_pulse.has(time) {
                self.counters.far_from_pulse += 1;
                continue;
            }
            time_source.readouts_before_pulse += u64::from(time < pulse);
            time_source.readouts_before_previous_pulse += u64::from(time < previous);
            if let Some(pixel) = self.pixel(readout, packet) {
                take(MonitorNeutron { time, pixel });
            }
        }
    }
}

impl MonitorReadouts for MonitorStage {
    fn take_alongside(
        &mut self,
        front: &FrontPacket<'_>,
        neutrons: &mut Vec<MonitorNeutron>,
        time_source: &mut TimeSourceCounters,
    ) -> bool {
        let Ok(payload) = MonitorPayload::parse(front.packet.payload) else {
            self.counters.packets_ragged += 1;
            return false;
        };
        self.take_readouts(front, &payload, time_source, |neutron| neutrons.push(neutron));
        true
    }

    fn counted(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }

    fn integrating(&self) -> &[BeamMonitorData] {
        &self.integrating
    }

    fn notes_alongside(&self) -> Vec<String> {
        self.notes()
    }

    fn memory(&self) -> usize {
        get_size2::GetSize::get_size(self)
    }
}

impl ReadoutStage<TimedEvent> for MonitorStage {
    type Payload<'a> = MonitorPayload<'a>;
    type Decoded = ();
    type Counters = BeamMonitorCounters;

    fn parse<'a>(&self, payload: &'a [u8]) -> Result<MonitorPayload<'a>, Discard<BeamMonitorCounters>> {
        MonitorPayload::parse(payload).map_err(|_| RAGGED)
    }

    fn take<'a>(
        &mut self,
        front: &FrontPacket<'a>,
        payload: &MonitorPayload<'a>,
        _decoded: Option<&mut ()>,
        clock: &mut SourceClock<TimedEvent>,
        accepted: &mut impl AcceptedHits<TimedEvent>,
        time_source: &mut TimeSourceCounters,
    ) {
        self.take_readouts(front, payload, time_source, |neutron| {
            let MonitorNeutron { time, pixel } = neutron;
            clock.judge(0, TimedEvent { time, pixel_id: pixel }, accepted);
        });
    }

    #[cold]
    fn watch(&self, payload: &MonitorPayload<'_>, monitor: &mut MonitorData) {
        let sound = payload.readouts().filter(|readout| readout.is_sound(&self.rules));
        for readout in sound.filter(|readout| self.is_on_ring(*readout)) {
            if let Some(number) = self.monitor_of(readout) {
                monitor.readout(number, readout.adc());
            }
        }
    }

    fn counters(&self) -> &BeamMonitorCounters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut BeamMonitorCounters {
        &mut self.counters
    }

    fn plan(&self) -> &MonitorPlan {
        &self.plan
    }

    fn masked(&self) -> Vec<MaskedChannel> {
        Vec::new()
    }

    fn beam_monitors(&self) -> &[BeamMonitorData] {
        &self.integrating
    }

    fn notes(&self) -> Vec<String> {
        let place = |&((ring, fen, channel), readouts): &((u8, u8, u8), u64)| {
            format!("ring {ring}, FEN {fen}, channel {channel} ({readouts} readouts)")
        };
        let named: Vec<String> = self.elsewhere.named().iter().map(place).collect();
        let elsewhere =
            (!named.is_empty()).then(|| format!("no beam monitor is configured for {}", named.join("; ")));
        let other_kind = |&((monitor, kind), readouts): &((usize, BeamMonitorKind), u64)| {
            let name = self.plan.groups.get(monitor).map_or("", |group| &group.name);
            let kind = kind.name();
            format!(
                "{name} is sent {readouts} readouts of another kind than it has: set its kind = \"{kind}\""
            )
        };
        elsewhere.into_iter().chain(self.other_kinds.named().iter().map(other_kind)).collect()
    }
}

const RAGGED: Discard<BeamMonitorCounters> = |counters| &mut counters.packets_ragged;
