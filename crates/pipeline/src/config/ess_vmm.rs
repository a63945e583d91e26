//! What the sections of all detectors with VMM3a readout can have: masks and calibrations.

use evforge_detect::calibration::{ChannelCalibration, Line};
use evforge_detect::ess::{CalibratedVmm, MaskedVmmChannels};
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

/// `[[….mask]]` of a detector with VMM3a readout.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VmmMask {
    ring: u8,
    fen: u8,
    vmm: u8,
    channels: Vec<u8>,
    reason: String,
}

impl VmmMask {
    pub(super) fn settings(&self) -> MaskedVmmChannels {
        let Self { ring, fen, vmm, .. } = *self;
        MaskedVmmChannels { ring, fen, vmm, channels: self.channels.clone(), reason: self.reason.clone() }
    }
}

/// `[[….calibration]]` of a VMM: straight lines for each of its channels, *(value − offset) × slope*.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VmmCalibration {
    ring: u8,
    fen: u8,
    vmm: u8,
    #[serde(default)]
    adc_offset: Vec<f64>,
    #[serde(default)]
    adc_slope: Vec<f64>,
    #[serde(default)]
    tdc_offset: Vec<f64>,
    #[serde(default)]
    tdc_slope: Vec<f64>,
}

/// Channels of a VMM.
const CHANNELS: usize = 64;

impl VmmCalibration {
    /// The settings of the entries of `calibration`.
    pub(super) fn all(entries: &[Self]) -> Result<Vec<CalibratedVmm>, SettingsError> {
        let numbered = entries.iter().enumerate();
        let settings = numbered.map(|(index, entry)| {
            let Self { ring, fen, vmm, .. } = *entry;
            Ok(CalibratedVmm { ring, fen, vmm, lines: entry.lines(&format!("calibration[{index}]"))? })
        });
        settings.collect()
    }

    /// The lines of the 64 channels; a list that is left out changes nothing. `key` is that of this entry.
    fn lines(&self, key: &str) -> Result<Vec<ChannelCalibration>, SettingsError> {
        let lists = [
            ("adc_offset", &self.adc_offset, 0.0),
            ("adc_slope", &self.adc_slope, 1.0),
            ("tdc_offset", &self.tdc_offset, 0.0),
            ("tdc_slope", &self.tdc_slope, 1.0),
        ];
        if let Some((name, list, _)) = lists.iter().find(|(_, list, _)| !matches!(list.len(), 0 | CHANNELS)) {
            let problem = format!("has {} numbers, expected {CHANNELS}, one for each channel", list.len());
            return SettingsError::refuse(format!("{key}.{name}"), problem);
        }
        let value = |list: usize, channel: usize| {
            let (_, values, default) = &lists[list];
            values.get(channel).copied().unwrap_or(*default)
        };
        let line = |offset: usize, channel: usize| {
            Line::new(value(offset, channel), value(offset + 1, channel)).map_err(|error| SettingsError {
                key: key.to_owned(),
                problem: format!("channel {channel}: {error}"),
            })
        };
        let channels = 0..CHANNELS;
        channels
            .map(|channel| Ok(ChannelCalibration { amplitude: line(0, channel)?, time: line(2, channel)? }))
            .collect()
    }
}
