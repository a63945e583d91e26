//! The last message of each source that a topic has.

use std::collections::HashMap;

/// The last message of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastMessage {
    /// Its number.
    pub(crate) id: i64,
    /// Its last reference time, in nanoseconds since 1970.
    pub(crate) reference_time: Option<i64>,
}

/// The last messages of a topic, by source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastIds {
    sources: HashMap<String, LastMessage>,
}

impl LastIds {
    /// Takes note of a message; the order does not matter.
    pub(crate) fn add(&mut self, source: &str, id: i64, reference_time: Option<i64>) {
        let last = self.sources.entry(source.to_owned()).or_default();
        if id >= last.id {
            last.id = id;
            last.reference_time = reference_time.or(last.reference_time);
        }
    }

    /// The last message of a source.
    pub(crate) fn get(&self, source: &str) -> Option<LastMessage> {
        self.sources.get(source).copied()
    }

    /// True if the topic has this message of the source already. Messages without a number (0) are never known.
    pub(crate) fn has(&self, source: &str, id: i64) -> bool {
        id > 0 && self.sources.get(source).is_some_and(|last| id <= last.id)
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
        assert_eq!(last.get("a"), Some(LastMessage { id: 5, reference_time: Some(50) }));
        assert!(
            last.has("a", 5)
                && last.has("a", 1)
                && !last.has("a", 6)
                && !last.has("a", 0)
                && !last.has("b", 1)
        );
    }
}
