//! Counters over time: a table with a column for each, class NXdata.
//!
//! A row is a chunk of its own, which is packed when it is observed and written once. While a file is followed, HDF5 gives a chunk
//! that has grown a new place and never uses the old one again. Counters that stay at 0 take next to nothing of a row.

use evforge_core::counter::{CounterInfo, CounterSnapshot};
use hdf5_metno::filters::Filter;
use hdf5_metno::{Dataset, Extent, Extents, Group, Result};

use super::column::OBJECT;
use crate::storage::chunk_write::write_chunk;
use crate::storage::dataset::class;
use crate::storage::growing::index_growth;
use crate::storage::packer::{Chunk, Packer};
use crate::storage::text::{create_texts, set_attribute, set_list_attribute};

/// Observations that wait at most: more than an hour of them.
pub(crate) const WAITING_ROWS: usize = 4096;

/// The level of deflate.
pub(super) const LEVEL: u8 = 6;

/// The counters of the ledger or of one output.
#[derive(Debug)]
pub(super) struct CounterTable {
    names: Vec<&'static str>,
    counts: Dataset,
    /// Rows in the file.
    written: usize,
    /// Rows that are not in the file yet.
    waiting: Vec<Chunk>,
}

impl CounterTable {
    /// Creates the empty table `name` in `parent`, with the array of times that is at `times`. Of counters of the same name the
    /// first one has a column. None without counters.
    pub(super) fn create(
        parent: &Group,
        name: &str,
        counters: &[CounterInfo],
        times: &str,
    ) -> Result<Option<Self>> {
        let (mut names, mut help): (Vec<&'static str>, Vec<String>) = Default::default();
        for info in counters {
            if !names.contains(&info.name) {
                names.push(info.name);
                help.push(format!("{} [{}]", info.help, info.unit.name()));
            }
        }
        if names.is_empty() {
            return Ok(None);
        }
        let table = class(parent, name, "NXdata")?;
        set_attribute(&table, "signal", "counts")?;
        set_list_attribute(&table, "axes", &["time", "counter"])?;
        let counts = table
            .new_dataset_builder()
            .set_filters(&[Filter::Shuffle, Filter::Deflate(LEVEL)])
            // Chunks are written past HDF5, which keeps none.
            .chunk_cache(1, 0, 1.0)
            .empty::<i64>()
            .chunk((1, names.len()))
            .shape(Extents::new([Extent::resizable(0), Extent::fixed(names.len())]))
            .create("counts")?;
        set_attribute(&counts, "units", "counts")?;
        table.link_hard(times, "time")?;
        create_texts(&table, "counter", &names)?;
        create_texts(&table, "description", &help)?;
        table.new_attr::<i32>().create("description_indices")?.write_scalar(&1)?;
        Ok(Some(Self { names, counts, written: 0, waiting: Vec::new() }))
    }

    /// Takes note of these counters: -1 where there is no such one.
    pub(super) fn observe(&mut self, counters: &CounterSnapshot, packer: &mut Packer) {
        let value = |name: &&str| counters.value(name).map_or(-1, whole).to_ne_bytes();
        self.waiting.push(packer.pack(self.names.iter().flat_map(value).collect(), size_of::<i64>()));
    }

    /// Bytes by which the file grows at most with the next [`CounterTable::flush`].
    pub(super) fn growth(&self) -> u64 {
        let rows = self.waiting.len();
        let bytes: usize = self.waiting.iter().map(|row| row.bytes.len()).sum();
        bytes as u64 + index_growth((self.written + rows) as u64, rows as u64)
    }

    /// Brings what waits to the file.
    ///
    /// # Errors
    /// If HDF5 refuses; what waits then stays where it is.
    pub(super) fn flush(&mut self) -> Result<()> {
        let end = self.written + self.waiting.len();
        self.counts.resize((end, self.names.len()))?;
        for (row, chunk) in (self.written..).zip(&self.waiting) {
            write_chunk(&self.counts, row, chunk, true)?;
        }
        self.counts.flush()?;
        self.written = end;
        self.waiting.clear();
        Ok(())
    }
}

/// Memory at most of what waits of a table with so many counters.
pub(super) fn memory_bound(counters: usize) -> usize {
    /// Of a row besides its bytes.
    const ROW: usize = 2 * size_of::<Chunk>() + 64;
    WAITING_ROWS * (counters * size_of::<i64>() + ROW)
}

/// Bytes at most of a table without rows.
pub(super) fn length_at_the_beginning(counters: &[CounterInfo]) -> u64 {
    /// Of the unit of a counter, with its brackets.
    const UNIT: usize = 16;
    let longest = |length: fn(&CounterInfo) -> usize| counters.iter().map(length).max().unwrap_or(0);
    let texts = longest(|info| info.name.len()) + longest(|info| info.help.len() + UNIT);
    4 * OBJECT + (counters.len() * texts) as u64
}

pub(super) fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
