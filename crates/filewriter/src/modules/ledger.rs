//! The ledger of an event formation unit (`docs/kafka.md`, "The ledger"): a row for each message. evforge's own module.
//!
//! `source` is the name under which the message came: `SOURCE`, or `SOURCE/MODULE`. Where a variable is absent its column has NaN,
//! or 0 where it is a time.

use evforge_messages::{Message, Schema};
use hdf5_metno::Group;

use super::dtype::scalar_at;
use super::module::{Module, ModuleError, NotWritten, WindowRule};
use super::places::{attribute, log_times, times, unsigned};
use super::settings::Settings;
use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};

/// Bytes of the name of a source; longer ones are cut.
const SOURCE_ROOM: usize = 64;

/// The variables that are times.
const TIMES: [&str; 2] = ["reference_time", "continues_after_reference_time"];

/// All others, with their units.
const NUMBERS: [(&str, &str); 23] = [
    ("message_id", ""),
    ("complete", ""),
    ("packets_received", "counts"),
    ("packets_sent", "counts"),
    ("packets_lost", "counts"),
    ("packets_lost_at_least", "counts"),
    ("packets_reordered", "counts"),
    ("packets_duplicated", "counts"),
    ("loss_upper_bound", "dimensionless"),
    ("live_fraction", "dimensionless"),
    ("events_formed", "counts"),
    ("events_acknowledged", "counts"),
    ("events_pending", "counts"),
    ("events_left_out", "counts"),
    ("events_dropped", "counts"),
    ("events_failed", "counts"),
    ("pulses_handed_on", "counts"),
    ("pulses_without_events", "counts"),
    ("gaps_not_filled", "counts"),
    ("empty_pulses_left_out", "counts"),
    ("pulse_steps_back", "counts"),
    ("unaccounted", ""),
    ("continues_after_message_id", ""),
];

/// Rows of a ledger.
#[derive(Debug)]
pub(super) struct Ledger {
    time: ColumnId,
    source: ColumnId,
    times: Vec<(&'static str, ColumnId)>,
    numbers: Vec<(&'static str, ColumnId)>,
}

impl Ledger {
    pub(super) fn open(
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let chunk_rows = settings.chunk_rows(32)?;
        let time = log_times(columns, group, chunk_rows)?;
        let plan = ColumnPlan::values("source_name", ValueType::Text(SOURCE_ROOM), chunk_rows);
        let source = columns.column(group, &plan)?;
        let mut open = Self { time, source, times: Vec::new(), numbers: Vec::new() };
        for name in TIMES {
            let plan = ColumnPlan::values(name, ValueType::U64, chunk_rows);
            open.times.push((name, times(columns, group, &plan, "start")?));
        }
        for (name, unit) in NUMBERS {
            let column = columns.column(group, &ColumnPlan::values(name, ValueType::F64, chunk_rows))?;
            attribute(columns, column, "units", unit)?;
            open.numbers.push((name, column));
        }
        Ok(open)
    }
}

impl Module for Ledger {
    fn schemas(&self) -> &'static [Schema] {
        &[Schema::Da00]
    }

    fn rule(&self) -> WindowRule {
        // Source and modules have the same times.
        WindowRule::EVENTS
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        let Message::Da00(row) = message else { return Err(NotWritten::schema(message)) };
        let value = |name: &str| scalar_at(row.variable(name)?.numbers()?, 0);
        let is_ledger = |name: &&str| row.variable(name).is_some();
        if !NUMBERS.iter().map(|(name, _)| name).any(is_ledger) {
            return Err(NotWritten::shape("none of the variables of a ledger"));
        }
        columns.push(self.time, unsigned(row.timestamp));
        columns.push_text(self.source, row.source_name, SOURCE_ROOM);
        for (name, column) in &self.times {
            let ns = match value(name) {
                Some(evforge_messages::Scalar::Int64(ns)) => unsigned(ns),
                other => other.map_or(0, |ns| ns.to_f64() as u64),
            };
            columns.push(*column, ns);
        }
        for (name, column) in &self.numbers {
            columns.push(*column, value(name).map_or(f64::NAN, |number| number.to_f64()));
        }
        Ok(())
    }

    fn close(&mut self, _columns: &mut Columns) {}
}
