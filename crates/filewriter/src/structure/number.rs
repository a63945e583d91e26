//! Numbers of JSON as values of a type.

use super::path::shown_json;

/// What does not fit: what was found, and what is expected.
pub(super) type Misfit = (String, String);

/// A value of a type of numbers.
pub(super) trait Number: Sized {
    /// Reads a value of JSON that is no list and no object.
    ///
    /// # Errors
    /// If the type does not have it.
    fn read(json: &str) -> Result<Self, Misfit>;
}

macro_rules! integers {
    ($($integer:ty: $name:literal),*) => {$(
        impl Number for $integer {
            fn read(json: &str) -> Result<Self, Misfit> {
                json.parse().ok().or_else(|| whole(json)?.try_into().ok()).ok_or_else(|| {
                    let expected = format!("an integer from {} to {} ({})", Self::MIN, Self::MAX, $name);
                    (shown_json(json), expected)
                })
            }
        }
    )*};
}

integers!(
    i8: "int8", u8: "uint8", i16: "int16", u16: "uint16", i32: "int32", u32: "uint32", i64: "int64", u64: "uint64"
);

macro_rules! floats {
    ($($float:ty: $name:literal),*) => {$(
        impl Number for $float {
            fn read(json: &str) -> Result<Self, Misfit> {
                // JSON has no name for what is no number: only digits, a sign, a point and an exponent get through.
                let value = json.parse().ok().filter(|value: &Self| value.is_finite());
                value.ok_or_else(|| (shown_json(json), format!("a number of type {}", $name)))
            }
        }
    )*};
}

floats!(f32: "float", f64: "double");

/// An integer in another spelling: `1.0`, `1e3`, `true`.
fn whole(json: &str) -> Option<i128> {
    match json {
        "true" => return Some(1),
        "false" => return Some(0),
        _ => {}
    }
    let value: f64 = json.parse().ok()?;
    (value.fract() == 0.0 && value.abs() < 1e20).then_some(value as i128)
}
