//! Matched clusters to an event, or the reason why there is none (EFU formats of 2018, section 4.6,
//! "Analyse event" and "Filter"; ESS readout formats, section 3, "NMX").

use super::counters::TrackCounters;
use super::track_settings::{PositionSettings, SpanSettings, TrackSettings};
use crate::cluster::Cluster;
use crate::panel_former::PanelMatch;
use crate::settings::Picoseconds;
use evforge_core::event::PixelId;
use evforge_core::geometry::{Coordinates, LogicalGeometry};

/// Which matched clusters are events, and where.
#[derive(Clone, Copy, Debug)]
pub struct Locator {
    settings: PositionSettings,
    /// In ticks. Without meaning where there are no spans to check.
    max_time_span: u64,
    max_amplitude_permille: Option<u64>,
    geometry: LogicalGeometry,
    has_sectors: bool,
}

impl Locator {
    /// For settings that have been checked. `ticks` converts durations.
    pub fn new(settings: &TrackSettings, ticks: impl Fn(Picoseconds) -> u64) -> Self {
        Self {
            settings: settings.position,
            max_time_span: settings.position.spans.map_or(u64::MAX, |spans| ticks(spans.max_time)),
            max_amplitude_permille: settings.matching.max_amplitude_permille,
            geometry: settings.geometry,
            has_sectors: settings.sectors > 1,
        }
    }

    /// Finds the pixel of matched clusters of a panel. Counts their hits as in an event or under the reason why not.
    #[inline]
    pub fn locate(&self, found: &PanelMatch, counters: &mut TrackCounters) -> Option<PixelId> {
        let PanelMatch { panel, matched, .. } = found;
        let hits = matched.hits();
        let [x, y] = &matched.planes;
        counters.joined_clusters += u64::from(matched.joined);
        if matched.is_ambiguous {
            counters.ambiguous_pairs += 1;
            if matched.is_dropped {
                counters.ambiguous += hits;
                return None;
            }
        }
        if y.hits == 0 {
            counters.only_x += hits;
            return None;
        }
        if x.hits == 0 {
            counters.only_y += hits;
            return None;
        }
        let settings = &self.settings;
        if let Some(spans) = &settings.spans
            && let Some(counter) = self.beyond_spans(spans, [x, y], counters)
        {
            *counter += hits;
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
        if self.max_amplitude_permille.is_some_and(|permille| !matched.amplitudes_agree(permille)) {
            counters.amplitude_mismatch += hits;
            return None;
        }
        let coordinate = |centre: u64| u32::try_from(centre).unwrap_or(u32::MAX);
        let (x, y) = (coordinate(x.centre(settings.weighted)), coordinate(y.centre(settings.weighted)));
        let panel = if self.has_sectors { 0 } else { *panel };
        let pixel = self.geometry.pixel(Coordinates { x, y, z: 0, panel });
        if pixel == 0 {
            counters.outside_geometry += hits;
            return None;
        }
        counters.hits_in_events += hits;
        counters.events += 1;
        Some(pixel)
    }

    /// The counter of the first limit that an event is beyond: on x too many strips, too few, too long a time, then
    /// the same on y.
    #[inline]
    fn beyond_spans<'a>(
        &self,
        spans: &SpanSettings,
        planes: [&Cluster; 2],
        counters: &'a mut TrackCounters,
    ) -> Option<&'a mut u64> {
        let beyond = |plane: usize| {
            let (strips, time) = (planes[plane].strip_span(), planes[plane].time_span());
            [strips > spans.max_strips[plane], strips < spans.min_strips[plane], time > self.max_time_span]
        };
        match [beyond(0), beyond(1)] {
            [[true, ..], _] => Some(&mut counters.too_wide_x),
            [[_, true, _], _] => Some(&mut counters.too_narrow_x),
            [[_, _, true], _] => Some(&mut counters.too_long_x),
            [_, [true, ..]] => Some(&mut counters.too_wide_y),
            [_, [_, true, _]] => Some(&mut counters.too_narrow_y),
            [_, [_, _, true]] => Some(&mut counters.too_long_y),
            _ => None,
        }
    }
}
