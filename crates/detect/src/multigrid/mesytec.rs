//! The pipeline of a Multi-Grid read out by VMMR modules: packets in, events out.

use super::counters::MesytecCounters;
use super::digital_geometry::{DigitalGeometry, Place, Refused};
use super::double_neutron::{DoubleNeutrons, Extents, NotLookedFor};
use super::outlet::{Outlet, TakeEvents, Way};
use super::reconstruction::{CenterMass, Centroid, Maximum, Miss, Prioritized, Reconstruction};
use super::settings::{DoubleNeutronRule, EventTime, MesytecSettings, Strategy};
use crate::packet_gate::{Discard, PacketGate};
use crate::settings::SettingsError;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::MonitorData;
use evforge_core::packet::{Packet, PacketBatch};
use evforge_wire::mesytec::{
    Datagram, LARGEST_PACKET, Rejection, Trigger, TriggerClock, TriggerFault, Triggers,
};

/// Triggers, and so events, that the largest packet can hold: each has four words of framing.
const LARGEST_TRIGGER_COUNT: usize = LARGEST_PACKET / 16;

/// A Multi-Grid read out by VMMR modules behind one SIS3153.
#[derive(Debug)]
pub struct MultiGrid {
    gate: PacketGate,
    former: Former,
    strategy: Strategy,
    discard_damaged_packets: bool,
    outlet: Outlet,
    /// Where the packet under way goes on, in words, after the batch has filled up in the middle of it.
    resume_at: Option<usize>,
    monitor: Option<Box<MonitorData>>,
}

/// What forms the events of a packet.
#[derive(Debug)]
struct Former {
    geometry: LogicalGeometry,
    digital: DigitalGeometry,
    clock: TriggerClock,
    event_time: EventTime,
    /// What the times of events count from.
    origin: u64,
    double_neutrons: Option<DoubleNeutronRule>,
    drop_double_neutrons: bool,
    refused: Refused,
    counters: MesytecCounters,
}

impl MultiGrid {
    /// A detector with these settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: &MesytecSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let geometry = settings
            .geometry()
            .map_err(|error| SettingsError { key: "bus".into(), problem: error.to_string() })?;
        let content = |place: &Place| match settings.strategy {
            Strategy::Maximum => Maximum::content(place, &geometry),
            Strategy::CenterMass => CenterMass::content(place, &geometry),
            Strategy::Prioritized => Prioritized::content(place, &geometry),
            Strategy::Centroid => Centroid::content(place, &geometry),
        };
        let spoofed = settings.spoof_high_time;
        Ok(Self {
            gate: PacketGate::new(LARGEST_PACKET),
            former: Former {
                geometry,
                digital: DigitalGeometry::new(settings, content),
                clock: if spoofed { TriggerClock::counted() } else { TriggerClock::extended() },
                event_time: settings.time.event_time,
                origin: 0,
                double_neutrons: settings.double_neutrons,
                drop_double_neutrons: settings.drop_double_neutrons,
                refused: Refused::default(),
                counters: MesytecCounters::default(),
            },
            strategy: settings.strategy,
            discard_damaged_packets: settings.discard_damaged_packets,
            outlet: Outlet::new(&settings.time, LARGEST_TRIGGER_COUNT)?,
            resume_at: None,
            monitor: None,
        })
    }

    /// Takes a packet, or the rest of it. False if the batch filled up before its end.
    #[inline]
    fn take_packet(&mut self, packet: &Packet<'_>, events: &mut EventBatch) -> bool {
        if self.resume_at.is_none() && !self.begin_packet(packet) {
            return true;
        }
        let from = self.resume_at.take().unwrap_or(0);
        // Has been parsed before.
        let Ok(datagram) = Datagram::parse(packet.bytes) else { return true };
        let mut triggers = datagram.triggers_from(from);
        let before = events.len();
        let complete = {
            let (former, strategy) = (&mut self.former, self.strategy);
            match self.outlet.begin_packet(events) {
                Way::Straight(mut way) => former.form_with(strategy, &mut triggers, &mut way),
                Way::Ordered(mut way) => former.form_with(strategy, &mut triggers, &mut way),
            }
        };
        self.outlet.end_packet((events.len() - before) as u64);
        if !complete {
            self.resume_at = Some(datagram.word_count() - triggers.words_left());
        }
        complete
    }

    /// Counts a packet and checks it. False if there is nothing to be formed from it.
    #[inline]
    fn begin_packet(&mut self, packet: &Packet<'_>) -> bool {
        if !self.gate.admit_unnumbered(packet) {
            return false;
        }
        let outcome = match Datagram::parse(packet.bytes) {
            Err(rejection) => Err(reason(rejection)),
            Ok(datagram) if self.discard_damaged_packets && !datagram.is_undamaged() => Err(DAMAGED),
            Ok(_) => Ok(()),
        };
        let usable = outcome.is_ok();
        self.gate.settle(packet, outcome, &mut self.former.counters);
        if usable && self.monitor.is_some() {
            self.watch(packet);
        }
        usable
    }

    /// Collects monitor data of a packet.
    #[cold]
    fn watch(&mut self, packet: &Packet<'_>) {
        let Self { monitor: Some(monitor), former, .. } = self else { return };
        let Ok(datagram) = Datagram::parse(packet.bytes) else { return };
        for trigger in datagram.triggers().flatten() {
            watch_trigger(&trigger, &former.digital, monitor);
        }
    }
}

/// What has been taken from a trigger.
#[derive(Clone, Copy, Debug, Default)]
struct Taken<R, D> {
    position: R,
    double: D,
    readouts: u64,
    hits: u64,
}

impl Former {
    /// As [`Former::form`], with what the settings say.
    #[inline]
    fn form_with(
        &mut self,
        strategy: Strategy,
        triggers: &mut Triggers<'_>,
        way: &mut impl TakeEvents,
    ) -> bool {
        match strategy {
            Strategy::Maximum => self.form_looking::<Maximum>(triggers, way),
            Strategy::CenterMass => self.form_looking::<CenterMass>(triggers, way),
            Strategy::Prioritized => self.form_looking::<Prioritized>(triggers, way),
            Strategy::Centroid => self.form_looking::<Centroid>(triggers, way),
        }
    }

    /// As [`Former::form`], looking for double neutrons if there is a rule for them.
    #[inline]
    fn form_looking<R: Reconstruction>(
        &mut self,
        triggers: &mut Triggers<'_>,
        way: &mut impl TakeEvents,
    ) -> bool {
        match self.double_neutrons {
            None => self.form::<R, NotLookedFor>(triggers, way),
            Some(_) => self.form::<R, Extents>(triggers, way),
        }
    }

    /// Forms the events of triggers. False if the way out filled up before the last.
    #[inline]
    fn form<R: Reconstruction, D: DoubleNeutrons>(
        &mut self,
        triggers: &mut Triggers<'_>,
        way: &mut impl TakeEvents,
    ) -> bool {
        // In registers while the packet lasts.
        let mut clock = self.clock;
        let complete = loop {
            if way.is_full() {
                break false;
            }
            match triggers.next() {
                None => break true,
                Some(Ok(trigger)) => self.form_trigger::<R, D>(&trigger, &mut clock, way),
                Some(Err(damage)) => {
                    self.counters.damaged_triggers += 1;
                    self.counters.words_in_damage += damage.words as u64;
                }
            }
        };
        self.clock = clock;
        complete
    }

    /// Forms the event of a trigger, if it has one.
    #[inline(always)]
    fn form_trigger<R: Reconstruction, D: DoubleNeutrons>(
        &mut self,
        trigger: &Trigger<'_>,
        clock: &mut TriggerClock,
        way: &mut impl TakeEvents,
    ) {
        let Self { digital, refused, counters, .. } = self;
        let rule = self.double_neutrons.unwrap_or_default();
        let (taken, end) = trigger.read(clock, Taken::<R, D>::default(), |taken, word, _| {
            taken.readouts += u64::from(word.is_readout());
            #[cfg(test)]
            if word.is_readout() && crate::ledger_tests::vanishes() {
                return;
            }
            let (channel, amplitude) = digital.look_up(word, refused);
            taken.hits += channel.hits();
            taken.position.take(channel, amplitude);
            if D::LOOKED_FOR {
                taken.double.take(digital.coordinates(word), channel, amplitude, rule.threshold);
            }
        });
        let Taken { position, double, readouts, hits } = taken;
        counters.triggers += 1;
        counters.readouts += readouts;
        let end = match end {
            Ok(end) => end,
            Err(fault) => return reject(fault, hits, counters),
        };
        counters.hits += hits;
        if end.external_trigger {
            counters.external_triggers += 1;
            if self.event_time == EventTime::Raw2018 {
                self.origin = end.time;
            }
        }
        let pixel = match position.pixel(&self.geometry) {
            Ok(pixel) => pixel,
            Err(miss) => return missed(miss, readouts, hits, &mut self.counters),
        };
        if D::LOOKED_FOR && double.is_double(rule.separation) {
            self.counters.double_neutrons += 1;
            if self.drop_double_neutrons {
                self.counters.double_neutron += hits;
                self.counters.triggers_without_event += 1;
                return;
            }
        }
        self.counters.hits_in_events += hits;
        let ticks = match self.event_time {
            EventTime::Clock => end.time,
            EventTime::Raw2018 => u64::from(end.time.wrapping_sub(self.origin) as u32),
        };
        way.take(ticks, pixel);
    }
}

#[cold]
fn reject(fault: TriggerFault, hits: u64, counters: &mut MesytecCounters) {
    counters.in_rejected_triggers += hits;
    *match fault {
        TriggerFault::WordsMissing => &mut counters.rejected_words_missing,
        TriggerFault::UnknownWord(_) => &mut counters.rejected_unknown_word,
        TriggerFault::NoTime => &mut counters.rejected_no_time,
    } += 1;
}

fn missed(miss: Miss, readouts: u64, hits: u64, counters: &mut MesytecCounters) {
    counters.triggers_without_event += u64::from(readouts > 0);
    *match miss {
        Miss::NoWire => &mut counters.no_wire,
        Miss::NoGrid => &mut counters.no_grid,
        Miss::Outside => &mut counters.outside_geometry,
    } += hits;
}

/// Collects monitor data of a trigger.
fn watch_trigger(trigger: &Trigger<'_>, digital: &DigitalGeometry, monitor: &mut MonitorData) {
    // Monitoring leaves the clock of the events alone and counts nothing: that is done when events are formed.
    let (planes, read) = trigger.read(&mut TriggerClock::extended(), [(0, 0); 2], |planes, word, _| {
        if !word.is_readout() {
            return;
        }
        let address = word.address();
        if let Some(index) = digital.index((address >> 12) as u8, address & 0xFFF) {
            monitor.readout(index, word.adc());
        }
        if let Some((place, amplitude)) = digital.peek(word) {
            let plane = usize::from(!place.is_wire);
            planes[plane].0 += 1;
            planes[plane].1 += u64::from(amplitude);
        }
    });
    if read.is_err() {
        return;
    }
    for (plane, (hits, amplitude)) in planes.into_iter().enumerate().filter(|(_, (hits, _))| *hits > 0) {
        monitor.cluster(plane, hits);
        if planes[1 - plane].0 == 0 {
            monitor.lone_cluster(plane, hits, amplitude);
        }
    }
    if let [(1.., wires), (1.., grids)] = planes {
        monitor.pair(wires, grids);
    }
}

impl Detector for MultiGrid {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.outlet.make_room(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if !self.take_packet(&packet, events) {
                return Progress { taken, full: true };
            }
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        self.outlet.publish_closed(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        self.outlet.close(events)
    }

    fn ledger(&self) -> DetectorLedger {
        let received = self.gate.counters().packets_received;
        let refused = self.former.refused;
        let counters = MesytecCounters {
            unmapped_channel: refused.unmapped,
            outside_limits: refused.filtered,
            masked: refused.masked,
            ..self.former.counters
        };
        let sources = (received > 0).then(|| SourceLedger::unnumbered("SIS3153".into(), received));
        DetectorLedger {
            sources: sources.into_iter().collect(),
            counters: CounterSnapshot::of(self.gate.counters()).and(&counters).and(&self.outlet.counters()),
            masked: self.former.digital.mask().ledger(self.former.digital.plan()),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.former.geometry
    }

    fn newest_time_ns(&self) -> Option<u64> {
        self.outlet.newest_time_ns()
    }

    fn memory_bound(&self) -> usize {
        size_of::<Self>() + self.former.digital.memory_bound() + self.outlet.memory_bound()
    }

    fn set_monitoring(&mut self, on: bool) {
        self.monitor = on.then(|| Box::new(MonitorData::new(self.former.digital.monitor_plan())));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref()
    }
}

const DAMAGED: Discard<MesytecCounters> = |counters| &mut counters.packets_damaged;

/// The counter of a rejection by the decoder.
fn reason(rejection: Rejection) -> Discard<MesytecCounters> {
    match rejection {
        Rejection::NotReadoutData(_) => |counters| &mut counters.packets_not_readout_data,
        Rejection::TooShort | Rejection::NoTriggers => |counters| &mut counters.packets_too_short,
    }
}
