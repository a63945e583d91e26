//! When a simulated measurement begins.

use jiff::Timestamp;
use serde::Deserialize;
use std::str::FromStr;
use std::time::SystemTime;

/// November 2023: where simulations begin that must be the same every day. No clock of a readout master begins in 1970.
pub const FIXED_START_NS: u64 = 1_700_000_000_000_000_000;

/// The year 2200: later dates are mistakes.
const LATEST_NS: i128 = 7_258_118_400_000_000_000;

/// When a simulated measurement begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Start {
    /// Always the same, so that a simulation is the same every day: clocks with a date begin in November 2023, and arrival stamps in
    /// 1970 where the clock of the electronics has no date.
    #[default]
    Fixed,
    /// So many nanoseconds after 1970.
    At(u64),
}

impl Start {
    /// This moment.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(Self::Fixed, |since| Self::At(u64::try_from(since.as_nanos()).unwrap_or(FIXED_START_NS)))
    }

    /// For clocks with a date.
    pub(crate) fn date_ns(self) -> u64 {
        match self {
            Self::Fixed => FIXED_START_NS,
            Self::At(start_ns) => start_ns,
        }
    }
}

evforge_core::written_as! {
    Start: |_generator| evforge_core::schema::text(r"^(now|fixed|[0-9+-]+[Tt ][0-9:.,]+.*)$", "");
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fixed" => return Ok(Self::Fixed),
            "now" => return Ok(Self::now()),
            _ => {}
        }
        let expected = "expected now, fixed, or a date with time and zone, as in 2026-11-22T12:00:00Z";
        let date: Timestamp = text.parse().map_err(|_| format!("`{text}` is no date: {expected}"))?;
        match date.as_nanosecond() {
            nanoseconds @ 0..LATEST_NS => Ok(Self::At(nanoseconds as u64)),
            _ => Err(format!("`{text}` lies before 1970 or after 2199: {expected}")),
        }
    }
}

impl TryFrom<String> for Start {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_word_or_a_date() {
        assert_eq!("fixed".parse(), Ok(Start::Fixed));
        assert_eq!("2023-11-14T22:13:20Z".parse(), Ok(Start::At(FIXED_START_NS)));
        assert_eq!("2023-11-14T23:13:20.5+01:00".parse(), Ok(Start::At(FIXED_START_NS + 500_000_000)));
        assert!(matches!("now".parse(), Ok(Start::At(now)) if now > FIXED_START_NS));
        for wrong in ["", "2026-11-22", "2026-11-22T12:00:00", "1969-12-31T23:59:59Z", "2300-01-01T00:00:00Z"]
        {
            assert!(wrong.parse::<Start>().unwrap_err().contains("expected now, fixed"), "{wrong}");
        }
    }
}
