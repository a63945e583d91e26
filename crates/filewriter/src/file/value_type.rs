//! The types that values in a file may have.

use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ValueType {
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
    /// UTF-8 in this number of bytes, padded with zeros.
    Text(usize),
}

impl ValueType {
    /// The name, as in da00: `int8` … `float64`; `c_string` for text.
    pub fn name(self) -> &'static str {
        match self {
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::Text(_) => "c_string",
        }
    }

    /// Bytes of a value.
    pub fn size(self) -> usize {
        self.descriptor().size()
    }

    pub(super) fn descriptor(self) -> TypeDescriptor {
        use TypeDescriptor::{FixedUnicode, Float, Integer, Unsigned};
        match self {
            Self::I8 => Integer(IntSize::U1),
            Self::U8 => Unsigned(IntSize::U1),
            Self::I16 => Integer(IntSize::U2),
            Self::U16 => Unsigned(IntSize::U2),
            Self::I32 => Integer(IntSize::U4),
            Self::U32 => Unsigned(IntSize::U4),
            Self::I64 => Integer(IntSize::U8),
            Self::U64 => Unsigned(IntSize::U8),
            Self::F32 => Float(FloatSize::U4),
            Self::F64 => Float(FloatSize::U8),
            Self::Text(room) => FixedUnicode(room),
        }
    }
}
