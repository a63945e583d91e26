//! ad00: frames of area detectors. All frames of a group have the shape that the configuration says.

use evforge_messages::{Data, Message, Schema};
use hdf5_metno::Group;
use serde::{Deserialize, Serialize};

use super::dtype::extend;
use super::module::{Module, ModuleError, NotWritten, WindowRule, restored, saved};
use super::places::{Cues, MOST_SLOW_ROWS, chunk_of_rows, log_times, unsigned};
use super::settings::Settings;
use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};

/// Frames with the time of each.
#[derive(Debug)]
pub(super) struct Frames {
    value_type: ValueType,
    shape: Vec<usize>,
    value: ColumnId,
    time: ColumnId,
    cues: Cues,
    cue_interval: u64,
    scratch: Vec<u8>,
    state: State,
}

/// What is kept over a restart: frames since the last cue.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    since_cue: u64,
}

impl Frames {
    pub(super) fn open(
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let value_type = settings.dtype(ValueType::F64)?;
        let shape = settings.shape("array_size", value_type)?.unwrap_or_else(|| vec![1, 1]);
        let chunk_size = settings.chunk_rows(1 << 20)?;
        let cue_interval = settings.cue_interval(1000)?;
        let chunk_rows = chunk_of_rows(chunk_size, &shape, value_type);
        let plan = ColumnPlan::values("value", value_type, chunk_rows).rows(&shape).large();
        let value = columns.column(group, &plan)?;
        let slow = chunk_size.min(MOST_SLOW_ROWS);
        let time = log_times(columns, group, slow)?;
        let cues = Cues::open(columns, group, slow)?;
        let (scratch, state) = (Vec::new(), State::default());
        Ok(Self { value_type, shape, value, time, cues, cue_interval, scratch, state })
    }
}

impl Module for Frames {
    fn schemas(&self) -> &'static [Schema] {
        &[Schema::Ad00]
    }

    fn rule(&self) -> WindowRule {
        WindowRule::LOG
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        let Message::Ad00(frame) = message else { return Err(NotWritten::schema(message)) };
        let Data::Numbers(values) = frame.data else {
            return Err(NotWritten::kind("text where numbers are expected"));
        };
        let is_same = frame.dimensions.len() == self.shape.len()
            && frame
                .dimensions
                .iter()
                .zip(&self.shape)
                .all(|(found, length)| usize::try_from(found) == Ok(*length));
        if !is_same || values.len() != self.shape.iter().product::<usize>() {
            let (found, expected) = (frame.dimensions, &self.shape);
            return Err(NotWritten::shape(format!(
                "a frame of {found:?} where the dataset has {expected:?}"
            )));
        }
        extend(columns, self.value, self.value_type, values, &mut self.scratch);
        columns.push(self.time, unsigned(frame.timestamp));
        self.state.since_cue += 1;
        if self.state.since_cue >= self.cue_interval {
            self.state.since_cue = 0;
            let row = columns.rows(self.time) - 1;
            self.cues.push(columns, row, frame.timestamp);
        }
        Ok(())
    }

    fn close(&mut self, _columns: &mut Columns) {}

    fn save(&self, into: &mut Vec<u8>) {
        saved(&self.state, into);
    }

    fn restore(&mut self, state: serde_json::Value) -> Result<(), String> {
        self.state = restored(state)?;
        Ok(())
    }
}
