//! The VMM3a records of a packet to hits.

use super::counters::{TimeSourceCounters, VmmCounters};
use super::former::Placed;
use super::front::FrontPacket;
use super::settings::VmmSettings;
use super::stage::ReadoutStage;
use super::ticks;
use super::time_source::NearPulse;
use super::unwired::NotUsed;
use super::wiring::{LARGEST_ADC, WiredChannel, Wiring};
use crate::dealt_hits::{DealtHits, Shares};
use crate::hit::{TargetedHit, Timed};
use crate::packet_gate::Discard;
use crate::source_clock::{AcceptedHits, SourceClock};
use crate::threshold_steps::ThresholdSteps;
use crate::watermark::DataTime;
use evforge_core::ledger::MaskedChannel;
use evforge_core::monitor::{MonitorData, MonitorPlan};
use evforge_wire::ess::{
    EssPacket, LARGEST_PACKET, RECORD, RecordFault, RecordRules, Vmm3aPayload, Vmm3aReadout,
};
use std::sync::Arc;

/// No packet has more readouts: all records have the same size.
pub(super) const PACKET_READOUTS: usize = LARGEST_PACKET / RECORD;

/// Readouts of a packet by what happened to them, for those counters that change often.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
struct Tally {
    hits: u64,
    over_threshold: u64,
    below_threshold: u64,
    full_scale: u64,
    impossible_time: u64,
}

/// What the records of a packet are: its hits, and what is left to be counted. It has room for all readouts of a packet.
#[derive(Debug, get_size2::GetSize)]
pub struct PacketHits {
    hits: Box<[TargetedHit]>,
    count: usize,
    /// The times that they lie between, both included.
    times: (u64, u64),
    left: Left,
    /// The hits once more, dealt out among those who form, if there are several.
    dealt: DealtHits,
}

/// What is to be counted of the records of a packet.
#[derive(Debug, get_size2::GetSize)]
struct Left {
    /// Which are faulty, or become no hits whatever their amplitudes.
    unusual: Vec<u16>,
    /// The earliest time stamp of the others.
    earliest: u64,
    tally: Tally,
}

impl Default for PacketHits {
    fn default() -> Self {
        let left = Left {
            unusual: Vec::with_capacity(PACKET_READOUTS),
            earliest: u64::MAX,
            tally: Tally::default(),
        };
        let hits = vec![TargetedHit::default(); PACKET_READOUTS].into();
        Self { hits, count: 0, times: (u64::MAX, 0), left, dealt: DealtHits::default() }
    }
}

impl PacketHits {
    fn clear(&mut self) {
        (self.count, self.times) = (0, (u64::MAX, 0));
        self.dealt.begin();
        self.left.unusual.clear();
        (self.left.earliest, self.left.tally) = (u64::MAX, Tally::default());
    }
}

/// What is done with records.
trait TakeHits {
    /// The threshold of a channel, for a readout at this time.
    fn threshold(&mut self, index: usize, channel: WiredChannel, time: u64) -> u16;
    /// Takes a hit.
    fn take<T: Timed>(&mut self, target: u16, hit: T);
}

/// All hits of a packet are kept.
struct Keep<'a> {
    hits: &'a mut [TargetedHit],
    count: usize,
    times: (u64, u64),
}

impl TakeHits for Keep<'_> {
    #[inline(always)]
    fn threshold(&mut self, _: usize, channel: WiredChannel, _: u64) -> u16 {
        channel.threshold
    }

    #[inline(always)]
    fn take<T: Timed>(&mut self, target: u16, hit: T) {
        if let Some(place) = self.hits.get_mut(self.count) {
            let (time, payload) = (hit.time(), hit.payload());
            *place = TargetedHit { time, payload, target: target.into() };
            self.times = (self.times.0.min(time), self.times.1.max(time));
            self.count += 1;
        }
    }
}

/// Each hit is judged at once: the threshold of the next one depends on what it says about the clock.
struct JudgeAtOnce<'a, H, A> {
    thresholds: &'a mut ThresholdSteps,
    wiring: &'a Wiring,
    clock: &'a mut SourceClock<H>,
    accepted: &'a mut A,
}

impl<H: Timed, A: AcceptedHits<H>> TakeHits for JudgeAtOnce<'_, H, A> {
    fn threshold(&mut self, index: usize, channel: WiredChannel, time: u64) -> u16 {
        let time = self.clock.place_of_readout(time);
        if !self.clock.has_front() {
            self.thresholds.note_without_front(time);
        }
        self.thresholds.at(self.wiring.class(index), channel.threshold, time)
    }

    fn take<T: Timed>(&mut self, target: u16, hit: T) {
        self.clock.judge(target.into(), H::of(hit.time(), hit.payload()), self.accepted);
    }
}

/// How records are read.
#[derive(Debug, get_size2::GetSize)]
struct Records {
    wiring: Wiring,
    #[get_size(ignore)]
    rules: RecordRules,
    over_threshold_counts: bool,
}

/// What turns readouts into hits.
#[derive(Debug, get_size2::GetSize)]
pub struct VmmStage {
    records: Records,
    thresholds: ThresholdSteps,
    counters: VmmCounters,
    /// For packets that were not decoded ahead.
    packet: Option<Box<PacketHits>>,
    /// Among whom hits that are decoded ahead are dealt out.
    #[get_size(ignore)]
    shares: Option<Arc<Shares>>,
}

impl Records {
    #[inline(always)]
    fn read<T: Placed>(
        &self,
        packet: &EssPacket<'_>,
        payload: &Vmm3aPayload<'_>,
        left: &mut Left,
        take: &mut impl TakeHits,
    ) {
        let Self { wiring, rules, .. } = self;
        let Left { unusual, earliest, tally } = left;
        let near_pulse = NearPulse::of(packet, rules.clock);
        let (mut first_stamp, mut counts) = (u64::MAX, Tally::default());
        for (place, readout) in payload.readouts().enumerate() {
            #[cfg(test)]
            if crate::ledger_tests::vanishes() {
                continue;
            }
            let index = wiring.index(readout);
            let channel = wiring.channel(index);
            let stamp = ticks::of(readout.time(), rules.clock);
            let is_near = near_pulse.has(stamp);
            if !(readout.is_sound(rules) & channel.is_used() & readout.is_plain() & is_near) {
                unusual.push(place as u16);
                continue;
            }
            counts.over_threshold += u64::from(readout.over_threshold());
            first_stamp = stamp.min(first_stamp);
            let (amplitude, fine) = wiring.correct(index, readout);
            let passes = self.over_threshold_counts & readout.over_threshold();
            let threshold = take.threshold(index, channel, stamp.saturating_add_signed(fine));
            if (amplitude < threshold) & !passes {
                counts.below_threshold += 1;
                continue;
            }
            let Some(time) = stamp.checked_add_signed(fine) else {
                counts.impossible_time += 1;
                continue;
            };
            counts.hits += 1;
            counts.full_scale += u64::from(amplitude == LARGEST_ADC);
            take.take(channel.target, T::placed(channel.place(), time, amplitude));
        }
        (*earliest, *tally) = (first_stamp, counts);
    }
}

impl VmmStage {
    /// `reach` is how far before the front of its queue a readout may be, in units of [`ticks`].
    pub(super) fn new(settings: &VmmSettings, rules: RecordRules, reach: u64) -> Self {
        Self {
            records: Records {
                wiring: Wiring::new(settings),
                rules,
                over_threshold_counts: settings.over_threshold_counts,
            },
            thresholds: ThresholdSteps::new(&settings.thresholds, reach),
            counters: VmmCounters::default(),
            packet: Some(Box::default()),
            shares: None,
        }
    }

    #[cold]
    fn count_fault(&mut self, readout: Vmm3aReadout) {
        let counters = &mut self.counters;
        let Some(fault) = readout.fault(&self.records.rules) else { return };
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
    fn count_unused(&mut self, readout: Vmm3aReadout, channel: WiredChannel, is_near: bool) {
        let counters = &mut self.counters;
        if readout.is_clustered() {
            counters.clustered_readouts += 1;
            return;
        }
        if channel.is_used() {
            *if readout.is_plain() & !is_near {
                &mut counters.far_from_pulse
            } else {
                &mut counters.calibration_readouts
            } += 1;
            return;
        }
        *match self.records.wiring.explain(readout) {
            NotUsed::Ring => &mut counters.unmapped_ring,
            NotUsed::Fen => &mut counters.unmapped_fen,
            NotUsed::Hybrid => &mut counters.unmapped_hybrid,
            NotUsed::Channel => &mut counters.unmapped_channel,
            NotUsed::Masked => &mut counters.masked,
        } += 1;
    }

    /// Counts the records of a packet by what happened to them.
    fn count(
        &mut self,
        front: &FrontPacket<'_>,
        payload: &Vmm3aPayload<'_>,
        left: &Left,
        time_source: &mut TimeSourceCounters,
    ) {
        let Left { unusual, earliest, tally } = left;
        let mut over_threshold = tally.over_threshold;
        if !unusual.is_empty() {
            over_threshold += self.count_unusual(&front.packet, payload, unusual);
        }
        let counters = &mut self.counters;
        counters.readouts += payload.len() as u64;
        counters.hits += tally.hits;
        counters.over_threshold += over_threshold;
        counters.below_threshold += tally.below_threshold;
        counters.full_scale += tally.full_scale;
        counters.impossible_time += tally.impossible_time;
        if self.records.rules.length_in_bits {
            let sound = payload.readouts().filter(|readout| readout.is_sound(&self.records.rules));
            counters.relaxed_record_length +=
                sound.filter(|readout| readout.length_is_in_bits()).count() as u64;
        }
        let pulses = [front.packet.pulse, front.packet.previous_pulse];
        let pulses = pulses.map(|pulse| ticks::of(pulse, self.records.rules.clock));
        if pulses.iter().any(|pulse| earliest < pulse) {
            self.count_before(pulses, payload, time_source);
        }
    }

    /// Counts unusual records. Returns how many of them were over the threshold of their channel.
    #[cold]
    fn count_unusual(&mut self, packet: &EssPacket<'_>, payload: &Vmm3aPayload<'_>, unusual: &[u16]) -> u64 {
        let clock = self.records.rules.clock;
        let near_pulse = NearPulse::of(packet, clock);
        let mut over_threshold = 0;
        for readout in unusual.iter().filter_map(|&place| payload.readout(place.into())) {
            if readout.is_sound(&self.records.rules) {
                over_threshold += u64::from(readout.over_threshold());
                let channel = self.records.wiring.channel(self.records.wiring.index(readout));
                let is_near = near_pulse.has(ticks::of(readout.time(), clock));
                self.count_unused(readout, channel, is_near);
            } else {
                self.count_fault(readout);
            }
        }
        over_threshold
    }

    /// Counts the readouts before the pulse of their packet, and before the one before that.
    #[cold]
    fn count_before(
        &self,
        [pulse, previous]: [u64; 2],
        payload: &Vmm3aPayload<'_>,
        time_source: &mut TimeSourceCounters,
    ) {
        for readout in payload.readouts() {
            let is_used = self.records.wiring.channel(self.records.wiring.index(readout)).is_used();
            if readout.is_sound(&self.records.rules) & is_used & readout.is_plain() {
                let stamp = ticks::of(readout.time(), self.records.rules.clock);
                time_source.readouts_before_pulse += u64::from(stamp < pulse);
                time_source.readouts_before_previous_pulse += u64::from(stamp < previous);
            }
        }
    }
}

impl<T: Placed> ReadoutStage<T> for VmmStage {
    type Payload<'a> = Vmm3aPayload<'a>;
    type Counters = VmmCounters;
    type Decoded = PacketHits;

    #[inline]
    fn parse<'a>(&self, payload: &'a [u8]) -> Result<Vmm3aPayload<'a>, Discard<VmmCounters>> {
        Vmm3aPayload::parse(payload).map_err(|_| RAGGED)
    }

    fn deal_out(&mut self, shares: Arc<Shares>) {
        self.shares = Some(shares);
        self.packet = Some(Box::new(ReadoutStage::<T>::room_for_a_packet(self)));
    }

    fn room_for_a_packet(&self) -> PacketHits {
        let room = |shares: &Arc<Shares>| DealtHits::with_room(PACKET_READOUTS, shares.parts());
        PacketHits { dealt: self.shares.as_ref().map(room).unwrap_or_default(), ..PacketHits::default() }
    }

    fn can_decode_ahead(&self) -> bool {
        !self.thresholds.are_waiting()
    }

    #[inline]
    fn decode(&self, packet: &EssPacket<'_>, payload: &Vmm3aPayload<'_>, into: &mut PacketHits) {
        into.clear();
        let mut keep = Keep { hits: &mut into.hits, count: 0, times: into.times };
        self.records.read::<T>(packet, payload, &mut into.left, &mut keep);
        (into.count, into.times) = (keep.count, keep.times);
        if let Some(shares) = &self.shares {
            into.dealt.deal(&into.hits[..into.count], shares);
        }
    }

    #[inline]
    fn take<'a>(
        &mut self,
        front: &FrontPacket<'a>,
        payload: &Vmm3aPayload<'a>,
        decoded: Option<&mut PacketHits>,
        clock: &mut SourceClock<T>,
        accepted: &mut impl AcceptedHits<T>,
        time_source: &mut TimeSourceCounters,
    ) {
        let mut own = self.packet.take().unwrap_or_default();
        let packet = match decoded {
            _ if self.thresholds.are_waiting() || !clock.has_front() => {
                own.clear();
                let Self { records, thresholds, .. } = self;
                let mut judge = JudgeAtOnce { thresholds, wiring: &records.wiring, clock, accepted };
                records.read::<T>(&front.packet, payload, &mut own.left, &mut judge);
                &mut *own
            }
            Some(packet) => packet,
            None => {
                ReadoutStage::<T>::decode(self, &front.packet, payload, &mut own);
                &mut *own
            }
        };
        let hits = &packet.hits[..packet.count];
        clock.judge_packet(hits, packet.times, &mut packet.dealt, accepted);
        self.count(front, payload, &packet.left, time_source);
        self.packet = Some(own);
    }

    #[cold]
    fn watch(&self, payload: &Vmm3aPayload<'_>, monitor: &mut MonitorData) {
        let channels = self.records.wiring.plan().channel_count();
        for readout in payload.readouts().filter(|readout| readout.is_sound(&self.records.rules)) {
            let index = self.records.wiring.index(readout);
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
            let Self { thresholds, records, .. } = self;
            thresholds.settle(watermark, |class, value| records.wiring.set_class(class, value));
        }
    }

    fn counters(&self) -> &VmmCounters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut VmmCounters {
        &mut self.counters
    }

    fn plan(&self) -> &MonitorPlan {
        self.records.wiring.plan()
    }

    fn monitor_plan(&self) -> MonitorPlan {
        self.records.wiring.monitor_plan()
    }

    fn masked(&self) -> Vec<MaskedChannel> {
        self.records.wiring.masked()
    }

    fn notes(&self) -> Vec<String> {
        self.records.wiring.unwired().note().into_iter().collect()
    }
}

const RAGGED: Discard<VmmCounters> = |counters| &mut counters.packets_ragged;
