//! Candidates to events: position, uncertainty, filters, pixel and time.
//!
//! EFU formats of 2018, sections 4.6 and 6.

use std::collections::BTreeSet;

use super::counters::Counters;
use super::hit::PlaneHit;
use super::matching::Candidate;
use super::rules::Rules;
use super::settings::{Settings, Ticks};

/// A neutron event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The epoch of its hits.
    pub(crate) epoch: u64,
    /// Time of its last hit in ticks, complete.
    pub(crate) time: Ticks,
    /// That time in whole nanoseconds; without rule `full_time` only the low 32 bits (section 4.6).
    pub(crate) time_ns: u64,
    /// Pixel, counted from 1 (section 6).
    pub(crate) pixel: u64,
    /// Number of hits in the x plane.
    pub(crate) hits_x: usize,
    /// Number of hits in the y plane.
    pub(crate) hits_y: usize,
    /// Unrounded x coordinate in strips.
    pub(crate) x: Centre,
    /// Unrounded y coordinate in strips.
    pub(crate) y: Centre,
}

/// A coordinate in strips as the exact fraction `sum / weight`, not reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Centre {
    /// Weighted sum of strips.
    pub(crate) sum: u64,
    /// Sum of the weights; 0 if the reference divides by zero, then `sum` is 0 as well.
    pub(crate) weight: u64,
}

impl Centre {
    /// The nearest whole strip, halves rounded up. The undefined centre becomes 0, as in the reference.
    pub(crate) fn rounded(self) -> u64 {
        if self.weight == 0 { 0 } else { (2 * self.sum + self.weight) / (2 * self.weight) }
    }
}

/// What the analysis finds in one plane.
struct PlaneAnalysis {
    /// The position.
    centre: Centre,
    /// Number of strips from the first to the last of the latest hits.
    uncertainty_lower: u32,
    /// The same of the hits in the last few distinct times.
    uncertainty_upper: u32,
}

/// The event of a candidate, if it has both planes, passes the filters and is inside the geometry.
pub(crate) fn analyse(
    candidate: &Candidate,
    settings: &Settings,
    rules: &Rules,
    counters: &mut Counters,
) -> Option<Event> {
    let (hits_x, hits_y) = (candidate.hits.x.len(), candidate.hits.y.len());
    let hits = (hits_x + hits_y) as u64;
    let x = analyse_plane(&candidate.hits.x, settings, rules);
    let y = analyse_plane(&candidate.hits.y, settings, rules);
    let (x, y) = match (x, y) {
        (Some(x), Some(y)) => (x, y),
        (Some(_), None) => {
            counters.x_only += hits;
            return None;
        }
        (None, _) => {
            counters.y_only += hits;
            return None;
        }
    };
    let minimum_hits = settings.minimum_hits.unwrap_or(0);
    let enough_hits = hits_x >= minimum_hits && hits_y >= minimum_hits;
    if !enough_hits || !is_certain(&x, settings) || !is_certain(&y, settings) {
        counters.filtered += hits;
        return None;
    }
    let Some(pixel) = pixel(x.centre.rounded(), y.centre.rounded(), settings) else {
        counters.outside_geometry += hits;
        return None;
    };
    counters.in_events += hits;
    Some(Event {
        epoch: candidate.epoch,
        time: candidate.time_end,
        time_ns: time_ns(candidate.time_end, settings, rules),
        pixel,
        hits_x,
        hits_y,
        x: x.centre,
        y: y.centre,
    })
}

/// Position and uncertainties in one plane; none without hits (section 4.6).
fn analyse_plane(hits: &[PlaneHit], settings: &Settings, rules: &Rules) -> Option<PlaneAnalysis> {
    let times: BTreeSet<Ticks> = hits.iter().map(|hit| hit.time).collect();
    let last_times: BTreeSet<Ticks> = times.iter().rev().take(settings.maximum_time_bins).copied().collect();
    let time_end = *times.last()?;
    let latest: Vec<&PlaneHit> = hits.iter().filter(|hit| hit.time == time_end).collect();
    let late: Vec<&PlaneHit> = hits.iter().filter(|hit| last_times.contains(&hit.time)).collect();
    Some(PlaneAnalysis {
        centre: centre(&latest, settings, rules),
        uncertainty_lower: strip_span(&latest),
        uncertainty_upper: strip_span(&late),
    })
}

/// The mean of the strips, weighted with the charge or plain.
fn centre(hits: &[&PlaneHit], settings: &Settings, rules: &Rules) -> Centre {
    let charge: u64 = hits.iter().map(|hit| u64::from(hit.adc)).sum();
    let plain = !settings.weighted_centre || (charge == 0 && rules.zero_charge_plain_centre);
    let weight = |hit: &PlaneHit| if plain { 1 } else { u64::from(hit.adc) };
    Centre {
        sum: hits.iter().map(|hit| u64::from(hit.strip) * weight(hit)).sum(),
        weight: hits.iter().map(|hit| weight(hit)).sum(),
    }
}

/// Number of strips from the first to the last hit, both included; 0 without hits.
fn strip_span(hits: &[&PlaneHit]) -> u32 {
    let strips = || hits.iter().map(|hit| hit.strip);
    match (strips().min(), strips().max()) {
        (Some(first), Some(last)) => last - first + 1,
        _ => 0,
    }
}

/// Whether a plane passes the limits of the uncertainties that are set.
fn is_certain(plane: &PlaneAnalysis, settings: &Settings) -> bool {
    let below = |uncertainty: u32, limit: Option<u32>| limit.is_none_or(|limit| uncertainty < limit);
    below(plane.uncertainty_lower, settings.lower_uncertainty_limit)
        && below(plane.uncertainty_upper, settings.upper_uncertainty_limit)
}

/// The pixel of a coordinate pair, if it is inside the geometry (section 6).
fn pixel(x: u64, y: u64, settings: &Settings) -> Option<u64> {
    (x < settings.geometry_x && y < settings.geometry_y).then(|| y * settings.geometry_x + x + 1)
}

/// A time in whole nanoseconds, cut to 32 bits unless the rules say otherwise (section 4.6).
fn time_ns(time: Ticks, settings: &Settings, rules: &Rules) -> u64 {
    let nanoseconds = time.div_euclid(settings.arithmetic.ticks_per_ns) as u64;
    if rules.full_time { nanoseconds } else { nanoseconds & 0xffff_ffff }
}
