//! Trigger times of a SoNDe.

use super::step::{Step, change_u16_be, change_u32_be};
use crate::sonde::{Content, SondePacket};

/// In a packet: the number in the lower 14 bits of two bytes, the time of the header; then triggers of five bytes.
const COUNT: usize = 2;
const COUNT_MASK: u16 = 0x3FFF;
const BOARD_TIME: usize = 4;
const TRIGGERS: usize = 11;
const TRIGGER: usize = 5;

/// Moves a packet whose triggers begin behind so many bytes by ticks of the boards' clock.
pub fn move_triggers(bytes: &mut [u8], header: usize, ticks: u64, count: u64) {
    change_u16_be(bytes, COUNT, |field| field.wrapping_add(count as u16) & COUNT_MASK | field & !COUNT_MASK);
    change_u32_be(bytes, BOARD_TIME, |time| time.wrapping_add(ticks as u32));
    for trigger in bytes.get_mut(header..).unwrap_or_default().as_chunks_mut::<TRIGGER>().0 {
        change_u32_be(trigger, 0, |time| time.wrapping_add(ticks as u32));
    }
}

/// A packet with nothing but trigger times.
fn trigger_times(bytes: &[u8]) -> Option<SondePacket<'_>> {
    SondePacket::parse(bytes).ok().filter(|packet| matches!(packet.content, Content::TriggerTimes(_)))
}

/// Of which system, and the number.
pub(super) fn number(bytes: &[u8]) -> Option<(u32, u32)> {
    trigger_times(bytes).map(|packet| (packet.header.system.into(), packet.header.packet_count.into()))
}

pub(super) fn visit_times(bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    let Some(SondePacket { header, content: Content::TriggerTimes(times) }) = trigger_times(bytes) else {
        return;
    };
    for trigger in times.entries() {
        visit(header.system.into(), trigger.time.into());
    }
}

pub(super) fn move_on(bytes: &mut [u8], step: Step) {
    if trigger_times(bytes).is_some() {
        move_triggers(bytes, TRIGGERS, step.ticks, step.count);
    }
}
