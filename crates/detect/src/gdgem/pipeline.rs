//! The Gd-GEM pipeline: packets in, events out.

use super::counters::GdGemCounters;
use super::hit_time::HitTime;
use super::monitor_channels::MonitorChannels;
use super::position::locate;
use super::readout_stage::{Fec, LARGEST_READOUT_COUNT, PassAll, ReadoutFilter, ReadoutRules};
use super::settings::{GdGemSettings, PositionSettings, ReadoutFormat};
use crate::cluster::ClusterRule;
use crate::joint_time::JointTime;
use crate::packet_gate::{Discard, PacketGate};
use crate::panel_former::PanelFormer;
use crate::partition::{OneByOne, PartitionRule, RegionExecutor};
use crate::plane_matching::MatchRule;
use crate::settings::SettingsError;
use crate::source_clock::{ClockCounts, SourceClock};
use crate::strip_former::StripRules;
use crate::track_monitor::{TrackMonitor, Unwatched, Watch};
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::MonitorData;
use evforge_core::packet::{Packet, PacketBatch};
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
pub struct GdGem<F = PassAll> {
    format: ReadoutFormat,
    rules: ReadoutRules,
    position: PositionSettings,
    max_amplitude_permille: Option<u64>,
    geometry: LogicalGeometry,
    fecs: Vec<Fec>,
    /// Place of each FEC number in `fecs`.
    fec_places: Vec<Option<u8>>,
    former: PanelFormer,
    time: JointTime,
    filter: F,
    gate: PacketGate,
    counters: GdGemCounters,
    memory_bound: usize,
    channels: MonitorChannels,
    max_group: usize,
    monitor: Option<Box<TrackMonitor>>,
}

impl GdGem {
    /// A detector with these settings.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn new(settings: &GdGemSettings) -> Result<Self, SettingsError> {
        GdGem::with_filter(settings, PassAll)
    }

    /// As [`GdGem::new`], with regions of a partition that `executor` runs. Without it they take turns.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn with_executor(
        settings: &GdGemSettings,
        executor: &Arc<dyn RegionExecutor>,
    ) -> Result<Self, SettingsError> {
        GdGem::build(settings, PassAll, executor)
    }
}

impl<F: ReadoutFilter> GdGem<F> {
    /// A detector with a step between decoding and mapping; see [`ReadoutFilter`].
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn with_filter(settings: &GdGemSettings, filter: F) -> Result<Self, SettingsError> {
        Self::build(settings, filter, &(Arc::new(OneByOne) as Arc<dyn RegionExecutor>))
    }

    fn build(
        settings: &GdGemSettings,
        filter: F,
        executor: &Arc<dyn RegionExecutor>,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let time = HitTime::new(settings)?;
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
        let rules = strip_rules(settings, &time);
        let panels = settings.geometry.panels() as usize;
        let fecs = numbers.iter().map(|&fec| Fec::new(fec, settings, &time, stamp_bits));
        let fecs = fecs.collect::<Result<Vec<_>, _>>()?;
        let memory_bound = size_of::<Self>()
            + fecs.iter().map(|fec| fec.mask().memory_bound()).sum::<usize>()
            + PanelFormer::memory_bound(panels, &rules)
            + numbers.len() * Fec::memory_bound()
            + FEC_LIMIT * size_of::<Option<u8>>();
        Ok(Self {
            format: settings.format,
            position: settings.position,
            max_amplitude_permille: settings.matching.max_amplitude_permille,
            geometry: settings.geometry,
            fecs,
            fec_places,
            former: PanelFormer::new(panels, &rules, executor),
            time: JointTime::new(time.ticks(settings.sorting.source_lag)),
            filter,
            gate: PacketGate::new(LARGEST_PACKET),
            counters: GdGemCounters::default(),
            memory_bound,
            channels: MonitorChannels::new(&settings.mapping),
            max_group: settings.sorting.max_group_hits,
            monitor: None,
            rules: ReadoutRules { time },
        })
    }

    /// Ticks in a nanosecond: the unit of hit times.
    pub fn ticks_per_ns(&self) -> u64 {
        self.rules.time.ticks_per_ns()
    }

    /// Appends the events of the time that is closed. False if the batch filled up before the end.
    #[inline]
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        match self.monitor.take() {
            None => self.drain_watched(events, &mut Unwatched),
            Some(mut monitor) => {
                let drained = self.drain_watched(events, &mut *monitor);
                self.monitor = Some(monitor);
                drained
            }
        }
    }

    #[inline]
    fn drain_watched(&mut self, events: &mut EventBatch, watch: &mut impl Watch) -> bool {
        while !events.is_full() {
            let Some((panel, matched)) = self.former.next_match(watch) else { return true };
            watch.matched(&matched);
            if let Some(pixel_id) = locate(
                panel,
                &matched,
                &self.position,
                self.max_amplitude_permille,
                &self.geometry,
                &mut self.counters,
            ) {
                let event = Event { time_ns: self.rules.time.nanoseconds(matched.time_end), pixel_id };
                watch.event(&event, &matched);
                // The batch has room: the loop's condition.
                let _has_room = events.push(event);
            }
        }
        false
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
            Some(fec.sequence.observe(u64::from(numbering.frame_counter)))
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
                let Self { fecs, rules, filter, former, counters, time, channels, monitor, .. } = self;
                let fec = place.and_then(|place| fecs.get_mut(place)).ok_or(UNMAPPED_FEC)?;
                if let Some(monitor) = monitor {
                    channels.watch(fec.number, readouts.readouts(), &mut monitor.data);
                }
                fec.clock.begin_packet(time.watermark());
                fec.take_vmm2(&readouts, rules, filter, former, counters);
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
        let Self { fecs, rules, filter, former, counters, time, channels, monitor, .. } = self;
        let fec = place.and_then(|place| fecs.get_mut(place)).ok_or(UNMAPPED_FEC)?;
        if let Some(monitor) = monitor {
            channels.watch(fec.number, readouts.words().filter_map(Word::readout), &mut monitor.data);
        }
        fec.clock.begin_packet(time.watermark());
        fec.take_vmm3(&readouts, rules, filter, former, counters);
        self.follow_time();
        Ok(())
    }

    /// Follows the sources' time and closes what none of them can reach any more, if that is worth while.
    fn follow_time(&mut self) {
        let watermark = self.time.follow(self.fecs.iter().map(|fec| &fec.clock));
        if self.former.is_closing_worthwhile() {
            self.former.advance(watermark);
        }
    }

    /// Closes more than the watermark allows, because there is no room left.
    #[cold]
    fn force_closing(&mut self) {
        self.counters.forced_closings += 1;
        let clocks = self.fecs.iter().map(|fec| &fec.clock);
        let target = self.time.force(clocks, self.former.closed_before(), self.former.latest_pending());
        self.former.advance(target);
    }
}

impl<F: ReadoutFilter> Detector for GdGem<F> {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.drain(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if self.former.room() < ROOM_FOR_A_PACKET {
                self.force_closing();
                continue;
            }
            self.take_packet(&packet);
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        self.former.advance(self.time.watermark());
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        let Self { fecs, former, .. } = self;
        if former.room() >= ROOM_FOR_A_PACKET {
            // Quarantines are released one by one as long as there is room; the next call goes on.
            for fec in fecs.iter_mut().filter(|fec| fec.clock.held() > 0) {
                // Earlier calls have closed more than the watermark.
                fec.clock.begin_packet(self.time.watermark().max(former.closed_before()));
                fec.clock.close(former);
                if former.room() < ROOM_FOR_A_PACKET {
                    break;
                }
            }
        }
        if let Some((epoch, _)) = former.latest_pending() {
            former.advance((epoch, u64::MAX));
        }
        former.advance((self.time.watermark().0, u64::MAX));
        if !self.drain(events) {
            return true;
        }
        self.fecs.iter().any(|fec| fec.clock.held() > 0)
    }

    fn ledger(&self) -> DetectorLedger {
        let sources = self.fecs.iter().filter(|fec| fec.sequence.counts().received > 0);
        let mut counters = self.counters;
        let clocks = || self.fecs.iter().map(|fec| &fec.clock);
        let counts = clocks().fold(ClockCounts::default(), |sum, clock| sum + clock.counts());
        counters.late = counts.late;
        counters.unconfirmed_leap = counts.refuted;
        counters.leaps = counts.leaps;
        counters.clock_restarts = counts.restarts;
        counters.held = clocks().map(SourceClock::held).sum();
        let former = self.former.counts();
        counters.group_too_large = former.group_too_large;
        counters.cluster_too_small = former.cluster_too_small;
        counters.matching_full = former.matching_full;
        counters.clusters_wider_than_overlap = former.wider_than_overlap;
        [counters.clusters_x, counters.clusters_y] = former.clusters;
        counters.held += self.former.held();
        let plan = self.channels.plan();
        DetectorLedger {
            sources: sources
                .map(|fec| SourceLedger::of_sequence(format!("FEC {}", fec.number), &fec.sequence))
                .collect(),
            counters: CounterSnapshot::of(self.gate.counters()).and(&counters),
            masked: self.fecs.iter().flat_map(|fec| fec.mask().ledger(&plan)).collect(),
            beam_monitors: Vec::new(),
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn memory_bound(&self) -> usize {
        self.memory_bound
    }

    fn set_monitoring(&mut self, on: bool) {
        let ticks_per_ns = self.ticks_per_ns();
        let monitor = || TrackMonitor::new(self.channels.plan(), self.max_group, ticks_per_ns);
        self.monitor = on.then(|| Box::new(monitor()));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref().map(|monitor| &monitor.data)
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

/// The settings in ticks.
fn strip_rules(settings: &GdGemSettings, time: &HitTime) -> StripRules {
    let position = &settings.position;
    let time_bins = if position.upper_uncertainty_limit.is_some() { position.time_bins } else { 0 };
    StripRules {
        max_time_gap: settings.clustering.map(|plane| time.ticks(plane.max_time_gap)),
        cluster: settings.clustering.map(|plane| ClusterRule {
            max_strip_gap: plane.max_strip_gap,
            min_hits: plane.min_hits,
            time_bins,
        }),
        matching: MatchRule {
            by: settings.matching.by,
            max_difference: time.ticks(settings.matching.max_difference),
        },
        max_group: settings.sorting.max_group_hits,
        max_held_hits: settings.sorting.max_held_hits,
        partition: settings.partition.map(|partition| PartitionRule {
            regions: partition.regions,
            overlap: partition.overlap,
            strips: [settings.geometry.nx(), settings.geometry.ny()]
                .map(|strips| u16::try_from(strips).unwrap_or(u16::MAX)),
        }),
        decimation: settings.sorting.decimation,
    }
}
