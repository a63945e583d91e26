//! Tables of which some keys are left out, where what then holds depends on the detector.
//!
//! Types whose defaults are the same everywhere derive `Deserialize` with `#[serde(default)]` instead.

use evforge_core::quantity::{SignedTime, TimeSpan};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serialize;
use serde_json::{Map, Value, json};
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

    /// The schema of the table, where these settings hold for keys that are left out.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;
}

/// The form in which a value is written.
pub trait Form<T> {
    /// Reads the value of a key; `current` is what holds without it.
    ///
    /// # Errors
    /// If it is not what is expected there.
    fn read<'de, A: MapAccess<'de>>(current: &T, values: &mut A) -> Result<T, A::Error>;

    /// Its schema.
    fn schema(current: &T, generator: &mut SchemaGenerator) -> Schema;

    /// What holds without the key, as it is written; null if it cannot be written, or is another table.
    fn written(current: &T) -> Value;
}

/// The schema of a key with what is said of it: its meaning, former names, and other words.
pub(crate) fn declared(
    mut schema: Schema,
    meaning: &str,
    default: Value,
    former: &[&str],
    words: Value,
) -> Value {
    schema.insert("description".into(), meaning.trim().into());
    if !default.is_null() {
        schema.insert("default".into(), default);
    }
    if !former.is_empty() {
        schema.insert("x-former".into(), json!(former));
    }
    if let Value::Object(words) = words {
        for (word, value) in words {
            schema.insert(word, value);
        }
    }
    schema.to_value()
}

/// The schema of a table with these keys, none of which must be there.
pub(crate) fn table_schema(properties: Map<String, Value>) -> Schema {
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Declares the keys of a [`Table`]: each with its meaning, the place of its value, the form in which it is written, and what else a
/// schema says of it (`evforge_core::schema`).
macro_rules! table {
    ($settings:ty { $(
        $(#[doc = $meaning:literal])+
        $key:literal $(| $former:literal)* => ($($place:tt)+) $form:ty $({ $($words:tt)+ })?,
    )+ }) => {
        impl $crate::settings::table::Table for $settings {
            const KEYS: &'static [&'static [&'static str]] = &[$(&[$key $(, $former)*]),+];
            const NAMES: &'static [&'static str] = &[$($key),+];

            fn read<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                key: usize,
                values: &mut A,
            ) -> Result<(), A::Error> {
                use $crate::settings::table::Form;
                match Self::NAMES.get(key).copied() {
                    $(Some($key) => self $($place)+ = <$form>::read(&self $($place)+, values)?,)+
                    _ => {}
                }
                Ok(())
            }

            fn schema(&self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                use $crate::settings::table::{Form, declared, table_schema};
                let mut properties = serde_json::Map::new();
                $({
                    let current = &self $($place)+;
                    let (schema, default) = (<$form>::schema(current, generator), <$form>::written(current));
                    let words = serde_json::json!({ $($($words)+)? });
                    let meaning = concat!($($meaning),+);
                    properties.insert($key.to_owned(), declared(schema, meaning, default, &[$($former),*], words));
                })+
                table_schema(properties)
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

            /// Nothing: the keys of the table say what holds without them.
            pub(crate) fn serialize<S: serde::ser::Serializer>(_: &$settings, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_none()
            }
        }

        evforge_core::written_as! {
            $name: |generator| $crate::settings::table::Table::schema(&Self::default(), generator);
        }
    )+};
}
pub(crate) use defaults;

/// A value as its type says.
pub enum AsItIs {}

/// A duration.
pub enum Time {}

/// A duration that may be below zero: with a minus in front.
pub enum Signed {}

/// A table in the table.
pub enum Inner {}

impl<T> Form<T> for AsItIs
where
    T: for<'de> Deserialize<'de> + Serialize + JsonSchema,
{
    fn read<'de, A: MapAccess<'de>>(_: &T, values: &mut A) -> Result<T, A::Error> {
        values.next_value()
    }

    fn schema(_: &T, generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }

    fn written(current: &T) -> Value {
        json!(current)
    }
}

impl Form<u64> for Time {
    fn read<'de, A: MapAccess<'de>>(_: &u64, values: &mut A) -> Result<u64, A::Error> {
        Ok(values.next_value::<TimeSpan>()?.picoseconds)
    }

    fn schema(_: &u64, generator: &mut SchemaGenerator) -> Schema {
        TimeSpan::json_schema(generator)
    }

    fn written(&picoseconds: &u64) -> Value {
        json!(TimeSpan { picoseconds })
    }
}

impl Form<Option<u64>> for Time {
    fn read<'de, A: MapAccess<'de>>(_: &Option<u64>, values: &mut A) -> Result<Option<u64>, A::Error> {
        Ok(Some(values.next_value::<TimeSpan>()?.picoseconds))
    }

    fn schema(_: &Option<u64>, generator: &mut SchemaGenerator) -> Schema {
        TimeSpan::json_schema(generator)
    }

    fn written(current: &Option<u64>) -> Value {
        json!(current.map(|picoseconds| TimeSpan { picoseconds }))
    }
}

impl Form<i64> for Signed {
    fn read<'de, A: MapAccess<'de>>(_: &i64, values: &mut A) -> Result<i64, A::Error> {
        let text = values.next_value::<String>()?;
        let (sign, amount) = text.strip_prefix('-').map_or((1, text.as_str()), |amount| (-1, amount));
        let span: TimeSpan = amount.parse().map_err(A::Error::custom)?;
        let picoseconds = i64::try_from(span.picoseconds).map_err(A::Error::custom)?;
        Ok(sign * picoseconds)
    }

    fn schema(_: &i64, generator: &mut SchemaGenerator) -> Schema {
        SignedTime::json_schema(generator)
    }

    fn written(current: &i64) -> Value {
        let sign = if *current < 0 { "-" } else { "" };
        json!(format!("{sign}{}", TimeSpan { picoseconds: current.unsigned_abs() }))
    }
}

impl<T: Table + Clone> Form<T> for Inner {
    fn read<'de, A: MapAccess<'de>>(current: &T, values: &mut A) -> Result<T, A::Error> {
        values.next_value_seed(Over(current.clone()))
    }

    fn schema(current: &T, generator: &mut SchemaGenerator) -> Schema {
        current.schema(generator)
    }

    fn written(_: &T) -> Value {
        Value::Null
    }
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
