//! What settings cannot be.

use super::settings::{Axis, Charges, Helium3Settings, MOST_TUBES, TubeSettings, ascending};
use crate::hit::PAYLOAD_LIMIT;
use crate::settings::SettingsError;

impl Helium3Settings {
    /// Checks the settings, alone and with one another; keys are those of the section, or begin with `ess.`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.ess.check()?;
        if self.geometry.pixel_count() >= PAYLOAD_LIMIT {
            return SettingsError::refuse("geometry", "must have fewer than 2^23 pixels");
        }
        let (axis, length) = match self.along {
            Axis::X => ("columns", self.geometry.nx()),
            Axis::Y => ("rows", self.geometry.ny()),
        };
        if self.pixels < 2 {
            return SettingsError::refuse("pixels", format!("found {}, expected at least 2", self.pixels));
        }
        if length < 2 {
            let problem = format!(
                "has {length} {axis}: tubes lie along them. Give geometry = {{ nx, ny }}, or mapping_file"
            );
            return SettingsError::refuse("geometry", problem);
        }
        if self.charges == Charges::Four && self.least_charge > 0 {
            let problem =
                "is for readouts with two charges: of four, a single one may be below 0. Use least_sum";
            return SettingsError::refuse("least_charge", problem);
        }
        self.check_tubes()?;
        let wiring = self.expand()?;
        self.check_calibration(&wiring)?;
        for (index, entry) in self.mask.iter().enumerate() {
            let unknown =
                entry.channels.iter().find(|&&group| wiring.place(entry.ring, entry.fen, group).is_none());
            if let Some(group) = unknown {
                let problem =
                    format!("no tube is wired to group {group} of ring {}, FEN {}", entry.ring, entry.fen);
                return SettingsError::refuse(format!("mask[{index}].channels"), problem);
            }
        }
        Ok(())
    }

    fn check_tubes(&self) -> Result<(), SettingsError> {
        if !(1..=MOST_TUBES).contains(&self.tubes.len()) {
            let problem = format!("{} tubes in a group, expected 1 to {MOST_TUBES}", self.tubes.len());
            return SettingsError::refuse("tubes", problem);
        }
        for (index, tube) in self.tubes.iter().enumerate() {
            let [from, to] = tube.interval;
            let key = || format!("tubes[{index}].interval");
            if !(0.0..=1.0).contains(&from) || !(0.0..=1.0).contains(&to) || from == to {
                let problem = format!("found [{from}, {to}], expected two different numbers from 0 to 1");
                return SettingsError::refuse(key(), problem);
            }
            let overlaps = |other: &&TubeSettings| {
                let [low, high] = ascending(other.interval);
                let [own_low, own_high] = ascending(tube.interval);
                own_low < high && low < own_high
            };
            if let Some(other) = self.tubes[..index].iter().find(overlaps) {
                let problem = format!("[{from}, {to}] overlaps {:?} of another tube", other.interval);
                return SettingsError::refuse(key(), problem);
            }
        }
        Ok(())
    }
}
