//! The time of a frame, in two words (ISIS streaming readout, section 5).
//!
//! | word | bits | |
//! |---|---|---|
//! | first | 24-31 | years since 2000 |
//! | first | 15-23 | day of the year, from 1 |
//! | first | 10-14 | hours |
//! | first | 4-9 | minutes |
//! | both | first 0-3, second 30-31 | seconds, the first word has the upper four bits |
//! | second | 20-29, 10-19, 0-9 | milliseconds, microseconds, nanoseconds |

const SECONDS_PER_DAY: u64 = 86_400;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Days from 1970 to 2000.
const DAYS_TO_2000: u64 = 10_957;

/// Years that eight bits can tell.
const YEARS: u64 = 256;

/// Nanoseconds since 1970, as if the time were UTC: nothing is taken off for the leap seconds that GPS does not have. The second
/// word is the lower half of `words`. A second of 60 is allowed and is the first one of the next minute.
///
/// None if a field has a value that does not exist: day 0, day 366 of a year without it, hour 24, minute 60, second 61, or 1000 and
/// more of the others.
#[inline]
pub fn gps_nanoseconds(words: u64) -> Option<u64> {
    let field = |first: u32, bits: u32| (words >> first) & ((1 << bits) - 1);
    let (year, day) = (field(56, 8), field(47, 9));
    let (hour, minute, second) = (field(42, 5), field(36, 6), field(30, 6));
    let (milli, micro, nano) = (field(20, 10), field(10, 10), field(0, 10));
    let day_exists = (1..=days_of(year)).contains(&day);
    let time_exists = hour < 24 && minute < 60 && second <= 60;
    if !day_exists || !time_exists || milli.max(micro).max(nano) >= 1000 {
        return None;
    }
    let seconds =
        (DAYS_TO_2000 + days_before(year) + day - 1) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    Some(seconds * NANOSECONDS_PER_SECOND + milli * 1_000_000 + micro * 1000 + nano)
}

/// The two words, the first one in the upper half, for nanoseconds since 1970. None before 2000 and from 2256 on.
pub fn gps_words(nanoseconds: u64) -> Option<u64> {
    let (seconds, rest) = (nanoseconds / NANOSECONDS_PER_SECOND, nanoseconds % NANOSECONDS_PER_SECOND);
    let days = (seconds / SECONDS_PER_DAY).checked_sub(DAYS_TO_2000)?;
    let year = (0..YEARS).rev().find(|&year| days_before(year) <= days)?;
    let day = days - days_before(year) + 1;
    if day > days_of(year) {
        return None;
    }
    let in_day = seconds % SECONDS_PER_DAY;
    let fields = [
        (year, 56),
        (day, 47),
        (in_day / 3600, 42),
        (in_day / 60 % 60, 36),
        (in_day % 60, 30),
        (rest / 1_000_000, 20),
        (rest / 1000 % 1000, 10),
        (rest % 1000, 0),
    ];
    Some(fields.into_iter().fold(0, |words, (value, first)| words | value << first))
}

/// Days of a year, counted since 2000.
const fn days_of(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

/// Whether the year has a 29th of February: 2000 has, 2100 and 2200 have not.
const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && year != 100 && year != 200
}

/// Days between 2000 and the beginning of a year, counted since 2000 and at most 255.
const fn days_before(year: u64) -> u64 {
    365 * year + year.div_ceil(4) - (year > 100) as u64 - (year > 200) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_256_years_comes_after_the_one_before() {
        let mut expected = DAYS_TO_2000 * SECONDS_PER_DAY * NANOSECONDS_PER_SECOND;
        assert_eq!(gps_words(expected - 1), None, "1999");
        for year in 0..YEARS {
            for day in 0..=511 {
                let found = gps_nanoseconds(year << 56 | day << 47);
                if (1..=days_of(year)).contains(&day) {
                    assert_eq!(found, Some(expected));
                    assert_eq!(gps_words(expected), Some(year << 56 | day << 47));
                    expected += SECONDS_PER_DAY * NANOSECONDS_PER_SECOND;
                } else {
                    assert_eq!(found, None, "year {year}, day {day}");
                }
            }
        }
        assert_eq!(gps_words(expected), None, "2256");
        // Midnight before 1 January 2256.
        assert_eq!(expected / NANOSECONDS_PER_SECOND, 9_025_257_600);
    }

    #[test]
    fn fields_that_do_not_exist_are_refused_and_second_60_is_not() {
        let first = 1 << 47;
        let begin = gps_nanoseconds(first).expect("1 January 2000");
        for (field, most, unit) in [
            (42, 23, 3600 * NANOSECONDS_PER_SECOND),
            (36, 59, 60 * NANOSECONDS_PER_SECOND),
            (30, 60, NANOSECONDS_PER_SECOND),
            (20, 999, 1_000_000),
            (10, 999, 1000),
            (0, 999, 1),
        ] {
            assert_eq!(gps_nanoseconds(first | most << field), Some(begin + most * unit));
            assert_eq!(gps_nanoseconds(first | (most + 1) << field), None, "{most} + 1 at bit {field}");
        }
    }
}
