//! Columns of numbers, borrowed: from a message, at whatever alignment it arrived, or from the program's own memory.

use std::fmt;
use zerocopy::FromBytes as _;

/// A number that columns are made of.
pub trait Element:
    Copy
    + PartialEq
    + fmt::Debug
    + fmt::Display
    + serde::Serialize
    + flatbuffers::Push<Output = Self>
    + zerocopy::FromBytes
    + zerocopy::IntoBytes
    + zerocopy::Immutable
    + 'static
{
    /// The name of the type, as in da00.
    const NAME: &'static str;

    /// The number in the first bytes.
    fn read(bytes: &[u8]) -> Option<Self>;
}

macro_rules! elements {
    ($($type:ident $name:literal)+) => {$(
        impl Element for $type {
            const NAME: &'static str = $name;

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| $type::from_le_bytes(*bytes))
            }
        }
    )+};
}

elements! {
    i8 "int8" u8 "uint8" i16 "int16" u16 "uint16" i32 "int32" u32 "uint32" i64 "int64" u64 "uint64"
    f32 "float32" f64 "float64"
}

/// A borrowed column of numbers.
#[derive(Clone, Copy)]
pub struct Column<'a, T>(Values<'a, T>);

#[derive(Clone, Copy)]
enum Values<'a, T> {
    /// Numbers in memory.
    Native(&'a [T]),
    /// Little-endian numbers, at any alignment.
    Bytes(&'a [u8]),
}

impl<'a, T: Element> Column<'a, T> {
    /// The numbers in little-endian bytes. Bytes behind the last whole number are left out.
    pub fn from_le_bytes(bytes: &'a [u8]) -> Self {
        if cfg!(target_endian = "little")
            && let Ok(values) = <[T]>::ref_from_bytes(bytes)
        {
            return Self(Values::Native(values));
        }
        Self(Values::Bytes(bytes))
    }

    /// How many numbers.
    pub fn len(&self) -> usize {
        match self.0 {
            Values::Native(values) => values.len(),
            Values::Bytes(bytes) => bytes.len() / size_of::<T>(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number by its place.
    pub fn get(&self, place: usize) -> Option<T> {
        match self.0 {
            Values::Native(values) => values.get(place).copied(),
            Values::Bytes(bytes) => T::read(bytes.get(place.checked_mul(size_of::<T>())?..)?),
        }
    }

    /// The first number.
    pub fn first(&self) -> Option<T> {
        self.get(0)
    }

    /// The last number.
    pub fn last(&self) -> Option<T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All numbers in their order.
    pub fn iter(&self) -> Iter<'a, T> {
        Iter { rest: *self }
    }

    /// The numbers as a slice, if they lie in memory as this machine wants them; otherwise [`Column::to_vec`].
    pub fn as_slice(&self) -> Option<&'a [T]> {
        match self.0 {
            Values::Native(values) => Some(values),
            Values::Bytes(_) => None,
        }
    }

    /// A copy of the numbers.
    pub fn to_vec(&self) -> Vec<T> {
        match self.0 {
            Values::Native(values) => values.to_vec(),
            Values::Bytes(_) => self.iter().collect(),
        }
    }

    /// The numbers of a range, or none if it reaches beyond them.
    pub fn range(&self, range: std::ops::Range<usize>) -> Option<Self> {
        match self.0 {
            Values::Native(values) => values.get(range).map(|values| Self(Values::Native(values))),
            Values::Bytes(bytes) => {
                let size = size_of::<T>();
                let bytes = bytes.get(range.start.checked_mul(size)?..range.end.checked_mul(size)?)?;
                Some(Self(Values::Bytes(bytes)))
            }
        }
    }

    /// The numbers as little-endian bytes, if they lie in memory as such.
    pub fn le_bytes(&self) -> Option<&'a [u8]> {
        match self.0 {
            Values::Native(values) if cfg!(target_endian = "little") => {
                Some(zerocopy::IntoBytes::as_bytes(values))
            }
            Values::Native(_) => None,
            Values::Bytes(bytes) => Some(bytes),
        }
    }
}

/// The numbers of a column, one after the other.
#[derive(Clone)]
pub struct Iter<'a, T> {
    rest: Column<'a, T>,
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.rest.0 {
            Values::Native(values) => {
                let (first, rest) = values.split_first()?;
                *values = rest;
                Some(*first)
            }
            Values::Bytes(bytes) => {
                let first = T::read(bytes)?;
                *bytes = bytes.get(size_of::<T>()..).unwrap_or_default();
                Some(first)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

impl<T: Element> DoubleEndedIterator for Iter<'_, T> {
    fn next_back(&mut self) -> Option<T> {
        let last = self.rest.last()?;
        self.rest = self.rest.range(0..self.rest.len() - 1)?;
        Some(last)
    }
}

impl<T: Element> ExactSizeIterator for Iter<'_, T> {}

impl<'a, T: Element> IntoIterator for Column<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> Default for Column<'_, T> {
    fn default() -> Self {
        Self(Values::Native(&[]))
    }
}

impl<'a, T> From<&'a [T]> for Column<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self(Values::Native(values))
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Column<'a, T> {
    fn from(values: &'a [T; N]) -> Self {
        Self(Values::Native(values))
    }
}

impl<'a, T> From<&'a Vec<T>> for Column<'a, T> {
    fn from(values: &'a Vec<T>) -> Self {
        Self(Values::Native(values))
    }
}

/// Pixel ids and times of flight are unsigned in events and signed in ev44: the same bits.
impl<'a> From<&'a [u32]> for Column<'a, i32> {
    fn from(values: &'a [u32]) -> Self {
        Self(Values::Native(zerocopy::transmute_ref!(values)))
    }
}

/// The same bits, as between [`u32`] and [`i32`].
impl<'a> From<&'a [i32]> for Column<'a, u32> {
    fn from(values: &'a [i32]) -> Self {
        Self(Values::Native(zerocopy::transmute_ref!(values)))
    }
}

impl<T: Element> PartialEq for Column<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Values::Native(left), Values::Native(right)) => left == right,
            _ => self.iter().eq(other.iter()),
        }
    }
}

impl<T: Element> PartialEq<[T]> for Column<'_, T> {
    fn eq(&self, other: &[T]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl<T: Element, const N: usize> PartialEq<[T; N]> for Column<'_, T> {
    fn eq(&self, other: &[T; N]) -> bool {
        *self == other[..]
    }
}

impl<T: Element> fmt::Debug for Column<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Element> serde::Serialize for Column<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_at_any_alignment_are_the_same_numbers() {
        let values = [1_i32, -2, i32::MAX, i32::MIN];
        let mut bytes = vec![0_u8; 8];
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        for shift in 0..8 {
            let mut moved = vec![0_u8; shift];
            moved.extend(&bytes[8..]);
            let column = Column::<i32>::from_le_bytes(&moved[shift..]);
            assert_eq!(column, values);
            assert_eq!(column.to_vec(), values);
            assert_eq!(column.iter().rev().collect::<Vec<_>>(), [i32::MIN, i32::MAX, -2, 1]);
            assert_eq!((column.len(), column.get(1), column.get(4)), (4, Some(-2), None));
            assert_eq!(column.range(1..3).unwrap(), [-2, i32::MAX]);
            assert_eq!(column.range(1..5), None);
            assert_eq!(column, Column::from(&values));
            assert_eq!(column.as_slice().is_some(), moved[shift..].as_ptr().addr() % 4 == 0);
        }
    }

    #[test]
    fn unsigned_numbers_become_signed_ones_by_their_bits() {
        let ids = [1_u32, u32::MAX];
        assert_eq!(Column::<i32>::from(&ids[..]), [1, -1]);
        assert_eq!(Column::<u32>::from(&[-1_i32][..]), [u32::MAX]);
    }
}
