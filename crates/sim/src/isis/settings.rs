//! `[simulation.isis]`: what the simulated boards do.

use crate::error::SimulationError;
use evforge_core::quantity::TimeSpan;
use evforge_wire::isis::{LARGEST_DATAGRAM, Version};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which wire format boards send, where `isis.format` allows both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SentVersion {
    /// Version 1.
    V1,
    /// Version 2.
    V2,
}

impl From<SentVersion> for Version {
    fn from(sent: SentVersion) -> Self {
        match sent {
            SentVersion::V1 => Self::V1,
            SentVersion::V2 => Self::V2,
        }
    }
}

/// A veto that is present now and then: `[[simulation.isis.veto]]`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedVeto {
    /// Its bit in the word of the vetoes, from 0: to 15 in version 1, to 31 in version 2.
    pub bit: u8,
    /// It is present in every frame of this number: 10 is the tenth, the twentieth and so on.
    pub every: Option<u64>,
    /// It is present in any other frame with this probability.
    #[serde(default)]
    pub probability: f64,
    /// Whether the hardware acts on it: the events of the frame are not sent.
    #[serde(default)]
    pub hard: bool,
}

/// What the simulated boards do: `[simulation.isis]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IsisSimulation {
    /// The wire format, where `isis.format` allows both. None: version 1 if there is a wiring table, else version 2.
    pub version: Option<SentVersion>,
    /// Detector boards of version 2, where the configuration lists none: 1 to 256. WLSF, MADC and LVDS boards in turn, each
    /// with an equal share of the pixels.
    pub boards: usize,
    /// Whether a control board sends a message of each frame. In version 1 it must have an address (`isis.control_board`).
    pub control: bool,
    /// Periods, 1 to 65 536, one after the other.
    pub periods: u32,
    /// Frames of each period before the next one comes, at least 1.
    pub frames_per_period: u64,
    /// Protons of each pulse, in units of 1.738e-6 µAh.
    pub protons: u8,
    /// Vetoes that are present now and then.
    #[serde(rename = "veto")]
    pub vetoes: Vec<SimulatedVeto>,
    /// Whether boards send frames in which they have no events (`stream_empty_frames`).
    pub empty_frames: bool,
    /// Whether every board tells the end of the run.
    pub end_of_run: bool,
    /// How much later than its pulse a frame begins, version 2 only: whole units of `isis.frame_sync_delay_unit`.
    pub frame_sync_delay: TimeSpan,
    /// Events of a message at most: 1 to 2039. A frame with more is spread over several.
    pub events_per_message: usize,
    /// Bytes of a datagram at most: 72 to 8972. It takes as many messages of a frame as there is room for.
    pub datagram_bytes: usize,
    /// Zero bytes behind the last message of each datagram, where there is room.
    pub padding: usize,
    /// Mean pulse height of a neutron, in steps of the converter (12 bits). Chosen: no document gives any value.
    pub amplitude: f64,
    /// Standard deviation of the pulse height, as a share of it. Chosen.
    pub spread: f64,
}

impl Default for IsisSimulation {
    fn default() -> Self {
        Self {
            version: None,
            boards: 3,
            control: true,
            periods: 1,
            frames_per_period: 1,
            protons: 200,
            vetoes: Vec::new(),
            empty_frames: true,
            end_of_run: true,
            frame_sync_delay: TimeSpan { picoseconds: 0 },
            events_per_message: 1000,
            datagram_bytes: LARGEST_DATAGRAM,
            padding: 0,
            amplitude: 1500.0,
            spread: 0.15,
        }
    }
}

/// Events that fit into a message with the longer header.
const MOST_EVENTS: usize = (evforge_wire::isis::LARGEST_MESSAGE_WORDS - 16) / 2;

impl IsisSimulation {
    /// Refuses what boards cannot do.
    ///
    /// # Errors
    /// Names the key, what was found and what is expected.
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        let within = [
            ("boards", self.boards as u64, 1, 256),
            ("periods", self.periods.into(), 1, 65_536),
            ("frames_per_period", self.frames_per_period, 1, u64::MAX),
            ("events_per_message", self.events_per_message as u64, 1, MOST_EVENTS as u64),
            ("datagram_bytes", self.datagram_bytes as u64, 72, LARGEST_DATAGRAM as u64),
        ];
        for (key, found, least, most) in within {
            if !(least..=most).contains(&found) {
                let most = if most == u64::MAX { "or more".to_owned() } else { format!("to {most}") };
                return refuse(key, &format!("found {found}, expected {least} {most}"));
            }
        }
        for veto in &self.vetoes {
            if veto.bit > 31 {
                return refuse("veto.bit", &format!("found {}, expected 0 to 31", veto.bit));
            }
            if veto.every == Some(0) {
                return refuse("veto.every", "found 0, expected 1 or more");
            }
            if !(0.0..=1.0).contains(&veto.probability) {
                return refuse("veto.probability", &format!("found {}, expected 0 to 1", veto.probability));
            }
        }
        Ok(())
    }
}

/// A value of `[simulation.isis]` that cannot be.
pub(super) fn refuse<T>(key: &str, problem: &str) -> Result<T, SimulationError> {
    Err(SimulationError(format!("simulation.isis.{key}: {problem}")))
}
