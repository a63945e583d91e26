//! The yardstick that makes speeds of different machines comparable.

use std::time::Instant;

/// Keys that the yardstick sorts.
const KEYS: usize = 1 << 20;

/// Keys sorted per second by one thread: `sort_unstable` of 2^20 keys from xorshift64 with seed 1, median of 9.
/// Takes about a tenth of a second.
pub fn yardstick() -> f64 {
    let mut x = 1_u64;
    let keys: Vec<u64> = (0..KEYS)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        })
        .collect();
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let mut keys = keys.clone();
            let start = Instant::now();
            keys.sort_unstable();
            let elapsed = start.elapsed().as_secs_f64();
            std::hint::black_box(&keys);
            elapsed
        })
        .collect();
    times.sort_by(f64::total_cmp);
    KEYS as f64 / times[4]
}
