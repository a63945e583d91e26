//! The last message of each source that a topic has.

use std::collections::{BTreeSet, HashMap};

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

/// The last messages of a topic, or of what an earlier run has left, by source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastIds {
    sources: HashMap<String, LastMessage>,
    /// All numbers that were seen: in a topic of several partitions one may be there while an earlier one is not.
    seen: HashMap<String, BTreeSet<i64>>,
}

impl LastIds {
    /// Takes note of a message; the order does not matter.
    pub(crate) fn add(&mut self, source: &str, id: i64, reference_time: Option<i64>) {
        self.seen.entry(source.to_owned()).or_default().insert(id);
        let last = self.sources.entry(source.to_owned()).or_default();
        if id >= last.id {
            last.id = id;
            last.reference_time = reference_time.or(last.reference_time);
        }
    }

    /// Takes note of what others are.
    pub(crate) fn add_all(&mut self, others: &Self) {
        for (source, ids) in &others.seen {
            let last = others.get(source).unwrap_or_default();
            for &id in ids {
                self.add(source, id, last.reference_time.filter(|_| id == last.id));
            }
        }
    }

    /// True if nothing of `others` is older than the oldest message here: what is not here is not there. Of a source that has
    /// nothing here `is_absent` says whether it is taken to have nothing.
    pub(crate) fn reaches_back_to(&self, others: &Self, is_absent: bool) -> bool {
        others.seen.iter().all(|(source, ids)| {
            let here = self.seen.get(source).and_then(BTreeSet::first);
            ids.first().is_none_or(|oldest| here.map_or(is_absent, |here| here <= oldest))
        })
    }

    /// The last message of a source.
    pub(crate) fn get(&self, source: &str) -> Option<LastMessage> {
        self.sources.get(source).copied()
    }

    /// A source and its last number.
    pub(crate) fn first(self) -> Option<(String, i64)> {
        self.sources.into_iter().next().map(|(source, last)| (source, last.id))
    }

    /// True if the topic has this message of the source already. Messages without a number (0) are never known.
    pub(crate) fn has(&self, source: &str, id: i64) -> bool {
        id > 0 && self.seen.get(source).is_some_and(|ids| ids.contains(&id))
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
}
