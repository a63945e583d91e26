//! The pipeline of any detector of the ESS readout: packets in, events with their pulses out.

use super::decode_ahead::DecodeAhead;
use super::former::{HitFormer, Placed};
use super::front::{Front, FrontPacket};
use super::neutrons::MonitorHistograms;
use super::pulse_line::PulseLine;
use super::settings::{EssSettings, VmmSettings};
use super::stage::{MonitorNeutron, MonitorReadouts, ReadoutStage};
use super::ticks;
use super::vmm_stage::VmmStage;
use crate::dealt_hits::{DealtHits, Shares};
use crate::hit::{TargetedHit, Timed};
use crate::settings::SettingsError;
use crate::source_clock::{AcceptedHits, SourceClock, TIME_SIGN};
use crate::source_clocks::{ClockRules, SourceClocks};
use crate::workers::Workers;
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::change::{Change, ChangeRefusal, ChangeTime, Parameter};
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::monitor::MonitorData;
use evforge_core::packet::{Packet, PacketBatch};
use evforge_wire::ess::{LARGEST_PACKET, RECORD};
use get_size2::GetSize;
use std::sync::Arc;

/// Hits and signs of time in a packet: all records have the same size.
const PACKET_HITS: usize = LARGEST_PACKET / RECORD + 2;

/// Room that a packet and the release of a quarantine need.
pub(crate) const ROOM_FOR_A_PACKET: usize = 2 * PACKET_HITS;

/// A detector of the ESS readout: what its records are is decided by the [`ReadoutStage`], what happens to its hits
/// by the [`HitFormer`].
#[derive(Debug, get_size2::GetSize)]
pub struct EssPipeline<S: ReadoutStage<F::Hit>, F: HitFormer> {
    front: Front,
    stage: S,
    line: SourceClocks<F::Hit>,
    former: F,
    pulses: PulseLine,
    monitors: Option<Monitors>,
    /// Packets that other threads have decoded, if there are any.
    ahead: Option<DecodeAhead<S::Decoded>>,
    geometry: LogicalGeometry,
}

/// Beam monitors that send alongside the detector.
#[derive(Debug, get_size2::GetSize)]
struct Monitors {
    #[get_size(ignore)]
    readouts: Box<dyn MonitorReadouts>,
    /// Those of a packet.
    neutrons: Vec<MonitorNeutron>,
}

/// A detector with VMM3a readout.
pub type EssVmm<F> = EssPipeline<VmmStage, F>;

/// The target of a single neutron of a monitor: its hit is the time and the pixel.
const MONITOR: usize = TIME_SIGN - 1;

/// Where accepted hits, pulses and neutrons of monitors go.
struct Accepted<'a, F> {
    former: &'a mut F,
    pulses: &'a mut PulseLine,
}

impl<F: HitFormer> Accepted<'_, F> {
    /// Whether the hits and pulses of a quarantine fit.
    fn has_room_for_quarantine(&mut self) -> bool {
        self.former.find_room(PACKET_HITS) >= PACKET_HITS && self.pulses.has_room(PACKET_HITS)
    }

    /// Tells the pulses that a packet is the first to report.
    #[inline]
    fn pulses_of(&mut self, front: &FrontPacket<'_>, clock: &mut SourceClock<F::Hit>) {
        for time in front.new_pulses.into_iter().flatten() {
            clock.judge(TIME_SIGN, F::Hit::of(time, 0), self);
        }
    }
}

impl<F: HitFormer> AcceptedHits<F::Hit> for Accepted<'_, F> {
    #[inline(always)]
    fn accept(&mut self, target: usize, epoch: u32, hit: F::Hit) {
        match target {
            TIME_SIGN => self.pulses.add(epoch, hit.time()),
            MONITOR => self.pulses.add_neutron(epoch, hit.time(), hit.payload()),
            _ => self.former.accept(target, epoch, hit),
        }
    }

    #[inline]
    fn accept_decoded(&mut self, epoch: u32, latest: u64, hits: &[TargetedHit], dealt: &mut DealtHits) {
        self.former.accept_decoded(epoch, latest, hits, dealt);
    }

    fn late_sign(&mut self, epoch: u32, time: u64) {
        self.pulses.add_late(epoch, time);
    }
}

impl<F: HitFormer> EssVmm<F>
where
    F::Hit: Placed,
{
    /// A detector with this former.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(
        ess: &EssSettings,
        vmm: &VmmSettings,
        former: F,
        geometry: LogicalGeometry,
    ) -> Result<Self, SettingsError> {
        vmm.check()?;
        Self::of_stages(
            ess,
            VmmStage::new(vmm, ess.records, ticks::in_duration(ess.sorting.restart)),
            former,
            geometry,
        )
    }
}

impl<S: ReadoutStage<F::Hit>, F: HitFormer> EssPipeline<S, F> {
    /// A detector of these stages.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn of_stages(
        ess: &EssSettings,
        stage: S,
        former: F,
        geometry: LogicalGeometry,
    ) -> Result<Self, SettingsError> {
        ess.check()?;
        let front = Front::new(ess);
        let sources = front.source_count();
        let clocks = ClockRules::new(&ess.sorting, ticks::in_duration, PACKET_HITS);
        let line = SourceClocks::new(sources, &clocks);
        let pulses = PulseLine::new(ticks::in_duration(ess.max_time_of_flight));
        Ok(Self {
            front,
            stage,
            line: line
                .expecting(|source| ess.output_queues.iter().any(|&queue| usize::from(queue) == source)),
            former,
            pulses,
            monitors: None,
            ahead: None,
            geometry,
        })
    }

    /// Pixels of the detector, without those of monitors.
    pub fn pixel_count(&self) -> u32 {
        self.geometry.pixel_count()
    }

    /// The same detector, with beam monitors that send packets of their own type alongside. Their pixels follow those of
    /// the detector.
    #[must_use]
    pub fn with_monitors(
        mut self,
        readouts: Box<dyn MonitorReadouts>,
        histograms: MonitorHistograms,
    ) -> Self {
        self.pulses.add_monitors(histograms, self.pixel_count());
        self.monitors = Some(Monitors { readouts, neutrons: Vec::with_capacity(PACKET_HITS) });
        self
    }

    /// The same detector, whose packets are decoded by these threads as well. Events and counters stay the same.
    /// Whoever decodes deals out the hits as the former shares them.
    #[must_use]
    pub fn decoded_by(mut self, workers: Arc<dyn Workers>, shares: Arc<Shares>) -> Self {
        self.stage.deal_out(shares);
        self.ahead = Some(DecodeAhead::new(workers, || self.stage.room_for_a_packet()));
        self
    }

    fn take_packet(&mut self, packet: &Packet<'_>, decoded: Option<&mut S::Decoded>) {
        let Some(front) = self.front.admit(packet) else { return };
        if front.is_monitor {
            return self.take_monitors(packet, &front);
        }
        let outcome = match self.stage.parse(front.packet.payload) {
            Ok(payload) => {
                self.take_content(&front, &payload, decoded);
                Ok(())
            }
            Err(discard) => Err(discard),
        };
        self.front.settle(packet, outcome, self.stage.counters_mut());
    }

    /// A packet of the monitors alongside.
    fn take_monitors(&mut self, packet: &Packet<'_>, front: &FrontPacket<'_>) {
        let Self { line, former, pulses, monitors, .. } = self;
        let Some(monitors) = monitors else { return };
        monitors.neutrons.clear();
        if !monitors.readouts.take_alongside(front, &mut monitors.neutrons, &mut self.front.time_source) {
            return self.front.discard(packet);
        }
        if let Some(clock) = line.begin_packet(front.source) {
            let mut accepted = Accepted { former, pulses };
            accepted.pulses_of(front, clock);
            for &MonitorNeutron { time, pixel } in &monitors.neutrons {
                clock.judge(MONITOR, F::Hit::of(time, pixel), &mut accepted);
            }
        }
        self.front.settle(packet, Ok(()), self.stage.counters_mut());
        self.follow_time();
    }

    #[inline]
    fn take_content<'a>(
        &mut self,
        front: &FrontPacket<'a>,
        payload: &S::Payload<'a>,
        decoded: Option<&mut S::Decoded>,
    ) {
        let Self { stage, line, former, pulses, .. } = self;
        if let Some(monitor) = former.monitor_mut() {
            stage.watch(payload, monitor);
        }
        let Some(clock) = line.begin_packet(front.source) else { return };
        let mut accepted = Accepted { former, pulses };
        accepted.pulses_of(front, clock);
        let time_source = &mut self.front.time_source;
        stage.take(front, payload, decoded, clock, &mut accepted, time_source);
        self.follow_time();
    }

    /// Follows the queues' time and closes what none of them can reach any more, if that is worth while.
    #[inline]
    fn follow_time(&mut self) {
        let Self { line, former, pulses, stage, .. } = self;
        let watermark = line.follow(&mut Accepted { former, pulses }, Accepted::has_room_for_quarantine);
        if former.is_closing_worthwhile() || pulses.is_closing_worthwhile() {
            former.advance(watermark);
        }
        stage.settle(watermark);
    }

    /// Those of both stages, in the order of the channels.
    fn beam_monitors(&self) -> Vec<BeamMonitorData> {
        if let Some(Monitors { readouts, .. }) = &self.monitors {
            let both = [self.pulses.neutrons().1, readouts.integrating()];
            return both.into_iter().flatten().cloned().collect();
        }
        let both = [self.stage.beam_monitors(), self.former.beam_monitors()];
        let mut monitors: Vec<_> = both.into_iter().flatten().cloned().collect();
        let groups = &self.stage.plan().groups;
        monitors.sort_by_key(|data| groups.iter().position(|group| group.name == data.plan().name));
        monitors
    }

    /// Makes sure that one more packet fits. False if closed hits have to be drained first.
    #[inline]
    fn make_room(&mut self) -> bool {
        let has_room = self.former.find_room(ROOM_FOR_A_PACKET) >= ROOM_FOR_A_PACKET;
        if has_room && self.pulses.has_room(ROOM_FOR_A_PACKET) {
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
        let mut accepted = Accepted { former, pulses };
        let target = line.force(before, latest, &mut accepted, Accepted::has_room_for_quarantine);
        former.advance(target);
        former.closed_before() == before && former.room() >= ROOM_FOR_A_PACKET
    }

    /// Appends the events of the time that is closed. False if the batch filled up before the end.
    #[inline]
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        let Self { former, pulses, .. } = self;
        let drained = former.drain(pulses, events) && pulses.pass(former.future_from(), events);
        former.note_pulses(pulses.pulses_filed());
        drained
    }
}

impl<S: ReadoutStage<F::Hit> + Sync, F: HitFormer> EssPipeline<S, F> {
    /// Takes packets from number `from` on until the batch of events is full.
    fn take_all(
        &mut self,
        packets: &PacketBatch<'_>,
        from: usize,
        mut ahead: Option<&mut DecodeAhead<S::Decoded>>,
        events: &mut EventBatch,
    ) -> Progress {
        let mut taken = from;
        let full = loop {
            if !self.drain(events) {
                break true;
            }
            let Some(packet) = packets.get(taken) else { break false };
            if !self.make_room() {
                continue;
            }
            let decoded =
                ahead.as_mut().and_then(|ahead| ahead.packet(taken, packets, &self.front, &self.stage));
            self.take_packet(&packet, decoded);
            taken += 1;
        };
        Progress { taken, full }
    }
}

impl<S: ReadoutStage<F::Hit> + Send + Sync, F: HitFormer> Detector for EssPipeline<S, F> {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let Some(mut ahead) = self.ahead.take() else {
            return self.take_all(packets, from, None, events);
        };
        ahead.begin(packets, from);
        let workers = Arc::clone(ahead.workers());
        let mut progress = Progress { taken: from, full: false };
        workers.attend(&mut || progress = self.take_all(packets, from, Some(&mut ahead), events));
        ahead.stop(progress.taken);
        self.ahead = Some(ahead);
        progress
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
            accepted.former.room() >= ROOM_FOR_A_PACKET && accepted.pulses.has_room(ROOM_FOR_A_PACKET)
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
        time_source.pulses_late = self.pulses.late();
        time_source.pulses_unconfirmed = clocks.refuted_signs;
        time_source.pulses_refused = self.pulses.refused();
        let mut line = self.line.counters();
        line.forced_closings += self.former.forced_closings();
        let filing = self.pulses.counters(self.former.events_formed(), self.former.held_events());
        let mut counters = CounterSnapshot::of(packets)
            .and(headers)
            .and(&time_source)
            .and(self.stage.counters())
            .and(&line)
            .join(&self.former.counters())
            .and(&filing);
        let mut notes = self.front.notes();
        notes.extend(self.stage.notes());
        if let Some(Monitors { readouts, .. }) = &self.monitors {
            // What is counted for readouts of the detector is counted for those of monitors, too.
            let of_monitors = readouts.counted().and(&self.pulses.neutrons().0);
            counters = counters.merge(&of_monitors);
            notes.extend(readouts.notes_alongside());
        }
        DetectorLedger {
            sources: self.front.sources(),
            counters,
            masked: self.stage.masked(),
            beam_monitors: self.beam_monitors(),
            pulse_period_ns: self.front.pulse_period().map(ticks::nanoseconds),
            notes,
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn tells_pulses(&self) -> bool {
        true
    }

    fn newest_time_ns(&self) -> Option<u64> {
        let (_, units) = self.line.newest()?;
        Some(ticks::nanoseconds(units))
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.stage.thresholds().map(|thresholds| thresholds.parameters().to_vec()).unwrap_or_default()
    }

    fn earliest_change(&self) -> Option<ChangeTime> {
        self.stage.thresholds()?.earliest(self.line.latest_place_of_readouts(), ticks::nanoseconds)
    }

    fn change(&mut self, change: &Change) -> Result<(), ChangeRefusal> {
        let earliest = self.earliest_change();
        if let Some(ahead) = &mut self.ahead {
            ahead.forget();
        }
        match self.stage.thresholds_mut() {
            Some(thresholds) => thresholds.change(change, earliest, ticks::nanoseconds),
            None => Err(ChangeRefusal::NotOffered("its records have no thresholds")),
        }
    }

    fn memory_bound(&self) -> usize {
        self.get_size() + self.monitors.as_ref().map_or(0, |monitors| monitors.readouts.memory())
    }

    fn confirm_numbers_above(&mut self, packets: u64) {
        self.front.confirm_numbers_above(packets);
    }

    fn set_monitoring(&mut self, on: bool) {
        self.former.set_monitoring(on.then(|| self.stage.monitor_plan()));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.former.monitor()
    }
}
