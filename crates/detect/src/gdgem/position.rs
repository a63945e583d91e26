//! Matched clusters to an event, or the reason why there is none (EFU formats of 2018, section 4.6,
//! "Analyse event" and "Filter").

use super::counters::GdGemCounters;
use super::settings::PositionSettings;
use crate::plane_matching::MatchedClusters;
use evforge_core::event::PixelId;
use evforge_core::geometry::{Coordinates, LogicalGeometry};

/// Finds the pixel of matched clusters of a panel. Counts their hits as in an event or under the reason why not.
#[inline]
pub fn locate(
    panel: u32,
    matched: &MatchedClusters,
    settings: &PositionSettings,
    max_amplitude_permille: Option<u64>,
    geometry: &LogicalGeometry,
    counters: &mut GdGemCounters,
) -> Option<PixelId> {
    let hits = matched.hits();
    let [x, y] = &matched.planes;
    if y.hits == 0 {
        counters.only_x += hits;
        return None;
    }
    if x.hits == 0 {
        counters.only_y += hits;
        return None;
    }
    if settings.minimum_hits.is_some_and(|least| x.hits.min(y.hits) < least) {
        counters.too_few_hits += hits;
        return None;
    }
    let lower = x.lower_uncertainty().max(y.lower_uncertainty());
    let upper = x.bins.strip_span().max(y.bins.strip_span());
    if settings.lower_uncertainty_limit.is_some_and(|limit| lower >= limit)
        || settings.upper_uncertainty_limit.is_some_and(|limit| upper >= limit)
    {
        counters.too_uncertain += hits;
        return None;
    }
    if max_amplitude_permille.is_some_and(|permille| !matched.amplitudes_agree(permille)) {
        counters.amplitude_mismatch += hits;
        return None;
    }
    let coordinate = |centre: u64| u32::try_from(centre).unwrap_or(u32::MAX);
    let (x, y) = (coordinate(x.centre(settings.weighted)), coordinate(y.centre(settings.weighted)));
    let pixel = geometry.pixel(Coordinates { x, y, z: 0, panel });
    if pixel == 0 {
        counters.outside_geometry += hits;
        return None;
    }
    counters.hits_in_events += hits;
    counters.events += 1;
    Some(pixel)
}
