//! What a receiver keeps about one stream: identifiers, words, packets of no use.

use super::histogram::WordHistogram;
use crate::link::receive::{Arrivals, Dropped, LinkAccount, QueuedAccount};
use evforge_core::packet::Packet;
use evforge_core::sequence::{SequenceCounts, SequenceTracker};
use evforge_wire::drop::{DropLayout, DropPacket, JumpCounts, JumpTracker, Order, Rejection, Scramble};

evforge_core::counters! {
    /// Packets of a DROP stream.
    pub struct DropCounters: "drop" {
        packets_received: Enters(Packets), Packets, "UDP datagrams of the stream, as the socket handed them over.";
        packets_counted: Leaves(Packets), Packets, "Packets whose words went into the histogram.";
        packets_not_counted: Leaves(Packets), Packets, "Packets whose identifiers were checked and whose words were not counted, as asked (--count off).";
        bytes_received: Information, Bytes, "UDP payload bytes of all packets received, headers of the stream included.";
        payload_bytes: Information, Bytes, "Bytes behind the headers of the packets counted and, with --count off, not counted.";
        padding_bytes: Information, Bytes, "Bytes behind the payload that the header announced; in no histogram.";
        packets_dropped: Discarded(Packets), Packets, "Packets that were received and dropped because the queue to the worker of the stream was full (--workers); their identifiers are missing.";
        packets_cut: Discarded(Packets), Packets, "Packets larger than the receiver's memory for one.";
        packets_too_short: Discarded(Packets), Packets, "Packets that end before their header does.";
        packets_wrong_magic: Discarded(Packets), Packets, "Packets of another protocol (layout P1: not 0xD709 at their beginning).";
        packets_wrong_version: Discarded(Packets), Packets, "Packets of another version of layout P1.";
        packets_cut_payload: Discarded(Packets), Packets, "Packets that end before the payload that their header announces does.";
    }
}

/// Takes the packets of one stream in the order of their arrival.
///
/// Taking a packet does not allocate.
#[derive(Clone, Debug)]
pub struct StreamAccount {
    layout: DropLayout,
    scramble: Option<Scramble>,
    jumps: JumpTracker,
    sequence: SequenceTracker,
    /// None if words are not counted.
    histogram: Option<WordHistogram>,
    counters: DropCounters,
    arrivals: Arrivals,
}

impl StreamAccount {
    /// For packets of this layout whose identifiers come in this order.
    pub fn new(layout: DropLayout, order: Order) -> Self {
        Self {
            layout,
            scramble: order.scramble(layout.width()),
            jumps: JumpTracker::new(layout.width()),
            sequence: SequenceTracker::new(layout.width().bits()),
            histogram: Some(WordHistogram::default()),
            counters: DropCounters::default(),
            arrivals: Arrivals::default(),
        }
    }

    /// Checks identifiers, and does not count words.
    #[must_use]
    pub fn without_words(mut self) -> Self {
        self.histogram = None;
        self
    }

    /// Takes the next packet. One of no use is counted under its reason; its identifier counts if it has one, so
    /// that a damaged packet is not taken for a lost one.
    #[inline]
    pub fn take(&mut self, packet: &Packet<'_>) {
        self.counters.packets_received += 1;
        self.counters.bytes_received += u64::from(packet.original_length);
        self.arrivals.take(packet);
        if packet.is_cut() {
            self.counters.packets_cut += 1;
            return self.identify(self.layout.identifier(packet.bytes));
        }
        match DropPacket::parse(&self.layout, packet.bytes) {
            Ok(parsed) => {
                self.identify(Some(parsed.header.identifier));
                self.counters.payload_bytes += parsed.payload.len() as u64;
                self.counters.padding_bytes += parsed.padding as u64;
                if let Some(histogram) = &mut self.histogram {
                    self.counters.packets_counted += 1;
                    histogram.count(parsed.payload);
                } else {
                    self.counters.packets_not_counted += 1;
                }
            }
            Err(reason) => self.reject(reason, packet.bytes),
        }
    }

    /// What the jumps of the identifiers report, by the paper's rules.
    pub fn jumps(&self) -> JumpCounts {
        self.jumps.counts()
    }

    /// Lost, reordered and duplicated packets told apart.
    pub fn sequence(&self) -> SequenceCounts {
        self.sequence.counts()
    }

    /// The words; none if they are not counted.
    pub fn histogram(&self) -> Option<&WordHistogram> {
        self.histogram.as_ref()
    }

    /// Packets of use, whether their words were counted or not.
    pub fn good_packets(&self) -> u64 {
        self.counters.packets_counted + self.counters.packets_not_counted
    }

    /// The packets.
    pub fn counters(&self) -> &DropCounters {
        &self.counters
    }

    /// The layout of the packets.
    pub fn layout(&self) -> DropLayout {
        self.layout
    }

    #[inline]
    fn identify(&mut self, identifier: Option<u64>) {
        let Some(identifier) = identifier else { return };
        let counter = self.scramble.map_or(identifier, |scramble| scramble.undo(identifier));
        self.jumps.observe(counter);
        self.sequence.observe(counter);
    }

    #[cold]
    fn reject(&mut self, reason: Rejection, bytes: &[u8]) {
        let (counter, has_identifier) = match reason {
            Rejection::TooShort => (&mut self.counters.packets_too_short, true),
            // What is no packet of this protocol has no identifier of it.
            Rejection::WrongMagic(_) => (&mut self.counters.packets_wrong_magic, false),
            Rejection::WrongVersion(_) => (&mut self.counters.packets_wrong_version, false),
            Rejection::CutPayload { .. } => (&mut self.counters.packets_cut_payload, true),
        };
        *counter += 1;
        self.identify(self.layout.identifier(bytes).filter(|_| has_identifier));
    }
}

impl LinkAccount for StreamAccount {
    #[inline]
    fn take(&mut self, packet: &Packet<'_>) {
        StreamAccount::take(self, packet);
    }

    fn packets(&self) -> u64 {
        self.counters.packets_received
    }

    fn bytes(&self) -> u64 {
        self.counters.bytes_received
    }

    fn arrivals(&self) -> Arrivals {
        self.arrivals
    }

    /// Jumps of the identifiers.
    fn irregularities(&self) -> u64 {
        self.jumps.counts().jumps()
    }
}

impl QueuedAccount for StreamAccount {
    fn add_dropped(&mut self, dropped: &Dropped) {
        self.counters.packets_received += dropped.packets;
        self.counters.bytes_received += dropped.bytes;
        self.counters.packets_dropped += dropped.packets;
        self.arrivals.add(dropped.arrivals);
    }
}
