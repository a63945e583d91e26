//! What can be looked at: the pictures of the detector and of beam monitors, and maps of an axis against time of flight.

use super::limits::most_map_cells;
use crate::lock::lock;
use crate::protocol::PictureState;
use crate::spectrum::{SpectrumBins, TimeBins};
use evforge_core::geometry::LogicalGeometry;
use evforge_picture::{PicturePlan, PictureSet, long_axes};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The pictures of a run, and where each pixel is in each of them.
#[derive(Debug)]
pub(crate) struct Pictured {
    set: PictureSet,
    /// Axis and plan of each map.
    maps: Vec<(usize, PicturePlan)>,
    bins: TimeBins,
    has_events: bool,
    /// Made when they are first asked for.
    places: Mutex<HashMap<usize, Arc<[u32]>>>,
}

impl Pictured {
    pub(crate) fn new(
        set: PictureSet,
        geometry: &LogicalGeometry,
        bins: SpectrumBins,
        has_events: bool,
    ) -> Self {
        let width_ns = u32::try_from(bins.width_ns).unwrap_or(u32::MAX);
        let bins = TimeBins { from_ns: 0, width_ns, count: bins.count as u32 };
        let axes = long_axes(geometry).filter(|_| has_events);
        let maps = axes.filter_map(|(axis, _)| Some((axis, set.map(axis, bins.count)?))).collect();
        Self { set, maps, bins, has_events, places: Mutex::default() }
    }

    /// The pictures without the maps.
    pub(crate) fn set(&self) -> &PictureSet {
        &self.set
    }

    /// Bins if nothing else is asked for.
    pub(crate) fn bins(&self) -> TimeBins {
        self.bins
    }

    /// False where pictures are not counted of events.
    pub(crate) fn has_events(&self) -> bool {
        self.has_events
    }

    fn map(&self, picture: usize) -> Option<&(usize, PicturePlan)> {
        self.maps.get(picture.checked_sub(self.set.plans().len())?)
    }

    /// True for a map against time of flight.
    pub(crate) fn is_map(&self, picture: usize) -> bool {
        self.map(picture).is_some()
    }

    /// All plans, those of maps behind the others.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &PicturePlan> {
        self.set.plans().iter().chain(self.maps.iter().map(|(_, plan)| plan))
    }

    /// Cells that a map may have.
    pub(crate) fn most_map_cells(&self) -> usize {
        most_map_cells(self.plans())
    }

    /// The plan of a picture, with so many bins.
    pub(crate) fn plan(&self, picture: usize, bins: u32) -> Option<PicturePlan> {
        match self.map(picture) {
            Some((axis, _)) => self.set.map(*axis, bins),
            None => self.set.plans().get(picture).cloned(),
        }
    }

    pub(crate) fn name(&self, picture: usize) -> String {
        self.plans().nth(picture).map(|plan| plan.name.clone()).unwrap_or_default()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.plans().map(|plan| plan.name.clone()).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names().iter().position(|known| known == name)
    }

    /// Columns and rows of a picture, with so many bins.
    pub(crate) fn size(&self, picture: usize, bins: u32) -> [u32; 2] {
        match (self.map(picture), self.set.plans().get(picture)) {
            (Some((_, plan)), _) => [bins, plan.up.pixels],
            (None, Some(plan)) => [plan.across.pixels, plan.up.pixels],
            (None, None) => [0, 0],
        }
    }

    /// Where each pixel is in a picture, pixel 1 first; in a map, its row. Those of a section are made each time, and belong to who asks.
    pub(crate) fn places(&self, picture: usize, layers: Option<[u32; 2]>) -> Arc<[u32]> {
        if let Some(layers) = layers {
            return self.set.places_within(picture, layers).into();
        }
        let mut places = lock(&self.places);
        let table = places.entry(picture).or_insert_with(|| match self.map(picture) {
            Some(&(axis, _)) => self.set.places_along(0, axis).0.into(),
            None => self.set.places(picture).into(),
        });
        Arc::clone(table)
    }

    /// Which part of the pixels a picture shows: its number among the parts with spectra of their own.
    pub(crate) fn part_of(&self, picture: usize) -> usize {
        self.plans().nth(picture).map_or(0, |plan| plan.part)
    }

    /// The pixels of each part, from 0: those of the detector, then those of beam monitors.
    pub(crate) fn parts(&self) -> Vec<Range<usize>> {
        let first = self.set.plans().iter().enumerate().filter(|(_, plan)| plan.is_first);
        let range =
            |(which, _)| self.set.part(which).map(|(first, g)| first..first + g.pixel_count() as usize);
        first.filter_map(range).collect()
    }

    /// Names and pixels of the beam monitors that have events.
    pub(crate) fn monitors(&self) -> Vec<(String, Range<usize>)> {
        let of_monitor = |(which, plan): (usize, &PicturePlan)| {
            let (first, geometry) = self.set.part(which).filter(|_| plan.is_monitor)?;
            Some((plan.name.clone(), first..first + geometry.pixel_count() as usize))
        };
        self.set.plans().iter().enumerate().filter_map(of_monitor).collect()
    }

    /// What the greeting says of all of them.
    pub(crate) fn states(&self) -> Vec<PictureState> {
        self.plans().map(PictureState::of).collect()
    }
}
