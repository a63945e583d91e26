//! The Multi-Blade prototype: packets of its digitisers to hits.

use super::counters::MultiBladeCounters;
use super::former::CassetteFormer;
use super::readout_stage::{Begun, Content, ReadoutTally, TIME_LIMIT, TimeStamp};
use super::settings::{MultiBladeSettings, ReadoutFormat, TimeBase};
use super::wiring::Wiring;
use crate::module_windows::ClusterWatcher;
use crate::packet_gate::{Discard, PacketGate};
use crate::pipeline::{Checked, Number, Out, Pipeline, Sources, Stage};
use crate::settings::SettingsError;
use crate::tick::TickLength;
use evforge_core::counter::CounterSnapshot;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::MonitorData;
use evforge_core::packet::Packet;
use evforge_wire::caen::{
    ElementType, JadaqPacket, JadaqVersion, LARGEST_PACKET, RecordPacket, Rejection, SEQUENCE_BITS,
};

/// A Multi-Blade detector with CAEN digitisers.
pub type MultiBlade = Pipeline<CaenStage>;

/// Packets of CAEN digitisers to hits.
#[derive(Debug, get_size2::GetSize)]
pub struct CaenStage {
    format: ReadoutFormat,
    /// Ticks in a millisecond of global time, if times count from there.
    ticks_per_millisecond: Option<u64>,
    wiring: Wiring,
    /// Packets used of each digitizer that does not number them.
    packets: Vec<u64>,
    counters: MultiBladeCounters,
}

impl MultiBlade {
    /// A detector with these settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: &MultiBladeSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let tick = TickLength::of(settings.tick, "tick")?;
        let wiring = Wiring::new(settings);
        let sources = wiring.digitizers().len();
        let former = CassetteFormer::new(settings, sources, tick);
        let named = match settings.format {
            ReadoutFormat::Jadaq1_3 => Sources::numbered(names(&wiring), SEQUENCE_BITS, u64::BITS),
            _ => Sources::unnumbered("records"),
        };
        let of_global_time = settings.time_base == TimeBase::GlobalTime;
        let stage = CaenStage {
            format: settings.format,
            ticks_per_millisecond: of_global_time.then(|| 1_000_000_000 / settings.tick),
            wiring,
            packets: vec![0; sources],
            counters: MultiBladeCounters::default(),
        };
        let gate = PacketGate::new(LARGEST_PACKET);
        Ok(Self::of((stage, former), settings.geometry, gate, named))
    }
}

impl CaenStage {
    #[inline]
    fn take_readouts(
        &mut self,
        content: &Content<'_>,
        begun: Begun,
        former: &mut CassetteFormer,
        watcher: &mut impl ClusterWatcher,
    ) {
        let mut tally = ReadoutTally::default();
        former.take(content, begun, &mut self.wiring, watcher, &mut tally);
        tally.add_to(&mut self.counters);
    }

    /// The same for who watches: apart, so that the usual way stays short.
    #[cold]
    #[inline(never)]
    fn take_watched(
        &mut self,
        content: &Content<'_>,
        begun: Begun,
        former: &mut CassetteFormer,
        monitor: &mut MonitorData,
    ) {
        self.take_readouts(content, begun, former, monitor);
    }
}

/// What people call the digitisers.
fn names(wiring: &Wiring) -> impl Iterator<Item = String> {
    wiring.digitizers().iter().map(|number| format!("digitizer {number}"))
}

impl Stage for CaenStage {
    type Former = CassetteFormer;
    type Counters = MultiBladeCounters;
    type Content<'a> = Content<'a>;
    type UnderWay = Begun;

    #[inline]
    fn number(&self, packet: &Packet<'_>) -> Option<Number> {
        if self.format != ReadoutFormat::Jadaq1_3 {
            return None;
        }
        let numbering = JadaqPacket::numbering(packet.bytes, JadaqVersion::V1_3)?;
        let source = self.wiring.index_of(numbering.digitizer)?;
        Some(Number { source, number: numbering.sequence.into(), time: Some(numbering.global_time) })
    }

    #[inline]
    fn parse<'a>(&self, packet: &Packet<'a>) -> Checked<Content<'a>, Self> {
        let jadaq = |version| JadaqPacket::parse(packet.bytes, version).map(Content::Elements);
        match self.format {
            ReadoutFormat::Records => RecordPacket::parse(packet.bytes).map(Content::Records),
            ReadoutFormat::JadaqOfJune2018 => jadaq(JadaqVersion::OfJune2018),
            ReadoutFormat::Jadaq1_3 => jadaq(JadaqVersion::V1_3),
        }
        .map_err(reason)
    }

    #[inline]
    fn begin(&mut self, content: &Content<'_>, _: Option<usize>) -> Checked<Begun, Self> {
        let Content::Elements(elements) = content else {
            return Ok(Begun { digitizer: 0, stamp: TimeStamp::Wrapping });
        };
        let digitizer = self.wiring.index_of(elements.digitizer).ok_or(UNMAPPED_DIGITIZER)?;
        let stamp = match self.ticks_per_millisecond {
            Some(ticks) => {
                let base = elements.global_time.checked_mul(ticks).filter(|&base| base < TIME_LIMIT);
                TimeStamp::From(base.ok_or(IMPOSSIBLE_TIME)?)
            }
            None if elements.element_type == ElementType::List8222 => TimeStamp::From(0),
            None => TimeStamp::Wrapping,
        };
        if let Some(packets) = self.packets.get_mut(digitizer) {
            *packets += 1;
        }
        Ok(Begun { digitizer, stamp })
    }

    #[cold]
    fn watch(&self, content: &Content<'_>, begun: Begun, monitor: &mut MonitorData) {
        match content {
            Content::Records(records) => {
                for record in records.records() {
                    let place = self.wiring.of_record(record.digitizer, record.channel);
                    monitor.readout(usize::from(place.channel), record.adc);
                }
            }
            Content::Elements(elements) => {
                let places = self.wiring.of_digitizer(begun.digitizer);
                for element in elements.elements() {
                    if let Some(place) = places.get(usize::from(element.channel)) {
                        monitor.readout(usize::from(place.channel), element.charge);
                    }
                }
            }
        }
    }

    #[inline]
    fn take(&mut self, content: &Content<'_>, begun: Begun, out: Out<'_, CassetteFormer>) -> Option<Begun> {
        let Out { former, monitor, .. } = out;
        match monitor {
            None => self.take_readouts(content, begun, former, &mut ()),
            Some(monitor) => self.take_watched(content, begun, former, monitor),
        }
        None
    }

    fn counters_mut(&mut self) -> &mut MultiBladeCounters {
        &mut self.counters
    }

    fn counters(&self, former: &CassetteFormer) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters).join(&former.counters())
    }

    fn begin_monitor(&self, _: &CassetteFormer) -> MonitorData {
        MonitorData::new(self.wiring.plan().clone())
    }

    fn complete(&self, _: &CassetteFormer, ledger: &mut DetectorLedger) {
        ledger.masked = self.wiring.mask().ledger(self.wiring.plan());
        if self.format == ReadoutFormat::JadaqOfJune2018 {
            let sent = names(&self.wiring).zip(&self.packets).filter(|(_, packets)| **packets > 0);
            ledger.sources = sent.map(|(name, &packets)| SourceLedger::unnumbered(name, packets)).collect();
        }
    }
}

type Own = Discard<MultiBladeCounters>;

const UNMAPPED_DIGITIZER: Own = |counters| &mut counters.packets_unmapped_digitizer;
const IMPOSSIBLE_TIME: Own = |counters| &mut counters.packets_impossible_time;

/// The counter of a rejection by the decoder.
fn reason(rejection: Rejection) -> Own {
    match rejection {
        Rejection::Empty => |counters| &mut counters.packets_empty,
        Rejection::TooShort => |counters| &mut counters.packets_too_short,
        Rejection::WrongVersion(_) => |counters| &mut counters.packets_wrong_version,
        Rejection::Waveform(_) => |counters| &mut counters.packets_with_waveforms,
        Rejection::UnknownElementType(_) => |counters| &mut counters.packets_unknown_element_type,
        Rejection::RaggedLength => |counters| &mut counters.packets_ragged,
    }
}
