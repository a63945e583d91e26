//! `evforge inspect` of a dump: its table, its rows, and how many there are of each source.

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use evforge_dump::layout::Row;
use evforge_dump::rows::{CaenReadout, MesytecHit, SrsHit};
use evforge_dump::table_reader::{DumpFile, TableReader};
use evforge_net::crash_note::CrashNote;
use evforge_pipeline::report::grouped;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Looks at no more than `limit` rows; prints each if `lines`.
pub(crate) fn inspect_dump(path: &Path, lines: bool, limit: u64) -> Result<ExitStatus, CommandError> {
    let _note = CrashNote::while_hdf5_reads(path);
    let file = DumpFile::open(path)?;
    match file.table() {
        CaenReadout::TABLE => look_at(file.rows()?, lines, limit, |row: &CaenReadout| {
            format!("digitizer {}", { row.digitizer })
        }),
        MesytecHit::TABLE => look_at(file.rows()?, lines, limit, |row: &MesytecHit| {
            if row.external_trigger == 0 {
                format!("module {} bus {}", row.module, row.bus)
            } else {
                "external triggers".to_owned()
            }
        }),
        _ => look_at(file.rows()?, lines, limit, |row: &SrsHit| {
            format!("FEC {} chip {}", row.fec, row.chip_id)
        }),
    }
}

fn look_at<R: Row>(
    mut table: TableReader<R>,
    lines: bool,
    limit: u64,
    source: impl Fn(&R) -> String,
) -> Result<ExitStatus, CommandError> {
    print(&format!(
        "table     {}, layout {}: {} rows of {} bytes\n",
        R::TABLE,
        table.layout().name,
        grouped(table.row_count() as u64),
        table.layout().row_bytes()
    ))?;
    let mut sources: BTreeMap<String, u64> = BTreeMap::new();
    let mut seen = 0;
    let outcome = loop {
        let rows = match table.next_rows() {
            Ok(rows) if rows.is_empty() || seen == limit => break Ok(ExitStatus::Good),
            Ok(rows) => rows,
            Err(error) => break Err(error.into()),
        };
        let mut text = String::new();
        for row in rows.iter().take(usize::try_from(limit - seen).unwrap_or(usize::MAX)) {
            *sources.entry(source(row)).or_default() += 1;
            if lines {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "row {seen}: {row:?}");
            }
            seen += 1;
        }
        print(&text)?;
    };
    let mut text = format!("looked at {} rows\n", grouped(seen));
    for (source, rows) in &sources {
        let _ = writeln!(text, "  {source}: {}", grouped(*rows));
    }
    print(&text)?;
    outcome
}
