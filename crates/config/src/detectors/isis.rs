//! `[isis]`, with the wiring table that it names.

use super::configured::{ConfiguredDetector, Parts};
use crate::document::{TableError, Tables};
use crate::side_file;
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::isis::{Isis, IsisSettings, wiring};
use std::path::Path;

impl ConfiguredDetector for IsisSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, folder: &Path) -> Result<Self, TableError> {
        let mut settings: Self = tables.require(section)?;
        if let Some(file) = settings.wiring.clone() {
            let rows = side_file::read(folder, "wiring", &file, wiring::read);
            settings.rows = rows.map_err(|error| error.within(section))?;
        }
        Ok(settings)
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(Isis::new(self)?))
    }
}
