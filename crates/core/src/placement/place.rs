//! The placement of a detector.

use super::offsets::{self, Arc, Offsets, Pitch};
use super::transformation::Transformation;
use crate::geometry::{Coordinates, LogicalGeometry};
use std::collections::BTreeMap;

/// How far the figures of a placement can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Of the right size, to try things out: a reduction with them is an exercise.
    Plausible,
    /// From a publication, as the note says.
    Published,
    /// Measured at the instrument.
    Surveyed,
}

impl Trust {
    /// As it is written in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plausible => "plausible",
            Self::Published => "published",
            Self::Surveyed => "surveyed",
        }
    }
}

/// Where the pixels of a detector are. Made by [`PlacementSettings::place`](super::PlacementSettings::place).
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub(crate) geometry: LogicalGeometry,
    /// The spacing of pixels, if it is known.
    pub pitch: Option<Pitch>,
    /// Whether the figures are real.
    pub trust: Trust,
    /// Where the figures are from, for people; may be empty.
    pub note: String,
    /// From the source to the sample along the beam, in metres (L1), if it is known.
    pub source_distance: Option<f64>,
    /// Places of beam monitors along the beam, by their names, in metres from the sample: less than 0 before it.
    pub monitors: BTreeMap<String, f64>,
    /// Blocks on an arc.
    pub arc: Option<Arc>,
    /// In pictures, the number of panels in a row, panel 0 at the lower left; none if nobody has said.
    pub panel_columns: Option<u32>,
    /// Steps from each panel to the sample, the first one first; none if places of panels are not known.
    pub(crate) panels: Vec<Vec<Transformation>>,
}

impl Placement {
    /// The steps from a panel to the sample, the first one first. None if the places of panels are not known.
    pub fn transformations(&self, panel: u32) -> Option<&[Transformation]> {
        self.panels.get(panel as usize).map(Vec::as_slice)
    }

    /// The offsets of all pixels of a panel from its centre; they are the same for all panels. None without a pitch.
    pub fn offsets(&self) -> Option<[Offsets; 3]> {
        Some(offsets::of_panel(&self.geometry, self.pitch?, self.arc))
    }

    /// Where the centre of a pixel is, in metres from the sample. None outside the geometry, or if pitch or places of
    /// panels are not known.
    pub fn position(&self, at: Coordinates) -> Option<[f64; 3]> {
        let steps = self.transformations(at.panel)?;
        let offsets = self.offsets()?;
        let local = [offsets[0].at(at)?, offsets[1].at(at)?, offsets[2].at(at)?];
        Some(steps.iter().fold(local, |at, step| step.apply(at)))
    }

    /// What follows from it, for people: `0.4 mm x 0.4 mm, source 157 m before the sample (plausible: …)`.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        if let Some(Pitch { x, y, z }) = self.pitch {
            let depth = if self.geometry.nz() > 1 { format!(" x {} mm", z * 1e3) } else { String::new() };
            parts.push(format!("pixels of {} mm x {} mm{depth}", x * 1e3, y * 1e3));
        }
        match (self.panels.len(), &self.arc) {
            (0, _) => {}
            (_, Some(arc)) => {
                let blocks = arc.along.length(&self.geometry) / arc.size;
                parts.push(format!("{blocks} blocks on an arc {} m from the sample", arc.radius));
            }
            (1, None) => parts.push("one panel".to_owned()),
            (panels, None) => parts.push(format!("{panels} panels")),
        }
        parts.extend(self.source_distance.map(|distance| format!("source {distance} m before the sample")));
        format!("{} ({})", parts.join(", "), self.says())
    }

    /// What is known, in a sentence: `plausible: from the papers on AMOR`.
    pub fn says(&self) -> String {
        match self.note.as_str() {
            "" => self.trust.name().to_owned(),
            note => format!("{}: {note}", self.trust.name()),
        }
    }
}
