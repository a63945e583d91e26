//! What the page is offered: views that have been checked against the pictures of the run.

use super::file::{ViewFile, ViewFileError};
use super::shipped::shipped;
use super::state::ViewState;
use super::wanted::{TopWanted, ViewRegionWanted, ViewWanted};
use crate::looks::look::Look;
use crate::looks::pictured::Pictured;
use crate::looks::wanted::{LookWanted, RegionWanted, WindowWanted};
use crate::spectrum::{MOST_BINS, TimeBins};
use evforge_core::quantity::TimeSpan;
use std::collections::HashSet;

/// Most pictures of a view.
const MOST_PICTURES: usize = 4;
/// What stands for the first picture with more than one pixel, whatever it is called.
const FIRST: &str = "first";
const PER: [&str; 4] = ["counts", "second", "pulse", "charge"];
const MAPS: [&str; 3] = ["evforge", "viridis", "cividis"];
const UNITS: [&str; 4] = ["tof", "wavelength", "energy", "d"];
const PANELS: [&str; 6] = ["image", "regions", "rate", "spectrum", "ledger", "monitor"];

/// The views for pictures of a detector with this section in the configuration: those of `file`, else those shipped for it.
///
/// # Errors
/// Of `file`, whatever does not fit the pictures. Shipped views that do not are left out: they are for other detectors of this kind.
pub(crate) fn offered(
    file: Option<&ViewFile>,
    detector: &str,
    pictured: &Pictured,
) -> Result<Vec<ViewState>, ViewFileError> {
    if let Some(file) = file {
        let check = |(number, view)| {
            checked(view, pictured).map_err(|Wrong { key, problem }| file.error(number, key, problem))
        };
        return file.views().iter().enumerate().map(check).collect();
    }
    if !pictured.has_events() {
        return Ok(Vec::new());
    }
    let mut names = HashSet::new();
    let files = shipped(detector);
    let views = files.iter().flat_map(ViewFile::views).filter_map(|view| checked(view, pictured).ok());
    // What is shipped for the detector comes first, and takes the place of what is shipped for all.
    Ok(views.filter(|view| names.insert(view.name.clone())).collect())
}

/// What is wrong with a view.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) key: &'static str,
    pub(super) problem: String,
}

fn wrong<T>(key: &'static str, problem: String) -> Result<T, Wrong> {
    Err(Wrong { key, problem })
}

/// One of some words.
fn one_of(key: &'static str, found: Option<&String>, words: &[&str]) -> Result<String, Wrong> {
    let found = found.map_or(words[0], String::as_str);
    if !words.contains(&found) {
        return wrong(key, format!("found {found:?}, expected one of {}", words.join(", ")));
    }
    Ok(found.to_owned())
}

/// Two times, of which the first is the earlier one.
fn span(key: &'static str, times: &[TimeSpan; 2]) -> Result<[u64; 2], Wrong> {
    let [from, to] = times.map(|time| time.picoseconds / 1000);
    if from >= to {
        return wrong(key, format!("found {} to {}, expected an earlier time first", times[0], times[1]));
    }
    Ok([from, to])
}

/// Checks a view against the pictures that there are.
pub(super) fn checked(view: &ViewWanted, pictured: &Pictured) -> Result<ViewState, Wrong> {
    let first = || {
        let plans = || pictured.plans();
        plans().find(|plan| !plan.is_number()).or(plans().next()).map(|plan| plan.name.clone())
    };
    let named = |name: &String| match pictured.find(name) {
        None if name == FIRST => first().unwrap_or_default(),
        _ => name.clone(),
    };
    checked_named(
        &ViewWanted { pictures: view.pictures.iter().map(named).collect(), ..view.clone() },
        pictured,
    )
}

/// The same, where all pictures have their names.
fn checked_named(view: &ViewWanted, pictured: &Pictured) -> Result<ViewState, Wrong> {
    let there_are = || pictured.names().join(", ");
    if !(1..=MOST_PICTURES).contains(&view.pictures.len()) {
        let found = view.pictures.len();
        return wrong(
            "pictures",
            format!("found {found}, expected 1 to {MOST_PICTURES} of: {}", there_are()),
        );
    }
    for (number, name) in view.pictures.iter().enumerate() {
        if pictured.find(name).is_none() {
            return wrong("pictures", format!("there is none called {name:?}; there are: {}", there_are()));
        }
        if view.pictures[..number].contains(name) {
            return wrong("pictures", format!("found {name:?} twice, expected pictures that differ"));
        }
    }
    if let Some(bins) = view.bins.filter(|&bins| !(1..=MOST_BINS).contains(&u64::from(bins))) {
        return wrong("bins", format!("found {bins}, expected 1 to {MOST_BINS}"));
    }
    let (top, top_value) = match &view.top {
        None => ("maximum", None),
        Some(TopWanted::Rule(rule)) if rule == "maximum" => ("maximum", None),
        Some(TopWanted::Rule(rule)) if rule == "quantile" => ("quantile", None),
        Some(TopWanted::Fixed(value)) if value.is_finite() && *value > 0.0 => ("fixed", Some(*value)),
        Some(other) => {
            let found = match other {
                TopWanted::Rule(rule) => format!("{rule:?}"),
                TopWanted::Fixed(value) => value.to_string(),
            };
            let expected = "expected \"maximum\", \"quantile\" or a number above 0";
            return wrong("top", format!("found {found}, {expected}"));
        }
    };
    let monitors: Vec<String> =
        pictured.monitors().into_iter().map(|(name, _)| format!("monitor:{name}")).collect();
    let per: Vec<&str> = PER.into_iter().chain(monitors.iter().map(String::as_str)).collect();
    for (number, panel) in view.panels.iter().flatten().enumerate() {
        one_of("panels", Some(panel), &PANELS)?;
        if view.panels.iter().flatten().take(number).any(|before| before == panel) {
            return wrong("panels", format!("found {panel:?} twice, expected panels that differ"));
        }
    }
    if view.panels.as_ref().is_some_and(Vec::is_empty) {
        return wrong("panels", format!("found none, expected some of {}", PANELS.join(", ")));
    }
    let flight_path_m = view.flight_path.map(|length| length.metres);
    if let Some(found) = flight_path_m.filter(|found| !(f64::MIN_POSITIVE..=1e4).contains(found)) {
        return wrong("flight_path", format!("found {found} m, expected more than 0 and at most 10000 m"));
    }
    let two_theta_deg = view.scattering_angle.map(|angle| angle.degrees);
    if let Some(found) = two_theta_deg.filter(|found| !(f64::MIN_POSITIVE..=180.0).contains(found)) {
        return wrong(
            "scattering_angle",
            format!("found {found} deg, expected more than 0 and at most 180 deg"),
        );
    }
    Ok(ViewState {
        name: view.name.clone(),
        hint: view.hint.clone(),
        pictures: view.pictures.clone(),
        look: look(view, pictured)?,
        bins: view.bins,
        per: one_of("per", view.per.as_ref(), &per)?,
        corrected: view.corrected,
        log: view.log,
        map: one_of("map", view.map.as_ref(), &MAPS)?,
        top,
        top_value,
        unit: one_of("unit", view.unit.as_ref(), &UNITS)?,
        flight_path_m,
        two_theta_deg,
        spectrum_log: view.spectrum_log,
        zoom_ns: view.zoom.as_ref().map(|zoom| span("zoom", zoom)).transpose()?,
        panels: view.panels.clone(),
    })
}

/// What is asked of the server; checked by its own rules.
fn look(view: &ViewWanted, pictured: &Pictured) -> Result<LookWanted, Wrong> {
    let bins = view.bins.map(|count| bins_over(pictured.bins(), count));
    let picture = view.pictures[0].clone();
    let slice_ns = match view.slice.as_ref().map(|slice| span("slice", slice)).transpose()? {
        None => None,
        Some(slice) => match slice.map(u32::try_from) {
            [Ok(from), Ok(to)] => Some([from, to]),
            _ => return wrong("slice", "found more than 4.2 s, expected times of flight".into()),
        },
    };
    let window = view.window.map(|window| {
        let seconds = window.picoseconds.div_ceil(1_000_000_000_000);
        let seconds = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        WindowWanted { kind: "last".into(), ms: None, seconds }
    });
    let which = pictured.find(&picture).unwrap_or(0);
    let size = pictured.size(which, bins.unwrap_or(pictured.bins()).count);
    let regions = view.region.iter().map(|region| region_of(region, size)).collect::<Result<_, _>>()?;
    let wanted = LookWanted {
        picture,
        part: view.part,
        slice_ns,
        layers: view.layer.map(|layer| [layer, layer.saturating_add(1)]),
        window,
        bins,
        vetoed: view.vetoed.clone(),
        period: view.period,
        frames: view.frames.clone(),
        complete: view.complete,
        regions,
        ..LookWanted::default()
    };
    match Look::new(wanted.clone(), pictured) {
        Ok(_) => Ok(LookWanted { bins: None, ..wanted }),
        Err(problem) => {
            // "slice_ns: found …": the key of the look, which has nearly the same name here.
            let (key, problem) = problem.split_once(": ").unwrap_or(("", &problem));
            let keys = [
                ("part", "part"),
                ("layers", "layer"),
                ("window", "window"),
                ("vetoed", "vetoed"),
                ("period", "period"),
                ("frames", "frames"),
                ("regions", "region"),
            ];
            let key =
                keys.iter().find(|(of_look, _)| key.starts_with(of_look)).map_or("pictures", |(_, own)| *own);
            wrong(key, problem.to_owned())
        }
    }
}

/// As many bins over the period, each with a whole number of nanoseconds.
fn bins_over(own: TimeBins, count: u32) -> TimeBins {
    let period = u64::from(own.width_ns) * u64::from(own.count);
    let width = period.div_ceil(u64::from(count.max(1))).max(1);
    let width_ns = u32::try_from(width).unwrap_or(u32::MAX);
    TimeBins { from_ns: 0, width_ns, count: period.div_ceil(width) as u32 }
}

fn region_of(region: &ViewRegionWanted, size: [u32; 2]) -> Result<RegionWanted, Wrong> {
    let shape = region.shape.clone().unwrap_or_else(|| "rectangle".into());
    let name = region.name.clone();
    let points = match (&region.points, region.share) {
        (Some(points), None) => points.clone(),
        (None, Some(share)) if shape == "rectangle" => {
            let [left, bottom, right, top] = share;
            let is_share = |value: &f64| (0.0..=1.0).contains(value);
            if !share.iter().all(is_share) || left >= right || bottom >= top {
                let expected =
                    "expected left, bottom, right and top from 0 to 1, left < right and bottom < top";
                return wrong("region", format!("share: found {share:?}, {expected}"));
            }
            let [nx, ny] = size.map(f64::from);
            // At least one pixel.
            let pixels = |low: f64, high: f64, all: f64| {
                let from = (low * all).floor().min(all - 1.0);
                [from, (high * all).round().max(from + 1.0)]
            };
            let ([x0, x1], [y0, y1]) = (pixels(left, right, nx), pixels(bottom, top, ny));
            vec![[x0, y0], [x1, y1]]
        }
        _ => {
            let expected = "expected `points` (pixels), or for a rectangle `share` (left, bottom, right, top from 0 to 1)";
            return wrong("region", format!("{name:?}: {expected}, one of them"));
        }
    };
    Ok(RegionWanted { name, shape, points })
}

#[cfg(test)]
mod tests;
