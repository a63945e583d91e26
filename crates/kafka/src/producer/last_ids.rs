//! The last message of each source that a topic has.

use evforge_core::sequence::CONFIRM;
use std::collections::{BTreeMap, HashMap};

/// What the vetoes of a source are numbered under, apart from its events.
pub(super) fn vetoes_of(source: &str) -> String {
    format!("{source}/vetoes")
}

/// The last message of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastMessage {
    /// Its number.
    pub(crate) id: i64,
    /// Its last reference time, in nanoseconds since 1970.
    pub(crate) reference_time: Option<i64>,
}

/// The last messages of a topic, or of what an earlier run has left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastIds {
    /// All numbers that were seen, by source, with their last reference times: in a topic of several partitions one may be there while an
    /// earlier one is not.
    sources: HashMap<String, BTreeMap<i64, Option<i64>>>,
}

impl LastIds {
    /// Takes note of a message; the order does not matter.
    pub(crate) fn add(&mut self, source: &str, id: i64, reference_time: Option<i64>) {
        let known = self.sources.entry(source.to_owned()).or_default().entry(id).or_default();
        *known = reference_time.or(*known);
    }

    /// Takes note of what others are.
    pub(crate) fn add_all(&mut self, others: &Self) {
        for (source, ids) in &others.sources {
            ids.iter().for_each(|(id, reference_time)| self.add(source, *id, *reference_time));
        }
    }

    /// True if nothing of `others` is older than the oldest message here: what is not here is not there. Of a source that has
    /// nothing here `is_absent` says whether it is taken to have nothing.
    pub(crate) fn reaches_back_to(&self, others: &Self, is_absent: bool) -> bool {
        let oldest = |ids: &BTreeMap<i64, _>| ids.first_key_value().map(|(id, _)| *id);
        others.sources.iter().all(|(source, ids)| {
            let here = self.sources.get(source).and_then(oldest);
            oldest(ids).is_none_or(|oldest| here.map_or(is_absent, |here| here <= oldest))
        })
    }

    /// The last message of a source: that with the largest number, unless this is far from all others. Such a number is that of a damaged
    /// message, and others would be counted on from it.
    pub(crate) fn get(&self, source: &str) -> Option<LastMessage> {
        let ids = self.sources.get(source)?;
        let pairs = ids.keys().rev().zip(ids.keys().rev().skip(1));
        let mut near = pairs.filter(|(id, before)| id.abs_diff(**before) <= CONFIRM);
        let (id, _) = near.next().or_else(|| Some((ids.keys().next_back()?, &0)))?;
        let reference_time = ids.range(..=id).rev().find_map(|(_, reference_time)| *reference_time);
        Some(LastMessage { id: *id, reference_time })
    }

    /// A source and its last number.
    pub(crate) fn first(self) -> Option<(String, i64)> {
        let source = self.sources.keys().next()?;
        Some((source.clone(), self.get(source)?.id))
    }

    /// True if the topic has this message of the source already. Messages without a number (0) are never known.
    pub(crate) fn has(&self, source: &str, id: i64) -> bool {
        id > 0 && self.sources.get(source).is_some_and(|ids| ids.contains_key(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_counts_in_whatever_order_they_come() {
        let mut last = LastIds::default();
        for (id, time) in [(3, Some(30)), (5, Some(50)), (4, Some(40)), (5, None)] {
            last.add("a", id, time);
        }
        let mut others = LastIds::default();
        others.add("a", 2, Some(20));
        others.add("b", 9, None);
        assert!(others.reaches_back_to(&last, false) && !last.reaches_back_to(&others, true));
        let mut all = last.clone();
        all.add_all(&others);
        assert_eq!((all.get("a"), all.get("b").map(|last| last.id)), (last.get("a"), Some(9)));
        assert!(all.has("a", 2) && !last.has("a", 2));
        assert_eq!(last.get("a"), Some(LastMessage { id: 5, reference_time: Some(50) }));
        assert!(
            last.has("a", 5)
                && !last.has("a", 1)
                && !last.has("a", 6)
                && !last.has("a", 0)
                && !last.has("b", 1)
        );
    }

    #[test]
    fn one_damaged_number_is_not_counted_on_from() {
        let last = |ids: &[i64]| {
            let mut last = LastIds::default();
            ids.iter().for_each(|id| last.add("a", *id, Some(id * 10)));
            last.get("a").map(|last| (last.id, last.reference_time))
        };
        assert_eq!(last(&[5, 6, 2_248_146_953, 7]), Some((7, Some(70))));
        assert_eq!(last(&[5, 6, 900, 7]), Some((900, Some(9000))), "some are missing");
        assert_eq!(last(&[5, 90_000, 90_001]), Some((90_001, Some(900_010))), "it has started over");
        assert_eq!(
            (last(&[90_000]), last(&[5, 90_000])),
            (Some((90_000, Some(900_000))), Some((90_000, Some(900_000))))
        );
    }
}
