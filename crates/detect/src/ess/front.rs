//! The common header: which packets are used, who sent them, and what they say about the pulses.

use super::counters::{HeaderCounters, TimeSourceCounters};
use super::settings::EssSettings;
use super::ticks;
use super::time_source::{NewPulses, PulseWatch, count_fault, count_flags};
use crate::packet_gate::{Discard, PacketCounters, PacketGate};
use evforge_core::ledger::SourceLedger;
use evforge_core::packet::Packet;
use evforge_core::sequence::SequenceTracker;
use evforge_wire::ess::{
    EssPacket, HeaderFault, HeaderRelaxations, HeaderRules, LARGEST_PACKET, OUTPUT_QUEUES, SEQUENCE_BITS,
};

/// Sources: the output queues and, where that rule is relaxed, one that does not exist.
pub(super) const SOURCES: usize = OUTPUT_QUEUES + 1;

/// A sound packet and its source.
#[derive(Clone, Copy, Debug)]
pub struct FrontPacket<'a> {
    /// Place of its output queue among the sources.
    pub source: usize,
    /// The header and the records.
    pub packet: EssPacket<'a>,
    /// Pulses that it tells for the first time, the earlier one first, in units of [`ticks`].
    pub new_pulses: NewPulses,
}

/// One output queue.
#[derive(Debug)]
struct Queue {
    sequence: SequenceTracker,
    pulses: PulseWatch,
}

/// What all packets pass first.
#[derive(Debug)]
pub struct Front {
    rules: HeaderRules,
    odd_output_queue: Option<u8>,
    pulse_period: u64,
    queues: Vec<Queue>,
    gate: PacketGate,
    counters: HeaderCounters,
    /// Filled here as far as headers go; the times of readouts are added by who looks at them.
    pub time_source: TimeSourceCounters,
}

impl Front {
    /// For settings that have been checked.
    pub fn new(settings: &EssSettings) -> Self {
        let queue = || Queue { sequence: SequenceTracker::new(SEQUENCE_BITS), pulses: PulseWatch::default() };
        Self {
            rules: settings.header,
            odd_output_queue: settings.odd_output_queue,
            pulse_period: ticks::in_duration(settings.pulse_period),
            queues: (0..SOURCES).map(|_| queue()).collect(),
            gate: PacketGate::new(LARGEST_PACKET),
            counters: HeaderCounters::default(),
            time_source: TimeSourceCounters::default(),
        }
    }

    /// Steps ahead by more than this in the numbers of a queue must be confirmed by the next packet.
    pub fn confirm_numbers_above(&mut self, packets: u64) {
        self.queues.iter_mut().for_each(|queue| queue.sequence.confirm_above(packets));
    }

    /// Memory in bytes.
    pub fn memory_bound() -> usize {
        SOURCES * (size_of::<Queue>() + SequenceTracker::memory_bound())
    }

    /// Checks a packet. None, and counted, if it must not be used; otherwise [`Front::settle`] follows.
    #[inline]
    pub fn admit<'a>(&mut self, packet: &Packet<'a>) -> Option<FrontPacket<'a>> {
        let numbering = EssPacket::numbering(packet.bytes, &self.rules);
        let source = numbering.and_then(|numbering| self.source(numbering.output_queue));
        let arrival = source.zip(numbering).and_then(|(source, numbering)| {
            Some(
                self.queues
                    .get_mut(source)?
                    .sequence
                    .observe_at(u64::from(numbering.sequence), packet.origin.arrival_ns),
            )
        });
        if !self.gate.admit(packet, arrival) {
            return None;
        }
        let refusal: Discard<HeaderCounters> = match (EssPacket::parse(packet.bytes, &self.rules), source) {
            (Ok(sound), Some(source)) => {
                self.count(&sound);
                let queue = self.queues.get_mut(source)?;
                let new_pulses = queue.pulses.see(&sound, self.pulse_period, &mut self.time_source);
                return Some(FrontPacket { source, packet: sound, new_pulses });
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

    /// The counters of packets and headers.
    pub fn counters(&self) -> (&PacketCounters, &HeaderCounters) {
        (self.gate.counters(), &self.counters)
    }

    /// The queues that have sent anything.
    pub fn sources(&self) -> Vec<SourceLedger> {
        let name = |place: usize| match self.odd_output_queue {
            Some(odd) if place == OUTPUT_QUEUES => format!("output queue {odd}"),
            _ => format!("output queue {place}"),
        };
        let numbered = self.queues.iter().enumerate();
        numbered
            .filter(|(_, queue)| queue.sequence.counts().received > 0)
            .map(|(place, queue)| SourceLedger::of_sequence(name(place), &queue.sequence))
            .collect()
    }

    /// Place of an output queue among the sources; none if it is not to be used.
    #[inline]
    fn source(&self, output_queue: u8) -> Option<usize> {
        let place = usize::from(output_queue);
        if place < OUTPUT_QUEUES {
            return Some(place);
        }
        (self.odd_output_queue == Some(output_queue)).then_some(OUTPUT_QUEUES)
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
