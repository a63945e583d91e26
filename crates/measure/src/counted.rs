//! Numbers of things in sentences.

/// `1 stream`, `2 streams`.
pub(crate) fn streams(count: usize) -> String {
    things(count, "stream")
}

/// `1 sender`, `2 senders`.
pub(crate) fn things(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
