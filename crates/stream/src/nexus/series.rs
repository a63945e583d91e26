//! The ledger over time: one NXlog per counter, all with the same times.

use evforge_core::counter::CounterInfo;
use evforge_core::ledger::DetectorLedger;
use hdf5_metno::{Group, Result};

use super::column::Column;
use super::layout::{class, mark_as_time};
use super::options::Compression;
use super::text::set_attribute;

/// Observations per chunk.
const CHUNK_ROWS: usize = 256;

/// What every ledger says besides its counters.
const PACKETS: [(&str, &str); 8] = [
    ("packets_sent", "Packets sent, by the sender's report or the sequence; -1 where neither is known."),
    ("packets_received", "Packets received."),
    ("packets_lost", "Packets that the sequence says are missing."),
    ("packets_reordered", "Packets that arrived after a later one."),
    ("packets_duplicated", "Packets that arrived a second time."),
    (
        "packets_unconfirmed",
        "Packets with a number that no next one has followed: most likely it was damaged.",
    ),
    ("packet_restarts", "How often the numbering of a source started over."),
    ("unaccounted", "What the laws of the ledger leave over: 0 unless something vanished unseen."),
];

/// The time series of the ledger.
#[derive(Debug)]
pub(crate) struct LedgerSeries {
    time: Column<i64>,
    packets: [Column<i64>; PACKETS.len()],
    counters: Vec<(&'static str, Column<i64>)>,
}

impl LedgerSeries {
    /// Creates the series of the packets and of each counter in `group`. A counter that has the name of one
    /// of the packet series, or of one before it, has no series of its own.
    pub(crate) fn create(group: &Group, counters: &[CounterInfo]) -> Result<Self> {
        let time = Column::create(group, "time", CHUNK_ROWS, Compression::None)?;
        mark_as_time(time.dataset(), "start")?;
        let create = |name: &str, unit: &str, help: &str| -> Result<Column<i64>> {
            let log = class(group, name, "NXlog")?;
            set_attribute(&log, "description", help)?;
            // One array of times for all: a hard link, so that each series is an NXlog of its own.
            group.link_hard("time", &format!("{name}/time"))?;
            let column = Column::create(&log, "value", CHUNK_ROWS, Compression::None)?;
            set_attribute(column.dataset(), "units", unit)?;
            Ok(column)
        };
        let mut packets = Vec::with_capacity(PACKETS.len());
        for (name, help) in PACKETS {
            packets.push(create(name, "counts", help)?);
        }
        let packets = packets
            .try_into()
            .map_err(|_| hdf5_metno::Error::from("the series of the packets are not complete"))?;
        let mut columns: Vec<(&'static str, Column<i64>)> = Vec::with_capacity(counters.len());
        for info in counters {
            let taken = group.link_exists(info.name);
            if !taken {
                let help = format!("{} [{}]", info.help, info.unit.name());
                columns.push((info.name, create(info.name, "counts", &help)?));
            }
        }
        Ok(Self { time, packets, counters: columns })
    }

    /// Takes note of the ledger at `time` nanoseconds since the Unix epoch.
    pub(crate) fn observe(&mut self, time: u64, ledger: &DetectorLedger) {
        let packets = ledger.packets();
        let values = [
            packets.sent.map_or(-1, whole),
            whole(packets.received),
            whole(packets.lost),
            whole(packets.reordered),
            whole(packets.duplicated),
            whole(packets.unconfirmed),
            whole(packets.restarts),
            whole(ledger.unaccounted()),
        ];
        self.time.pending.push(whole(time));
        for (column, value) in self.packets.iter_mut().zip(values) {
            column.pending.push(value);
        }
        for (name, column) in &mut self.counters {
            // -1 where the ledger has no such counter, so that all series stay equally long.
            column.pending.push(ledger.counters.value(name).map_or(-1, whole));
        }
    }

    /// Brings what is waiting to the file: the values first, the times that announce them last.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn flush(&mut self) -> Result<()> {
        for column in self.packets.iter_mut().chain(self.counters.iter_mut().map(|(_, column)| column)) {
            column.flush()?;
        }
        self.time.flush()?;
        Ok(())
    }
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
