//! SRS with VMM2, VMM3 and VMM3a.

use super::step::{Step, change_u32_be};
use crate::srs_vmm::{MARKER_BITS, Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant, Word};

/// Places in a packet: number, trigger stamp (VMM2) or send stamp (VMM3); words of VMM3 behind the header.
const NUMBER: usize = 0;
const STAMP: usize = 8;
const WORDS: usize = 16;
const WORD: usize = 6;
/// In the second part of a word of VMM3: that it is a readout; the lower bits of a marker's stamp.
const IS_READOUT: u16 = 0x8000;
const LOW_BITS: u32 = 10;
const LOW: u16 = (1 << LOW_BITS) - 1;
/// Chips from this one on do not exist: their markers are those of the triggered mode, which have no time.
const CHIPS: u16 = 16;

fn vmm3(bytes: &[u8]) -> Option<Vmm3Packet<'_>> {
    let parse = |variant| Vmm3Packet::parse(bytes, variant).ok();
    parse(Vmm3Variant::Vmm3a).or_else(|| parse(Vmm3Variant::Of2018))
}

fn vmm2(bytes: &[u8]) -> Option<Vmm2Packet<'_>> {
    match Vmm2Packet::parse(bytes) {
        Ok(Vmm2Content::Readouts(packet)) => Some(packet),
        _ => None,
    }
}

/// Of which FEC, and the number.
pub(super) fn number(is_vmm3: bool, bytes: &[u8]) -> Option<(u32, u32)> {
    match is_vmm3 {
        true => vmm3(bytes).map(|packet| (packet.fec.into(), packet.frame_counter)),
        // Heartbeats are numbered as well.
        false => {
            Vmm2Packet::numbering(bytes).map(|numbering| (numbering.fec.into(), numbering.frame_counter))
        }
    }
}

pub(super) fn visit_times(is_vmm3: bool, bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    if !is_vmm3 {
        if let Some(packet) = vmm2(bytes) {
            visit(0, packet.trigger_stamp.into());
        }
        return;
    }
    let Some(packet) = vmm3(bytes) else { return };
    for word in packet.words() {
        if let Word::Marker(marker) = word
            && u16::from(marker.chip) < CHIPS
        {
            visit(packet.fec.into(), marker.stamp);
        }
    }
}

pub(super) fn move_on(is_vmm3: bool, bytes: &mut [u8], step: Step) {
    if number(is_vmm3, bytes).is_none() {
        return;
    }
    change_u32_be(bytes, NUMBER, |number| number.wrapping_add(step.count as u32));
    change_u32_be(bytes, STAMP, |stamp| stamp.wrapping_add(step.ticks as u32));
    if is_vmm3 {
        for word in bytes[WORDS..].as_chunks_mut::<WORD>().0 {
            move_marker(word, step.ticks);
        }
    }
}

fn move_marker(word: &mut [u8; WORD], ticks: u64) {
    let [a, b, c, d, e, f] = *word;
    let (first, second) = (u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, f]));
    if second & IS_READOUT != 0 || second >> LOW_BITS & 0x1F >= CHIPS {
        return;
    }
    let stamp = u64::from(first) << LOW_BITS | u64::from(second & LOW);
    let stamp = stamp.wrapping_add(ticks) & ((1 << MARKER_BITS) - 1);
    let first = (stamp >> LOW_BITS) as u32;
    let second = second & !LOW | (stamp as u16 & LOW);
    word[..4].copy_from_slice(&first.to_be_bytes());
    word[4..].copy_from_slice(&second.to_be_bytes());
}
