//! The hits of a packet, dealt out among several that form events, each of some modules.
//!
//! Whoever decodes a packet sorts its hits by who has their module, so that each can take its own in one piece, and nobody has
//! to look at those of the others.

use crate::hit::TargetedHit;

/// Which part has a target of the wiring, and what it is called there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct Share {
    /// The part.
    pub part: u32,
    /// The target in its own former.
    pub target: u32,
}

/// Who has which target.
#[derive(Debug, get_size2::GetSize)]
pub struct Shares {
    of_targets: Vec<Share>,
    parts: usize,
}

impl Shares {
    /// Of this many parts; `of_targets` are those of all targets of the wiring, in their order.
    pub fn new(parts: usize, of_targets: impl IntoIterator<Item = Share>) -> Self {
        Self { of_targets: of_targets.into_iter().collect(), parts }
    }

    /// Who has this target.
    #[inline]
    pub fn of(&self, target: u32) -> Option<Share> {
        self.of_targets.get(target as usize).copied()
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.parts
    }
}

/// Hits that came together: by parts, or in the order in which they came.
#[derive(Debug, Default, get_size2::GetSize)]
pub struct DealtHits {
    hits: Vec<TargetedHit>,
    /// Where those of each part end; none if they are in the order in which they came.
    ends: Vec<u32>,
}

impl DealtHits {
    /// Room for this many hits of this many parts.
    pub fn with_room(hits: usize, parts: usize) -> Self {
        Self { hits: Vec::with_capacity(hits), ends: Vec::with_capacity(parts) }
    }

    /// Deals out hits: those of a part keep their order.
    pub fn deal(&mut self, hits: &[TargetedHit], shares: &Shares) {
        let Self { hits: dealt, ends } = self;
        ends.clear();
        ends.resize(shares.parts, 0);
        for hit in hits {
            let end = shares.of(hit.target).and_then(|share| ends.get_mut(share.part as usize));
            if let Some(end) = end {
                *end += 1;
            }
        }
        // Where each begins; that becomes where it ends.
        let mut count = 0;
        for end in ends.iter_mut() {
            count += std::mem::replace(end, count);
        }
        dealt.clear();
        dealt.resize(count as usize, TargetedHit::default());
        for &hit in hits {
            let Some(Share { part, target }) = shares.of(hit.target) else { continue };
            let Some(end) = ends.get_mut(part as usize) else { continue };
            if let Some(place) = dealt.get_mut(*end as usize) {
                *place = TargetedHit { target, ..hit };
            }
            *end += 1;
        }
    }

    /// Takes hits as they come, in place of what was here.
    pub fn begin(&mut self) {
        self.hits.clear();
        self.ends.clear();
    }

    /// Appends hits to those that are taken as they come.
    #[inline]
    pub fn append(&mut self, hits: &[TargetedHit]) {
        self.hits.extend_from_slice(hits);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// True without hits.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Those in the order in which they came; none if they are dealt out.
    pub fn as_they_came(&self) -> Option<&[TargetedHit]> {
        self.ends.is_empty().then_some(&self.hits)
    }

    /// Those of a part, with its own targets.
    #[inline]
    pub fn of_part(&self, part: usize) -> &[TargetedHit] {
        let end = |part: usize| self.ends.get(part).map_or(0, |&end| end as usize);
        let start = part.checked_sub(1).map_or(0, end);
        self.hits.get(start..end(part)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_part_has_its_own_hits_in_the_order_in_which_they_came(
            targets in prop::collection::vec(0..40_u32, 0..60),
            parts in 1..9_usize,
        ) {
            let shares = Shares::new(
                parts,
                (0..35).map(|target| Share { part: target % parts as u32, target: target / parts as u32 }),
            );
            let hits: Vec<_> = targets
                .iter()
                .zip(0..)
                .map(|(&target, time)| TargetedHit { time, payload: target, target })
                .collect();
            let mut dealt = DealtHits::default();
            dealt.deal(&[TargetedHit::default(); 7], &shares);
            dealt.deal(&hits, &shares);
            let mut count = 0;
            for part in 0..parts {
                let own: Vec<_> = hits
                    .iter()
                    .filter_map(|&hit| {
                        let share = shares.of(hit.target).filter(|share| share.part as usize == part)?;
                        Some(TargetedHit { target: share.target, ..hit })
                    })
                    .collect();
                prop_assert_eq!(dealt.of_part(part), &own[..]);
                count += own.len();
            }
            prop_assert_eq!(dealt.len(), count);
            prop_assert_eq!(dealt.of_part(parts), &[]);
        }
    }
}
