//! The first look at a message: identifier and verification.

use crate::refused::{MINIMUM, Refused};
use crate::schema::Schema;
use flatbuffers::{Follow, Verifiable, VerifierOptions};

/// Bytes 4 to 7.
pub(crate) fn identifier(bytes: &[u8]) -> Result<[u8; 4], Refused> {
    match bytes.get(4..8).and_then(|id| id.first_chunk()) {
        Some(id) if bytes.len() >= MINIMUM => Ok(*id),
        _ => Err(Refused::TooShort { length: bytes.len() }),
    }
}

/// The root table of a message of `schema`, verified.
pub(crate) fn open<'a, T>(schema: Schema, bytes: &'a [u8]) -> Result<T::Inner, Refused>
where
    T: Follow<'a> + Verifiable + 'a,
{
    let found = identifier(bytes)?;
    if Schema::from_id(&found) != Some(schema) {
        return Err(Refused::OtherSchema { expected: schema, found });
    }
    verify::<T>(schema, bytes)
}

/// The root table, verified, whatever the identifier.
pub(crate) fn verify<'a, T>(schema: Schema, bytes: &'a [u8]) -> Result<T::Inner, Refused>
where
    T: Follow<'a> + Verifiable + 'a,
{
    flatbuffers::root_with_opts::<T>(&limits(bytes.len()), bytes)
        .map_err(|error| Refused::of_verifier(schema, error))
}

/// No schema nests deeper than four tables. A text or a table may be referred to more than once, but a message whose contents
/// would be many times its length was made to occupy its reader.
fn limits(length: usize) -> VerifierOptions {
    VerifierOptions {
        max_depth: 8,
        max_tables: length / 8,
        max_apparent_size: length.saturating_mul(4).saturating_add(4096),
        // Texts are read by their lengths.
        ignore_missing_null_terminator: true,
    }
}
