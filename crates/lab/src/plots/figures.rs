//! The figures that a plot of accuracy shows, so that it can be drawn again without the runs they are from.

use crate::LabError;
use evforge_core::whole_file;
use evforge_sim::score::{Histogram, NeutronScore, RateBin, Score};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a plot of accuracy shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// What is written above it.
    pub title: String,
    /// Against the rate: one curve, or several ways to form events of the same neutrons.
    pub curves: Vec<Curve>,
    /// How far events are from the truth; none for several ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residuals: Option<Residuals>,
}

/// Points against the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Which way to form events, if there are several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The points, from low to high rates.
    pub points: Vec<RatePoint>,
}

/// What was counted at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePoint {
    /// The rate.
    pub neutrons_per_second: f64,
    /// Neutrons.
    pub neutrons: u64,
    /// Neutrons with an event of their own.
    pub found: u64,
    /// Neutrons that are resolvable.
    pub resolvable: u64,
    /// Those with an event of their own.
    pub resolvable_found: u64,
    /// Events.
    pub events: u64,
    /// Events without a neutron.
    pub ghosts: u64,
}

/// How far the events of resolvable neutrons are from the truth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residuals {
    /// Along columns, rows and layers, in pixels; none along an axis with a single pixel.
    pub position: [Option<Histogram>; 3],
    /// In nanoseconds.
    pub time_ns: Histogram,
}

/// Where a bin that begins at rate 0 is drawn, and the lowest rate that is, in hertz.
const LOWEST_RATE: f64 = 500.0;

impl RatePoint {
    /// Of the neutrons at moments of similar rate.
    pub fn of_bin(bin: &RateBin) -> Self {
        let middle = match bin.to {
            _ if bin.from <= 0.0 => LOWEST_RATE,
            Some(to) => (bin.from * to).sqrt(),
            None => bin.from,
        };
        Self {
            neutrons_per_second: middle,
            neutrons: bin.neutrons,
            found: bin.found,
            resolvable: bin.resolvable,
            resolvable_found: bin.resolvable_found,
            events: bin.events,
            ghosts: bin.ghosts,
        }
    }

    /// Of a whole run at a mean rate in hertz.
    pub fn at_rate(rate: f64, score: &Score) -> Self {
        Self {
            neutrons_per_second: rate.max(LOWEST_RATE),
            neutrons: score.all.neutrons,
            found: score.all.found,
            resolvable: score.resolvable.neutrons,
            resolvable_found: score.resolvable.found,
            events: score.events.events,
            ghosts: score.events.ghosts,
        }
    }
}

impl Residuals {
    /// Of these neutrons: the bins from the first to the last that holds anything.
    fn of(neutrons: &NeutronScore) -> Self {
        Self {
            position: [0, 1, 2]
                .map(|axis| neutrons.position[axis].as_ref().map(|residual| trimmed(&residual.histogram))),
            time_ns: trimmed(&neutrons.time_ns.histogram),
        }
    }
}

/// The bins from the first to the last that holds anything.
fn trimmed(histogram: &Histogram) -> Histogram {
    let holds = |count: &u64| *count > 0;
    let first = histogram.counts.iter().position(holds).unwrap_or(0);
    let end = histogram.counts.iter().rposition(holds).map_or(first, |last| last + 1);
    Histogram {
        from: histogram.from + first as f64 * histogram.bin_width,
        bin_width: histogram.bin_width,
        counts: histogram.counts[first..end].to_vec(),
    }
}

impl Figures {
    /// Of points against the rate, with the residuals of `neutrons`.
    pub fn new(title: &str, points: Vec<RatePoint>, neutrons: &NeutronScore) -> Self {
        let curve = Curve { name: String::new(), points };
        Self { title: title.to_owned(), curves: vec![curve], residuals: Some(Residuals::of(neutrons)) }
    }

    /// The figures of a file.
    ///
    /// # Errors
    /// If it cannot be read or has something else in it.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let figures = whole_file::text(path, whole_file::RESULTS).map_err(|error| error.to_string());
        let figures = figures.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        figures.map_err(|error| {
            format!("{}: {error}; `make accuracy` writes the figures of plots", path.display()).into()
        })
    }
}
