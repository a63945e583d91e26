//! The packets of all flows of a sender, without a network and without a clock.

use super::sizes::Sizes;
use crate::link::fault::{Fate, Fault};
use crate::link::schedule::Schedule;
use crate::link::send::LinkPayload;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_wire::numbered::{NumberedHeader, NumberedLayout};
use thiserror::Error;

/// What fills packets behind their header.
const FILLING: u8 = 0x5A;

/// What is sent.
#[derive(Clone, Debug)]
pub struct TrafficSettings {
    /// Where packets have their numbers.
    pub layout: NumberedLayout,
    /// Number of flows; their packets take turns. Each has its own numbers, from the layout's first on.
    pub flows: u16,
    /// Sizes of the packets, of all flows together.
    pub sizes: Sizes,
    /// When packets are due, of all flows together; none: at once.
    pub schedule: Option<Schedule>,
    /// Ends after so many packets of all flows together.
    pub largest_packets: Option<u64>,
    /// Ends with the packet that reaches so many payload bytes.
    pub largest_bytes: Option<u64>,
    /// Faults to provoke in each flow.
    pub faults: Vec<Fault>,
}

/// Traffic is impossible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// No flow.
    #[error("no flow sends nothing: at least 1")]
    NoFlow,
    /// Packets without room for a header.
    #[error("packets of {found} B have no room for the header of layout {layout}, which has {} B", layout.header_bytes())]
    NoRoom {
        /// The smallest size.
        found: usize,
        /// The layout.
        layout: NumberedLayout,
    },
    /// A fault that nothing would see.
    #[error(
        "the fault {0} would not be seen: numbered packets have no content that is verified (evforge drop does that)"
    )]
    NoUse(Fault),
}

/// What a flow has made so far; packets that a fault lost are among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MadeFlow {
    /// Number of the next packet.
    number: u64,
    /// Packets.
    pub(super) packets: u64,
    /// Their payload bytes.
    pub(super) bytes: u64,
}

/// A packet that is held back until its flow has made another one.
#[derive(Debug)]
struct Held {
    flow: u16,
    after: u64,
    bytes: Vec<u8>,
}

/// Makes the packets of all flows, in order.
#[derive(Debug)]
pub struct Traffic {
    settings: TrafficSettings,
    flows: Vec<MadeFlow>,
    packets: u64,
    bytes: u64,
    held: Vec<Held>,
}

impl Traffic {
    /// Before the first packet.
    ///
    /// # Errors
    /// If there is no flow, no room for a header, or a fault that nothing would see.
    pub fn new(settings: TrafficSettings) -> Result<Self, TrafficError> {
        if settings.flows == 0 {
            return Err(TrafficError::NoFlow);
        }
        if let Some(fault) = settings.faults.iter().find(|fault| matches!(fault, Fault::Flip { .. })) {
            return Err(TrafficError::NoUse(*fault));
        }
        let (layout, found) = (settings.layout, settings.sizes.smallest());
        if found < layout.header_bytes() {
            return Err(TrafficError::NoRoom { found, layout });
        }
        let flow = MadeFlow { number: layout.first_number(), ..MadeFlow::default() };
        let flows = vec![flow; usize::from(settings.flows)];
        Ok(Self { flows, settings, packets: 0, bytes: 0, held: Vec::new() })
    }

    /// When the next packet is due, in nanoseconds after the start (0 without a schedule); none if there is none.
    pub fn next_due(&self) -> Option<u64> {
        let is_over = self.settings.largest_packets.is_some_and(|most| self.packets >= most)
            || self.settings.largest_bytes.is_some_and(|most| self.bytes >= most);
        (!is_over)
            .then(|| self.settings.schedule.map_or(0, |schedule| schedule.due(self.packets, self.bytes)))
    }

    /// Makes the next packet, stamped with `sent_ns`: behind those in the slab of its flow. False, and nothing is made, if that
    /// has no room.
    ///
    /// # Panics
    /// If there is not one slab for each flow.
    pub fn make(&mut self, sent_ns: u64, slabs: &mut [PacketSlab]) -> bool {
        assert_eq!(slabs.len(), self.flows.len(), "one slab for each flow");
        let flow = (self.packets % self.flows.len() as u64) as usize;
        let size = self.settings.sizes.of(self.packets);
        let slab = &mut slabs[flow];
        // A fault can make two packets of one, and release others.
        let room = (2 + self.held.len())
            * if self.settings.faults.is_empty() { 1 } else { self.settings.sizes.largest() };
        if !slab.has_room_for(room.max(size)) {
            return false;
        }
        let made = &mut self.flows[flow];
        let index = made.packets;
        let fate = Fate::of(index, &self.settings.faults);
        made.number = made.number.wrapping_add_signed(fate.jump);
        let header = NumberedHeader { flow: flow as u16, number: made.number, sent_ns };
        made.number = made.number.wrapping_add(1);
        made.packets += 1;
        made.bytes += size as u64;
        self.packets += 1;
        self.bytes += size as u64;
        for _ in 0..fate.copies {
            match fate.after {
                None => push(slab, self.settings.layout, &header, size),
                Some(after) => {
                    let mut bytes = vec![FILLING; size];
                    self.settings.layout.write(&header, &mut bytes);
                    self.held.push(Held { flow: flow as u16, after, bytes });
                }
            }
        }
        if !self.held.is_empty() {
            self.release(|held| usize::from(held.flow) == flow && held.after <= index, slab);
        }
        true
    }

    /// Hands out what is still held back when there is no further packet.
    pub fn finish(&mut self, slabs: &mut [PacketSlab]) {
        for (flow, slab) in (0..).zip(slabs) {
            self.release(|held| held.flow == flow, slab);
        }
    }

    /// Packets made so far, those that a fault lost included.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Their payload bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The settings.
    pub fn settings(&self) -> &TrafficSettings {
        &self.settings
    }

    pub(super) fn flows(&self) -> &[MadeFlow] {
        &self.flows
    }

    fn release(&mut self, is_due: impl Fn(&Held) -> bool, slab: &mut PacketSlab) {
        self.held.retain(|held| {
            !is_due(held) || !slab.push(&held.bytes, held.bytes.len(), PacketOrigin::default())
        });
    }
}

impl LinkPayload for Traffic {
    fn due_ns(&self) -> Option<u64> {
        self.next_due()
    }

    fn make(&mut self, sent_ns: u64, slabs: &mut [PacketSlab]) -> bool {
        Traffic::make(self, sent_ns, slabs)
    }

    fn finish(&mut self, slabs: &mut [PacketSlab]) -> bool {
        Traffic::finish(self, slabs);
        self.held.is_empty()
    }

    fn largest(&self) -> usize {
        self.settings.sizes.largest()
    }
}

/// Puts a packet into a slab that has room for it.
fn push(slab: &mut PacketSlab, layout: NumberedLayout, header: &NumberedHeader, size: usize) {
    let mut space = slab.space();
    let Some(place) = space.memory().get_mut(..size) else { return };
    place[layout.header_bytes()..].fill(FILLING);
    layout.write(header, place);
    space.add(0, size, size, PacketOrigin::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(flows: u16, packets: u64, faults: &[&str]) -> TrafficSettings {
        TrafficSettings {
            layout: NumberedLayout::Evforge,
            flows,
            sizes: "64B,24B".parse().expect("sizes"),
            schedule: None,
            largest_packets: Some(packets),
            largest_bytes: None,
            faults: faults.iter().map(|fault| fault.parse().expect("a fault")).collect(),
        }
    }

    /// Size and number of every packet of each flow, as they go out.
    fn packets(settings: TrafficSettings) -> Vec<Vec<(usize, u64)>> {
        let mut traffic = Traffic::new(settings).expect("possible settings");
        let mut slabs: Vec<_> = traffic.flows.iter().map(|_| PacketSlab::new(1000, 0)).collect();
        while traffic.next_due().is_some() {
            assert!(traffic.make(7, &mut slabs));
        }
        traffic.finish(&mut slabs);
        let read = |slab: &PacketSlab| {
            let header = |bytes: &[u8]| NumberedHeader::parse(bytes).expect("a numbered packet");
            slab.batch().iter().map(|packet| (packet.bytes.len(), header(packet.bytes).number)).collect()
        };
        slabs.iter().map(read).collect()
    }

    #[test]
    fn flows_take_turns_and_have_their_own_numbers() {
        let made = packets(settings(3, 8, &[]));
        assert_eq!(made[0], [(64, 0), (24, 1), (64, 2)]);
        assert_eq!(made[1], [(24, 0), (64, 1), (24, 2)]);
        assert_eq!(made[2], [(64, 0), (24, 1)]);
    }

    #[test]
    fn faults_happen_to_the_packets_named() {
        let numbers = |fault: &str| -> Vec<u64> {
            packets(settings(1, 6, &[fault]))[0].iter().map(|&(_, number)| number).collect()
        };
        assert_eq!(numbers("lose:packet=2"), [0, 1, 3, 4, 5]);
        assert_eq!(numbers("twice:packet=2"), [0, 1, 2, 2, 3, 4, 5]);
        assert_eq!(numbers("late:packet=2,by=2"), [0, 1, 3, 4, 2, 5]);
        assert_eq!(numbers("late:packet=5,by=2"), [0, 1, 2, 3, 4, 5]);
        assert_eq!(numbers("jump:packet=2,distance=5"), [0, 1, 6, 7, 8, 9]);
        let error = Traffic::new(settings(1, 6, &["flip:packet=1,bit=1"])).unwrap_err().to_string();
        assert!(error.contains("would not be seen"), "{error}");
        assert!(Traffic::new(settings(0, 6, &[])).is_err());
    }

    #[test]
    fn it_ends_with_the_packet_that_reaches_the_bytes_and_waits_where_there_is_no_room() {
        let settings = TrafficSettings { largest_bytes: Some(100), ..settings(1, 100, &[]) };
        assert_eq!(packets(settings.clone())[0].len(), 3);
        let mut traffic = Traffic::new(settings).unwrap();
        let mut slabs = [PacketSlab::new(1, 0)];
        assert!(traffic.make(0, &mut slabs) && !traffic.make(0, &mut slabs));
        assert_eq!((traffic.packets(), traffic.bytes()), (1, 64));
    }

    #[test]
    fn packets_of_udptx_are_numbered_from_1_and_may_be_small() {
        let small = TrafficSettings {
            layout: NumberedLayout::Udptx,
            sizes: "4B".parse().expect("sizes"),
            ..settings(2, 5, &["lose:packet=1"])
        };
        let error = Traffic::new(TrafficSettings { layout: NumberedLayout::Evforge, ..small.clone() });
        let error = error.unwrap_err().to_string();
        assert!(error.contains("4 B") && error.contains("24 B"), "{error}");
        let mut traffic = Traffic::new(small).expect("possible settings");
        let mut slabs = [PacketSlab::new(10, 0), PacketSlab::new(10, 0)];
        while traffic.next_due().is_some() {
            assert!(traffic.make(7, &mut slabs));
        }
        let bytes =
            |slab: &PacketSlab| slab.batch().iter().map(|packet| packet.bytes.to_vec()).collect::<Vec<_>>();
        assert_eq!(bytes(&slabs[0]), [[1, 0, 0, 0], [3, 0, 0, 0]]);
        assert_eq!(bytes(&slabs[1]), [[1, 0, 0, 0]]);
    }
}
