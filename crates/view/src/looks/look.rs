//! A look that has been checked.

use super::frame_rule::FrameRule;
use super::limits::{MOST_POINTS, MOST_REGIONS};
use super::pictured::Pictured;
use super::region::Region;
use super::wanted::{LookWanted, WindowWanted};
use crate::spectrum::{MOST_BINS, TimeBins};
use serde::Serialize;

/// Columns and rows if nothing is said.
const POINTS: u32 = 1024;
/// Fewest columns and rows that can be asked for.
const FEWEST_POINTS: u32 = 16;
/// Longest window of the last seconds.
const LONGEST_WINDOW: u32 = 3600;

/// Which time is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Window {
    /// Since the start of the server.
    All,
    /// Since this moment, in milliseconds since the Unix epoch.
    Since(u64),
    /// So many seconds.
    Last(u32),
}

/// Which events are looked at, by their vetoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum ByVeto {
    All,
    Accepted,
    Vetoed,
}

impl ByVeto {
    /// Whether an event with these marks belongs to it.
    #[inline]
    pub(crate) fn has(self, marks: u8) -> bool {
        match self {
            Self::All => true,
            Self::Accepted => marks == 0,
            Self::Vetoed => marks != 0,
        }
    }
}

/// Which events are counted, and into what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Selection {
    /// Number of the picture in the greeting.
    pub(crate) picture: usize,
    pub(crate) slice_ns: Option<[u32; 2]>,
    pub(crate) layers: Option<[u32; 2]>,
    pub(crate) window: Window,
    pub(crate) bins: TimeBins,
    pub(crate) vetoed: ByVeto,
    pub(crate) frames: FrameRule,
    pub(crate) regions: Vec<Region>,
}

/// A look.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Look {
    pub(crate) selection: Selection,
    /// Left, bottom, right, top.
    pub(crate) part: [u32; 4],
    pub(crate) points: [u32; 2],
}

impl Look {
    /// Checks what is wanted of `pictured`.
    ///
    /// # Errors
    /// With what is wrong, where, and what would be right.
    pub(crate) fn new(wanted: LookWanted, pictured: &Pictured) -> Result<Self, String> {
        let frames = FrameRule::of(&wanted)?;
        let LookWanted {
            picture: name, part, points, slice_ns, layers, window, bins, vetoed, regions, ..
        } = wanted;
        let Some(picture) = pictured.find(&name) else {
            return Err(format!(
                "picture: there is none called {name:?}; there are: {}",
                pictured.names().join(", ")
            ));
        };
        let is_selected = slice_ns.is_some()
            || layers.is_some()
            || window.is_some()
            || bins.is_some()
            || vetoed.is_some()
            || !frames.is_everything()
            || !regions.is_empty()
            || pictured.is_map(picture);
        if is_selected && !pictured.has_events() {
            return Err(
                "what is shown here is not counted of events: only picture, part and points can be asked for"
                    .into(),
            );
        }
        let bins = bins.map_or(Ok(pictured.bins()), checked_bins)?;
        let [nx, ny] = pictured.size(picture, bins.count);
        let most = pictured.most_map_cells();
        if pictured.is_map(picture) && nx as usize * ny as usize > most {
            return Err(format!(
                "bins: found {nx}, expected at most {}: that is how many a map of {ny} rows has room for",
                most / ny.max(1) as usize
            ));
        }
        let points = points.unwrap_or([POINTS; 2]);
        if let Some(found) = points.iter().find(|points| !(FEWEST_POINTS..=MOST_POINTS).contains(points)) {
            return Err(format!("points: found {found}, expected {FEWEST_POINTS} to {MOST_POINTS}"));
        }
        let part = part.unwrap_or([0, 0, nx, ny]);
        let [x0, y0, x1, y1] = part;
        if x0 >= x1 || y0 >= y1 || x1 > nx || y1 > ny {
            return Err(format!(
                "part: found {part:?}, expected left < right <= {nx} and bottom < top <= {ny}"
            ));
        }
        if let Some([from, to]) = slice_ns.filter(|[from, to]| from >= to) {
            return Err(format!("slice_ns: found {from} to {to}, expected a first number below the second"));
        }
        let depth = pictured.plan(picture, bins.count).map_or(1, |plan| plan.depth);
        if let Some([from, to]) = layers.filter(|&[from, to]| from >= to || to > depth) {
            return Err(format!(
                "layers: found {from} to {to}, expected a first number below the second, and that at most {depth}"
            ));
        }
        let window = window.map_or(Ok(Window::All), checked_window)?;
        let vetoed = match vetoed.as_deref() {
            None | Some("all") => ByVeto::All,
            Some("accepted") => ByVeto::Accepted,
            Some("vetoed") => ByVeto::Vetoed,
            Some(other) => {
                return Err(format!("vetoed: found {other:?}, expected \"all\", \"accepted\" or \"vetoed\""));
            }
        };
        if regions.len() > MOST_REGIONS {
            return Err(format!("regions: found {}, expected at most {MOST_REGIONS}", regions.len()));
        }
        let mut checked: Vec<Region> = Vec::with_capacity(regions.len());
        for (region, number) in regions.into_iter().zip(0..) {
            let region = Region::new(region).map_err(|problem| format!("regions[{number}].{problem}"))?;
            if checked.iter().any(|other| other.name == region.name) {
                return Err(format!("regions[{number}].name: there are two called {:?}", region.name));
            }
            checked.push(region);
        }
        let selection =
            Selection { picture, slice_ns, layers, window, bins, vetoed, frames, regions: checked };
        Ok(Self { selection, part, points })
    }
}

impl Look {
    /// Bytes that its frame takes where no pixel and no bin has 2^32 counts.
    pub(crate) fn frame_bytes(&self) -> usize {
        let [x0, y0, x1, y1] = self.part;
        let cells = (x1 - x0).min(self.points[0]) as usize * (y1 - y0).min(self.points[1]) as usize;
        4 * (cells + (1 + self.selection.regions.len()) * self.selection.bins.count as usize)
    }
}

fn checked_window(wanted: WindowWanted) -> Result<Window, String> {
    match (&*wanted.kind, wanted.ms, wanted.seconds) {
        ("all", None, None) => Ok(Window::All),
        ("since", Some(ms), None) => Ok(Window::Since(ms)),
        ("last", None, Some(seconds)) if (1..=LONGEST_WINDOW).contains(&seconds) => Ok(Window::Last(seconds)),
        _ => Err(format!(
            "window: expected kind \"all\", \"since\" with `ms`, or \"last\" with `seconds` from 1 to {LONGEST_WINDOW}"
        )),
    }
}

fn checked_bins(bins: TimeBins) -> Result<TimeBins, String> {
    if bins.width_ns == 0 || !(1..=MOST_BINS as u32).contains(&bins.count) {
        return Err(format!("bins: expected a width of at least 1 ns, and 1 to {MOST_BINS} of them"));
    }
    Ok(bins)
}
