//! The keys of a view in a file.

use evforge_core::quantity::{Angle, Length, TimeSpan};
use serde::Deserialize;

/// A file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileWanted {
    /// Sections of the detectors that it is shipped for; none: for all.
    #[serde(default)]
    pub(super) detectors: Vec<String>,
    #[serde(default)]
    pub(super) view: Vec<ViewWanted>,
}

/// `[[view]]`: what differs from what the page shows without a view.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewWanted {
    pub(super) name: String,
    /// What is seen, and what to look for.
    pub(super) hint: String,
    /// The first one is large, the others are smaller.
    pub(super) pictures: Vec<String>,
    /// Left, bottom, right, top in pixels.
    pub(super) part: Option<[u32; 4]>,
    pub(super) slice: Option<[TimeSpan; 2]>,
    pub(super) layer: Option<u32>,
    /// The last seconds; without it since the start.
    pub(super) window: Option<TimeSpan>,
    pub(super) bins: Option<u32>,
    pub(super) vetoed: Option<String>,
    /// Of frames, where the readout tells them: a period from 1, "good" or "vetoed", and whether only complete ones.
    pub(super) period: Option<u32>,
    pub(super) frames: Option<String>,
    pub(super) complete: Option<bool>,
    pub(super) per: Option<String>,
    #[serde(default)]
    pub(super) corrected: bool,
    pub(super) log: Option<bool>,
    pub(super) map: Option<String>,
    pub(super) top: Option<TopWanted>,
    pub(super) unit: Option<String>,
    pub(super) flight_path: Option<Length>,
    pub(super) scattering_angle: Option<Angle>,
    #[serde(default)]
    pub(super) spectrum_log: bool,
    pub(super) zoom: Option<[TimeSpan; 2]>,
    pub(super) panels: Option<Vec<String>>,
    #[serde(default)]
    pub(super) region: Vec<ViewRegionWanted>,
}

/// The top of the scale.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum TopWanted {
    /// "maximum" or "quantile".
    Rule(String),
    Fixed(f64),
}

/// `[[view.region]]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewRegionWanted {
    pub(super) name: String,
    /// "rectangle" unless given.
    pub(super) shape: Option<String>,
    /// Corners in pixels of the first picture.
    pub(super) points: Option<Vec<[f64; 2]>>,
    /// A rectangle in shares of the picture instead: left, bottom, right, top from 0 to 1.
    pub(super) share: Option<[f64; 4]>,
}
