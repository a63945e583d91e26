//! The common header: which packets are used, who sent them, and what they say about the pulses.

use super::counters::{HeaderCounters, TimeSourceCounters};
use super::pulse_period;
use super::settings::EssSettings;
use super::ticks;
use super::time_source::{NewPulses, PulseRules, PulseWatch, count_fault, count_flags};
use crate::packet_gate::{Discard, PacketCounters, PacketGate};
use evforge_core::ledger::SourceLedger;
use evforge_core::packet::Packet;
use evforge_core::sequence::{SequenceCounts, SequenceTracker, Stamp};
use evforge_wire::ess::{
    EssPacket, HeaderFault, HeaderRelaxations, HeaderRules, LARGEST_PACKET, OUTPUT_QUEUES, SEQUENCE_BITS,
};

/// Sources of a detector: the output queues and, where that rule is relaxed, one that does not exist. Beam monitors that
/// send alongside have as many again.
pub(super) const SOURCES: usize = OUTPUT_QUEUES + 1;

/// Distances of pulses that must have been seen before anything is said about their period.
const ENOUGH_PULSES: u64 = 3;

/// A sound packet and its source.
#[derive(Clone, Copy, Debug)]
pub struct FrontPacket<'a> {
    /// Place of its output queue among the sources.
    pub source: usize,
    /// Whether it is of the beam monitors that send alongside the detector.
    pub is_monitor: bool,
    /// The header and the records.
    pub packet: EssPacket<'a>,
    /// Pulses that it tells for the first time, the earlier one first, in units of [`ticks`].
    pub new_pulses: NewPulses,
}

/// One output queue.
#[derive(Debug, get_size2::GetSize)]
struct Queue {
    sequence: SequenceTracker,
    pulses: PulseWatch,
}

/// What all packets pass first.
#[derive(Debug, get_size2::GetSize)]
pub struct Front {
    #[get_size(ignore)]
    rules: HeaderRules,
    odd_output_queue: Option<u8>,
    expected_queues: Vec<u8>,
    pulse_rules: PulseRules,
    queues: Vec<Queue>,
    /// With monitors alongside: the numbers of both in each queue together, as some electronics count them.
    joint: Vec<SequenceTracker>,
    gate: PacketGate,
    counters: HeaderCounters,
    /// Filled here as far as headers go; the times of readouts are added by who looks at them.
    pub time_source: TimeSourceCounters,
}

impl Front {
    /// For settings that have been checked.
    pub fn new(settings: &EssSettings) -> Self {
        let tracker = || SequenceTracker::of_packets(SEQUENCE_BITS, u64::BITS);
        let queue = || Queue { sequence: tracker(), pulses: PulseWatch::default() };
        let kinds = settings.kinds_of_packets();
        Self {
            rules: settings.header,
            odd_output_queue: settings.odd_output_queue,
            expected_queues: settings.output_queues.clone(),
            pulse_rules: PulseRules {
                clock: settings.header.clock,
                period: settings.pulse_period.map(ticks::in_duration),
            },
            queues: (0..kinds * SOURCES).map(|_| queue()).collect(),
            joint: (0..(kinds - 1) * SOURCES).map(|_| tracker()).collect(),
            gate: PacketGate::new(LARGEST_PACKET),
            counters: HeaderCounters::default(),
            time_source: TimeSourceCounters::default(),
        }
    }

    /// Steps ahead by more than this in the numbers of a queue must be confirmed by the next packet.
    pub fn confirm_numbers_above(&mut self, packets: u64) {
        self.queues.iter_mut().for_each(|queue| queue.sequence.confirm_above(packets));
        self.joint.iter_mut().for_each(|sequence| sequence.confirm_above(packets));
    }

    /// Number of sources.
    pub fn source_count(&self) -> usize {
        self.queues.len()
    }

    /// A packet, if its header is sound. Nothing is counted.
    #[inline]
    pub fn sound<'a>(&self, bytes: &'a [u8]) -> Option<EssPacket<'a>> {
        EssPacket::parse(bytes, &self.rules).ok()
    }

    /// Checks a packet. None, and counted, if it must not be used; otherwise [`Front::settle`] follows.
    #[inline]
    pub fn admit<'a>(&mut self, packet: &Packet<'a>) -> Option<FrontPacket<'a>> {
        let numbering = EssPacket::numbering(packet.bytes, &self.rules);
        let source =
            numbering.and_then(|numbering| self.source(numbering.output_queue, numbering.detector_type));
        let arrival = source.zip(numbering).and_then(|(source, numbering)| {
            let stamp = Stamp::of(packet.bytes, packet.origin.arrival_ns, Some(numbering.pulse.ordinal()));
            let number = u64::from(numbering.sequence);
            if let Some(joint) = self.joint.get_mut(source % SOURCES) {
                joint.observe_packet(number, stamp);
            }
            Some(self.queues.get_mut(source)?.sequence.observe_packet(number, stamp))
        });
        if !self.gate.admit(packet, arrival) {
            return None;
        }
        let refusal: Discard<HeaderCounters> = match (EssPacket::parse(packet.bytes, &self.rules), source) {
            (Ok(sound), Some(source)) => {
                self.count(&sound);
                let queue = self.queues.get_mut(source)?;
                let new_pulses = queue.pulses.see(&sound, &self.pulse_rules, &mut self.time_source);
                return Some(FrontPacket {
                    source,
                    is_monitor: source >= SOURCES,
                    packet: sound,
                    new_pulses,
                });
            }
            (Ok(_), None) => reason(HeaderFault::OutputQueue),
            (Err(fault), _) => {
                count_fault(fault, &mut self.time_source);
                reason(fault)
            }
        };
        self.gate.settle(packet, Err(refusal), &mut self.counters);
        None
    }

    /// What happened to a packet that was admitted: used, or discarded for a reason of `own`.
    #[inline]
    pub fn settle<C>(&mut self, packet: &Packet<'_>, outcome: Result<(), Discard<C>>, own: &mut C) {
        self.gate.settle(packet, outcome, own);
    }

    /// A packet that was admitted is discarded for a reason that has been counted elsewhere.
    pub fn discard(&mut self, packet: &Packet<'_>) {
        self.gate.discard(packet);
    }

    /// The counters of packets and headers.
    pub fn counters(&self) -> (&PacketCounters, &HeaderCounters) {
        (self.gate.counters(), &self.counters)
    }

    /// The queues that have sent anything.
    pub fn sources(&self) -> Vec<SourceLedger> {
        let mut sources = Vec::new();
        for place in 0..SOURCES {
            let of =
                |place: usize| self.queues.get(place).filter(|queue| queue.sequence.counts().received > 0);
            let name = self.queue_name(place);
            let ledger = |name: String, queue: &Queue| SourceLedger::of_sequence(name, &queue.sequence);
            match (of(place), of(place + SOURCES)) {
                (Some(detector), Some(monitors)) => {
                    // Whether both count together is found out: the other way of counting would show a gap, or numbers that start over, at each
                    // change.
                    let odd = |SequenceCounts { lost, duplicated, unconfirmed, restarts, .. }| {
                        lost + duplicated + unconfirmed + restarts
                    };
                    let apart = odd(detector.sequence.counts()) + odd(monitors.sequence.counts());
                    let joint = self.joint.get(place).filter(|joint| odd(joint.counts()) < apart);
                    if let Some(joint) = joint {
                        sources.push(SourceLedger::of_sequence(name, joint));
                    } else {
                        sources.push(ledger(format!("{name}, detector"), detector));
                        sources.push(ledger(format!("{name}, beam monitors"), monitors));
                    }
                }
                (Some(detector), None) => sources.push(ledger(name, detector)),
                (None, Some(monitors)) => sources.push(ledger(format!("{name}, beam monitors"), monitors)),
                (None, None) => {}
            }
        }
        sources
    }

    /// The output queue at a place among the sources, as people call it.
    fn queue_name(&self, place: usize) -> String {
        match self.odd_output_queue {
            Some(odd) if place == OUTPUT_QUEUES => format!("output queue {odd}"),
            _ => format!("output queue {place}"),
        }
    }

    /// The period of the pulses in units of [`ticks`]: that of the queue that shows it most clearly.
    pub fn pulse_period(&self) -> Option<u64> {
        let settled = self.queues.iter().filter_map(|queue| queue.pulses.period.settled(ENOUGH_PULSES));
        settled.max().map(|(_, period)| period)
    }

    /// What the headers say that the configuration does not.
    pub fn notes(&self) -> Vec<String> {
        self.queue_note().into_iter().chain(self.period_note()).collect()
    }

    fn queue_note(&self) -> Option<String> {
        let is_expected =
            |queue: &usize| self.expected_queues.iter().any(|&known| usize::from(known) == *queue);
        let sends = |queue: &usize| {
            let kinds = [*queue, *queue + SOURCES];
            let queues = kinds.into_iter().filter_map(|place| self.queues.get(place));
            queues.map(|queue| queue.sequence.counts().received).sum::<u64>() > 0
        };
        let sending: Vec<usize> = (0..OUTPUT_QUEUES).filter(sends).collect();
        let silent = (0..OUTPUT_QUEUES).filter(is_expected).filter(|queue| !sends(queue)).count();
        let unlisted = sending.iter().filter(|queue| !is_expected(queue)).count();
        let differs = !self.expected_queues.is_empty() && !sending.is_empty() && silent + unlisted > 0;
        differs.then(|| {
            format!(
                "output queues {sending:?} send, but the configuration lists {:?}: all are used; set ess.output_queues = \
                 {sending:?}, so that time waits for them from the beginning and for no others",
                self.expected_queues
            )
        })
    }

    fn period_note(&self) -> Option<String> {
        let configured = self.pulse_rules.period.filter(|&period| period > 0)?;
        let found = self.pulse_period().filter(|&found| !pulse_period::is_same(found, configured))?;
        let milliseconds = |units: u64| ticks::nanoseconds(units) as f64 / 1e6;
        let hertz = |units: u64| 1e3 / milliseconds(units);
        Some(format!(
            "pulses come every {:.3} ms ({:.3} Hz), not every {:.3} ms ({:.3} Hz): set ess.pulse_period = \"{}ns\", or \
             leave it out",
            milliseconds(found),
            hertz(found),
            milliseconds(configured),
            hertz(configured),
            ticks::nanoseconds(found)
        ))
    }

    /// Place of an output queue among the sources; none if it is not to be used.
    #[inline]
    fn source(&self, output_queue: u8, detector_type: u8) -> Option<usize> {
        let queue = usize::from(output_queue);
        let place = if queue < OUTPUT_QUEUES {
            queue
        } else {
            (self.odd_output_queue == Some(output_queue)).then_some(OUTPUT_QUEUES)?
        };
        let is_monitor = self.rules.monitor_type == Some(detector_type);
        Some(place + if is_monitor { SOURCES } else { 0 })
    }

    #[inline]
    fn count(&mut self, packet: &EssPacket<'_>) {
        let counters = &mut self.counters;
        counters.version_0_packets += u64::from(packet.version == 0);
        counters.version_1_packets += u64::from(packet.version == 1);
        counters.heartbeats += u64::from(packet.is_heartbeat());
        count_flags(packet.relaxed, &mut self.time_source);
        if !packet.relaxed.is_empty() {
            count_relaxed(packet.relaxed, counters);
        }
    }
}

#[cold]
fn count_relaxed(relaxed: HeaderRelaxations, counters: &mut HeaderCounters) {
    let has = |rule| u64::from(relaxed.contains(rule));
    counters.relaxed_type += has(HeaderRelaxations::TYPE);
    counters.relaxed_output_queue += has(HeaderRelaxations::OUTPUT_QUEUE);
    counters.relaxed_timing += has(HeaderRelaxations::TIMING);
    counters.relaxed_time_status += has(HeaderRelaxations::TIME_STATUS);
    counters.relaxed_even_fibre_sync += has(HeaderRelaxations::EVEN_FIBRE_SYNC);
    counters.relaxed_odd_fibre_sync += has(HeaderRelaxations::ODD_FIBRE_SYNC);
    counters.relaxed_time_fraction += has(HeaderRelaxations::TIME_FRACTION);
    counters.relaxed_header_length += has(HeaderRelaxations::LENGTH);
    counters.relaxed_pulse_distance += has(HeaderRelaxations::PULSE_DISTANCE);
}

/// The counter of a header that is not sound.
fn reason(fault: HeaderFault) -> Discard<HeaderCounters> {
    match fault {
        HeaderFault::Empty => |counters| &mut counters.packets_empty,
        HeaderFault::Size => |counters| &mut counters.packets_wrong_size,
        HeaderFault::Padding => |counters| &mut counters.packets_wrong_padding,
        HeaderFault::Version => |counters| &mut counters.packets_wrong_version,
        HeaderFault::Cookie => |counters| &mut counters.packets_wrong_cookie,
        HeaderFault::Length => |counters| &mut counters.packets_wrong_length,
        HeaderFault::Type => |counters| &mut counters.packets_wrong_type,
        HeaderFault::OutputQueue => |counters| &mut counters.packets_wrong_output_queue,
        HeaderFault::TimeSource(_) => |counters| &mut counters.packets_time_source,
        HeaderFault::TimeFraction => |counters| &mut counters.packets_wrong_time_fraction,
        HeaderFault::PulseDistance => |counters| &mut counters.packets_pulse_too_far,
    }
}
