//! Types of values: their names in a structure, and numbers of one type as another.
//!
//! What does not fit into a type becomes the nearest number that does, as where HDF5 converts; "not a number" is 0 as an integer.

use evforge_messages::{Array, Element, Scalar};

use crate::file::{ColumnId, Columns, ValueType};

/// The names of types: those of da00, and the ones that the file writer of the ESS also knows.
pub(super) const NAMES: [&str; 15] = [
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "short",
    "int", "long", "float", "double",
];

/// The type with a name, in upper or lower case.
pub(super) fn of_name(name: &str) -> Option<ValueType> {
    Some(match name.to_ascii_lowercase().as_str() {
        "int8" => ValueType::I8,
        "uint8" => ValueType::U8,
        "int16" | "short" => ValueType::I16,
        "uint16" => ValueType::U16,
        "int32" | "int" => ValueType::I32,
        "uint32" => ValueType::U32,
        "int64" | "long" => ValueType::I64,
        "uint64" => ValueType::U64,
        "float32" | "float" => ValueType::F32,
        "float64" | "double" => ValueType::F64,
        _ => return None,
    })
}

/// The bytes of a number, as this machine has it in memory.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    bytes: [u8; 8],
    length: usize,
}

impl Bytes {
    fn of(source: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(source).for_each(|(to, from)| *to = *from);
        Self { bytes, length: source.len().min(8) }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A number that can be made one of another type.
pub(super) trait Number: Element {
    fn as_type(self, of: ValueType) -> Bytes;
}

macro_rules! numbers {
    ($($type:ty as $wide:ty)+) => {$(
        impl Number for $type {
            #[inline]
            fn as_type(self, of: ValueType) -> Bytes {
                // Floating point keeps to the limits of an integer by itself, integers do not.
                macro_rules! within {
                    ($to:ty) => {
                        Bytes::of(&((self as $wide).clamp(<$to>::MIN as $wide, <$to>::MAX as $wide) as $to).to_ne_bytes())
                    };
                }
                match of {
                    ValueType::I8 => within!(i8),
                    ValueType::U8 => within!(u8),
                    ValueType::I16 => within!(i16),
                    ValueType::U16 => within!(u16),
                    ValueType::I32 => within!(i32),
                    ValueType::U32 => within!(u32),
                    ValueType::I64 => within!(i64),
                    ValueType::U64 => within!(u64),
                    ValueType::F32 => Bytes::of(&(self as f32).to_ne_bytes()),
                    // Text is none of the types that modules ask for.
                    ValueType::F64 | ValueType::Text(_) => Bytes::of(&(self as f64).to_ne_bytes()),
                }
            }
        }
    )+};
}

numbers! {
    i8 as i128  u8 as i128  i16 as i128  u16 as i128  i32 as i128  u32 as i128  i64 as i128  u64 as i128
    f32 as f32  f64 as f64
}

/// Does the same with a number or a column, whatever its type.
macro_rules! whatever_type {
    ($of:ident, $value:expr, $name:ident => $body:expr) => {
        match $value {
            $of::Int8($name) => $body,
            $of::UInt8($name) => $body,
            $of::Int16($name) => $body,
            $of::UInt16($name) => $body,
            $of::Int32($name) => $body,
            $of::UInt32($name) => $body,
            $of::Int64($name) => $body,
            $of::UInt64($name) => $body,
            $of::Float32($name) => $body,
            $of::Float64($name) => $body,
        }
    };
}

/// A number as one of another type.
pub(super) fn as_type(value: Scalar, of: ValueType) -> Bytes {
    whatever_type!(Scalar, value, value => value.as_type(of))
}

/// The number at a place of an array.
pub(super) fn scalar_at(array: Array<'_>, place: usize) -> Option<Scalar> {
    whatever_type!(Array, array, column => column.get(place).map(Scalar::from))
}

/// Puts numbers down as numbers of a type.
pub(super) fn to_bytes(values: Array<'_>, of: ValueType, into: &mut Vec<u8>) {
    whatever_type!(Array, values, column => {
        column.iter().for_each(|value| into.extend_from_slice(value.as_type(of).as_slice()));
    });
}

/// Appends numbers to a column, converted if their type is another one. `scratch` is kept from call to call.
pub(super) fn extend(
    columns: &mut Columns,
    id: ColumnId,
    of: ValueType,
    values: Array<'_>,
    scratch: &mut Vec<u8>,
) {
    if values.type_name() == of.name() {
        whatever_type!(Array, values, column => columns.extend(id, column));
    } else {
        scratch.clear();
        to_bytes(values, of, scratch);
        columns.append(id, scratch);
    }
}

/// What stands for a value that is not there, in as many bytes as a value has: not a number, or the largest one.
pub(super) fn missing(of: ValueType) -> Bytes {
    match of {
        ValueType::F32 | ValueType::F64 => f64::NAN.as_type(of),
        ValueType::I8 => i8::MAX.as_type(of),
        ValueType::I16 => i16::MAX.as_type(of),
        ValueType::I32 => i32::MAX.as_type(of),
        ValueType::I64 => i64::MAX.as_type(of),
        _ => u64::MAX.as_type(of),
    }
}
