//! `[sonde]`.

use super::configured::{ConfiguredDetector, Parts};
use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::settings::HeldHits;
use evforge_detect::sonde::settings::EventSequence;
use evforge_detect::sonde::{Sonde, SondeSettings};
use std::path::Path;

impl ConfiguredDetector for SondeSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, _: &Path) -> Result<Self, TableError> {
        tables.require(section)
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(Sonde::new(self)?))
    }

    fn held_hits(&self) -> Option<HeldHits> {
        (self.sequence == EventSequence::Time).then(|| self.sorting.held_hits("detector"))
    }
}
