//! The Multi-Blade pipeline: packets in, events out.

use super::counters::MultiBladeCounters;
use super::readout_stage::{
    ARRIVAL_TIME_MASK, ArrivalSink, OrderedSink, ReadoutTally, TIME_LIMIT, TimeStamp, take_elements,
    take_records,
};
use super::settings::{HitOrder, LARGEST_READOUT_COUNT, MultiBladeSettings, ReadoutFormat, TimeBase};
use super::wiring::Wiring;
use crate::module_windows::{ClusterWatcher, ModuleWindows, StraightOut, Windows, append};
use crate::multiblade::cassettes::{BladeHit, Cassettes};
use crate::multiblade::position::PositionRules;
use crate::multiblade::window::WindowRules;
use crate::packet_gate::{Discard, PacketGate};
use crate::settings::SettingsError;
use crate::source_clocks::{ClockRules, SourceClockCounters, SourceClocks};
use crate::tick::TickLength;
use evforge_core::clock::WrappingClock;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::MonitorData;
use evforge_core::packet::{Packet, PacketBatch};
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::caen::{
    ElementType, JadaqPacket, JadaqVersion, LARGEST_PACKET, RecordPacket, Rejection, SEQUENCE_BITS, TIME_BITS,
};

/// What is known of a digitizer that numbers its packets, or does not.
#[derive(Debug)]
struct Digitizer {
    sequence: SequenceTracker,
    packets: u64,
}

/// The way of hits into windows.
#[derive(Debug)]
enum Order {
    /// As they arrive; this many of the events in `cassettes` have left.
    Arrival { gone: usize },
    /// In order of time, with the clocks of the digitisers.
    Time(Box<TimeOrdered>),
}

/// Hits on their way into windows in order of time.
#[derive(Debug)]
struct TimeOrdered {
    windows: ModuleWindows,
    line: SourceClocks<BladeHit>,
    clocks: Vec<WrappingClock>,
    room_for_a_packet: usize,
}

impl TimeOrdered {
    fn new(settings: &MultiBladeSettings, sources: usize, tick: TickLength) -> Self {
        let ticks = |duration| tick.ticks_in(duration);
        let clocks = ClockRules::new(&settings.sorting, ticks, LARGEST_READOUT_COUNT);
        Self {
            windows: ModuleWindows::new(usize::from(settings.cassettes), settings.sorting.max_held_hits),
            line: SourceClocks::new(sources, &clocks),
            clocks: vec![WrappingClock::new(TIME_BITS); sources],
            room_for_a_packet: settings.room_for_a_packet(),
        }
    }

    fn memory_bound(settings: &MultiBladeSettings, sources: usize) -> usize {
        ModuleWindows::memory_bound(usize::from(settings.cassettes), settings.sorting.max_held_hits)
            + SourceClocks::<BladeHit>::memory_bound(sources, LARGEST_READOUT_COUNT)
            + sources * size_of::<WrappingClock>()
    }

    /// Makes sure that the hits of one more packet fit. False if closed hits have to be drained first.
    fn make_room(&mut self) -> bool {
        let has_room = self.windows.find_room(self.room_for_a_packet) >= self.room_for_a_packet;
        if !has_room {
            let Self { windows, line, .. } = self;
            let (closed, latest) = (windows.closed_before(), windows.latest_pending());
            let target = line.force(closed, latest, windows, has_room_for_quarantine);
            windows.advance(target);
        }
        has_room
    }

    /// Ends a packet: closes what no source can reach any more, if that is worth while.
    fn end_packet(&mut self) {
        let watermark = self.line.follow(&mut self.windows, has_room_for_quarantine);
        if self.windows.is_closing_worthwhile() {
            self.windows.advance(watermark);
        }
    }

    /// End of the input: closes everything. Returns true if quarantined hits wait for room.
    fn close(&mut self) -> bool {
        let Self { windows, line, room_for_a_packet, .. } = self;
        windows.find_room(*room_for_a_packet);
        let closed = windows.closed_before();
        let held_back = line.release(windows, closed, |windows| windows.room() >= *room_for_a_packet);
        let end = windows.latest_pending().map_or(0, |(epoch, _)| epoch);
        windows.advance((end.max(line.watermark().0), u64::MAX));
        held_back
    }
}

/// Whether the hits of a quarantine fit.
fn has_room_for_quarantine(windows: &mut ModuleWindows) -> bool {
    windows.find_room(LARGEST_READOUT_COUNT) >= LARGEST_READOUT_COUNT
}

/// A Multi-Blade detector with CAEN digitisers.
#[derive(Debug)]
pub struct MultiBlade {
    format: ReadoutFormat,
    /// Ticks in a millisecond of global time, if times count from there.
    ticks_per_millisecond: Option<u64>,
    /// What times leave as.
    out: TickLength,
    geometry: LogicalGeometry,
    wiring: Wiring,
    digitizers: Vec<Digitizer>,
    counters: MultiBladeCounters,
    cassettes: Cassettes,
    order: Order,
    gate: PacketGate,
    monitor: Option<Box<MonitorData>>,
    memory_bound: usize,
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
        let digitizer =
            || Digitizer { sequence: SequenceTracker::of_packets(SEQUENCE_BITS, u64::BITS), packets: 0 };
        let (time_mask, events, order, order_memory) = match settings.order {
            HitOrder::Arrival => {
                let events = 2 * (LARGEST_READOUT_COUNT + usize::from(settings.cassettes));
                (ARRIVAL_TIME_MASK, events, Order::Arrival { gone: 0 }, 0)
            }
            HitOrder::Time => {
                let ordered = Box::new(TimeOrdered::new(settings, sources, tick));
                let (cassettes, held) = (usize::from(settings.cassettes), settings.sorting.max_held_hits);
                let events = ModuleWindows::event_capacity(cassettes, held);
                let memory = size_of::<TimeOrdered>() + TimeOrdered::memory_bound(settings, sources);
                (u64::MAX, events, Order::Time(ordered), memory)
            }
        };
        let rules = WindowRules::new(&settings.window, settings.sorting.max_group_hits, time_mask);
        let position =
            PositionRules::new(&settings.window, settings.maximum, settings.rounding, settings.pixels());
        let cassettes = Cassettes::new(rules, position, events);
        let memory_bound = size_of::<Self>()
            + wiring.memory_bound()
            + cassettes.memory_bound()
            + order_memory
            + sources * (size_of::<Digitizer>() + SequenceTracker::memory_bound());
        let of_global_time = settings.time_base == TimeBase::GlobalTime;
        Ok(Self {
            format: settings.format,
            ticks_per_millisecond: of_global_time.then(|| 1_000_000_000 / settings.tick),
            out: if settings.raw_ticks { TickLength::RAW } else { tick },
            geometry: settings.geometry,
            wiring,
            digitizers: (0..sources).map(|_| digitizer()).collect(),
            counters: MultiBladeCounters::default(),
            cassettes,
            order,
            gate: PacketGate::new(LARGEST_PACKET),
            monitor: None,
            memory_bound,
        })
    }

    /// Appends the events that are ready. False if the batch filled up before the end.
    #[inline]
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        let Self { cassettes, order, monitor, out, .. } = self;
        match order {
            Order::Arrival { gone } => {
                *gone += append(&cassettes.formed[*gone..], events, |ticks| out.nanoseconds(ticks));
                if *gone < cassettes.formed.len() {
                    return false;
                }
                cassettes.formed.clear();
                *gone = 0;
                true
            }
            Order::Time(ordered) => {
                let mut out = StraightOut { events, nanoseconds: |ticks| out.nanoseconds(ticks) };
                match monitor {
                    None => ordered.windows.drain(cassettes, &mut (), &mut out),
                    Some(monitor) => ordered.windows.drain(cassettes, &mut **monitor, &mut out),
                }
            }
        }
    }

    fn take_packet(&mut self, packet: &Packet<'_>) {
        let admitted = match self.format {
            ReadoutFormat::Records | ReadoutFormat::JadaqOfJune2018 => self.gate.admit_unnumbered(packet),
            ReadoutFormat::Jadaq1_3 => {
                let arrival =
                    JadaqPacket::numbering(packet.bytes, JadaqVersion::V1_3).and_then(|numbering| {
                        let digitizer =
                            self.digitizers.get_mut(self.wiring.index_of(numbering.digitizer)?)?;
                        let stamp =
                            Stamp::of(packet.bytes, packet.origin.arrival_ns, Some(numbering.global_time));
                        Some(digitizer.sequence.observe_packet(u64::from(numbering.sequence), stamp))
                    });
                self.gate.admit(packet, arrival)
            }
        };
        if !admitted {
            return;
        }
        let outcome = match self.monitor.take() {
            None => self.take_content(packet, &mut ()),
            Some(mut monitor) => {
                let outcome = self.take_content(packet, &mut *monitor);
                self.watch_readouts(packet, &mut monitor);
                self.monitor = Some(monitor);
                outcome
            }
        };
        self.gate.settle(packet, outcome, &mut self.counters);
    }

    fn take_content(&mut self, packet: &Packet<'_>, watcher: &mut impl ClusterWatcher) -> Result<(), Own> {
        match self.format {
            ReadoutFormat::Records => {
                let records = RecordPacket::parse(packet.bytes).map_err(reason)?;
                self.with_sink(watcher, TimeStamp::Wrapping, |wiring, sink, tally| match sink {
                    Sink::Arrival(mut sink) => take_records(&records, wiring, &mut sink, tally),
                    Sink::Ordered(mut sink) => take_records(&records, wiring, &mut sink, tally),
                });
            }
            ReadoutFormat::JadaqOfJune2018 => {
                self.take_jadaq(packet, JadaqVersion::OfJune2018, watcher)?;
            }
            ReadoutFormat::Jadaq1_3 => self.take_jadaq(packet, JadaqVersion::V1_3, watcher)?,
        }
        Ok(())
    }

    fn take_jadaq(
        &mut self,
        packet: &Packet<'_>,
        version: JadaqVersion,
        watcher: &mut impl ClusterWatcher,
    ) -> Result<(), Own> {
        let elements = JadaqPacket::parse(packet.bytes, version).map_err(reason)?;
        let index = self.wiring.index_of(elements.digitizer).ok_or(UNMAPPED_DIGITIZER)?;
        let stamp = match self.ticks_per_millisecond {
            Some(ticks) => {
                let base = elements.global_time.checked_mul(ticks).filter(|&base| base < TIME_LIMIT);
                TimeStamp::From(base.ok_or(IMPOSSIBLE_TIME)?)
            }
            None if elements.element_type == ElementType::List8222 => TimeStamp::From(0),
            None => TimeStamp::Wrapping,
        };
        if let Some(digitizer) = self.digitizers.get_mut(index) {
            digitizer.packets += 1;
        }
        self.with_sink(watcher, stamp, |wiring, sink, tally| match sink {
            Sink::Arrival(mut sink) => take_elements(&elements, index, wiring, &mut sink, tally),
            Sink::Ordered(mut sink) => take_elements(&elements, index, wiring, &mut sink, tally),
        });
        Ok(())
    }

    /// Gives the hits of a packet the way that is configured.
    #[inline]
    fn with_sink<W: ClusterWatcher>(
        &mut self,
        watcher: &mut W,
        stamp: TimeStamp,
        take: impl FnOnce(&mut Wiring, Sink<'_, W>, &mut ReadoutTally),
    ) {
        let Self { wiring, cassettes, order, .. } = self;
        let mut tally = ReadoutTally::default();
        match order {
            Order::Arrival { .. } => {
                let sink = ArrivalSink { cassettes, watcher };
                take(wiring, Sink::Arrival(sink), &mut tally);
            }
            Order::Time(ordered) => {
                let TimeOrdered { windows, line, clocks, .. } = &mut **ordered;
                let line = line.begin_packet_of_several();
                let sink = OrderedSink { windows, line, clocks, stamp };
                take(wiring, Sink::Ordered(sink), &mut tally);
                ordered.end_packet();
            }
        }
        tally.add_to(&mut self.counters);
    }

    /// A second look at the readouts of a packet, for who watches.
    #[cold]
    fn watch_readouts(&self, packet: &Packet<'_>, monitor: &mut MonitorData) {
        let version = match self.format {
            ReadoutFormat::Records => {
                let Ok(records) = RecordPacket::parse(packet.bytes) else { return };
                for record in records.records() {
                    let place = self.wiring.of_record(record.digitizer, record.channel);
                    monitor.readout(usize::from(place.channel), record.adc);
                }
                return;
            }
            ReadoutFormat::JadaqOfJune2018 => JadaqVersion::OfJune2018,
            ReadoutFormat::Jadaq1_3 => JadaqVersion::V1_3,
        };
        let Ok(packet) = JadaqPacket::parse(packet.bytes, version) else { return };
        let Some(index) = self.wiring.index_of(packet.digitizer) else { return };
        let places = self.wiring.of_digitizer(index);
        for element in packet.elements() {
            if let Some(place) = places.get(usize::from(element.channel)) {
                monitor.readout(usize::from(place.channel), element.charge);
            }
        }
    }
}

/// One of the two ways.
enum Sink<'a, W> {
    Arrival(ArrivalSink<'a, W>),
    Ordered(OrderedSink<'a>),
}

impl Detector for MultiBlade {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.drain(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if let Order::Time(ordered) = &mut self.order
                && !ordered.make_room()
            {
                continue;
            }
            self.take_packet(&packet);
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        if let Order::Time(ordered) = &mut self.order {
            ordered.windows.advance(ordered.line.watermark());
        }
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        let held_back = match &mut self.order {
            Order::Arrival { .. } => {
                match &mut self.monitor {
                    None => self.cassettes.close_all(&mut ()),
                    Some(monitor) => self.cassettes.close_all(&mut **monitor),
                }
                false
            }
            Order::Time(ordered) => ordered.close(),
        };
        !self.drain(events) || held_back
    }

    fn ledger(&self) -> DetectorLedger {
        let mut counters = self.cassettes.counters;
        counters.held = self.cassettes.held();
        let mut source_clocks = SourceClockCounters::default();
        if let Order::Time(ordered) = &self.order {
            source_clocks = ordered.line.counters();
            source_clocks.forced_closings += ordered.windows.forced_closings();
            counters.held += ordered.windows.held();
        }
        let packets = self.gate.counters();
        let numbered = self.wiring.digitizers().iter().zip(&self.digitizers);
        let name = |number: &u32| format!("digitizer {number}");
        let sources = match self.format {
            ReadoutFormat::Records => {
                vec![SourceLedger::unnumbered("records".into(), packets.packets_received)]
            }
            ReadoutFormat::JadaqOfJune2018 => numbered
                .filter(|(_, digitizer)| digitizer.packets > 0)
                .map(|(number, digitizer)| SourceLedger::unnumbered(name(number), digitizer.packets))
                .collect(),
            ReadoutFormat::Jadaq1_3 => numbered
                .filter(|(_, digitizer)| digitizer.sequence.counts().received > 0)
                .map(|(number, digitizer)| SourceLedger::of_sequence(name(number), &digitizer.sequence))
                .collect(),
        };
        DetectorLedger {
            sources,
            counters: CounterSnapshot::of(packets).and(&self.counters).and(&counters).and(&source_clocks),
            masked: self.wiring.mask().ledger(self.wiring.plan()),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn newest_time_ns(&self) -> Option<u64> {
        let Order::Time(ordered) = &self.order else { return None };
        let (_, ticks) = ordered.line.newest()?;
        Some(self.out.nanoseconds(ticks))
    }

    fn memory_bound(&self) -> usize {
        self.memory_bound
    }

    fn confirm_numbers_above(&mut self, packets: u64) {
        self.digitizers.iter_mut().for_each(|digitizer| digitizer.sequence.confirm_above(packets));
    }

    fn set_monitoring(&mut self, on: bool) {
        self.monitor = on.then(|| Box::new(MonitorData::new(self.wiring.plan().clone())));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref()
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
