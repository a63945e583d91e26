//! Tables of which some keys are left out, where what then holds depends on the detector.
//!
//! Types whose defaults are the same everywhere derive `Deserialize` with `#[serde(default)]` instead.

use evforge_core::quantity::TimeSpan;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Settings of which a table names some; those that it does not name stay as they are.
pub trait Table: Sized {
    /// The names of each key: the first is the one that is told, the others are former ones.
    const KEYS: &'static [&'static [&'static str]];

    /// The first names of all keys.
    const NAMES: &'static [&'static str];

    /// Reads the value of the key with this number in [`Table::KEYS`].
    ///
    /// # Errors
    /// If it is not what is expected there.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: usize, values: &mut A) -> Result<(), A::Error>;
}

/// Declares the keys of a [`Table`]: each with the place of its value and the function that reads it.
macro_rules! table {
    ($settings:ty { $($key:literal $(| $former:literal)* => ($($place:tt)+) $read:path,)+ }) => {
        impl $crate::settings::table::Table for $settings {
            const KEYS: &'static [&'static [&'static str]] = &[$(&[$key $(, $former)*]),+];
            const NAMES: &'static [&'static str] = &[$($key),+];

            fn read<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                key: usize,
                values: &mut A,
            ) -> Result<(), A::Error> {
                match Self::NAMES.get(key).copied() {
                    $(Some($key) => self $($place)+ = $read(&self $($place)+, values)?,)+
                    _ => {}
                }
                Ok(())
            }
        }
    };
}
pub(crate) use table;

/// Declares what holds for the keys that a table leaves out, for the field that is read from it:
/// `#[serde(default = "name::default", with = "name")]`.
macro_rules! defaults {
    ($($(#[$doc:meta])* $visibility:vis $name:ident: $settings:ty = $default:expr;)+) => {$(
        $(#[$doc])*
        // Serde takes the name for that of a module.
        #[allow(non_camel_case_types)]
        $visibility enum $name {}

        impl $name {
            /// Without the table.
            pub(crate) fn default() -> $settings {
                $default
            }

            /// With it.
            pub(crate) fn deserialize<'de, D: serde::de::Deserializer<'de>>(
                table: D,
            ) -> Result<$settings, D::Error> {
                serde::de::DeserializeSeed::deserialize($crate::settings::table::Over($default), table)
            }
        }
    )+};
}
pub(crate) use defaults;

/// A value as it is written.
pub fn value<'de, T: Deserialize<'de>, A: MapAccess<'de>>(_: &T, values: &mut A) -> Result<T, A::Error> {
    values.next_value()
}

/// A duration.
pub fn picoseconds<'de, A: MapAccess<'de>>(_: &u64, values: &mut A) -> Result<u64, A::Error> {
    Ok(values.next_value::<TimeSpan>()?.picoseconds)
}

/// A duration that need not be there.
pub fn some_picoseconds<'de, A: MapAccess<'de>>(
    _: &Option<u64>,
    values: &mut A,
) -> Result<Option<u64>, A::Error> {
    Ok(Some(values.next_value::<TimeSpan>()?.picoseconds))
}

/// A duration that may be below zero: with a minus in front.
pub fn signed_picoseconds<'de, A: MapAccess<'de>>(_: &i64, values: &mut A) -> Result<i64, A::Error> {
    let text = values.next_value::<String>()?;
    let (sign, amount) = text.strip_prefix('-').map_or((1, text.as_str()), |amount| (-1, amount));
    let span: TimeSpan = amount.parse().map_err(A::Error::custom)?;
    let picoseconds = i64::try_from(span.picoseconds).map_err(A::Error::custom)?;
    Ok(sign * picoseconds)
}

/// A table in the table.
pub fn over<'de, T: Table + Clone, A: MapAccess<'de>>(current: &T, values: &mut A) -> Result<T, A::Error> {
    values.next_value_seed(Over(current.clone()))
}

/// Reads a table over settings that hold where it says nothing.
pub struct Over<T>(pub T);

impl<'de, T: Table> DeserializeSeed<'de> for Over<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Table> Visitor<'de> for Over<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table with {}", T::NAMES.join(", "))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<T, A::Error> {
        let mut settings = self.0;
        let mut seen = vec![false; T::KEYS.len()];
        while let Some(key) = values.next_key_seed(Key(PhantomData::<T>))? {
            if std::mem::replace(&mut seen[key], true) {
                return Err(A::Error::duplicate_field(T::NAMES[key]));
            }
            settings.read(key, &mut values)?;
        }
        Ok(settings)
    }
}

/// One of the keys of a table, by its number.
struct Key<T>(PhantomData<T>);

impl<'de, T: Table> DeserializeSeed<'de> for Key<T> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T: Table> Visitor<'_> for Key<T> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, found: &str) -> Result<usize, E> {
        let key = T::KEYS.iter().position(|names| names.contains(&found));
        key.ok_or_else(|| E::unknown_field(found, T::NAMES))
    }
}
