//! Losses by location.

use super::location::LossLocation;

/// Packets lost at one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatedLoss {
    /// Where.
    pub location: LossLocation,
    /// How many.
    pub packets: u64,
    /// True if the counter of the location is not exact: it counts pieces of several packets, or other traffic as well.
    pub inferred: bool,
}

/// Losses by location, and those that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossBreakdown {
    /// Where packets were lost, with what was lost there.
    pub locations: Vec<LocatedLoss>,
    /// Packets missing in the sequence that no counter locates.
    pub unlocated: u64,
    /// At most this many of the unlocated packets were in pieces (UDP_GRO) that the socket or the backlog dropped, not
    /// counting the one packet of each piece that is in `locations`.
    pub unlocated_in_pieces: u64,
    /// Packets lost after the last one received: in `locations`, but in no sequence gap.
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

    /// Adds packets lost at a location, if there are any.
    pub fn add(&mut self, location: LossLocation, packets: u64, inferred: bool) {
        // A location has one number of each kind, also if two counters tell of it.
        let same = |loss: &&mut LocatedLoss| (loss.location, loss.inferred) == (location, inferred);
        match self.locations.iter_mut().find(same) {
            Some(loss) => loss.packets += packets,
            None if packets > 0 => self.locations.push(LocatedLoss { location, packets, inferred }),
            None => {}
        }
    }

    /// Explains unlocated packets by a counter that holds other packets as well, at most as many as it says. Returns how many: that
    /// many fewer are left for whoever shares the counter.
    pub fn explain(&mut self, location: LossLocation, counted: u64) -> u64 {
        let packets = counted.min(self.unlocated);
        self.add(location, packets, true);
        self.unlocated -= packets;
        self.unlocated_in_pieces = self.unlocated_in_pieces.min(self.unlocated);
        packets
    }

    /// Packets at all locations.
    pub fn placed(&self) -> u64 {
        self.locations.iter().map(|loss| loss.packets).sum()
    }

    /// Packets at one location.
    pub fn at(&self, location: LossLocation) -> u64 {
        self.locations.iter().filter(|loss| loss.location == location).map(|loss| loss.packets).sum()
    }
}
