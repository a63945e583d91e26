//! What can be looked at: the pictures of the detector and of beam monitors, and maps of an axis against time of flight.

use crate::protocol::PictureState;
use crate::shared::lock;
use crate::spectrum::{SpectrumBins, TimeBins};
use evforge_core::geometry::LogicalGeometry;
use evforge_picture::{Axis, PictureSet, Unit, long_axes};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A map: a part of the pixels, and the axis of them that goes upwards.
#[derive(Clone, Copy, Debug)]
struct Map {
    axis: usize,
    letter: char,
    rows: u32,
}

/// The pictures of a run, and where each pixel is in each of them.
#[derive(Debug)]
pub(crate) struct Pictured {
    set: PictureSet,
    maps: Vec<Map>,
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
        // Maps are of the detector: of its first picture.
        let is_of_detector = set.plans().first().is_some_and(|plan| !plan.is_monitor);
        let axes = long_axes(geometry).filter(|_| is_of_detector && has_events);
        let maps =
            axes.map(|(axis, letter)| Map { axis, letter, rows: set.places_along(0, axis).1 }).collect();
        let width_ns = u32::try_from(bins.width_ns).unwrap_or(u32::MAX);
        let bins = TimeBins { from_ns: 0, width_ns, count: bins.count as u32 };
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

    fn map(&self, picture: usize) -> Option<Map> {
        self.maps.get(picture.checked_sub(self.set.plans().len())?).copied()
    }

    /// True for a map against time of flight.
    pub(crate) fn is_map(&self, picture: usize) -> bool {
        self.map(picture).is_some()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let maps = self.maps.iter().map(|map| format!("{}-tof", map.letter));
        self.set.plans().iter().map(|plan| plan.name.clone()).chain(maps).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names().iter().position(|known| known == name)
    }

    /// Columns and rows of a picture, with so many bins.
    pub(crate) fn size(&self, picture: usize, bins: u32) -> [u32; 2] {
        match (self.map(picture), self.set.plans().get(picture)) {
            (Some(map), _) => [bins, map.rows],
            (None, Some(plan)) => [plan.across.pixels, plan.up.pixels],
            (None, None) => [0, 0],
        }
    }

    /// Where each pixel is in a picture, pixel 1 first; in a map, its row.
    pub(crate) fn places(&self, picture: usize) -> Arc<[u32]> {
        let mut places = lock(&self.places);
        let table = places.entry(picture).or_insert_with(|| match self.map(picture) {
            Some(map) => self.set.places_along(0, map.axis).0.into(),
            None => self.set.places(picture).into(),
        });
        Arc::clone(table)
    }

    /// Which part of the pixels a picture shows: its number among the parts with spectra of their own.
    pub(crate) fn part_of(&self, picture: usize) -> usize {
        let plans = self.set.plans();
        let picture = if picture < plans.len() { picture } else { 0 };
        plans[..=picture.min(plans.len().saturating_sub(1))]
            .iter()
            .filter(|plan| plan.is_first)
            .count()
            .max(1)
            - 1
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
        let of_monitor = |(which, plan): (usize, &evforge_picture::PicturePlan)| {
            let (first, geometry) = self.set.part(which).filter(|_| plan.is_monitor)?;
            Some((plan.name.clone(), first..first + geometry.pixel_count() as usize))
        };
        self.set.plans().iter().enumerate().filter_map(of_monitor).collect()
    }

    /// What the greeting says of all of them.
    pub(crate) fn states(&self) -> Vec<PictureState> {
        let detector = self.set.plans().first();
        let map = |map: &Map| PictureState {
            name: format!("{}-tof", map.letter),
            title: format!("{} against time of flight", map.letter),
            plane: detector.map_or("xy", |plan| plan.plane.name()),
            is_monitor: false,
            is_map: true,
            panels: 1,
            across: Axis {
                label: "time of flight (bin)".into(),
                unit: Unit::Bin,
                pixels: self.bins.count,
                first: 0.0,
                step: 1.0,
                pitch: None,
            },
            up: Axis::new(map.axis, map.rows, 1, None),
        };
        self.set.plans().iter().map(PictureState::of).chain(self.maps.iter().map(map)).collect()
    }
}
