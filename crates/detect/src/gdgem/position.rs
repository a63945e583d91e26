//! Matched clusters to an event, or the reason why there is none (EFU formats of 2018, section 4.6,
//! "Analyse event" and "Filter"; ESS readout formats, section 3, "NMX").

use super::counters::TrackCounters;
use super::track_settings::{PositionSettings, SpanSettings, TrackSettings};
use crate::cluster::Cluster;
use crate::matched_clusters::{MatchedClusters, PLANES};
use crate::other_panel::MatchOf;
use crate::panel_former::PanelMatch;
use crate::settings::Picoseconds;
use crate::third_plane::MadeOf;
use evforge_core::event::PixelId;
use evforge_core::geometry::{Coordinates, LogicalGeometry};

/// Which matched clusters are events, and where.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
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
        if found.of != MatchOf::TwoPlanes {
            return self.locate_other(found, counters);
        }
        let PanelMatch { panel, matched, .. } = found;
        let hits = matched.hits();
        counters.joined_clusters += u64::from(matched.joined);
        self.locate_pair(*panel, matched, hits, self.max_amplitude_permille, counters)
    }

    /// As [`Locator::locate`], of panels without two planes.
    #[cold]
    fn locate_other(&self, found: &PanelMatch, counters: &mut TrackCounters) -> Option<PixelId> {
        let hits = found.hits();
        let PanelMatch { panel, of, matched, .. } = found;
        let [x, y] = &matched.planes;
        let made_of = match of {
            MatchOf::OnePlane(0) => return self.place(*panel, [Some(x), None], hits, counters),
            MatchOf::OnePlane(_) => return self.place(*panel, [None, Some(y)], hits, counters),
            // Pads have their hits on x; each axis has as many.
            MatchOf::Pads => {
                let rows = Cluster { hits: x.hits, ..*y };
                return self.place(*panel, [Some(x), Some(&rows)], hits, counters);
            }
            MatchOf::ThreePlanes(made_of) => *made_of,
            MatchOf::TwoPlanes => MadeOf::Unconfirmed,
        };
        if made_of == MadeOf::OnlyThird {
            counters.only_u += hits;
            return None;
        }
        // The amplitudes of u need not be as those of x and y.
        let max_amplitude_permille = self.max_amplitude_permille.filter(|_| made_of != MadeOf::WithThird);
        let pixel = self.locate_pair(*panel, matched, hits, max_amplitude_permille, counters)?;
        match made_of {
            MadeOf::Confirmed(_) => counters.confirmed_events += 1,
            MadeOf::WithThird => counters.events_from_u += 1,
            MadeOf::Unconfirmed | MadeOf::OnlyThird => counters.unconfirmed_events += 1,
        }
        Some(pixel)
    }

    /// The pixel of clusters of x and y, of which one may be missing, with all their `hits`.
    #[inline(always)]
    fn locate_pair(
        &self,
        panel: u32,
        matched: &MatchedClusters,
        hits: u64,
        max_amplitude_permille: Option<u64>,
        counters: &mut TrackCounters,
    ) -> Option<PixelId> {
        let [x, y] = &matched.planes;
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
        if self.is_uncertain(lower, upper) {
            counters.too_uncertain += hits;
            return None;
        }
        if max_amplitude_permille.is_some_and(|permille| !matched.amplitudes_agree(permille)) {
            counters.amplitude_mismatch += hits;
            return None;
        }
        self.pixel(panel, [x.centre(settings.weighted), y.centre(settings.weighted)], hits, counters)
    }

    /// The pixel of clusters of single planes, or of the columns and rows of pads: strip 0 where there is no plane.
    fn place(
        &self,
        panel: u32,
        planes: [Option<&Cluster>; PLANES],
        hits: u64,
        counters: &mut TrackCounters,
    ) -> Option<PixelId> {
        let settings = &self.settings;
        if let Some(spans) = &settings.spans {
            let beyond =
                |plane: usize| planes[plane].map_or([false; 3], |cluster| self.beyond(spans, plane, cluster));
            if let Some(counter) = counter_beyond([beyond(0), beyond(1)], counters) {
                *counter += hits;
                return None;
            }
        }
        let clusters = || planes.into_iter().flatten();
        if settings.minimum_hits.is_some_and(|least| clusters().any(|cluster| cluster.hits < least)) {
            counters.too_few_hits += hits;
            return None;
        }
        let lower = clusters().map(Cluster::lower_uncertainty).max().unwrap_or(0);
        let upper = clusters().map(|cluster| cluster.bins.strip_span()).max().unwrap_or(0);
        if self.is_uncertain(lower, upper) {
            counters.too_uncertain += hits;
            return None;
        }
        let centre =
            |cluster: Option<&Cluster>| cluster.map_or(0, |cluster| cluster.centre(settings.weighted));
        self.pixel(panel, planes.map(centre), hits, counters)
    }

    #[inline(always)]
    fn is_uncertain(&self, lower: u16, upper: u16) -> bool {
        self.settings.lower_uncertainty_limit.is_some_and(|limit| lower >= limit)
            || self.settings.upper_uncertainty_limit.is_some_and(|limit| upper >= limit)
    }

    /// The pixel of an event, which is counted.
    #[inline(always)]
    fn pixel(
        &self,
        panel: u32,
        centres: [u64; PLANES],
        hits: u64,
        counters: &mut TrackCounters,
    ) -> Option<PixelId> {
        let [x, y] = centres.map(|centre| u32::try_from(centre).unwrap_or(u32::MAX));
        let panel = if self.has_sectors { 0 } else { panel };
        let pixel = self.geometry.pixel(Coordinates { x, y, z: 0, panel });
        if pixel == 0 {
            counters.outside_geometry += hits;
            return None;
        }
        counters.hits_in_events += hits;
        counters.events += 1;
        Some(pixel)
    }

    /// The counter of the first limit that an event is beyond.
    #[inline]
    fn beyond_spans<'a>(
        &self,
        spans: &SpanSettings,
        planes: [&Cluster; PLANES],
        counters: &'a mut TrackCounters,
    ) -> Option<&'a mut u64> {
        let beyond = |plane: usize| self.beyond(spans, plane, planes[plane]);
        counter_beyond([beyond(0), beyond(1)], counters)
    }

    /// Whether a cluster has too many strips, too few, or takes too long.
    #[inline]
    fn beyond(&self, spans: &SpanSettings, plane: usize, cluster: &Cluster) -> [bool; 3] {
        let (strips, time) = (cluster.strip_span(), cluster.time_span());
        [strips > spans.max_strips[plane], strips < spans.min_strips[plane], time > self.max_time_span]
    }
}

/// The counter of the first limit that an event is beyond: on x too many strips, too few, too long a time, then the same
/// on y.
#[inline]
fn counter_beyond(beyond: [[bool; 3]; PLANES], counters: &mut TrackCounters) -> Option<&mut u64> {
    match beyond {
        [[true, ..], _] => Some(&mut counters.too_wide_x),
        [[_, true, _], _] => Some(&mut counters.too_narrow_x),
        [[_, _, true], _] => Some(&mut counters.too_long_x),
        [_, [true, ..]] => Some(&mut counters.too_wide_y),
        [_, [_, true, _]] => Some(&mut counters.too_narrow_y),
        [_, [_, _, true]] => Some(&mut counters.too_long_y),
        _ => None,
    }
}
