//! Events and the pulses that arrive on a channel, into order, and each event to its pulse.
//!
//! The signal of a pulse is a run as any other: it may come behind runs that are later, in the same packet or in one after.
//! So runs wait until `sorting.window` of data time has gone by; a run that comes later still is late, and counted. The rules
//! are those of all detectors that put hits into order ([`SourceClocks`]), and an event belongs to the latest pulse at or
//! before it ([`PulseLine`]). What leaves depends on the packets alone, not on how they were cut into batches.

use super::sample_time::{SampleTicks, SampleTime, ticks_in, ticks_in_period};
use super::settings::AdcReadoutSettings;
use crate::ess::{FilingCounters, PeriodCounts, PulseLine};
use crate::event_order::TimedEvent;
use crate::pipeline::Former;
use crate::source_clock::{AcceptedHits, TIME_SIGN};
use crate::source_clocks::{ClockRules, SourceClockCounters, SourceClocks};
use crate::time_order::TimeOrder;
use crate::watermark::Closing;
use evforge_core::event::EventBatch;
use evforge_core::monitor::MonitorData;
use evforge_core::pulse::PulseChannel;
use evforge_wire::adc_readout::LARGEST_PACKET;

/// Bytes of the shortest run: one without samples.
const SHORTEST_RUN: usize = 20;

/// Runs, and the sign of time of a heartbeat, that a packet has at most.
const PACKET_RUNS: usize = LARGEST_PACKET / SHORTEST_RUN + 1;

/// Room that a packet and the release of a quarantine need.
const ROOM_FOR_A_PACKET: usize = 2 * PACKET_RUNS;

/// The converter is the one source.
const CONVERTER: usize = 0;

/// What a sign of time is: its payload.
const PULSE: u32 = 1;
const HEARTBEAT: u32 = 0;

evforge_core::counters! {
    /// Pulses of a channel.
    pub struct PulseChannelCounters: "pulses of a channel" {
        pulse_runs: Leaves(Readouts), Readouts, "Runs of the channel of the pulses that reach its threshold: each is a pulse, and no event.";
        pulse_below_threshold: Discarded(Readouts), Readouts, "Runs of the channel of the pulses without a sample that reaches its threshold.";
        pulses_doubled: Information, Times, "Pulses at the time of another one, or less than half a period after it: they have not begun.";
        pulses_missing: Information, Times, "Periods without a pulse between two pulses that were found.";
        pulses_late: Information, Times, "Pulses found after their time had been closed (sorting.window): events may be filed under the pulse before.";
        pulses_unconfirmed: Information, Times, "Pulses with a jump in time that the next packet did not confirm.";
        pulses_refused: Information, Times, "Pulses that found no room to wait for their time.";
    }
}

/// Where accepted runs go.
#[derive(Debug)]
struct Accepted<'a> {
    order: &'a mut TimeOrder,
    pulses: &'a mut PulseLine<SampleTicks>,
}

impl Accepted<'_> {
    fn has_room(&mut self) -> bool {
        self.order.room() >= PACKET_RUNS && self.pulses.room() >= PACKET_RUNS
    }
}

impl AcceptedHits<TimedEvent> for Accepted<'_> {
    fn accept(&mut self, target: usize, epoch: u32, hit: TimedEvent) {
        match (target, hit.pixel_id) {
            (TIME_SIGN, PULSE) => self.pulses.add(epoch, hit.time),
            (TIME_SIGN, _) => {}
            _ => self.order.push(epoch, hit),
        }
    }

    fn late_sign(&mut self, epoch: u32, time: u64) {
        self.pulses.add_late(epoch, time);
    }
}

/// Runs that wait for their time, and the pulses that they go to.
#[derive(Debug, get_size2::GetSize)]
pub struct Filing {
    channel: PulseChannel,
    clocks: SourceClocks<TimedEvent>,
    waiting: [TimeOrder; 1],
    closing: Closing,
    pulses: PulseLine<SampleTicks>,
    filed: u64,
    counters: PulseChannelCounters,
}

impl Filing {
    /// For these settings, which have been checked, with this channel of theirs.
    pub fn new(settings: &AdcReadoutSettings, channel: PulseChannel) -> Self {
        let rules = ClockRules::new(&settings.sorting, ticks_in, PACKET_RUNS);
        let pulses = PulseLine::with_unit(ticks_in(channel.max_time_of_flight));
        Self {
            channel,
            clocks: SourceClocks::new(1, &rules),
            waiting: [TimeOrder::new(Self::capacity(settings), 0).with_payload_order()],
            closing: Closing::default(),
            pulses: pulses.of_period(ticks_in_period(channel.frequency)),
            filed: 0,
            counters: PulseChannelCounters::default(),
        }
    }

    fn capacity(settings: &AdcReadoutSettings) -> usize {
        settings.sorting.max_held_hits.max(2 * ROOM_FOR_A_PACKET)
    }

    /// The channel of the pulses.
    pub fn channel(&self) -> PulseChannel {
        self.channel
    }

    /// Begins a packet, for which there is room.
    pub fn begin_packet(&mut self) {
        // The one source is there.
        let _clock = self.clocks.begin_packet(CONVERTER);
    }

    /// Takes an event of the packet under way.
    pub fn push(&mut self, event: TimedEvent) {
        self.judge(0, event);
    }

    /// Takes a run of the channel of the pulses: `edge` is when it reached the threshold, if it has.
    pub fn push_pulse(&mut self, edge: Option<SampleTime>) {
        match edge {
            Some(edge) => {
                self.counters.pulse_runs += 1;
                self.judge(TIME_SIGN, TimedEvent { time: edge.ticks(), pixel_id: PULSE });
            }
            None => self.counters.pulse_below_threshold += 1,
        }
    }

    /// Takes the time of a heartbeat: what waits need not wait for the next run. One from the past says nothing.
    pub fn push_heartbeat(&mut self, time: SampleTime) {
        let front = self.clocks.newest().map(|(_, front)| front);
        if front.is_some_and(|front| time.ticks() > front) {
            self.judge(TIME_SIGN, TimedEvent { time: time.ticks(), pixel_id: HEARTBEAT });
        }
    }

    fn judge(&mut self, target: usize, event: TimedEvent) {
        let Self { clocks, waiting: [order], pulses, .. } = self;
        if let Some(clock) = clocks.clock(CONVERTER) {
            clock.judge(target, event, &mut Accepted { order, pulses });
        }
    }

    /// Ends a packet: closes what can be closed, if that is worth while.
    pub fn end_packet(&mut self) {
        let Self { clocks, waiting: [order], closing, pulses, .. } = self;
        let watermark = clocks.follow(&mut Accepted { order, pulses }, Accepted::has_room);
        if closing.is_worthwhile(order.pending()) || pulses.is_closing_worthwhile() {
            closing.advance(watermark);
        }
    }

    /// Makes sure that the runs of one more packet fit, by closing more than the watermark allows if it must be. False if
    /// closed events have to be drained first.
    fn make_room(&mut self) -> bool {
        let Self { clocks, waiting: [order], closing, pulses, .. } = self;
        if order.room() >= ROOM_FOR_A_PACKET && pulses.room() >= ROOM_FOR_A_PACKET {
            return true;
        }
        let latest = order.latest_pending().max(pulses.latest_pending());
        let mut accepted = Accepted { order, pulses };
        let target = clocks.force(closing.target(), latest, &mut accepted, Accepted::has_room);
        closing.advance(target);
        false
    }

    /// Closes everything. True if runs in quarantine wait for room.
    fn close(&mut self) -> bool {
        let Self { clocks, waiting: [order], closing, pulses, .. } = self;
        let mut accepted = Accepted { order, pulses };
        let held_back = clocks.release(&mut accepted, closing.target(), |accepted| {
            accepted.order.room() >= ROOM_FOR_A_PACKET && accepted.pulses.room() >= ROOM_FOR_A_PACKET
        });
        let latest = order.latest_pending().max(pulses.latest_pending()).map_or(0, |(epoch, _)| epoch);
        closing.advance((latest.max(clocks.watermark().0), u64::MAX));
        held_back
    }

    /// Hands out the pulses and events of the time that is closed. False if the batch filled up before the end.
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        loop {
            let Self { waiting: [order], closing, pulses, .. } = self;
            let base = order.base();
            while let Some(key) = order.closed().first() {
                if !pulses.file(closing.epoch(), key.unpack(base), events) {
                    return false;
                }
                order.read_off(1);
                self.filed += 1;
            }
            if !pulses.pass((closing.epoch(), closing.closed()), events) {
                return false;
            }
            if closing.ends_epoch() {
                closing.begin_epoch();
            }
            if !closing.step(&mut self.waiting) {
                return true;
            }
        }
    }

    /// Events that wait for their time, without those in quarantine.
    pub fn held(&self) -> u64 {
        self.waiting[0].held()
    }

    /// Events handed out so far.
    pub fn filed(&self) -> u64 {
        self.filed
    }

    /// What a person should know, in a whole sentence: that no pulse comes.
    pub fn note(&self) -> Option<String> {
        let PulseChannelCounters { pulse_runs: 0, pulse_below_threshold: low, .. } = self.counters else {
            return None;
        };
        let (channel, threshold) = (self.channel.channel, self.channel.threshold);
        let came = match low {
            0 => "nothing has come on it".to_owned(),
            low => format!(
                "{low} runs have come on it, and none reaches the threshold of {threshold} (pulses.threshold)"
            ),
        };
        (low > 0 || self.filed > 0)
            .then(|| format!("There is no pulse on channel {channel} (pulses.channel), so no event has a time of flight: {came}."))
    }

    /// What has been counted so far.
    pub fn counters(&self) -> (PulseChannelCounters, SourceClockCounters, FilingCounters) {
        let PeriodCounts { doubled, missing } = self.pulses.period_counts();
        let pulses = PulseChannelCounters {
            pulses_doubled: doubled,
            pulses_missing: missing,
            pulses_late: self.pulses.late(),
            pulses_unconfirmed: self.clocks.clock_counts().refuted_signs,
            pulses_refused: self.pulses.refused(),
            ..self.counters
        };
        // What is handed out is formed in the same step.
        (pulses, self.clocks.counters(), self.pulses.counters(self.filed, 0))
    }
}

/// None: events leave as they come.
impl Former for Option<Filing> {
    type Monitor = MonitorData;

    fn drain(&mut self, _: Option<&mut MonitorData>, events: &mut EventBatch) -> bool {
        self.as_mut().is_none_or(|filing| filing.drain(events))
    }

    fn make_room(&mut self) -> bool {
        self.as_mut().is_none_or(Filing::make_room)
    }

    fn publish_closed(&mut self) {
        self.iter_mut().for_each(|filing| filing.closing.advance(filing.clocks.watermark()));
    }

    fn close(&mut self, _: Option<&mut MonitorData>) -> bool {
        self.as_mut().is_some_and(Filing::close)
    }

    fn newest_time_ns(&self) -> Option<u64> {
        let (_, ticks) = self.as_ref()?.clocks.newest()?;
        Some(SampleTime::of_ticks(ticks).nanoseconds())
    }
}
