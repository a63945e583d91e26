//! A moment as part of a file's name, and in a sentence.

/// Seconds since the Unix epoch as date and time in UTC: `20261031T120000Z`.
pub(super) fn utc(seconds: u64) -> String {
    let [year, month, day, hour, minute, second] = date_and_time(seconds);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The same for people: `2026-10-31T12:00:00Z`.
pub(crate) fn utc_in_words(seconds: u64) -> String {
    let [year, month, day, hour, minute, second] = date_and_time(seconds);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn date_and_time(seconds: u64) -> [u64; 6] {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years begin with March here, so that the day that only some of them have is the last one.
    let since_march = days + 719_468;
    let era = since_march / 146_097;
    let day_of_era = since_march % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    [year, month, day, rest / 3600, rest / 60 % 60, rest % 60]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_704_067_199, "20231231T235959Z"),
            (1_793_448_000, "20261031T120000Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
        assert_eq!(utc_in_words(951_782_399), "2000-02-28T23:59:59Z");
    }
}
