//! The `[adc_readout]` section of a configuration file.

use evforge_detect::adc_readout::AdcReadoutSettings;
use evforge_detect::adc_readout::settings::{AveragingSettings, TimeLocation};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Oversampling {
    Counted,
    Ignored,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TimeStamp {
    Start,
    Middle,
    End,
}

/// How mean values are made.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AveragingSection {
    samples: u32,
    time_stamp: TimeStamp,
}

impl AveragingSection {
    fn settings(self) -> AveragingSettings {
        let location = match self.time_stamp {
            TimeStamp::Start => TimeLocation::Start,
            TimeStamp::Middle => TimeLocation::Middle,
            TimeStamp::End => TimeLocation::End,
        };
        AveragingSettings { samples: self.samples, location }
    }
}

/// The whole section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdcReadoutSection {
    channels: u16,
    #[serde(default = "AdcReadoutSection::oversampling")]
    oversampling: Oversampling,
    averaging: Option<AveragingSection>,
}

impl AdcReadoutSection {
    fn oversampling() -> Oversampling {
        Oversampling::Counted
    }

    /// The detector's settings. What is wrong with single values is found by the detector itself.
    pub(super) fn settings(&self) -> AdcReadoutSettings {
        AdcReadoutSettings {
            channels: self.channels,
            ignore_oversampling: matches!(self.oversampling, Oversampling::Ignored),
            averaging: self.averaging.map(AveragingSection::settings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, DetectorSettings};
    use evforge_detect::adc_readout::settings::{AveragingSettings, TimeLocation};
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
        assert!(!config.makes_mean_values());
        for (time_stamp, location) in
            [("start", TimeLocation::Start), ("middle", TimeLocation::Middle), ("end", TimeLocation::End)]
        {
            let time_stamp = format!("adc_readout.averaging.time_stamp={time_stamp}");
            let config = read(&["adc_readout.averaging.samples=10", &time_stamp]).unwrap();
            let DetectorSettings::AdcReadout(settings) = &config.detector else { panic!("another detector") };
            assert_eq!(settings.averaging, Some(AveragingSettings { samples: 10, location }));
            assert!(config.makes_mean_values());
        }
        let error = read(&["adc_readout.averaging={samples=0, time_stamp='end'}"]).unwrap_err().to_string();
        assert!(error.contains("adc_readout.averaging.samples: 0 is not in 1..=1048576"), "{error}");
    }
}
