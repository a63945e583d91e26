//! How far a partition has been dealt with: what is committed to the brokers, and what a restart makes of it.
//!
//! A frame may leave while messages before its own wait for others. So the offset that is committed is that of the oldest
//! message that waits, and with it goes, as its metadata, which messages behind that wait, too: all others, up to the last that was
//! read, are done with.
//!
//! The text: `evforge1 UNTIL EARLIEST RUNS`. UNTIL is the offset behind the last message that was read, EARLIEST the smallest
//! reference time of a frame that waits (`-`: none). RUNS are the messages that wait, from the committed offset on: `SKIP+LENGTH` for each
//! run of them, with commas between.

use std::collections::BTreeSet;

/// Runs of waiting messages that the text has at most: brokers take 4096 bytes.
pub(super) const MOST_RUNS: usize = 150;

const VERSION: &str = "evforge1";

/// The messages of a partition that are not done with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Offsets {
    /// Behind the last message that was read.
    pub(super) next: i64,
    /// Messages of frames that wait.
    pub(super) waiting: BTreeSet<i64>,
    /// Runs of offsets in `waiting`.
    runs: usize,
    resumed: Resumed,
}

/// What was done with before a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resumed {
    /// Messages from here on are new.
    pub(super) until: i64,
    /// Messages before that which are not done with: first one, and behind the last one.
    pub(super) runs: Vec<(i64, i64)>,
    /// The smallest reference time of a frame that waited.
    pub(super) earliest_ns: Option<i64>,
}

impl Offsets {
    /// A partition that is read from here on.
    pub(super) fn new(next: i64, resumed: Resumed) -> Self {
        Self { next, resumed, ..Self::default() }
    }

    /// Takes note of a message that was read; false if it was done with before a restart.
    pub(super) fn read(&mut self, offset: i64) -> bool {
        self.next = self.next.max(offset.saturating_add(1));
        let Resumed { until, runs, .. } = &self.resumed;
        offset >= *until || runs.iter().any(|&(first, end)| (first..end).contains(&offset))
    }

    /// A message waits for its frame to be sent.
    pub(super) fn wait(&mut self, offset: i64) {
        let (before, behind) = self.neighbours(offset);
        if self.waiting.insert(offset) {
            self.runs = (self.runs + 1).saturating_sub(usize::from(before) + usize::from(behind));
        }
    }

    /// A message waits no longer.
    pub(super) fn done(&mut self, offset: i64) {
        if self.waiting.remove(&offset) {
            let (before, behind) = self.neighbours(offset);
            self.runs = (self.runs + usize::from(before) + usize::from(behind)).saturating_sub(1);
        }
    }

    fn neighbours(&self, offset: i64) -> (bool, bool) {
        let has = |other: Option<i64>| other.is_some_and(|other| self.waiting.contains(&other));
        (has(offset.checked_sub(1)), has(offset.checked_add(1)))
    }

    /// What waits of that before a restart and has not been read again.
    fn unread(&self) -> Resumed {
        let unread = self.resumed.from(self.next);
        let is_some = !unread.runs.is_empty();
        Resumed { earliest_ns: unread.earliest_ns.filter(|_| is_some), ..unread }
    }

    /// Runs of messages that wait.
    pub(super) fn runs(&self) -> usize {
        self.runs + self.unread().runs.len()
    }

    /// What is committed: the offset, and its metadata.
    pub(super) fn committed(&self, earliest_ns: Option<i64>) -> (i64, String) {
        let unread = self.unread();
        let mut runs: Vec<(i64, i64)> = Vec::with_capacity(self.runs);
        for &offset in &self.waiting {
            match runs.last_mut() {
                Some((_, end)) if *end == offset => *end += 1,
                _ => runs.push((offset, offset + 1)),
            }
        }
        runs.extend(unread.runs);
        let first = runs.first().map_or(unread.until, |(first, _)| *first);
        let earliest_ns = earliest_ns.into_iter().chain(unread.earliest_ns).min();
        (first, Resumed { until: unread.until, runs, earliest_ns }.text(first))
    }
}

impl Resumed {
    /// The same behind a later offset.
    pub(super) fn from(&self, offset: i64) -> Self {
        let later = self.runs.iter().map(|&(first, end)| (first.max(offset), end));
        Self {
            until: self.until.max(offset),
            runs: later.filter(|(first, end)| first < end).collect(),
            earliest_ns: self.earliest_ns,
        }
    }

    /// As metadata of this offset.
    pub(super) fn text(&self, committed: i64) -> String {
        let earliest = self.earliest_ns.map_or("-".to_owned(), |time| time.to_string());
        let mut place = committed;
        let run = |&(first, end): &(i64, i64)| {
            let text = format!("{}+{}", first - place, end - first);
            place = end;
            text
        };
        let runs: Vec<String> = self.runs.iter().map(run).collect();
        format!("{VERSION} {} {earliest} {}", self.until, runs.join(","))
    }

    /// What the metadata of a committed offset says; none if they are not of evforge.
    pub(super) fn read(committed: i64, metadata: &str) -> Option<Self> {
        let mut words = metadata.split(' ');
        if words.next() != Some(VERSION) {
            return None;
        }
        let until: i64 = words.next()?.parse().ok()?;
        let earliest_ns = match words.next()? {
            "-" => None,
            time => Some(time.parse().ok()?),
        };
        let (mut runs, mut place) = (Vec::new(), committed);
        for run in words.next()?.split(',').filter(|run| !run.is_empty()) {
            let (skip, length) = run.split_once('+')?;
            let first = place.checked_add(skip.parse::<u32>().ok()?.into())?;
            place = first.checked_add(length.parse::<u32>().ok()?.into())?;
            runs.push((first, place));
        }
        (runs.len() <= 2 * MOST_RUNS && words.next().is_none() && place <= until).then_some(Self {
            until,
            runs,
            earliest_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_waits_is_read_again_after_a_restart_and_nothing_else() {
        let mut offsets = Offsets::new(5, Resumed::default());
        for offset in 5..20 {
            assert!(offsets.read(offset));
            offsets.wait(offset);
        }
        [5, 6, 9, 10, 15, 19].into_iter().for_each(|offset| offsets.done(offset));
        let (committed, text) = offsets.committed(Some(77));
        assert_eq!((committed, text.as_str(), offsets.runs()), (7, "evforge1 20 77 0+2,2+4,1+3", 3));
        let resumed = Resumed::read(committed, &text).expect("its own text");
        assert_eq!(resumed.earliest_ns, Some(77));
        let mut again = Offsets::new(committed, resumed);
        let read: Vec<i64> = (7..22).filter(|offset| again.read(*offset)).collect();
        assert_eq!(read, [7, 8, 11, 12, 13, 14, 16, 17, 18, 20, 21]);
        assert_eq!(
            Resumed::read(7, &text).expect("its own text").from(10).text(10),
            "evforge1 20 77 1+4,1+3"
        );
        // Interrupted again before all of that was read again.
        let mut early = Offsets::new(7, Resumed::read(7, &text).expect("its own text"));
        assert!(early.read(7) && early.read(8) && !early.read(9));
        early.wait(8);
        assert_eq!((early.runs(), early.committed(None)), (3, (8, "evforge1 20 77 0+1,2+4,1+3".to_owned())));
        let (committed, text) = Offsets::new(9, Resumed::default()).committed(None);
        assert_eq!((committed, text.as_str()), (9, "evforge1 9 - "));
        assert_eq!(Resumed::read(9, &text).map(|resumed| resumed.until), Some(9));
        for foreign in
            ["", "evforge2 9 - ", "evforge1 9 -", "evforge1 9 - 0+1,", "evforge1 9 x 0+1", "evforge1 9 - 1"]
        {
            assert_eq!(Resumed::read(9, foreign), None, "{foreign}");
        }
    }

    proptest! {
        #[test]
        fn any_set_of_waiting_messages_comes_back(
            offsets in prop::collection::vec((0_i64..100, any::<bool>()), 0..100), ahead in 0_i64..5
        ) {
            let mut known = Offsets::default();
            for (offset, waits) in offsets {
                known.read(offset);
                if waits { known.wait(offset) } else { known.done(offset) }
            }
            known.next += ahead;
            let (committed, text) = known.committed(None);
            let runs = text.split(',').filter(|run| run.contains('+')).count();
            prop_assert_eq!(runs, known.runs());
            let mut again = Offsets::new(committed, Resumed::read(committed, &text).expect("its own text"));
            for offset in committed..known.next {
                prop_assert_eq!(again.read(offset), known.waiting.contains(&offset));
            }
            prop_assert!(again.read(known.next));
        }

        #[test]
        fn any_text_is_read_without_harm(text in "(evforge1 )?[0-9+,\\- ]{0,40}", committed: i64) {
            let _ = Resumed::read(committed, &text);
        }
    }
}
