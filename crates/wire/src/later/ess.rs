//! ESS readout with VMM3a or R5560 records.

use super::step::{Step, change_u32_le};
use crate::ess::{EssTime, R5560_RECORD, RECORD, TICKS_PER_SECOND};
use crate::recognise::{EssRecords, look_at_ess};

/// Bytes of the header that change: the pulse, the one before, the sequence number.
const PULSE: usize = 10;
const PREVIOUS: usize = 18;
const SEQUENCE: usize = 26;
/// In a record: its time, and with VMM3a then the bunch crossings in 12 bits.
const TIME: usize = 4;
const CROSSINGS: usize = 12;
const CROSSING_MASK: u16 = 4095;

/// What a packet of the ESS readout is moved by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EssStep {
    /// Ticks; bunch crossings are right if they are even.
    pub ticks: u64,
    /// By how much its number goes on.
    pub count: u64,
    /// The last pulse of the pass before: the one before the first pulse of all; none leaves that as it is.
    pub last: Option<EssTime>,
}

fn time_at(bytes: &[u8], at: usize) -> Option<EssTime> {
    let (seconds, ticks) = (bytes.get(at..)?.first_chunk()?, bytes.get(at + 4..)?.first_chunk()?);
    Some(EssTime { seconds: u32::from_le_bytes(*seconds), ticks: u32::from_le_bytes(*ticks) })
}

fn put_time(bytes: &mut [u8], at: usize, time: EssTime) {
    bytes[at..at + 4].copy_from_slice(&time.seconds.to_le_bytes());
    bytes[at + 4..at + 8].copy_from_slice(&time.ticks.to_le_bytes());
}

/// The pulse of a packet.
pub fn pulse(bytes: &[u8]) -> Option<EssTime> {
    time_at(bytes, PULSE)
}

/// How long the pulse of a packet is after the one before, in ticks; none if the packet does not tell two, or is none.
pub fn pulse_period(bytes: &[u8]) -> Option<u64> {
    header(bytes)?;
    let (pulse, previous) = (time_at(bytes, PULSE)?, time_at(bytes, PREVIOUS)?);
    pulse.total_ticks().checked_sub(previous.total_ticks()).filter(|period| *period > 0)
}

/// This many ticks later.
#[inline]
pub fn moved(time: EssTime, by: u64) -> EssTime {
    let ticks = time.ticks.wrapping_add((by % u64::from(TICKS_PER_SECOND)) as u32);
    let carry = u32::from(ticks >= TICKS_PER_SECOND);
    EssTime {
        seconds: time.seconds.wrapping_add((by / u64::from(TICKS_PER_SECOND)) as u32).wrapping_add(carry),
        ticks: ticks.wrapping_sub(carry * TICKS_PER_SECOND),
    }
}

/// Moves the time of a record.
#[inline]
fn move_time(record: &mut [u8], by: u64) {
    if let Some(time) = time_at(record, TIME) {
        put_time(record, TIME, moved(time, by));
    }
}

/// Moves header and records of a packet whose header takes so many bytes: records of [`EssRecords::R5560`], else of VMM3a.
pub fn move_records(bytes: &mut [u8], header: usize, records: EssRecords, step: EssStep) {
    let EssStep { ticks: by, count, last } = step;
    let (Some(pulse), Some(previous)) = (time_at(bytes, PULSE), time_at(bytes, PREVIOUS)) else { return };
    put_time(bytes, PULSE, moved(pulse, by));
    // The first pulse of all had none before it; now it is the last one of the pass before.
    let previous = if previous == pulse { last.unwrap_or(pulse) } else { moved(previous, by) };
    put_time(bytes, PREVIOUS, previous);
    change_u32_le(bytes, SEQUENCE, |sequence| sequence.wrapping_add(count as u32));
    let payload = bytes.get_mut(header..).unwrap_or_default();
    if records == EssRecords::R5560 {
        let records = payload.as_chunks_mut::<R5560_RECORD>().0;
        return records.iter_mut().for_each(|record| move_time(record, by));
    }
    let crossings = (by / 2) as u16;
    for record in payload.as_chunks_mut::<RECORD>().0 {
        move_time(record, by);
        let bc = u16::from_le_bytes([record[CROSSINGS], record[CROSSINGS + 1]]);
        let bc = bc.wrapping_add(crossings) & CROSSING_MASK;
        record[CROSSINGS..CROSSINGS + 2].copy_from_slice(&bc.to_le_bytes());
    }
}

/// Bytes of the header of a packet with VMM3a or R5560 records or none, and which it has.
fn header(bytes: &[u8]) -> Option<(usize, EssRecords)> {
    let look = look_at_ess(bytes).ok()?;
    let is_moved = matches!(look.records, EssRecords::Vmm3a | EssRecords::R5560 | EssRecords::None);
    is_moved.then(|| (bytes.len() - look.packet.payload.len(), look.records))
}

/// Of which queue, and the number.
pub(super) fn number(bytes: &[u8]) -> Option<(u32, u32)> {
    header(bytes)?;
    let packet = look_at_ess(bytes).ok()?.packet;
    Some((u32::from(packet.detector_type) << 8 | u32::from(packet.output_queue), packet.sequence))
}

/// Those of pulses: what records are relative to.
pub(super) fn visit_times(bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    if header(bytes).is_some()
        && let Some(pulse) = pulse(bytes)
    {
        visit(0, pulse.total_ticks());
    }
}

pub(super) fn move_on(bytes: &mut [u8], step: Step) {
    let Some((header, records)) = header(bytes) else { return };
    move_records(bytes, header, records, EssStep { ticks: step.ticks, count: step.count, last: None });
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
