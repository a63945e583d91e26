//! A load that is built once and sent again and again, later by its own length each time: what a receiver is fed with at
//! rates at which nobody can simulate.
//!
//! Only the packets change: sequence numbers go on, and all times are moved by the same whole number of ticks. So each
//! pass has the neutrons of the first one, at the same places and as far from their pulses, and the truth of the first pass
//! is that of all.

use crate::packet::SimulatedPacket;
use crate::readout::{Mover, Readout};
use evforge_wire::ess::{EssTime, RECORD, TICKS_PER_SECOND};

/// Bytes of the ESS header that change: the pulse, the one before, the sequence number.
const PULSE: usize = 10;
const PREVIOUS: usize = 18;
const SEQUENCE: usize = 26;
/// In a record: its time, and then the bunch crossings in 12 bits.
const TIME: usize = 4;
const CROSSINGS: usize = 12;
const CROSSING_MASK: u16 = 4095;

/// In a packet of a SoNDe: the number in the lower 14 bits, the time; then triggers of five bytes.
const COUNT: usize = 2;
const COUNT_MASK: u16 = 0x3FFF;
const BOARD_TIME: usize = 4;
const TRIGGER: usize = 5;

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
            Mover::Vmm3a => {
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
            if mover == Mover::Vmm3a {
                last_pulses[source] = time_at(&packet.bytes, PULSE).max(last_pulses[source]);
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
                Mover::Vmm3a => {
                    move_records(&mut packet.bytes, header, *ticks, counts[source], last_pulses[source]);
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

fn time_at(bytes: &[u8], at: usize) -> Option<EssTime> {
    let (seconds, ticks) = (bytes.get(at..)?.first_chunk()?, bytes.get(at + 4..)?.first_chunk()?);
    Some(EssTime { seconds: u32::from_le_bytes(*seconds), ticks: u32::from_le_bytes(*ticks) })
}

fn put_time(bytes: &mut [u8], at: usize, time: EssTime) {
    bytes[at..at + 4].copy_from_slice(&time.seconds.to_le_bytes());
    bytes[at + 4..at + 8].copy_from_slice(&time.ticks.to_le_bytes());
}

/// This many ticks later.
#[inline]
fn moved(time: EssTime, by: u64) -> EssTime {
    let ticks = time.ticks + (by % u64::from(TICKS_PER_SECOND)) as u32;
    let carry = u32::from(ticks >= TICKS_PER_SECOND);
    EssTime {
        seconds: time.seconds.wrapping_add((by / u64::from(TICKS_PER_SECOND)) as u32).wrapping_add(carry),
        ticks: ticks - carry * TICKS_PER_SECOND,
    }
}

fn move_records(bytes: &mut [u8], header: usize, by: u64, count: u64, last: Option<EssTime>) {
    let (Some(pulse), Some(previous)) = (time_at(bytes, PULSE), time_at(bytes, PREVIOUS)) else { return };
    put_time(bytes, PULSE, moved(pulse, by));
    // The first pulse of all had none before it; now it is the last one of the pass before.
    let previous = if previous == pulse { last.unwrap_or(pulse) } else { moved(previous, by) };
    put_time(bytes, PREVIOUS, previous);
    let sequence = bytes[SEQUENCE..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    bytes[SEQUENCE..SEQUENCE + 4].copy_from_slice(&sequence.wrapping_add(count as u32).to_le_bytes());
    let (seconds, ticks) = (by / u64::from(TICKS_PER_SECOND), (by % u64::from(TICKS_PER_SECOND)) as u32);
    let crossings = (by / 2) as u16;
    for record in bytes[header..].as_chunks_mut::<RECORD>().0 {
        let field =
            |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let later = field(TIME + 4).wrapping_add(ticks);
        let carry = u32::from(later >= TICKS_PER_SECOND);
        let second = field(TIME).wrapping_add(seconds as u32).wrapping_add(carry);
        let later = later.wrapping_sub(carry * TICKS_PER_SECOND);
        let bc = u16::from_le_bytes([record[CROSSINGS], record[CROSSINGS + 1]]);
        record[TIME..TIME + 4].copy_from_slice(&second.to_le_bytes());
        record[TIME + 4..TIME + 8].copy_from_slice(&later.to_le_bytes());
        let bc = bc.wrapping_add(crossings) & CROSSING_MASK;
        record[CROSSINGS..CROSSINGS + 2].copy_from_slice(&bc.to_le_bytes());
    }
}

fn move_triggers(bytes: &mut [u8], header: usize, by: u64, count: u64) {
    let Some(field) = bytes.get(COUNT..).and_then(|bytes| bytes.first_chunk()) else { return };
    let field = u16::from_be_bytes(*field);
    let number = field.wrapping_add(count as u16) & COUNT_MASK | field & !COUNT_MASK;
    bytes[COUNT..COUNT + 2].copy_from_slice(&number.to_be_bytes());
    let later = |time: &mut [u8]| {
        if let Some(time) = time.first_chunk_mut() {
            *time = u32::from_be_bytes(*time).wrapping_add(by as u32).to_be_bytes();
        }
    };
    later(&mut bytes[BOARD_TIME..]);
    bytes[header..].as_chunks_mut::<TRIGGER>().0.iter_mut().for_each(|trigger| later(trigger));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_into_seconds() {
        let time = |seconds, ticks| EssTime { seconds, ticks };
        assert_eq!(moved(time(5, TICKS_PER_SECOND - 1), 1), time(6, 0));
        assert_eq!(moved(time(5, 7), 3 * u64::from(TICKS_PER_SECOND) + 2), time(8, 9));
        assert_eq!(moved(time(5, 7), 0), time(5, 7));
    }
}
