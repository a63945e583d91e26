//! One pipeline for all detectors: packets in, events out.
//!
//! ```text
//! packet ─► number, gate ─► parse ─► begin ─► take ─► hits ─► drain ─► events
//!           Pipeline        Stage    Stage    Stage           Former
//! ```
//!
//! A detector is a [`Stage`] (packets to hits) and a [`Former`] (hits to events). The [`Pipeline`] of the two is a
//! [`Detector`]: it counts packets and follows their numbers, stops in the middle of a packet when a batch is full and
//! goes on from there, and joins what has been counted.

use crate::packet_gate::{Discard, PacketGate};
use crate::threshold_steps::ThresholdSteps;
use crate::watermark::DataTime;
use evforge_core::change::{Change, ChangeRefusal, ChangeTime, Parameter};
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::MonitorData;
use evforge_core::packet::{Packet, PacketBatch};
use evforge_core::pixel_ids::PixelIds;
use evforge_core::sequence::{SequenceTracker, Stamp};
use get_size2::GetSize;
use std::borrow::Borrow;
use std::fmt::Debug;
use std::sync::Arc;

/// The number of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Which of the sources that the pipeline follows.
    pub source: usize,
    /// The number as it was sent.
    pub number: u64,
    /// The time in the header as it was sent, if there is one.
    pub time: Option<u64>,
}

/// Where a packet goes.
#[derive(Debug)]
pub struct Out<'a, F: Former> {
    /// Where hits go.
    pub former: &'a mut F,
    /// Who watches.
    pub monitor: Option<&'a mut F::Monitor>,
    /// Where events go that need no former.
    pub events: &'a mut EventBatch,
}

/// What a stage says of a packet: good, or the counter that it is discarded under.
pub type Checked<T, S> = Result<T, Discard<<S as Stage>::Counters>>;

/// Monitor data of a stage, as its former collects them.
pub type MonitorOf<S> = <<S as Stage>::Former as Former>::Monitor;

/// Packets to hits: time, digital geometry, mask, threshold.
pub trait Stage: GetSize + Send {
    /// Where its hits go.
    type Former: Former;
    /// What it counts: packets discarded for what they contain, readouts by what happened to them.
    type Counters: CounterSet;
    /// What is in a packet.
    type Content<'a>;
    /// What is known of a packet that has begun, and where it goes on.
    type UnderWay: Copy + Send;

    /// The number of a packet; none if it carries none of a source that is configured. It is read before the packet is checked, so
    /// that a damaged packet is not taken for a lost one.
    fn number(&self, _packet: &Packet<'_>) -> Option<Number> {
        None
    }

    /// Checks a packet. It is called again when a packet goes on.
    ///
    /// # Errors
    /// The counter of packets that are of no use.
    fn parse<'a>(&self, packet: &Packet<'a>) -> Checked<Self::Content<'a>, Self>;

    /// Begins a packet, of the source that its number names. It is called once.
    ///
    /// # Errors
    /// The counter of packets that are of no use.
    fn begin(&mut self, content: &Self::Content<'_>, source: Option<usize>) -> Checked<Self::UnderWay, Self>;

    /// A second look at the readouts of a packet that begins, for who watches. Does nothing unless it says otherwise.
    fn watch(&self, _content: &Self::Content<'_>, _begun: Self::UnderWay, _monitor: &mut MonitorOf<Self>) {}

    /// Takes a packet, or the rest of it. If it stops before its end, because the batch is full or what is closed has to leave
    /// first: where it goes on.
    fn take(
        &mut self,
        content: &Self::Content<'_>,
        under_way: Self::UnderWay,
        out: Out<'_, Self::Former>,
    ) -> Option<Self::UnderWay>;

    /// What a packet that has been taken was good for in the end. It was of use, unless said otherwise.
    ///
    /// # Errors
    /// The counter of packets that are of no use.
    fn end(&mut self) -> Checked<(), Self> {
        Ok(())
    }

    /// For packets that are discarded.
    fn counters_mut(&mut self) -> &mut Self::Counters;

    /// Everything that has been counted besides packets.
    fn counters(&self, former: &Self::Former) -> CounterSnapshot;

    /// Monitor data with nothing collected yet. May allocate.
    fn begin_monitor(&self, former: &Self::Former) -> MonitorOf<Self>;

    /// Adds what else is known: masked channels, notes, sources that have numbers of their own.
    fn complete(&self, _former: &Self::Former, _ledger: &mut DetectorLedger) {}

    /// The thresholds that can be changed; none if there are none.
    fn thresholds(&self) -> Option<&ThresholdSteps> {
        None
    }

    /// For changes.
    fn thresholds_mut(&mut self) -> Option<&mut ThresholdSteps> {
        None
    }
}

/// Hits, or whole events, to events in batches.
pub trait Former: GetSize + Send {
    /// What is collected for who watches.
    type Monitor: Borrow<MonitorData> + Debug + Send;

    /// Appends the events of the time that is closed. False if the batch filled up before the end.
    fn drain(&mut self, monitor: Option<&mut Self::Monitor>, events: &mut EventBatch) -> bool;

    /// Makes sure that one more packet fits. False if closed events have to be drained first.
    fn make_room(&mut self) -> bool {
        true
    }

    /// Closes everything that no source can reach any more.
    fn publish_closed(&mut self) {}

    /// End of the input: closes everything. True if something waits for room: drain, and call again.
    fn close(&mut self, monitor: Option<&mut Self::Monitor>) -> bool;

    /// The newest time of any source in nanoseconds; none where nothing is kept back.
    fn newest_time_ns(&self) -> Option<u64>;

    /// The latest place of readouts that have been judged, for parameters that change with time.
    fn latest_place_of_readouts(&self) -> Option<DataTime> {
        None
    }

    /// Converts the times from which parameters change.
    fn nanoseconds(&self, time: u64) -> u64 {
        time
    }

    /// Follows the numbers of packets that the former follows by itself.
    fn confirm_numbers_above(&mut self, _packets: u64) {}
}

/// What people call the sources, and their packet numbers.
#[derive(Debug, get_size2::GetSize)]
pub(crate) struct Sources {
    names: Vec<String>,
    are_numbered: bool,
    /// Those of each; none if packets have no numbers.
    sequences: Vec<SequenceTracker>,
}

impl Sources {
    /// One source, whose packets have no numbers.
    pub(crate) fn unnumbered(name: &str) -> Self {
        Self { names: vec![name.into()], are_numbered: false, sequences: Vec::new() }
    }

    /// Sources of these names, whose packets have numbers and times so many bits wide.
    pub(crate) fn numbered(names: impl Iterator<Item = String>, bits: u32, time_bits: u32) -> Self {
        let names: Vec<_> = names.collect();
        let sequence = |_: &String| SequenceTracker::of_packets(bits, time_bits);
        Self { are_numbered: true, sequences: names.iter().map(sequence).collect(), names }
    }

    /// Those that have sent. Without numbers, what is known is how many packets were `received`.
    fn ledger(&self, received: u64) -> Vec<SourceLedger> {
        let of_source = |(name, sequence): (&String, Option<&SequenceTracker>)| match sequence {
            None => (received > 0).then(|| SourceLedger::unnumbered(name.clone(), received)),
            Some(sequence) => {
                (sequence.counts().received > 0).then(|| SourceLedger::of_sequence(name.clone(), sequence))
            }
        };
        let sequences = self.sequences.iter().map(Some).chain(std::iter::repeat(None));
        self.names.iter().zip(sequences).filter_map(of_source).collect()
    }
}

/// What is known of all events beforehand.
#[derive(Debug, get_size2::GetSize)]
pub(crate) struct Pixels {
    /// The pixels.
    pub(crate) geometry: LogicalGeometry,
    /// Their ids, where the facility gives them.
    pub(crate) ids: Option<Arc<PixelIds>>,
    /// True if the readout carries the pulses of the source.
    pub(crate) have_pulses: bool,
    /// True if times count from the Unix epoch.
    pub(crate) have_date: bool,
}

impl From<LogicalGeometry> for Pixels {
    fn from(geometry: LogicalGeometry) -> Self {
        Self { geometry, ids: None, have_pulses: false, have_date: false }
    }
}

/// A detector: a stage, and the former that its hits go to.
#[derive(Debug, get_size2::GetSize)]
pub struct Pipeline<S: Stage> {
    pub(crate) stage: S,
    former: S::Former,
    pixels: Pixels,
    gate: PacketGate,
    sources: Sources,
    /// The packet that goes on when there is room again.
    #[get_size(ignore)]
    under_way: Option<S::UnderWay>,
    #[get_size(ignore)]
    monitor: Option<Box<MonitorOf<S>>>,
}

impl<S: Stage> Pipeline<S> {
    /// A detector of these parts.
    pub(crate) fn of(
        (stage, former): (S, S::Former),
        pixels: impl Into<Pixels>,
        gate: PacketGate,
        sources: Sources,
    ) -> Self {
        Self { stage, former, pixels: pixels.into(), gate, sources, under_way: None, monitor: None }
    }

    #[inline]
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        self.former.drain(self.monitor.as_deref_mut(), events)
    }

    /// Takes a packet, or goes on with the one under way. False if it stops before its end.
    #[inline(always)]
    fn take_packet(&mut self, packet: &Packet<'_>, events: &mut EventBatch) -> bool {
        let Self { stage, former, gate, sources, monitor, under_way, .. } = self;
        let gone_on = under_way.take();
        let mut source = None;
        if gone_on.is_none() {
            let number = stage.number(packet);
            let arrival = number.and_then(|Number { source, number, time }| {
                let stamp = Stamp::of(packet.bytes, packet.origin.arrival_ns, time);
                Some(sources.sequences.get_mut(source)?.observe_packet(number, stamp))
            });
            let is_admitted = if sources.are_numbered {
                gate.admit(packet, arrival)
            } else {
                gate.admit_unnumbered(packet)
            };
            if !is_admitted {
                return true;
            }
            source = number.map(|number| number.source);
        }
        // One that goes on has been parsed before.
        let content = match stage.parse(packet) {
            Ok(content) => content,
            Err(counter) => {
                gate.settle(packet, Err(counter), stage.counters_mut());
                return true;
            }
        };
        let begun = match gone_on {
            Some(begun) => begun,
            None => {
                let begun = stage.begin(&content, source);
                gate.settle(
                    packet,
                    begun.as_ref().map(|_| ()).map_err(|counter| *counter),
                    stage.counters_mut(),
                );
                let Ok(begun) = begun else { return true };
                if let Some(monitor) = monitor {
                    stage.watch(&content, begun, monitor);
                }
                begun
            }
        };
        *under_way = stage.take(&content, begun, Out { former, monitor: monitor.as_deref_mut(), events });
        if under_way.is_some() {
            return false;
        }
        if let Err(counter) = stage.end() {
            gate.take_back(packet, counter, stage.counters_mut());
        }
        true
    }
}

impl<S: Stage> Detector for Pipeline<S> {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.drain(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if !self.former.make_room() {
                continue;
            }
            if !self.take_packet(&packet, events) {
                return Progress { taken, full: true };
            }
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        self.former.publish_closed();
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        loop {
            if !self.drain(events) {
                return true;
            }
            if !self.former.close(self.monitor.as_deref_mut()) {
                return !self.drain(events);
            }
        }
    }

    fn ledger(&self) -> DetectorLedger {
        let packets = self.gate.counters();
        let mut ledger = DetectorLedger {
            sources: self.sources.ledger(packets.packets_received),
            counters: CounterSnapshot::of(packets).join(&self.stage.counters(&self.former)),
            ..DetectorLedger::default()
        };
        self.stage.complete(&self.former, &mut ledger);
        ledger
    }

    fn geometry(&self) -> LogicalGeometry {
        self.pixels.geometry
    }

    fn pixel_ids(&self) -> Option<Arc<PixelIds>> {
        self.pixels.ids.clone()
    }

    fn tells_pulses(&self) -> bool {
        self.pixels.have_pulses
    }

    fn tells_date(&self) -> bool {
        self.pixels.have_date
    }

    fn newest_time_ns(&self) -> Option<u64> {
        self.former.newest_time_ns()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.stage.thresholds().map(|thresholds| thresholds.parameters().to_vec()).unwrap_or_default()
    }

    fn earliest_change(&self) -> Option<ChangeTime> {
        let latest = self.former.latest_place_of_readouts();
        self.stage.thresholds()?.earliest(latest, |time| self.former.nanoseconds(time))
    }

    fn change(&mut self, change: &Change) -> Result<(), ChangeRefusal> {
        let earliest = self.earliest_change();
        let Self { stage, former, .. } = self;
        match stage.thresholds_mut() {
            Some(thresholds) => thresholds.change(change, earliest, |time| former.nanoseconds(time)),
            None => Err(ChangeRefusal::NotOffered("its settings hold for all of a run")),
        }
    }

    fn memory_bound(&self) -> usize {
        self.get_size()
    }

    fn confirm_numbers_above(&mut self, packets: u64) {
        self.sources.sequences.iter_mut().for_each(|sequence| sequence.confirm_above(packets));
        self.former.confirm_numbers_above(packets);
    }

    fn set_monitoring(&mut self, on: bool) {
        self.monitor = on.then(|| Box::new(self.stage.begin_monitor(&self.former)));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref().map(Borrow::borrow)
    }
}
