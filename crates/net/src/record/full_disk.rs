//! When a recording waited because the disk was full, and what that cost.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::staged_file::utc_in_words;

/// Times that are listed one by one; of further ones only the number and the last end are reported.
const LISTED: usize = 8;

/// A time without space, in seconds since the Unix epoch.
#[derive(Clone, Copy, Debug)]
struct Wait {
    from: u64,
    /// None while it lasts.
    until: Option<u64>,
}

/// The time in which packets are lost because of the wait: until what has come meanwhile has been written.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Packets of the recording that had been lost when it began.
    before: u64,
    /// Slabs that are to be written before it ends; none while there is no space.
    backlog: Option<usize>,
}

/// The times in which a recording waited for space.
#[derive(Debug, Default)]
pub(super) struct FullDisk {
    waits: Vec<Wait>,
    /// Times beyond those that are listed, and the end of the last one.
    further: u64,
    further_until: Option<u64>,
    cost: Option<Cost>,
    missing: u64,
    told: Option<String>,
}

impl FullDisk {
    /// To be called after every step of the writer: whether it waits, how many packets the recording has lost up to now,
    /// whether in its queue or behind it, and how many slabs are in the queue.
    pub(super) fn follow(&mut self, is_waiting: bool, lost: u64, backlog: usize) {
        match (self.is_waiting(), is_waiting) {
            (false, true) => self.begin(lost),
            (true, false) => self.end(backlog),
            _ => {}
        }
    }

    /// True between the beginning and the end of such a time.
    pub(super) fn is_waiting(&self) -> bool {
        self.cost.is_some_and(|cost| cost.backlog.is_none())
    }

    /// To be called when a slab has been written.
    pub(super) fn slab_written(&mut self, lost: u64) {
        let Some(Cost { backlog: Some(backlog), .. }) = &mut self.cost else { return };
        *backlog = backlog.saturating_sub(1);
        if *backlog == 0 {
            self.settle(lost);
        }
    }

    /// Packets that are missing up to now because the disk was full.
    pub(super) fn missing(&self, lost: u64) -> u64 {
        self.missing + self.cost.map_or(0, |cost| lost.saturating_sub(cost.before))
    }

    /// What is reported of times that are over: none if there was space all the time.
    pub(super) fn told(&self) -> Option<&str> {
        self.told.as_deref()
    }

    /// What is reported at the end.
    pub(super) fn finish(mut self, lost: u64) -> Option<String> {
        self.settle(lost);
        self.told
    }

    fn begin(&mut self, lost: u64) {
        self.settle(lost);
        self.cost = Some(Cost { before: lost, backlog: None });
        match self.waits.len() < LISTED {
            true => self.waits.push(Wait { from: now(), until: None }),
            false => self.further += 1,
        }
    }

    fn end(&mut self, backlog: usize) {
        match (self.further, self.waits.last_mut()) {
            (0, Some(wait)) => wait.until = Some(now()),
            _ => self.further_until = Some(now()),
        }
        if let Some(cost) = &mut self.cost {
            cost.backlog = Some(backlog);
        }
        self.told = self.in_words();
    }

    /// Counts what has been lost since the wait began. What is lost from now on has other reasons.
    fn settle(&mut self, lost: u64) {
        self.missing = self.missing(lost);
        self.cost = None;
        self.told = self.in_words();
    }

    fn in_words(&self) -> Option<String> {
        let until = |end: Option<u64>| end.map_or("the end".to_owned(), utc_in_words);
        let mut times: Vec<String> = self
            .waits
            .iter()
            .map(|wait| format!("from {} to {}", utc_in_words(wait.from), until(wait.until)))
            .collect();
        if self.further > 0 {
            times.push(format!("{} more times until {}", self.further, until(self.further_until)));
        }
        if times.is_empty() {
            return None;
        }
        let cost = match self.cost {
            // Not known yet.
            Some(_) => String::new(),
            None => format!(": {} packets are missing because of that", self.missing),
        };
        Some(format!("The disk was full {}{cost}.", times.join(", ")))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_until_the_backlog_is_written_is_because_of_the_full_disk_and_nothing_else() {
        let mut disk = FullDisk::default();
        disk.follow(false, 5, 3);
        disk.slab_written(5);
        assert_eq!((disk.told(), disk.missing(5)), (None, 0));
        disk.follow(true, 5, 3);
        disk.follow(true, 25, 3);
        assert_eq!((disk.told(), disk.missing(25)), (None, 20));
        disk.follow(false, 30, 2);
        assert!(disk.told().unwrap().starts_with("The disk was full from 20"), "{:?}", disk.told());
        disk.slab_written(31);
        disk.slab_written(33);
        disk.slab_written(40);
        disk.follow(false, 50, 0);
        assert_eq!(disk.missing(50), 28);
        // Full again, to the end.
        disk.follow(true, 60, 1);
        let told = disk.finish(67).unwrap();
        assert!(told.contains(" to the end: 35 packets are missing"), "{told}");
    }

    #[test]
    fn a_disk_that_is_full_again_and_again_takes_no_more_memory() {
        let mut disk = FullDisk::default();
        for lost in 1..=100 {
            disk.follow(true, 10 * lost, 1);
            disk.follow(false, 10 * lost + 1, 1);
            disk.slab_written(10 * lost + 2);
        }
        let told = disk.finish(2000).unwrap();
        assert!(told.contains("92 more times until 20") && told.contains(": 200 packets"), "{told}");
        assert_eq!(told.matches("from ").count(), LISTED);
    }
}
