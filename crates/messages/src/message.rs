//! A message of whatever schema.

use crate::ad00::Ad00;
use crate::al00::Al00;
use crate::an44::An44;
use crate::answ::Answ;
use crate::ar51::Ar51;
use crate::da00::Da00;
use crate::encoder::Encoder;
use crate::ep00::Ep00;
use crate::ep01::Ep01;
use crate::ev42::Ev42;
use crate::ev43::Ev43;
use crate::ev44::Ev44;
use crate::f142::F142;
use crate::f144::F144;
use crate::hs00::Hs00;
use crate::hs01::Hs01;
use crate::json::Json;
use crate::mo01::Mo01;
use crate::open::identifier;
use crate::pl72::Pl72;
use crate::pu00::Pu00;
use crate::refused::Refused;
use crate::s6s4t::S6s4t;
use crate::schema::Schema;
use crate::se00::Se00;
use crate::senv::Senv;
use crate::tdct::Tdct;
use crate::un00::Un00;
use crate::vc00::Vc00;
use crate::wrdn::Wrdn;
use crate::x5f2::X5f2;
use std::fmt;

macro_rules! messages {
    (written: $($written:ident)+; read only: $($read:ident)+;) => {
        messages! { $($written)+ $($read)+ }

        impl Message<'_> {
            /// Writes the message; none if its schema is one that evforge only reads.
            pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> Option<&'e [u8]> {
                match self {
                    $(Message::$written(message) => Some(message.encode(encoder)),)+
                    $(Message::$read(_) => None,)+
                }
            }
        }
    };
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

messages! {
    written: Ev42 Ev44 F142 F144 Al00 Ep00 Ep01 Da00 Hs01 Ar51 Tdct Se00 Pl72 S6s4t Answ Wrdn X5f2 Json Pu00 Un00 Vc00;
    read only: Ev43 An44 Hs00 Senv Ad00 Mo01;
}

/// Reads a message: its identifier, its verification, then lengths, indices, shapes and times.
///
/// # Errors
/// With what is wrong with it.
pub fn decode(bytes: &[u8]) -> Result<Message<'_>, Refused> {
    let id = identifier(bytes)?;
    match Schema::from_id(&id) {
        Some(schema) => Message::of(schema, bytes),
        None => Mo01::decode_unmarked(bytes).map(Message::Mo01).map_err(|_| Refused::UnknownSchema(id)),
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
