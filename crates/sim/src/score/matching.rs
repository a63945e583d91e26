//! Which event is which neutron's.
//!
//! All pairs of a neutron and an event of the same panel within the limits are candidates. The closest pair is taken
//! first, then the closest of those whose neutron and event are both free, and so on. The distance of a pair is the sum of
//! the squares of its differences in time and along each axis, each in units of the largest one allowed; of equal
//! distances the lower number of the neutron, then the earlier event goes first. So the outcome does not depend on the
//! order of the input, and no neutron and event within each other's limits are both left alone.

use super::settings::{ScoreError, ScoreSettings};
use crate::truth::Neutron;
use evforge_core::event::{Event, PixelId};
use evforge_core::geometry::LogicalGeometry;

/// What happened to a neutron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeutronOutcome {
    /// The event of this index is its own.
    Found(usize),
    /// Events lie within the limits, but are those of others.
    Merged,
    /// No event lies within the limits.
    Missed,
}

/// What happened to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOutcome {
    /// It is the own event of the neutron of this index.
    Matched(usize),
    /// It lies within the limits of the neutron of this index, the closest, which has another event.
    Split(usize),
    /// No neutron lies within the limits.
    Ghost,
}

/// What happened to all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matching {
    /// Of each neutron, in the order in which they were given.
    pub neutrons: Vec<NeutronOutcome>,
    /// Of each event, in the order in which they were given.
    pub events: Vec<EventOutcome>,
}

/// Candidates per neutron and event, on average, beyond which pairs are arbitrary.
const MOST_CANDIDATES: u64 = 100;
/// Events close in time per neutron and event, on average, beyond which the work gets out of hand.
const MOST_COMPARISONS: u64 = 10_000;
/// Pairs that are always looked at, so that few neutrons are not judged by an average.
const FREE_PAIRS: u64 = 1_000_000;

/// A neutron or an event: where it is, and its index in the input.
struct Point {
    panel: u32,
    time_ns: u64,
    at: [f64; 3],
    index: u32,
}

struct Candidate {
    distance: f64,
    /// Indices in the sorted points.
    neutron: u32,
    event: u32,
}

/// Pairs neutrons with events and returns what happened to each. Neither needs an order.
///
/// # Errors
/// As [`super::score`].
pub fn match_events(
    geometry: &LogicalGeometry,
    neutrons: &[Neutron],
    events: &[Event],
    settings: &ScoreSettings,
) -> Result<Matching, ScoreError> {
    settings.check()?;
    let (truth, found) = (true_points(geometry, neutrons)?, event_points(geometry, events)?);
    let mut candidates = candidates(&truth, &found, settings)?;
    candidates.sort_unstable_by(|one, other| {
        let by_distance = one.distance.total_cmp(&other.distance);
        by_distance.then((one.neutron, one.event).cmp(&(other.neutron, other.event)))
    });
    let mut outcome = Matching {
        neutrons: vec![NeutronOutcome::Missed; neutrons.len()],
        events: vec![EventOutcome::Ghost; events.len()],
    };
    for candidate in &candidates {
        let neutron = truth[candidate.neutron as usize].index as usize;
        let event = found[candidate.event as usize].index as usize;
        let (of_neutron, of_event) = (&mut outcome.neutrons[neutron], &mut outcome.events[event]);
        let is_free = !matches!(of_neutron, NeutronOutcome::Found(_));
        if is_free && !matches!(of_event, EventOutcome::Matched(_)) {
            *of_neutron = NeutronOutcome::Found(event);
            *of_event = EventOutcome::Matched(neutron);
        } else if is_free {
            *of_neutron = NeutronOutcome::Merged;
        } else if *of_event == EventOutcome::Ghost {
            *of_event = EventOutcome::Split(neutron);
        }
    }
    Ok(outcome)
}

/// Nanoseconds from `neutron` to `event`.
pub(super) fn difference(event: u64, neutron: u64) -> i128 {
    i128::from(event) - i128::from(neutron)
}

/// The centre of a pixel in its panel.
pub(super) fn centre(geometry: &LogicalGeometry, pixel_id: PixelId) -> Option<[f64; 3]> {
    let at = geometry.coordinates(pixel_id)?;
    Some([at.x, at.y, at.z].map(|index| f64::from(index) + 0.5))
}

fn refused(what: &str, number: u64, pixel_id: PixelId, geometry: &LogicalGeometry) -> ScoreError {
    ScoreError::Pixel { what: format!("{what} {number}"), pixel_id, pixel_count: geometry.pixel_count() }
}

/// The neutrons in the order of panel and time. Those without a pixel cannot be found and are left out.
fn true_points(geometry: &LogicalGeometry, neutrons: &[Neutron]) -> Result<Vec<Point>, ScoreError> {
    let mut order: Vec<(&Neutron, u32)> = neutrons.iter().zip(0..).collect();
    order.sort_by_key(|(neutron, _)| (neutron.time_ns, neutron.number, neutron.pixel_id));
    let mut points = Vec::with_capacity(order.len());
    for (neutron, index) in order {
        let Neutron { number, time_ns, pixel_id, position, .. } = *neutron;
        if pixel_id != 0 {
            let place = geometry.coordinates(pixel_id);
            let panel = place.ok_or_else(|| refused("neutron", number, pixel_id, geometry))?.panel;
            points.push(Point { panel, time_ns, at: position, index });
        }
    }
    points.sort_by_key(|point| (point.panel, point.time_ns));
    Ok(points)
}

/// The events in the order of panel, time and pixel.
fn event_points(geometry: &LogicalGeometry, events: &[Event]) -> Result<Vec<Point>, ScoreError> {
    let mut order: Vec<(&Event, u32)> = events.iter().zip(0..).collect();
    order.sort();
    let mut points = Vec::with_capacity(order.len());
    for (event, index) in order {
        let place = geometry.coordinates(event.pixel_id);
        let place = place.ok_or_else(|| refused("event", u64::from(index), event.pixel_id, geometry))?;
        let at = [place.x, place.y, place.z].map(|index| f64::from(index) + 0.5);
        points.push(Point { panel: place.panel, time_ns: event.time_ns, at, index });
    }
    points.sort_by_key(|point| (point.panel, point.time_ns));
    Ok(points)
}

/// All pairs within the limits.
fn candidates(
    truth: &[Point],
    found: &[Point],
    settings: &ScoreSettings,
) -> Result<Vec<Candidate>, ScoreError> {
    let number = (truth.len() + found.len()) as u64;
    let refuse = |pairs| ScoreError::TooManyPairs { neutrons: truth.len(), pairs };
    let (most_candidates, most_comparisons) =
        (FREE_PAIRS.max(MOST_CANDIDATES * number), FREE_PAIRS.max(MOST_COMPARISONS * number));
    let reach = i128::from(settings.largest_time_ns);
    // Half a nanosecond keeps the division defined where only equal times are allowed.
    let time_unit = (settings.largest_time_ns as f64).max(0.5);
    let (mut candidates, mut comparisons, mut first) = (Vec::new(), 0, 0);
    for (neutron, point) in truth.iter().enumerate() {
        let apart =
            |event: &Point| difference(event.time_ns, point.time_ns) - i128::from(settings.time_offset_ns);
        let is_before = |event: &Point| (event.panel, apart(event)) < (point.panel, -reach);
        while found.get(first).is_some_and(is_before) {
            first += 1;
        }
        for (event, other) in found.iter().enumerate().skip(first) {
            let time = apart(other);
            if other.panel != point.panel || time > reach {
                break;
            }
            comparisons += 1;
            if comparisons > most_comparisons {
                return Err(refuse(most_comparisons));
            }
            let mut distance = (time as f64 / time_unit).powi(2);
            let mut is_close = true;
            for (axis, largest) in settings.largest_distance.iter().enumerate() {
                let apart = other.at[axis] - point.at[axis];
                is_close &= apart.abs() <= *largest;
                distance += (apart / largest).powi(2);
            }
            if is_close {
                candidates.push(Candidate { distance, neutron: neutron as u32, event: event as u32 });
                if candidates.len() as u64 > most_candidates {
                    return Err(refuse(most_candidates));
                }
            }
        }
    }
    Ok(candidates)
}
