//! CAEN digitisers: records of 2018 and jadaq.

use super::step::{Step, change_u32_le, change_u64_le};
use crate::caen::{ElementType, JadaqPacket, JadaqVersion, RecordPacket};

/// Bytes of a record, and its time in it.
const RECORD: usize = 8;
const RECORD_TIME: usize = 4;
const END_OF_RUN: [u8; RECORD] = [0xFF; RECORD];
/// In a header of jadaq: the clock of the PC in milliseconds, the number; elements behind it begin with their time.
const GLOBAL_TIME: usize = 8;
const SEQUENCE: usize = 26;
const ELEMENTS: usize = 32;

pub(super) fn visit_record_times(bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    let Ok(packet) = RecordPacket::parse(bytes) else { return };
    for record in packet.records().filter(|record| !record.is_end_of_run()) {
        visit(record.digitizer.into(), record.time.into());
    }
}

pub(super) fn move_records(bytes: &mut [u8], step: Step) {
    if RecordPacket::parse(bytes).is_err() {
        return;
    }
    for record in bytes.as_chunks_mut::<RECORD>().0.iter_mut().filter(|record| **record != END_OF_RUN) {
        change_u32_le(record, RECORD_TIME, |time| time.wrapping_add(step.ticks as u32));
    }
}

fn jadaq(is_1_3: bool, bytes: &[u8]) -> Option<JadaqPacket<'_>> {
    let version = if is_1_3 { JadaqVersion::V1_3 } else { JadaqVersion::OfJune2018 };
    JadaqPacket::parse(bytes, version).ok()
}

/// Of jadaq 1.3: of which digitiser, and the number.
pub(super) fn number(bytes: &[u8]) -> Option<(u32, u32)> {
    jadaq(true, bytes).map(|packet| (packet.digitizer, packet.sequence))
}

/// Of elements with 64 bits, the lower 32: they are enough to tell how long a capture is.
pub(super) fn visit_element_times(is_1_3: bool, bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    let Some(packet) = jadaq(is_1_3, bytes) else { return };
    for element in packet.elements() {
        visit(packet.digitizer, element.time & u64::from(u32::MAX));
    }
}

pub(super) fn move_elements(is_1_3: bool, bytes: &mut [u8], step: Step) {
    let Some(element_type) = jadaq(is_1_3, bytes).map(|packet| packet.element_type) else { return };
    change_u64_le(bytes, GLOBAL_TIME, |time| time.wrapping_add(step.nanoseconds / 1_000_000));
    if is_1_3 {
        change_u32_le(bytes, SEQUENCE, |number| number.wrapping_add(step.count as u32));
    }
    for element in bytes[ELEMENTS..].chunks_exact_mut(element_type.size()) {
        match element_type {
            ElementType::OfJune2018 | ElementType::List422 => {
                change_u32_le(element, 0, |time| time.wrapping_add(step.ticks as u32));
            }
            ElementType::List8222 => change_u64_le(element, 0, |time| time.wrapping_add(step.ticks)),
        }
    }
}
