//! What must be seen from across the room: no data, losses, outputs that fail or wait, a full disk, a clock that nobody sets.

use crate::accumulator::Accumulator;
use crate::lock::lock;
use crate::protocol::{FeedState, LedgerState, OutputView, SignState};
use evforge_metrics::{Reading, Value};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Losses are told for so long after they came.
const TOLD_FOR: Duration = Duration::from_secs(60);

/// How full a disk may be: (least share that is free, and least bytes): what has less of both is nearly full.
const ALARM_BELOW: (f64, u64) = (0.03, 20_000_000_000);
const WARNING_BELOW: (f64, u64) = (0.10, 100_000_000_000);

/// A file system that outputs write to.
#[derive(Clone, Debug, PartialEq)]
struct Disk {
    folder: String,
    free: u64,
    size: u64,
}

#[derive(Debug, Default)]
struct Seen {
    /// Packets that are known to be lost, once a second; the oldest of them is older than a minute if there is one.
    lost: VecDeque<(Instant, u64)>,
    disks: Vec<Disk>,
    /// Whether something sets the clock; none where it does not matter or cannot be known.
    clock: Option<bool>,
}

/// What is looked at once a second, by another thread than that which tells it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    folders: Vec<PathBuf>,
    seen: Mutex<Seen>,
}

impl Watch {
    /// Watches the disks of these folders.
    pub(crate) fn new(folders: &[PathBuf]) -> Self {
        // A folder may be named as it is seen from the working directory.
        let whole = |folder: &PathBuf| std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        Self { folders: folders.iter().map(whole).collect(), seen: Mutex::default() }
    }

    /// Takes note of the host and of what the streams have lost.
    pub(crate) fn look(&self, host: &[Reading], streams: &[Arc<Accumulator>]) {
        self.look_at(Instant::now(), host, streams);
    }

    fn look_at(&self, now: Instant, host: &[Reading], streams: &[Arc<Accumulator>]) {
        let states: Vec<_> = streams.iter().filter_map(|stream| stream.state()).collect();
        let lost = |loss: evforge_core::ledger::Loss| match loss {
            evforge_core::ledger::Loss::Exactly(lost) | evforge_core::ledger::Loss::AtLeast(lost) => lost,
            evforge_core::ledger::Loss::Unknown => 0,
        };
        let lost = states.iter().map(|state| lost(state.run.loss())).sum();
        // The clock of a host gives stamps to what is received, and to nothing that is read from a file.
        let receives =
            states.iter().any(|state| state.run.stages.iter().any(|(stage, _)| *stage == "receive"));
        let disks = disks(host, &self.folders);
        let clock = number(host, "clock_synchronised", None).map(|yes| yes > 0).filter(|_| receives);
        let mut seen = lock(&self.seen);
        seen.lost.push_back((now, lost));
        while seen.lost.get(1).is_some_and(|(at, _)| now.saturating_duration_since(*at) >= TOLD_FOR) {
            seen.lost.pop_front();
        }
        (seen.disks, seen.clock) = (disks, clock);
    }

    /// All signs now: alarms first.
    pub(crate) fn signs(
        &self,
        feed: &FeedState,
        ledger: Option<&LedgerState>,
        outputs: &[OutputView],
    ) -> Vec<SignState> {
        let mut signs = Vec::new();
        let mut tell = |sign, level, text: String| signs.push(SignState { sign, level, text });
        match feed.state {
            _ if feed.failed => tell("failed", "alarm", feed.text.clone()),
            "stalled" => tell("no_data", "alarm", feed.text.clone()),
            "rejecting" => tell("rejecting", "alarm", feed.text.clone()),
            _ => {}
        }
        let is_over = feed.state == "ended";
        let unaccounted = ledger.map_or(0, |ledger| ledger.unaccounted);
        if unaccounted > 0 {
            tell("unaccounted", "alarm", format!("{unaccounted} unaccounted"));
        }
        for output in outputs {
            if output.failure.is_some() {
                tell("output_failed", "alarm", format!("{} has failed", output.id));
            } else if output.waiting.is_some() {
                tell("output_waiting", "warning", format!("{} waits", output.id));
            }
        }
        let seen = lock(&self.seen);
        let lost = match (seen.lost.front(), seen.lost.back()) {
            (Some((_, before)), Some((_, now))) => now.saturating_sub(*before),
            _ => 0,
        };
        if lost > 0 && !is_over {
            let packets = if lost == 1 { "packet" } else { "packets" };
            tell("loss", "alarm", format!("{lost} {packets} lost in the last minute"));
        }
        for Disk { folder, free, size } in seen.disks.iter().filter(|_| !is_over) {
            let share = *free as f64 / (*size).max(1) as f64;
            let is_below = |(least, bytes): (f64, u64)| share < least && *free < bytes;
            let text = format!("disk nearly full: {:.1} GB left at {folder}", *free as f64 / 1e9);
            if is_below(ALARM_BELOW) {
                tell("disk", "alarm", text);
            } else if is_below(WARNING_BELOW) {
                tell("disk", "warning", text);
            }
        }
        if seen.clock == Some(false) && !is_over {
            tell("clock", "warning", "clock not synchronised (no chrony, ntpd or PTP running)".into());
        }
        // "alarm" comes before "warning"; the order of each stays.
        signs.sort_by_key(|sign| sign.level);
        signs
    }
}

fn number(host: &[Reading], name: &str, folder: Option<&str>) -> Option<u64> {
    let is_of = |reading: &&Reading| match folder {
        None => true,
        Some(folder) => reading.labels.iter().any(|(label, value)| *label == "folder" && value == folder),
    };
    let mut named = host.iter().filter(|reading| reading.group == "host" && reading.name == name);
    match named.find(is_of)?.value {
        Value::Whole(value) => Some(value),
        _ => None,
    }
}

/// The file systems that the folders are on, each once, as far as the host tells of them.
fn disks(host: &[Reading], folders: &[PathBuf]) -> Vec<Disk> {
    let mounted: Vec<&str> = host
        .iter()
        .filter(|reading| reading.group == "host" && reading.name == "disk_free_bytes")
        .filter_map(|reading| reading.labels.iter().find(|(label, _)| *label == "folder"))
        .map(|(_, folder)| folder.as_str())
        .collect();
    let holder = |folder: &PathBuf| {
        let holds = |mounted: &&&str| folder.starts_with(Path::new(**mounted));
        mounted.iter().filter(holds).max_by_key(|mounted| mounted.len()).copied()
    };
    let mut found: Vec<&str> = folders.iter().filter_map(holder).collect();
    found.sort_unstable();
    found.dedup();
    let disk = |folder: &str| {
        let free = number(host, "disk_free_bytes", Some(folder))?;
        Some(Disk { folder: folder.to_owned(), free, size: number(host, "disk_size_bytes", Some(folder))? })
    };
    found.into_iter().filter_map(disk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::losses::LossBreakdown;
    use evforge_core::run_state::RunState;
    use evforge_metrics::Kind;

    fn told(name: &'static str, folder: Option<&str>, value: u64) -> Reading {
        Reading {
            group: "host".into(),
            name: name.into(),
            unit: None,
            kind: Kind::Gauge,
            help: "".into(),
            labels: folder.map(|folder| ("folder", folder.to_owned())).into_iter().collect(),
            value: Value::Whole(value),
        }
    }

    fn feed(state: &'static str) -> FeedState {
        FeedState { state, text: "No data for 23 s".into(), ..FeedState::default() }
    }

    fn output(id: &str, waiting: bool, failed: bool) -> OutputView {
        OutputView {
            id: id.into(),
            name: String::new(),
            events: Default::default(),
            counters: Default::default(),
            waiting: waiting.then(|| "no space".into()),
            failure: failed.then(|| "gone".into()),
            may_drop: false,
        }
    }

    fn texts(signs: &[SignState]) -> Vec<(&str, &str, &str)> {
        signs.iter().map(|sign| (sign.sign, sign.level, sign.text.as_str())).collect()
    }

    #[test]
    fn alarms_come_first_and_a_good_run_has_none() {
        let watch = Watch::default();
        assert_eq!(watch.signs(&feed("live"), Some(&LedgerState::default()), &[]), []);
        let ledger = LedgerState { unaccounted: 3, ..LedgerState::default() };
        let outputs = [output("csv", true, false), output("nexus", false, true)];
        let signs = watch.signs(&feed("stalled"), Some(&ledger), &outputs);
        let expected = [
            ("no_data", "alarm", "No data for 23 s"),
            ("unaccounted", "alarm", "3 unaccounted"),
            ("output_failed", "alarm", "nexus has failed"),
            ("output_waiting", "warning", "csv waits"),
        ];
        assert_eq!(texts(&signs), expected);
        let failed = FeedState { failed: true, ..feed("ended") };
        assert_eq!(watch.signs(&failed, None, &[])[0].sign, "failed");
    }

    #[test]
    fn disks_of_outputs_are_watched_and_no_others() {
        let gigabyte = 1_000_000_000;
        let disk = |folder: &'static str, free: u64, size: u64| {
            [
                told("disk_size_bytes", Some(folder), size * gigabyte),
                told("disk_free_bytes", Some(folder), free * gigabyte),
            ]
        };
        let host: Vec<Reading> =
            [disk("/", 1, 100), disk("/data", 5, 100), disk("/data/raw", 2, 1000), disk("/big", 90, 9000)]
                .into_iter()
                .flatten()
                .collect();
        let signs = |folders: &[&str], host: &[Reading]| {
            let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            let watch = Watch::new(&folders);
            watch.look(host, &[]);
            watch.signs(&feed("live"), None, &[])
        };
        assert_eq!(signs(&[], &host), []);
        let found = signs(&["/data/run/1", "/data/raw", "/data"], &host);
        let expected = [
            ("disk", "alarm", "disk nearly full: 2.0 GB left at /data/raw"),
            ("disk", "warning", "disk nearly full: 5.0 GB left at /data"),
        ];
        assert_eq!(texts(&found), expected);
        assert_eq!(signs(&["/database"], &host)[0].text, "disk nearly full: 1.0 GB left at /");
        assert_eq!(signs(&["/big/x"], &host)[0].level, "warning");
        assert_eq!(signs(&["/data"], &disk("/data", 50, 100)), []);
    }

    #[test]
    fn losses_are_told_while_they_are_new_and_the_clock_where_it_matters() {
        let stream = Arc::new(Accumulator::for_test(1));
        let lost = |lost, receives: bool| {
            let losses = LossBreakdown { after_the_last: lost, ..LossBreakdown::default() };
            let mut run = RunState { losses, ..RunState::default() };
            let mut tracker = evforge_core::sequence::SequenceTracker::new(32);
            tracker.observe(1);
            run.ledger.sources.push(evforge_core::ledger::SourceLedger::of_sequence("a".into(), &tracker));
            if receives {
                run.stages.push(("receive", Default::default()));
            }
            stream.set_state(&Arc::new(run));
        };
        let watch = Watch::default();
        let host = [told("clock_synchronised", None, 0)];
        let streams = [Arc::clone(&stream)];
        let begun = Instant::now();
        lost(7, false);
        watch.look_at(begun, &host, &streams);
        assert_eq!(
            watch.signs(&feed("live"), None, &[]),
            [],
            "what was lost before anybody looked is in the ledger"
        );
        lost(19, true);
        watch.look_at(begun, &host, &streams);
        let signs = watch.signs(&feed("live"), None, &[]);
        let expected = [
            ("loss", "alarm", "12 packets lost in the last minute"),
            ("clock", "warning", "clock not synchronised (no chrony, ntpd or PTP running)"),
        ];
        assert_eq!(texts(&signs), expected);
        assert_eq!(watch.signs(&feed("ended"), None, &[]), []);
        for (seconds, are_told) in [(59, true), (60, false)] {
            watch.look_at(begun + Duration::from_secs(seconds), &host, &streams);
            let signs = watch.signs(&feed("live"), None, &[]);
            assert_eq!(signs.iter().any(|sign| sign.sign == "loss"), are_told, "after {seconds} s");
        }
    }
}
