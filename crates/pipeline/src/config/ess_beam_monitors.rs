//! The `[ess_beam_monitors]` section of a configuration file.

use evforge_core::beam_monitor::{BeamMonitorKind, MOST_TIME_OF_FLIGHT_BINS, TimeOfFlightBins};
use evforge_core::quantity::Duration;
use evforge_detect::beam_monitors::{BeamMonitorSettings, MonitorSettings};
use evforge_detect::ess::EssSettings;
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

/// What a monitor sends, as in reports and files.
#[derive(Clone, Copy, Debug, Deserialize)]
enum Kind {
    #[serde(rename = "event_0d")]
    Event0D,
    #[serde(rename = "event_2d")]
    Event2D,
    #[serde(rename = "integrating")]
    Integrating,
}

/// The bins over time of flight.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Histogram {
    from: Duration,
    to: Duration,
    bins: u32,
}

impl Default for Histogram {
    /// One period of the ESS source in steps of some 100 us.
    fn default() -> Self {
        let nanoseconds = |count: u64| Duration { picoseconds: count * 1000 };
        Self { from: nanoseconds(0), to: nanoseconds(71_428_571), bins: 714 }
    }
}

impl Histogram {
    fn bins(&self, key: &str) -> Result<TimeOfFlightBins, SettingsError> {
        let nanoseconds = |duration: Duration| u32::try_from(duration.picoseconds / 1000).ok();
        let bins = nanoseconds(self.from).zip(nanoseconds(self.to));
        let bins = bins.and_then(|(from, to)| TimeOfFlightBins::new(from, to, self.bins));
        let problem = || {
            format!(
                "{} bins over that range cannot be: expected 1 to {MOST_TIME_OF_FLIGHT_BINS} bins of at least 1ns, \
                 from an earlier to a later time below 4.29s",
                self.bins
            )
        };
        bins.ok_or_else(|| SettingsError { key: key.to_owned(), problem: problem() })
    }
}

/// `[[ess_beam_monitors.monitor]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Monitor {
    name: String,
    fen: u8,
    channel: u8,
    kind: Kind,
    #[serde(default = "one")]
    nx: u32,
    #[serde(default = "one")]
    ny: u32,
    #[serde(default)]
    threshold: u16,
    #[serde(default = "yes")]
    normalise: bool,
    #[serde(default)]
    histogram: Histogram,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// `[ess_beam_monitors]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BeamMonitorSection {
    #[serde(default = "usual_ring")]
    ring: u8,
    #[serde(default)]
    monitor: Vec<Monitor>,
}

/// The ring that the ESS keeps for beam monitors.
fn usual_ring() -> u8 {
    11
}

impl BeamMonitorSection {
    /// The settings, not yet checked.
    pub(super) fn settings(&self, ess: EssSettings) -> Result<BeamMonitorSettings, SettingsError> {
        let monitor = |(index, entry): (usize, &Monitor)| {
            Ok(MonitorSettings {
                name: entry.name.clone(),
                fen: entry.fen,
                channel: entry.channel,
                kind: match entry.kind {
                    Kind::Event0D => BeamMonitorKind::Event0D,
                    Kind::Event2D => BeamMonitorKind::Event2D,
                    Kind::Integrating => BeamMonitorKind::Integrating,
                },
                nx: entry.nx,
                ny: entry.ny,
                threshold: entry.threshold,
                normalise: entry.normalise,
                histogram: entry.histogram.bins(&format!("monitor[{index}].histogram"))?,
            })
        };
        let monitors = self.monitor.iter().enumerate().map(monitor).collect::<Result<_, _>>()?;
        Ok(BeamMonitorSettings { ess, ring: self.ring, monitors })
    }
}
