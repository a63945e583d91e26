//! The `[adc_readout]` section of a configuration file.

use evforge_detect::adc_readout::AdcReadoutSettings;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Oversampling {
    Counted,
    Ignored,
}

/// The whole section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdcReadoutSection {
    channels: u16,
    #[serde(default = "AdcReadoutSection::oversampling")]
    oversampling: Oversampling,
}

impl AdcReadoutSection {
    fn oversampling() -> Oversampling {
        Oversampling::Counted
    }

    /// The detector's settings. What is wrong with single values is found by the detector itself. Mean values
    /// are for programs that bring a sink for them.
    pub(super) fn settings(&self) -> AdcReadoutSettings {
        AdcReadoutSettings {
            channels: self.channels,
            ignore_oversampling: matches!(self.oversampling, Oversampling::Ignored),
            averaging: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, DetectorSettings};
    use std::path::Path;

    #[test]
    fn the_shipped_configuration_and_its_limits() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/adc-readout.toml");
        let read = |overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
            Config::read(&path, &overrides)
        };
        let config = read(&["adc_readout.oversampling=ignored"]).unwrap();
        let DetectorSettings::AdcReadout(settings) = &config.detector else { panic!("another detector") };
        assert_eq!((settings.channels, settings.ignore_oversampling), (4, true));
        assert_eq!(config.build_detector().unwrap().geometry().pixel_count(), 4);
        let error = read(&["adc_readout.channels=0"]).unwrap_err().to_string();
        assert!(error.contains("adc_readout.channels: 0 is not in 1..=256"), "{error}");
    }
}
