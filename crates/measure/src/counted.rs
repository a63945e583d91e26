//! Numbers of streams in sentences.

/// `1 stream`, `2 streams`.
pub(crate) fn streams(count: usize) -> String {
    format!("{count} {}", if count == 1 { "stream" } else { "streams" })
}
