//! What a configuration says of the variables and constants of da00.

use evforge_messages::Scalar;
use serde_json::{Map, Value};

use super::dtype::as_type;
use super::module::ModuleError;
use super::settings::{dtype, shape, wrong};
use crate::file::ValueType;

/// Values of a constant at most.
const MOST_VALUES: usize = 1 << 24;

/// A variable or a constant.
#[derive(Debug)]
pub(super) struct ArraySettings {
    pub(super) name: String,
    pub(super) unit: Option<String>,
    pub(super) label: Option<String>,
    pub(super) source: Option<String>,
    pub(super) axes: Vec<String>,
    pub(super) value_type: ValueType,
    pub(super) shape: Vec<usize>,
    /// The values, if they are known.
    pub(super) data: Option<Numbers>,
    /// What is to be taken from the first message and cannot be.
    pub(super) notes: Vec<String>,
}

type Read<T> = Result<T, ModuleError>;

impl ArraySettings {
    /// Reads the entry at a place of a list, for example `variables[2]`.
    pub(super) fn read(place: &str, value: &Value) -> Read<Self> {
        let Value::Object(keys) = value else {
            return Err(wrong(place, value, "an object with name, data_type and shape"));
        };
        let at = |key: &str| format!("{place}/{key}");
        let mut notes = Vec::new();
        let mut text = |key: &str| -> Read<Option<String>> {
            match keys.get(key) {
                None => Ok(None),
                Some(Value::Null) => {
                    notes.push(format!(
                        "{}: null is the text of the first message; while others follow the file nothing can be added to it, \
                         so there is none",
                        at(key)
                    ));
                    Ok(None)
                }
                Some(Value::String(text)) => Ok(Some(text.clone())),
                Some(other) => Err(wrong(&at(key), other, "a text")),
            }
        };
        let (unit, label, source) = (text("unit")?, text("label")?, text("source")?);
        let name = match keys.get("name") {
            Some(Value::String(name)) if is_name(name) => name.clone(),
            other => return Err(wrong(&at("name"), other.unwrap_or(&Value::Null), "the name of a dataset")),
        };
        let axes = axes(&at("axes"), keys)?;
        let data = keys.get("data").filter(|data| !data.is_null());
        let numbers = data.map(|data| numbers(&at("data"), data)).transpose()?;
        let value_type = match (keys.get("data_type").filter(|found| !found.is_null()), &numbers) {
            (Some(found), _) => dtype(&at("data_type"), found)?,
            (None, Some((numbers, _))) => numbers.guess(),
            (None, None) => {
                let expected = "a type: nothing can be added to the file after the first message";
                return Err(wrong(&at("data_type"), &Value::Null, expected));
            }
        };
        let shape = match (keys.get("shape").filter(|found| !found.is_null()), &numbers) {
            (Some(found), _) => shape(&at("shape"), found, value_type)?,
            (None, Some((_, shape))) => shape.clone(),
            (None, None) => {
                let expected = "a list of lengths: nothing can be added to the file after the first message";
                return Err(wrong(&at("shape"), &Value::Null, expected));
            }
        };
        if !axes.is_empty() && axes.len() != shape.len() {
            let expected = format!("as many axes as the shape {shape:?} has");
            return Err(wrong(&at("axes"), keys.get("axes").unwrap_or(&Value::Null), &expected));
        }
        if let Some((numbers, _)) = &numbers
            && numbers.len() != shape.iter().product::<usize>()
        {
            let expected = format!("as many values as the shape {shape:?} asks for");
            return Err(wrong(&at("data"), data.unwrap_or(&Value::Null), &expected));
        }
        let data = numbers.map(|(numbers, _)| numbers);
        Ok(Self { name, unit, label, source, axes, value_type, shape, data, notes })
    }
}

/// True for what HDF5 takes as the name of a dataset in a group.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && !name.contains(['/', '\0']) && name.len() <= 255
}

fn axes(place: &str, keys: &Map<String, Value>) -> Read<Vec<String>> {
    let Some(value) = keys.get("axes").filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    let texts = value.as_array().map(|list| list.iter().map(|text| text.as_str().map(str::to_owned)));
    texts.and_then(Iterator::collect).ok_or_else(|| wrong(place, value, "a list of names"))
}

/// A number of JSON with as many digits as it has.
pub(super) fn scalar(value: &Value) -> Option<Scalar> {
    if let Some(whole) = value.as_i64() {
        return Some(whole.into());
    }
    value.as_u64().map(Scalar::from).or_else(|| value.as_f64().map(Scalar::from))
}

/// Numbers of a configuration. Steps are made when they are written: some words ask for millions of them.
#[derive(Debug)]
pub(super) enum Numbers {
    List(Vec<Scalar>),
    Steps { first: f64, last: f64, size: usize },
}

impl Numbers {
    fn len(&self) -> usize {
        match self {
            Self::List(numbers) => numbers.len(),
            Self::Steps { size, .. } => *size,
        }
    }

    /// Integers are int64, everything else is float64.
    fn guess(&self) -> ValueType {
        let is_whole = |number: &Scalar| matches!(number, Scalar::Int64(_));
        match self {
            Self::List(numbers) if numbers.iter().all(is_whole) => ValueType::I64,
            _ => ValueType::F64,
        }
    }

    /// As numbers of a type, as this machine has them in memory.
    pub(super) fn bytes(&self, of: ValueType) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() * of.size());
        let mut push = |number: Scalar| bytes.extend_from_slice(as_type(number, of).as_slice());
        match self {
            Self::List(numbers) => numbers.iter().for_each(|number| push(*number)),
            Self::Steps { first, size: 1, .. } => push((*first).into()),
            Self::Steps { first, last, size } => (0..*size).for_each(|at| {
                push((first + (last - first) * (at as f64 / (size - 1) as f64)).into());
            }),
        }
        bytes
    }
}

/// Numbers with their shape: lists in lists, or `{"first": …, "last": …, "size": …}` for equal steps.
pub(super) fn numbers(place: &str, value: &Value) -> Read<(Numbers, Vec<usize>)> {
    let expected = "numbers, in lists of equal length, or first, last and size of equal steps";
    let refused = || wrong(place, value, expected);
    if let Value::Object(keys) = value {
        let number = |names: [&str; 2]| names.iter().find_map(|name| keys.get(*name)?.as_f64());
        let size = keys.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
        let size = size.filter(|size| (1..=MOST_VALUES).contains(size)).ok_or_else(refused)?;
        let (Some(first), Some(last)) = (number(["first", "min"]), number(["last", "max"])) else {
            return Err(refused());
        };
        return Ok((Numbers::Steps { first, last, size }, vec![size]));
    }
    let mut shape = Vec::new();
    let mut level = value;
    while let Value::Array(list) = level {
        shape.push(list.len());
        match list.first() {
            Some(first) if shape.len() <= 8 => level = first,
            _ => break,
        }
    }
    let mut flat = Vec::new();
    if flatten(value, &shape, &mut flat) && !flat.is_empty() {
        Ok((Numbers::List(flat), shape))
    } else {
        Err(refused())
    }
}

/// Puts the numbers of lists in lists down; false if their lengths are not those of the shape.
fn flatten(value: &Value, shape: &[usize], into: &mut Vec<Scalar>) -> bool {
    match (value, shape) {
        (Value::Array(list), [length, rest @ ..]) if list.len() == *length => {
            list.iter().all(|value| flatten(value, rest, into))
        }
        (Value::Number(_), []) if into.len() < MOST_VALUES => {
            into.extend(scalar(value));
            true
        }
        _ => false,
    }
}
