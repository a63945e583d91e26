//! What a receiver keeps about numbered packets: numbers of each flow, latency, packets of no use.

use crate::link::first_second::{Beginning, FirstSecond};
use crate::link::receive::{Arrivals, LinkAccount};
use evforge_core::packet::Packet;
use evforge_core::sequence::{SequenceCounts, SequenceTracker};
use evforge_net::lateness::Lateness;
use evforge_wire::numbered::{NumberedHeader, NumberedLayout, Rejection};
use std::collections::HashMap;
use std::net::SocketAddr;

/// Flows that are followed; packets of further ones are counted and nothing else.
pub const MOST_FLOWS: usize = 1024;

evforge_core::counters! {
    /// Numbered packets.
    pub struct NumberedCounters: "numbered" {
        packets_received: Enters(Packets), Packets, "UDP datagrams as the receiver handed them over.";
        packets_counted: Leaves(Packets), Packets, "Numbered packets, whose numbers are followed.";
        bytes_received: Information, Bytes, "UDP payload bytes of all packets received.";
        packets_too_short: Discarded(Packets), Packets, "Packets that end before their header does.";
        packets_wrong_magic: Discarded(Packets), Packets, "Packets of another protocol (not 0x45564E50 at their beginning; with layout udptx there is no such thing).";
        packets_wrong_version: Discarded(Packets), Packets, "Packets of another version of the header.";
        packets_of_too_many_flows: Discarded(Packets), Packets, "Packets of further flows when 1024 were known.";
        packets_from_the_future: Information, Packets, "Packets that arrived before they were sent: the clocks of sender and receiver differ. Not in the latencies.";
    }
}

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Where its packets come from.
    pub source: SocketAddr,
    /// Its number in their headers.
    pub flow: u16,
    /// The UDP port that its packets go to.
    pub destination_port: u16,
    /// Its packets' payload bytes.
    pub bytes: u64,
    tracker: SequenceTracker,
}

impl Flow {
    /// Packets sent, received, lost, reordered and duplicated, as far as their numbers say.
    pub fn sequence(&self) -> SequenceCounts {
        self.tracker.counts()
    }

    /// Its numbers, followed.
    pub fn tracker(&self) -> &SequenceTracker {
        &self.tracker
    }
}

/// Takes numbered packets in the order of their arrival.
///
/// Taking a packet of a known flow does not allocate.
#[derive(Clone, Debug, Default)]
pub struct Account {
    layout: NumberedLayout,
    flows: Vec<Flow>,
    places: HashMap<(SocketAddr, u16), usize>,
    /// The flow of the last packet.
    last: usize,
    counters: NumberedCounters,
    latency: Lateness,
    arrivals: Arrivals,
    beginning: Beginning,
    lost: u64,
}

impl Account {
    /// For packets of this layout.
    pub fn new(layout: NumberedLayout) -> Self {
        Self { layout, ..Self::default() }
    }

    /// Takes the next packet. One of no use is counted under its reason.
    #[inline]
    pub fn take(&mut self, packet: &Packet<'_>) {
        let so_far = self.so_far();
        self.beginning.look(packet.origin.arrival_ns, || so_far);
        self.counters.packets_received += 1;
        self.counters.bytes_received += u64::from(packet.original_length);
        self.arrivals.take(packet);
        match self.layout.parse(packet.bytes) {
            Ok(header) => self.follow(packet, header),
            Err(Rejection::TooShort) => self.counters.packets_too_short += 1,
            Err(Rejection::WrongMagic(_)) => self.counters.packets_wrong_magic += 1,
            Err(Rejection::WrongVersion(_)) => self.counters.packets_wrong_version += 1,
        }
    }

    /// The flows, in the order of their first packets.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The packets.
    pub fn counters(&self) -> &NumberedCounters {
        &self.counters
    }

    /// Times from the sender's stamp of each packet to that of its arrival, where the clocks do not speak against it.
    pub fn latency(&self) -> &Lateness {
        &self.latency
    }

    /// Packets missing in the numbers of all flows so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What came in the first second after the first packet.
    pub fn first_second(&self) -> FirstSecond {
        self.beginning.seen(self.so_far())
    }

    #[inline]
    fn so_far(&self) -> FirstSecond {
        FirstSecond {
            packets: self.counters.packets_received,
            bytes: self.counters.bytes_received,
            missing: self.lost,
        }
    }

    #[inline]
    fn follow(&mut self, packet: &Packet<'_>, header: NumberedHeader) {
        let is_of = |flow: &Flow| flow.flow == header.flow && flow.source == packet.origin.source;
        let place = match self.flows.get(self.last) {
            Some(flow) if is_of(flow) => self.last,
            _ => match self.find(packet, header.flow) {
                Some(place) => place,
                None => {
                    self.counters.packets_of_too_many_flows += 1;
                    return;
                }
            },
        };
        self.last = place;
        self.counters.packets_counted += 1;
        if self.layout.has_time() {
            match packet.origin.arrival_ns.checked_sub(header.sent_ns) {
                Some(latency) => self.latency.add(latency),
                None => self.counters.packets_from_the_future += 1,
            }
        }
        let flow = &mut self.flows[place];
        flow.bytes += u64::from(packet.original_length);
        let before = flow.tracker.counts().lost;
        if self.layout.has_time() {
            flow.tracker.observe_sent(header.number, header.sent_ns);
        } else {
            flow.tracker.observe(header.number);
        }
        self.lost = self.lost + flow.tracker.counts().lost - before;
    }

    fn find(&mut self, packet: &Packet<'_>, flow: u16) -> Option<usize> {
        let (source, destination_port) = (packet.origin.source, packet.origin.destination_port);
        if let Some(&place) = self.places.get(&(source, flow)) {
            return Some(place);
        }
        if self.flows.len() == MOST_FLOWS {
            return None;
        }
        let tracker = SequenceTracker::new(self.layout.bits());
        self.flows.push(Flow { source, flow, destination_port, bytes: 0, tracker });
        self.places.insert((source, flow), self.flows.len() - 1);
        Some(self.flows.len() - 1)
    }
}

impl LinkAccount for Account {
    #[inline]
    fn take(&mut self, packet: &Packet<'_>) {
        Account::take(self, packet);
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

    /// Packets missing in the numbers.
    fn irregularities(&self) -> u64 {
        self.lost
    }
}
