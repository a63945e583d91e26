//! The score against the rate at the moment of each neutron and event.

use super::matching::{EventOutcome, Matching, NeutronOutcome};
use super::settings::ScoreSettings;
use crate::truth::Neutron;
use evforge_core::event::Event;
use serde::Serialize;

/// Three bins for every power of ten, from 1 kHz on, to 10 GHz.
const BIN_STEPS: [f64; 3] = [1.0, 2.0, 5.0];
const FIRST_BIN: f64 = 1e3;
const BINS: usize = 22;

/// Neutrons and events at moments of similar rate. The rate at a moment is the number of neutrons, in the whole detector,
/// in the window before and that after it ([`ScoreSettings::rate_window_ns`]), divided by the length of both; a neutron
/// itself does not count for its own rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateBin {
    /// Lowest rate of the bin, in neutrons per second.
    pub from: f64,
    /// Rate at which the next bin begins, in neutrons per second; none for the last one.
    pub to: Option<f64>,
    /// Neutrons.
    pub neutrons: u64,
    /// Neutrons with an event of their own.
    pub found: u64,
    /// Neutrons without, though the event of another lies within the limits.
    pub merged: u64,
    /// Neutrons that are resolvable.
    pub resolvable: u64,
    /// Neutrons that are resolvable and have an event of their own.
    pub resolvable_found: u64,
    /// Events.
    pub events: u64,
    /// Further events of a neutron that has one.
    pub split: u64,
    /// Events without a neutron within the limits.
    pub ghosts: u64,
}

impl RateBin {
    /// Share of the neutrons that were found; none without neutrons.
    pub fn efficiency(&self) -> Option<f64> {
        share(self.found, self.neutrons)
    }

    /// Share of the resolvable neutrons that were found; none without any.
    pub fn resolvable_efficiency(&self) -> Option<f64> {
        share(self.resolvable_found, self.resolvable)
    }

    /// Share of the neutrons that a perfect reconstruction could tell apart; none without neutrons.
    pub fn ceiling(&self) -> Option<f64> {
        share(self.resolvable, self.neutrons)
    }

    /// Ghosts per event; none without events.
    pub fn ghost_share(&self) -> Option<f64> {
        share(self.ghosts, self.events)
    }

    /// A bin by its number; bin 0 begins at 0.
    fn empty(number: usize) -> Self {
        let edge = |number: usize| {
            let steps = number - 1;
            FIRST_BIN * 10_f64.powi((steps / BIN_STEPS.len()) as i32) * BIN_STEPS[steps % BIN_STEPS.len()]
        };
        let from = if number == 0 { 0.0 } else { edge(number) };
        let to = (number + 1 < BINS).then(|| edge(number + 1));
        Self {
            from,
            to,
            neutrons: 0,
            found: 0,
            merged: 0,
            resolvable: 0,
            resolvable_found: 0,
            events: 0,
            split: 0,
            ghosts: 0,
        }
    }
}

/// The score against the rate.
pub(super) struct AgainstRate {
    /// The bins that hold anything, from low to high rates.
    pub(super) bins: Vec<RateBin>,
    /// Mean over the neutrons of the rate at their moments; none without neutrons.
    pub(super) mean_rate: Option<f64>,
}

/// Files neutrons and events under the rates at their moments.
pub(super) fn against_rate(
    neutrons: &[Neutron],
    events: &[Event],
    settings: &ScoreSettings,
    matching: &Matching,
) -> AgainstRate {
    let mut times: Vec<u64> = neutrons.iter().map(|neutron| neutron.time_ns).collect();
    times.sort_unstable();
    let mut bins: [RateBin; BINS] = std::array::from_fn(RateBin::empty);
    let edges: [f64; BINS] = std::array::from_fn(|bin| bins[bin].from);
    let half_window_ns = settings.rate_window_ns.max(1);
    let others_at = |time_ns: u64, own: usize| {
        let begin = times.partition_point(|time| *time < time_ns.saturating_sub(half_window_ns));
        let end = times.partition_point(|time| *time <= time_ns.saturating_add(half_window_ns));
        (end - begin).saturating_sub(own) as u64
    };
    let per_second = 1e9 / (2 * half_window_ns) as f64;
    let bin_of = |others: u64| {
        let rate = others as f64 * per_second;
        edges.partition_point(|edge| *edge <= rate) - 1
    };
    let mut all_others = 0;
    for (neutron, outcome) in neutrons.iter().zip(&matching.neutrons) {
        let others = others_at(neutron.time_ns, 1);
        all_others += others;
        let bin = &mut bins[bin_of(others)];
        let found = u64::from(matches!(outcome, NeutronOutcome::Found(_)));
        bin.neutrons += 1;
        bin.found += found;
        bin.merged += u64::from(*outcome == NeutronOutcome::Merged);
        bin.resolvable += u64::from(neutron.resolvable);
        bin.resolvable_found += if neutron.resolvable { found } else { 0 };
    }
    for (event, outcome) in events.iter().zip(&matching.events) {
        // The neutron that the event is of does not count, as it does not for itself.
        let own = usize::from(*outcome != EventOutcome::Ghost);
        let true_time = event.time_ns.saturating_add_signed(settings.time_offset_ns.saturating_neg());
        let bin = &mut bins[bin_of(others_at(true_time, own))];
        bin.events += 1;
        bin.split += u64::from(matches!(outcome, EventOutcome::Split(_)));
        bin.ghosts += u64::from(*outcome == EventOutcome::Ghost);
    }
    let number = neutrons.len() as f64;
    AgainstRate {
        bins: bins.into_iter().filter(|bin| bin.neutrons + bin.events > 0).collect(),
        mean_rate: (number > 0.0).then(|| all_others as f64 * per_second / number),
    }
}

/// The part that `count` is of `whole`; none of nothing.
pub fn share(count: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| count as f64 / whole as f64)
}

/// Half the width of Wilson's interval at one standard deviation.
pub fn share_error(count: u64, whole: u64) -> Option<f64> {
    let share = share(count, whole)?;
    let whole = whole as f64;
    Some((share * (1.0 - share) / whole + 0.25 / (whole * whole)).sqrt() / (1.0 + 1.0 / whole))
}
