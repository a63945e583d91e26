//! The VMM3a records of a packet to hits.

use super::counters::{TimeSourceCounters, VmmCounters};
use super::former::Placed;
use super::front::FrontPacket;
use super::settings::VmmSettings;
use super::stage::ReadoutStage;
use super::ticks;
use super::unwired::NotUsed;
use super::wiring::{LARGEST_ADC, WiredChannel, Wiring};
use crate::packet_gate::Discard;
use crate::source_clock::{AcceptedHits, SourceClock};
use crate::threshold_steps::ThresholdSteps;
use crate::watermark::DataTime;
use evforge_core::ledger::MaskedChannel;
use evforge_core::monitor::{MonitorData, MonitorPlan};
use evforge_wire::ess::{RecordFault, RecordRules, Vmm3aPayload, Vmm3aReadout};

/// Readouts of a packet by what happened to them, for those counters that change often.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    hits: u64,
    over_threshold: u64,
    below_threshold: u64,
    full_scale: u64,
    before_pulse: u64,
    before_previous: u64,
}

/// What turns readouts into hits.
#[derive(Debug)]
pub struct VmmStage {
    wiring: Wiring,
    rules: RecordRules,
    over_threshold_counts: bool,
    thresholds: ThresholdSteps,
    counters: VmmCounters,
}

impl VmmStage {
    /// `reach` is how far before the front of its queue a readout may be, in units of [`ticks`].
    pub(super) fn new(settings: &VmmSettings, rules: RecordRules, reach: u64) -> Self {
        Self {
            wiring: Wiring::new(settings),
            thresholds: ThresholdSteps::new(&settings.thresholds, reach),
            rules,
            over_threshold_counts: settings.over_threshold_counts,
            counters: VmmCounters::default(),
        }
    }

    #[cold]
    fn count_fault(&mut self, readout: Vmm3aReadout) {
        let counters = &mut self.counters;
        let Some(fault) = readout.fault(&self.rules) else { return };
        *match fault {
            RecordFault::Fibre => &mut counters.impossible_fibre,
            RecordFault::Fen => &mut counters.impossible_fen,
            RecordFault::Length => &mut counters.wrong_length,
            RecordFault::TimeFraction => &mut counters.wrong_time_fraction,
            RecordFault::Bc => &mut counters.impossible_bunch_crossing,
            RecordFault::Adc => &mut counters.impossible_amplitude,
            RecordFault::Vmm => &mut counters.impossible_chip,
            RecordFault::Channel => &mut counters.impossible_channel,
        } += 1;
    }

    /// A sound readout that becomes no hit whatever its amplitude.
    #[cold]
    fn count_unused(&mut self, readout: Vmm3aReadout, channel: WiredChannel) {
        let counters = &mut self.counters;
        if readout.is_clustered() {
            counters.clustered_readouts += 1;
            return;
        }
        if channel.is_used() {
            counters.calibration_readouts += 1;
            return;
        }
        *match self.wiring.explain(readout) {
            NotUsed::Ring => &mut counters.unmapped_ring,
            NotUsed::Fen => &mut counters.unmapped_fen,
            NotUsed::Hybrid => &mut counters.unmapped_hybrid,
            NotUsed::Channel => &mut counters.unmapped_channel,
            NotUsed::Masked => &mut counters.masked,
        } += 1;
    }

    /// The threshold of a readout, if thresholds may change with its time.
    #[cold]
    fn threshold_at<T: Placed>(
        &mut self,
        index: usize,
        channel: WiredChannel,
        clock: &SourceClock<T>,
        time: u64,
    ) -> u16 {
        let time = clock.place_of_readout(time);
        if !clock.has_front() {
            self.thresholds.note_without_front(time);
        }
        self.thresholds.at(self.wiring.class(index), channel.threshold, time)
    }

    #[inline(always)]
    fn take_records<T: Placed, const CHANGES: bool>(
        &mut self,
        front: &FrontPacket<'_>,
        payload: &Vmm3aPayload<'_>,
        clock: &mut SourceClock<T>,
        accepted: &mut impl AcceptedHits<T>,
        time_source: &mut TimeSourceCounters,
    ) {
        let count = self.rules.clock;
        let pulse = ticks::of(front.packet.pulse, count);
        let previous = ticks::of(front.packet.previous_pulse, count);
        let mut tally = Tally::default();
        self.counters.readouts += payload.len() as u64;
        for readout in payload.readouts() {
            #[cfg(test)]
            if crate::ledger_tests::vanishes() {
                continue;
            }
            if !readout.is_sound(&self.rules) {
                self.count_fault(readout);
                continue;
            }
            if readout.length_is_in_bits() {
                self.counters.relaxed_record_length += 1;
            }
            let index = self.wiring.index(readout);
            let channel = self.wiring.channel(index);
            tally.over_threshold += u64::from(readout.over_threshold());
            if !channel.is_used() | !readout.is_plain() {
                self.count_unused(readout, channel);
                continue;
            }
            let stamp = ticks::of(readout.time(), count);
            tally.before_pulse += u64::from(stamp < pulse);
            tally.before_previous += u64::from(stamp < previous);
            let (amplitude, fine) = self.wiring.correct(index, readout);
            let passes = self.over_threshold_counts & readout.over_threshold();
            let threshold = if CHANGES {
                self.threshold_at(index, channel, clock, stamp.saturating_add_signed(fine))
            } else {
                channel.threshold
            };
            if (amplitude < threshold) & !passes {
                tally.below_threshold += 1;
                continue;
            }
            let Some(time) = stamp.checked_add_signed(fine) else {
                self.counters.impossible_time += 1;
                continue;
            };
            tally.hits += 1;
            tally.full_scale += u64::from(amplitude == LARGEST_ADC);
            let hit = T::placed(channel.place(), time, amplitude);
            clock.judge(usize::from(channel.target), hit, accepted);
        }
        self.counters.hits += tally.hits;
        self.counters.over_threshold += tally.over_threshold;
        self.counters.below_threshold += tally.below_threshold;
        self.counters.full_scale += tally.full_scale;
        time_source.readouts_before_pulse += tally.before_pulse;
        time_source.readouts_before_previous_pulse += tally.before_previous;
    }
}

impl<T: Placed> ReadoutStage<T> for VmmStage {
    type Payload<'a> = Vmm3aPayload<'a>;
    type Counters = VmmCounters;

    #[inline]
    fn parse<'a>(&self, payload: &'a [u8]) -> Result<Vmm3aPayload<'a>, Discard<VmmCounters>> {
        Vmm3aPayload::parse(payload).map_err(|_| RAGGED)
    }

    #[inline]
    fn take<'a>(
        &mut self,
        front: &FrontPacket<'a>,
        payload: &Vmm3aPayload<'a>,
        clock: &mut SourceClock<T>,
        accepted: &mut impl AcceptedHits<T>,
        time_source: &mut TimeSourceCounters,
    ) {
        if self.thresholds.are_waiting() || !clock.has_front() {
            self.take_records::<T, true>(front, payload, clock, accepted, time_source);
        } else {
            self.take_records::<T, false>(front, payload, clock, accepted, time_source);
        }
    }

    #[cold]
    fn watch(&self, payload: &Vmm3aPayload<'_>, monitor: &mut MonitorData) {
        let channels = self.wiring.plan().channel_count();
        for readout in payload.readouts().filter(|readout| readout.is_sound(&self.rules)) {
            let index = self.wiring.index(readout);
            if index < channels {
                monitor.readout(index, readout.adc());
            }
        }
    }

    fn thresholds(&self) -> Option<&ThresholdSteps> {
        Some(&self.thresholds)
    }

    fn thresholds_mut(&mut self) -> Option<&mut ThresholdSteps> {
        Some(&mut self.thresholds)
    }

    #[inline]
    fn settle(&mut self, watermark: DataTime) {
        if self.thresholds.settle_at(watermark) {
            let Self { thresholds, wiring, .. } = self;
            thresholds.settle(watermark, |class, value| wiring.set_class(class, value));
        }
    }

    fn counters(&self) -> &VmmCounters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut VmmCounters {
        &mut self.counters
    }

    fn plan(&self) -> &MonitorPlan {
        self.wiring.plan()
    }

    fn masked(&self) -> Vec<MaskedChannel> {
        self.wiring.masked()
    }

    fn notes(&self) -> Vec<String> {
        self.wiring.unwired().note().into_iter().collect()
    }

    fn memory_bound(&self) -> usize {
        self.wiring.memory_bound()
    }
}

const RAGGED: Discard<VmmCounters> = |counters| &mut counters.packets_ragged;
