//! How many random cases property tests have.
//!
//! A plain run is small and the same every time: `.cargo/config.toml` sets `PROPTEST_CASES` and `PROPTEST_RNG_SEED`, which proptest
//! reads itself. `make properties` sets others.

/// `PROPTEST_CASES` of a plain run.
const PLAIN: u32 = 64;

/// The cases of a test of which one takes longer than usual: so many in a plain run, and as many times more in a longer one as of all
/// property tests.
///
/// # Panics
/// If `PROPTEST_CASES` is no number.
pub fn cases(plain: u32) -> u32 {
    let all = std::env::var("PROPTEST_CASES")
        .map_or(PLAIN, |cases| cases.parse().expect("PROPTEST_CASES is a number"));
    scaled(plain, all)
}

fn scaled(plain: u32, all: u32) -> u32 {
    let cases = u64::from(plain) * u64::from(all) / u64::from(PLAIN);
    u32::try_from(cases).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_run_has_more_cases_and_a_short_one_has_some() {
        assert_eq!([PLAIN, 10 * PLAIN, 4].map(|all| scaled(8, all)), [8, 80, 1]);
        assert_eq!(scaled(400, u32::MAX), u32::MAX);
    }
}
