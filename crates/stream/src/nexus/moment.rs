//! Instants as NeXus writes them.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Room for every text that [`iso_8601`] makes.
pub(crate) const ISO_8601_ROOM: usize = 32;

/// Nanoseconds since the Unix epoch by the wall clock.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// Nanoseconds since the Unix epoch as ISO 8601 in UTC: `2026-10-31T12:00:00.5Z`.
pub fn iso_8601(nanoseconds: u64) -> String {
    match Timestamp::from_nanosecond(i128::from(nanoseconds)) {
        Ok(timestamp) => timestamp.to_string(),
        // Unreachable: 64 bits of nanoseconds end in the year 2554.
        Err(_) => "1970-01-01T00:00:00Z".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_utc_and_fit() {
        assert_eq!(iso_8601(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso_8601(951_782_400_000_000_001), "2000-02-29T00:00:00.000000001Z");
        assert!(iso_8601(u64::MAX).len() <= ISO_8601_ROOM);
        assert!(iso_8601(now()).as_str() > "2024");
    }
}
