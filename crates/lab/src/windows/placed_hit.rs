//! A hit with its place, whatever the readout.

use evforge_sim::layout::Place;

/// A hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedHit {
    /// What its channel reads.
    pub place: Place,
    /// When, in picoseconds on the clock of the electronics.
    pub time_ps: i128,
    /// Its amplitude.
    pub amplitude: u16,
}
