//! Settings of beam monitors.

use crate::ess::{EssSettings, TypeName, type_byte};
use crate::hit::PAYLOAD_LIMIT;
use crate::settings::SettingsError;
use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::geometry::LogicalGeometry;
use schemars::JsonSchema;
use serde::Deserialize;

/// Rings that a fibre number can name.
const RINGS: u8 = 12;
/// FENs that a ring can have.
pub(super) const FENS: u8 = 24;
/// Monitors of a stream at most.
pub const MOST_MONITORS: usize = 64;

/// One monitor: `[[ess_beam_monitors.monitor]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MonitorSettings {
    /// Name of the group in the file; unique.
    #[schemars(regex(pattern = "^[A-Za-z0-9_]+$"), extend("x-range" = "letters, digits, `_`"))]
    pub name: String,
    /// The FEN that reads it out.
    #[schemars(range(max = FENS - 1))]
    pub fen: u8,
    /// Its channel there.
    pub channel: u8,
    /// Single neutrons, single neutrons with a position, or a sum of amplitudes.
    pub kind: BeamMonitorKind,
    /// Columns of a monitor with positions.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65536))]
    pub nx: u32,
    /// Rows of a monitor with positions.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65536))]
    pub ny: u32,
    /// Least amplitude of a single neutron.
    #[serde(default)]
    pub threshold: u16,
    /// Divide the sum of an integrating monitor by the number of its samples. Nothing is rounded: what is added up are fractions.
    #[serde(default = "yes")]
    pub normalise: bool,
    /// Bins over time of flight, by default `{ from = "0ns", to = "71428571ns", bins = 714 }`.
    #[serde(default)]
    pub histogram: TimeOfFlightBins,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// The monitors of a stream: the section `[ess_beam_monitors]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeamMonitorSettings {
    /// Header, pulses and order: the table `[ess]`.
    #[serde(skip)]
    pub ess: EssSettings,
    /// The type of the monitors' packets, as `ess.type`; alongside a detector only.
    #[serde(default, rename = "type")]
    pub packet_type: Option<TypeName>,
    /// The ring of the monitors: half the number of their fibre (the ESS keeps 11 for them). Without it, monitors of all rings are told apart by
    /// FEN and channel.
    #[serde(default)]
    #[schemars(range(max = RINGS - 1))]
    pub ring: Option<u8>,
    /// The monitors. Those that send single neutrons own pixels in this order.
    #[serde(default, rename = "monitor")]
    #[schemars(length(min = 1, max = MOST_MONITORS))]
    pub monitors: Vec<MonitorSettings>,
}

impl BeamMonitorSettings {
    /// Checks the settings; keys are those of the section, and `monitor[n].key`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        if let Some(ring) = self.ring.filter(|ring| *ring >= RINGS) {
            let problem = format!("{ring} is not in 0..={}", RINGS - 1);
            return SettingsError::refuse("ring", problem);
        }
        if !(1..=MOST_MONITORS).contains(&self.monitors.len()) {
            let problem = format!("{} monitors, expected 1 to {MOST_MONITORS}", self.monitors.len());
            return SettingsError::refuse("monitor", problem);
        }
        for (index, monitor) in self.monitors.iter().enumerate() {
            self.check_monitor(index, monitor)?;
        }
        self.geometry().map(|_| ())
    }

    fn check_monitor(&self, index: usize, monitor: &MonitorSettings) -> Result<(), SettingsError> {
        let key = |key: &str| format!("monitor[{index}].{key}");
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if monitor.name.is_empty() || !monitor.name.chars().all(is_plain) {
            let problem = format!("found `{}`, expected letters, digits and underscores", monitor.name);
            return SettingsError::refuse(key("name"), problem);
        }
        if monitor.fen >= FENS {
            let problem = format!("{} is not in 0..={}", monitor.fen, FENS - 1);
            return SettingsError::refuse(key("fen"), problem);
        }
        for earlier in &self.monitors[..index] {
            if earlier.name == monitor.name {
                return SettingsError::refuse(
                    key("name"),
                    format!("`{}` is the name of another monitor", monitor.name),
                );
            }
            if (earlier.fen, earlier.channel) == (monitor.fen, monitor.channel) {
                let problem =
                    format!("FEN {}, channel {} is `{}` already", monitor.fen, monitor.channel, earlier.name);
                return SettingsError::refuse(key("channel"), problem);
            }
        }
        let sides = 1..=1 << 16;
        let is_flat = monitor.kind == BeamMonitorKind::Event2D;
        if !sides.contains(&monitor.nx)
            || !sides.contains(&monitor.ny)
            || (!is_flat && monitor.nx * monitor.ny != 1)
        {
            let expected =
                if is_flat { "1 to 65536 columns and rows" } else { "no nx and ny: it has no positions" };
            let problem = format!("found {} x {} pixels, expected {expected}", monitor.nx, monitor.ny);
            return SettingsError::refuse(key("nx"), problem);
        }
        Ok(())
    }

    /// The pixels of all monitors in one row, one monitor after the other. A stream of integrating monitors alone
    /// has a single pixel that nothing is in.
    ///
    /// # Errors
    /// If they are too many.
    pub fn geometry(&self) -> Result<LogicalGeometry, SettingsError> {
        let pixels: u64 = self.monitors.iter().map(|monitor| u64::from(pixels_of(monitor))).sum();
        let pixels = u32::try_from(pixels).ok().filter(|&pixels| pixels < PAYLOAD_LIMIT);
        let geometry = pixels.and_then(|pixels| LogicalGeometry::flat(pixels.max(1), 1).ok());
        let problem = format!("the monitors have {PAYLOAD_LIMIT} pixels or more together");
        geometry.ok_or(SettingsError { key: "monitor".into(), problem })
    }

    /// The type byte of the packets of monitors that send alongside a detector.
    ///
    /// # Errors
    /// If there is none, or no detector of this name.
    pub fn type_alongside(&self) -> Result<u8, SettingsError> {
        let Some(name) = &self.packet_type else {
            let problem =
                "tells the packets of the monitors from those of the detector: give it, as in type = \"cbm\"";
            return SettingsError::refuse("type", problem);
        };
        type_byte(name)
    }

    /// The monitors with their pixels, which follow `pixel_offset` others.
    pub(super) fn plans(&self, pixel_offset: u32) -> Vec<BeamMonitorPlan> {
        let mut next = pixel_offset + 1;
        let plan = |monitor: &MonitorSettings| {
            let pixels = pixels_of(monitor);
            let (first_pixel, nx, ny) = if pixels > 0 { (next, monitor.nx, monitor.ny) } else { (0, 0, 0) };
            next += pixels;
            let (name, kind, histogram) = (monitor.name.clone(), monitor.kind, monitor.histogram);
            BeamMonitorPlan { name, kind, first_pixel, nx, ny, histogram, alongside: pixel_offset > 0 }
        };
        self.monitors.iter().map(plan).collect()
    }
}

/// Pixels that a monitor owns.
fn pixels_of(monitor: &MonitorSettings) -> u32 {
    match monitor.kind {
        BeamMonitorKind::Integrating => 0,
        BeamMonitorKind::Event0D | BeamMonitorKind::Event2D => monitor.nx.saturating_mul(monitor.ny),
    }
}
