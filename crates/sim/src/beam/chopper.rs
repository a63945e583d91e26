//! A chopper in the beam: it lets neutrons through while it is open, in phase with the source.

use super::arrivals::PICOSECONDS_PER_METRE_ANGSTROM;
use super::settings::ChopperSettings;
use crate::error::{SimulationError, refuse};
use std::ops::Range;

/// Windows that a chopper has at most.
const MOST_WINDOWS: usize = 64;

/// A chopper, for one flight path.
#[derive(Clone, Debug)]
pub struct Chopper {
    open_ps: Vec<Range<u64>>,
    /// How long a neutron of 1 ångström flies from the chopper to the detector.
    flight_ps: f64,
    columns: Option<Vec<u32>>,
}

impl Chopper {
    /// A chopper of a beam with a flight path of this many metres.
    ///
    /// # Errors
    /// If a window is empty or its end before its start, there are none or too many, or the chopper is behind the detector.
    pub fn new(settings: &ChopperSettings, flight_path: f64) -> Result<Self, SimulationError> {
        let ChopperSettings { open, distance, columns } = settings;
        if open.is_empty() || open.len() > MOST_WINDOWS {
            let expected = format!("1 to {MOST_WINDOWS}, such as [[\"10ms\", \"15ms\"]]");
            return refuse("chopper.open", format!("{} windows", open.len()), &expected);
        }
        if let Some([from, to]) = open.iter().find(|[from, to]| from >= to) {
            return refuse(
                "chopper.open",
                format!("[{from}, {to}]"),
                "the start and then the end of a window",
            );
        }
        let distance = distance.unwrap_or(flight_path);
        if !(0.0..=flight_path).contains(&distance) {
            let expected = format!("0 to {flight_path} metres, where the detector is (flight_path)");
            return refuse("chopper.distance", distance, &expected);
        }
        Ok(Self {
            open_ps: open.iter().map(|[from, to]| from.picoseconds..to.picoseconds).collect(),
            flight_ps: (flight_path - distance) * PICOSECONDS_PER_METRE_ANGSTROM,
            columns: columns.clone(),
        })
    }

    /// True if a neutron passes that arrives at this column of the detector at this time after its pulse. What is still on
    /// its way from a pulse before passed the chopper in the period before: that one opens as any other.
    pub fn passes(&self, column: u32, time_ps: u64, wavelength: f32, period_ps: u64) -> bool {
        if self.columns.as_ref().is_some_and(|columns| !columns.contains(&column)) {
            return true;
        }
        let period = i128::from(period_ps.max(1));
        let flight = (self.flight_ps * f64::from(wavelength)) as i128;
        let at_chopper = (i128::from(time_ps) - flight).rem_euclid(period) as u64;
        self.open_ps.iter().any(|open| open.contains(&at_chopper))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> ChopperSettings {
        toml::from_str(text).unwrap()
    }

    const MS: u64 = 1_000_000_000;

    #[test]
    fn the_openings_are_those_at_the_chopper() {
        let at_detector =
            Chopper::new(&settings("open = [['10ms', '12ms'], ['20ms', '21ms']]"), 35.0).unwrap();
        let times = [9_999_999_999, 10 * MS, 12 * MS - 1, 12 * MS, 20 * MS, 21 * MS];
        let passes = times.map(|time| at_detector.passes(0, time, 2.0, 71 * MS));
        assert_eq!(passes, [false, true, true, false, true, false]);
        // 10 m before the detector: 2 Å are there 5.06 ms earlier.
        let before = Chopper::new(&settings("open = [['10ms', '12ms']]\ndistance = 25.0"), 35.0).unwrap();
        let passes = [15.0, 15.1, 17.0, 17.1].map(|ms| before.passes(0, (ms * 1e9) as u64, 2.0, 71 * MS));
        assert_eq!(passes, [false, true, true, false]);
        // A neutron that is still on its way when the next pulse begins.
        assert!(before.passes(0, MS, 24.13, 71 * MS), "61 ms earlier, in the period before");
        let one = Chopper::new(&settings("open = [['10ms', '12ms']]\ncolumns = [1]"), 35.0).unwrap();
        assert_eq!([0, 1].map(|column| one.passes(column, 5 * MS, 2.0, 71 * MS)), [true, false]);
    }

    #[test]
    fn what_no_chopper_is_is_refused() {
        let refused = |text: &str| Chopper::new(&settings(text), 35.0).map(|_| ()).unwrap_err().to_string();
        assert!(
            refused("open = []")
                .starts_with("simulation.beam.chopper.open: found 0 windows, expected 1 to 64")
        );
        let window = refused("open = [['2ms', '2ms']]");
        assert_eq!(
            window,
            "simulation.beam.chopper.open: found [2ms, 2ms], expected the start and then the end of a window"
        );
        assert!(refused("open = [['1ms', '2ms']]\ndistance = 36.0").contains("expected 0 to 35 metres"));
    }
}
