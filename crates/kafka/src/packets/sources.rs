//! The sources of a topic: what their numbers say about what is missing.

use evforge_core::sequence::{SequenceCounts, SequenceTracker};
use std::collections::HashMap;

/// Sources that are followed; the numbers of further ones are not looked at.
const SOURCES: usize = 1024;
/// A longer name is that of no source that is followed.
const LONGEST_NAME: usize = 1024;

/// Follows the numbers of each source.
#[derive(Debug, Default)]
pub(super) struct Sources {
    numbers: HashMap<String, usize>,
    followed: Vec<Source>,
}

#[derive(Debug)]
struct Source {
    name: String,
    tracker: SequenceTracker,
    latest: Option<i64>,
}

impl Sources {
    /// The number of a source; that of no source if there are too many.
    pub(super) fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        if self.followed.len() == SOURCES || name.len() > LONGEST_NAME {
            return SOURCES;
        }
        let number = self.followed.len();
        self.numbers.insert(name.to_owned(), number);
        let source = Source { name: name.to_owned(), tracker: SequenceTracker::new(64), latest: None };
        self.followed.push(source);
        number
    }

    /// A message of this source has been read.
    pub(super) fn observe(&mut self, source: usize, id: i64) {
        if let Some(source) = self.followed.get_mut(source) {
            source.tracker.observe(id.cast_unsigned());
            source.latest = Some(id);
        }
    }

    /// True if the number is not ahead of the latest one: the message is of another run.
    pub(super) fn is_behind(&self, source: usize, id: i64) -> bool {
        self.followed.get(source).and_then(|source| source.latest).is_some_and(|latest| id <= latest)
    }

    /// The numbers of all sources together.
    pub(super) fn counts(&self) -> SequenceCounts {
        let mut all = SequenceCounts::default();
        for SequenceCounts { lost, reordered, duplicated, restarts, .. } in self.each() {
            all.lost += lost;
            all.reordered += reordered;
            all.duplicated += duplicated;
            all.restarts += restarts;
        }
        all
    }

    fn each(&self) -> impl Iterator<Item = SequenceCounts> + '_ {
        self.followed.iter().map(|source| source.tracker.counts())
    }

    /// The names of those that have lost something, with how much, and the first and last number of the first gap.
    pub(super) fn lost(&self) -> impl Iterator<Item = (&str, u64, Option<(u64, u64)>)> + '_ {
        let all = self.followed.iter().zip(self.each());
        all.filter(|(_, counts)| counts.lost > 0).map(|(source, counts)| {
            let gap = source.tracker.gaps().first();
            let gap = gap.map(|gap| (gap.first, gap.first.wrapping_add(gap.count.saturating_sub(1))));
            (source.name.as_str(), counts.lost, gap)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_its_own_numbers_and_gaps() {
        let mut sources = Sources::default();
        let (one, two) = (sources.number("one"), sources.number("two"));
        assert_eq!((sources.number("one"), one == two), (one, false));
        for id in [1, 2, 5, 6] {
            sources.observe(one, id);
        }
        for id in [7, 8, 9] {
            sources.observe(two, id);
        }
        assert_eq!(sources.counts().lost, 2);
        assert_eq!(sources.lost().collect::<Vec<_>>(), [("one", 2, Some((3, 4)))]);
        assert!(sources.is_behind(one, 6) && !sources.is_behind(one, 7) && !sources.is_behind(two, 10));
    }

    #[test]
    fn many_names_take_no_more_memory_than_a_table() {
        let mut sources = Sources::default();
        for number in 0..10 * SOURCES {
            let source = sources.number(&format!("source {number}"));
            sources.observe(source, -1);
        }
        assert_eq!((sources.followed.len(), sources.numbers.len()), (SOURCES, SOURCES));
        assert!(!sources.is_behind(SOURCES, -5));
        assert_eq!(Sources::default().number(&"x".repeat(LONGEST_NAME + 1)), SOURCES);
    }
}
