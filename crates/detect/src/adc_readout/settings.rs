//! Everything that can be configured of sampled channels.

use crate::settings::{SettingsError, SortingSettings, pulsed, second_of_two};
use evforge_core::pulse::PulseChannel;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// Channels at most; the electronics of 2018 have four.
pub const MOST_CHANNELS: u16 = 256;

/// Samples of a mean at most.
pub const MOST_SAMPLES: u32 = 1 << 20;

/// Which moment of its samples the time of an average is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeLocation {
    /// That of the first one.
    Start,
    /// Half way between the first and the last one.
    Middle,
    /// That of the last one.
    End,
}

/// How waveforms are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AveragingSettings {
    /// Samples in an average; where a sample is a sum of several of the converter, the mean is over all of these.
    #[schemars(range(min = 1, max = MOST_SAMPLES))]
    pub samples: u32,
    /// Which moment of its samples an average is given.
    #[serde(rename = "time_stamp")]
    pub location: TimeLocation,
}

/// The settings of sampled channels: the section `[adc_readout]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdcReadoutSettings {
    /// Channels, numbered from 0; runs of others are counted in `unknown_channel`.
    #[schemars(range(min = 1, max = MOST_CHANNELS))]
    pub channels: u16,
    /// Whether a sample that is a sum of several lasts as long as these together; the reference of 2018 ignores it.
    #[serde(default, rename = "oversampling", deserialize_with = "ignored")]
    #[schemars(with = "String", extend("enum" = ["counted", "ignored"], "default" = "counted"))]
    pub ignore_oversampling: bool,
    /// How waveforms are averaged; without it they are not.
    pub averaging: Option<AveragingSettings>,
    /// The channel on which the source's pulses arrive, if there is one: `[pulses]`.
    #[serde(skip)]
    pub pulse_channel: Option<PulseChannel>,
    /// With [pulses on a channel](#pulses-on-a-channel) only: how long runs wait, and how many.
    #[serde(default = "pulsed::default", with = "pulsed")]
    pub sorting: SortingSettings,
}

impl Default for AdcReadoutSettings {
    /// The four channels of 2018, without pulses.
    fn default() -> Self {
        Self {
            channels: 4,
            ignore_oversampling: false,
            averaging: None,
            pulse_channel: None,
            sorting: SortingSettings::PULSED,
        }
    }
}

fn ignored<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    second_of_two(&["counted", "ignored"], deserializer)
}

impl AdcReadoutSettings {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        if !(1..=MOST_CHANNELS).contains(&self.channels) {
            let problem = format!("{} is not in 1..={MOST_CHANNELS}", self.channels);
            return SettingsError::refuse("channels", problem);
        }
        if let Some(AveragingSettings { samples, .. }) = self.averaging
            && !(1..=MOST_SAMPLES).contains(&samples)
        {
            let problem = format!("{samples} is not in 1..={MOST_SAMPLES}");
            return SettingsError::refuse("averaging.samples", problem);
        }
        match self.pulse_channel {
            Some(PulseChannel { channel, .. }) if channel >= self.channels => {
                let problem = format!(
                    "must be above {channel}, the channel of the pulses (pulses.channel): channels count from 0"
                );
                SettingsError::refuse("channels", problem)
            }
            Some(_) => self.sorting.check(),
            None => Ok(()),
        }
    }
}
