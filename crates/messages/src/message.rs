//! A message of whatever schema.

use crate::ev44::Ev44;
use crate::open::identifier;
use crate::refused::Refused;
use crate::schema::Schema;
use std::fmt;

macro_rules! messages {
    ($($schema:ident)+) => {
        /// A message of one of the schemas.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Message<'a> {
            $(#[doc = concat!("See [`", stringify!($schema), "`].")] $schema($schema<'a>),)+
        }

        impl<'a> Message<'a> {
            /// The schema of the message.
            pub fn schema(&self) -> Schema {
                match self { $(Message::$schema(_) => Schema::$schema,)+ }
            }

            /// Whose data it has: the name that data of one source have in common. For states and answers, the service.
            pub fn source_name(&self) -> Option<&'a str> {
                match self { $(Message::$schema(message) => message.source(),)+ }
            }

            /// The time of the data (the first one), in nanoseconds since 1970; none where the schema has none, or it is 0.
            pub fn time_ns(&self) -> Option<i64> {
                match self { $(Message::$schema(message) => message.time_ns(),)+ }
            }

            fn fields(&self) -> serde_json::Result<serde_json::Value> {
                match self { $(Message::$schema(message) => serde_json::to_value(message),)+ }
            }

            fn of(schema: Schema, bytes: &'a [u8]) -> Result<Self, Refused> {
                match schema {
                    $(Schema::$schema => $schema::decode(bytes).map(Message::$schema),)+
                    other => Err(Refused::UnknownSchema(other.id().as_bytes().try_into().unwrap_or_default())),
                }
            }
        }

        impl fmt::Display for Message<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Message::$schema(message) => write!(f, "{} {message}", Schema::$schema),)+ }
            }
        }
    };
}

messages! { Ev44 }

/// Reads a message: its identifier, its verification, then lengths, indices, shapes and times.
///
/// # Errors
/// With what is wrong with it.
pub fn decode(bytes: &[u8]) -> Result<Message<'_>, Refused> {
    let id = identifier(bytes)?;
    match Schema::from_id(&id) {
        Some(schema) => Message::of(schema, bytes),
        None => Err(Refused::UnknownSchema(id)),
    }
}

impl Message<'_> {
    /// All fields, with the schema's identifier as `schema`.
    pub fn to_json(&self) -> serde_json::Value {
        let mut json = self.fields().expect("numbers, texts and lists of them can be written as JSON");
        if let Some(fields) = json.as_object_mut() {
            fields.insert("schema".into(), self.schema().id().into());
        }
        json
    }
}
