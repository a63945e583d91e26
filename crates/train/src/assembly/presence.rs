//! Which packets of a train are there: one bit each.

use std::ops::Range;

/// A bit for each packet of the largest train.
#[derive(Debug)]
pub(crate) struct Presence {
    words: Box<[u64]>,
    /// Words from here on are 0: a small train costs no more to forget than it has packets.
    used: usize,
}

impl Presence {
    /// Nothing is there, of this many packets.
    pub(crate) fn new(packets: usize) -> Self {
        Self { words: vec![0; packets.div_ceil(64)].into(), used: 0 }
    }

    /// How many packets there is room for, at least.
    pub(crate) fn packets(&self) -> usize {
        self.words.len() * 64
    }

    /// Marks a packet below the number of packets. False if it was there.
    #[inline]
    pub(crate) fn insert(&mut self, packet: u32) -> bool {
        let (at, bit) = place(packet);
        self.used = self.used.max(at + 1);
        let word = &mut self.words[at];
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// True if a packet is there.
    #[inline]
    pub(crate) fn contains(&self, packet: u32) -> bool {
        let (at, bit) = place(packet);
        self.words.get(at).is_some_and(|word| word & bit != 0)
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.words[..self.used].fill(0);
        self.used = 0;
    }

    /// True if all of these packets are there.
    pub(crate) fn has_all(&self, packets: Range<u32>) -> bool {
        self.next(packets.start, packets.end, false) >= packets.end
    }

    /// The ranges of packets below `end` that are not there, in their order.
    pub(crate) fn gaps(&self, end: u32) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, end, false);
            if start >= end {
                return None;
            }
            at = self.next(start, end, true);
            Some(start..at)
        })
    }

    /// The first packet from `from` on that is there, or is not; `end` if there is none before it.
    fn next(&self, from: u32, end: u32, present: bool) -> u32 {
        let mut packet = from;
        while packet < end {
            let (at, bit) = place(packet);
            let word = self.words.get(at).copied().unwrap_or(0);
            let wanted = if present { word } else { !word } & !(bit - 1);
            if wanted != 0 {
                return end.min((packet & !63) + wanted.trailing_zeros());
            }
            packet = (packet | 63).saturating_add(1);
        }
        end
    }
}

fn place(packet: u32) -> (usize, u64) {
    ((packet / 64) as usize, 1 << (packet % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gaps_are_those_of_a_list(there in proptest::collection::vec(any::<bool>(), 1..400), end in 0_u32..500) {
            let mut presence = Presence::new(there.len());
            for (packet, _) in there.iter().enumerate().filter(|(_, there)| **there) {
                prop_assert!(presence.insert(packet as u32));
                prop_assert!(!presence.insert(packet as u32));
            }
            let is_there = |packet: u32| there.get(packet as usize).copied().unwrap_or(false);
            let missing: Vec<u32> = (0..end).filter(|&packet| !is_there(packet)).collect();
            let gaps: Vec<Range<u32>> = presence.gaps(end).collect();
            prop_assert_eq!(gaps.iter().cloned().flatten().collect::<Vec<_>>(), missing);
            prop_assert!(gaps.windows(2).all(|pair| pair[0].end < pair[1].start));
            for start in 0..end {
                prop_assert_eq!(presence.has_all(start..end), (start..end).all(is_there));
                prop_assert_eq!(presence.contains(start), is_there(start));
            }
            presence.clear();
            prop_assert!(presence.gaps(end).flatten().eq(0..end));
        }
    }
}
