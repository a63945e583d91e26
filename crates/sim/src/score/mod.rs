//! How right events are: events against the truth.
//!
//! [`matching`] pairs neutrons with events, one to one, and reports what happened to each; [`Score`] counts that and says
//! how far events lie from the truth; [`event_file`] reads the events that a run has written.
//!
//! | of a neutron | |
//! |---|---|
//! | found | an event is its own |
//! | merged | no event is its own, but one that is another neutron's lies within the limits |
//! | missed | no event lies within the limits |
//!
//! | of an event | |
//! |---|---|
//! | matched | it is a neutron's own |
//! | split | it is nobody's own, but lies within the limits of a neutron that has another one |
//! | ghost | no neutron lies within the limits: noise, or neutrons and gammas mixed up |

pub mod event_file;
pub mod matching;
mod rate;
mod residual;
mod settings;
mod table;
#[cfg(test)]
mod tests;
pub mod text;

pub use matching::{EventOutcome, Matching, NeutronOutcome, match_events};
pub use rate::RateBin;
pub use rate::{share, share_error};
pub use residual::{Histogram, Residual};
pub use settings::{ScoreError, ScoreSettings, tolerance};
pub use table::{markdown_table, rate_table, run_table, tolerance_text};

use crate::truth::Neutron;
use evforge_core::event::Event;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pixel_ids::PixelIds;
use serde::Serialize;

/// What happened to neutrons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeutronScore {
    /// All of them.
    pub neutrons: u64,
    /// Those with an event of their own.
    pub found: u64,
    /// Those without, though the event of another lies within the limits.
    pub merged: u64,
    /// Those without any event within the limits.
    pub missed: u64,
    /// Share of neutrons that were found; none without neutrons.
    pub efficiency: Option<f64>,
    /// Its uncertainty: half the width of Wilson's interval at one standard deviation (E. B. Wilson, J. Am. Stat.
    /// Assoc. 22 (1927) 209), which is not 0 when all or none were found.
    pub efficiency_error: Option<f64>,
    /// Those found in another pixel than their own.
    pub in_wrong_pixel: u64,
    /// The share of these in those found; none if none was found.
    pub in_wrong_pixel_share: Option<f64>,
    /// Centre of the event's pixel less the true position: columns, rows and layers, in pixels. None along an axis with
    /// a single pixel.
    pub position: [Option<Residual>; 3],
    /// Time of the event less the true time, in nanoseconds, with any offset.
    pub time_ns: Residual,
}

/// What happened to events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventCounts {
    /// All of them.
    pub events: u64,
    /// Those that are a neutron's own.
    pub matched: u64,
    /// Further ones of a neutron that has one.
    pub split: u64,
    /// Those with no neutron within the limits.
    pub ghosts: u64,
}

/// How right the events of one run are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// What was allowed.
    pub settings: ScoreSettings,
    /// Neutrons per second from the first to the last one; none with fewer than two times.
    pub neutrons_per_second: Option<f64>,
    /// Mean over the neutrons of the rate at their moments ([`RateBin`]), which is above the mean rate if they come in
    /// pulses; none without neutrons.
    pub rate_at_neutrons: Option<f64>,
    /// Share of neutrons that no reconstruction could tell apart; none without neutrons.
    pub not_resolvable_share: Option<f64>,
    /// Share of neutrons that a perfect reconstruction could tell apart, which no reconstruction can find more than, but
    /// by chance; none without neutrons.
    pub ceiling: Option<f64>,
    /// What happened to all neutrons.
    pub all: NeutronScore,
    /// What happened to those that are resolvable.
    pub resolvable: NeutronScore,
    /// What happened to the events.
    pub events: EventCounts,
    /// Ghosts per event; none without events.
    pub ghost_share: Option<f64>,
    /// Split events per event; none without events.
    pub split_share: Option<f64>,
    /// The same against the rate at the moment of each neutron.
    pub against_rate: Vec<RateBin>,
}

/// Scores events against the truth. Neither needs an order.
///
/// # Errors
/// If the settings cannot be, a pixel is not of the detector (0, "no pixel", is allowed in the truth), or the limits are
/// so wide that pairs would be arbitrary.
pub fn score(
    geometry: &LogicalGeometry,
    neutrons: &[Neutron],
    events: &[Event],
    settings: &ScoreSettings,
) -> Result<Score, ScoreError> {
    let matching = match_events(geometry, neutrons, events, settings)?;
    let mut counts = EventCounts { events: events.len() as u64, ..EventCounts::default() };
    for outcome in &matching.events {
        match outcome {
            EventOutcome::Matched(_) => counts.matched += 1,
            EventOutcome::Split(_) => counts.split += 1,
            EventOutcome::Ghost => counts.ghosts += 1,
        }
    }
    let all = neutron_score(geometry, neutrons, events, settings, &matching, |_| true);
    let resolvable = neutron_score(geometry, neutrons, events, settings, &matching, |one| one.resolvable);
    let against_rate = rate::against_rate(neutrons, events, settings, &matching);
    let span = neutrons.iter().map(|neutron| neutron.time_ns);
    let span = span.clone().max().unwrap_or(0) - span.min().unwrap_or(0);
    Ok(Score {
        settings: *settings,
        neutrons_per_second: (span > 0).then(|| (all.neutrons - 1) as f64 * 1e9 / span as f64),
        rate_at_neutrons: against_rate.mean_rate,
        not_resolvable_share: share(all.neutrons - resolvable.neutrons, all.neutrons),
        ceiling: share(resolvable.neutrons, all.neutrons),
        all,
        resolvable,
        events: counts,
        ghost_share: share(counts.ghosts, counts.events),
        split_share: share(counts.split, counts.events),
        against_rate: against_rate.bins,
    })
}

fn neutron_score(
    geometry: &LogicalGeometry,
    neutrons: &[Neutron],
    events: &[Event],
    settings: &ScoreSettings,
    matching: &Matching,
    counts: impl Fn(&Neutron) -> bool,
) -> NeutronScore {
    let (mut number, mut merged, mut missed, mut in_wrong_pixel) = (0, 0, 0, 0);
    let mut differences: [Vec<f64>; 4] = Default::default();
    for (neutron, outcome) in neutrons.iter().zip(&matching.neutrons).filter(|(neutron, _)| counts(neutron)) {
        number += 1;
        match outcome {
            NeutronOutcome::Merged => merged += 1,
            NeutronOutcome::Missed => missed += 1,
            NeutronOutcome::Found(event) => {
                let Some(event) = events.get(*event) else { continue };
                in_wrong_pixel += u64::from(event.pixel_id != neutron.pixel_id);
                let centre = matching::centre(geometry, event.pixel_id).unwrap_or_default();
                for axis in 0..3 {
                    differences[axis].push(centre[axis] - neutron.position[axis]);
                }
                differences[3].push(matching::difference(event.time_ns, neutron.time_ns) as f64);
            }
        }
    }
    let [x, y, z, time] = differences;
    let found = time.len() as u64;
    let pixels = [geometry.nx(), geometry.ny(), geometry.nz()];
    let mut axes =
        [x, y, z].into_iter().zip(pixels).zip(settings.largest_distance).map(|((axis, pixels), reach)| {
            (pixels > 1).then(|| Residual::new(axis, 0.0, reach, residual::POSITION_BINS))
        });
    NeutronScore {
        neutrons: number,
        found,
        merged,
        missed,
        efficiency: share(found, number),
        efficiency_error: share_error(found, number),
        in_wrong_pixel,
        in_wrong_pixel_share: share(in_wrong_pixel, found),
        position: std::array::from_fn(|_| axes.next().flatten()),
        time_ns: Residual::new(
            time,
            settings.time_offset_ns as f64,
            settings.largest_time_ns as f64,
            residual::TIME_BINS,
        ),
    }
}

/// Puts pixels of the geometry in the places of ids, which truth and events carry. An id that the detector does not have becomes 0,
/// no pixel: neutrons there cannot be found, and [`score`](self::score()) refuses such events.
pub fn ids_to_pixels(ids: &PixelIds, neutrons: &mut [Neutron], events: &mut [Event]) {
    neutrons.iter_mut().for_each(|neutron| neutron.pixel_id = ids.pixel(neutron.pixel_id));
    events.iter_mut().for_each(|event| event.pixel_id = ids.pixel(event.pixel_id));
}
