//! The Gd-GEM pipeline: packets in, events out.

use super::counters::GdGemCounters;
use super::hit_time::HitTime;
use super::position::locate;
use super::readout_stage::{Fec, LARGEST_READOUT_COUNT, PassAll, ReadoutFilter, ReadoutRules};
use super::settings::{GdGemSettings, PositionSettings, ReadoutFormat, SettingsError};
use crate::cluster::ClusterRule;
use crate::strip_former::{DataTime, StripFormer, StripRules};
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::packet::{Packet, PacketBatch};
use evforge_core::sequence::Arrival;
use evforge_wire::srs_vmm::{
    LARGEST_PACKET, Numbering, Rejection, Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant,
};

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
    geometry: LogicalGeometry,
    source_lag: u64,
    fecs: Vec<Fec>,
    /// Place of each FEC number in `fecs`.
    fec_places: Vec<Option<u8>>,
    former: StripFormer,
    /// No source will send hits before this.
    watermark: DataTime,
    filter: F,
    counters: GdGemCounters,
    memory_bound: usize,
}

impl GdGem {
    /// A detector with these settings.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn new(settings: &GdGemSettings) -> Result<Self, SettingsError> {
        GdGem::with_filter(settings, PassAll)
    }
}

impl<F: ReadoutFilter> GdGem<F> {
    /// A detector with a step between decoding and mapping; see [`ReadoutFilter`].
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn with_filter(settings: &GdGemSettings, filter: F) -> Result<Self, SettingsError> {
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
        let memory_bound = size_of::<Self>()
            + StripFormer::memory_bound(&rules)
            + numbers.len() * Fec::memory_bound()
            + FEC_LIMIT * size_of::<Option<u8>>();
        Ok(Self {
            format: settings.format,
            position: settings.position,
            geometry: settings.geometry,
            source_lag: time.ticks(settings.sorting.source_lag),
            fecs: numbers.iter().map(|&fec| Fec::new(fec, settings, &time, stamp_bits)).collect(),
            fec_places,
            former: StripFormer::new(&rules),
            watermark: (0, 0),
            filter,
            counters: GdGemCounters::default(),
            memory_bound,
            rules: ReadoutRules { time, thresholds: settings.clustering.map(|plane| plane.adc_threshold) },
        })
    }

    /// Ticks in a nanosecond: the unit of hit times.
    pub fn ticks_per_ns(&self) -> u64 {
        self.rules.time.ticks_per_ns()
    }

    /// Appends the events of the time that is closed. False if the batch filled up before the end.
    #[inline]
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        while !events.is_full() {
            let Some(matched) = self.former.next_match() else { return true };
            if let Some(pixel_id) = locate(&matched, &self.position, &self.geometry, &mut self.counters) {
                let event = Event { time_ns: self.rules.time.nanoseconds(matched.time_end), pixel_id };
                // The batch has room: the loop's condition.
                let _has_room = events.push(event);
            }
        }
        false
    }

    fn take_packet(&mut self, packet: &Packet<'_>) {
        self.counters.packets_received += 1;
        self.counters.bytes_received += packet.bytes.len() as u64;
        let problem = match self.format {
            ReadoutFormat::Vmm2 => self.take_vmm2(packet),
            ReadoutFormat::Vmm3Of2018 => self.take_vmm3(packet, Vmm3Variant::Of2018),
            ReadoutFormat::Vmm3a => self.take_vmm3(packet, Vmm3Variant::Vmm3a),
        };
        match problem {
            Ok(()) => self.counters.packets_formed_from += 1,
            Err(counter) => {
                *counter(&mut self.counters) += 1;
                self.counters.bytes_discarded += packet.bytes.len() as u64;
            }
        }
    }

    fn take_vmm2(&mut self, packet: &Packet<'_>) -> Result<(), Discard> {
        let numbering =
            Vmm2Packet::numbering(packet.bytes).map(|numbering| Numbering { fec: 1, ..numbering });
        let place = self.follow_sequence(packet, numbering)?;
        match Vmm2Packet::parse(packet.bytes).map_err(reason)? {
            Vmm2Content::EndOfFrame => self.counters.end_of_frame_packets += 1,
            Vmm2Content::NoData => self.counters.no_data_packets += 1,
            Vmm2Content::Readouts(readouts) => {
                let Self { fecs, rules, filter, former, counters, watermark, .. } = self;
                let fec = place.and_then(|place| fecs.get_mut(place)).ok_or(UNMAPPED_FEC)?;
                fec.clock.begin_packet(*watermark);
                fec.take_vmm2(&readouts, rules, filter, former, counters);
                self.follow_time();
            }
        }
        Ok(())
    }

    fn take_vmm3(&mut self, packet: &Packet<'_>, variant: Vmm3Variant) -> Result<(), Discard> {
        let place = self.follow_sequence(packet, Vmm3Packet::numbering(packet.bytes, variant))?;
        let readouts = Vmm3Packet::parse(packet.bytes, variant).map_err(reason)?;
        let Self { fecs, rules, filter, former, counters, watermark, .. } = self;
        let fec = place.and_then(|place| fecs.get_mut(place)).ok_or(UNMAPPED_FEC)?;
        fec.clock.begin_packet(*watermark);
        fec.take_vmm3(&readouts, rules, filter, former, counters);
        self.follow_time();
        Ok(())
    }

    /// Takes note of a packet's number, and discards what must not be formed from whatever it contains.
    fn follow_sequence(
        &mut self,
        packet: &Packet<'_>,
        numbering: Option<Numbering>,
    ) -> Result<Option<usize>, Discard> {
        let place = numbering.and_then(|numbering| {
            let place = self.fec_places.get(usize::from(numbering.fec)).copied().flatten()?;
            Some((usize::from(place), numbering.frame_counter))
        });
        let arrival = place.and_then(|(place, number)| {
            self.fecs.get_mut(place).map(|fec| fec.sequence.observe(u64::from(number)))
        });
        self.counters.packets_without_number += u64::from(arrival.is_none());
        if packet.is_cut() {
            return Err(|counters| &mut counters.packets_cut);
        }
        if packet.bytes.len() > LARGEST_PACKET {
            return Err(|counters| &mut counters.packets_oversized);
        }
        if arrival == Some(Arrival::Duplicated) {
            return Err(|counters| &mut counters.packets_duplicated);
        }
        Ok(place.map(|(place, _)| place))
    }

    /// Follows the sources' time and closes what none of them can reach any more, if that is worth while.
    fn follow_time(&mut self) {
        let slowest = self.fecs.iter().map(|fec| fec.clock.watermark().unwrap_or((0, 0))).min();
        let leader =
            self.fecs.iter().filter(|fec| fec.clock.front().is_some()).max_by_key(|fec| fec.clock.front());
        // Who lags too far behind the leader no longer holds the others back.
        let patience = leader.and_then(|fec| {
            let (epoch, front) = fec.clock.front()?;
            (front - fec.clock.epoch_start().min(front) > self.source_lag)
                .then(|| (epoch, front - self.source_lag))
        });
        self.watermark = self.watermark.max(slowest.unwrap_or((0, 0))).max(patience.unwrap_or((0, 0)));
        if self.former.is_closing_worthwhile() {
            self.former.advance(self.watermark);
        }
    }

    /// Closes more than the watermark allows, because there is no room left: first as if only the leading
    /// source mattered, then everything.
    #[cold]
    fn force_closing(&mut self) {
        self.counters.forced_closings += 1;
        let leader = self.fecs.iter().filter_map(|fec| fec.clock.watermark()).max().unwrap_or((0, 0));
        let target = if leader > self.former.closed_before() {
            leader
        } else {
            self.former.latest_pending().map_or(leader, |(epoch, time)| (epoch, time.saturating_add(1)))
        };
        self.watermark = self.watermark.max(target);
        self.former.advance(self.watermark);
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
        self.former.advance(self.watermark);
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        let Self { fecs, former, .. } = self;
        if former.room() >= ROOM_FOR_A_PACKET {
            // Quarantines are released one by one as long as there is room; the next call goes on.
            for fec in fecs.iter_mut().filter(|fec| fec.clock.held() > 0) {
                // Earlier calls have closed more than the watermark.
                fec.clock.begin_packet(self.watermark.max(former.closed_before()));
                fec.clock.close(former);
                if former.room() < ROOM_FOR_A_PACKET {
                    break;
                }
            }
        }
        if let Some((epoch, _)) = former.latest_pending() {
            former.advance((epoch, u64::MAX));
        }
        former.advance((self.watermark.0, u64::MAX));
        if !self.drain(events) {
            return true;
        }
        self.fecs.iter().any(|fec| fec.clock.held() > 0)
    }

    fn ledger(&self) -> DetectorLedger {
        let sources = self.fecs.iter().filter(|fec| fec.sequence.counts().received > 0);
        let mut counters = self.counters;
        for fec in &self.fecs {
            let counts = fec.clock.counts();
            counters.late += counts.late;
            counters.unconfirmed_leap += counts.refuted;
            counters.leaps += counts.leaps;
            counters.clock_restarts += counts.restarts;
            counters.held += fec.clock.held();
        }
        let former = self.former.counts();
        counters.group_too_large = former.group_too_large;
        counters.cluster_too_small = former.cluster_too_small;
        counters.matching_full = former.matching_full;
        [counters.clusters_x, counters.clusters_y] = former.clusters;
        counters.held += self.former.held();
        DetectorLedger {
            sources: sources
                .map(|fec| SourceLedger::of_sequence(format!("FEC {}", fec.number), &fec.sequence))
                .collect(),
            counters: CounterSnapshot::of(&counters),
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn memory_bound(&self) -> usize {
        self.memory_bound
    }
}

/// The counter that a discarded packet goes to.
type Discard = fn(&mut GdGemCounters) -> &mut u64;

const UNMAPPED_FEC: Discard = |counters| &mut counters.packets_unmapped_fec;

/// The counter of a rejection by the decoder.
fn reason(rejection: Rejection) -> Discard {
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
        max_end_difference: time.ticks(settings.max_end_difference),
        max_group: settings.sorting.max_group_hits,
        max_held_hits: settings.sorting.max_held_hits,
    }
}
