//! A load that is built once and sent again and again, later by its own length each time: what a receiver is fed with at
//! rates at which nobody can simulate.
//!
//! Only the packets change: sequence numbers go on, and all times are moved by the same whole number of ticks. So each
//! pass has the neutrons of the first one, at the same places and as far from their pulses, and the truth of the first pass
//! is that of all.

use crate::packet::SimulatedPacket;
use crate::readout::{Mover, Readout};
use evforge_wire::ess::{EssTime, TICKS_PER_SECOND};
use evforge_wire::later::{EssStep, move_records, move_triggers, moved, pulse};

/// The packets, with the times and numbers of the latest pass.
#[derive(Clone, Debug)]
pub struct RepeatedLoad {
    packets: Vec<SimulatedPacket>,
    mover: Mover,
    /// What times are moved by, in ticks of the readout, and in nanoseconds.
    ticks: u64,
    nanoseconds: u64,
    /// Packets of each source in a pass.
    counts: Vec<u64>,
    /// The latest pulse of each source in a pass.
    last_pulses: Vec<Option<EssTime>>,
}

impl RepeatedLoad {
    /// All packets of a simulation without faults, which is `length_ns` long. None if packets of this readout cannot be
    /// moved.
    pub fn new(packets: Vec<SimulatedPacket>, readout: &dyn Readout, length_ns: u64) -> Option<Self> {
        let mover = readout.mover()?;
        let (ticks, nanoseconds) = match mover {
            // Whole bunch crossings, of which each is two ticks.
            Mover::Ess(_) => {
                let per_second = u128::from(TICKS_PER_SECOND / 2);
                let crossings = (u128::from(length_ns) * per_second + 500_000_000) / 1_000_000_000;
                (2 * crossings as u64, (crossings * 1_000_000_000 / per_second) as u64)
            }
            Mover::TriggerTimes { tick_ps } => {
                let ticks = u128::from(length_ns) * 1000 / u128::from(tick_ps.max(1));
                (ticks as u64, (ticks * u128::from(tick_ps) / 1000) as u64)
            }
        };
        let sources = readout.sources().len();
        let (mut counts, mut last_pulses) = (vec![0; sources], vec![None; sources]);
        for packet in &packets {
            let source = packet.sender.source;
            counts[source] += 1;
            if matches!(mover, Mover::Ess(_)) {
                last_pulses[source] = pulse(&packet.bytes).max(last_pulses[source]);
            }
        }
        Some(Self { packets, mover, ticks, nanoseconds, counts, last_pulses })
    }

    /// The packets of the latest pass.
    pub fn packets(&self) -> &[SimulatedPacket] {
        &self.packets
    }

    /// By how much a pass is later than the one before, in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.nanoseconds
    }

    /// Makes the packets those of the next pass.
    pub fn move_on(&mut self) {
        let Self { packets, mover, ticks, nanoseconds, counts, last_pulses } = self;
        for packet in packets {
            let source = packet.sender.source;
            let header = packet.sender.header;
            packet.origin.arrival_ns = packet.origin.arrival_ns.saturating_add(*nanoseconds);
            packet.sender.number = packet.sender.number.map(|number| number.wrapping_add(counts[source]));
            match mover {
                Mover::Ess(records) => {
                    let step = EssStep { ticks: *ticks, count: counts[source], last: last_pulses[source] };
                    move_records(&mut packet.bytes, header, *records, step);
                }
                Mover::TriggerTimes { .. } => {
                    move_triggers(&mut packet.bytes, header, *ticks, counts[source])
                }
            }
        }
        for last in last_pulses.iter_mut().flatten() {
            *last = moved(*last, *ticks);
        }
    }
}
