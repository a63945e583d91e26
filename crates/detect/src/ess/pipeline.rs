//! The pipeline of a detector with VMM3a readout: packets in, events with their pulses out.

use super::counters::VmmCounters;
use super::former::HitFormer;
use super::former::Place;
use super::front::{Front, FrontPacket, SOURCES};
use super::pulse_line::PulseLine;
use super::settings::{EssSettings, VmmSettings};
use super::ticks;
pub use super::vmm_stage::ReadoutFilter;
use super::vmm_stage::{LARGEST_READOUT_COUNT, VmmStage};
use crate::packet_gate::Discard;
use crate::settings::SettingsError;
use crate::source_clock::{AcceptedHits, TIME_SIGN};
use crate::time_line::TimeLine;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::monitor::MonitorData;
use evforge_core::packet::{Packet, PacketBatch};
use evforge_wire::ess::Vmm3aPayload;

/// Hits and signs of time in a packet.
const PACKET_HITS: usize = LARGEST_READOUT_COUNT + 2;

/// Room that a packet and the release of a quarantine need.
pub(crate) const ROOM_FOR_A_PACKET: usize = 2 * PACKET_HITS;

/// A detector with VMM3a readout. What it adds of its own is the [`HitFormer`].
#[derive(Debug)]
pub struct EssVmm<F: HitFormer, R = ()> {
    front: Front,
    stage: VmmStage<R>,
    line: TimeLine<F::Hit>,
    former: F,
    pulses: PulseLine,
    geometry: LogicalGeometry,
    memory_bound: usize,
}

/// Where accepted hits and pulses go.
struct Accepted<'a, F> {
    former: &'a mut F,
    pulses: &'a mut PulseLine,
}

impl<F: HitFormer> AcceptedHits<F::Hit> for Accepted<'_, F> {
    #[inline(always)]
    fn accept(&mut self, target: usize, epoch: u32, hit: F::Hit) {
        if target == TIME_SIGN {
            self.pulses.add(epoch, crate::hit::Timed::time(&hit));
        } else {
            self.former.accept(target, epoch, hit);
        }
    }
}

impl<F: HitFormer> EssVmm<F> {
    /// A detector with this former. `former_memory` is the upper bound of its memory in bytes.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn new(
        ess: &EssSettings,
        vmm: &VmmSettings,
        former: F,
        geometry: LogicalGeometry,
        former_memory: usize,
    ) -> Result<Self, SettingsError> {
        EssVmm::with_filter(ess, vmm, former, geometry, former_memory, ())
    }
}

impl<F: HitFormer, R: ReadoutFilter> EssVmm<F, R> {
    /// A detector with a step between decoding and mapping; see [`ReadoutFilter`].
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn with_filter(
        ess: &EssSettings,
        vmm: &VmmSettings,
        former: F,
        geometry: LogicalGeometry,
        former_memory: usize,
        filter: R,
    ) -> Result<Self, SettingsError> {
        ess.check()?;
        vmm.check()?;
        let stage = VmmStage::new(vmm, ess.records, filter);
        let line = TimeLine::new(SOURCES, &ess.sorting, ticks::in_duration, PACKET_HITS);
        let memory_bound = size_of::<Self>()
            + stage.wiring.memory_bound()
            + Front::memory_bound()
            + PulseLine::memory_bound()
            + TimeLine::<F::Hit>::memory_bound(SOURCES, PACKET_HITS)
            + former_memory;
        Ok(Self {
            front: Front::new(ess),
            stage,
            line: line
                .expecting(|source| ess.output_queues.iter().any(|&queue| usize::from(queue) == source)),
            former,
            pulses: PulseLine::new(ticks::in_duration(ess.max_time_of_flight)),
            geometry,
            memory_bound,
        })
    }

    fn take_packet(&mut self, packet: &Packet<'_>) {
        let Some(front) = self.front.admit(packet) else { return };
        let outcome = self.take_content(&front);
        self.front.settle(packet, outcome, &mut self.stage.counters);
    }

    #[inline]
    fn take_content(&mut self, front: &FrontPacket<'_>) -> Result<(), Discard<VmmCounters>> {
        let payload = Vmm3aPayload::parse(front.packet.payload).map_err(|_| RAGGED)?;
        let Self { stage, line, former, pulses, .. } = self;
        if let Some(monitor) = former.monitor_mut() {
            stage.watch(&payload, monitor);
        }
        let Some(clock) = line.begin_packet(front.source) else { return Ok(()) };
        let mut accepted = Accepted { former, pulses };
        for time in front.new_pulses.into_iter().flatten() {
            let sign = F::hit(Place { plane: 0, coordinate: 0 }, time, 0);
            clock.judge(TIME_SIGN, sign, &mut accepted);
        }
        stage.take::<F>(front, &payload, clock, &mut accepted, &mut self.front.time_source);
        self.follow_time();
        Ok(())
    }

    /// Follows the queues' time and closes what none of them can reach any more, if that is worth while.
    #[inline]
    fn follow_time(&mut self) {
        let watermark = self.line.follow();
        if self.former.is_closing_worthwhile() || self.pulses.is_closing_worthwhile() {
            self.former.advance(watermark);
        }
    }

    /// Makes sure that one more packet fits. False if closed hits have to be drained first.
    #[inline]
    fn make_room(&mut self) -> bool {
        if self.former.find_room(ROOM_FOR_A_PACKET) >= ROOM_FOR_A_PACKET && self.pulses.has_room() {
            return true;
        }
        self.force_closing()
    }

    /// Closes more than the watermark allows, because there is no room left. True if that is of no use.
    #[cold]
    fn force_closing(&mut self) -> bool {
        let Self { line, former, pulses, .. } = self;
        let before = former.closed_before();
        let latest = former.latest_pending().max(pulses.latest_pending());
        let target = line.force(before, latest);
        former.advance(target);
        former.closed_before() == before && former.room() >= ROOM_FOR_A_PACKET
    }

    /// Appends the events of the time that is closed. False if the batch filled up before the end.
    #[inline]
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        let Self { former, pulses, .. } = self;
        former.drain(pulses, events) && pulses.pass(former.future_from(), events)
    }
}

impl<F: HitFormer, R: ReadoutFilter> Detector for EssVmm<F, R> {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.drain(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if !self.make_room() {
                continue;
            }
            self.take_packet(&packet);
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        self.former.advance(self.line.watermark());
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        let Self { line, former, pulses, .. } = self;
        former.find_room(ROOM_FOR_A_PACKET);
        let closed = former.closed_before();
        let mut accepted = Accepted { former, pulses };
        let held_back = line.release(&mut accepted, closed, |accepted| {
            accepted.former.room() >= ROOM_FOR_A_PACKET && accepted.pulses.has_room()
        });
        let latest = former.latest_pending().max(pulses.latest_pending());
        let epoch = latest.map_or(0, |(epoch, _)| epoch).max(line.watermark().0);
        former.advance((epoch, u64::MAX));
        !self.drain(events) || held_back
    }

    fn ledger(&self) -> DetectorLedger {
        let (packets, headers) = self.front.counters();
        let clocks = self.line.clock_counts();
        let mut time_source = self.front.time_source;
        time_source.pulses_late = clocks.late_signs;
        time_source.pulses_unconfirmed = clocks.refuted_signs;
        time_source.pulses_refused = self.pulses.refused();
        let mut line = self.line.counters();
        line.forced_closings += self.former.forced_closings();
        let filing = self.pulses.counters(self.former.events_formed(), self.former.held_events());
        DetectorLedger {
            sources: self.front.sources(),
            counters: CounterSnapshot::of(packets)
                .and(headers)
                .and(&time_source)
                .and(&self.stage.counters)
                .and(&line)
                .join(&self.former.counters())
                .and(&filing),
            masked: self.stage.wiring.masked(),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn memory_bound(&self) -> usize {
        self.memory_bound
    }

    fn set_monitoring(&mut self, on: bool) {
        self.former.set_monitoring(on.then(|| self.stage.wiring.plan().clone()));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.former.monitor()
    }
}

const RAGGED: Discard<VmmCounters> = |counters| &mut counters.packets_ragged;
