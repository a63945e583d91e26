//! Checks of what a verified message says: lengths, indices, shapes, times.

use crate::column::{Column, Element};
use crate::refused::Refused;
use crate::schema::Schema;

/// 2100-01-01T00:00:00Z in nanoseconds since 1970. A later time of data is an error of its sender, and would keep whoever
/// waits for a time waiting.
pub const TOO_LATE_NS: i64 = 4_102_444_800_000_000_000;

/// A time of data in nanoseconds since 1970; 0 stands for none.
pub(crate) fn time(schema: Schema, field: &'static str, ns: impl Into<i128>) -> Result<(), Refused> {
    let found = ns.into();
    if (0..i128::from(TOO_LATE_NS)).contains(&found) {
        return Ok(());
    }
    Err(Refused::Time { schema, field, found, unit: "nanoseconds", limit: "2100" })
}

/// All times of a column.
pub(crate) fn times<T: Element + Into<i128>>(
    schema: Schema,
    field: &'static str,
    column: Column<'_, T>,
) -> Result<(), Refused> {
    column.iter().try_for_each(|ns| time(schema, field, ns))
}

/// A time of a command in milliseconds since 1970: what fits into nanoseconds, which the value that file writers send for
/// "not yet" just does.
pub(crate) fn milliseconds(schema: Schema, field: &'static str, ms: u64) -> Result<(), Refused> {
    if i64::try_from(ms).is_ok_and(|ms| ms.checked_mul(1_000_000).is_some()) {
        return Ok(());
    }
    Err(Refused::Time { schema, field, found: ms.into(), unit: "milliseconds", limit: "2262" })
}

/// Nanoseconds of a time that has been checked; none where the field is 0.
pub(crate) fn known(ns: impl TryInto<i64>) -> Option<i64> {
    ns.try_into().ok().filter(|ns| *ns > 0)
}

/// Two columns that belong together.
pub(crate) fn equal_lengths(
    schema: Schema,
    (left, left_length): (&'static str, usize),
    (right, right_length): (&'static str, usize),
) -> Result<(), Refused> {
    if left_length == right_length {
        return Ok(());
    }
    Err(Refused::Lengths { schema, left, left_length, right, right_length })
}

/// A column that may be left out, beside one that may not.
pub(crate) fn equal_if_given(
    schema: Schema,
    (column, length): (&'static str, usize),
    given: (&'static str, usize),
) -> Result<(), Refused> {
    if length == 0 { Ok(()) } else { equal_lengths(schema, (column, length), given) }
}

/// An index of pulses: begins at 0, does not go back, ends within the events.
pub(crate) fn index<T: Element + Into<i64>>(
    schema: Schema,
    field: &'static str,
    index: Column<'_, T>,
    events: usize,
) -> Result<(), Refused> {
    let refuse = |place, found, expected| Err(Refused::Index { schema, field, place, found, expected });
    let mut previous = 0;
    for (place, first) in index.iter().enumerate() {
        let first: i64 = first.into();
        if place == 0 && first != 0 {
            return refuse(place, first, "the first pulse begins at 0".to_owned());
        }
        if first < previous {
            return refuse(place, first, format!("the pulse before it begins at {previous}"));
        }
        if usize::try_from(first).is_ok_and(|first| first > events) {
            return refuse(place, first, format!("there are {events} events"));
        }
        previous = first;
    }
    if index.is_empty() && events > 0 {
        return refuse(0, 0, format!("there are no pulses, and {events} events"));
    }
    Ok(())
}

/// How many values an array of this shape has.
pub(crate) fn values_of_shape(
    schema: Schema,
    field: &str,
    shape: impl Iterator<Item = i64>,
) -> Result<usize, Refused> {
    let refuse = |what| Refused::Shape { schema, field: field.to_owned(), what };
    let mut values = 1_usize;
    for length in shape {
        let length =
            usize::try_from(length).map_err(|_| refuse(format!("a dimension has length {length}")))?;
        values = values
            .checked_mul(length)
            .ok_or_else(|| refuse("has more values than fit into memory".into()))?;
    }
    Ok(values)
}

/// An array that must have as many values as its shape says.
pub(crate) fn shape(
    schema: Schema,
    field: &str,
    shape: impl Iterator<Item = i64>,
    values: usize,
) -> Result<(), Refused> {
    let expected = values_of_shape(schema, field, shape)?;
    if expected == values {
        return Ok(());
    }
    let what = format!("has {values} values; its shape asks for {expected}");
    Err(Refused::Shape { schema, field: field.to_owned(), what })
}

/// Milliseconds that have been checked, in nanoseconds; none where the field is 0.
pub(crate) fn known_ms(ms: u64) -> Option<i64> {
    known(ms).and_then(|ms| ms.checked_mul(1_000_000))
}
