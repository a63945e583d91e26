//! Histograms of which the file has the sum: hs01, whose messages have it, and da00 with `"accumulate": true`, whose messages
//! have what was counted since the one before. evforge's own modules; the group is the NXmonitor of `evforge run --nexus`.
//!
//! | key | |
//! |---|---|
//! | `shape` | lengths of the axes, without edges: needed |
//! | `dtype` | of `data`: int64 (default) or float64 |
//! | `axes` | names of the axes; `["time_of_flight"]` for one |
//! | `edges` | the edges of the bins of the first axis: numbers, or first, last and size. Otherwise those of the messages |
//! | `unit`, `edge_unit` | "counts" (for float64 "dimensionless") and "ns" |
//! | `signal`, `edge_variable` | names in da00: "signal" and "frame_time" |

use evforge_messages::hs01::Counts;
use evforge_messages::{Array, Da00, Data, Hs01, Message, Schema};
use evforge_stream::storage::text::{set_attribute, set_list_attribute};
use hdf5_metno::Group;
use serde_json::{Value, json};

use super::array_settings::{is_name, numbers};
use super::dtype::to_bytes;
use super::histogram::{Histogram, Piece};
use super::late_grid::{LateGrid, known, set_known};
use super::module::{Module, ModuleError, NotWritten, STATE_ROOM, WindowRule, restored, saved};
use super::settings::{Settings, wrong};
use crate::file::{Columns, GridId, ValueType};

/// Bins at most: as many as a monitor of evforge can have.
const MOST_BINS: usize = 1 << 20;

/// A histogram that is replaced or added to.
#[derive(Debug)]
pub(super) struct Monitor {
    schemas: &'static [Schema],
    histogram: Histogram,
    data: GridId,
    integral: GridId,
    /// The edges of each axis.
    edges: Vec<LateGrid>,
    signal: String,
    edge_variable: String,
}

impl Monitor {
    /// For hs01, or for the differences of da00.
    pub(super) fn open(
        schemas: &'static [Schema],
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let value_type = settings.dtype(ValueType::I64)?;
        if !matches!(value_type, ValueType::I64 | ValueType::F64) {
            let found = Value::from(value_type.name());
            return Err(wrong("dtype", &found, "int64 or float64: counts are summed up"));
        }
        let shape = settings
            .shape("shape", value_type)?
            .filter(|shape| !shape.is_empty() && shape.iter().product::<usize>() <= MOST_BINS);
        let shape = shape.ok_or_else(|| {
            let found = settings.value(&["shape"]).map_or(&Value::Null, |(_, value)| value);
            wrong("shape", found, &format!("the lengths of the axes, with at most {MOST_BINS} bins"))
        })?;
        let axes = axis_names(settings, shape.len())?;
        let unit = if value_type == ValueType::I64 { "counts" } else { "dimensionless" };
        let unit = settings.text(&["unit", "units"])?.unwrap_or(unit);
        let edge_unit = settings.text(&["edge_unit"])?.unwrap_or("ns");
        let signal = settings.text(&["signal"])?.unwrap_or("signal").to_owned();
        let edge_variable = settings.text(&["edge_variable"])?.unwrap_or("frame_time").to_owned();
        let configured = known_edges(settings, shape[0] + 1)?;
        let is_new = !columns.is_reopened();
        let data = columns.grid(group, "data", value_type, &shape)?;
        let mut edges = Vec::new();
        for (number, (axis, length)) in axes.iter().zip(&shape).enumerate() {
            let grid = columns.grid(group, axis, ValueType::F64, &[length + 1])?;
            if let Some(dataset) = columns.grid_dataset(grid).filter(|_| is_new) {
                set_attribute(dataset, "units", edge_unit)?;
            }
            let is_known = number == 0 && configured.is_some();
            if let Some(configured) = configured.as_ref().filter(|_| number == 0) {
                columns.set_grid(grid, configured);
            } else if is_new {
                columns.set_grid(grid, &f64::NAN.to_ne_bytes().repeat(length + 1));
            }
            edges.push(LateGrid::new(grid, ValueType::F64, length + 1, is_known));
        }
        let integral = columns.grid(group, "integral", value_type, &[])?;
        if is_new {
            for grid in [data, integral] {
                if let Some(dataset) = columns.grid_dataset(grid) {
                    set_attribute(dataset, "units", unit)?;
                }
            }
            if group.attr("signal").is_err() {
                set_attribute(group, "signal", "data")?;
            }
            if group.attr("axes").is_err() {
                set_list_attribute(group, "axes", &axes.iter().map(String::as_str).collect::<Vec<_>>())?;
            }
        }
        let histogram = Histogram::new(shape, value_type == ValueType::I64);
        Ok(Self { schemas, histogram, data, integral, edges, signal, edge_variable })
    }

    fn take_edges(&mut self, axis: usize, values: Option<Array<'_>>) {
        if let (Some(edges), Some(values)) =
            (self.edges.get_mut(axis).filter(|edges| edges.is_open()), values)
        {
            let mut bytes = Vec::new();
            to_bytes(values, ValueType::F64, &mut bytes);
            edges.take(bytes);
        }
    }

    fn add(&mut self, array: &Da00<'_>) -> Result<(), NotWritten> {
        let Some(signal) = array.variable(&self.signal) else {
            return Err(NotWritten::shape(format!("no variable {}", self.signal)));
        };
        let Data::Numbers(values) = signal.data else {
            return Err(NotWritten::kind(format!("{} is a text", self.signal)));
        };
        let shape: Vec<i64> = signal.shape.iter().collect();
        self.histogram.add(values, &shape)?;
        self.take_edges(0, array.variable(&self.edge_variable).and_then(|variable| variable.numbers()));
        Ok(())
    }

    fn replace(&mut self, message: &Hs01<'_>) -> Result<(), NotWritten> {
        let Some(data) = message.data else { return Err(NotWritten::kind("a histogram without data")) };
        let shape: Vec<i64> = message.current_shape.iter().map(i64::from).collect();
        let offset: Vec<i64> = message.offset.iter().map(i64::from).collect();
        let piece = Piece { shape: &shape, offset: &offset };
        self.histogram.replace(array_of(data), &piece)?;
        for (axis, dimension) in message.dim_metadata.iter().enumerate() {
            self.take_edges(axis, dimension.bin_boundaries.map(array_of));
        }
        Ok(())
    }
}

fn array_of(counts: Counts<'_>) -> Array<'_> {
    match counts {
        Counts::Int32(column) => column.into(),
        Counts::Int64(column) => column.into(),
        Counts::Float64(column) => column.into(),
        Counts::Float32(column) => column.into(),
    }
}

fn axis_names(settings: &Settings<'_>, axes: usize) -> Result<Vec<String>, ModuleError> {
    let names = match settings.texts("axes")? {
        None if axes == 1 => vec!["time_of_flight".to_owned()],
        names => names.unwrap_or_default(),
    };
    let is_taken = |place: usize| {
        names[..place].contains(&names[place]) || ["data", "integral"].contains(&names[place].as_str())
    };
    if names.len() != axes || !names.iter().all(|name| is_name(name)) || (0..axes).any(is_taken) {
        let what = format!("{axes} names of axes, all different, and neither data nor integral");
        return Err(wrong("axes", &Value::from(names), &what));
    }
    Ok(names)
}

/// The edges of the first axis, if the configuration has them.
fn known_edges(settings: &Settings<'_>, length: usize) -> Result<Option<Vec<u8>>, ModuleError> {
    let Some((key, value)) = settings.value(&["edges"]) else { return Ok(None) };
    let (numbers, shape) = numbers(key, value)?;
    if shape != [length] {
        return Err(wrong(key, value, &format!("{length} edges: one more than bins")));
    }
    Ok(Some(numbers.bytes(ValueType::F64)))
}

impl Module for Monitor {
    fn schemas(&self) -> &'static [Schema] {
        self.schemas
    }

    fn rule(&self) -> WindowRule {
        // Differences of one time are added up all the same.
        if self.schemas.contains(&Schema::Da00) { WindowRule::EVENTS } else { WindowRule::COUNTS }
    }

    fn write(&mut self, message: &Message<'_>, _columns: &mut Columns) -> Result<(), NotWritten> {
        match message {
            Message::Da00(array) if self.schemas.contains(&Schema::Da00) => self.add(array),
            Message::Hs01(histogram) if self.schemas.contains(&Schema::Hs01) => self.replace(histogram),
            other => Err(NotWritten::schema(other)),
        }
    }

    fn before_commit(&mut self, columns: &mut Columns) {
        self.edges.iter_mut().for_each(|edges| edges.flush(columns));
        if let Some((data, integral)) = self.histogram.changed() {
            columns.set_grid(self.data, &data);
            columns.set_grid(self.integral, &integral);
        }
    }

    fn close(&mut self, columns: &mut Columns) {
        self.before_commit(columns);
    }

    fn save(&self, into: &mut Vec<u8>) {
        saved(&json!({"bins": self.histogram.saved(), "edges": known(&self.edges)}), into);
    }

    fn state_room(&self) -> usize {
        STATE_ROOM + self.histogram.state_room()
    }

    fn restore(&mut self, mut state: Value) -> Result<(), String> {
        let mut part = |name: &str| state.get_mut(name).map(Value::take).unwrap_or_default();
        let edges: Vec<bool> = restored(part("edges"))?;
        set_known(&mut self.edges, &edges)?;
        self.histogram.restore(part("bins"))
    }
}
