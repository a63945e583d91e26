//! What the tests of dumps share.

use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use evforge_dump::layout::Row;
use evforge_dump::table_reader::TableReader;
use evforge_dump::table_writer::TableWriter;
use std::path::{Path, PathBuf};

/// A file of the reference data, or none with `test` reported as skipped.
#[allow(dead_code)] // Not every test needs it.
pub(crate) fn recorded(test: &str, path: &str) -> Option<PathBuf> {
    let file = evforge_testkit::shared_folder().join(path);
    if file.is_file() {
        return Some(file);
    }
    evforge_testkit::skip(test, &format!("reference data {} cannot be read", file.display()));
    None
}

/// Writes a table.
#[allow(dead_code)] // Not every test needs it.
pub(crate) fn write<R: Row>(path: &Path, rows: &[R]) {
    let mut writer = TableWriter::create(path).expect("a file");
    for rows in rows.chunks(1000) {
        writer.write(rows).expect("rows");
    }
    assert_eq!(writer.finish().expect("a finished file"), rows.len());
}

/// All rows of a table.
#[allow(dead_code)] // Not every test needs it.
pub(crate) fn read<R: Row>(path: &Path) -> Vec<R> {
    let mut reader = TableReader::<R>::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut all = Vec::new();
    loop {
        let rows = reader.next_rows().unwrap_or_else(|error| panic!("{error}"));
        if rows.is_empty() {
            assert_eq!((all.len(), reader.rows_read()), (reader.row_count(), reader.row_count()));
            return all;
        }
        all.extend(rows);
    }
}

/// All packets of a source, and what it counted.
#[allow(dead_code)] // Not every test needs it.
pub(crate) fn packets(mut source: Box<dyn PacketSource>) -> (Vec<Vec<u8>>, Counted) {
    let mut slab = PacketSlab::new(7, 0);
    let mut packets: Vec<Vec<u8>> = Vec::new();
    loop {
        slab.clear();
        let fill = source.fill(&mut slab).unwrap_or_else(|error| panic!("{error}"));
        packets.extend(slab.batch().iter().map(|packet| packet.bytes.to_vec()));
        if fill == Fill::End {
            break;
        }
    }
    let counters = source.counters();
    let value = |name: &str| counters.value(name).expect("a counter of dumps");
    let counted = Counted {
        rows: value("rows"),
        readouts: value("readouts"),
        external_triggers: value("external_triggers"),
        out_of_range: value("out_of_range"),
        rounded: value("stamps_rounded"),
        split: value("triggers_split"),
    };
    assert_eq!(counted.rows, counted.readouts + counted.external_triggers + counted.out_of_range);
    assert_eq!((value("packets"), source.packets()), (packets.len() as u64, packets.len() as u64));
    assert_eq!(value("bytes"), packets.iter().map(|packet| packet.len() as u64).sum::<u64>());
    assert_eq!(Some(source.position()), source.total_bytes());
    (packets, counted)
}

/// Values of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) rows: u64,
    pub(crate) readouts: u64,
    pub(crate) external_triggers: u64,
    pub(crate) out_of_range: u64,
    pub(crate) rounded: u64,
    pub(crate) split: u64,
}
