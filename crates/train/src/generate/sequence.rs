//! Datagrams of trains in the order in which they are sent.

use super::fault::TrainFault;
use super::fault_counts::SentCounters;
use super::fault_plan::FaultPlan;
use super::lane::{Cut, Lane, Planned};
use super::source::TrainSource;
use evforge_wire::train::PacketTrailer;
use std::sync::Arc;

/// When a packet has its turn: for [`SendProfile::due_ns`](super::SendProfile::due_ns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Index of the train in whose time it is sent. A late or interleaved train is sent in the time of the next one.
    pub train: u64,
    /// Packets of that time before it, lost ones included.
    pub packet: u64,
}

/// A datagram that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Index of its train.
    pub train: u64,
    /// Its number in the train.
    pub packet: u32,
    /// Bytes of the datagram.
    pub bytes: usize,
}

/// The datagrams of trains in the order in which they are sent, with the faults of a plan. It allocates nothing for a packet, but for
/// the list of displaced packets while that grows.
#[derive(Clone, Debug)]
pub struct TrainSequence {
    source: Arc<TrainSource>,
    plan: FaultPlan,
    /// Trains to send.
    trains: Option<u64>,
    /// Index of the next train to begin.
    next_train: u64,
    lanes: [Lane; 2],
    /// Which lanes have a train, the one that is served first or next in front; and whether they take turns.
    open: Open,
    /// Index of the train in whose time packets are sent, and packets made in it.
    slot: (u64, u64),
    pending: Option<(Turn, Planned)>,
    counts: SentCounters,
}

/// Lanes that have a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    None,
    One(usize),
    /// One behind the other.
    Behind(usize, usize),
    /// Packet by packet.
    InTurn(usize, usize),
}

impl TrainSequence {
    /// So many trains of a source; none goes on until it is stopped.
    pub fn new(source: Arc<TrainSource>, plan: FaultPlan, trains: Option<u64>) -> Self {
        let mut sequence = Self {
            source,
            plan,
            trains,
            next_train: 0,
            lanes: Default::default(),
            open: Open::None,
            slot: (0, 0),
            pending: None,
            counts: SentCounters::default(),
        };
        sequence.pending = sequence.advance();
        sequence
    }

    /// What the trains are made of.
    pub fn source(&self) -> &TrainSource {
        &self.source
    }

    /// The turn of the next datagram; none if there is none.
    pub fn next_turn(&self) -> Option<Turn> {
        self.pending.map(|(turn, _)| turn)
    }

    /// Index of the train that the next datagram is of; none if there is none.
    pub fn next_train(&self) -> Option<u64> {
        self.pending.map(|(_, planned)| planned.train)
    }

    /// No further train is begun; those that are, are sent to their end.
    pub fn stop(&mut self) {
        self.trains = Some(self.next_train);
    }

    /// What was sent so far, and which faults were made.
    pub fn counts(&self) -> SentCounters {
        let waiting = self.lanes.iter().map(Lane::waiting).sum::<usize>() as u64;
        SentCounters { packets_waiting: waiting + u64::from(self.pending.is_some()), ..self.counts }
    }

    /// Writes the next datagram to the beginning of `out`, which must have room for
    /// [`TrainSource::largest_datagram`]; none if there is no room, or no further datagram.
    pub fn write_next(&mut self, out: &mut [u8]) -> Option<SentPacket> {
        let (_, planned) = self.pending?;
        let Planned { train, packet, cut, change } = planned;
        let whole = self.source.write_packet(train, packet, out)?;
        let data = whole - PacketTrailer::BYTES;
        if let Some(change) = change {
            change.apply(packet as usize * self.source.structure().data_bytes, &mut out[..data]);
        }
        let bytes = match cut {
            Cut::Nothing => whole,
            Cut::Datagram(bytes) => bytes,
            Cut::Data(bytes) => {
                out.copy_within(data..whole, bytes);
                bytes + PacketTrailer::BYTES
            }
        };
        self.counts.datagrams += 1;
        self.counts.datagram_bytes += bytes as u64;
        self.pending = self.advance();
        Some(SentPacket { train, packet, bytes })
    }

    /// Finds the next packet to be sent.
    fn advance(&mut self) -> Option<(Turn, Planned)> {
        loop {
            if self.open == Open::None && !self.begin() {
                return None;
            }
            let lane = match self.open {
                Open::None => continue,
                Open::One(lane) | Open::Behind(lane, _) | Open::InTurn(lane, _) => lane,
            };
            let (slot, turns) = &mut self.slot;
            let planned = self.lanes[lane].advance(&self.source, &self.plan, turns, &mut self.counts);
            let Some(planned) = planned else {
                self.counts.trains_ended += 1;
                self.counts.trains_undamaged += u64::from(self.lanes[lane].is_undamaged());
                self.open = match self.open {
                    Open::Behind(_, other) | Open::InTurn(_, other) => Open::One(other),
                    Open::None | Open::One(_) => Open::None,
                };
                continue;
            };
            if let Open::InTurn(this, other) = self.open {
                self.open = Open::InTurn(other, this);
            }
            // A displaced packet goes with the one it is sent behind.
            return Some((Turn { train: *slot, packet: turns.saturating_sub(1) }, planned));
        }
    }

    /// Begins the next train, or the next two; false if there is none.
    fn begin(&mut self) -> bool {
        let first = self.next_train;
        let left = self.trains.map_or(u64::MAX, |trains| trains.saturating_sub(first));
        if left == 0 {
            return false;
        }
        let fault = self.plan.of_train(first, self.source.structure().train(first));
        let fault = fault.filter(|_| left > 1);
        self.open = match fault {
            Some(TrainFault::Late) => {
                self.counts.trains_late += 1;
                Open::Behind(1, 0)
            }
            Some(TrainFault::Interleaved) => {
                self.counts.trains_interleaved += 1;
                Open::InTurn(0, 1)
            }
            _ => Open::One(0),
        };
        let trains = if matches!(self.open, Open::One(_)) { 1 } else { 2 };
        for (lane, train) in self.lanes.iter_mut().zip(first..).take(trains) {
            lane.begin(&self.source, &self.plan, train, &mut self.counts);
        }
        self.next_train = first.saturating_add(trains as u64);
        self.slot = (self.next_train - 1, 0);
        true
    }
}
