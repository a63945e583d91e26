//! `[adc_readout]`.

use crate::{Config, DetectorSettings};
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
    assert!(!config.makes_averages());
    for (time_stamp, location) in
        [("start", TimeLocation::Start), ("middle", TimeLocation::Middle), ("end", TimeLocation::End)]
    {
        let time_stamp = format!("adc_readout.averaging.time_stamp={time_stamp}");
        let config = read(&["adc_readout.averaging.samples=10", &time_stamp]).unwrap();
        let DetectorSettings::AdcReadout(settings) = &config.detector else { panic!("another detector") };
        assert_eq!(settings.averaging, Some(AveragingSettings { samples: 10, location }));
        assert!(config.makes_averages());
    }
    let error = read(&["adc_readout.averaging={samples=0, time_stamp='end'}"]).unwrap_err().to_string();
    assert!(error.contains("adc_readout.averaging.samples: 0 is not in 1..=1048576"), "{error}");
}
