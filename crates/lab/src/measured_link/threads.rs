//! The processor time of each thread of a program, by the kernel's account (`/proc/PID/task`).

use std::collections::BTreeMap;
use std::time::Duration;

/// Ticks per second in /proc: the same on every Linux for programs.
const TICKS: u64 = 100;

/// User and system time of the threads of a program, to 10 ms each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// By the number of the thread: its name (15 bytes of it, as the kernel keeps them), and its time.
    threads: BTreeMap<u32, (String, Duration)>,
}

impl ThreadTimes {
    /// Up to now; empty if there is no such process any more.
    pub(crate) fn of(process: u32) -> Self {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let thread = |task: std::fs::DirEntry| {
            let number = task.file_name().to_string_lossy().parse().ok()?;
            let text = std::fs::read_to_string(task.path().join("stat")).ok()?;
            Some((number, (name(&text)?, stat_time(&text)?)))
        };
        Self { threads: tasks.filter_map(thread).collect() }
    }

    /// Takes what is known later. A thread that has ended keeps what was seen last.
    pub(crate) fn keep_latest(&mut self, later: Self) {
        for (number, (name, time)) in later.threads {
            let known = self.threads.entry(number).or_default();
            // A process that has ended and was not waited for has no time any more.
            known.1 = known.1.max(time);
            known.0 = name;
        }
    }

    /// The time since another account of the same program.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let used = |number: &u32, time: Duration| {
            time.saturating_sub(before.threads.get(number).map_or(Duration::ZERO, |(_, before)| *before))
        };
        let threads = self.threads.iter();
        Self {
            threads: threads
                .map(|(number, (name, time))| (*number, (name.clone(), used(number, *time))))
                .collect(),
        }
    }

    /// The time of all threads of this name together.
    pub fn named(&self, name: &str) -> Duration {
        self.threads.values().filter(|(own, _)| own == name).map(|(_, time)| *time).sum()
    }

    /// Name and time of the thread that has used most.
    pub fn busiest(&self) -> Option<(&str, Duration)> {
        self.threads.values().max_by_key(|(_, time)| *time).map(|(name, time)| (name.as_str(), *time))
    }

    /// The time of all threads together.
    pub fn total(&self) -> Duration {
        self.threads.values().map(|(_, time)| *time).sum()
    }
}

/// The name in a line of `stat`, which may have blanks and brackets in it.
fn name(stat: &str) -> Option<String> {
    let (before, _) = stat.rsplit_once(')')?;
    Some(before.split_once('(')?.1.to_owned())
}

/// User and system time in a line of `stat`: fields 14 and 15, counted behind the name.
pub(super) fn stat_time(stat: &str) -> Option<Duration> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let all = ticks()? + ticks()?;
    Some(Duration::from_millis(all * 1000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(threads: &[(u32, &str, u64)]) -> ThreadTimes {
        let of =
            |&(number, name, ms): &(u32, &str, u64)| (number, (name.to_owned(), Duration::from_millis(ms)));
        ThreadTimes { threads: threads.iter().map(of).collect() }
    }

    #[test]
    fn name_and_time_are_read_whatever_the_name_has_in_it() {
        let text = "7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0\n";
        assert_eq!((name(text).as_deref(), stat_time(text)), (Some("a (b) c"), Some(Duration::from_secs(2))));
        assert_eq!((name("7 a"), stat_time("7 (a) S 1")), (None, None));
    }

    #[test]
    fn threads_of_a_name_are_added_up_and_one_that_has_ended_keeps_its_time() {
        let before = times(&[(1, "main", 100), (2, "output", 50)]);
        let mut latest = times(&[(1, "main", 400), (2, "output", 80), (3, "output", 20)]);
        latest.keep_latest(times(&[(1, "main", 500), (2, "output", 0)]));
        let used = latest.since(&before);
        assert_eq!(used.named("main"), Duration::from_millis(400));
        assert_eq!(used.named("output"), Duration::from_millis(50));
        assert_eq!(used.busiest(), Some(("main", Duration::from_millis(400))));
        assert_eq!(used.total(), Duration::from_millis(450));
    }

    #[test]
    fn this_process_has_this_thread() {
        let own = ThreadTimes::of(std::process::id());
        assert!(own.threads.len() > 1, "the thread of the test and the main one: {own:?}");
        assert_eq!(ThreadTimes::of(u32::MAX), ThreadTimes::default());
    }
}
