//! Which share of each source's packets arrived, second by second: what corrects counts for packets that were lost.

use evforge_core::ledger::DetectorLedger;
use hdf5_metno::types::FixedUnicode;
use hdf5_metno::{Group, Result};

use super::column::Column;
use super::dataset::mark_as_time;
use super::options::Compression;
use super::text::set_attribute;

/// Rows per chunk.
const CHUNK_ROWS: usize = 1024;
/// Room for the name of a source.
const NAME_ROOM: usize = 64;

/// A table with a row for each source and bin. It is written at the end of the run.
#[derive(Debug)]
pub(crate) struct LiveTable {
    source_name: Column<FixedUnicode<NAME_ROOM>>,
    source: Column<i32>,
    time: Column<i64>,
    duration: Column<i64>,
    packets_received: Column<i64>,
    packets_lost: Column<i64>,
    live_fraction: Column<f64>,
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
            source_name: Column::create(group, "source_name", CHUNK_ROWS, Compression::None)?,
            source: Column::create(group, "source", CHUNK_ROWS, Compression::None)?,
            time: numbers("time", "Begin of the row, on the clock of the packets' arrivals.")?,
            duration: numbers("duration", "Length of the row.")?,
            packets_received: numbers("packets_received", "Packets that arrived, each once.")?,
            packets_lost: numbers(
                "packets_lost",
                "Packets missing; below 0 where some that were missing in an earlier row turned up.",
            )?,
            live_fraction: Column::create(group, "live_fraction", CHUNK_ROWS, Compression::None)?,
        };
        mark_as_time(table.time.dataset(), "start")?;
        set_attribute(table.duration.dataset(), "units", "ns")?;
        set_attribute(table.source_name.dataset(), "description", "Names of the sources.")?;
        set_attribute(table.source.dataset(), "description", "Which source: an index into source_name.")?;
        let help = "Received / sent: counts of the source divided by it are corrected for loss. NaN without packets.";
        set_attribute(table.live_fraction.dataset(), "description", help)?;
        Ok(table)
    }

    /// Takes note of what the ledger knows in the end, all rows equally long.
    pub(crate) fn observe(&mut self, ledger: &DetectorLedger) {
        let sources = ledger.sources.iter().filter(|source| !source.live_time.bins().is_empty());
        let width = sources.clone().map(|source| source.live_time.width_ns()).max().unwrap_or(0);
        for (index, source) in sources.enumerate() {
            self.source_name.pending.push(name(&source.name));
            let live = source.live_time.clone().widened(width);
            for (row, bin) in (0_u64..).zip(live.bins()) {
                self.source.pending.push(i32::try_from(index).unwrap_or(i32::MAX));
                self.time.pending.push((live.begin_ns() + row * width).cast_signed());
                self.duration.pending.push(width.cast_signed());
                self.packets_received.pending.push(i64::from(bin.received));
                self.packets_lost.pending.push(i64::from(bin.lost));
                self.live_fraction.pending.push(bin.live_fraction().unwrap_or(f64::NAN));
            }
        }
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

/// The name of a source, cut where there is no room for it.
fn name(text: &str) -> FixedUnicode<NAME_ROOM> {
    let mut end = text.len().min(NAME_ROOM);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].parse().unwrap_or_default()
}
