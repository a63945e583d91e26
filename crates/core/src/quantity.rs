//! Quantities with units in configuration files and on the command line: `22.5ns`, `4MB`, `10Gbit/s`.
//!
//! A quantity is a decimal number and a unit, with or without a blank between them. The number is taken
//! exactly: `22.5ns` is 22 500 ps and not the nearest binary fraction.

use schemars::Schema;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;

/// A count in groups of three digits.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Why a text is not the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`, expected {expected}")]
pub struct QuantityError {
    found: String,
    expected: &'static str,
}

/// The exact value of `text` in the smallest unit, given `units` with their sizes in it.
fn exact(text: &str, units: &[(&str, u64)], expected: &'static str) -> Result<u64, QuantityError> {
    let wrong = || QuantityError { found: text.to_owned(), expected };
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start();
    let &(_, size) = units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 18 {
        return Err(wrong());
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
    let value = digits.checked_mul(u128::from(size)).ok_or_else(wrong)?;
    if !value.is_multiple_of(scale) {
        return Err(wrong());
    }
    u64::try_from(value / scale).map_err(|_| wrong())
}

/// The value in the largest of `units` that makes it a whole number; 0 in the unit without a prefix.
fn in_largest(value: u64, units: &[(&str, u64)], plain: &str) -> String {
    let whole = units.iter().filter(|(_, size)| value > 0 && value.is_multiple_of(*size));
    let largest = whole.max_by_key(|(_, size)| *size);
    largest.map_or_else(|| format!("0{plain}"), |(name, size)| format!("{}{name}", value / size))
}

/// A length of time, exact to the picosecond, up to 213 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan {
    /// Its length in picoseconds.
    pub picoseconds: u64,
}

impl TimeSpan {
    /// The standard library's duration, cut to whole nanoseconds.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.picoseconds / 1000)
    }
}

const TIMES: &[(&str, u64)] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];

/// In the largest unit up to seconds that makes it a whole number, as it is read: 500us.
impl std::fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = TIMES.iter().filter(|(name, _)| !matches!(*name, "µs" | "min" | "h"));
        let whole = seconds.rev().find(|(_, size)| self.picoseconds.is_multiple_of(*size));
        whole.map_or(Ok(()), |(name, size)| write!(f, "{}{name}", self.picoseconds / size))
    }
}

impl std::str::FromStr for TimeSpan {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let expected = "a time with its unit, such as 22.5ns, 500us, 2ms or 1s, exact to the picosecond";
        Ok(Self { picoseconds: exact(text, TIMES, expected)? })
    }
}

impl TimeSpan {
    /// As it is written on a command line where runs and their parts are timed: a bare number is seconds.
    ///
    /// Not for windows and gaps: a `50` that was meant as 50 us would be a millionfold too long.
    ///
    /// # Errors
    /// If it is no time.
    pub fn in_seconds(text: &str) -> Result<Self, QuantityError> {
        let is_bare = text.trim().ends_with(|last: char| last.is_ascii_digit());
        let expected = "a time such as 60 (seconds), 500ms, 90s, 5min or 2h";
        let with_unit = if is_bare { Cow::Owned(format!("{}s", text.trim())) } else { Cow::Borrowed(text) };
        let time = exact(&with_unit, TIMES, expected);
        Ok(Self { picoseconds: time.map_err(|_| QuantityError { found: text.to_owned(), expected })? })
    }
}

/// A number of bytes. Units are decimal (kB, MB, GB) or binary (KiB, MiB, GiB).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize {
    /// How many bytes.
    pub bytes: u64,
}

const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

impl std::fmt::Display for ByteSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&in_largest(self.bytes, SIZES, "B"))
    }
}

impl std::str::FromStr for ByteSize {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Ok(Self { bytes: exact(text, SIZES, "a size such as 9000B, 64KiB or 12MB")? })
    }
}

/// A frequency, exact to the millihertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, get_size2::GetSize)]
pub struct Frequency {
    /// Thousandths of a hertz.
    pub millihertz: u64,
}

const FREQUENCIES: &[(&str, u64)] = &[("mHz", 1), ("Hz", 1_000), ("kHz", 1_000_000), ("MHz", 1_000_000_000)];

impl std::fmt::Display for Frequency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&in_largest(self.millihertz, FREQUENCIES, "Hz"))
    }
}

impl std::str::FromStr for Frequency {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let expected = "a frequency such as 14Hz or 1.5kHz, exact to the millihertz";
        Ok(Self { millihertz: exact(text, FREQUENCIES, expected)? })
    }
}

/// A rate of packets or of payload bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Packets per second.
    Packets(u64),
    /// Bits of payload per second.
    Bits(u64),
}

impl std::str::FromStr for Rate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const PACKETS: &[(&str, u64)] = &[("pps", 1), ("kpps", 1_000), ("Mpps", 1_000_000)];
        const BITS: &[(&str, u64)] = &[
            ("bit/s", 1),
            ("kbit/s", 1_000),
            ("Mbit/s", 1_000_000),
            ("Gbit/s", 1_000_000_000),
            // As the papers write them. Bytes per second are no rate here, so that nothing can be mistaken for them.
            ("b/s", 1),
            ("kb/s", 1_000),
            ("Mb/s", 1_000_000),
            ("Gb/s", 1_000_000_000),
        ];
        let expected = "a rate such as 500pps, 1.2Mpps, 800Mbit/s or 10Gbit/s";
        exact(text, PACKETS, expected)
            .map(Self::Packets)
            .or_else(|_| exact(text, BITS, expected).map(Self::Bits))
    }
}

/// A length, of either sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Length {
    /// Metres.
    pub metres: f64,
}

const LENGTHS: &[(&str, f64)] = &[("um", 1e6), ("µm", 1e6), ("mm", 1e3), ("cm", 1e2), ("m", 1.0)];

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}m", self.metres)
    }
}

impl std::str::FromStr for Length {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Ok(Self { metres: measured(text, LENGTHS, "a length such as 0.4mm, -3.2m or 157m")? })
    }
}

/// An angle, of either sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Angle {
    /// Degrees.
    pub degrees: f64,
}

const ANGLES: &[(&str, f64)] = &[("deg", 1.0)];

impl std::fmt::Display for Angle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}deg", self.degrees)
    }
}

impl std::str::FromStr for Angle {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Ok(Self { degrees: measured(text, ANGLES, "an angle in degrees such as 5.1deg or -30deg")? })
    }
}

/// The value of a measured quantity, given `units` with how many of them make the result's unit: a division, because
/// 0.4 / 1000 is the number that is nearest to 0.4 mm, and 0.4 * 0.001 is not.
fn measured(text: &str, units: &[(&str, f64)], expected: &'static str) -> Result<f64, QuantityError> {
    let wrong = || QuantityError { found: text.to_owned(), expected };
    let trimmed = text.trim();
    let is_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-' | '_');
    let end = trimmed.find(|letter| !is_number(letter)).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let &(_, parts) = units.iter().find(|(name, _)| *name == unit.trim_start()).ok_or_else(wrong)?;
    number.replace('_', "").parse::<f64>().map(|number| number / parts).map_err(|_| wrong())
}

/// The text of a quantity. A bare number is taken as its text, so that the quantity can say that its unit is missing.
struct Written;

impl Visitor<'_> for Written {
    type Value = String;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number with its unit, in quotes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

/// Numbers that are taken exactly, as patterns of JSON Schema have them.
const EXACT: &str = r"_*[0-9][0-9_]*(\.[0-9_]+)?";
/// Numbers of measured quantities.
const MEASURED: &str = r"-?_*([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9_]*[0-9][0-9_]*)";

/// The schema of a text that is a number with one of `units`; `unit` is the word for them in tables of keys.
fn quantity_schema<U>(number: &str, units: &[(&str, U)], unit: &str) -> Schema {
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    crate::schema::text(&format!(r"^\s*{number}\s*({})\s*$", names.join("|")), unit)
}

/// Makes a quantity readable from TOML strings, and declares their form.
macro_rules! from_toml_string {
    ($($quantity:ty: $number:ident, $units:ident, $unit:literal;)+) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Written)?.parse().map_err(D::Error::custom)
            }
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        crate::written_as!($quantity: |_generator| quantity_schema($number, $units, $unit););
    )+};
}

from_toml_string! {
    TimeSpan: EXACT, TIMES, "time";
    ByteSize: EXACT, SIZES, "size";
    Frequency: EXACT, FREQUENCIES, "frequency";
    Length: MEASURED, LENGTHS, "length";
    Angle: MEASURED, ANGLES, "angle";
}

/// A duration that is kept in picoseconds: `#[serde(with = "InPicoseconds")]`.
pub enum InPicoseconds {}

/// As [`InPicoseconds`], for a key that may be left out (`default`).
pub enum SomeInPicoseconds {}

/// A duration that may be below zero, with a minus in front.
pub enum SignedTime {}

impl InPicoseconds {
    /// Reads a text with a unit.
    ///
    /// # Errors
    /// If it is not a duration with a unit.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        Ok(TimeSpan::deserialize(deserializer)?.picoseconds)
    }

    /// Writes such a text.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(picoseconds: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        TimeSpan { picoseconds: *picoseconds }.serialize(serializer)
    }
}

impl SomeInPicoseconds {
    /// Reads a text with a unit.
    ///
    /// # Errors
    /// If it is not a duration with a unit.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        InPicoseconds::deserialize(deserializer).map(Some)
    }

    /// Writes such a text, or nothing.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(picoseconds: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        picoseconds.map(|picoseconds| TimeSpan { picoseconds }).serialize(serializer)
    }
}

crate::written_as! {
    InPicoseconds: |_generator| quantity_schema(EXACT, TIMES, "time");
    SomeInPicoseconds: |_generator| quantity_schema(EXACT, TIMES, "time");
    SignedTime: |_generator| quantity_schema(&format!("-?{EXACT}"), TIMES, "time");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let parse = |text: &str| text.parse::<TimeSpan>().map(|time| time.picoseconds);
        assert_eq!(parse("22.5ns"), Ok(22_500));
        assert_eq!(parse("3.125 ns"), Ok(3_125));
        assert_eq!(parse("500µs"), parse("500us"));
        assert_eq!(parse("1_000ms"), parse("1s"));
        for wrong in ["", "5", "ns", "-5ns", "1e3ns", "0.5ps", "1.ns", ".5ns", "99999999h", "5 m"] {
            let error = parse(wrong).unwrap_err();
            assert!(error.to_string().contains(&format!("`{wrong}`")), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_bare_number_is_seconds_where_runs_are_timed() {
        let parse = |text: &str| TimeSpan::in_seconds(text).map(|time| time.picoseconds / 1_000_000_000);
        assert_eq!((parse("60"), parse(" 1.5 "), parse("0")), (Ok(60_000), Ok(1_500), Ok(0)));
        assert_eq!((parse("60s"), parse("500ms"), parse("2h")), (Ok(60_000), Ok(500), Ok(7_200_000)));
        for wrong in ["", "-5", "soon", "5 m", "1e3", "."] {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(error.starts_with(&format!("found `{wrong}`")), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_time_reads_as_it_is_written() {
        for text in ["1ps", "22500ps", "500us", "10ms", "1s", "60s"] {
            assert_eq!(text.parse::<TimeSpan>().unwrap().to_string(), text);
        }
        assert_eq!(TimeSpan { picoseconds: 0 }.to_string(), "0s");
    }

    #[test]
    fn rates_are_of_packets_or_bits() {
        assert_eq!("1.2Mpps".parse(), Ok(Rate::Packets(1_200_000)));
        assert_eq!("10 Gbit/s".parse(), Ok(Rate::Bits(10_000_000_000)));
        assert_eq!("10Gb/s".parse(), Ok(Rate::Bits(10_000_000_000)));
        for wrong in ["10", "10Hz", "10GB/s", "10Gb"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn lengths_and_angles_have_a_sign_and_a_unit() {
        let metres = |text: &str| text.parse::<Length>().map(|length| length.metres);
        assert_eq!((metres("0.4mm"), metres("-3.2 m")), (Ok(0.0004), Ok(-3.2)));
        assert_eq!((metres("2.5cm"), metres("400µm")), (Ok(0.025), metres("0.4mm")));
        assert_eq!("-30deg".parse(), Ok(Angle { degrees: -30.0 }));
        for wrong in ["", "5", "mm", "1e3mm", "--1m", "1-m", "3.m.m", "5deg"] {
            assert!(metres(wrong).is_err(), "{wrong}");
        }
        assert!("5".parse::<Angle>().is_err() && "5rad".parse::<Angle>().is_err());
    }

    #[test]
    fn sizes_are_decimal_or_binary() {
        let parse = |text: &str| text.parse::<ByteSize>().map(|size| size.bytes);
        assert_eq!(parse("12MB"), Ok(12_000_000));
        assert_eq!(parse("64KiB"), Ok(65_536));
        assert_eq!(parse("1.5kB"), Ok(1_500));
        assert!(parse("1.5B").is_err());
    }
}
