//! The ledger and the outputs over time: one NXlog per counter, all with the same times.

use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::run_state::{OutputCounters, OutputState, RunState};
use hdf5_metno::{Group, H5Type, Result};

use super::column::{Column, cache_of};
use super::options::{Compression, NexusOptions};
use crate::storage::dataset::{class, mark_as_time};
use crate::storage::text::set_attribute;

/// Observations per chunk.
const CHUNK_ROWS: usize = 256;

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

/// Where the outputs have their series, a collection for each.
pub(crate) const OUTPUTS: &str = "outputs";

/// Observations that wait at most: more than an hour of them.
pub(crate) const WAITING_ROWS: usize = 4096;

/// The time series of the ledger and of the outputs.
#[derive(Debug)]
pub(crate) struct LedgerSeries {
    time: Column<i64>,
    packets: [Column<i64>; PACKETS.len()],
    numbered: [Column<f64>; NUMBERED.len()],
    counters: Vec<(&'static str, Column<i64>)>,
    outputs: Vec<OutputSeries>,
}

/// The time series of one output.
#[derive(Debug)]
struct OutputSeries {
    id: String,
    counters: Vec<(&'static str, Column<i64>)>,
}

impl LedgerSeries {
    /// Creates the series of the packets and of each counter in the group `ledger`, and those of the outputs next to it, in
    /// `entry`. A counter that has the name of one of the packet series, or of one before it, has no series of its own.
    pub(crate) fn create(
        ledger: &Group,
        counters: &[CounterInfo],
        entry: &Group,
        outputs: &[(String, Vec<CounterInfo>)],
    ) -> Result<Self> {
        let time = Column::create(ledger, "time", CHUNK_ROWS, Compression::None)?;
        mark_as_time(time.dataset(), "start")?;
        let times = format!("{}/time", ledger.name());
        let packets = create_all(ledger, PACKETS, &times)?;
        let numbered = create_all(ledger, NUMBERED, &times)?;
        let counters = create_logs(ledger, counters, &times)?;
        let mut all = Vec::with_capacity(outputs.len());
        if !outputs.is_empty() {
            let parent = class(entry, OUTPUTS, "NXcollection")?;
            for (id, own) in outputs {
                let group = class(&parent, id, "NXcollection")?;
                let infos = [OutputCounters::infos(), own].concat();
                let counters = create_logs(&group, &infos, &times)?;
                all.push(OutputSeries { id: id.clone(), counters });
            }
        }
        Ok(Self { time, packets, numbered, counters, outputs: all })
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
        // -1 where there is no such counter, so that all series stay equally long.
        for (name, column) in &mut self.counters {
            column.pending.push(ledger.counters.value(name).map_or(-1, whole));
        }
        for output in &mut self.outputs {
            let counters = state.outputs.iter().find(|state| state.id == output.id);
            let counters = counters.map(OutputState::all_counters).unwrap_or_default();
            for (name, column) in &mut output.counters {
                column.pending.push(counters.value(name).map_or(-1, whole));
            }
        }
        true
    }

    /// Observations that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.time.pending.len()
    }

    /// Bytes by which the file grows at most with the next [`LedgerSeries::flush`].
    pub(crate) fn growth(&self) -> u64 {
        let numbered = self.numbered.iter().map(|column| column.growth(0));
        self.time.growth(0) + numbered.chain(self.values().map(|column| column.growth(0))).sum::<u64>()
    }

    /// Brings what is waiting to the file: the values first, the times that announce them last.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let outputs = self.outputs.iter_mut().flat_map(|output| &mut output.counters);
        let counters = self.counters.iter_mut().chain(outputs).map(|(_, column)| column);
        for column in self.packets.iter_mut().chain(counters) {
            column.flush()?;
        }
        for column in &mut self.numbered {
            column.flush()?;
        }
        self.time.flush()?;
        Ok(())
    }

    fn values(&self) -> impl Iterator<Item = &Column<i64>> {
        let outputs = self.outputs.iter().flat_map(|output| &output.counters);
        self.packets.iter().chain(self.counters.iter().chain(outputs).map(|(_, column)| column))
    }
}

/// Series at most that a file has for these options.
pub(crate) fn series_bound(options: &NexusOptions) -> usize {
    let outputs = options.outputs.iter().map(|(_, own)| OutputCounters::infos().len() + own.len());
    1 + PACKETS.len() + NUMBERED.len() + options.counters.len() + outputs.sum::<usize>()
}

/// Memory at most of the series for these options: what waits, and what HDF5 keeps of each.
pub(crate) fn memory_bound(options: &NexusOptions) -> usize {
    series_bound(options) * (WAITING_ROWS * size_of::<i64>() + cache_of::<i64>(CHUNK_ROWS))
}

/// Creates a series for each counter; none for one whose name is taken in `group`.
fn create_logs(
    group: &Group,
    counters: &[CounterInfo],
    times: &str,
) -> Result<Vec<(&'static str, Column<i64>)>> {
    let mut columns: Vec<(&'static str, Column<i64>)> = Vec::with_capacity(counters.len());
    for info in counters {
        if !group.link_exists(info.name) {
            let help = format!("{} [{}]", info.help, info.unit.name());
            columns.push((info.name, create_log(group, info.name, &help, times)?));
        }
    }
    Ok(columns)
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

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
