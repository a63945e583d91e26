//! The channels of a detector: each reads a wire, grid, strip or pixel of one plane of one module.

/// What a channel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The part of the detector that is reconstructed by itself: panel, cassette, column of grids, module.
    pub module: u16,
    /// Plane in the module: 0 or 1; 0 for pixels.
    pub plane: u8,
    /// Wire, grid, strip or pixel, from 0.
    pub coordinate: u16,
}

/// All channels, numbered from 0 in the order of their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    places: Vec<Place>,
    /// For each module and plane the numbers of its channels by coordinate.
    planes: Vec<Vec<u32>>,
    modules: usize,
}

/// No channel reads the coordinate.
const NONE: u32 = u32::MAX;
/// Planes that a module can have.
const PLANES: usize = 2;

impl Layout {
    /// The channels that read these places; those beyond plane 1 are left out. A place that stands twice is one
    /// channel.
    pub fn new(mut places: Vec<Place>) -> Self {
        places.retain(|place| usize::from(place.plane) < PLANES);
        places.sort_unstable();
        places.dedup();
        let modules = places.last().map_or(0, |place| usize::from(place.module) + 1);
        let mut planes = vec![Vec::new(); modules * PLANES];
        for (place, number) in places.iter().zip(0..) {
            let plane = &mut planes[usize::from(place.module) * PLANES + usize::from(place.plane)];
            plane.resize(usize::from(place.coordinate) + 1, NONE);
            plane[usize::from(place.coordinate)] = number;
        }
        Self { places, planes, modules }
    }

    /// Number of channels.
    pub fn channel_count(&self) -> usize {
        self.places.len()
    }

    /// Number of modules.
    pub fn module_count(&self) -> usize {
        self.modules
    }

    /// How many coordinates a plane of a module has, with those that no channel reads below the last one.
    pub fn coordinates(&self, module: u16, plane: u8) -> usize {
        let index = usize::from(module) * PLANES + usize::from(plane);
        self.planes.get(index).filter(|_| usize::from(plane) < PLANES).map_or(0, Vec::len)
    }

    /// The places, by the channels' numbers.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The channel that reads a place, or none.
    #[inline]
    pub fn channel(&self, place: Place) -> Option<u32> {
        let plane = usize::from(place.module) * PLANES + usize::from(place.plane);
        let channel = *self.planes.get(plane)?.get(usize::from(place.coordinate))?;
        (channel != NONE && usize::from(place.plane) < PLANES).then_some(channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_channels_belong_to_one_another() {
        let place = |module, plane, coordinate| Place { module, plane, coordinate };
        let layout =
            Layout::new(vec![place(2, 1, 5), place(0, 0, 3), place(0, 0, 3), place(2, 1, 7), place(1, 4, 0)]);
        assert_eq!((layout.channel_count(), layout.module_count()), (3, 3));
        for (channel, at) in layout.places().iter().enumerate() {
            assert_eq!(layout.channel(*at), Some(channel as u32));
        }
        let counts = [(2, 1), (0, 0), (0, 1), (1, 0), (2, 2), (3, 0)];
        assert_eq!(counts.map(|(module, plane)| layout.coordinates(module, plane)), [8, 4, 0, 0, 0, 0]);
        for nothing in [place(2, 1, 6), place(2, 0, 5), place(2, 2, 5), place(3, 0, 0), place(1, 0, 0)] {
            assert_eq!(layout.channel(nothing), None, "{nothing:?}");
        }
    }
}
