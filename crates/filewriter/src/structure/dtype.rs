//! Names of types of values.

use super::error::StructureError;
use super::path::{Path, quoted};

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    Text,
}

/// All names; the first ones are those that an error lists.
const NAMES: [(&str, DType); 17] = [
    ("int8", DType::I8),
    ("uint8", DType::U8),
    ("int16", DType::I16),
    ("uint16", DType::U16),
    ("int32", DType::I32),
    ("uint32", DType::U32),
    ("int64", DType::I64),
    ("uint64", DType::U64),
    ("float", DType::F32),
    ("double", DType::F64),
    ("string", DType::Text),
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("short", DType::I16),
    ("int", DType::I32),
    ("long", DType::I64),
    ("c_string", DType::Text),
];

/// How many of the names an error lists.
const LISTED: usize = 11;

impl DType {
    /// The type of this name.
    ///
    /// # Errors
    /// If there is none, with the one that is most like it.
    pub(super) fn named(name: &str, path: &Path<'_>) -> Result<Self, StructureError> {
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, dtype)| dtype).ok_or_else(|| {
            let listed: Vec<&str> = NAMES[..LISTED].iter().map(|(name, _)| *name).collect();
            let hint = did_you_mean(name, NAMES.iter().map(|(name, _)| *name));
            path.refuse(quoted(name), format!("one of {}{hint}", listed.join(", ")))
        })
    }

    /// The name.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, dtype)| *dtype == self).map_or("", |(name, _)| name)
    }
}

/// The known name that is most like this one, as the end of a sentence; empty if none is like it.
pub(super) fn did_you_mean<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    /// How alike they must be, 1 being equal.
    const ALIKE: f64 = 0.75;
    /// Longer names are not compared: it takes time, and none of ours is near.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return String::new();
    }
    let lower = name.to_lowercase();
    known
        .map(|known| (strsim::jaro_winkler(&lower, known), known))
        .filter(|(alike, _)| *alike >= ALIKE)
        .reduce(|best, other| if other.0 > best.0 { other } else { best })
        .map_or(String::new(), |(_, known)| format!("; did you mean {known}?"))
}
