//! Two neutrons in one trigger.
//!
//! One neutron gives its charge to one wire, or to neighbours, and to one grid or to neighbours. Two neutrons
//! that come at once are read out in one trigger and look like one at a position in between. The rule: wires,
//! or grids, whose amplitude reaches a threshold lie apart by at least the configured separation in columns,
//! layers or rows.

use super::channel::Channel;
use super::digital_geometry::Coordinates;

/// Takes the hits of one trigger and says whether they are those of two neutrons.
pub trait DoubleNeutrons: Copy + Default {
    /// Whether they are looked for: what [`DoubleNeutrons::take`] gets is looked up only then.
    const LOOKED_FOR: bool;

    /// Takes a hit; a channel that is none changes nothing, nor does an amplitude below the threshold.
    fn take(&mut self, at: Coordinates, channel: Channel, amplitude: u16, threshold: u16);

    /// True if some of the hits are at least so far apart, which is above 0.
    fn is_double(&self, separation: u16) -> bool;
}

/// Does not look for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotLookedFor;

impl DoubleNeutrons for NotLookedFor {
    const LOOKED_FOR: bool = false;

    #[inline(always)]
    fn take(&mut self, _: Coordinates, _: Channel, _: u16, _: u16) {}

    #[inline(always)]
    fn is_double(&self, _: u16) -> bool {
        false
    }
}

/// Smallest and largest coordinate seen.
#[derive(Clone, Copy, Debug)]
struct Extent {
    first: u32,
    last: u32,
}

impl Extent {
    const NOTHING: Self = Self { first: u32::MAX, last: 0 };

    /// Takes a coordinate where the mask is all ones, and none where it is 0: without a branch, as all of the hot path.
    #[inline(always)]
    fn take(&mut self, coordinate: u16, mask: u32) {
        self.first = self.first.min(u32::from(coordinate) | !mask);
        self.last = self.last.max(u32::from(coordinate) & mask);
    }

    #[inline(always)]
    fn reaches(self, separation: u16) -> bool {
        self.last.saturating_sub(self.first) >= u32::from(separation)
    }
}

/// How far apart the hits of a trigger are.
#[derive(Clone, Copy, Debug)]
pub struct Extents {
    columns: Extent,
    layers: Extent,
    rows: Extent,
}

impl Default for Extents {
    fn default() -> Self {
        Self { columns: Extent::NOTHING, layers: Extent::NOTHING, rows: Extent::NOTHING }
    }
}

impl DoubleNeutrons for Extents {
    const LOOKED_FOR: bool = true;

    #[inline(always)]
    fn take(&mut self, at: Coordinates, channel: Channel, amplitude: u16, threshold: u16) {
        let reaches = u32::from(amplitude >= threshold).wrapping_neg();
        let wire = channel.wire_mask() as u32 & reaches;
        let grid = channel.grid_mask() as u32 & reaches;
        self.columns.take(at.across, wire);
        self.layers.take(at.layer, wire);
        self.rows.take(at.across, grid);
    }

    #[inline(always)]
    fn is_double(&self, separation: u16) -> bool {
        self.columns.reaches(separation) | self.layers.reaches(separation) | self.rows.reaches(separation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_that_lie_apart_are_double_if_both_reach_the_threshold() {
        let wire = |across, layer| (Coordinates { across, layer }, Channel::wire(0));
        let grid = |across| (Coordinates { across, layer: 0 }, Channel::grid(0));
        let none = (Coordinates { across: 9, layer: 9 }, Channel::default());
        let is_double = |hits: &[((Coordinates, Channel), u16)]| {
            let mut extents = Extents::default();
            for &((at, channel), amplitude) in hits {
                extents.take(at, channel, amplitude, 300);
            }
            extents.is_double(3)
        };
        assert!(!is_double(&[]) && !is_double(&[(wire(7, 3), 400), (grid(0), 400), (none, 400)]));
        assert!(is_double(&[(wire(7, 3), 300), (grid(5), 400), (wire(7, 6), 300)]), "layers");
        assert!(is_double(&[(wire(4, 3), 300), (grid(5), 400), (wire(7, 3), 300)]), "columns");
        assert!(is_double(&[(grid(8), 300), (grid(5), 300)]), "rows");
        assert!(!is_double(&[(grid(7), 300), (grid(5), 300)]), "neighbours");
        assert!(!is_double(&[(grid(8), 299), (grid(5), 300)]), "too weak");
    }
}
