//! The Gd-GEM with SRS readout: packets of its FECs to hits, and those to events.

use super::counters::GdGemCounters;
use super::digital_geometry::FecWiring;
use super::hit_time::HitTime;
use super::monitor_channels::MonitorChannels;
use super::readout_stage::{Fec, HitJudge, LARGEST_READOUT_COUNT, ReadoutRules};
use super::settings::{GdGemSettings, ReadoutFormat};
use super::tracks::Tracks;
use crate::event_order::TimedEvent;
use crate::hit::Hit;
use crate::packet_gate::{Discard, PacketGate};
use crate::panel_former::PanelFormer;
use crate::partition::{OneByOne, RegionExecutor};
use crate::pipeline::{Checked, Former, Number, Out, Pipeline, Sources, Stage};
use crate::settings::SettingsError;
use crate::source_clocks::{ClockRules, SourceClocks};
use crate::threshold_steps::ThresholdSteps;
use crate::tick::TickLength;
use crate::track_monitor::{TrackMonitor, Unwatched};
use crate::watermark::DataTime;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::Packet;
use evforge_wire::srs_vmm::{
    FRAME_COUNTER_BITS, HEADER_TIME_BITS, LARGEST_PACKET, Numbering, Rejection, Vmm2Content, Vmm2Packet,
    Vmm3Packet, Vmm3Variant, Word,
};
use std::sync::Arc;

/// FEC numbers run below this.
const FEC_LIMIT: usize = 257;

/// Room that a packet and the release of a quarantine need.
const ROOM_FOR_A_PACKET: usize = 2 * LARGEST_READOUT_COUNT;

/// A Gd-GEM detector with VMM readout over SRS.
pub type GdGem = Pipeline<SrsStage>;

/// Packets of FECs to hits.
#[derive(Debug, get_size2::GetSize)]
pub struct SrsStage {
    format: ReadoutFormat,
    rules: ReadoutRules,
    fecs: Vec<Fec>,
    /// Place of each FEC number in `fecs`.
    fec_places: Vec<Option<u8>>,
    counters: GdGemCounters,
    channels: MonitorChannels,
}

/// Hits of FECs to events of tracks.
#[derive(Debug, get_size2::GetSize)]
pub struct SrsFormer {
    /// The clocks of the FECs, in the order of their numbers.
    line: SourceClocks<Hit>,
    tracks: Tracks,
    tick: TickLength,
}

/// What is in a packet.
#[derive(Debug)]
pub enum Content<'a> {
    /// Readouts of VMM2, or none.
    Vmm2(Vmm2Content<'a>),
    /// Readouts and markers of VMM3 or VMM3a.
    Vmm3(Vmm3Packet<'a>),
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
        let clocks = ClockRules::new(&settings.sorting, ticks, LARGEST_READOUT_COUNT);
        let former = SrsFormer {
            line: SourceClocks::new(numbers.len(), &clocks),
            tracks: Tracks::new(&tracks, tick, ticks, executor),
            tick,
        };
        let names = numbers.iter().map(|number| format!("FEC {number}"));
        let sources = Sources::numbered(names, FRAME_COUNTER_BITS, HEADER_TIME_BITS);
        let stage = SrsStage {
            format: settings.format,
            fecs,
            fec_places,
            counters: GdGemCounters::default(),
            channels,
            rules: ReadoutRules {
                thresholds: ThresholdSteps::new(&FecWiring::threshold_settings(settings), clocks.restart),
                time,
            },
        };
        let gate = PacketGate::new(LARGEST_PACKET);
        Ok(Self::of((stage, former), settings.geometry, gate, sources))
    }
}

/// How the packets of VMM3 and VMM3a are read; none for those of VMM2.
fn variant(format: ReadoutFormat) -> Option<Vmm3Variant> {
    match format {
        ReadoutFormat::Vmm2 => None,
        ReadoutFormat::Vmm3Of2018 => Some(Vmm3Variant::Of2018),
        ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => Some(Vmm3Variant::Vmm3a),
    }
}

impl Stage for SrsStage {
    type Former = SrsFormer;
    type Counters = GdGemCounters;
    type Content<'a> = Content<'a>;
    /// The place of the FEC; none for a packet without readouts.
    type UnderWay = Option<usize>;

    #[inline]
    fn number(&self, packet: &Packet<'_>) -> Option<Number> {
        let Numbering { fec, frame_counter, time } = match variant(self.format) {
            None => Numbering { fec: 1, ..Vmm2Packet::numbering(packet.bytes)? },
            Some(variant) => Vmm3Packet::numbering(packet.bytes, variant)?,
        };
        let source = (*self.fec_places.get(usize::from(fec))?)?.into();
        Some(Number { source, number: frame_counter.into(), time: time.map(u64::from) })
    }

    #[inline]
    fn parse<'a>(&self, packet: &Packet<'a>) -> Checked<Content<'a>, Self> {
        match variant(self.format) {
            None => Vmm2Packet::parse(packet.bytes).map(Content::Vmm2),
            Some(variant) => Vmm3Packet::parse(packet.bytes, variant).map(Content::Vmm3),
        }
        .map_err(reason)
    }

    #[inline]
    fn begin(&mut self, content: &Content<'_>, fec: Option<usize>) -> Checked<Option<usize>, Self> {
        match content {
            Content::Vmm2(Vmm2Content::EndOfFrame) => self.counters.end_of_frame_packets += 1,
            Content::Vmm2(Vmm2Content::NoData) => self.counters.no_data_packets += 1,
            Content::Vmm2(Vmm2Content::Readouts(_)) | Content::Vmm3(_) => {
                return fec.map(Some).ok_or(UNMAPPED_FEC);
            }
        }
        Ok(None)
    }

    #[cold]
    fn watch(&self, content: &Content<'_>, fec: Option<usize>, monitor: &mut TrackMonitor) {
        let Some(fec) = fec.and_then(|place| self.fecs.get(place)) else { return };
        match content {
            Content::Vmm2(Vmm2Content::Readouts(readouts)) => {
                self.channels.watch(fec.number, readouts.readouts(), &mut monitor.data);
            }
            Content::Vmm2(_) => {}
            Content::Vmm3(packet) => {
                let readouts = packet.words().filter_map(Word::readout);
                self.channels.watch(fec.number, readouts, &mut monitor.data);
            }
        }
    }

    #[inline]
    fn take(
        &mut self,
        content: &Content<'_>,
        place: Option<usize>,
        Out { former, .. }: Out<'_, SrsFormer>,
    ) -> Option<Option<usize>> {
        let Self { fecs, rules, counters, .. } = self;
        let SrsFormer { line, tracks, .. } = former;
        let place = place?;
        let (fec, clock) = (fecs.get_mut(place)?, line.begin_packet(place)?);
        let mut judge = HitJudge { clock, accepted: &mut tracks.former };
        match content {
            Content::Vmm2(Vmm2Content::Readouts(packet)) => {
                fec.take_vmm2(packet, rules, &mut judge, counters)
            }
            Content::Vmm2(_) => {}
            Content::Vmm3(packet) => fec.take_vmm3(packet, rules, &mut judge, counters),
        }
        let watermark = former.end_packet();
        if rules.thresholds.settle_at(watermark) {
            let set = |class, adc| fecs.iter_mut().for_each(|fec| fec.set_threshold(class, adc));
            rules.thresholds.settle(watermark, set);
        }
        None
    }

    fn counters_mut(&mut self) -> &mut GdGemCounters {
        &mut self.counters
    }

    fn counters(&self, former: &SrsFormer) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters).and(&former.line.counters()).and(&former.tracks.counters())
    }

    fn begin_monitor(&self, former: &SrsFormer) -> TrackMonitor {
        let of_channel = |fec, chip, channel| {
            let fec = self.fecs.iter().find(|other| other.number == fec);
            fec.map_or(0, |fec| fec.threshold_of_readouts(chip, channel))
        };
        former.tracks.watcher(self.channels.watched_plan(of_channel))
    }

    fn complete(&self, _: &SrsFormer, ledger: &mut DetectorLedger) {
        let plan = self.channels.plan();
        ledger.masked = self.fecs.iter().flat_map(|fec| fec.mask().ledger(&plan)).collect();
    }

    fn thresholds(&self) -> Option<&ThresholdSteps> {
        Some(&self.rules.thresholds)
    }

    fn thresholds_mut(&mut self) -> Option<&mut ThresholdSteps> {
        Some(&mut self.rules.thresholds)
    }
}

/// Whether the hits of a quarantine fit.
fn has_room_for_quarantine(former: &mut PanelFormer) -> bool {
    former.room() >= LARGEST_READOUT_COUNT
}

impl SrsFormer {
    /// Follows the sources' time and closes what none of them can reach any more, if that is worth while.
    #[inline]
    fn end_packet(&mut self) -> DataTime {
        let Self { line, tracks: Tracks { former, .. }, .. } = self;
        let watermark = line.follow(former, has_room_for_quarantine);
        if former.is_closing_worthwhile() {
            former.advance(watermark);
        }
        watermark
    }

    /// Closes more than the watermark allows, because there is no room left.
    #[cold]
    fn force_closing(&mut self) {
        let Self { line, tracks: Tracks { former, .. }, .. } = self;
        let (closed, latest) = (former.closed_before(), former.latest_pending());
        let target = line.force(closed, latest, former, has_room_for_quarantine);
        former.advance(target);
    }
}

impl Former for SrsFormer {
    type Monitor = TrackMonitor;

    #[inline]
    fn drain(&mut self, monitor: Option<&mut TrackMonitor>, events: &mut EventBatch) -> bool {
        if events.is_full() {
            return false;
        }
        let Self { tracks, tick, .. } = self;
        let take = |_, _, event: TimedEvent| {
            // There is room: before the first event, and after each that is taken.
            let _has_room =
                events.push(Event { time_ns: tick.nanoseconds(event.time), pixel_id: event.pixel_id });
            !events.is_full()
        };
        match monitor {
            None => tracks.drain_watched(&mut Unwatched, take),
            Some(monitor) => tracks.drain_watched(monitor, take),
        }
    }

    #[inline]
    fn make_room(&mut self) -> bool {
        let has_room = self.tracks.former.room() >= ROOM_FOR_A_PACKET;
        if !has_room {
            self.force_closing();
        }
        has_room
    }

    fn publish_closed(&mut self) {
        self.tracks.former.advance(self.line.watermark());
    }

    fn close(&mut self, _: Option<&mut TrackMonitor>) -> bool {
        let Self { line, tracks: Tracks { former, .. }, .. } = self;
        let closed = former.closed_before();
        // Quarantines are released one by one as long as there is room; the next call goes on.
        let held_back = line.release(former, closed, |former| former.room() >= ROOM_FOR_A_PACKET);
        if let Some((epoch, _)) = former.latest_pending() {
            former.advance((epoch, u64::MAX));
        }
        former.advance((line.watermark().0, u64::MAX));
        held_back
    }

    fn newest_time_ns(&self) -> Option<u64> {
        Some(self.tick.nanoseconds(self.line.newest()?.1))
    }

    fn latest_place_of_readouts(&self) -> Option<DataTime> {
        self.line.latest_place_of_readouts()
    }

    fn nanoseconds(&self, ticks: u64) -> u64 {
        self.tick.nanoseconds(ticks)
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
