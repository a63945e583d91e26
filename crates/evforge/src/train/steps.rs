//! Steps over images, on the command line.

use crate::CommandError;
use clap::Args;
use evforge_train::sinks::{ProcessingPlan, read_constants};
use evforge_wire::train::TrainDetector;
use std::ops::Range;
use std::path::PathBuf;

/// Steps over the images of good trains, in the order of these options.
#[derive(Args)]
pub(super) struct StepArguments {
    /// Reject images of these pulses: 0-9,20
    #[arg(long, value_name = "PULSES", value_parser = pulses, help_heading = "Images")]
    veto: Option<Pulses>,
    /// Subtract these pedestals from values before the steps below, and mask pixels without: HDF5, such as what --sums wrote of dark
    /// images
    #[arg(long, value_name = "FILE", help_heading = "Images")]
    pub(super) pedestals: Option<PathBuf>,
    /// Multiply values by these gains, after pedestals: HDF5
    #[arg(long, value_name = "FILE", help_heading = "Images")]
    pub(super) gains: Option<PathBuf>,
    /// Reject images with fewer pixels above a level: level=1200,pixels=50
    #[arg(long, value_name = "STEP", value_parser = threshold, help_heading = "Images")]
    threshold: Option<(f32, usize)>,
    /// Reject images whose sum in a rectangle is not within limits: rows=0-127,columns=64-191,least=1e6,most=1e9 (rows and columns
    /// from 0, the last included, as a train has them; a limit may be left out)
    #[arg(long, value_name = "STEP", value_parser = region, help_heading = "Images")]
    region: Option<Region>,
    /// Add up the images that are kept, and write sum, count and largest of each pixel and the intensity of each pulse as HDF5
    #[arg(long, value_name = "FILE", help_heading = "Images")]
    pub(super) sums: Option<PathBuf>,
    /// Pulses of a train that have an intensity of their own in --sums
    #[arg(long, value_name = "NUMBER", default_value_t = 2700, value_parser = clap::value_parser!(u32).range(1..=1_000_000), requires = "sums", help_heading = "Images")]
    pulses: u32,
}

/// Numbers of pulses.
#[derive(Clone, Debug, PartialEq)]
struct Pulses(Vec<u64>);

/// A rectangle, and the limits of its sum.
type Region = (Range<usize>, Range<usize>, [f64; 2]);

/// Pulses in a list at most: what is beyond it is a mistake.
const MOST_PULSES: u64 = 100_000;

impl StepArguments {
    /// The steps over images of a detector.
    pub(super) fn plan(&self, detector: TrainDetector) -> Result<ProcessingPlan, CommandError> {
        let (pedestals, gains) = (self.pedestals.as_deref(), self.gains.as_deref());
        let is_calibrated = pedestals.is_some() || gains.is_some();
        Ok(ProcessingPlan {
            veto: self.veto.clone().map(|pulses| pulses.0).unwrap_or_default(),
            calibration: is_calibrated.then(|| read_constants(pedestals, gains, detector)).transpose()?,
            threshold: self.threshold,
            region: self.region.clone(),
            pulses: self.sums.is_some().then(|| usize::try_from(self.pulses)).transpose()?,
        })
    }
}

/// Two numbers with a dash between them, both included, or one: `0-9`, `20`.
fn inclusive(text: &str) -> Result<Range<u64>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u64>();
    match (number(first), number(last)) {
        (Ok(first), Ok(last)) if first <= last && last < u64::MAX => Ok(first..last + 1),
        _ => Err(format!("found `{text}`, expected a number, or two such as 0-9")),
    }
}

fn pulses(text: &str) -> Result<Pulses, String> {
    let mut pulses = Vec::new();
    for range in text.split(',').map(inclusive) {
        let range = range?;
        if range.end - range.start > MOST_PULSES {
            return Err(format!("{} to {} are more than {MOST_PULSES} pulses", range.start, range.end - 1));
        }
        pulses.extend(range);
    }
    Ok(Pulses(pulses))
}

/// The values of `names`, from `name=value,name=value`; none of one that is not there.
fn named<const COUNT: usize>(text: &str, names: [&str; COUNT]) -> Result<[Option<String>; COUNT], String> {
    let mut values = [const { None }; COUNT];
    for part in text.split(',') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let at = names.iter().position(|known| *known == name.trim());
        let at = at.ok_or_else(|| {
            format!("found `{part}`, expected {}", names.map(|name| format!("{name}=…")).join(", "))
        })?;
        if values[at].replace(value.trim().to_owned()).is_some() {
            return Err(format!("`{name}` is there twice"));
        }
    }
    Ok(values)
}

/// A number of an option that must be there.
fn number<T: std::str::FromStr>(name: &str, value: Option<&str>, expected: &str) -> Result<T, String> {
    let value = value.ok_or_else(|| format!("`{name}` is missing, expected {expected}"))?;
    value.parse().map_err(|_| format!("{name}: found `{value}`, expected {expected}"))
}

fn threshold(text: &str) -> Result<(f32, usize), String> {
    let [level, pixels] = named(text, ["level", "pixels"])?;
    let level = number("level", level.as_deref(), "a level such as 1200")?;
    Ok((level, number("pixels", pixels.as_deref(), "a number of pixels such as 50")?))
}

fn region(text: &str) -> Result<Region, String> {
    let [rows, columns, least, most] = named(text, ["rows", "columns", "least", "most"])?;
    let range = |name: &str, value: Option<String>| -> Result<Range<usize>, String> {
        let value = value.ok_or_else(|| format!("`{name}` is missing, expected {name}=0-127"))?;
        let range = inclusive(&value).map_err(|problem| format!("{name}: {problem}"))?;
        let size = |number: u64| {
            usize::try_from(number).map_err(|_| format!("{name}: {number} is beyond any image"))
        };
        Ok(size(range.start)?..size(range.end)?)
    };
    let limit = |name: &str, value: Option<String>, none: f64| match value {
        None => Ok(none),
        Some(value) => number(name, Some(&value), "a sum such as 1e6"),
    };
    Ok((
        range("rows", rows)?,
        range("columns", columns)?,
        [limit("least", least, f64::NEG_INFINITY)?, limit("most", most, f64::INFINITY)?],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_they_are_written() {
        assert_eq!(pulses("0-2,20").map(|pulses| pulses.0), Ok(vec![0, 1, 2, 20]));
        assert_eq!(threshold("level=1200,pixels=50"), Ok((1200.0, 50)));
        assert_eq!(region("columns=0-0,rows=2-4,least=1e6"), Ok((2..5, 0..1, [1e6, f64::INFINITY])));
        assert_eq!(
            region("rows=1,columns=3-5,most=-2").map(|region| region.2),
            Ok([f64::NEG_INFINITY, -2.0])
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_was_expected() {
        for (said, expected) in [
            (pulses("9-0").map(|_| ()).unwrap_err(), "two such as 0-9"),
            (pulses("0-200000").map(|_| ()).unwrap_err(), "more than 100000"),
            (pulses("18446744073709551615").map(|_| ()).unwrap_err(), "expected a number"),
            (threshold("level=1").map(|_| ()).unwrap_err(), "`pixels` is missing"),
            (threshold("level=x,pixels=1").map(|_| ()).unwrap_err(), "level: found `x`"),
            (threshold("level=1,level=2").map(|_| ()).unwrap_err(), "twice"),
            (region("rows=0-1").map(|_| ()).unwrap_err(), "`columns` is missing"),
            (region("row=0-1").map(|_| ()).unwrap_err(), "rows=…"),
        ] {
            assert!(said.contains(expected), "{said}");
        }
    }
}
