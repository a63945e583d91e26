//! How old commands are.

/// Commands with a Kafka time stamp that is older than this are not followed, milliseconds.
pub const TOO_OLD_MS: u64 = 120_000;

/// How old a command is, in seconds, if that is too old.
pub(super) fn too_old(sent_ms: Option<u64>, now_ms: u64) -> Option<u64> {
    let age = now_ms.saturating_sub(sent_ms?);
    (age > TOO_OLD_MS).then_some(age / 1000)
}
