//! `[adc_readout]`.

use crate::{Config, DetectorSettings};
use evforge_core::pulse::{PulseChannel, PulseTrain};
use evforge_core::quantity::Frequency;
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
    assert!(!config.detector.makes_averages());
    for (time_stamp, location) in
        [("start", TimeLocation::Start), ("middle", TimeLocation::Middle), ("end", TimeLocation::End)]
    {
        let time_stamp = format!("adc_readout.averaging.time_stamp={time_stamp}");
        let config = read(&["adc_readout.averaging.samples=10", &time_stamp]).unwrap();
        let DetectorSettings::AdcReadout(settings) = &config.detector else { panic!("another detector") };
        assert_eq!(settings.averaging, Some(AveragingSettings { samples: 10, location }));
        assert!(config.detector.makes_averages());
    }
    let error = read(&["adc_readout.averaging={samples=0, time_stamp='end'}"]).unwrap_err().to_string();
    assert!(error.contains("adc_readout.averaging.samples: 0 is not in 1..=1048576"), "{error}");
}

#[test]
fn pulses_on_a_channel_need_all_that_finds_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let read = |name: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        Config::read(&path.join(name), &overrides)
    };
    let full = ["pulses.channel=3", "pulses.threshold=1000", "pulses.frequency=10Hz"];
    let config = read("adc-readout.toml", &full).unwrap();
    let DetectorSettings::AdcReadout(settings) = &config.detector else { panic!("another detector") };
    let frequency = Frequency { millihertz: 10_000 };
    let expected =
        PulseChannel { channel: 3, threshold: 1000, frequency, max_time_of_flight: 1_000_000_000_000 };
    assert_eq!(settings.pulse_channel, Some(expected));
    // The spectrum of the page has this period, too.
    assert_eq!(config.pulses, PulseTrain::european_xfel());
    let detector = config.build_detector().unwrap();
    assert!(detector.tells_pulses() && !detector.tells_date());
    assert!(
        config.detector.held_hits().is_some()
            && read("adc-readout.toml", &[]).unwrap().detector.held_hits().is_none()
    );
    let refused = |name: &str, overrides: &[&str]| read(name, overrides).unwrap_err().to_string();
    for (missing, word) in [(1, "threshold"), (2, "frequency")] {
        let mut some = full.to_vec();
        some.remove(missing);
        let error = refused("adc-readout.toml", &some);
        assert!(error.contains(&format!("pulses.{word}: is needed with `channel`")), "{error}");
    }
    for (more, problem) in [
        ("pulses.start=1ms", "pulses.start: has no effect on pulses that arrive on a channel"),
        ("pulses.max_time_of_flight=3s", "pulses.max_time_of_flight: must lie from 1ns to 2147483647ns"),
        ("pulses.threshold=0", "pulses.threshold: is needed"),
        ("adc_readout.channels=3", "adc_readout.channels: must be above 3"),
        ("adc_readout.sorting.window=0ns", "adc_readout.sorting.window: must lie above 0"),
    ] {
        let error = refused("adc-readout.toml", &[&full[..], &[more]].concat());
        assert!(error.contains(problem), "{error}");
    }
    let alone = refused("adc-readout.toml", &["pulses.threshold=5"]);
    assert!(alone.contains("pulses.threshold: is of the channel on which pulses arrive"), "{alone}");
    let other = refused("sonde.toml", &full);
    assert!(
        other.contains("pulses.channel: pulses are taken from a channel of [adc_readout] only"),
        "{other}"
    );
}
