//! Why a message is refused.

use crate::schema::Schema;
use flatbuffers::InvalidFlatbuffer;
use thiserror::Error;

/// A message that is not read, with what was found in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// Too few bytes for any message.
    #[error(
        "{length} bytes are too few for a message: the shortest has {} (offset, identifier, a table)",
        MINIMUM
    )]
    TooShort {
        /// Of the message.
        length: usize,
    },
    /// The identifier is that of no schema that evforge reads.
    #[error("bytes 4 to 7 are \"{}\": no schema that evforge reads", .0.escape_ascii())]
    UnknownSchema([u8; 4]),
    /// A message of another schema than the one that was asked for.
    #[error("expected a message of {expected}, and bytes 4 to 7 are \"{}\"", .found.escape_ascii())]
    OtherSchema {
        /// Asked for.
        expected: Schema,
        /// Bytes 4 to 7.
        found: [u8; 4],
    },
    /// Offsets, sizes or texts in it are not those of a FlatBuffer of its schema.
    #[error("{schema}: damaged, or no message of this schema: {what}")]
    Damaged {
        /// Of the message.
        schema: Schema,
        /// What the verifier says.
        what: String,
    },
    /// A field that the message makes no sense without.
    #[error("{schema}: {field} is absent")]
    Absent {
        /// Of the message.
        schema: Schema,
        /// Its name.
        field: String,
    },
    /// Two columns that belong together.
    #[error("{schema}: {left} has {left_length} values, {right} {right_length}: they must be as many")]
    Lengths {
        /// Of the message.
        schema: Schema,
        /// A column,
        left: &'static str,
        /// and its length.
        left_length: usize,
        /// Another one,
        right: &'static str,
        /// and its length.
        right_length: usize,
    },
    /// An index of pulses that does not divide the events among them.
    #[error("{schema}: {field}[{place}] is {found}; {expected}")]
    Index {
        /// Of the message.
        schema: Schema,
        /// The column.
        field: &'static str,
        /// The place in it.
        place: usize,
        /// What is there.
        found: i64,
        /// What would be right.
        expected: String,
    },
    /// A shape that is not that of its data.
    #[error("{schema}: {field}: {what}")]
    Shape {
        /// Of the message.
        schema: Schema,
        /// The array.
        field: String,
        /// What does not fit.
        what: String,
    },
    /// A number that the schema has no name for.
    #[error("{schema}: {field} is {found}, which the schema does not define")]
    UnknownValue {
        /// Of the message.
        schema: Schema,
        /// The field.
        field: &'static str,
        /// What is there.
        found: i64,
    },
    /// A time that cannot be one of the data.
    #[error("{schema}: {field} is {found}: times are {unit} since 1970, before {limit}")]
    Time {
        /// Of the message.
        schema: Schema,
        /// The field.
        field: &'static str,
        /// What is there.
        found: i128,
        /// Of the field.
        unit: &'static str,
        /// The first time that is refused.
        limit: &'static str,
    },
}

/// Offset of the root, identifier, and a table's offset to its own description, which has at least its two lengths.
pub(crate) const MINIMUM: usize = 16;

impl Refused {
    pub(crate) fn of_verifier(schema: Schema, error: InvalidFlatbuffer) -> Self {
        match error {
            InvalidFlatbuffer::MissingRequiredField { required, .. } => {
                Refused::Absent { schema, field: required.into_owned() }
            }
            other => {
                // The trace has a line for each table on the way.
                let what = other.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
                Refused::Damaged { schema, what }
            }
        }
    }

    /// The reason, for counting.
    pub fn reason(&self) -> RefusedReason {
        match self {
            Refused::TooShort { .. } => RefusedReason::TooShort,
            Refused::UnknownSchema(_) => RefusedReason::UnknownSchema,
            Refused::OtherSchema { .. } => RefusedReason::OtherSchema,
            Refused::Damaged { .. } => RefusedReason::Damaged,
            Refused::Absent { .. } => RefusedReason::Absent,
            Refused::Lengths { .. } => RefusedReason::Lengths,
            Refused::Index { .. } => RefusedReason::Index,
            Refused::Shape { .. } => RefusedReason::Shape,
            Refused::UnknownValue { .. } => RefusedReason::UnknownValue,
            Refused::Time { .. } => RefusedReason::Time,
        }
    }
}

macro_rules! reasons {
    ($($variant:ident $counter:ident $help:literal;)+) => {
        /// A reason to refuse a message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RefusedReason {
            $(#[doc = $help] $variant,)+
        }

        impl RefusedReason {
            /// All reasons.
            pub const ALL: &'static [RefusedReason] = &[$(RefusedReason::$variant,)+];

            /// The name of the reason and of its counter.
            pub fn name(self) -> &'static str {
                match self { $(RefusedReason::$variant => stringify!($counter),)+ }
            }

            /// What the reason means, for people.
            pub fn help(self) -> &'static str {
                match self { $(RefusedReason::$variant => $help,)+ }
            }
        }

        evforge_core::counters! {
            /// Messages that were not read, by reason.
            pub struct RefusedCounters: "messages" {
                $($counter: Information, Times, $help;)+
            }
        }

        impl RefusedCounters {
            /// Counts a message.
            pub fn count(&mut self, reason: RefusedReason) {
                match reason { $(RefusedReason::$variant => self.$counter += 1,)+ }
            }

            /// How many messages were refused for this reason.
            pub fn of(&self, reason: RefusedReason) -> u64 {
                match reason { $(RefusedReason::$variant => self.$counter,)+ }
            }

            /// How many messages were refused.
            pub fn total(&self) -> u64 {
                0 $(+ self.$counter)+
            }
        }
    };
}

reasons! {
    TooShort messages_too_short "Messages with too few bytes for an offset, an identifier and a table.";
    UnknownSchema messages_of_unknown_schema "Messages with an identifier of no schema that is read.";
    OtherSchema messages_of_another_schema "Messages of another schema than the one that was asked for.";
    Damaged messages_damaged "Messages whose offsets, sizes or texts are not those of a FlatBuffer of their schema.";
    Absent messages_without_a_field "Messages without a field that is required.";
    Lengths messages_of_unequal_lengths "Messages with columns of unequal lengths.";
    Index messages_with_a_bad_index "Messages with an index of pulses that is not in order or beyond the events.";
    Shape messages_of_another_shape "Messages with an array whose shape is not that of its data.";
    UnknownValue messages_with_an_unknown_value "Messages with a type or a state that the schema does not define.";
    Time messages_with_a_bad_time "Messages with a time before 1970 or too late to be one.";
}
