//! What a simulated readout must offer: hits in, packets out.

use crate::electronics::Hit;
use crate::isis::TrueFrame;
use crate::packet::SimulatedPacket;
use crate::truth::Neutron;
use evforge_wire::recognise::EssRecords;

/// A pulse of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Its number.
    pub number: u64,
    /// Its start in nanoseconds on the detector's clock.
    pub start_ns: u64,
    /// Start of the next one.
    pub end_ns: u64,
}

/// What can happen to electronics. `source` counts from 0 in the order of [`Readout::sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The counter of packets is set so that it wraps after this many packets.
    CounterBeforeWrap {
        /// The source.
        source: usize,
        /// Packets until it is 0.
        packets: u32,
    },
    /// The electronics restart: the counter of packets begins where it began first.
    Restart {
        /// The source.
        source: usize,
    },
    /// The clock steps.
    ClockStep {
        /// The source.
        source: usize,
        /// By this many picoseconds; below 0: back.
        by_ps: i64,
    },
}

/// How the packets of a readout are moved in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// These records in the ESS readout.
    Ess(EssRecords),
    /// Trigger times of a SoNDe whose boards count ticks of so many picoseconds.
    TriggerTimes {
        /// A tick.
        tick_ps: u64,
    },
}

/// The readout electronics of a detector, from digitised hits on.
pub trait Readout: Send + Sync {
    /// Names of the sources: what sends packets with a sequence or a clock of its own, as the ledger names them.
    fn sources(&self) -> Vec<String>;

    /// Number of the first pulse of a simulation that begins so many nanoseconds after 1970: the first one that the
    /// electronics' clock can tell, where that knows no date.
    fn first_pulse(&self, start_ns: u64) -> u64;

    /// Adds the packets of a pulse, in the order in which they are sent, each with its
    /// [`Sender`](crate::packet::Sender). `hits` are in the order in which they are sent, and all of this pulse.
    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>);

    /// Adds the packets that are sent after the last pulse. Most readouts have none.
    fn finish(&mut self, packets: &mut Vec<SimulatedPacket>) {
        let _ = packets;
    }

    /// Whether the electronics send what happens at the time and place of this neutron; not where they have vetoed it.
    fn is_sent(&self, neutron: &Neutron) -> bool {
        let _ = neutron;
        true
    }

    /// Whether the packets tell of frames more than their times.
    fn has_frames(&self) -> bool {
        false
    }

    /// The frames that have been sent since this was asked before.
    fn take_frames(&mut self) -> Vec<TrueFrame> {
        Vec::new()
    }

    /// Does something to the electronics; false if this readout has nothing that it could be done to.
    fn disturb(&mut self, disturbance: Disturbance) -> bool;

    /// How packets that were made are moved in time, to be sent again; none if they cannot be.
    fn mover(&self) -> Option<Mover> {
        None
    }
}

/// The counter and the clock of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    first: u64,
    bits: u32,
    next: u64,
    offset_ps: i64,
}

impl Source {
    /// A source that counts packets with this many bits (1..=64) from `first` on.
    pub fn new(first: u64, bits: u32) -> Self {
        Self { first, bits, next: first, offset_ps: 0 }
    }

    /// The number of the next packet.
    pub fn count(&mut self) -> u64 {
        let mask = u64::MAX >> (64 - self.bits.clamp(1, 64));
        let number = self.next & mask;
        self.next = number.wrapping_add(1) & mask;
        number
    }

    /// How far the clock is ahead of the right one, in picoseconds.
    pub fn offset_ps(&self) -> i64 {
        self.offset_ps
    }

    /// A time as this source's clock shows it.
    #[inline]
    pub fn shown_ps(&self, time_ps: u64) -> u64 {
        time_ps.saturating_add_signed(self.offset_ps)
    }

    /// Lets a disturbance happen to this source.
    pub fn disturb(&mut self, disturbance: Disturbance) {
        match disturbance {
            Disturbance::CounterBeforeWrap { packets, .. } => {
                self.next = u64::from(packets).wrapping_neg();
            }
            Disturbance::Restart { .. } => self.next = self.first,
            Disturbance::ClockStep { by_ps, .. } => self.offset_ps = self.offset_ps.saturating_add(by_ps),
        }
    }
}

impl Disturbance {
    /// The source that it happens to.
    pub fn source(&self) -> usize {
        match *self {
            Self::CounterBeforeWrap { source, .. }
            | Self::Restart { source }
            | Self::ClockStep { source, .. } => source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_and_start_anew_and_clocks_step() {
        let mut source = Source::new(1, 14);
        assert_eq!([source.count(), source.count()], [1, 2]);
        source.disturb(Disturbance::CounterBeforeWrap { source: 0, packets: 2 });
        assert_eq!([source.count(), source.count(), source.count()], [16382, 16383, 0]);
        source.disturb(Disturbance::Restart { source: 0 });
        assert_eq!(source.count(), 1);
        source.disturb(Disturbance::ClockStep { source: 0, by_ps: -700 });
        assert_eq!((source.shown_ps(1000), source.shown_ps(600)), (300, 0));
        let mut wide = Source::new(u64::MAX, 64);
        assert_eq!([wide.count(), wide.count()], [u64::MAX, 0]);
    }
}
