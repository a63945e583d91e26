//! How fast the reference is: the ESS Event Formation Unit of August 2018, packets in memory, one core, without
//! traces, parsing and event formation including its output buffer.
//!
//! The figures were measured on one machine on which the yardstick sorted 93.9 million keys a second; what is
//! kept is the number of readouts in the time of one key.

/// Keys per second of the yardstick on the machine of the reference's figures.
const KEYS_PER_SECOND: f64 = 93.9e6;

/// The reference's speed on one capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReferenceSpeed {
    /// Section of the detector in a configuration.
    pub section: &'static str,
    /// How the events are formed, where there is a choice.
    pub strategy: Option<&'static str>,
    /// Name of the capture file, without its ending.
    pub capture: &'static str,
    /// Readouts in the capture, so that another file of that name is not taken for it.
    pub readouts: u64,
    readouts_per_second: f64,
}

impl ReferenceSpeed {
    /// Readouts formed in the time in which the yardstick sorts one key.
    pub fn readouts_per_key(&self) -> f64 {
        self.readouts_per_second / KEYS_PER_SECOND
    }
}

const fn speed(
    section: &'static str,
    strategy: Option<&'static str>,
    capture: &'static str,
    readouts: u64,
    millions_per_second: f64,
) -> ReferenceSpeed {
    ReferenceSpeed { section, strategy, capture, readouts, readouts_per_second: millions_per_second * 1e6 }
}

const MAXIMUM: Option<&str> = Some("maximum");
const CENTER_MASS: Option<&str> = Some("center-mass");
const PRIORITIZED: Option<&str> = Some("prioritized");

const SPEEDS: [ReferenceSpeed; 11] = [
    speed("sonde", None, "generated_255", 65_280, 145.0),
    speed("multigrid", MAXIMUM, "recorded_ws1to4", 694, 133.0),
    speed("multigrid", MAXIMUM, "generated_jumbo", 154_054, 71.5),
    speed("multigrid", CENTER_MASS, "generated_jumbo", 154_054, 66.0),
    speed("multigrid", PRIORITIZED, "generated_jumbo", 154_054, 36.4),
    speed("multiblade", None, "recorded_2018", 116_887, 65.3),
    speed("multiblade", None, "generated", 209_600, 75.8),
    speed("gdgem", None, "vmm2_run16", 204, 30.8),
    speed("gdgem", None, "vmm2_recorded_2018", 109_480, 8.7),
    speed("gdgem", None, "vmm3_recorded_2018", 109_480, 9.7),
    speed("gdgem", None, "vmm3a_srs", 149_180, 11.4),
];

/// The reference's speed with the detector of `section`, by `strategy`, on a capture file of that name (without
/// its ending) and size; none if it was not measured.
pub fn reference_speed(
    section: &str,
    strategy: Option<&str>,
    capture: &str,
    readouts: u64,
) -> Option<ReferenceSpeed> {
    SPEEDS.into_iter().find(|speed| {
        (speed.section, speed.capture, speed.readouts) == (section, capture, readouts)
            && (speed.strategy.is_none() || speed.strategy == strategy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_belongs_to_a_capture_and_a_strategy() {
        let found = reference_speed("multigrid", Some("center-mass"), "generated_jumbo", 154_054);
        assert_eq!(found.map(|speed| (speed.readouts_per_key() * 100.0).round()), Some(70.0));
        assert_eq!(reference_speed("multigrid", Some("center-mass"), "recorded_ws1to4", 694), None);
        assert_eq!(reference_speed("gdgem", None, "vmm3a_srs", 1), None);
    }
}
