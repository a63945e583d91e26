//! Mesytec VMMR behind an SIS3153.

use super::step::{Step, change_u32_le};
use crate::mesytec::{Datagram, HEADER, LOW_TIME_BITS, Word};

/// Bytes of a word.
const WORD: usize = 4;
/// Words of a block that are not data: two before them, two behind.
const FRAMING: usize = 4;
/// In the second word of a block: the counter of triggers.
const COUNTER: u32 = 0x00FF_FFFF;
/// First byte of a block.
const BLOCK: u8 = 0x58;

fn is_datagram(bytes: &[u8]) -> bool {
    Datagram::parse(bytes).is_ok_and(|datagram| datagram.is_undamaged())
}

/// Those of triggers.
pub(super) fn visit_numbers(bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    if let Ok(datagram) = Datagram::parse(bytes)
        && datagram.is_undamaged()
    {
        datagram.triggers().flatten().for_each(|trigger| visit(0, trigger.counter.into()));
    }
}

/// The blocks of a sound datagram, each from its first word to the last of its framing.
fn blocks(bytes: &mut [u8]) -> impl Iterator<Item = &mut [[u8; WORD]]> {
    let mut rest: &mut [[u8; WORD]] = match is_datagram(bytes) {
        true => bytes[HEADER..].as_chunks_mut().0,
        false => &mut [],
    };
    std::iter::from_fn(move || {
        let [block, length @ .., _] = *rest.first()?;
        // The length is big-endian and counts the words after the first.
        let words = 1 + usize::from(u16::from_be_bytes(length));
        if block != BLOCK || words < FRAMING {
            return None;
        }
        let (block, behind) = std::mem::take(&mut rest).split_at_mut_checked(words)?;
        rest = behind;
        Some(block)
    })
}

pub(super) fn visit_times(bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
    let mut copy = bytes.to_vec();
    // The upper part holds until the next one; what comes before the first of a datagram cannot be told.
    let (mut upper, mut lower) = (None, Vec::new());
    for block in blocks(&mut copy) {
        for word in &block[2..block.len() - 2] {
            match Word::decode(u32::from_le_bytes(*word)) {
                Word::HighTime(high) => upper = Some(u64::from(high) << LOW_TIME_BITS),
                Word::EndOfEvent(low) => match upper {
                    Some(upper) => visit(0, upper | u64::from(low)),
                    None => lower.push(low),
                },
                _ => {}
            }
        }
    }
    if upper.is_none() {
        lower.into_iter().for_each(|low| visit(0, low.into()));
    }
}

pub(super) fn move_on(bytes: &mut [u8], step: Step) {
    for block in blocks(bytes) {
        change_u32_le(&mut block[1], 0, |begin| {
            begin & !COUNTER | begin.wrapping_add(step.count as u32) & COUNTER
        });
        let words = block.len();
        move_times(&mut block[2..words - 2], step.ticks);
    }
}

/// The upper part comes before the lower one, where there is one.
fn move_times(words: &mut [[u8; WORD]], ticks: u64) {
    let mut high: Option<(usize, u16)> = None;
    for place in 0..words.len() {
        match Word::decode(u32::from_le_bytes(words[place])) {
            Word::HighTime(found) => high = Some((place, found)),
            Word::EndOfEvent(low) => {
                let upper = high.map_or(0, |(_, high)| u64::from(high));
                let time = (upper << LOW_TIME_BITS | u64::from(low)).wrapping_add(ticks);
                let low = time & ((1 << LOW_TIME_BITS) - 1);
                words[place] = Word::EndOfEvent(low as u32).encode().to_le_bytes();
                if let Some((place, _)) = high {
                    words[place] = Word::HighTime((time >> LOW_TIME_BITS) as u16).encode().to_le_bytes();
                }
            }
            _ => {}
        }
    }
}
