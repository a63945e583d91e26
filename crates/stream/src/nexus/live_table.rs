//! Which share of each source's packets arrived, while time passes: what corrects counts for packets that were lost.

use evforge_core::ledger::DetectorLedger;
use evforge_core::live_time::LiveTime;
use hdf5_metno::types::FixedUnicode;
use hdf5_metno::{Group, Result};

use super::column::{Column, cache_of};
use super::options::Compression;
use crate::storage::dataset::mark_as_time;
use crate::storage::text::set_attribute;

/// Rows per chunk, and names of sources.
const CHUNK_ROWS: usize = 128;
const CHUNK_NAMES: usize = 16;
/// Room for the name of a source.
const NAME_ROOM: usize = 64;

/// What is older than this, compared with the last packet of its source, is settled: what is found out later about packets
/// that are missing is added to the next row.
const SETTLED_NS: u64 = 10_000_000_000;
/// A row without loss is at most so long, unless the seconds that the source keeps are longer.
const LONGEST_NS: u64 = 64_000_000_000;
/// Rows that wait at most; more wait in the ledger.
const WAITING_ROWS: usize = 8192;

/// A table with rows for each source, which follow one another in time without gaps and are never changed. A row is as long as
/// the source keeps its seconds ([`evforge_core::live_time`]), or longer where nothing was lost.
#[derive(Debug)]
pub(crate) struct LiveTable {
    source_name: Column<FixedUnicode<NAME_ROOM>>,
    source: Column<i32>,
    time: Column<i64>,
    duration: Column<i64>,
    packets_received: Column<i64>,
    packets_lost: Column<i64>,
    live_fraction: Column<f64>,
    /// How far each source is, in the order of `source_name`.
    told: Vec<Told>,
}

/// What the rows of a source say so far.
#[derive(Debug)]
struct Told {
    name: String,
    until_ns: u64,
    received: i64,
    lost: i64,
}

impl LiveTable {
    /// Creates the empty table in `group`.
    pub(crate) fn create(group: &Group) -> Result<Self> {
        let numbers = |name: &str, help: &str| -> Result<Column<i64>> {
            let column = Column::create(group, name, CHUNK_ROWS, Compression::None)?;
            set_attribute(column.dataset(), "description", help)?;
            Ok(column)
        };
        let table = Self {
            source_name: Column::create(group, "source_name", CHUNK_NAMES, Compression::None)?,
            source: Column::create(group, "source", CHUNK_ROWS, Compression::None)?,
            time: numbers("time", "Begin of the row, on the clock of the packets' arrivals.")?,
            duration: numbers("duration", "Length of the row.")?,
            packets_received: numbers("packets_received", "Packets that arrived, each once.")?,
            packets_lost: numbers(
                "packets_lost",
                "Packets missing; below 0 where some that were missing in an earlier row turned up.",
            )?,
            live_fraction: Column::create(group, "live_fraction", CHUNK_ROWS, Compression::None)?,
            told: Vec::new(),
        };
        mark_as_time(table.time.dataset(), "start")?;
        set_attribute(table.duration.dataset(), "units", "ns")?;
        set_attribute(table.source_name.dataset(), "description", "Names of the sources.")?;
        set_attribute(table.source.dataset(), "description", "Which source: an index into source_name.")?;
        let help = "Received / sent: counts of the source divided by it are corrected for loss. NaN without packets.";
        set_attribute(table.live_fraction.dataset(), "description", help)?;
        Ok(table)
    }

    /// Takes note of what has settled, or of everything at the end.
    pub(crate) fn observe(&mut self, ledger: &DetectorLedger, is_last: bool) {
        let sources = ledger.sources.iter().filter(|source| !source.live_time.bins().is_empty());
        for (hint, source) in sources.enumerate() {
            let at = match self.told.get(hint) {
                Some(told) if told.name == source.name => hint,
                _ => self.place_of(&source.name, source.live_time.begin_ns()),
            };
            self.tell(at, &source.live_time, is_last);
        }
    }

    /// The place of a source that is perhaps a new one, and began at this time.
    fn place_of(&mut self, name: &str, begin_ns: u64) -> usize {
        if let Some(at) = self.told.iter().position(|told| told.name == name) {
            return at;
        }
        self.source_name.pending.push(fitting(name));
        self.told.push(Told { name: name.to_owned(), until_ns: begin_ns, received: 0, lost: 0 });
        self.told.len() - 1
    }

    /// Adds the rows of a source.
    fn tell(&mut self, at: usize, live: &LiveTime, is_last: bool) {
        let (begin, width) = (live.begin_ns(), live.width_ns());
        let end_of = |bin: usize| begin + (bin as u64 + 1) * width;
        let settled = match live.last_arrival_ns() {
            _ if is_last => u64::MAX,
            // The second of the last packet goes on.
            Some(last) => last.saturating_sub(SETTLED_NS) / width * width,
            None => return,
        };
        let (mut received, mut lost) = (0, 0);
        let mut end = begin;
        for (number, bin) in live.bins().iter().enumerate() {
            let (from, received_before) = (end, received);
            end = end_of(number);
            if end > settled {
                end = from;
                break;
            }
            received += i64::from(bin.received);
            lost += i64::from(bin.lost);
            let Told { until_ns, lost: lost_told, .. } = self.told[at];
            // At the end nothing can wait: what does not fit is one row.
            let has_room = self.time.pending.len() < WAITING_ROWS;
            if end <= until_ns || (is_last && !has_room) {
                continue;
            }
            if !has_room {
                return;
            }
            if lost != lost_told {
                if from > until_ns {
                    // Before it nothing was lost.
                    self.add_row(at, from, received_before, lost_told);
                }
                self.add_row(at, end, received, lost);
            } else if end - until_ns >= LONGEST_NS {
                self.add_row(at, end, received, lost);
            }
        }
        if is_last && end > self.told[at].until_ns {
            self.add_row(at, end, received, lost);
        }
    }

    /// Adds the row of a source that ends at this time, by which it has received and lost so many packets.
    fn add_row(&mut self, at: usize, end_ns: u64, received: i64, lost: i64) {
        let told = &mut self.told[at];
        let (received_here, lost_here) = (received - told.received, lost - told.lost);
        let sent = received_here + lost_here.max(0);
        self.source.pending.push(i32::try_from(at).unwrap_or(i32::MAX));
        self.time.pending.push(told.until_ns.cast_signed());
        self.duration.pending.push((end_ns - told.until_ns).cast_signed());
        self.packets_received.pending.push(received_here);
        self.packets_lost.pending.push(lost_here);
        let fraction = if sent > 0 { received_here as f64 / sent as f64 } else { f64::NAN };
        self.live_fraction.pending.push(fraction);
        (told.until_ns, told.received, told.lost) = (end_ns, received, lost);
    }

    /// Bytes by which the file grows at most with the next [`LiveTable::flush`].
    pub(crate) fn growth(&self) -> u64 {
        let numbers = [&self.time, &self.duration, &self.packets_received, &self.packets_lost];
        self.source_name.growth(0)
            + self.source.growth(0)
            + numbers.iter().map(|column| column.growth(0)).sum::<u64>()
            + self.live_fraction.growth(0)
    }

    /// Brings what was observed to the file.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.source_name.flush()?;
        self.source.flush()?;
        for column in [&mut self.time, &mut self.duration, &mut self.packets_received, &mut self.packets_lost]
        {
            column.flush()?;
        }
        self.live_fraction.flush()?;
        Ok(())
    }
}

/// Memory at most of what waits, and what HDF5 keeps of each array.
pub(crate) fn memory_bound() -> usize {
    /// Sources of the largest detectors; each has a name, and perhaps a row at the end for which there was no room.
    const SOURCES: usize = 1024;
    const ROW: usize = size_of::<i32>() + 4 * size_of::<i64>() + size_of::<f64>();
    2 * (WAITING_ROWS + SOURCES) * ROW
        + SOURCES * (2 * size_of::<Told>() + 2 * NAME_ROOM)
        + cache_of::<FixedUnicode<NAME_ROOM>>(CHUNK_NAMES)
        + 6 * cache_of::<i64>(CHUNK_ROWS)
}

/// The name of a source, cut where there is no room for it.
fn fitting(text: &str) -> FixedUnicode<NAME_ROOM> {
    let mut end = text.len().min(NAME_ROOM);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].parse().unwrap_or_default()
}
