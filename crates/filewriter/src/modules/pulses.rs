//! pu00: what ISIS says of each pulse. evforge's own module.
//!
//! | dataset | |
//! |---|---|
//! | `time` | of the pulse, u64 ns |
//! | `period_number` | u32, from 0 as in the message; 4294967295 where it is absent |
//! | `vetoes` | u32, the bits; 0 where they are absent |
//! | `proton_charge` | f32 µAh, NaN where it is absent |
//! | `raw_frames`, `good_frames` | u64: pulses, and those without vetoes |
//! | `good_proton_charge` | f64 µAh: the sum of those without vetoes |
//! | `period_log` | NXlog: `value` i32 from 1, and `time`, of each change of the period |

use evforge_messages::{Message, Schema};
use evforge_stream::storage::dataset::class;
use evforge_stream::storage::text::set_attribute;
use hdf5_metno::Group;
use serde::{Deserialize, Serialize};

use super::module::{Module, ModuleError, NotWritten, WindowRule, restored, saved};
use super::places::{MOST_SLOW_ROWS, attribute, log_times, unsigned};
use super::settings::Settings;
use crate::file::{ColumnId, ColumnPlan, Columns, ScalarId, ValueType};

const PERIODS: &str = "period_log";

/// Pulses with what is known of them.
#[derive(Debug)]
pub(super) struct Pulses {
    time: ColumnId,
    period: ColumnId,
    vetoes: ColumnId,
    charge: ColumnId,
    changes: (ColumnId, ColumnId),
    raw_frames: ScalarId,
    good_frames: ScalarId,
    good_charge: ScalarId,
    state: State,
}

/// What is kept over a restart.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    raw_frames: u64,
    good_frames: u64,
    /// Bits of the number.
    good_charge: u64,
    period: Option<u32>,
}

impl Pulses {
    pub(super) fn open(
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let chunk_rows = settings.chunk_rows(MOST_SLOW_ROWS)?;
        let time = log_times(columns, group, chunk_rows)?;
        let mut column = |name, value| columns.column(group, &ColumnPlan::values(name, value, chunk_rows));
        let period = column("period_number", ValueType::U32)?;
        let vetoes = column("vetoes", ValueType::U32)?;
        let charge = column("proton_charge", ValueType::F32)?;
        attribute(columns, charge, "units", "uAh")?;
        let changes =
            if group.link_exists(PERIODS) { group.group(PERIODS)? } else { class(group, PERIODS, "NXlog")? };
        let value = ColumnPlan::values("value", ValueType::I32, 1024);
        let changes = (columns.column(&changes, &value)?, log_times(columns, &changes, 1024)?);
        let raw_frames = columns.scalar(group, "raw_frames", 0_u64)?;
        let good_frames = columns.scalar(group, "good_frames", 0_u64)?;
        let good_charge = columns.scalar(group, "good_proton_charge", 0_f64)?;
        if let Some(dataset) = columns.scalar_dataset(good_charge).filter(|_| !columns.is_reopened()) {
            set_attribute(dataset, "units", "uAh")?;
        }
        let state = State::default();
        Ok(Self { time, period, vetoes, charge, changes, raw_frames, good_frames, good_charge, state })
    }
}

impl Module for Pulses {
    fn schemas(&self) -> &'static [Schema] {
        &[Schema::Pu00]
    }

    fn rule(&self) -> WindowRule {
        WindowRule::EVENTS
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        let Message::Pu00(pulse) = message else { return Err(NotWritten::schema(message)) };
        let vetoes = pulse.vetos.unwrap_or(0);
        columns.push(self.time, unsigned(pulse.reference_time));
        columns.push(self.period, pulse.period_number.unwrap_or(u32::MAX));
        columns.push(self.vetoes, vetoes);
        columns.push(self.charge, pulse.proton_charge.unwrap_or(f32::NAN));
        if let Some(period) = pulse.period_number.filter(|period| self.state.period != Some(*period)) {
            self.state.period = Some(period);
            // From 1 in files of ISIS.
            let value = i32::try_from(period).unwrap_or(i32::MAX).saturating_add(1);
            columns.push(self.changes.0, value);
            columns.push(self.changes.1, unsigned(pulse.reference_time));
        }
        self.state.raw_frames += 1;
        if vetoes == 0 {
            self.state.good_frames += 1;
            let charge = pulse.proton_charge.filter(|charge| charge.is_finite()).unwrap_or(0.0);
            self.state.good_charge = (f64::from_bits(self.state.good_charge) + f64::from(charge)).to_bits();
        }
        Ok(())
    }

    fn before_commit(&mut self, columns: &mut Columns) {
        columns.set(self.raw_frames, self.state.raw_frames);
        columns.set(self.good_frames, self.state.good_frames);
        columns.set(self.good_charge, f64::from_bits(self.state.good_charge));
    }

    fn close(&mut self, columns: &mut Columns) {
        self.before_commit(columns);
    }

    fn save(&self, into: &mut Vec<u8>) {
        saved(&self.state, into);
    }

    fn restore(&mut self, state: serde_json::Value) -> Result<(), String> {
        self.state = restored(state)?;
        Ok(())
    }
}
