//! da00: named arrays. Variables have a row for each message, constants are there once.
//!
//! While others follow a file nothing can be added to it. So type and shape of everything must be in the configuration; a
//! constant without values gets those of the first message. A text that is `null` ("as in the first message") is left out.

use evforge_messages::{Da00, Data, Message, Schema};
use hdf5_metno::{Group, Location};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::array_attributes::write_attributes;
use super::array_settings::ArraySettings;
use super::dtype::{extend, missing, to_bytes};
use super::late_grid::{LateGrid, known, set_known};
use super::module::{Module, ModuleError, NotWritten, STATE_ROOM, WindowRule, restored, saved};
use super::places::{Cues, MOST_SLOW_ROWS, chunk_of_rows, log_times, unsigned};
use super::settings::{Settings, wrong};
use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};
use evforge_stream::storage::text::{create_text, set_attribute};

/// Entries of a list in a configuration at most, and bytes that a message with all of them may have.
const MOST_ARRAYS: usize = 1000;
const MOST_BYTES: usize = 1 << 28;

/// Named arrays with the time of each message.
#[derive(Debug)]
pub(super) struct DataArrays {
    variables: Vec<Variable>,
    /// Constants whose values are to come with a message, with their names.
    names: Vec<String>,
    constants: Vec<LateGrid>,
    time: ColumnId,
    cues: Cues,
    cue_interval: u64,
    scratch: Vec<u8>,
    state: State,
}

#[derive(Debug)]
struct Variable {
    name: String,
    value_type: ValueType,
    shape: Vec<usize>,
    column: ColumnId,
}

/// What is kept over a restart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Messages since the last cue.
    since_cue: u64,
    /// Which constants have their values.
    known: Vec<bool>,
}

impl DataArrays {
    pub(super) fn open(
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
        notes: &mut Vec<String>,
    ) -> Result<Self, ModuleError> {
        let chunk_size = settings.chunk_rows(1 << 20)?;
        let cue_interval = settings.cue_interval(u64::MAX)?;
        let variables = arrays(settings, "variables", notes)?;
        let constants = arrays(settings, "constants", notes)?;
        let attributes = settings.value(&["attributes"]);
        let title = settings.text(&["title"])?;
        if !columns.is_reopened() {
            write_attributes(group, attributes, &variables)?;
            if let Some(title) = title {
                create_text(group, "title", title, 0)?;
            }
        }
        let variables = variables.into_iter().map(|variable| {
            let ArraySettings { value_type, shape, .. } = &variable;
            let chunk = chunk_of_rows(chunk_size, shape, *value_type);
            let plan = ColumnPlan::values(&variable.name, *value_type, chunk).rows(shape).large();
            let column = columns.column(group, &plan)?;
            if let Some(dataset) = columns.dataset(column).filter(|_| !columns.is_reopened()) {
                describe(dataset, &variable, &["time"])?;
            }
            Ok(Variable {
                name: variable.name,
                value_type: variable.value_type,
                shape: variable.shape,
                column,
            })
        });
        let variables = variables.collect::<Result<Vec<_>, ModuleError>>()?;
        let (mut names, mut late) = (Vec::new(), Vec::new());
        for constant in constants {
            let ArraySettings { name, value_type, shape, .. } = &constant;
            let grid = columns.grid(group, name, *value_type, shape)?;
            if let Some(dataset) = columns.grid_dataset(grid).filter(|_| !columns.is_reopened()) {
                describe(dataset, &constant, &[])?;
            }
            match &constant.data {
                Some(_) if columns.is_reopened() => {}
                Some(data) => columns.set_grid(grid, &data.bytes(*value_type)),
                None => {
                    let (value_type, values) = (*value_type, shape.iter().product());
                    late.push(LateGrid::new(grid, value_type, values, false));
                    names.push(constant.name);
                }
            }
        }
        let slow = chunk_size.min(MOST_SLOW_ROWS);
        let time = log_times(columns, group, slow)?;
        let cues = Cues::open(columns, group, slow)?;
        let (scratch, state) = (Vec::new(), State::default());
        Ok(Self { variables, names, constants: late, time, cues, cue_interval, scratch, state })
    }

    /// Nothing of a message is written if one of its arrays does not fit.
    fn check(&self, array: &Da00<'_>) -> Result<(), NotWritten> {
        let mut found = 0;
        for Variable { name, shape, .. } in &self.variables {
            let Some(variable) = array.variable(name) else { continue };
            let Data::Numbers(values) = variable.data else {
                return Err(NotWritten::kind(format!("{name} is a text where numbers are expected")));
            };
            found += 1;
            let expected: usize = shape.iter().product();
            let is_same = variable.shape.len() == shape.len()
                && variable
                    .shape
                    .iter()
                    .zip(shape)
                    .all(|(found, length)| usize::try_from(found) == Ok(*length));
            // A single value has many shapes.
            if values.len() != expected || !(is_same || expected == 1) {
                let found = variable.shape;
                return Err(NotWritten::shape(format!(
                    "{name} has the shape {found:?} where the dataset has {shape:?}"
                )));
            }
        }
        if found == 0 && !self.variables.is_empty() {
            return Err(NotWritten::shape("none of the variables of the configuration"));
        }
        Ok(())
    }

    fn take_constants(&mut self, array: &Da00<'_>) {
        for (name, constant) in self.names.iter().zip(&mut self.constants).filter(|(_, one)| one.is_open()) {
            let values = array.variable(name).and_then(|variable| variable.numbers());
            if let Some(values) = values.filter(|values| values.len() == constant.values) {
                let mut bytes = Vec::new();
                to_bytes(values, constant.value_type, &mut bytes);
                constant.take(bytes);
            }
        }
    }
}

fn arrays(
    settings: &Settings<'_>,
    key: &'static str,
    notes: &mut Vec<String>,
) -> Result<Vec<ArraySettings>, ModuleError> {
    let Some((key, value)) = settings.value(&[key]) else { return Ok(Vec::new()) };
    let list = value.as_array().filter(|list| list.len() <= MOST_ARRAYS);
    let list = list.ok_or_else(|| wrong(key, value, "a list of objects, a thousand at most"))?;
    let mut arrays: Vec<ArraySettings> = Vec::with_capacity(list.len());
    let mut bytes = 0;
    for (place, value) in list.iter().enumerate() {
        let mut array = ArraySettings::read(&format!("{key}[{place}]"), value)?;
        if arrays.iter().any(|other| other.name == array.name) {
            let place = format!("{key}[{place}]/name");
            return Err(wrong(&place, &Value::from(array.name), "a name that no other entry has"));
        }
        bytes += array.value_type.size() * array.shape.iter().product::<usize>();
        if bytes > MOST_BYTES {
            let expected = format!("shapes with at most {MOST_BYTES} bytes in all");
            return Err(wrong(&format!("{key}[{place}]"), value, &expected));
        }
        notes.append(&mut array.notes);
        arrays.push(array);
    }
    Ok(arrays)
}

/// What is known of an array. `before` are the axes before its own.
fn describe(dataset: &Location, array: &ArraySettings, before: &[&str]) -> hdf5_metno::Result<()> {
    for (name, text) in [("units", &array.unit), ("long_name", &array.label), ("source", &array.source)] {
        if let Some(text) = text {
            set_attribute(dataset, name, text)?;
        }
    }
    if !array.axes.is_empty() {
        let axes: Vec<&str> = before.iter().copied().chain(array.axes.iter().map(String::as_str)).collect();
        set_attribute(dataset, "axes", &axes.join(":"))?;
    }
    Ok(())
}

impl Module for DataArrays {
    fn schemas(&self) -> &'static [Schema] {
        &[Schema::Da00]
    }

    fn rule(&self) -> WindowRule {
        WindowRule::LOG
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        let Message::Da00(array) = message else { return Err(NotWritten::schema(message)) };
        self.check(array)?;
        self.take_constants(array);
        for Variable { name, value_type, shape, column } in &self.variables {
            match array.variable(name).and_then(|variable| variable.numbers()) {
                Some(values) => extend(columns, *column, *value_type, values, &mut self.scratch),
                // As the file writer of the ESS fills them.
                None => {
                    let missing = missing(*value_type);
                    self.scratch.clear();
                    (0..shape.iter().product()).for_each(|_| self.scratch.extend(missing.as_slice()));
                    columns.append(*column, &self.scratch);
                }
            }
        }
        columns.push(self.time, unsigned(array.timestamp));
        self.state.since_cue += 1;
        if self.state.since_cue >= self.cue_interval {
            self.state.since_cue = 0;
            let row = columns.rows(self.time) - 1;
            self.cues.push(columns, row, array.timestamp);
        }
        Ok(())
    }

    fn before_commit(&mut self, columns: &mut Columns) {
        self.constants.iter_mut().for_each(|constant| constant.flush(columns));
        self.state.known = known(&self.constants);
    }

    fn close(&mut self, columns: &mut Columns) {
        self.before_commit(columns);
    }

    fn save(&self, into: &mut Vec<u8>) {
        saved(&self.state, into);
    }

    fn state_room(&self) -> usize {
        // `false,` for each.
        STATE_ROOM + 6 * self.constants.len()
    }

    fn restore(&mut self, state: Value) -> Result<(), String> {
        self.state = restored(state)?;
        set_known(&mut self.constants, &self.state.known)
    }
}
