//! The ledger and the outputs over time: an NXlog for what every ledger has, and tables of counters, all with the same times.

use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::run_state::{OutputCounters, OutputState, RunState};
use hdf5_metno::{Group, H5Type, Result};

use super::column::{Column, OBJECT, cache_of};
use super::counter_table::{self, CounterTable, WAITING_ROWS, whole};
use super::options::{Compression, NexusOptions};
use crate::storage::dataset::{class, mark_as_time};
use crate::storage::packer::Packer;
use crate::storage::text::set_attribute;

/// Observations per chunk.
const CHUNK_ROWS: usize = 64;

/// What every ledger says besides its counters.
const PACKETS: [(&str, &str); 2] = [
    ("packets_received", "Packets received."),
    ("unaccounted", "What the laws of the ledger leave over: 0 unless something vanished unseen."),
];

/// What is known from the numbers of packets only: NaN as long as a source has none.
const NUMBERED: [(&str, &str); 6] = [
    ("packets_sent", "Packets sent, by the sender's report or the sequence; NaN where neither is known."),
    ("packets_lost", "Packets that the sequence says are missing; NaN where that is not known."),
    ("packets_reordered", "Packets that arrived after a later one; NaN where that is not known."),
    ("packets_duplicated", "Packets that arrived a second time; NaN where that is not known."),
    (
        "packets_unconfirmed",
        "Packets with a number that no next one has followed: most likely it was damaged. NaN where that is not known.",
    ),
    ("packet_restarts", "How often the numbering of a source started over; NaN where that is not known."),
];

/// Where the outputs have their counters, a table for each.
pub(crate) const OUTPUTS: &str = "outputs";

/// The time series of the ledger and of the outputs.
#[derive(Debug)]
pub(crate) struct LedgerSeries {
    time: Column<i64>,
    packets: [Column<i64>; PACKETS.len()],
    numbered: [Column<f64>; NUMBERED.len()],
    /// Of the outputs with their ids, and that of the detector without.
    tables: Vec<(Option<String>, CounterTable)>,
}

impl LedgerSeries {
    /// Creates the series of the packets and the table of the counters in the group `ledger`, and the tables of the outputs next
    /// to it, in `entry`.
    pub(crate) fn create(ledger: &Group, entry: &Group, options: &NexusOptions) -> Result<Self> {
        let time = Column::create(ledger, "time", CHUNK_ROWS, Compression::None)?;
        mark_as_time(time.dataset(), "start")?;
        let times = format!("{}/time", ledger.name());
        let packets = create_all(ledger, PACKETS, &times)?;
        let numbered = create_all(ledger, NUMBERED, &times)?;
        if !options.outputs.is_empty() {
            class(entry, OUTPUTS, "NXcollection")?;
        }
        let mut tables = Vec::new();
        for (id, infos) in counters_of_tables(options) {
            let (parent, name) = match id {
                None => (ledger.clone(), "counters"),
                Some(id) => (entry.group(OUTPUTS)?, id),
            };
            let table = CounterTable::create(&parent, name, &infos, &times)?;
            tables.extend(table.map(|table| (id.map(str::to_owned), table)));
        }
        Ok(Self { time, packets, numbered, tables })
    }

    /// Takes note of the ledger and the outputs at `time` nanoseconds since the Unix epoch. Returns false, and takes no
    /// note, if too much is waiting already.
    pub(crate) fn observe(&mut self, time: u64, state: &RunState) -> bool {
        if self.time.pending.len() >= WAITING_ROWS {
            return false;
        }
        let ledger = &state.ledger;
        let packets = ledger.packets();
        self.time.pending.push(whole(time));
        for (column, value) in self.packets.iter_mut().zip([packets.received, ledger.unaccounted()]) {
            column.pending.push(whole(value));
        }
        let of_numbers = |value: u64| packets.sent.map(|_| value);
        let values = [
            packets.sent,
            packets.loss().exactly(),
            of_numbers(packets.reordered),
            of_numbers(packets.duplicated),
            of_numbers(packets.unconfirmed),
            of_numbers(packets.restarts),
        ];
        for ((column, value), (name, _)) in self.numbered.iter_mut().zip(values).zip(NUMBERED) {
            // A detector that counts the same by itself knows it.
            let value = value.or_else(|| ledger.counters.value(name));
            column.pending.push(value.map_or(f64::NAN, |value| value as f64));
        }
        let mut packer = Packer::new(counter_table::LEVEL);
        for (id, table) in &mut self.tables {
            let counters = match id {
                None => ledger.counters.clone(),
                Some(id) => {
                    let output = state.outputs.iter().find(|output| output.id == *id);
                    output.map(OutputState::all_counters).unwrap_or_default()
                }
            };
            table.observe(&counters, &mut packer);
        }
        true
    }

    /// Observations that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.time.pending.len()
    }

    /// Bytes by which the file grows at most with the next [`LedgerSeries::flush`].
    pub(crate) fn growth(&self) -> u64 {
        self.time.growth(0)
            + self.packets.iter().map(|column| column.growth(0)).sum::<u64>()
            + self.numbered.iter().map(|column| column.growth(0)).sum::<u64>()
            + self.tables.iter().map(|(_, table)| table.growth()).sum::<u64>()
    }

    /// Brings what is waiting to the file: the values first, the times that announce them last.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn flush(&mut self) -> Result<()> {
        for column in &mut self.packets {
            column.flush()?;
        }
        for column in &mut self.numbered {
            column.flush()?;
        }
        for (_, table) in &mut self.tables {
            table.flush()?;
        }
        self.time.flush().map(|_| ())
    }
}

/// The counters of each table: of the outputs with their ids, and those of the detector without.
fn counters_of_tables(options: &NexusOptions) -> impl Iterator<Item = (Option<&str>, Vec<CounterInfo>)> {
    let outputs = options.outputs.iter();
    let outputs = outputs.map(|(id, own)| (Some(id.as_str()), [OutputCounters::infos(), own].concat()));
    std::iter::once((None, options.counters.clone())).chain(outputs)
}

/// Arrays besides the tables.
const COLUMNS: usize = 1 + PACKETS.len() + NUMBERED.len();

/// Memory at most of the series for these options: what waits, and what HDF5 keeps of each.
pub(crate) fn memory_bound(options: &NexusOptions) -> usize {
    let tables = counters_of_tables(options).map(|(_, counters)| counter_table::memory_bound(counters.len()));
    COLUMNS * (WAITING_ROWS * size_of::<i64>() + cache_of::<i64>(CHUNK_ROWS)) + tables.sum::<usize>()
}

/// Bytes at most of the series before the first observation.
pub(crate) fn length_at_the_beginning(options: &NexusOptions) -> u64 {
    // An NXlog is a group and an array.
    let tables =
        counters_of_tables(options).map(|(_, counters)| counter_table::length_at_the_beginning(&counters));
    2 * COLUMNS as u64 * OBJECT + tables.sum::<u64>()
}

/// Creates the series that every ledger has.
fn create_all<T: H5Type, const COUNT: usize>(
    ledger: &Group,
    series: [(&str, &str); COUNT],
    times: &str,
) -> Result<[Column<T>; COUNT]> {
    let columns: Result<Vec<Column<T>>> =
        series.into_iter().map(|(name, help)| create_log(ledger, name, help, times)).collect();
    columns?.try_into().map_err(|_| hdf5_metno::Error::from("the series of the packets are not complete"))
}

/// Creates the series called `name` in `group`, with the array of times that is at `times`.
fn create_log<T: H5Type>(group: &Group, name: &str, help: &str, times: &str) -> Result<Column<T>> {
    let log = class(group, name, "NXlog")?;
    set_attribute(&log, "description", help)?;
    // One array of times for all: a hard link, so that each series is an NXlog of its own.
    log.link_hard(times, "time")?;
    let column = Column::create(&log, "value", CHUNK_ROWS, Compression::None)?;
    set_attribute(column.dataset(), "units", "counts")?;
    Ok(column)
}
