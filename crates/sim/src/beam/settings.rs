//! `[simulation.beam]`: what is in the beam, and the checks of its values.

use super::image::settings::ImageSettings;
use super::moderator::Moderator;
use crate::error::{SimulationError, refuse};
use evforge_core::quantity::{Frequency, TimeSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What happens to neutrons that are still on their way when the next pulse begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameOverlap {
    /// Choppers stop them: the rate is made of the others.
    #[default]
    Cut,
    /// They arrive during later pulses, as from every pulse before: time of flight is short by whole periods then.
    Wrap,
}

/// `[simulation.beam.chopper]`: when it is open, where it is, and which columns of the detector are behind it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChopperSettings {
    /// From when until when it is open, in each pulse: times since the start of the pulse, at the chopper.
    pub open: Vec<[TimeSpan; 2]>,
    /// From the moderator to the chopper, at most as far as the detector.
    #[schemars(extend("x-unit" = "metres", "x-default" = "right in front of the detector"))]
    pub distance: Option<f64>,
    /// The columns of the picture that are behind it, from 0; the others see the beam before it.
    #[schemars(extend("x-default" = "all"))]
    pub columns: Option<Vec<u32>>,
}

/// What is in the beam: `[simulation.beam]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BeamSettings {
    /// Neutrons that reach the detector, on average over all time.
    #[schemars(extend("x-range" = "at most 1 GHz"))]
    pub neutrons: Frequency,
    /// Gammas that the detector sees, at all times and everywhere alike.
    #[schemars(extend("x-range" = "at most 1 GHz"))]
    pub gammas: Frequency,
    /// Highest rate during 1 ms, as a multiple of the average rate. For more than the spectrum makes of it
    /// some of the neutrons arrive during the millisecond that is highest, as those of an elastic line do; for less some
    /// arrive evenly over the whole period. 1 is a steady beam.
    #[schemars(extend("x-range" = "1 to what a period has of milliseconds", "x-default" = "as the spectrum makes it"))]
    pub peak_factor: Option<f64>,
    /// From the moderator to the detector. 35 m makes the time between two pulses of the ESS worth 8 Å.
    #[schemars(range(min = 0.1, max = 1000), extend("x-unit" = "metres"))]
    pub flight_path: f64,
    /// Shortest and longest wavelength that choppers and guides let through.
    #[schemars(extend("x-unit" = "Å", "x-range" = "0.01 to 100"))]
    pub wavelengths: [f64; 2],
    /// What happens to neutrons that are still on their way when the next pulse begins.
    pub frame_overlap: FrameOverlap,
    /// A chopper that stops some of them; the rate is that before it.
    pub chopper: Option<ChopperSettings>,
    /// How long protons arrive in each pulse. The ESS has 2.86 ms (K. H. Andersen et al., "The
    /// instrument suite of the European Spallation Source", Nucl. Instrum. Methods A 957 (2020) 163402).
    #[schemars(extend("x-range" = "at most 10 ms"))]
    pub proton_pulse: TimeSpan,
    /// The moderators that the neutrons come from.
    #[schemars(length(max = MOST_MODERATORS), extend("x-default" = "water and hydrogen"))]
    pub moderators: Vec<Moderator>,
    /// The picture in the beam: a word, `{ png = "file.png" }`, or diffraction or reflectometry with settings of their own.
    #[schemars(extend("default" = "mask"))]
    pub image: ImageSettings,
    /// The panels show one picture together, in this many columns and rows of them, panel 0 at the bottom left and the one to its right next.
    #[schemars(extend("x-range" = "`[columns, rows]`", "x-default" = "each panel shows all of it"))]
    pub tiles: Option<[u32; 2]>,
}

impl Default for BeamSettings {
    fn default() -> Self {
        let hertz = |hertz: u64| Frequency { millihertz: hertz * 1000 };
        Self {
            neutrons: hertz(20_000),
            gammas: hertz(0),
            peak_factor: None,
            flight_path: 35.0,
            wavelengths: [0.5, 20.0],
            frame_overlap: FrameOverlap::Cut,
            chopper: None,
            proton_pulse: TimeSpan { picoseconds: 2_860_000_000 },
            moderators: Moderator::bispectral(),
            image: ImageSettings::Mask,
            tiles: None,
        }
    }
}

/// Highest rate of neutrons, and of gammas: a pulse of the ESS has 71 million then, which still fit into memory.
const HIGHEST_RATE: Frequency = Frequency { millihertz: 1_000_000_000_000 };
const LONGEST_PROTON_PULSE: TimeSpan = TimeSpan { picoseconds: 10_000_000_000 };
const MOST_MODERATORS: usize = 16;
const LONGEST_DECAY: TimeSpan = TimeSpan { picoseconds: 2_000_000_000 };

impl BeamSettings {
    /// Takes the names of files as seen from this folder: that of the configuration.
    pub fn relative_to(&mut self, folder: &Path) {
        self.image.relative_to(folder);
    }

    /// Refuses values that no beam has.
    ///
    /// # Errors
    /// Names the key, what was found and what is expected.
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        for (key, rate) in [("neutrons", self.neutrons), ("gammas", self.gammas)] {
            if rate > HIGHEST_RATE {
                return refuse(key, rate.millihertz as f64 / 1000.0, "at most 1000MHz");
            }
        }
        if !(0.1..=1000.0).contains(&self.flight_path) {
            return refuse("flight_path", self.flight_path, "0.1 to 1000 metres");
        }
        let [shortest, longest] = self.wavelengths;
        if !(shortest >= 0.01 && shortest < longest && longest <= 100.0) {
            let expected = "the shortest and then the longest wavelength, within 0.01 to 100 ångström";
            return refuse("wavelengths", format!("[{shortest}, {longest}]"), expected);
        }
        if self.proton_pulse > LONGEST_PROTON_PULSE {
            let found = self.proton_pulse.picoseconds as f64 / 1e9;
            return refuse("proton_pulse", format!("{found}ms"), "at most 10ms");
        }
        for moderator in &self.moderators {
            if !(1.0..=10_000.0).contains(&moderator.temperature) {
                return refuse("moderators.temperature", moderator.temperature, "1 to 10000 kelvin");
            }
            if !(0.0..=1e9).contains(&moderator.weight) {
                return refuse("moderators.weight", moderator.weight, "0 to 1000000000");
            }
            if moderator.decay > LONGEST_DECAY {
                let found = moderator.decay.picoseconds as f64 / 1e9;
                return refuse("moderators.decay", format!("{found}ms"), "at most 2ms");
            }
        }
        let count = self.moderators.len();
        if count > MOST_MODERATORS || !self.moderators.iter().any(|moderator| moderator.weight > 0.0) {
            let expected = "at least one with a weight above 0, and at most 16";
            return refuse("moderators", format!("{count} moderators"), expected);
        }
        Ok(())
    }
}
