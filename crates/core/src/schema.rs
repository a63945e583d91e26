//! How the keys of a configuration are declared, so that one declaration gives what reads them, the JSON Schema for editors and the
//! tables of the documentation.
//!
//! Settings derive `schemars::JsonSchema` where they derive `Deserialize`. A value with a form of its own (a time, an address) says it
//! once, by [`written_as`](crate::written_as). Beyond the words of JSON Schema a declaration has:
//!
//! | word | meaning |
//! |---|---|
//! | `x-unit` | the unit, in tables of keys |
//! | `x-range` | what is accepted, in words, where a schema cannot say it |
//! | `x-default` | what holds without the key, in words, where it is no fixed value |
//! | `x-former` | older names of the key, which are still read |

use schemars::{Schema, json_schema};

/// The schema of a text of this form; `unit` is the word for it in tables of keys.
pub fn text(pattern: &str, unit: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": pattern, "x-unit": unit })
}

/// Declares the form in which values of a type are written: its schema, in the place of each key that has it.
#[macro_export]
macro_rules! written_as {
    ($($type:ty: |$generator:ident| $schema:expr;)+) => {$(
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    )+};
}
