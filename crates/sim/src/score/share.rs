//! Shares and how well they are known.

/// The part that `count` is of `whole`; none of nothing.
pub fn share(count: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| count as f64 / whole as f64)
}

/// Half the width of Wilson's interval at one standard deviation.
pub fn share_error(count: u64, whole: u64) -> Option<f64> {
    let share = share(count, whole)?;
    let whole = whole as f64;
    Some((share * (1.0 - share) / whole + 0.25 / (whole * whole)).sqrt() / (1.0 + 1.0 / whole))
}
