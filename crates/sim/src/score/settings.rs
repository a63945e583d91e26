//! Within which limits an event is a neutron's, and why events cannot be scored.

use serde::Serialize;

/// How far an event may lie from the neutron that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScoreSettings {
    /// Largest difference between the time of an event, less [`ScoreSettings::time_offset_ns`], and that of its
    /// neutron, in nanoseconds.
    pub largest_time_ns: u64,
    /// Largest distance between the centre of an event's pixel and its neutron: columns, rows and layers, in pixels, at
    /// least [`ScoreSettings::SMALLEST_DISTANCE`].
    pub largest_distance: [f64; 3],
    /// How much later than the truth events are by design, in nanoseconds.
    pub time_offset_ns: i64,
    /// The rate at a moment is that of the neutrons this many nanoseconds before and after it.
    pub rate_window_ns: u64,
}

impl ScoreSettings {
    /// Half a pixel: the centre of a pixel can be that far from a neutron in it.
    pub const SMALLEST_DISTANCE: f64 = 0.5;

    pub(super) fn check(&self) -> Result<(), ScoreError> {
        let wrong = self
            .largest_distance
            .iter()
            .find(|distance| !(**distance >= Self::SMALLEST_DISTANCE && distance.is_finite()));
        wrong.map_or(Ok(()), |distance| Err(ScoreError::Distance(*distance)))
    }
}

impl Default for ScoreSettings {
    /// A microsecond and three pixels; rates are those of two milliseconds.
    fn default() -> Self {
        Self {
            largest_time_ns: 1000,
            largest_distance: [3.0; 3],
            time_offset_ns: 0,
            rate_window_ns: 1_000_000,
        }
    }
}

/// How far an event may lie from its neutron where events are spread so about the truth (RMS along each axis, in pixels): twice the
/// resolution, which is the full width at half maximum, and at least half a pixel.
pub fn tolerance(spread: [f64; 3]) -> [f64; 3] {
    /// Full width at half maximum of a normal distribution: 2 √(2 ln 2) of its spread.
    const WIDTH: f64 = 2.355;
    spread.map(|pixels| (2.0 * WIDTH * pixels).max(ScoreSettings::SMALLEST_DISTANCE))
}

/// Why events cannot be scored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScoreError {
    /// A largest distance is less than half a pixel, or not a number.
    #[error(
        "the largest distance is {0} pixels: it must be a number of at least {least} (half a pixel)",
        least = ScoreSettings::SMALLEST_DISTANCE
    )]
    Distance(f64),
    /// A pixel is not of the detector.
    #[error(
        "{what} has pixel {pixel_id}, but the detector has pixels 1 to {pixel_count}: is this the configuration that truth \
         and events were made with?"
    )]
    Pixel {
        /// What has it: "neutron 7", "event 7".
        what: String,
        /// Its pixel.
        pixel_id: u32,
        /// Pixels of the detector.
        pixel_count: u32,
    },
    /// So many events lie within the limits of so many neutrons that pairs would be arbitrary.
    #[error(
        "more than {pairs} pairs of {neutrons} neutrons and their events are close in time: allow less time or distance \
         (are the times nanoseconds?)"
    )]
    TooManyPairs {
        /// Neutrons.
        neutrons: usize,
        /// Pairs that were looked at before giving up.
        pairs: u64,
    },
}
