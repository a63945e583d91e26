//! The packets of one train in the order in which they are sent, with its faults.

use super::fault::{PacketFault, TrainFault};
use super::fault_counts::SentCounters;
use super::fault_plan::FaultPlan;
use super::source::TrainSource;
use evforge_wire::train::{BEGIN_MAGIC, END_MAGIC, PacketTrailer, TrainTrailer};

/// A packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// Index of its train.
    pub(super) train: u64,
    pub(super) packet: u32,
    pub(super) cut: Cut,
    /// What of the train is another one than it should be.
    pub(super) change: Option<Change>,
}

/// What is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Nothing,
    /// The end of the datagram, but for so many bytes.
    Datagram(usize),
    /// The end of the data, but for so many bytes.
    Data(usize),
}

/// Eight bytes of a train that are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: usize,
    pub(super) by: [u8; 8],
}

impl Change {
    /// Replaces what of it lies in a piece of the train that begins at `start`.
    pub(super) fn apply(&self, start: usize, piece: &mut [u8]) {
        for (at, byte) in (self.at..).zip(self.by) {
            if let Some(place) = at.checked_sub(start).and_then(|place| piece.get_mut(place)) {
                *place = byte;
            }
        }
    }
}

/// A displaced packet, and the number of the packet behind which it is sent.
#[derive(Clone, Copy, Debug)]
struct Displaced {
    behind: u32,
    packet: u32,
}

/// A train that is being sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    train: u64,
    fault: Option<TrainFault>,
    change: Option<Change>,
    next: u32,
    /// Sorted by the packet behind which they are sent.
    displaced: Vec<Displaced>,
    /// The packet to be sent once more.
    again: Option<Planned>,
    highest_sent: Option<u32>,
    is_damaged: bool,
}

impl Lane {
    /// A train is begun. Faults of its place among other trains are not for the lane.
    pub(super) fn begin(
        &mut self,
        source: &TrainSource,
        plan: &FaultPlan,
        train: u64,
        counts: &mut SentCounters,
    ) {
        let fault = plan.of_train(train, source.structure().train(train));
        let (at, by) = match fault {
            Some(TrainFault::WrongBegin) => (0, !BEGIN_MAGIC),
            Some(TrainFault::WrongEnd) => {
                (source.layout().trailer().start + TrainTrailer::BYTES - 8, !END_MAGIC)
            }
            Some(TrainFault::WrongNumber { number }) => (16, number),
            _ => (usize::MAX, 0),
        };
        // Of a train that is cut off, only what is sent can be wrong; the right number cannot be.
        let is_made = at < source.train_bytes().saturating_sub(7)
            && fault != Some(TrainFault::WrongNumber { number: source.structure().train(train) });
        let change = is_made.then(|| Change { at, by: by.to_le_bytes() });
        counts.trains_begun += 1;
        if change.is_some() {
            match fault {
                Some(TrainFault::WrongBegin) => counts.trains_wrong_begin += 1,
                Some(TrainFault::WrongEnd) => counts.trains_wrong_end += 1,
                _ => counts.trains_wrong_number += 1,
            }
        }
        self.displaced.clear();
        let displaced = std::mem::take(&mut self.displaced);
        *self = Self { train, fault, change, displaced, is_damaged: change.is_some(), ..Self::default() };
    }

    /// Displaced packets that are still to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.displaced.len()
    }

    /// True if no packet was lost or changed so far.
    pub(super) const fn is_undamaged(&self) -> bool {
        !self.is_damaged
    }

    /// The next packet; none behind the last one. `turns` counts the packets made, sent or not.
    pub(super) fn advance(
        &mut self,
        source: &TrainSource,
        plan: &FaultPlan,
        turns: &mut u64,
        counts: &mut SentCounters,
    ) -> Option<Planned> {
        if let Some(again) = self.again.take() {
            counts.packets_repeated += 1;
            return Some(again);
        }
        loop {
            let is_over = self.next == source.packets();
            if let Some(&first) = self.displaced.first()
                && (is_over || first.behind < self.next)
            {
                self.displaced.remove(0);
                // A packet that nothing has overtaken is where it belongs.
                counts.packets_displaced += u64::from(self.highest_sent > Some(first.packet));
                self.highest_sent = self.highest_sent.max(Some(first.packet));
                return Some(self.planned(first.packet, Cut::Nothing));
            }
            if is_over {
                return None;
            }
            let packet = self.next;
            self.next += 1;
            *turns += 1;
            counts.packets_made += 1;
            if let Some(planned) = self.made(source, plan, packet, counts) {
                self.highest_sent = self.highest_sent.max(Some(packet));
                return Some(planned);
            }
        }
    }

    /// What becomes of a packet; none if it is not sent now.
    fn made(
        &mut self,
        source: &TrainSource,
        plan: &FaultPlan,
        packet: u32,
        counts: &mut SentCounters,
    ) -> Option<Planned> {
        let (is_first, is_last) = (packet == 0, packet + 1 == source.packets());
        if self.is_missing(is_first, is_last, counts) {
            counts.packets_lost += 1;
            self.is_damaged = true;
            return None;
        }
        let data = source.data_bytes_of(packet);
        // The content of a train is not looked at if a packet is missing or cut: one fault would hide the other.
        let fault = plan.of_packet(self.train, packet, data).filter(|_| self.change.is_none());
        let planned = self.planned(packet, Cut::Nothing);
        match fault {
            None => return Some(planned),
            Some(PacketFault::Lost) => {
                counts.packets_lost += 1;
                self.is_damaged = true;
                return None;
            }
            Some(PacketFault::Repeated) => {
                self.again = Some(planned);
                return Some(planned);
            }
            Some(PacketFault::Displaced { .. }) if is_last => return Some(planned),
            Some(PacketFault::Displaced { by }) => {
                let behind = packet.saturating_add(by);
                let place = self.displaced.partition_point(|displaced| displaced.behind <= behind);
                self.displaced.insert(place, Displaced { behind, packet });
                return None;
            }
            Some(PacketFault::Truncated { bytes }) if bytes < data + PacketTrailer::BYTES => {
                counts.packets_truncated += 1;
                self.is_damaged = true;
                return Some(self.planned(packet, Cut::Datagram(bytes)));
            }
            Some(PacketFault::Shortened { bytes }) if bytes < data => {
                counts.packets_shortened += 1;
                self.is_damaged = true;
                return Some(self.planned(packet, Cut::Data(bytes)));
            }
            Some(PacketFault::Truncated { .. } | PacketFault::Shortened { .. }) => {}
        }
        Some(planned)
    }

    /// True if the fault of the train is that this packet is missing.
    fn is_missing(&self, is_first: bool, is_last: bool, counts: &mut SentCounters) -> bool {
        match self.fault {
            Some(TrainFault::MissingFirst) if is_first => counts.trains_without_first += 1,
            Some(TrainFault::MissingLast) if is_last => counts.trains_without_last += 1,
            _ => return false,
        }
        true
    }

    fn planned(&self, packet: u32, cut: Cut) -> Planned {
        Planned { train: self.train, packet, cut, change: self.change }
    }
}
