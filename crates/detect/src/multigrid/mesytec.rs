//! The pipeline of a Multi-Grid read out by VMMR modules: packets in, events out.

use super::counters::MesytecCounters;
use super::digital_geometry::{DigitalGeometry, Place, Refused};
use super::double_neutron::{DoubleNeutrons, Extents, NotLookedFor};
use super::reconstruction::{CenterMass, Centroid, Maximum, Miss, Prioritized, Reconstruction};
use super::settings::{DoubleNeutronRule, EventTime, MesytecSettings, Strategy};
use crate::outlet::{Outlet, Placed};
use crate::packet_gate::{Discard, PacketGate};
use crate::pipeline::{Checked, Out, Pipeline, Sources, Stage};
use crate::settings::SettingsError;
use evforge_core::counter::CounterSnapshot;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::monitor::MonitorData;
use evforge_core::packet::Packet;
use evforge_wire::mesytec::{
    Datagram, LARGEST_PACKET, Rejection, Trigger, TriggerClock, TriggerFault, Triggers,
};

/// Triggers, and so events, that the largest packet can hold: each has four words of framing.
const LARGEST_TRIGGER_COUNT: usize = LARGEST_PACKET / 16;

/// A Multi-Grid read out by VMMR modules behind one SIS3153.
pub type MultiGrid = Pipeline<MesytecStage>;

/// Packets of an SIS3153 to events: one for each trigger at most.
#[derive(Debug, get_size2::GetSize)]
pub struct MesytecStage {
    geometry: LogicalGeometry,
    digital: DigitalGeometry,
    strategy: Strategy,
    discard_damaged_packets: bool,
    #[get_size(ignore)]
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
        let stage = MesytecStage {
            geometry,
            digital: DigitalGeometry::new(settings, content),
            strategy: settings.strategy,
            discard_damaged_packets: settings.discard_damaged_packets,
            clock: if settings.spoof_high_time { TriggerClock::counted() } else { TriggerClock::extended() },
            event_time: settings.time.event_time,
            origin: 0,
            double_neutrons: settings.double_neutrons,
            drop_double_neutrons: settings.drop_double_neutrons,
            refused: Refused::default(),
            counters: MesytecCounters::default(),
        };
        let rules = settings.time.order_rules(LARGEST_TRIGGER_COUNT)?;
        let outlet = Outlet::new(settings.time.tick_length()?, rules.as_ref(), 1, LARGEST_TRIGGER_COUNT);
        let gate = PacketGate::new(LARGEST_PACKET);
        Ok(Self::of((stage, outlet), geometry, gate, Sources::unnumbered("SIS3153")))
    }
}

impl Stage for MesytecStage {
    type Former = Outlet;
    type Counters = MesytecCounters;
    type Content<'a> = Datagram<'a>;
    /// Where it goes on, in words.
    type UnderWay = usize;

    #[inline]
    fn parse<'a>(&self, packet: &Packet<'a>) -> Checked<Datagram<'a>, Self> {
        Datagram::parse(packet.bytes).map_err(reason)
    }

    #[inline]
    fn begin(&mut self, datagram: &Datagram<'_>, _: Option<usize>) -> Checked<usize, Self> {
        if self.discard_damaged_packets && !datagram.is_undamaged() { Err(DAMAGED) } else { Ok(0) }
    }

    #[cold]
    fn watch(&self, datagram: &Datagram<'_>, _: usize, monitor: &mut MonitorData) {
        for trigger in datagram.triggers().flatten() {
            watch_trigger(&trigger, &self.digital, monitor);
        }
    }

    #[inline]
    fn take(&mut self, datagram: &Datagram<'_>, from: usize, out: Out<'_, Outlet>) -> Option<usize> {
        let Out { former: outlet, events, .. } = out;
        let mut triggers = datagram.triggers_from(from);
        let is_complete = self.form_all(&mut triggers, &mut outlet.begin_packet(0, events));
        outlet.end_packet(0, events);
        (!is_complete).then(|| datagram.word_count() - triggers.words_left())
    }

    fn counters_mut(&mut self) -> &mut MesytecCounters {
        &mut self.counters
    }

    fn counters(&self, outlet: &Outlet) -> CounterSnapshot {
        let counters = MesytecCounters {
            unmapped_channel: self.refused.unmapped,
            outside_limits: self.refused.filtered,
            masked: self.refused.masked,
            ..self.counters
        };
        CounterSnapshot::of(&counters).and(&outlet.counters())
    }

    fn begin_monitor(&self, _: &Outlet) -> MonitorData {
        MonitorData::new(self.digital.monitor_plan())
    }

    fn complete(&self, _: &Outlet, ledger: &mut DetectorLedger) {
        ledger.masked = self.digital.mask().ledger(self.digital.plan());
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

impl MesytecStage {
    /// As [`MesytecStage::form`], with what the settings say.
    #[inline]
    fn form_all(&mut self, triggers: &mut Triggers<'_>, placed: &mut Placed<'_>) -> bool {
        match self.strategy {
            Strategy::Maximum => self.form_looking::<Maximum>(triggers, placed),
            Strategy::CenterMass => self.form_looking::<CenterMass>(triggers, placed),
            Strategy::Prioritized => self.form_looking::<Prioritized>(triggers, placed),
            Strategy::Centroid => self.form_looking::<Centroid>(triggers, placed),
        }
    }

    /// As [`MesytecStage::form`], looking for double neutrons if there is a rule for them.
    #[inline]
    fn form_looking<R: Reconstruction>(
        &mut self,
        triggers: &mut Triggers<'_>,
        placed: &mut Placed<'_>,
    ) -> bool {
        match self.double_neutrons {
            None => self.form::<R, NotLookedFor>(triggers, placed),
            Some(_) => self.form::<R, Extents>(triggers, placed),
        }
    }

    /// Forms the events of triggers. False if there was no room before the last.
    #[inline]
    fn form<R: Reconstruction, D: DoubleNeutrons>(
        &mut self,
        triggers: &mut Triggers<'_>,
        placed: &mut Placed<'_>,
    ) -> bool {
        // In registers while the packet lasts.
        let mut clock = self.clock;
        let complete = loop {
            if placed.is_full() {
                break false;
            }
            match triggers.next() {
                None => break true,
                Some(Ok(trigger)) => self.form_trigger::<R, D>(&trigger, &mut clock, placed),
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
        placed: &mut Placed<'_>,
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
        placed.take(ticks, pixel);
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

const DAMAGED: Discard<MesytecCounters> = |counters| &mut counters.packets_damaged;

/// The counter of a rejection by the decoder.
fn reason(rejection: Rejection) -> Discard<MesytecCounters> {
    match rejection {
        Rejection::NotReadoutData(_) => |counters| &mut counters.packets_not_readout_data,
        Rejection::TooShort | Rejection::NoTriggers => |counters| &mut counters.packets_too_short,
    }
}
