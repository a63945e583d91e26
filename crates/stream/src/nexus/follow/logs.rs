//! Values of logs (NXlog) of a file: the newest of each.

use super::super::event_arrays::{nanoseconds, unit, whole_numbers};
use super::super::groups::{Found, LOG, text_attribute};
use hdf5_metno::Dataset;

/// Logs that are read at most.
const MOST: usize = 256;
/// Characters of a name and of a unit at most.
const LONGEST_NAME: usize = 200;
/// Values of a log that are looked at at once: of more that came at once, the newest.
const BLOCK: usize = 4096;
/// Values of a chunk at most: it is unpacked as a whole, whatever is wanted of it.
const LARGEST_CHUNK: usize = 1 << 22;
/// Logs of the run that has written a file, and of its outputs: its ledger, and no values of the instrument.
const LEDGERS: [&str; 2] = ["/entry/ledger/", "/entry/outputs/"];

/// A log of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileLog {
    /// Its path in the file, without the entry.
    pub name: String,
    /// Its unit; empty where there is none.
    pub unit: String,
    /// The newest value.
    pub value: f64,
    /// Its time in nanoseconds since 1970; none where the file does not say it.
    pub time_ns: Option<i64>,
    /// Values that the file has.
    pub values: usize,
    /// The smallest, the largest, the sum and the number of those that came since it was last asked.
    pub seen: Option<(f64, f64, f64, u64)>,
}

/// A log that is followed.
#[derive(Debug)]
pub(super) struct FollowedLog {
    value: Dataset,
    time: Option<(Dataset, f64, i64)>,
    log: Option<FileLog>,
    name: String,
    unit: String,
    read: usize,
}

/// The logs among these groups that have numbers, and how many are left out because there are too many.
pub(super) fn open(found: &[Found]) -> (Vec<FollowedLog>, usize) {
    let of_logs = found.iter().filter(|found| found.class == LOG);
    let logs: Vec<FollowedLog> = of_logs.filter_map(FollowedLog::open).take(MOST + 1).collect();
    let beyond = logs.len().saturating_sub(MOST);
    (logs.into_iter().take(MOST).collect(), beyond)
}

impl FollowedLog {
    /// None if it has no numbers in a row.
    fn open(found: &Found) -> Option<Self> {
        let path = found.group.name();
        if LEDGERS.iter().any(|ledger| path.starts_with(ledger)) {
            return None;
        }
        let row = |name: &str| {
            let is_small = |set: &Dataset| {
                set.chunk().is_none_or(|chunk| chunk.iter().product::<usize>() <= LARGEST_CHUNK)
            };
            found.group.dataset(name).ok().filter(|set| set.ndim() == 1 && is_small(set))
        };
        let value = row("value")?;
        let time = row("time").and_then(|time| {
            let start = text_attribute(&time, "start").or_else(|| text_attribute(&time, "offset"));
            let begin = start.map_or(Ok(0), |text| nanoseconds(&text)).ok()?;
            Some((time.clone(), unit(&time).ok()?, begin))
        });
        let cut = |text: &str| text.chars().take(LONGEST_NAME).collect::<String>();
        // Behind the entry.
        let name = path.trim_start_matches('/').split_once('/').map_or(path.as_str(), |(_, rest)| rest);
        let unit = text_attribute(&value, "units").unwrap_or_default();
        let mut log = Self { value, time, log: None, name: cut(name), unit: cut(&unit), read: 0 };
        // What cannot be read as numbers is none.
        log.look().ok()?;
        Some(log)
    }

    /// Reads what has come.
    pub(super) fn look(&mut self) -> hdf5_metno::Result<()> {
        self.value.refresh()?;
        let values = self.value.size();
        if values <= self.read {
            return Ok(());
        }
        let from = self.read.max(values.saturating_sub(BLOCK));
        let new = self.value.read_slice_1d::<f64, _>(from..values)?;
        let finite = || new.iter().copied().filter(|value| value.is_finite());
        self.read = values;
        let Some(newest) = finite().next_back() else { return Ok(()) };
        let time_ns = self.newest_time(values);
        let before = self.log.take().and_then(|log| log.seen);
        let seen = finite().fold(before, |seen, value| {
            let (low, high, sum, number) = seen.unwrap_or((value, value, 0.0, 0));
            Some((low.min(value), high.max(value), sum + value, number + 1))
        });
        let (name, unit) = (self.name.clone(), self.unit.clone());
        self.log = Some(FileLog { name, unit, value: newest, time_ns, values, seen });
        Ok(())
    }

    /// The time of the newest value; none if it cannot be told.
    fn newest_time(&self, values: usize) -> Option<i64> {
        let (time, unit, begin) = self.time.as_ref()?;
        time.refresh().ok()?;
        let last = values.min(time.size()).checked_sub(1)?;
        let read = whole_numbers(time, last..last + 1, *unit).ok()?;
        Some(read.first()?.saturating_add(*begin))
    }

    /// What is known of it; what came is told once.
    pub(super) fn take(&mut self) -> Option<FileLog> {
        let told = self.log.clone();
        if let Some(log) = &mut self.log {
            log.seen = None;
        }
        told
    }
}
