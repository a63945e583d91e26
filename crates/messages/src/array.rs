//! Numbers whose type the message tells.

use crate::column::{Column, Element};
use crate::show;
use std::fmt;

macro_rules! numbers {
    ($($variant:ident $type:ident;)+) => {
        /// A column of numbers of some type.
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "type", content = "values", rename_all = "lowercase")]
        pub enum Array<'a> {
            $(#[doc = concat!("Numbers of type `", stringify!($type), "`.")] $variant(Column<'a, $type>),)+
        }

        /// A number of some type.
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "type", content = "value", rename_all = "lowercase")]
        pub enum Scalar {
            $(#[doc = concat!("A number of type `", stringify!($type), "`.")] $variant($type),)+
        }

        impl<'a> Array<'a> {
            /// How many numbers.
            pub fn len(&self) -> usize {
                match self { $(Array::$variant(column) => column.len(),)+ }
            }

            /// True if there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The name of their type, as in da00.
            pub fn type_name(&self) -> &'static str {
                match self { $(Array::$variant(_) => <$type as Element>::NAME,)+ }
            }

            /// All numbers, as floating point: exact below 2^53.
            pub fn to_f64(&self) -> Vec<f64> {
                match self { $(Array::$variant(column) => column.iter().map(|value| value as f64).collect(),)+ }
            }

            /// Bytes as numbers of the type at this place of the list int8, uint8, … uint64, float32, float64. None if there is no
            /// such type; the size of a number if the bytes are not whole numbers.
            pub(crate) fn of_type(place: usize, bytes: &'a [u8]) -> Option<Result<Self, usize>> {
                let mut types = 0..;
                $(if types.next() == Some(place) {
                    let size = size_of::<$type>();
                    let whole = bytes.len().is_multiple_of(size);
                    return Some(if whole { Ok(Array::$variant(Column::from_le_bytes(bytes))) } else { Err(size) });
                })+
                None
            }

            /// The place of their type in that list.
            pub(crate) fn place_of_type(&self) -> usize {
                let mut types = 0..;
                $(let place = types.next().unwrap_or_default();
                if matches!(self, Array::$variant(_)) {
                    return place;
                })+
                types.start
            }

            pub(crate) fn bytes(&self, encoder: &mut crate::Encoder) -> crate::encoder::Bytes {
                match self { $(Array::$variant(column) => encoder.bytes(*column),)+ }
            }
        }

        impl fmt::Display for Array<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}[{}] ", self.type_name(), self.len())?;
                match self { $(Array::$variant(column) => show::Values(*column).fmt(f),)+ }
            }
        }

        impl fmt::Display for Scalar {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Scalar::$variant(value) => value.fmt(f),)+ }
            }
        }

        impl Scalar {
            /// The number, as floating point: exact below 2^53.
            pub fn to_f64(&self) -> f64 {
                match self { $(Scalar::$variant(value) => *value as f64,)+ }
            }

            /// The name of its type, as in da00.
            pub fn type_name(&self) -> &'static str {
                match self { $(Scalar::$variant(_) => <$type as Element>::NAME,)+ }
            }
        }

        $(
            impl<'a> From<Column<'a, $type>> for Array<'a> {
                fn from(column: Column<'a, $type>) -> Self {
                    Array::$variant(column)
                }
            }

            impl<'a> From<&'a [$type]> for Array<'a> {
                fn from(values: &'a [$type]) -> Self {
                    Array::$variant(values.into())
                }
            }

            impl<'a, const N: usize> From<&'a [$type; N]> for Array<'a> {
                fn from(values: &'a [$type; N]) -> Self {
                    Array::$variant(values.into())
                }
            }

            impl<'a> From<&'a Vec<$type>> for Array<'a> {
                fn from(values: &'a Vec<$type>) -> Self {
                    Array::$variant(values.into())
                }
            }

            impl From<$type> for Scalar {
                fn from(value: $type) -> Self {
                    Scalar::$variant(value)
                }
            }
        )+
    };
}

numbers! {
    Int8 i8; UInt8 u8; Int16 i16; UInt16 u16; Int32 i32; UInt32 u32; Int64 i64; UInt64 u64; Float32 f32; Float64 f64;
}

/// What an array of da00 or ad00 has: numbers or a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data<'a> {
    /// Numbers.
    Numbers(Array<'a>),
    /// The bytes of a text, each a value.
    Text(&'a [u8]),
}

impl Data<'_> {
    /// How many values.
    pub fn len(&self) -> usize {
        match self {
            Data::Numbers(array) => array.len(),
            Data::Text(bytes) => bytes.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a, T: Into<Array<'a>>> From<T> for Data<'a> {
    fn from(values: T) -> Self {
        Data::Numbers(values.into())
    }
}

impl fmt::Display for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Numbers(array) => array.fmt(f),
            Data::Text(bytes) => write!(f, "\"{}\"", show::Text(&String::from_utf8_lossy(bytes))),
        }
    }
}

impl serde::Serialize for Data<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        match self {
            Data::Numbers(array) => array.serialize(serializer),
            Data::Text(bytes) => {
                let mut text = serializer.serialize_struct("Text", 2)?;
                text.serialize_field("type", "text")?;
                text.serialize_field("values", &String::from_utf8_lossy(bytes))?;
                text.end()
            }
        }
    }
}
