//! The Gd-GEM pipeline: packets in, events out.

use super::counters::GdGemCounters;
use super::digital_geometry::FecWiring;
use super::hit_time::HitTime;
use super::monitor_channels::MonitorChannels;
use super::readout_stage::{Fec, HitJudge, LARGEST_READOUT_COUNT, ReadoutRules};
use super::settings::{GdGemSettings, ReadoutFormat};
use super::tracks::Tracks;
use crate::hit::Hit;
use crate::packet_gate::{Discard, PacketGate};
use crate::partition::{OneByOne, RegionExecutor};
use crate::settings::SettingsError;
use crate::source_clocks::{ClockRules, SourceClocks};
use crate::threshold_steps::ThresholdSteps;
use crate::tick::TickLength;
use evforge_core::change::{Change, ChangeRefusal, ChangeTime, Parameter};
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::MonitorData;
use evforge_core::packet::{Packet, PacketBatch};
use evforge_core::sequence::Stamp;
use evforge_wire::srs_vmm::{
    LARGEST_PACKET, Numbering, Rejection, Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant, Word,
};
use std::sync::Arc;

/// FEC numbers run below this.
const FEC_LIMIT: usize = 257;

/// Room that a packet and the release of a quarantine need.
const ROOM_FOR_A_PACKET: usize = 2 * LARGEST_READOUT_COUNT;

/// A Gd-GEM detector with VMM readout over SRS.
#[derive(Debug)]
pub struct GdGem {
    format: ReadoutFormat,
    rules: ReadoutRules,
    geometry: LogicalGeometry,
    fecs: Vec<Fec>,
    /// Place of each FEC number in `fecs`.
    fec_places: Vec<Option<u8>>,
    /// The clocks of the FECs, in the same order.
    line: SourceClocks<Hit>,
    tracks: Tracks,
    gate: PacketGate,
    counters: GdGemCounters,
    memory_bound: usize,
    channels: MonitorChannels,
}

impl GdGem {
    /// A detector with these settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: &GdGemSettings) -> Result<Self, SettingsError> {
        Self::with_executor(settings, &(Arc::new(OneByOne) as Arc<dyn RegionExecutor>))
    }

    /// As [`GdGem::new`], with regions of a partition that `executor` runs. Without it they take turns.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn with_executor(
        settings: &GdGemSettings,
        executor: &Arc<dyn RegionExecutor>,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let time = HitTime::new(&settings.time, settings.format)?;
        let mut numbers: Vec<u16> = settings.mapping.iter().map(|entry| entry.fec).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let stamp_bits = match settings.format {
            ReadoutFormat::Vmm2 => Fec::TRIGGER_BITS,
            _ => Fec::MARKER_BITS,
        };
        let mut fec_places = vec![None; FEC_LIMIT];
        for (place, &number) in numbers.iter().enumerate() {
            fec_places[usize::from(number)] = u8::try_from(place).ok();
        }
        let tracks = settings.tracks();
        let ticks = |duration| time.ticks(duration);
        let tick = TickLength::ratio(1, time.ticks_per_ns());
        let fecs = numbers.iter().map(|&fec| Fec::new(fec, settings, &time, stamp_bits));
        let fecs = fecs.collect::<Result<Vec<_>, _>>()?;
        let channels = MonitorChannels::new(&settings.mapping);
        let memory_bound = size_of::<Self>()
            + fecs.iter().map(|fec| fec.mask().memory_bound()).sum::<usize>()
            + Tracks::memory_bound(&tracks, ticks)
            + SourceClocks::<Hit>::memory_bound(numbers.len(), LARGEST_READOUT_COUNT)
            + numbers.len() * Fec::memory_bound()
            + FEC_LIMIT * size_of::<Option<u8>>()
            + channels.memory_bound();
        let clocks = ClockRules::new(&settings.sorting, ticks, LARGEST_READOUT_COUNT);
        Ok(Self {
            format: settings.format,
            geometry: settings.geometry,
            fecs,
            fec_places,
            line: SourceClocks::new(numbers.len(), &clocks),
            tracks: Tracks::new(&tracks, tick, ticks, executor),
            gate: PacketGate::new(LARGEST_PACKET),
            counters: GdGemCounters::default(),
            memory_bound,
            channels,
            rules: ReadoutRules {
                thresholds: ThresholdSteps::new(&FecWiring::threshold_settings(settings), clocks.restart),
                time,
            },
        })
    }

    /// Appends the events of the time that is closed. False if the batch filled up before the end.
    #[inline]
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        if events.is_full() {
            return false;
        }
        let time = &self.rules.time;
        self.tracks.drain(|_, _, event| {
            // There is room: before the first event, and after each that is taken.
            let _has_room =
                events.push(Event { time_ns: time.nanoseconds(event.time), pixel_id: event.pixel_id });
            !events.is_full()
        })
    }

    fn take_packet(&mut self, packet: &Packet<'_>) {
        let numbering = match self.format {
            ReadoutFormat::Vmm2 => {
                Vmm2Packet::numbering(packet.bytes).map(|numbering| Numbering { fec: 1, ..numbering })
            }
            ReadoutFormat::Vmm3Of2018 => Vmm3Packet::numbering(packet.bytes, Vmm3Variant::Of2018),
            ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => {
                Vmm3Packet::numbering(packet.bytes, Vmm3Variant::Vmm3a)
            }
        };
        let place = numbering
            .and_then(|numbering| self.fec_places.get(usize::from(numbering.fec)).copied().flatten())
            .map(usize::from);
        let arrival = place.zip(numbering).and_then(|(place, numbering)| {
            let fec = self.fecs.get_mut(place)?;
            let stamp = Stamp::of(packet.bytes, packet.origin.arrival_ns, numbering.time.map(u64::from));
            Some(fec.sequence.observe_packet(u64::from(numbering.frame_counter), stamp))
        });
        if !self.gate.admit(packet, arrival) {
            return;
        }
        let outcome = match self.format {
            ReadoutFormat::Vmm2 => self.take_vmm2(packet, place),
            ReadoutFormat::Vmm3Of2018 => self.take_vmm3(packet, place, Vmm3Variant::Of2018),
            ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => {
                self.take_vmm3(packet, place, Vmm3Variant::Vmm3a)
            }
        };
        self.gate.settle(packet, outcome, &mut self.counters);
    }

    fn take_vmm2(&mut self, packet: &Packet<'_>, place: Option<usize>) -> Result<(), OwnDiscard> {
        match Vmm2Packet::parse(packet.bytes).map_err(reason)? {
            Vmm2Content::EndOfFrame => self.counters.end_of_frame_packets += 1,
            Vmm2Content::NoData => self.counters.no_data_packets += 1,
            Vmm2Content::Readouts(readouts) => {
                let Self { fecs, rules, line, tracks, counters, channels, .. } = self;
                let place = place.ok_or(UNMAPPED_FEC)?;
                let fec = fecs.get_mut(place).ok_or(UNMAPPED_FEC)?;
                if let Some(monitor) = tracks.monitor_mut() {
                    channels.watch(fec.number, readouts.readouts(), monitor);
                }
                let clock = line.begin_packet(place).ok_or(UNMAPPED_FEC)?;
                let mut judge = HitJudge { clock, accepted: &mut tracks.former };
                fec.take_vmm2(&readouts, rules, &mut judge, counters);
                self.follow_time();
            }
        }
        Ok(())
    }

    fn take_vmm3(
        &mut self,
        packet: &Packet<'_>,
        place: Option<usize>,
        variant: Vmm3Variant,
    ) -> Result<(), OwnDiscard> {
        let readouts = Vmm3Packet::parse(packet.bytes, variant).map_err(reason)?;
        let Self { fecs, rules, line, tracks, counters, channels, .. } = self;
        let place = place.ok_or(UNMAPPED_FEC)?;
        let fec = fecs.get_mut(place).ok_or(UNMAPPED_FEC)?;
        if let Some(monitor) = tracks.monitor_mut() {
            channels.watch(fec.number, readouts.words().filter_map(Word::readout), monitor);
        }
        let clock = line.begin_packet(place).ok_or(UNMAPPED_FEC)?;
        let mut judge = HitJudge { clock, accepted: &mut tracks.former };
        fec.take_vmm3(&readouts, rules, &mut judge, counters);
        self.follow_time();
        Ok(())
    }

    /// Follows the sources' time and closes what none of them can reach any more, if that is worth while.
    fn follow_time(&mut self) {
        let Self { line, tracks: Tracks { former, .. }, rules, fecs, .. } = self;
        let watermark = line.follow(former, |former| former.room() >= LARGEST_READOUT_COUNT);
        if former.is_closing_worthwhile() {
            former.advance(watermark);
        }
        if rules.thresholds.settle_at(watermark) {
            let set = |class, adc| fecs.iter_mut().for_each(|fec| fec.set_threshold(class, adc));
            rules.thresholds.settle(watermark, set);
        }
    }

    /// Closes more than the watermark allows, because there is no room left.
    #[cold]
    fn force_closing(&mut self) {
        let Self { line, tracks: Tracks { former, .. }, .. } = self;
        let (closed, latest) = (former.closed_before(), former.latest_pending());
        let target = line.force(closed, latest, former, |former| former.room() >= LARGEST_READOUT_COUNT);
        former.advance(target);
    }
}

impl Detector for GdGem {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.drain(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if self.tracks.former.room() < ROOM_FOR_A_PACKET {
                self.force_closing();
                continue;
            }
            self.take_packet(&packet);
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        self.tracks.former.advance(self.line.watermark());
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        let Self { line, tracks: Tracks { former, .. }, .. } = self;
        let closed = former.closed_before();
        // Quarantines are released one by one as long as there is room; the next call goes on.
        let held_back = line.release(former, closed, |former| former.room() >= ROOM_FOR_A_PACKET);
        if let Some((epoch, _)) = former.latest_pending() {
            former.advance((epoch, u64::MAX));
        }
        former.advance((line.watermark().0, u64::MAX));
        !self.drain(events) || held_back
    }

    fn ledger(&self) -> DetectorLedger {
        let sources = self.fecs.iter().filter(|fec| fec.sequence.counts().received > 0);
        let plan = self.channels.plan();
        DetectorLedger {
            sources: sources
                .map(|fec| SourceLedger::of_sequence(format!("FEC {}", fec.number), &fec.sequence))
                .collect(),
            counters: CounterSnapshot::of(self.gate.counters())
                .and(&self.counters)
                .and(&self.line.counters())
                .and(&self.tracks.counters()),
            masked: self.fecs.iter().flat_map(|fec| fec.mask().ledger(&plan)).collect(),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn newest_time_ns(&self) -> Option<u64> {
        let (_, ticks) = self.line.newest()?;
        Some(self.rules.time.nanoseconds(ticks))
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.rules.thresholds.parameters().to_vec()
    }

    fn earliest_change(&self) -> Option<ChangeTime> {
        let time = &self.rules.time;
        let latest = self.line.latest_place_of_readouts();
        self.rules.thresholds.earliest(latest, |ticks| time.nanoseconds(ticks))
    }

    fn change(&mut self, change: &Change) -> Result<(), ChangeRefusal> {
        let earliest = self.earliest_change();
        let ReadoutRules { time, thresholds } = &mut self.rules;
        thresholds.change(change, earliest, |ticks| time.nanoseconds(ticks))
    }

    fn memory_bound(&self) -> usize {
        self.memory_bound
    }

    fn confirm_numbers_above(&mut self, packets: u64) {
        self.fecs.iter_mut().for_each(|fec| fec.sequence.confirm_above(packets));
    }

    fn set_monitoring(&mut self, on: bool) {
        let of_channel = |fec, chip, channel| {
            let fec = self.fecs.iter().find(|other| other.number == fec);
            fec.map_or(0, |fec| fec.threshold_of_readouts(chip, channel))
        };
        self.tracks.set_monitoring(on.then(|| self.channels.watched_plan(of_channel)));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.tracks.monitor()
    }
}

type OwnDiscard = Discard<GdGemCounters>;

const UNMAPPED_FEC: OwnDiscard = |counters| &mut counters.packets_unmapped_fec;

/// The counter of a rejection by the decoder.
fn reason(rejection: Rejection) -> OwnDiscard {
    match rejection {
        Rejection::TooShort => |counters| &mut counters.packets_too_short,
        Rejection::EndOfFrame => |counters| &mut counters.packets_unexpected_end_of_frame,
        Rejection::WrongDataId(_) => |counters| &mut counters.packets_wrong_data_id,
        Rejection::NoSuchFec => |counters| &mut counters.packets_no_such_fec,
        Rejection::NoReadouts => |counters| &mut counters.packets_without_readouts,
        Rejection::RaggedLength => |counters| &mut counters.packets_ragged,
    }
}
