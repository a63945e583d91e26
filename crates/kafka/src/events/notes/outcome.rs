//! What happens to a message that has something to note.

/// Bytes of a name at most.
pub(crate) const LONGEST_NAME: usize = 200;

/// Why a message is not noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotNoted {
    /// There are as many names already as there may be.
    TooManyNames,
    /// Its name is longer than [`LONGEST_NAME`].
    NameTooLong,
    /// It has no number: a text, an array of a log, NaN, no signal.
    NoNumber,
    /// Its time is more than a day after now.
    OutOfTime,
    /// Nothing is known of its schema.
    OtherSchema,
}

/// Where a message is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    Value,
    Ledger,
}
