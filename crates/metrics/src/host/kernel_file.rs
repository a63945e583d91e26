//! Files of the kernel, read up to a bound, and its unit of time.

use crate::reading::Value;
use std::io::Read;

/// Most bytes that are read of a file.
const LONGEST_FILE: u64 = 4 << 20;

/// The text of a file of the kernel; none if it cannot be read.
pub(super) fn file(path: &str) -> Option<String> {
    let mut text = Vec::new();
    std::fs::File::open(path).ok()?.take(LONGEST_FILE).read_to_end(&mut text).ok()?;
    // Names of threads may be anything.
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Seconds of that many ticks of the kernel's clock for processor times.
pub(super) fn seconds(ticks: u64) -> Value {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Value::Millionths(
        u64::try_from(u128::from(ticks) * 1_000_000 / u128::from(per_second)).unwrap_or(u64::MAX),
    )
}
