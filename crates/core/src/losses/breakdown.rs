//! Losses by place.

use super::location::LossLocation;

/// Packets lost at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatedLoss {
    /// Where.
    pub place: LossLocation,
    /// How many.
    pub packets: u64,
    /// True if the counter of the place is not exact: it counts pieces of several packets, or other traffic as well.
    pub inferred: bool,
}

/// Losses by place, and those that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossBreakdown {
    /// The places at which packets were lost.
    pub places: Vec<LocatedLoss>,
    /// Packets missing in the sequence that no counter locates.
    pub unlocated: u64,
    /// At most so many of the unlocated packets were in pieces (UDP_GRO) that the socket or the backlog dropped: beside the one
    /// of each piece that is in `places`.
    pub unlocated_in_pieces: u64,
    /// Packets lost after the last one received: in `places`, but in no sequence gap.
    pub after_the_last: u64,
    /// True if the socket counts pieces of several packets (UDP_GRO): at least as many packets were lost there.
    pub in_pieces: bool,
}

impl LossBreakdown {
    /// All losses were in the capture before it was read.
    pub fn in_the_input(lost: u64) -> Self {
        let mut breakdown = Self::default();
        breakdown.add(LossLocation::Input, lost, false);
        breakdown
    }

    /// Adds packets lost at a place, if there are any.
    pub fn add(&mut self, place: LossLocation, packets: u64, inferred: bool) {
        // A place has one number of each kind, also if two counters tell of it.
        let same = |loss: &&mut LocatedLoss| (loss.place, loss.inferred) == (place, inferred);
        match self.places.iter_mut().find(same) {
            Some(loss) => loss.packets += packets,
            None if packets > 0 => self.places.push(LocatedLoss { place, packets, inferred }),
            None => {}
        }
    }

    /// Explains unlocated packets by a counter that holds other packets as well, at most as many as it says. Says how many: so
    /// many fewer are left for whoever shares the counter.
    pub fn explain(&mut self, place: LossLocation, counted: u64) -> u64 {
        let packets = counted.min(self.unlocated);
        self.add(place, packets, true);
        self.unlocated -= packets;
        self.unlocated_in_pieces = self.unlocated_in_pieces.min(self.unlocated);
        packets
    }

    /// Packets at all places.
    pub fn placed(&self) -> u64 {
        self.places.iter().map(|loss| loss.packets).sum()
    }

    /// Packets at one place.
    pub fn at(&self, place: LossLocation) -> u64 {
        self.places.iter().filter(|loss| loss.place == place).map(|loss| loss.packets).sum()
    }
}
